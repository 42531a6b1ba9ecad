"""A2: whatever happens to the store's file, nobody is ever answered with another user's memories."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from nagori import Nagori, Scope
from nagori.aio import AsyncNagori
from nagori.errors import NagoriError
from nagori.testing import WordEmbedder

USERS = ("ann", "bob", "cho")
REBUILD = """
import sys
from nagori import Nagori
with Nagori.open(sys.argv[1], embedder=None) as memory:
    owners = memory.runtime.journal.owners
    if sys.argv[2] == "backwards":
        memory.runtime.journal.owners = lambda: owners()[::-1]
    memory.rebuild()
"""


def fill(folder: Path) -> None:
    with Nagori.open(folder, embedder=WordEmbedder()) as memory:
        for user in USERS:
            mine = memory.with_scope(Scope(user=user))
            for n in range(4):
                mine.remember(f"The secret number {n} of {user} is {user}{n}.")


def rebuild_elsewhere(folder: Path, order: str = "backwards") -> None:
    done = subprocess.run(
        [sys.executable, "-c", REBUILD, str(folder), order], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def delete(folder: Path) -> None:
    for file in folder.glob("nagori.db*"):
        file.unlink()
    rebuild_elsewhere(folder)


def damage(folder: Path) -> None:
    path = folder / "nagori.db"
    with path.open("r+b") as file:
        for page in range(1, path.stat().st_size // 4096):
            file.seek(page * 4096)
            file.write(os.urandom(4096))
    rebuild_elsewhere(folder)


def zero_header(folder: Path) -> None:
    with (folder / "nagori.db").open("r+b") as file:
        file.write(bytes(100))
    rebuild_elsewhere(folder)


def renumber(folder: Path) -> None:
    rebuild_elsewhere(folder)


def ask(memory: Nagori, user: str) -> list[str]:
    """Words that came back for this user; [] when an error was told."""
    mine = memory.with_scope(Scope(user=user))
    try:
        words = [m.text.content for m in mine.list()]
        words += [r.memory.text.content for r in mine.recall("secret number", 10, mark=False)]
        words += [line for line in mine.export() if '"memory"' in line]
    except NagoriError:
        return []
    return words


def assert_own(words: list[str], user: str) -> None:
    foreign = [word for word in words if any(f"of {other} is" in word for other in USERS if other != user)]
    assert foreign == []


@pytest.mark.parametrize("harm", [delete, damage, zero_header, renumber])
def test_threads_of_a_service_never_answer_with_others_memories_and_recover_by_themselves(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    folder = tmp_path / "data"
    fill(folder)
    service = Nagori.open(folder, embedder=WordEmbedder())
    go, stop, wrong, answers = threading.Event(), threading.Event(), list[str](), dict[str, int]()

    def serve(user: str) -> None:
        while not stop.is_set():
            try:
                assert_own(ask(service, user), user)
            except AssertionError as fault:
                wrong.append(str(fault))
            go.set()

    threads = [threading.Thread(target=serve, args=(user,)) for user in USERS for _ in range(2)]
    for thread in threads:
        thread.start()
    go.wait(10)
    harm(folder)
    fresh = threading.Thread(target=lambda: [assert_own(ask(service, user), user) for user in USERS])  # type: ignore[func-returns-value]
    fresh.start()
    fresh.join(30)
    stop.set()
    for thread in threads:
        thread.join(30)
    assert wrong == []
    for user in USERS:  # of this thread, which was there before as well
        words = ask(service, user)
        assert_own(words, user)
        answers[user] = len(words)
    assert answers == dict.fromkeys(USERS, 12)
    service.with_scope(Scope(user="bob")).remember("Said afterwards by bob.")
    assert service.with_scope(Scope(user="bob")).recall("said afterwards")[0].memory.text.content
    assert service.verify().sound
    service.close()


@pytest.mark.parametrize("harm", [delete, damage, renumber])
def test_async_callers_are_answered_with_their_own_and_recover(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    folder = tmp_path / "data"
    fill(folder)

    async def use() -> None:
        async with await AsyncNagori.open(folder, embedder=WordEmbedder()) as memory:

            async def ask_once(user: str) -> list[str]:
                try:
                    found = await memory.with_scope(Scope(user=user)).recall("secret number", 10, mark=False)
                except NagoriError:
                    return []
                return [r.memory.text.content for r in found]

            await asyncio.gather(*(ask_once(user) for user in USERS * 8))
            await asyncio.to_thread(harm, folder)
            for words, user in zip(
                await asyncio.gather(*(ask_once(user) for user in USERS * 40)), USERS * 40, strict=True
            ):
                assert_own(words, user)
                assert len(words) == 4  # nobody stays with a file that is gone

    asyncio.run(use())


def test_the_store_of_another_home_is_refused_before_anything_is_answered_or_written(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for folder, word in ((mine, "mine"), (other, "foreign")):
        with Nagori.open(folder, embedder=None) as memory:
            for n in range(5):
                memory.remember(f"Number {n} is {word}.")
    for file in mine.glob("nagori.db*"):
        file.unlink()
    (mine / "nagori.db").write_bytes((other / "nagori.db").read_bytes())
    verbs: dict[str, Callable[[Nagori], object]] = {
        "list": lambda m: m.list(),
        "recall": lambda m: m.recall("number"),
        "export": lambda m: list(m.export()),
        "status": lambda m: m.status(),
        "remember": lambda m: m.remember("x"),
        "context": lambda m: m.context("Which number is it?"),
        "cycle": lambda m: m.cycle(),
        "plan": lambda m: m.plan(),
        "process": lambda m: m.process(),
        "rebuild": lambda m: m.rebuild(),
        "as_of": lambda m: m.as_of(m.runtime.clock.now()),
        "preview": lambda m: m.preview(),
        "measure": lambda m: m.measure(),
        "summary": lambda m: m.summary("s"),
        "usage": lambda m: m.usage(),
        "judge_estimate": lambda m: m.estimate_appraisal(),
        "embed_missing": lambda m: m.embed_missing(),
    }
    size = (mine / "journal/local/me/00000001.jsonl").stat().st_size
    with Nagori.open(mine, embedder=None) as memory:
        for name, verb in verbs.items():
            try:
                said = verb(memory)
            except NagoriError as refused:
                assert "another journal" in str(refused), name
            else:
                pytest.fail(f"{name} answered {said!r}")
        assert (mine / "journal/local/me/00000001.jsonl").stat().st_size == size
        assert not memory.verify().sound
        assert any(f.state == "fail" and "another journal" in f.detail for f in memory.doctor())
        memory.rebuild(accept_damage=True)
        assert all("mine" in m.text.content for m in memory.list())
        assert len(memory.list()) == 5
    assert list(mine.glob("nagori.db.before-rebuild-*"))
