"""Upgrade from 0.1: move the data of its note files into the journal once, then remove the files.

0.1 recorded turns as `heard` events, and a file held the last processed one. Unprocessed turns are recorded
anew, with the numbers they would have had.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zlib import crc32

from nagori.core.events import Event, fold
from nagori.core.storage_types import Owner
from nagori.journals.file import NOTES, UPGRADE
from nagori.runtime import Runtime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def adopt_notes(runtime: Runtime, owner: Owner) -> None:
    """Take over the note files of 0.1, if there are any."""
    folder = getattr(runtime.journal, "folder", None)
    if folder is None:
        return
    files = [path for path in _notes(folder(owner)) if path.exists()]
    if not files:
        return
    with runtime.journal.locked(owner):
        pass  # the first lock marks a journal of 0.1
    events = [event for path in files for event in _events(path, runtime.clock.now())]
    events += _unformed_turns(runtime, owner, folder(owner) / "drained.json")
    events = [event for event in events if not fold([event], {}).passed_over]  # 0.1 accepted more
    runtime.ledger.write(owner, lambda: events, blind=True)
    for path in (*files, folder(owner) / UPGRADE):
        path.unlink(missing_ok=True)


def _notes(folder: Path) -> Iterator[Path]:
    yield from (folder / name for name in NOTES)
    yield from folder.glob("later-*.json")


def _events(path: Path, now: datetime) -> Iterator[Event]:
    """The events for one file; a damaged one holds nothing that cannot be recomputed."""
    try:
        yield from _read_note(path, now)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return


def _read_note(path: Path, now: datetime) -> Iterator[Event]:
    if path.name == "cycle.last":
        yield Event("cycle_finished", datetime.fromtimestamp(path.stat().st_mtime, UTC), by="upgrade")
    elif path.suffix == ".json" and path.name != "drained.json":
        note: Any = json.loads(path.read_bytes())
        if path.name == "linked.json":
            yield _state("linked", int(note[2]), now)
        elif path.name == "model.json":
            yield _state("model_health", note, now)
        else:
            yield _state(f"batches:{path.stem.removeprefix('later-')}", note, now)


def _state(key: str, value: object, now: datetime) -> Event:
    return Event("state_changed", now, {"key": key, "value": value}, by="upgrade")


def _unformed_turns(runtime: Runtime, owner: Owner, note: Path) -> list[Event]:
    """Turns that 0.1 recorded and did not process; all of them if that is unknown."""
    after, numbers, seen = _progress(note)
    turns = []
    for event in runtime.journal.read(owner, after):
        if event.type != "heard" or not {"session", "role", "text"} <= event.data.keys():
            continue
        data = dict(event.data)
        session, speaker = str(data["session"]), f"{data['role']} {data.get('speaker', '')}"
        which = data.get("ref") or event.at.isoformat()
        mark = crc32(f"{which}\x1f{speaker}\x1f{data['text']}".encode("utf-8", "surrogatepass"))
        if (session, mark) in seen:
            continue
        seen.add((session, mark))
        if "index" not in data:
            data["index"] = numbers[session]
            data["uri"] = f"{data.get('host', 'raw')}-live:{session}#{data.get('ref') or event.seq}"
            numbers[session] += 1
        turns.append(Event("turn_recorded", event.at, data, by=event.by))
    return turns


def _progress(note: Path) -> tuple[int, Counter[str], set[tuple[str, int]]]:
    """The last processed event, the number of turns per session, and marks of the last turns."""
    try:
        known: Any = json.loads(note.read_bytes())
        talks = known["talks"]
        numbers = Counter({str(name): int(talk["turns"]) for name, talk in talks.items()})
        seen = {(str(name), int(mark)) for name, talk in talks.items() for mark in talk["seen"]}
        return int(known["cursor"][2]), numbers, seen
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return 0, Counter(), set()
