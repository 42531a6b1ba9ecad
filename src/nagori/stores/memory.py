"""A store in plain dictionaries: the oracle of the contract suite, and handy in tests.

It is written to be obviously right, not fast: every other engine is compared with it.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from statistics import pstdev

from nagori.core.bookkeeping import Batch, Counts, Cursor, LogEntry, Measures, Space, Vector
from nagori.core.cycle import Census, LifeRow, Rules, life_row
from nagori.core.decay import memory_days, retention
from nagori.core.life import Tiers, tier_of
from nagori.core.model import ALIVE, Filter, Hit, Level, Memory, Relation, Scope, Text, micros
from nagori.core.ranking import cosine
from nagori.core.relevance import Evidence, Sketch
from nagori.core.selection import index_words, passes, sees
from nagori.core.text import asks
from nagori.errors import Conflict, StoreError
from nagori.stores._common import check_vector

K1, B = 1.2, 0.75


class _Room:
    """Everything of one space."""

    def __init__(self) -> None:
        self.cursor = Cursor()
        self.model: str | None = None
        self.memories: dict[str, Memory] = {}
        self.vectors: dict[tuple[str, str], Vector] = {}
        self.relations: set[Relation] = set()
        self.log: list[LogEntry] = []


class MemoryStore:
    """Everything in this process, gone with it."""

    name = "memory"
    capabilities = frozenset({"text", "vectors"})

    def __init__(self) -> None:
        self._rooms: dict[Space, _Room] = {}

    def close(self) -> None:
        """Nothing to close."""

    def cursor(self, space: Space) -> Cursor:
        return self._room(space).cursor

    def commit(self, space: Space, batch: Batch) -> None:
        room = self._room(space)
        if room.cursor != batch.before:
            raise Conflict(f"expected to stand at {batch.before}, but the store is at {room.cursor}")
        for vector in batch.vectors.values():
            check_vector(vector.data, self._dimension(vector.model))
        for memory in batch.memories:
            room.memories[memory.id] = memory
        for relation, stands in batch.links.items():
            (room.relations.add if stands else room.relations.discard)(relation)
        room.log += batch.log
        self._keep_vectors(room, batch.vectors)
        room.cursor = batch.after

    def add_vectors(self, space: Space, vectors: Mapping[str, Vector]) -> int:
        for vector in vectors.values():
            check_vector(vector.data, self._dimension(vector.model))
        return self._keep_vectors(self._room(space), vectors)

    def use_model(self, space: Space, model: str) -> bool:
        room = self._room(space)
        complete = all(self._fresh(room, m, model) for m in room.memories.values())
        room.model = model if complete else room.model
        return complete

    def drop_vectors(self, space: Space, model: str, limit: int) -> int:
        room = self._room(space)
        theirs = sorted(key for key in room.vectors if key[1] == model and model != room.model)[:limit]
        for key in theirs:
            del room.vectors[key]
        return len(theirs)

    @contextmanager
    def renewed(self, space: Space) -> Iterator[None]:
        old = self._rooms.pop(space, _Room())
        try:
            yield
        except BaseException:
            self._rooms[space] = old
            raise
        known = {(v.digest, name): v for (_, name), v in old.vectors.items()}
        room = self._room(space)
        room.model = old.model
        for memory in room.memories.values():
            for (digest, name), vector in known.items():
                if digest == memory.digest:
                    room.vectors[memory.id, name] = vector

    def start_over(self, stamp: str) -> Path | None:
        self._rooms.clear()
        return None

    def look(self, space: Space, ids: Iterable[str]) -> dict[str, Memory]:
        memories = self._room(space).memories
        return {id: memories[id] for id in ids if id in memories}

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Memory]:
        memories = self._room(scope.space).memories
        return [memories[id] for id in ids if id in memories and sees(scope, memories[id])]

    def find(
        self, scope: Scope, filter: Filter = ALIVE, *, limit: int = 100, older_than: Memory | None = None
    ) -> list[Memory]:
        found = sorted(self._alive(scope, filter), key=_age, reverse=True)
        return [m for m in found if older_than is None or _age(m) < _age(older_than)][:limit]

    def with_prefix(self, scope: Scope, prefix: str, limit: int = 10) -> list[str]:
        everything = Filter(archived=True, forgotten=True)
        return sorted(m.id for m in self._alive(scope, everything) if m.id.startswith(prefix))[:limit]

    def match_text(self, scope: Scope, words: Sequence[str], k: int, filter: Filter = ALIVE) -> list[Hit]:
        """BM25 by the book, over everything in the space."""
        bags = {m.id: index_words(m) for m in self._room(scope.space).memories.values()}
        if not bags or not words:
            return []
        counts = {id: Counter(bag) for id, bag in bags.items()}
        average = sum(map(len, bags.values())) / len(bags)
        rarity = {word: _idf(len(bags), sum(word in c for c in counts.values())) for word in set(words)}

        def score(id: str) -> float:
            norm = K1 * (1 - B + B * len(bags[id]) / average)
            seen = ((counts[id][word], rarity[word]) for word in set(words))
            return sum(idf * n * (K1 + 1) / (n + norm) for n, idf in seen if n)

        scored = ((m.id, score(m.id)) for m in self._alive(scope, filter))
        return _best(((id, score) for id, score in scored if score > 0), k)

    def nearest(self, scope: Scope, vector: bytes, model: str, k: int, filter: Filter = ALIVE) -> list[Hit]:
        check_vector(vector, self._dimension(model))
        room, query = self._room(scope.space), array("f", vector)
        scored = (
            (m.id, cosine(query, array("f", room.vectors[m.id, model].data)))
            for m in self._alive(scope, filter)
            if (m.id, model) in room.vectors
        )
        return _best(scored, k)

    def nearest_many(
        self,
        scope: Scope,
        vectors: Sequence[bytes],
        model: str,
        k: int,
        least: float,
        filter: Filter = ALIVE,
    ) -> list[list[Hit]]:
        hits = [self.nearest(scope, vector, model, k, filter) for vector in vectors]
        return [[hit for hit in each if hit.score >= least] for each in hits]

    def evidence(
        self,
        scope: Scope,
        words: Sequence[str],
        vector: bytes | None,
        model: str | None,
        n: int,
        filter: Filter = ALIVE,
    ) -> Evidence:
        room, meant = self._room(scope.space), self._alive(scope, filter)
        bags = {m.id: Counter(index_words(m)) for m in room.memories.values()}
        near: dict[str, float] = {}
        if vector is not None and model is not None:
            near = {hit.id: hit.score for hit in self.nearest(scope, vector, model, n, filter)}
        every = list(near.values()) or [0.0]
        having = {word: {m.id: bags[m.id][word] for m in meant if bags[m.id][word]} for word in words}
        found = {id for where in having.values() for id in where} | near.keys()
        return Evidence(
            total=len(bags),
            asked=len(set(words)),
            mean_tokens=sum(bag.total() for bag in bags.values()) / max(1, len(bags)),
            places={word: where for word, where in having.items() if where},
            cosines=near,
            usual=(sum(every) / len(every), pstdev(every) or 1.0),
            sketches={m.id: _sketch(m, bags[m.id].total()) for m in meant if m.id in found},
        )

    def census(self, space: Space) -> Census:
        alive = [m for m in self._room(space).memories.values() if not m.forgotten]
        levels = Counter(m.level for m in alive if not m.protected)
        return Census(dict(levels), sum(m.protected for m in alive))

    def due(self, space: Space, rules: Rules, now: datetime) -> list[LifeRow]:
        return [life_row(m) for m in self._room(space).memories.values() if not m.forgotten]

    def weakest(self, space: Space, level: Level, n: int, rules: Rules, now: datetime) -> list[LifeRow]:
        here = [m for m in self._room(space).memories.values() if m.level is level]
        here = [m for m in here if not (m.forgotten or m.protected)]
        here.sort(
            key=lambda m: (retention(m, now, rules.retention, rules.weekly), m.created, m.recalls, m.id)
        )
        return [life_row(m) for m in here[:n]]

    def relations(self, scope: Scope, ids: Sequence[str]) -> list[Relation]:
        wanted, room = set(ids), self._room(scope.space)
        return sorted(
            relation
            for relation in room.relations
            if wanted & {relation.source, relation.target}
            and len(self.get(scope, [relation.source, relation.target])) == 2
        )

    def unembedded(self, space: Space, model: str, limit: int) -> list[Memory]:
        room = self._room(space)
        missing = [m for m in room.memories.values() if not self._fresh(room, m, model)]
        return sorted(missing, key=lambda m: m.id)[:limit]

    def unjudged(self, space: Space, since: datetime, limit: int) -> list[Memory]:
        waiting = [
            m
            for m in self._room(space).memories.values()
            if m.judged_by is None and m.source.turn is not None and m.created >= since
            if m.level is Level.FULL and not m.forgotten and not m.superseded_by
        ]
        return sorted(waiting, key=lambda m: (m.created, m.id))[:limit]

    def vectors_of(self, space: Space, model: str, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        wanted = set(digests)
        kept = self._room(space).vectors.items()
        return {v.digest: v.data for (_, name), v in kept if name == model and v.digest in wanted}

    def model_in_use(self, space: Space) -> str | None:
        return self._room(space).model

    def models(self, space: Space) -> dict[str, int]:
        return dict(Counter(name for _, name in self._room(space).vectors))

    def history(self, space: Space, id: str) -> list[LogEntry]:
        return [entry for entry in self._room(space).log if id in entry.memories]

    def last_log(self, space: Space, limit: int) -> list[LogEntry]:
        return self._room(space).log[::-1][:limit]

    def count(self, scope: Scope, model: str | None = None) -> Counts:
        room = self._room(scope.space)
        everything = list(self._alive(scope, Filter(archived=True, forgotten=True)))
        alive = [m for m in everything if not m.forgotten]
        return Counts(
            levels=dict(sorted(Counter(int(m.level) for m in alive).items())),
            protected=sum(m.protected for m in alive),
            forgotten=len(everything) - len(alive),
            superseded=sum(m.superseded_by is not None for m in alive),
            unembedded=sum(not self._fresh(room, m, model) for m in alive) if model else 0,
        )

    def measure(self, scope: Scope, now: datetime, tiers: Tiers) -> Measures:
        alive = self._alive(scope, Filter(archived=True))
        short = [m for m in alive if m.level > Level.FULL and Level.FULL in m.texts]
        return Measures(
            kinds=dict(sorted(Counter(str(m.kind) for m in alive).items())),
            tiers=dict(sorted(Counter(str(tier_of(memory_days(m, now), tiers)) for m in alive).items())),
            shown=sum(_length(m.text) for m in short),
            whole=sum(_length(m.texts[Level.FULL]) for m in short),
        )

    def check(self) -> list[str]:
        return [
            f"{id}: a vector without a memory"
            for room in self._rooms.values()
            for id, _ in room.vectors
            if id not in room.memories
        ]

    def backup(self, path: Path) -> None:
        raise StoreError("the store in memory has nothing on disk to back up")

    def _room(self, space: Space) -> _Room:
        return self._rooms.setdefault(space, _Room())

    def _alive(self, scope: Scope, filter: Filter) -> list[Memory]:
        everyone = self._room(scope.space).memories.values()
        return [m for m in everyone if sees(scope, m) and passes(filter, m)]

    def _keep_vectors(self, room: _Room, vectors: Mapping[str, Vector]) -> int:
        """Vectors of the present texts stay or come; vectors of former texts go."""
        kept = 0
        for id, vector in vectors.items():
            memory = room.memories.get(id)
            if memory and memory.digest == vector.digest:
                room.vectors[id, vector.model] = vector
                room.model = room.model or vector.model
                kept += 1
        stale = [key for key, v in room.vectors.items() if room.memories[key[0]].digest != v.digest]
        for key in stale:
            del room.vectors[key]
        return kept

    def _fresh(self, room: _Room, memory: Memory, model: str) -> bool:
        return (memory.id, model) in room.vectors

    def _dimension(self, model: str) -> int | None:
        for room in self._rooms.values():
            for (_, name), vector in room.vectors.items():
                if name == model:
                    return len(vector.data) // 4
        return None


def _sketch(memory: Memory, tokens: int) -> Sketch:
    source, text = memory.source, memory.searchable
    place = (source.session, source.turn, source.speaker)
    return Sketch(memory.id, *place, tokens, len(text), asks(text), memory.trust, micros(memory.created))


def _length(text: Text) -> int:
    return len(text.trigger) + len(text.content)


def _age(memory: Memory) -> tuple[datetime, str]:
    return (memory.created, memory.id)


def _idf(total: int, having: int) -> float:
    # SQLite's FTS5 keeps very common words barely positive instead of negative; so do we.
    return max(1e-6, math.log((total - having + 0.5) / (having + 0.5)))


def _best(scored: Iterable[tuple[str, float]], k: int) -> list[Hit]:
    hits = [Hit(id, score) for id, score in scored]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:k]
