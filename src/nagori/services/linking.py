"""Ties that nobody drew: memories of one topic find each other at night [E16].

Only what is new or has new words since the last time is compared with all others, many at once: the store
goes through its vectors once for all of them. A cosine means different things to different models, so the
threshold is taken between "nothing in common" (which the model tells) and "the same".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from nagori.core.events import LINKED, Event
from nagori.core.model import Memory, Relation, RelationType, Scope
from nagori.core.storage import Owner
from nagori.core.values import split_batches
from nagori.runtime import Runtime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import Embedder

NEW_WORDS = frozenset({"formed", "imported", "edited", "compressed", "restored"})
AT_ONCE = 1_000  # memories compared in one walk over all
WRITTEN = 250  # ties of one write: nobody waits long for it
MOST = 5_000  # memories compared in one night; the others wait for the next


def link_new(runtime: Runtime, owner: Owner) -> tuple[int, int | None]:
    """Tie what is new to what is like it; how many ties were made, and up to which event all is compared."""
    rules, embedder = runtime.config.relations, runtime.embedder_for(owner)
    if not rules.enable_auto_linking or embedder is None or not _is_calibrated(runtime, embedder):
        return 0, None
    made = 0
    ids, end = _changed_memories(runtime, owner)
    for bundle in split_batches(ids, AT_ONCE):
        for events in split_batches(_new_links(runtime, owner, bundle), WRITTEN):
            made += len(runtime.ledger.write(owner, lambda events=events: events).events)  # type: ignore[misc]
    return made, end


def _is_calibrated(runtime: Runtime, embedder: Embedder) -> bool:
    """Whether the model can say what "nothing in common" is; a server may be out of reach tonight."""
    try:
        return bool(embedder.unrelated)
    except Exception as trouble:  # an embedder may be anybody's code
        runtime.observe("embedder.silent", error=trouble)
        return False


def _new_links(runtime: Runtime, owner: Owner, ids: Sequence[str]) -> Iterator[Event]:
    """New ties of these memories, the newer one to the older; none has more than it may."""
    scope, limit = Scope(tenant=owner[0], user=owner[1]), runtime.config.relations.max_relations_per_memory
    memories = [m for m in runtime.store.get(scope, ids) if not (m.is_forgotten or m.is_archived)]
    alike = _find_similar(runtime, scope, memories)
    everyone = {memory.id for memory in memories} | {other.id for each in alike.values() for other in each}
    known = set(runtime.store.relations(scope, sorted(everyone)))
    ties = Counter(end for relation in known for end in (relation.source, relation.target))
    for memory in memories:
        for other in alike[memory.id]:
            new, old = (memory, other) if _age(memory) > _age(other) else (other, memory)
            tie = Relation(new.id, old.id, RelationType.SAME_TOPIC)
            if tie in known or max(ties[new.id], ties[old.id]) >= limit:
                continue
            known.add(tie)
            ties.update((new.id, old.id))
            data = {"target": old.id, "type": str(RelationType.SAME_TOPIC)}
            yield Event("linked", runtime.clock.now(), data, new.id, by="cycle")


def _age(memory: Memory) -> tuple[object, str]:
    return (memory.created, memory.id)


def _find_similar(runtime: Runtime, scope: Scope, memories: Sequence[Memory]) -> dict[str, list[Memory]]:
    """For each memory those that speak of the same, most alike first."""
    embedder, rules = runtime.embedder_for(scope.owner), runtime.config.relations
    assert embedder is not None
    digests = {memory.id: memory.digest for memory in memories}
    vectors = runtime.vectors.get(scope.owner, embedder.model, list(digests.values()))
    nothing, _ = embedder.unrelated
    least = nothing + rules.auto_link_similarity_threshold * (1 - nothing)
    asked = [id for id, digest in digests.items() if digest in vectors]
    questions = [vectors[digests[id]] for id in asked]
    most = rules.max_relations_per_memory + 1  # itself is among them
    near = runtime.vectors.nearest(scope, questions, embedder.model, most, least=least)
    ids = {id: [hit.id for hit in hits if hit.id != id] for id, hits in zip(asked, near, strict=True)}
    others = {m.id: m for m in runtime.store.get(scope, sorted({id for each in ids.values() for id in each}))}
    return {id: [others[other] for other in ids.get(id, ()) if other in others] for id in digests}


# --- how far we are -------------------------------------------------------------------------------


def _changed_memories(runtime: Runtime, owner: Owner) -> tuple[list[str], int]:
    """Memories with new words since the last time, and up to which event. Where that is not known, all are
    compared: ties that exist are not made again."""
    end, ids = int(runtime.store.state(owner, LINKED) or 0), dict[str, None]()
    for event in runtime.journal.read(owner, end):
        if event.type in NEW_WORDS and event.memory:
            if len(ids) == MOST and event.memory not in ids:
                break
            ids[event.memory] = None
        end = event.seq
    return sorted(ids), end  # the same order, whatever happened in which: the same ties after a kill


# --- ties that words tell of ----------------------------------------------------------------------
# As events: what takes something back, what carries something on [E16, ruling 21].


def link_event(source: Memory, target: Memory, type: RelationType, now: datetime, by: str = "user") -> Event:
    """`source` is tied to `target`."""
    return Event("linked", now, {"target": target.id, "type": str(type)}, source.id, by=by)


def supersede_events(new: Memory, old: Memory, now: datetime, by: str = "user") -> list[Event]:
    """`new` takes `old` back; both stay. The wish to protect was for the matter, not for the mistake."""
    events = [
        Event("superseded", now, {"by": new.id}, old.id, by=by),
        link_event(new, old, RelationType.CONTRADICTS, now, by),
    ]
    if old.protected:
        events += [Event("unprotected", now, {}, old.id, by=by), Event("protected", now, {}, new.id, by=by)]
    return events
