"""Select from plain collections what every store answers: items, turns, statistics.

A store over SQL expresses the same in its own language; the contract suite compares them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from nagori.core.decay import memory_days
from nagori.core.events import RecordedTurn
from nagori.core.levels import Tiers, tier_of
from nagori.core.model import Item, ItemFilter, Level, Memory, Text, TurnFilter
from nagori.core.storage_types import Batch, LogEntry, Measures
from nagori.core.value_object import replace


def select_items(items: Mapping[str, Item], filter: ItemFilter) -> list[Item]:
    """The items that a filter selects, in its order: what every store answers."""
    size, never = len(filter.prefix), datetime.max.replace(tzinfo=UTC)
    meant = [
        item
        for id, item in items.items()
        if item.namespace[:size] == filter.prefix
        and (filter.ids is None or id in filter.ids)
        and (filter.valid_at is None or (item.expires or never) > filter.valid_at)
        and (filter.expired_at is None or (item.expires or never) <= filter.expired_at)
    ]
    meant.sort(key=lambda item: (item.namespace, item.key), reverse=filter.order == "last")
    if filter.order == "newest":
        meant.sort(key=lambda item: item.updated, reverse=True)
    return meant[filter.offset :][: filter.limit]


def update_items(
    items: dict[str, Item], changes: Mapping[str, Item | None], renewals: Mapping[str, datetime]
) -> None:
    """Apply changes of items (None: deleted) and renewals to `items`, all by id."""
    for id, item in changes.items():
        items.pop(id, None)
        if item is not None:
            items[id] = item
    for id, at in renewals.items():
        if id in items and (ttl := items[id].ttl) is not None:
            items[id] = replace(items[id], expires=at + ttl)


def select_turns(turns: Mapping[int, RecordedTurn], filter: TurnFilter) -> list[RecordedTurn]:
    """The turns, given by event, that a filter selects, oldest first."""
    meant = [
        turn
        for seq, turn in sorted(turns.items())
        if seq > filter.after
        and (filter.session is None or turn.session == filter.session)
        and (filter.seqs is None or seq in filter.seqs)
        and (filter.ids is None or turn.id in filter.ids)
        and not (filter.pending and turn.processed)
    ]
    return meant[: filter.first] if filter.last is None else meant[max(0, len(meant) - filter.last) :]


def extend_log(log: Iterable[LogEntry], batch: Batch) -> list[LogEntry]:
    """The log after a batch: with its entries, and of memories that it erases with nothing earlier."""
    erased, kept = dict(batch.erasures), list[LogEntry]()
    for entry in (*log, *batch.log):
        ids = sorted(id for id in {*entry.memories} if entry.seq >= erased.get(id, 0))
        kept += [replace(entry, memories=tuple(ids))] if ids else []
    return kept


def extend_origins(origins: Iterable[tuple[str, int]], batch: Batch) -> set[tuple[str, int]]:
    """The origins after a batch: with its own, without those of memories that it erases."""
    erased = dict(batch.erasures)
    return {(id, turn) for id, turn in (*origins, *batch.origins) if turn >= erased.get(id, 0)}


def measure_memories(memories: Sequence[Memory], now: datetime, tiers: Tiers) -> Measures:
    """The statistics of memories that are not forgotten."""
    short = [m for m in memories if m.level > Level.FULL and Level.FULL in m.texts]
    return Measures(
        kinds=dict(sorted(Counter(str(m.kind) for m in memories).items())),
        tiers=dict(sorted(Counter(str(tier_of(memory_days(m, now), tiers)) for m in memories).items())),
        shown=sum(_length(m.text) for m in short),
        whole=sum(_length(m.texts[Level.FULL]) for m in short),
    )


def _length(text: Text) -> int:
    return len(text.trigger) + len(text.content)
