"""The real hook in a test's world: installed as a user would, its worker waited for, its memories read."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nagori.edges.worker.spawn import is_working

from .claude import SECONDS, World, environment
from .messages_api import MessagesApi, Question
from .story import injected

BLOCK = re.compile(r"<memories.*?</memories>", re.DOTALL)


@dataclass(frozen=True)
class Remembering:
    """A world in which `nagori init` was run."""

    world: World
    stub: MessagesApi

    @classmethod
    def at(cls, world: World, stub: MessagesApi) -> "Remembering":
        made = cls(world, stub)
        assert made.nagori("init", "--host", "claude-code", "--yes").returncode == 0
        return made

    @property
    def data(self) -> Path:
        return self.world.home / ".local" / "share" / "nagori"

    def settings(self, text: str) -> None:
        """What a user would have in nagori's own configuration."""
        folder = self.world.home / ".config" / "nagori"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(text, encoding="utf-8")

    def nagori(self, *words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "nagori", *words],
            cwd=self.world.project,
            env=environment(self.world, self.stub),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            **more,
        )

    def settle(self) -> None:
        """Until everything that was heard is formed: what no worker has taken yet is taken here."""
        deadline = time.monotonic() + SECONDS
        while is_working(self.data) or self._formed() != {"turns": 0}:
            assert time.monotonic() < deadline, "the worker does not come to an end"
            time.sleep(0.02)

    def _formed(self) -> object:
        """How many turns were left to be formed; None when a worker came in between."""
        said = self.nagori("process", "--json").stdout
        return json.loads(said) if said.startswith("{") else None

    def memories(self, *words: str) -> list[dict[str, Any]]:
        """Every memory, oldest first, after all work is done."""
        self.settle()
        listed = json.loads(self.nagori("list", "--limit", "1000", "--json", *words).stdout)
        return list(reversed(listed["memories"]))

    def texts(self) -> list[str]:
        return [memory["texts"]["1"]["content"] for memory in self.memories()]

    def workers(self) -> list[str]:
        """Worker processes of this world; they have the data folder in their command line."""
        mine = str(self.data)
        return [line for line in command_lines() if "nagori.edges.worker" in line and mine in line]

    def no_worker_left(self) -> bool:
        """Whether they all end by themselves, within bounds."""
        deadline = time.monotonic() + SECONDS
        while self.workers() and time.monotonic() < deadline:
            time.sleep(0.02)
        return not self.workers()


def command_lines() -> list[str]:
    """Of every process of this machine, as far as we may look (Linux)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue  # it has just ended, or is not ours to look at
    return found


def blocks(question: Question) -> list[str]:
    """The memories that hooks showed in this question, the replayed ones too."""
    return [block for _, text in injected(question) for block in BLOCK.findall(text)]


def told(world: World) -> list[str]:
    """What hooks said to the user, as the program wrote it into its conversation files."""
    lines = [json.loads(line) for path in world.transcripts for line in path.read_text("utf-8").splitlines()]
    notes = [line.get("attachment") or {} for line in lines if isinstance(line, Mapping)]
    return [str(note["content"]) for note in notes if note.get("type") == "hook_system_message"]
