"""Claude Agent SDK: a `SessionStore` that mirrors transcripts, so that a session can be resumed elsewhere.

    options = ClaudeAgentOptions(session_store=NagoriSessionStore(memory=memory, remember=True))

Entries come back as they were appended; one with a known `uuid` is not added again. With `remember=True` what
was said in the main transcript is recorded as turns, too, and `memory.process()` forms memories of it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

from nagori.app import Nagori
from nagori.core.model import Item
from nagori.edges.importers.claude_code import spoken_text
from nagori.edges.integrations import finish_in_thread, open_memory, run_in_thread
from nagori.services.key_value_items import ItemDelete, ItemPut, read_value

ENTRIES, SUMMARIES = ("claude_sessions", "entries"), ("claude_sessions", "summaries")
MAIN, SUB = "main", "sub"
MOST_CACHED = 64  # transcripts whose uuids are kept in this process


class NagoriSessionStore:
    """A session store in `memory`, or in the memory of the folder `path`."""

    def __init__(
        self, path: str | Path = ":memory:", *, memory: Nagori | None = None, remember: bool = False
    ) -> None:
        self._opened, self._remember = ExitStack(), remember
        self._memory = memory if memory is not None else self._opened.enter_context(open_memory(path))
        self._uuids: OrderedDict[tuple[str, ...], tuple[str, set[str | None]]] = OrderedDict()

    def close(self) -> None:
        """Close the memory, if the store opened it."""
        self._opened.close()

    async def append(self, key: Any, entries: list[Any]) -> None:
        """Add entries of a transcript at its end."""
        if entries:
            await finish_in_thread(lambda: self._append(key, list(entries)))

    async def load(self, key: Any) -> list[Any] | None:
        """All entries of a transcript, in their order; None if it was never written."""
        rows = await run_in_thread(self._memory.items.list, _place(key))
        return [read_value(row) for row in rows] or None

    async def list_sessions(self, project_key: str) -> list[Any]:
        """The sessions of a project, with the time of their last entry."""
        return await run_in_thread(self._sessions, project_key)

    async def list_session_summaries(self, project_key: str) -> list[Any]:
        """The SDK's own summaries of the sessions of a project."""
        rows = await run_in_thread(self._memory.items.list, (*SUMMARIES, project_key))
        return [_summary(row) for row in rows]

    async def delete(self, key: Any) -> None:
        """Delete a session with everything below it, or one transcript below it."""
        await finish_in_thread(lambda: self._delete(key))

    async def list_subkeys(self, key: Any) -> list[str]:
        """The transcripts below a session, such as those of subagents."""
        place = (*ENTRIES, key["project_key"], key["session_id"], SUB)
        return [found[-1] for found in await run_in_thread(self._memory.items.namespaces, place)]

    def _append(self, key: Any, entries: list[Any]) -> None:
        place, added, known = _place(key), list[Any](), set[str | None]()

        def decide() -> list[ItemPut]:
            last = self._memory.items.list(place, order="last", limit=1)
            known.clear()
            known.update(self._known_uuids(place, last))
            added.clear()
            for entry in entries:
                if (uuid := entry.get("uuid")) is None or uuid not in known:
                    added.append(entry)
                    known.add(uuid)
            first = int(last[0].key) + 1 if last else 0
            puts = [ItemPut(place, f"{first + n:012d}", entry) for n, entry in enumerate(added)]
            return [*puts, *self._summarised(key, added)]

        self._memory.items.change(decide)
        if added:
            self._note_uuids(place, self._memory.items.list(place, order="last", limit=1), known)
        if self._remember and place[-1] == MAIN:
            for entry in added:
                if text := spoken_text(entry):
                    self._memory.turn(text, session=key["session_id"], role=entry["type"])

    def _known_uuids(self, place: tuple[str, ...], last: Sequence[Item]) -> set[str | None]:
        """The uuids of a transcript. They are read again only if somebody else has written to it."""
        cached = self._uuids.get(place)
        if cached is not None and last and cached[0] == last[0].id + last[0].updated.isoformat():
            return cached[1]
        return {read_value(row).get("uuid") for row in self._memory.items.list(place)} if last else set()

    def _note_uuids(self, place: tuple[str, ...], last: Sequence[Item], known: set[str | None]) -> None:
        if last:
            self._uuids[place] = (last[0].id + last[0].updated.isoformat(), known)
        while len(self._uuids) > MOST_CACHED:
            self._uuids.popitem(last=False)

    def _summarised(self, key: Any, added: list[Any]) -> list[ItemPut]:
        """The summary that the SDK makes of the entries so far, if it can."""
        if not added or key.get("subpath"):
            return []
        from claude_agent_sdk import fold_session_summary

        place = (*SUMMARIES, key["project_key"])
        before = self._memory.items.get(place, key["session_id"])
        summary = fold_session_summary(None if before is None else _summary(before), key, added)
        return [ItemPut(place, key["session_id"], summary["data"])]

    def _sessions(self, project: str) -> list[Any]:
        places = self._memory.items.namespaces((*ENTRIES, project))
        mains = [place for place in places if place[-1] == MAIN and len(place) == len(ENTRIES) + 3]
        lasts = [self._memory.items.list(place, order="last", limit=1) for place in mains]
        return [
            {"session_id": place[len(ENTRIES) + 1], "mtime": _milliseconds(last[0].updated)}
            for place, last in zip(mains, lasts, strict=True)
            if last
        ]

    def _delete(self, key: Any) -> None:
        whole = not key.get("subpath")
        place = (*ENTRIES, key["project_key"], key["session_id"]) if whole else _place(key)

        def decide() -> list[ItemDelete]:
            gone = [ItemDelete(row.namespace, row.key) for row in self._memory.items.list(place)]
            return [*gone, ItemDelete((*SUMMARIES, key["project_key"]), key["session_id"])] if whole else gone

        self._memory.items.change(decide)
        self._uuids.clear()


def _place(key: Any) -> tuple[str, ...]:
    session = (*ENTRIES, key["project_key"], key["session_id"])
    subpath = key.get("subpath")
    return (*session, SUB, subpath) if subpath else (*session, MAIN)


def _summary(row: Item) -> Any:
    return {"session_id": row.key, "mtime": _milliseconds(row.updated), "data": read_value(row)}


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
