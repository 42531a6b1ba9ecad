"""The real program with our MCP server: the model's calls of remember, recall and forget reach the memory."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nagori import Config, Nagori

from .claude import VENV, World, run
from .messages_api import Answer, MessagesApi, Question, ToolUse

TEA = "The user drinks only green tea from Uji."
TOOLS = ("remember", "recall", "forget")


@pytest.fixture
def settings(world: World) -> Path:
    """A file that names our server. The SDK is borrowed from the program's own environment."""
    [packages] = VENV.glob("lib/*/site-packages") or [None]
    if packages is None or not (packages / "mcp").is_dir():
        pytest.skip("the package mcp is not in out/e2e-venv; `make e2e-venv` installs it")
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(packages)])
    server = {
        "command": sys.executable,
        "args": ["-m", "nagori", "--data-dir", str(world.home / "memory"), "mcp"],
        "env": {"PYTHONPATH": path, "HOME": str(world.home)},
    }
    file = world.home / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"nagori": server}}), encoding="utf-8")
    return file


def tool(name: str) -> str:
    return f"mcp__nagori__{name}"


def test_the_program_remembers_recalls_and_forgets_through_the_server(
    world: World, stub: MessagesApi, settings: Path
) -> None:
    def recall(question: Question) -> ToolUse:
        return ToolUse(tool("recall"), {"query": "Which tea does the user drink?"})

    def forget(question: Question) -> ToolUse:
        found = json.loads(question.tool_results()[-1])["memories"]
        return ToolUse(tool("forget"), {"what": found[0]["id"]})

    script: Iterator[Answer] = iter(
        [ToolUse(tool("remember"), {"content": TEA}), recall, forget, recall, "Done."]
    )

    def answer(question: Question) -> Answer:
        chosen = next(script, "Done.") if question.tools else "A title."
        return chosen(question) if callable(chosen) else chosen

    stub.default = answer  # type: ignore[assignment]
    allowed = ["--allowedTools", ",".join(map(tool, TOOLS))]
    done = run("Remember my tea.", world, stub, arguments=["--mcp-config", str(settings), *allowed])
    assert (done.code, done.answer) == (0, "Done."), done.out + done.err
    asked = done.questions[-1]
    kept, found, gone, left = [json.loads(result) for result in asked.tool_results()]
    assert kept["memories"][0]["text"] == TEA
    assert [each["text"] for each in found["memories"]] == [TEA]
    assert gone["forgotten"]["text"] == TEA
    assert left["memories"] == []
    with Nagori.open(world.home / "memory", config=Config(), embedder=None) as memory:
        assert memory.list() == []
        assert memory.verify().sound
