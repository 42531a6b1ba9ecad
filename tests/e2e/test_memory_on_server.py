"""The real program with its hooks pointed at a server: injected as with files; nothing lost without it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.http.served import ServedMemory

from .claude import Run, World, run
from .messages_api import MessagesApi
from .remembering import Remembering, blocks

TEA, ASKED = "I drink only green tea from Uji, never coffee.", "Which tea should you order for me?"
CUP = "My cup at the office is the blue one with a whale."


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServedMemory]:
    with ServedMemory(tmp_path / "there") as started:
        yield started


def say(world: World, stub: MessagesApi, server: ServedMemory, prompt: str) -> Run:
    where: Any = {"NAGORI_HOOKS__SERVER": server.url, "NAGORI_KEY": server.token}
    done = run(prompt, world, stub, extra=where)
    assert (done.code, done.err) == (0, "")
    return done


def test_memories_come_from_the_server_and_words_wait_for_it(
    world: World, stub: MessagesApi, server: ServedMemory
) -> None:
    stub.default = "Understood."
    Remembering.at(world, stub)
    client = server.client()
    say(world, stub, server, TEA)
    client.process()
    (asked,) = say(world, stub, server, ASKED).questions
    (block,) = blocks(asked)
    assert TEA in block
    server.kill()
    (alone,) = say(world, stub, server, CUP).questions
    assert blocks(alone) == []
    server.start()
    say(world, stub, server, "Thank you.")
    client.process()
    texts = [each.text.whole for each in client.list(limit=100)]
    assert sum(CUP in text for text in texts) == 1
    assert sum(TEA in text for text in texts) == 1
    assert not (world.home / ".local/share/nagori/journal").exists()


def test_what_is_private_to_an_agent_is_not_injected_into_the_main_session(
    world: World, stub: MessagesApi, server: ServedMemory
) -> None:
    stub.default = "Understood."
    Remembering.at(world, stub)
    client = server.client()
    client.remember(TEA)
    client.with_scope(agent="helper").remember("The tea to order is the secret oolong.", privacy="private")
    (asked,) = say(world, stub, server, ASKED).questions
    (block,) = blocks(asked)
    assert TEA in block
    assert "oolong" not in json.dumps(asked.body)
