"""A store in PostgreSQL with pgvector, for those who want one engine.

Tables and meanings are those of the SQLite store; rows, conditions and shared reads are in
`stores/sql_rows.py`, `stores/sql_statements.py` and `stores/cycle_queries.py`. A reading sees one snapshot. A
commit locks the owner's row first. Row-level security shows a transaction the rows of one owner, whatever a
statement asks for.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import inf

from nagori.config.postgres_address import Address
from nagori.core.model import ALIVE, Filter, Hit, Memory, Scope, check_vector
from nagori.core.relevance import Candidates, Query, check_query
from nagori.core.storage_types import NOTHING_APPLIED, AppliedPosition, Batch, Owner, Vector, VectorModels
from nagori.errors import Conflict, Notice, StoreDamaged, StoreError
from nagori.journals.postgres import STEPS as JOURNAL_STEPS
from nagori.postgres import Database, Session
from nagori.stores import sql_rows
from nagori.stores.postgres import search
from nagori.stores.postgres import writes as writing
from nagori.stores.postgres.values import POSTGRES, full_vector, read_vector, register_types
from nagori.stores.sql_rows import SELECT, Selection, ask, find_model
from nagori.stores.sql_statements import SqlReads, take_lease

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import ConceptIndex

STEPS = ("0001_memories.sql", "0002_concepts.sql")
READ, WRITE = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "BEGIN"
AT_ONCE = 1_000
OWN = 'tenant = ? AND "user" = ?'
AVAILABLE = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
# Queries that must return no rows. Row-level security shows them those of one owner.
FAULTS = {
    "check.memories_without_words": """SELECT key, tokens FROM memory WHERE tokens > 0
        EXCEPT SELECT key, sum(times) FROM posting GROUP BY key""",
    "check.words_without_memory": "SELECT key FROM posting EXCEPT SELECT key FROM memory",
    "check.memories_without_text": "SELECT key FROM memory EXCEPT SELECT key FROM text",
    "check.text_without_memory": "SELECT key FROM text EXCEPT SELECT key FROM memory",
}
LOST_VECTORS = """SELECT o.name, count(*) FROM embedding v JOIN model o ON o.id = v.model
    WHERE NOT EXISTS (SELECT 1 FROM memory m WHERE m.key = v.key) GROUP BY 1"""


class PostgresStore(SqlReads):
    """The tables of one schema, shared by all nodes."""

    name = "postgres"
    capabilities = frozenset({"durable"})
    dialect = POSTGRES

    def __init__(self, address: Address) -> None:
        self.database = Database(address, StoreError, register_types)
        self.database.migrate("journal", "nagori.journals", JOURNAL_STEPS)  # the leases are there
        self.database.migrate("store", "nagori.stores.postgres", STEPS, (AVAILABLE, "error.postgres_vector"))
        self._local = threading.local()
        self.vectors = PostgresVectors(self)

    @property
    def concepts(self) -> ConceptIndex:
        from nagori.stores.sql_concept_index import (  # only association needs it
            ConceptSql,
            SqlConcepts,
        )

        pairs = "(SELECT * FROM unnest(?::text[], ?::double precision[]) AS q (node, a))"
        vector, cosine = "vector_send(vector)", "1 - (c.vector <=> ?b)"
        how = ConceptSql(POSTGRES, pairs, _pack_pairs, cosine, vector, full_vector, read_vector)
        return SqlConcepts(self, how)

    def close(self) -> None:
        self.database.close()

    # --- writing --------------------------------------------------------------------------------

    def applied(self, owner: Owner) -> AppliedPosition:
        with self.asking(owner) as db:
            rows = ask(db, f"SELECT seq, mark, journal FROM owner WHERE {OWN}", owner)
        return AppliedPosition(*rows[0]) if rows else NOTHING_APPLIED

    def commit(self, owner: Owner, batch: Batch) -> None:
        with self.writing(owner) as db:
            number, seq, first = writing.open_owner(db, owner)
            if seq != batch.before:
                raise Conflict("error.store_moved", before=batch.before, seq=seq)
            writing.apply(db, number, first, batch)

    @contextmanager
    def rebuilding(self, owner: Owner) -> Iterator[None]:
        with self.writing(owner) as db:
            number, *_ = writing.open_owner(db, owner)
            writing.empty_owner(db, number)
            yield
            writing.show_owner(db, owner)
            writing.refill_owner(db, number)

    def erase(self, owner: Owner, at_once: int) -> int:
        """PostgreSQL keeps dead rows until VACUUM, and its write-ahead log until that turns over."""
        with self.writing(owner) as db:
            if db.number is None:
                gone = len(ask(db, f"DELETE FROM lease WHERE {OWN} RETURNING 1", owner))
            else:
                gone = writing.erase_some(db, owner, db.number, at_once)
        return gone

    def lease(self, owner: Owner, work: str, holder: str, now: float, until: float) -> str | None:
        with self.writing(owner) as db:
            return take_lease(db, owner, work, holder, now, until)

    # --- reading --------------------------------------------------------------------------------

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Memory]:
        with self.reading(scope.owner) as db:
            seen, values = Selection(db.number, scope).seen()
            rows = f"{SELECT} WHERE {seen} AND {POSTGRES.among.format('m.id')}"
            found = sql_rows.load(db, rows, (*values, POSTGRES.pack(list(ids))), POSTGRES)
            by_id = {memory.id: memory for _, memory in found}
        return [by_id[id] for id in ids if id in by_id]

    def candidates(self, scope: Scope, query: Query) -> Candidates:
        with self.reading(scope.owner) as db:
            model = find_model(db, query.model) if query.model else None
            if query.vector is not None:
                check_query(query, model.dimension if model else None)
            return search.find_candidates(db, self.selection(db, scope, query.filter), query, model)

    def check(self) -> list[Notice]:
        with self.reading() as db:
            owners: list[Owner] = ask(db, 'SELECT tenant, "user" FROM owner ORDER BY 1, 2')
        try:
            return [fault for owner in owners for fault in self._faults(owner)]
        except StoreDamaged as damage:
            return [damage.notice]

    def _faults(self, owner: Owner) -> Iterator[Notice]:
        with self.reading(owner) as db:
            for fault, rows in FAULTS.items():
                if count := len(ask(db, rows)):
                    yield Notice(fault, n=count)
            for model, count in ask(db, LOST_VECTORS):
                yield Notice("check.vectors_without_memory", model=model, n=count)
            page, last = f"{SELECT} WHERE m.owner = ? AND m.key > ? ORDER BY m.key LIMIT ?", 0
            while memories := sql_rows.load(db, page, (db.number, last, AT_ONCE), POSTGRES):
                last = memories[-1][0]

    # --- internal -------------------------------------------------------------------------------

    def reading(self, owner: Owner | None = None) -> AbstractContextManager[Session]:
        """One snapshot of an owner's rows; without an owner, of all owners' names and times."""
        return self._transaction(owner, READ)

    def asking(self, owner: Owner | None = None) -> AbstractContextManager[Session]:
        return self._transaction(owner, "")

    def writing(self, owner: Owner) -> AbstractContextManager[Session]:
        """A transaction, or part of the one that is open."""
        return self._transaction(owner, WRITE)

    @contextmanager
    def _transaction(self, owner: Owner | None, begin: str) -> Iterator[Session]:
        session: Session | None = getattr(self._local, "session", None)
        if session is not None:
            try:
                # A savepoint: what fails inside leaves no half.
                with self.database.errors(), session.raw.transaction() if begin is WRITE else nullcontext():
                    writing.show_owner(session, owner)
                    yield session
            except BaseException:
                session.forget_tenant()
                raise
            return
        with self.database.session(owner[0] if owner else None) as session:
            writing.show_owner(session, owner)
            if not begin:
                yield session
                return
            session.execute(begin)
            self._local.session = session
            try:
                yield session
                session.execute("COMMIT")
            except BaseException:
                session.roll_back()
                raise
            finally:
                self._local.session = None

    def number_of(self, db: Session, owner: Owner) -> int | None:
        return db.number

    def without_vector(self, db: Session, model: str) -> str:
        return search.without_vector(find_model(db, model))


def _pack_pairs(pairs: Mapping[str, float]) -> tuple[list[str], list[float]]:
    return list(pairs), list(pairs.values())


class PostgresVectors:
    """The vectors of a PostgresStore."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store

    def put(self, owner: Owner, vectors: Mapping[str, Vector]) -> int:
        with self._store.writing(owner) as db:
            return writing.put_vectors(db, db.number, vectors) if db.number else 0

    def get(self, owner: Owner, model: str, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        with self._store.reading(owner) as db:
            known = find_model(db, model)
            return search.vectors_of(db, db.number, known, digests) if known else {}

    def nearest(
        self,
        scope: Scope,
        vectors: Sequence[bytes],
        model: str,
        k: int,
        filter: Filter = ALIVE,
        least: float = -inf,
    ) -> list[list[Hit]]:
        with self._store.reading(scope.owner) as db:
            known = find_model(db, model)
            for vector in vectors:
                check_vector(vector, known.dimension if known else None)
            if known is None:
                return [[] for _ in vectors]
            selection = self._store.selection(db, scope, filter)
            found = search.nearest(db, selection, vectors, known, k)
        return [[Hit(id, score) for _, id, score in each if score >= least] for each in found]

    def active(self, owner: Owner) -> str | None:
        with self._store.asking(owner) as db:
            rows = ask(db, f"SELECT model FROM owner WHERE {OWN}", owner)
        return rows[0][0] if rows else None

    def models(self, owner: Owner) -> VectorModels:
        counted = """SELECT o.name, count(*) FROM embedding v JOIN model o ON o.id = v.model
                     WHERE v.owner = ? GROUP BY o.name"""
        with self._store.reading(owner) as db:
            return VectorModels(self.active(owner), dict(ask(db, counted, (db.number,))))

    def activate(self, owner: Owner, model: str) -> bool:
        with self._store.writing(owner) as db:
            number, *_ = writing.open_owner(db, owner)
            missing = search.without_vector(find_model(db, model))
            if ask(db, f"SELECT 1 FROM memory m WHERE m.owner = ? AND {missing} LIMIT 1", (number,)):
                return False
            db.execute("UPDATE owner SET model = ? WHERE id = ?", (model, number))
            return True

    def drop(self, owner: Owner, model: str, limit: int) -> int:
        some = """SELECT v.key FROM embedding v JOIN model o ON o.id = v.model AND o.name = ?
                  JOIN owner w ON w.id = v.owner AND w.model IS DISTINCT FROM o.name
                  WHERE v.owner = ? ORDER BY v.key LIMIT ?"""
        rows = f"""DELETE FROM embedding WHERE owner = ? AND model = (SELECT id FROM model WHERE name = ?)
                   AND key IN ({some}) RETURNING 1"""
        with self._store.writing(owner) as db:
            return len(ask(db, rows, (db.number, model, model, db.number, limit)))
