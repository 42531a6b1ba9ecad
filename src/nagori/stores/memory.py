"""In-memory store: plain dictionaries, the reference implementation for the contract suite.

It is written to be obviously right, not fast: every other engine is compared with it.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from math import inf
from statistics import pstdev
from threading import get_ident
from typing import Any

from nagori.core.cycle import Census, CycleRows, CycleRules, LifeRow, life_row
from nagori.core.decay import retention
from nagori.core.events import RecordedTurn
from nagori.core.in_memory_queries import (
    extend_log,
    extend_origins,
    measure_memories,
    select_items,
    select_turns,
    update_items,
)
from nagori.core.levels import Tiers
from nagori.core.memory_scores import cosine
from nagori.core.model import (
    ALIVE,
    Filter,
    Hit,
    Item,
    ItemFilter,
    Level,
    Memory,
    Relation,
    Scope,
    TurnFilter,
    check_vector,
    to_micros,
)
from nagori.core.relevance import CandidateInfo, Candidates, Query, cosines_of_nearest
from nagori.core.spreading_activation import ActiveConcept, MemoryConcepts, NearConcepts
from nagori.core.storage_types import (
    AppliedPosition,
    Batch,
    Counts,
    LogEntry,
    Measures,
    Owner,
    Vector,
    VectorModels,
)
from nagori.core.value_object import Value, default_factory, replace
from nagori.core.visibility import can_see, matches_filter
from nagori.errors import Conflict, Notice
from nagori.language.tokenizer import asks, index_words


class _Room(Value, frozen=False):
    """All data of one owner."""

    applied: AppliedPosition = AppliedPosition()
    model: str | None = None
    memories: dict[str, Memory] = default_factory(dict)
    vectors: dict[tuple[str, str], Vector] = default_factory(dict)  # by memory and model
    relations: set[Relation] = default_factory(set)
    log: list[LogEntry] = default_factory(list)
    turns: dict[int, RecordedTurn] = default_factory(dict)
    origins: set[tuple[str, int]] = default_factory(set)
    state: dict[str, str] = default_factory(dict)  # as JSON, so that callers cannot change it
    items: dict[str, Item] = default_factory(dict)
    concepts: dict[str, MemoryConcepts] = default_factory(dict)  # by memory
    concept_vectors: dict[str, tuple[str, bytes]] = default_factory(dict)  # model and vector, by name


class MemoryStore:
    """Everything in this process, gone with it."""

    name = "memory"
    capabilities: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self._rooms: dict[Owner, _Room] = {}
        self._drafts: dict[tuple[int, Owner], _Room] = {}  # owners being rebuilt, by thread
        self._leases: dict[tuple[Owner, str], tuple[str, float]] = {}
        self._vectors = MemoryVectors(self)

    @property
    def vectors(self) -> MemoryVectors:
        return self._vectors

    @property
    def concepts(self) -> StoredConcepts:
        return StoredConcepts(self)

    def close(self) -> None:
        """Nothing to close."""

    # --- writing --------------------------------------------------------------------------------

    def applied(self, owner: Owner) -> AppliedPosition:
        return self.room(owner).applied

    def commit(self, owner: Owner, batch: Batch) -> None:
        room = self.room(owner)
        if room.applied.seq != batch.before:
            raise Conflict("error.store_moved", before=batch.before, seq=room.applied)
        self.vectors.check(batch.vectors)
        for memory in batch.memories:
            old = room.memories.get(memory.id)
            if old and (old.searchable, old.keywords) != (memory.searchable, memory.keywords):
                room.concepts.pop(memory.id, None)
            room.memories[memory.id] = memory
        for relation, stands in batch.links.items():
            (room.relations.add if stands else room.relations.discard)(relation)
        room.log = extend_log(room.log, batch)
        _put_turns(room, batch)
        room.origins = extend_origins(room.origins, batch)
        for key, value in batch.state.items():
            room.state[key] = json.dumps(value)
        update_items(room.items, batch.items, batch.renewals)
        self.vectors.replace(room, batch.vectors)
        for id in batch.erased:
            _erase(room, id)
        self.concepts.forget_vectors(owner)
        room.applied = batch.after

    @contextmanager
    def rebuilding(self, owner: Owner) -> Iterator[None]:
        old, mine = self.room(owner), (get_ident(), owner)
        self._drafts[mine] = room = _Room(model=old.model)
        try:
            yield
        finally:
            del self._drafts[mine]
        known = {(vector.digest, name): vector for (_, name), vector in old.vectors.items()}
        for memory in room.memories.values():
            for (digest, name), vector in known.items():
                if digest == memory.digest:
                    room.vectors[memory.id, name] = vector
        self._rooms[owner] = room

    def erase(self, owner: Owner, at_once: int) -> int:
        leases = [key for key in self._leases if key[0] == owner]
        for key in leases:
            del self._leases[key]
        return len(leases) + (self._rooms.pop(owner, None) is not None)

    def lease(self, owner: Owner, work: str, holder: str, now: float, until: float) -> str | None:
        other, end = self._leases.get((owner, work), (holder, now))
        if other != holder and end > now:
            return other
        self._leases[owner, work] = (holder, until)
        return None

    # --- reading --------------------------------------------------------------------------------

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Memory]:
        memories = self.room(scope.owner).memories
        return [memories[id] for id in ids if id in memories and can_see(scope, memories[id])]

    def find(
        self,
        scope: Scope,
        filter: Filter = ALIVE,
        *,
        limit: int = 100,
        older_than: Memory | None = None,
        oldest_first: bool = False,
    ) -> list[Memory]:
        ordered = sorted(self.meant(scope, filter), key=_age, reverse=not oldest_first)
        if older_than is not None:
            end = _age(older_than)
            ordered = [m for m in ordered if (_age(m) > end if oldest_first else _age(m) < end)]
        return ordered[:limit]

    def candidates(self, scope: Scope, query: Query) -> Candidates:
        room, meant = self.room(scope.owner), self.meant(scope, query.filter)
        bags = {m.id: Counter(index_words(m)) for m in room.memories.values()}
        near: dict[str, float] = {}
        if query.vector is not None and (model := query.model) is not None:
            near = cosines_of_nearest(
                query, lambda vector, k: self.vectors.cosines(scope, vector, model, k, query.filter)
            )
        every = list(near.values()) or [0.0]
        words = {word for word in query.words if word}
        places = {word: {m.id: bags[m.id][word] for m in meant if bags[m.id][word]} for word in words}
        shown = {id for where in places.values() for id in where} | near.keys()
        return Candidates(
            total=len(bags),
            asked=len(words),
            mean_tokens=sum(bag.total() for bag in bags.values()) / len(bags) if bags else 1.0,
            places={word: where for word, where in places.items() if where},
            cosines=near,
            usual=(sum(every) / len(every), pstdev(every) or 1.0),
            infos={m.id: _sketch(m, bags[m.id].total()) for m in meant if m.id in shown},
        )

    def relations(self, scope: Scope, ids: Sequence[str]) -> list[Relation]:
        wanted, room = set(ids), self.room(scope.owner)
        return sorted(
            relation
            for relation in room.relations
            if wanted & {relation.source, relation.target}
            and len(self.get(scope, [relation.source, relation.target])) == 2
        )

    def history(self, owner: Owner, id: str | None = None, limit: int | None = None) -> list[LogEntry]:
        log = [entry for entry in self.room(owner).log if id is None or id in entry.memories]
        last = _last(sorted(log, key=lambda entry: entry.seq), limit)
        return last[::-1] if id is None else last

    def turns(self, owner: Owner, filter: TurnFilter) -> list[RecordedTurn]:
        return select_turns(self.room(owner).turns, filter)

    def origins(self, owner: Owner, ids: Sequence[str]) -> list[tuple[str, int]]:
        origins = self.room(owner).origins
        shared = {turn for memory, turn in origins if memory in ids}
        theirs = {memory for memory, turn in origins if turn in shared}
        return sorted(pair for pair in origins if pair[0] in theirs)

    def state(self, owner: Owner, key: str) -> Any:
        return json.loads(self.room(owner).state.get(key, "null"))

    def items(self, owner: Owner, filter: ItemFilter) -> list[Item]:
        return select_items(self.room(owner).items, filter)

    def item_namespaces(self, owner: Owner, prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        return sorted({item.namespace for item in self.items(owner, ItemFilter(prefix))})

    def known_owners(self) -> list[Owner]:
        return [owner for owner in sorted(self._rooms) if self.applied(owner).seq]

    def owners_due(self, key: str, before: str) -> list[Owner]:
        values = {owner: self.state(owner, key) for owner in sorted(self._rooms)}
        return [owner for owner, value in values.items() if isinstance(value, str) and value < before]

    # --- a whole owner --------------------------------------------------------------------------

    def cycle_rows(self, owner: Owner, rules: CycleRules, now: datetime) -> CycleRows:
        everything = self.room(owner).memories.values()
        alive = [m for m in everything if not m.is_forgotten]
        free = [m for m in alive if not m.protected]

        def strength(m: Memory) -> tuple[float, datetime, int, str]:
            return retention(m, now, rules.retention, rules.weekly), m.created, m.recalls, m.id

        def weakest(level: Level, n: int) -> list[LifeRow]:
            return [life_row(m) for m in sorted(free, key=strength) if m.level is level][:n]

        census = Census(dict(Counter(m.level for m in free)), len(alive) - len(free))
        return CycleRows(census, [life_row(m) for m in everything], weakest)

    def count(self, scope: Scope, model: str | None = None) -> Counts:
        room = self.room(scope.owner)
        everything = self.meant(scope, Filter(archived=True, forgotten=True))
        alive = [m for m in everything if not m.is_forgotten]
        return Counts(
            levels=dict(sorted(Counter(int(m.level) for m in alive).items())),
            protected=sum(m.protected for m in alive),
            forgotten=len(everything) - len(alive),
            superseded=sum(m.superseded_by is not None for m in alive),
            unembedded=sum((m.id, model) not in room.vectors for m in alive) if model else 0,
        )

    def measure(self, scope: Scope, now: datetime, tiers: Tiers) -> Measures:
        return measure_memories(self.meant(scope, Filter(archived=True)), now, tiers)

    def check(self) -> list[Notice]:
        return [
            Notice("check.vectors_without_memory", n=1, model=model)
            for room in self._rooms.values()
            for id, model in room.vectors
            if id not in room.memories
        ]

    # --- internal -------------------------------------------------------------------------------

    def room(self, owner: Owner) -> _Room:
        draft = self._drafts.get((get_ident(), owner))
        return draft if draft is not None else self._rooms.setdefault(owner, _Room())

    def meant(self, scope: Scope, filter: Filter) -> list[Memory]:
        room, model = self.room(scope.owner), filter.unembedded
        return [
            m
            for m in room.memories.values()
            if can_see(scope, m)
            and matches_filter(filter, m)
            and (model is None or (m.id, model) not in room.vectors)
        ]

    def dimension(self, model: str) -> int | None:
        for room in (*self._rooms.values(), *self._drafts.values()):
            for (_, name), vector in room.vectors.items():
                if name == model:
                    return len(vector.data) // 4
        return None


class StoredConcepts:
    """The concepts of a MemoryStore: what was put for texts that are still there."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def _known(self, owner: Owner) -> dict[str, Mapping[str, float]]:
        return {id: each.weights for id, each in self._store.room(owner).concepts.items()}

    def _counts(self, owner: Owner) -> Counter[str]:
        return Counter(name for weights in self._known(owner).values() for name in weights)

    def missing(self, owner: Owner, limit: int) -> list[Memory]:
        known = self._known(owner)
        return [m for id, m in sorted(self._store.room(owner).memories.items()) if id not in known][:limit]

    def put(self, owner: Owner, concepts: Mapping[str, MemoryConcepts]) -> int:
        room = self._store.room(owner)
        digests = {id: memory.digest for id, memory in room.memories.items()}
        fitting = {id: each for id, each in concepts.items() if digests.get(id) == each.digest}
        room.concepts.update(fitting)
        self.forget_vectors(owner)
        return len(fitting)

    def count(self, owner: Owner) -> int:
        return len(self._counts(owner))

    def counts(self, owner: Owner, names: Sequence[str]) -> dict[str, int]:
        return {name: count for name, count in self._counts(owner).items() if name in names}

    def concepts_of(
        self, scope: Scope, memories: Mapping[str, float], most: int, hub: int
    ) -> list[ActiveConcept]:
        known, counts, best = self._known(scope.owner), self._counts(scope.owner), dict[str, float]()
        for memory in self._store.get(scope, list(memories)):
            for name, weight in known.get(memory.id, {}).items():
                best[name] = max(best.get(name, 0.0), memories[memory.id] * weight)
        active = [ActiveConcept(name, counts[name], a) for name, a in best.items() if counts[name] <= hub]
        return sorted(active, key=lambda each: (-each.activation / each.memories, each.name))[:most]

    def memories_of(
        self, scope: Scope, concepts: Mapping[str, float], most: int, filter: Filter = ALIVE
    ) -> dict[str, float]:
        known = self._known(scope.owner)
        sums = {
            m.id: sum(concepts[name] for name in known[m.id] if name in concepts)
            for m in self._store.meant(scope, filter)
            if m.id in known and not concepts.keys().isdisjoint(known[m.id])
        }
        return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:most])

    def mentions(self, owner: Owner, after: str, limit: int) -> list[tuple[str, str, float]]:
        known = self._known(owner)
        ids = [id for id in sorted(self._store.room(owner).memories) if id > after][:limit]
        return [(id, name, weight) for id in ids for name, weight in sorted(known.get(id, {}).items())]

    def without_vector(self, owner: Owner, model: str, limit: int) -> list[str]:
        having = self._vectors(owner, model)
        counts = self._counts(owner)
        return sorted(counts.keys() - having.keys(), key=lambda name: (-counts[name], name))[:limit]

    def put_vectors(self, owner: Owner, model: str, vectors: Mapping[str, bytes]) -> int:
        known = {name: check_vector(data, None) for name, data in vectors.items()}.keys() & self._counts(
            owner
        )
        self._store.room(owner).concept_vectors.update({name: (model, vectors[name]) for name in known})
        return len(known)

    def vectors(self, owner: Owner, model: str, names: Sequence[str]) -> dict[str, bytes]:
        return {name: data for name, data in self._vectors(owner, model).items() if name in names}

    def nearest(self, owner: Owner, vector: bytes, model: str, k: int) -> NearConcepts:
        check_vector(vector, None)
        query = array("f", vector)
        near = {name: cosine(query, array("f", data)) for name, data in self._vectors(owner, model).items()}
        if not near:
            return NearConcepts({})
        usual = (sum(near.values()) / len(near), max(pstdev(near.values()), 1e-6))
        return NearConcepts(dict(sorted(near.items(), key=lambda item: (-item[1], item[0]))[:k]), usual)

    def forget_vectors(self, owner: Owner) -> None:
        """Drop the vectors of concepts that nothing mentions any more."""
        room, counts = self._store.room(owner), self._counts(owner)
        room.concept_vectors = {name: v for name, v in room.concept_vectors.items() if name in counts}

    def _vectors(self, owner: Owner, model: str) -> dict[str, bytes]:
        vectors = self._store.room(owner).concept_vectors
        return {name: data for name, (of, data) in vectors.items() if of == model}


class MemoryVectors:
    """The vectors of a MemoryStore."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def put(self, owner: Owner, vectors: Mapping[str, Vector]) -> int:
        self.check(vectors)
        return self.replace(self._store.room(owner), vectors)

    def get(self, owner: Owner, model: str, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        vectors = self._store.room(owner).vectors.items()
        return {v.digest: v.data for (_, name), v in vectors if name == model and v.digest in digests}

    def nearest(
        self,
        scope: Scope,
        vectors: Sequence[bytes],
        model: str,
        k: int,
        filter: Filter = ALIVE,
        least: float = -inf,
    ) -> list[list[Hit]]:
        near = [self.cosines(scope, vector, model, k, filter) for vector in vectors]
        return [[Hit(id, score) for id, score in each.items() if score >= least] for each in near]

    def cosines(
        self, scope: Scope, vector: bytes, model: str, k: int | None, filter: Filter
    ) -> dict[str, float]:
        """The k nearest (None: all), best first."""
        check_vector(vector, self._store.dimension(model))
        room, query = self._store.room(scope.owner), array("f", vector)
        scores = {
            m.id: cosine(query, array("f", room.vectors[m.id, model].data))
            for m in self._store.meant(scope, filter)
            if (m.id, model) in room.vectors
        }
        return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k])

    def active(self, owner: Owner) -> str | None:
        return self._store.room(owner).model

    def models(self, owner: Owner) -> VectorModels:
        room = self._store.room(owner)
        return VectorModels(room.model, dict(Counter(name for _, name in room.vectors)))

    def activate(self, owner: Owner, model: str) -> bool:
        room = self._store.room(owner)
        complete = all((id, model) in room.vectors for id in room.memories)
        room.model = model if complete else room.model
        return complete

    def drop(self, owner: Owner, model: str, limit: int) -> int:
        room = self._store.room(owner)
        theirs = sorted(key for key in room.vectors if key[1] == model and model != room.model)[:limit]
        for key in theirs:
            del room.vectors[key]
        return len(theirs)

    def check(self, vectors: Mapping[str, Vector]) -> None:
        for vector in vectors.values():
            check_vector(vector.data, self._store.dimension(vector.model))

    def replace(self, room: _Room, vectors: Mapping[str, Vector]) -> int:
        """Keep or add vectors of the present texts; remove vectors of former texts."""
        fitting = {
            (id, vector.model): vector
            for id, vector in vectors.items()
            if id in room.memories and room.memories[id].digest == vector.digest
        }
        room.vectors |= fitting
        for _, model in sorted(fitting):
            room.model = room.model or model
        for key, vector in list(room.vectors.items()):
            if room.memories[key[0]].digest != vector.digest:
                del room.vectors[key]
        return len(fitting)


def _put_turns(room: _Room, batch: Batch) -> None:
    for turn in batch.turns:
        if turn.seq in room.turns or any(other.id == turn.id for other in room.turns.values()):
            continue
        places = [other.index or 0 for other in room.turns.values() if other.session == turn.session]
        index = max(places, default=-1) + 1 if turn.index is None else turn.index
        room.turns[turn.seq] = replace(turn, index=index)
    for first, last in batch.processed:
        for seq, turn in room.turns.items():
            if first <= seq <= last:
                room.turns[seq] = replace(turn, processed=True)
    for seq in batch.redacted_turns:
        room.turns.pop(seq, None)


def _erase(room: _Room, id: str) -> None:
    room.memories.pop(id, None)
    room.concepts.pop(id, None)
    room.vectors = {key: vector for key, vector in room.vectors.items() if key[0] != id}
    room.relations = {r for r in room.relations if id not in (r.source, r.target)}


def _sketch(memory: Memory, tokens: int) -> CandidateInfo:
    source, text = memory.source, memory.searchable
    place = (source.session, source.turn, source.speaker)
    return CandidateInfo(
        memory.id, *place, tokens, len(text), asks(text), memory.trust, to_micros(memory.created)
    )


def _last(items: list[Any], limit: int | None) -> list[Any]:
    return items if limit is None else items[max(0, len(items) - limit) :]


def _age(memory: Memory) -> tuple[datetime, str]:
    return (memory.created, memory.id)
