"""The concept index that all SQL engines share: concepts, mentions, and each step of activation as a query.

A step joins its few active nodes to their mentions by index and sums in the database, so that its cost
follows the mentions it passes and not the size of the index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import starmap
from math import sqrt

from nagori.core.model import ALIVE, Filter, Memory, Scope, check_vector
from nagori.core.spreading_activation import ActiveConcept, MemoryConcepts, NearConcepts
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value
from nagori.stores.sql_rows import SELECT, Dialect, Selection, ask, load
from nagori.stores.sql_statements import forget_mentions, put_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COUNT_MENTIONS = """
    INSERT INTO concept (owner, name, memories) VALUES (?, ?, 1)
    ON CONFLICT (owner, name) DO UPDATE SET memories = concept.memories + 1"""
PUT_MENTION = """
    INSERT INTO mention (key, concept, weight) SELECT ?, id, ? FROM concept WHERE owner = ? AND name = ?"""


class ConceptSql(Value):
    """What differs between engines in the queries about concepts."""

    dialect: Dialect
    pairs: str  # SQL for a bound table with the columns `node` and `a`
    pack_pairs: Callable[[Mapping[str, float]], tuple[Any, ...]]
    cosine: str  # SQL for the cosine of c.vector and a bound vector
    vector: str  # SQL to read a vector
    pack_vector: Callable[[bytes], Any]
    unpack_vector: Callable[[Any], bytes]


class SqlConcepts:
    """The concepts of a store over SQL. `store` opens the transactions."""

    def __init__(self, store: Any, sql: ConceptSql) -> None:
        self._store, self._sql = store, sql

    # --- filling --------------------------------------------------------------------------------

    def missing(self, owner: Owner, limit: int) -> list[Memory]:
        absent = "NOT EXISTS (SELECT 1 FROM mention_done d WHERE d.key = m.key)"
        rows = f"{SELECT} WHERE m.owner = ? AND {absent} ORDER BY m.id LIMIT ?"
        with self._store.reading(owner) as db:
            number = self._store.number_of(db, owner)
            return [memory for _, memory in load(db, rows, (number, limit), self._sql.dialect)]

    def put(self, owner: Owner, concepts: Mapping[str, MemoryConcepts]) -> int:
        dialect = self._sql.dialect
        rows = f"SELECT key, id, digest FROM memory WHERE owner = ? AND {dialect.among.format('id')}"
        with self._store.writing(owner) as db:
            number = self._store.number_of(db, owner)
            found = ask(db, rows, (number, dialect.pack(list(concepts))))
            fitting = [(key, concepts[id]) for key, id, digest in found if digest == concepts[id].digest]
            forget_mentions(db, [key for key, _ in fitting], dialect)
            names = [(number, name) for _, each in fitting for name in each.weights]
            put_rows(db, COUNT_MENTIONS, sorted(names))  # one order for all writers: no deadlock
            mentions = (
                (key, weight, number, name) for key, each in fitting for name, weight in each.weights.items()
            )
            put_rows(db, PUT_MENTION, mentions)
            put_rows(db, "INSERT INTO mention_done (key) VALUES (?)", ((key,) for key, _ in fitting))
        return len(fitting)

    def count(self, owner: Owner) -> int:
        with self._store.reading(owner) as db:
            number = self._store.number_of(db, owner)
            return int(ask(db, "SELECT count(*) FROM concept WHERE owner = ?", (number,))[0][0])

    def counts(self, owner: Owner, names: Sequence[str]) -> dict[str, int]:
        among = self._sql.dialect.among.format("name")
        rows = f"SELECT name, memories FROM concept WHERE owner = ? AND {among}"
        with self._store.reading(owner) as db:
            number = self._store.number_of(db, owner)
            return dict(ask(db, rows, (number, self._sql.dialect.pack(list(names)))))

    def mentions(self, owner: Owner, after: str, limit: int) -> list[tuple[str, str, float]]:
        rows = """
            SELECT m.id, c.name, n.weight
            FROM (SELECT key, id FROM memory WHERE owner = ? AND id > ? ORDER BY id LIMIT ?) m
            JOIN mention n ON n.key = m.key JOIN concept c ON c.id = n.concept ORDER BY m.id, c.name"""
        with self._store.reading(owner) as db:
            return [tuple(row) for row in ask(db, rows, (self._store.number_of(db, owner), after, limit))]

    # --- spreading ------------------------------------------------------------------------------

    def concepts_of(
        self, scope: Scope, memories: Mapping[str, float], most: int, hub: int
    ) -> list[ActiveConcept]:
        with self._store.reading(scope.owner) as db:
            seen, values = Selection(self._store.number_of(db, scope.owner), scope).seen()
            rows = f"""
                SELECT c.name, c.memories, s.a FROM (
                    SELECT n.concept, max(p.a * n.weight) AS a FROM {self._sql.pairs} p
                    CROSS JOIN memory m CROSS JOIN mention n
                    WHERE m.id = p.node AND {seen} AND n.key = m.key GROUP BY n.concept) s
                JOIN concept c ON c.id = s.concept
                WHERE c.memories <= ? ORDER BY s.a / c.memories DESC, c.name LIMIT ?"""
            found = ask(db, rows, (*self._sql.pack_pairs(memories), *values, hub, most))
        return list(starmap(ActiveConcept, found))

    def memories_of(
        self, scope: Scope, concepts: Mapping[str, float], most: int, filter: Filter = ALIVE
    ) -> dict[str, float]:
        with self._store.reading(scope.owner) as db:
            selection = self._store.selection(db, scope, filter)
            where, values = selection.meant()
            rows = f"""
                SELECT m.id, s.a FROM (
                    SELECT n.key, sum(p.a) AS a FROM {self._sql.pairs} p
                    CROSS JOIN concept c CROSS JOIN mention n
                    WHERE c.owner = ? AND c.name = p.node AND n.concept = c.id GROUP BY n.key) s
                CROSS JOIN memory m WHERE m.key = s.key AND {where} ORDER BY s.a DESC, m.id LIMIT ?"""
            start = self._sql.pack_pairs(concepts)
            return dict(ask(db, rows, (*start, selection.number, *values, most)))

    # --- vectors of concepts --------------------------------------------------------------------

    def without_vector(self, owner: Owner, model: str, limit: int) -> list[str]:
        rows = """SELECT name FROM concept WHERE owner = ? AND (model IS NULL OR model <> ?)
                  ORDER BY memories DESC, name LIMIT ?"""
        with self._store.reading(owner) as db:
            return [name for (name,) in ask(db, rows, (self._store.number_of(db, owner), model, limit))]

    def put_vectors(self, owner: Owner, model: str, vectors: Mapping[str, bytes]) -> int:
        for vector in vectors.values():
            check_vector(vector, None)
        put = "UPDATE concept SET model = ?, vector = ? WHERE owner = ? AND name = ? RETURNING 1"
        with self._store.writing(owner) as db:
            number, pack = self._store.number_of(db, owner), self._sql.pack_vector
            return sum(len(ask(db, put, (model, pack(vectors[n]), number, n))) for n in sorted(vectors))

    def vectors(self, owner: Owner, model: str, names: Sequence[str]) -> dict[str, bytes]:
        among = self._sql.dialect.among.format("name")
        rows = f"SELECT name, {self._sql.vector} FROM concept WHERE owner = ? AND model = ? AND {among}"
        with self._store.reading(owner) as db:
            number = self._store.number_of(db, owner)
            found = ask(db, rows, (number, model, self._sql.dialect.pack(list(names))))
        return {name: self._sql.unpack_vector(vector) for name, vector in found}

    def nearest(self, owner: Owner, vector: bytes, model: str, k: int) -> NearConcepts:
        every = f"SELECT c.name, {self._sql.cosine} AS x FROM concept c WHERE c.owner = ? AND c.model = ?"
        rows = f"""
            WITH every AS MATERIALIZED ({every})
            SELECT name, x, (SELECT avg(x) FROM every), (SELECT avg(x * x) FROM every)
            FROM every ORDER BY x DESC, name LIMIT ?"""
        check_vector(vector, None)
        with self._store.reading(owner) as db:
            number = self._store.number_of(db, owner)
            found = ask(db, rows, (self._sql.pack_vector(vector), number, model, k))
        if not found:
            return NearConcepts({})
        _, _, mean, square = found[0]
        usual = (mean, sqrt(max(square - mean * mean, 1e-12)))
        return NearConcepts({name: cosine for name, cosine, *_ in found}, usual)
