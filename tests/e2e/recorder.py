"""A stand-in for a hook: keeps what the host tells it, says what the test told it to say.

Run by the host as a script of its own, `python recorder.py FOLDER`, so it needs the standard library only.
The test lays `say-<Event>` (text for stdout) and `exit-<Event>` (exit code) in the folder.
"""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "PreCompact",
    "PostCompact",
    "SessionEnd",
)


@dataclass(frozen=True)
class Recorder:
    """The test's side of the folder."""

    folder: Path

    @property
    def command(self) -> str:
        return f'"{sys.executable}" -I -S "{__file__}" "{self.folder}"'

    def hooks(self) -> dict[str, Any]:
        """Settings with this hook on every event; patient, so that a busy machine changes nothing."""
        call = {"type": "command", "command": self.command, "timeout": 30}
        return {"hooks": {event: [{"hooks": [call]}] for event in EVENTS}}

    def say(self, event: str, text: str) -> None:
        (self.folder / f"say-{event}").write_text(text, encoding="utf-8")

    def leave(self, event: str, code: int) -> None:
        (self.folder / f"exit-{event}").write_text(str(code), encoding="utf-8")

    def payloads(self, event: str | None = None) -> list[dict[str, Any]]:
        """What the host told, in the order it was told."""
        told = [json.loads(path.read_text("utf-8")) for path in sorted(self.folder.glob("[0-9]*.json"))]
        return [payload for payload in told if event in (None, payload["hook_event_name"])]

    def names(self, among: Sequence[str] = EVENTS) -> list[str]:
        """The events only."""
        return [name for payload in self.payloads() if (name := payload["hook_event_name"]) in among]


def main(folder: Path, told: str) -> int:
    event = json.loads(told)["hook_event_name"]
    (folder / f"{time.time_ns():020}-{event}.json").write_text(told, encoding="utf-8")
    say, leave = folder / f"say-{event}", folder / f"exit-{event}"
    if say.exists():
        sys.stdout.write(say.read_text("utf-8"))
    return int(leave.read_text("utf-8")) if leave.exists() else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.stdin.read()))
