"""The bench for experiments on settings.

An experiment observes one public result twice, with a setting's default and with another value, and says in
which direction the two must differ:

    Experiment("retrieval.top_k", 2, answers, FEWER)

`given` are settings that hold in both observations; `along` are those that the other value needs beside it.
"""

from __future__ import annotations

import io
import json
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from tests.scripted import Scripted

from nagori import Nagori
from nagori.config import Config
from nagori.edges import hooks
from nagori.edges.cli import main
from nagori.testing import FrozenClock, WordEmbedder

Settings = Mapping[str, Any]
NONE: Settings = MappingProxyType({})
SERVER = "http://server.test"

MORE = operator.lt  # of the usual and the other result
LESS = FEWER = operator.gt
DIFFERENT = operator.ne


def from_to(usual: object, other: object) -> Callable[[object, object], bool]:
    """The result is exactly `usual` with the default, and `other` with the other value."""
    return lambda first, second: (first, second) == (usual, other)


class Lab:
    """One observation: an empty home, a frozen clock, and the settings in force."""

    def __init__(
        self, folder: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str], changes: Settings
    ) -> None:
        self.folder, self.patch, self.changes, self._capture = folder, patch, changes, capture
        self.clock = FrozenClock()
        self.events: list[str] = []
        self.cleanup = ExitStack()
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            patch.delenv(name, raising=False)

    @property
    def config(self) -> Config:
        return Config().evolve(self.changes)

    def observe(self, name: str, **_: object) -> None:
        self.events.append(name)

    def open(self, **parts: Any) -> Nagori:
        """A memory without models, unless the experiment brings them; closed at the end."""
        usual = {"config": self.config, "clock": self.clock, "observe": self.observe}
        chosen = {"embedder": WordEmbedder(), "llm": None, **usual, **parts}
        return self.cleanup.enter_context(Nagori.open(self.folder / "data", **chosen))

    def serve(self, *script: str, **more: Any) -> Scripted:
        """A scripted server of models; it ends with the observation. `SERVER` in a setting is its address."""
        server = self.cleanup.enter_context(Scripted(script, **more))
        self.changes = {
            key: value.replace(SERVER, server.url) if isinstance(value, str) else value
            for key, value in self.changes.items()
        }
        return server

    # --- other programs: they read their settings from the environment

    def export(self, **variables: str) -> None:
        """Put the settings into the environment, as a shell would."""
        self.patch.setenv("HOME", str(self.folder))
        self.patch.setenv("NAGORI_DATA_DIR", str(self.folder / "data"))
        self.patch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
        self.patch.setenv("NAGORI_HOOKS__WORKER", "false")
        for key, value in self.changes.items():
            self.patch.setenv(f"NAGORI_{key.upper().replace('.', '__')}", str(value))
        for name, text in variables.items():
            self.patch.setenv(name, text)

    def hook(self, event: str, **fields: object) -> str:
        """What the hook prints for an event of Claude Code; empty for nothing."""
        payload = {"hook_event_name": event, "session_id": "now", "cwd": "/srv/app", **fields}
        said = hooks.answer(["--host", "claude-code"], io.BytesIO(json.dumps(payload).encode()))
        context = json.loads(said or "{}").get("hookSpecificOutput", {}).get("additionalContext", "")
        return str(context)

    def command(self, *words: str) -> str:
        """What a command prints, errors included."""
        self.patch.setattr(sys, "argv", ["nagori", *words])
        self._capture.readouterr()
        with pytest.raises(SystemExit):
            main()
        out, err = self._capture.readouterr()
        return out + err


class Experiment(NamedTuple):
    """One setting, another value for it, what to observe, and how the two results must differ."""

    key: str
    other: object
    observe: Callable[[Lab], Any]
    differs: Callable[[Any, Any], bool]
    given: Settings = NONE
    along: Settings = NONE


def lines_of(text: str) -> int:
    """The number of memories in a block of context."""
    return sum(line.startswith("- [") for line in text.splitlines())


def family(
    prefix: str, observe: Callable[[Lab], Any], rows: Sequence[tuple[Any, ...]], given: Settings = NONE
) -> list[Experiment]:
    """Experiments with the same observation: rows of name, other value, direction and, if needed, `along`."""
    return [
        Experiment(f"{prefix}.{name}", other, observe, differs, given, *more)
        for name, other, differs, *more in rows
    ]
