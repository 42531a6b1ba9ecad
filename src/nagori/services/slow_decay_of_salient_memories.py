"""Consolidate new memories at night [T7]: the most salient fade more slowly; nothing is dropped. The cycle
links them, and keeps summaries of their threads.

The population is what was formed since the last consolidation. What is new and what is related is told by
concepts: by vectors, small talk would be related to everything.
"""

from __future__ import annotations

from collections.abc import Sequence

from nagori.core.consolidation_salience import NEW_UP_TO, consolidated_coefficient, most_salient, salience
from nagori.core.events import CONSOLIDATED, Event
from nagori.core.model import Memory, Scope
from nagori.core.spreading_activation import hub_size
from nagori.core.storage_types import Owner
from nagori.core.value_object import split_batches
from nagori.event_ledger import Decision, read_memories
from nagori.language.keywords import find_concepts
from nagori.runtime import Runtime
from nagori.services.spreading_activation import index_concepts

AT_ONCE = 500
NEW = frozenset({"formed", "imported"})


def consolidate(runtime: Runtime, owner: Owner) -> int:
    """Consolidate what was formed since the last time; returns the number of memories."""
    ids, end = _new_memories(runtime, owner)
    memories = [m for m in read_memories(runtime.store, owner, ids).values() if not _is_settled(m)]
    scores = score_memories(runtime, owner, memories)
    chosen = most_salient(scores, runtime.config.consolidation.share)
    count = 0
    for some in split_batches(chosen, AT_ONCE):

        def decide(some: Sequence[str] = some) -> Decision:
            now = runtime.clock.now()
            known = read_memories(runtime.store, owner, list(some))
            return Decision(
                [
                    Event(
                        "consolidated",
                        now,
                        {
                            "coefficient": consolidated_coefficient(memory.coefficient),
                            "salience": round(scores[id], 4),
                        },
                        id,
                        by="cycle",
                    )
                    for id, memory in known.items()
                    if not _is_settled(memory)
                ]
            )

        count += len(runtime.ledger.write(owner, decide).events)
    runtime.ledger.set_state(owner, CONSOLIDATED, end, runtime.clock.now(), "cycle")
    return count


def _is_settled(memory: Memory) -> bool:
    return memory.is_archived or memory.is_forgotten or memory.protected


def _new_memories(runtime: Runtime, owner: Owner) -> tuple[list[str], int]:
    """Memories formed since the last consolidation, and the last event."""
    end = int(runtime.store.state(owner, CONSOLIDATED) or 0)
    ids = dict[str, None]()
    for event in runtime.journal.read(owner, end):
        if event.type in NEW and event.memory:
            ids[event.memory] = None
        end = event.seq
    return list(ids), end


def score_memories(runtime: Runtime, owner: Owner, memories: Sequence[Memory]) -> dict[str, float]:
    """The salience of each memory, by id."""
    index_concepts(runtime, owner, vectors=0)
    found = {memory.id: list(find_concepts(memory.searchable)) for memory in memories}
    names = sorted({name for each in found.values() for name in each})
    counts = runtime.store.concepts.counts(owner, names)
    hub = hub_size(runtime.store.count(Scope(tenant=owner[0], user=owner[1])).total)
    scores: dict[str, float] = {}
    for memory in memories:
        times = [counts.get(name, 1) for name in found[memory.id]]
        new, shared = sum(n <= NEW_UP_TO for n in times), sum(2 <= n <= hub for n in times)
        scores[memory.id] = salience(memory.emotion.intensity, new, shared, memory.mentions)
    return scores
