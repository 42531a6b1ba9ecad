"""Remove purged and deleted words from the journal and from free pages of the store.

The fold lists the memories that are due. A cycle handles a bounded number; the rest waits. After a kill they
are still due, and redacting twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from nagori.core.event_redaction import without_words
from nagori.core.events import TO_COMPACT, TO_REDACT, Event
from nagori.core.model import Level, Memory, is_thread_summary
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value
from nagori.errors import InvalidInput
from nagori.event_ledger import read_memories
from nagori.runtime import Runtime

AT_ONCE = 500  # memories per cycle
COMPACT_STEPS = 2_000  # merge steps of the store's index per cycle
WHOLE_INDEX = 10**6  # merge steps that are enough for any index


def redact_purged(runtime: Runtime, owner: Owner) -> int:
    """Redact what is due; returns the number of memories."""
    ids = (runtime.store.state(owner, TO_REDACT) or [])[:AT_ONCE]
    if not ids:
        return 0
    turns = _turns_of(runtime, owner, ids)
    seqs = {seq for id in ids for seq in _events_of(runtime, owner, id)} | set(turns)
    kept = read_memories(runtime.store, owner, ids)

    def replacement(event: Event) -> Event:
        return without_words(event, keep_trace=event.memory in kept)

    runtime.ledger.redact(owner, sorted(seqs), replacement)
    event = Event("redacted", runtime.clock.now(), {"memories": ids, "turns": turns}, by="cycle")
    runtime.ledger.write(owner, lambda: [event])
    runtime.observe("journal.redacted", owner=owner, memories=len(ids), turns=len(turns))
    return len(ids)


def _events_of(runtime: Runtime, owner: Owner, id: str) -> list[int]:
    """The events with its words. Of an item that was written again after its deletion only those before."""
    history = runtime.store.history(owner, id)
    deleted = max((entry.seq for entry in history if entry.type == "item_deleted"), default=None)
    return [entry.seq for entry in history if deleted is None or entry.seq < deleted]


def _turns_of(runtime: Runtime, owner: Owner, ids: Sequence[str]) -> list[int]:
    """The turns that these memories were formed from and that no other memory with full text needs."""
    origins = runtime.store.origins(owner, ids)
    memories = read_memories(runtime.store, owner, sorted({id for id, _ in origins}))
    needed = {turn for id, turn in origins if id in memories and _is_whole(memories[id])}
    return sorted({turn for _, turn in origins} - needed)


def _is_whole(memory: Memory) -> bool:
    """Whether a memory needs the words of its turns. The summary of a thread only quotes turns of others."""
    return Level.FULL in memory.texts and not is_thread_summary(memory)


class CompactReport(Value):
    """The size of the store before and after it was compacted, in bytes."""

    before: int
    after: int


def compact(runtime: Runtime) -> CompactReport:
    """Return the space of removed memories to the disk."""
    store = runtime.store
    if "files" not in store.capabilities:
        raise InvalidInput("store", "error.store_without_files", engine=store.name)
    before = store_bytes(runtime)
    store.compact(WHOLE_INDEX)  # type: ignore[attr-defined]
    store.vacuum()  # type: ignore[attr-defined]
    return CompactReport(before, store_bytes(runtime))


def store_bytes(runtime: Runtime) -> int:
    """The size of the store's files."""
    return sum(path.stat().st_size for path in runtime.data_dir.glob("nagori.db*"))


def compact_if_due(runtime: Runtime, owner: Owner) -> bool:
    """Remove the bytes of redacted words from the store's files, in bounded time; returns whether it was due
    and is done. If a reader prevents it or the index is large, it stays due."""
    if not runtime.store.state(owner, TO_COMPACT):
        return False
    compact = getattr(runtime.store, "compact", None)
    return compact is None or bool(compact(COMPACT_STEPS))
