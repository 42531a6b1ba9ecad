"""Redact events: remove the words of purged, deleted and erased memories from the journal.

A redacted event keeps its number, time, type and memory, so folding the journal again gives the same state. A
purged memory keeps its trace; of a deleted one no words stay; of an erased one nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

from nagori.core.events import TURNS, Event
from nagori.core.model import Level
from nagori.core.value_object import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NO_WORDS = {"trigger": "", "content": ""}
TRACE = str(int(Level.TRACE))
OF_SESSIONS = frozenset({"session_compacted", "session_briefed"})
NAMING_SESSIONS = frozenset({"recalled", "credited"})  # what they say about memories stays


def redaction_for(erasure: Event) -> Callable[[Event], Event]:
    """A function that removes from an earlier event what `erasure` names, and returns an event that holds
    nothing of it as it is. The erasure itself loses the names of sessions."""
    memories, turns, sessions = (
        frozenset(erasure.data.get(name, ())) for name in ("memories", "turns", "sessions")
    )

    def redact(event: Event) -> Event:
        if event.seq >= erasure.seq:
            own = event.seq == erasure.seq and sessions
            return replace(event, data={**event.data, "sessions": []}) if own else event
        of_session = event.data.get("session") in sessions
        if event.memory in memories or event.seq in turns or (of_session and event.type in OF_SESSIONS):
            return replace(event, data={"redacted": True})
        if of_session and event.type in NAMING_SESSIONS:
            kept = {name: value for name, value in event.data.items() if name != "session"}
            return replace(event, data=kept)
        return event

    return redact


def without_words(event: Event, *, keep_trace: bool) -> Event:
    """The redacted event."""
    if event.type in TURNS:
        kept = {name: event.data[name] for name in ("session", "role") if name in event.data}
        return replace(event, data={**kept, "text": "", "redacted": True})
    if event.type == "item_put":
        return replace(event, data={"redacted": True})
    data: dict[str, Any] = dict(event.data)
    if "memory" in data:
        data["memory"] = _record(data["memory"], keep_trace)
    if "text" in data and not (keep_trace and _is_trace(event)):
        data["text"] = NO_WORDS
    if not keep_trace:
        data |= {name: empty for name, empty in (("keywords", []), ("metadata", {})) if name in data}
    return replace(event, data=data)


def _is_trace(event: Event) -> bool:
    return event.type == "archived" or str(event.data.get("level")) == TRACE


def _record(record: dict[str, Any], keep_trace: bool) -> dict[str, Any]:
    texts = {level: _text(level, text, keep_trace) for level, text in record["texts"].items()}
    if keep_trace:
        return {**record, "texts": texts}
    kept = {name: value for name, value in record.items() if name != "metadata"}
    return {**kept, "texts": texts, "keywords": [], "source": _place(record.get("source", {}))}


def _text(level: str, text: dict[str, str], keep_trace: bool) -> dict[str, str]:
    return text if keep_trace and level == TRACE else NO_WORDS


def _place(source: dict[str, Any]) -> dict[str, Any]:
    return {name: source[name] for name in ("session", "turn") if name in source}
