"""Self-test for `nagori doctor`: run a short conversation through the installed hook, in a temporary folder.

A hook that fails silently looks like an empty memory, so it is tested.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from nagori.core.value_object import Value
from nagori.edges.worker.run import work
from nagori.errors import Notice

SECONDS = 30
FACT = "The rehearsal's favourite bird is the blue heron; please remember this."
QUESTION = "What is the favourite bird of the rehearsal?"


class RecentCall(Value):
    """The last call of a host."""

    moment: str
    host: str
    at: datetime
    failure: Notice | None  # "" if it succeeded


def rehearse(command: Sequence[str]) -> Notice | None:
    """What is wrong with the installed hook; empty if a fact from one session came back in the next."""
    with tempfile.TemporaryDirectory(prefix="nagori-rehearsal-") as folder:
        told = [
            {"hook_event_name": "SessionStart", "source": "startup"},
            {"hook_event_name": "UserPromptSubmit", "prompt": FACT, "prompt_id": "r1"},
            {"hook_event_name": "Stop", "last_assistant_message": "Noted.", "prompt_id": "r1"},
        ]
        for said in told:
            if fault := _say(command, folder, {**said, "session_id": "rehearsal-1"})[1]:
                return fault
        work(Path(folder))
        ask = {"hook_event_name": "UserPromptSubmit", "prompt": QUESTION, "prompt_id": "r2"}
        out, fault = _say(command, folder, {**ask, "session_id": "rehearsal-2"})
        return fault or (None if "blue heron" in out else Notice("doctor.rehearsal_lost"))


def _say(command: Sequence[str], folder: str, payload: dict[str, str]) -> tuple[str, Notice | None]:
    """The output of the hook, and what is wrong with it."""
    environment = {**os.environ, "NAGORI_DATA_DIR": folder, "NAGORI_HOOKS__WORKER": "false"}
    said, event = json.dumps({"cwd": folder, **payload}).encode(), payload["hook_event_name"]
    try:
        ended = subprocess.run(  # noqa: S603 - the command that `nagori init` wrote
            command, input=said, capture_output=True, timeout=SECONDS, env=environment, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as trouble:
        return "", Notice("doctor.rehearsal_error", event=event, kind=type(trouble).__name__)
    out = ended.stdout.decode("utf-8", "replace")
    if ended.returncode != 0:
        return out, Notice("doctor.rehearsal_exit", event=event, code=ended.returncode)
    told = json.loads(out).get("systemMessage", "") if out.strip() else ""
    return out, Notice("text.plain", text=told) if told else None


def read_record(written: str) -> Notice:
    """The message of a note on disk. Older versions wrote finished sentences."""
    try:
        return Notice.from_record(json.loads(written))
    except ValueError:
        return Notice("text.plain", text=written.strip())


def recent_calls(folder: Path) -> Iterator[RecentCall]:
    """The last calls of hosts and their failures, newest first."""
    marks = [path for path in (folder / "hosts").glob("f*-*") if path.name.startswith(("fired-", "failed-"))]
    for path in sorted(marks, key=lambda path: -path.stat().st_mtime):
        host, _, failure = path.read_text(encoding="utf-8", errors="replace").partition("\n")
        moment = path.name.partition("-")[2].replace("-", " ")
        at = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
        yield RecentCall(moment, host, at, read_record(failure) if failure.strip() else None)
