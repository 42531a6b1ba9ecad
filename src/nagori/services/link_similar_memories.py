"""Link memories: automatic links between memories of one topic, and relations named by a text [E16].

Only memories with new words since the last run are compared with all others, many at once in one pass over
the vectors. A cosine means different things for different models, so the threshold is relative: between the
model's cosine of unrelated texts and 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from nagori.core.events import LINKED, Event
from nagori.core.model import Memory, Relation, RelationType, Scope
from nagori.core.storage_types import Owner
from nagori.core.value_object import split_batches
from nagori.runtime import Runtime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import Embedder

NEW_WORDS = frozenset({"formed", "imported", "edited", "compressed", "restored", "revived", "undone"})
AT_ONCE = 1_000  # memories compared in one pass
WRITTEN = 250  # links per write: small enough that nobody waits long
MOST = 5_000  # memories compared per cycle; the others wait for the next


def link_new(runtime: Runtime, owner: Owner) -> tuple[int, int | None]:
    """Link new memories to similar ones; returns the number of links, and the event up to which all are
    compared."""
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
    """Whether the model's cosine of unrelated texts is known; a server may be unreachable."""
    try:
        return bool(embedder.unrelated)
    except Exception as trouble:  # an embedder may be third-party code
        runtime.observe("embedder.silent", error=trouble)
        return False


def _new_links(runtime: Runtime, owner: Owner, ids: Sequence[str]) -> Iterator[Event]:
    """New links of these memories, from newer to older, within the limit per memory."""
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
    """For each memory the similar ones, most similar first."""
    embedder, rules = runtime.embedder_for(scope.owner), runtime.config.relations
    assert embedder is not None
    digests = {memory.id: memory.digest for memory in memories}
    vectors = runtime.vectors.get(scope.owner, embedder.model, list(digests.values()))
    nothing, _ = embedder.unrelated
    least = nothing + rules.auto_link_similarity_threshold * (1 - nothing)
    asked = [id for id, digest in digests.items() if digest in vectors]
    questions = [vectors[digests[id]] for id in asked]
    most = rules.max_relations_per_memory + 1  # the memory itself is among them
    near = runtime.vectors.nearest(scope, questions, embedder.model, most, least=least)
    ids = {id: [hit.id for hit in hits if hit.id != id] for id, hits in zip(asked, near, strict=True)}
    others = {m.id: m for m in runtime.store.get(scope, sorted({id for each in ids.values() for id in each}))}
    return {id: [others[other] for other in ids.get(id, ()) if other in others] for id in digests}


# --- progress -------------------------------------------------------------------------------------


def _changed_memories(runtime: Runtime, owner: Owner) -> tuple[list[str], int]:
    """Memories with new words since the last run, and the last event. If that is unknown, all are compared;
    existing links are not repeated."""
    end, ids = int(runtime.store.state(owner, LINKED) or 0), dict[str, None]()
    for event in runtime.journal.read(owner, end):
        if event.type in NEW_WORDS and event.memory:
            if len(ids) == MOST and event.memory not in ids:
                break
            ids[event.memory] = None
        end = event.seq
    return sorted(ids), end  # a fixed order: the same links after a kill


# --- relations named by a text --------------------------------------------------------------------
# The events of corrections and continuations. Relations have a fixed direction [ruling 21].


def link_event(source: Memory, target: Memory, type: RelationType, now: datetime, by: str = "user") -> Event:
    """The event of a relation from `source` to `target`."""
    return Event("linked", now, {"target": target.id, "type": str(type)}, source.id, by=by)


def supersede_events(new: Memory, old: Memory, now: datetime, by: str = "user") -> list[Event]:
    """The events by which `new` supersedes `old`; both stay. Protection moves to the new memory."""
    events = [
        Event("superseded", now, {"by": new.id}, old.id, by=by),
        link_event(new, old, RelationType.CONTRADICTS, now, by),
    ]
    if old.protected:
        events += [Event("unprotected", now, {}, old.id, by=by), Event("protected", now, {}, new.id, by=by)]
    return events
