"""Relations between memories: read them by strength, and keep them sound [E16].

A relation has a fixed meaning and direction; in which order related memories are told is decided when they
are read [ruling 21]. No relation leads to a memory that is archived, forgotten or deleted: none is read, and
every cycle removes them [E10].
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nagori.core.decay import retention
from nagori.core.events import RELATIONS_CHECKED, Event
from nagori.core.memory_scores import order_by_strength
from nagori.core.model import Memory, Relation, Scope, is_thread_summary, strictest_privacy
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, split_batches
from nagori.runtime import Runtime

ENDS_RELATIONS = frozenset({"archived", "forgotten", "deleted", "linked", "imported", "undone"})
AT_ONCE = 500  # memories per write


class RelatedMemory(Value):
    """A memory at the other end of a relation, and its retention."""

    relation: Relation
    memory: Memory
    retention: float


def find_related(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> list[RelatedMemory]:
    """The memories that are related to `ids`, in either direction: strongest first, and the newest first
    where their strength is about the same."""
    return order_related(runtime, scope, ids, runtime.store.relations(scope, list(ids)) if ids else [])


def order_related(
    runtime: Runtime, scope: Scope, ids: Sequence[str], relations: Sequence[Relation]
) -> list[RelatedMemory]:
    """The same for relations that were read already."""
    mine = set(ids)
    ends = {end for relation in relations for end in (relation.source, relation.target)}
    found = {memory.id: memory for memory in runtime.store.get(scope, sorted(ends)) if is_active(memory)}
    law, weekly, now = runtime.config.retention, runtime.config.weekly, runtime.clock.now()
    ranked = [(retention(memory, now, law, weekly), memory) for memory in found.values()]
    ordered = order_by_strength(ranked, runtime.config.relations.score_proximity_threshold)
    place = {memory.id: n for n, (_, memory) in enumerate(ordered)}
    strength = {memory.id: score for score, memory in ranked}
    told = [
        RelatedMemory(relation, found[other], strength[other])
        for relation in relations
        for own, other in ((relation.source, relation.target), (relation.target, relation.source))
        if own in mine and own != other and other in found
    ]
    return sorted(told, key=lambda each: (place[each.memory.id], each.relation))


def is_active(memory: Memory) -> bool:
    """Whether relations may lead to it."""
    return not (memory.is_archived or memory.is_forgotten)


def find_outdated(runtime: Runtime, scope: Scope, memories: Iterable[Memory]) -> set[str]:
    """The summaries of threads among these that quote what was forgotten, corrected or made private since.
    They are found when they are read, so an undo brings them back."""
    summaries = {memory.id: memory for memory in memories if is_thread_summary(memory)}
    if not summaries:
        return set()
    whole = Scope(tenant=scope.tenant, user=scope.user)
    pairs = runtime.store.origins(scope.owner, sorted(summaries))
    ids = sorted({id for id, _ in pairs if id not in summaries})
    quoted = {memory.id: memory for memory in runtime.store.get(whole, ids)}
    by_turn = [(turn, quoted[id]) for id, turn in pairs if id in quoted]
    return {
        id
        for id, turn in pairs
        if id in summaries and any(_spoils(source, summaries[id]) for seq, source in by_turn if seq == turn)
    }


def _spoils(source: Memory, summary: Memory) -> bool:
    private = strictest_privacy((source.privacy, summary.privacy)) != summary.privacy
    return source.is_forgotten or source.superseded_by is not None or private


# --- keeping them sound ---------------------------------------------------------------------------


def remove_stale_relations(runtime: Runtime, owner: Owner) -> tuple[int, int]:
    """Remove relations to memories that were archived, forgotten or deleted since the last time; returns
    their number, and the event up to which all are checked."""
    end, ids = int(runtime.store.state(owner, RELATIONS_CHECKED) or 0), dict[str, None]()
    for event in runtime.journal.read(owner, end):
        if event.type in ENDS_RELATIONS:
            targets = (event.memory, event.data.get("target"))
            ids.update((id, None) for id in targets if isinstance(id, str))
        end = event.seq
    scope, removed = Scope(tenant=owner[0], user=owner[1]), 0
    for some in split_batches(sorted(ids), AT_ONCE):
        removed += len(runtime.ledger.write(owner, lambda some=some: _stale(runtime, scope, some)).events)  # type: ignore[misc]
    return removed, end


def unlink_event(runtime: Runtime, relation: Relation, by: str) -> Event:
    """The event that removes a relation."""
    data = {"target": relation.target, "type": str(relation.type)}
    return Event("unlinked", runtime.clock.now(), data, relation.source, by=by)


def _stale(runtime: Runtime, scope: Scope, ids: Sequence[str]) -> list[Event]:
    relations = runtime.store.relations(scope, ids)
    ends = {end for relation in relations for end in (relation.source, relation.target)}
    active = {memory.id for memory in runtime.store.get(scope, sorted(ends)) if is_active(memory)}
    stale = [relation for relation in relations if not {relation.source, relation.target} <= active]
    return [unlink_event(runtime, relation, "cycle") for relation in stale]
