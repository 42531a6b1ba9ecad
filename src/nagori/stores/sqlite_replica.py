"""A node's store: a local SQLite fold of a journal in PostgreSQL, which may be lost at any time.

What cannot be folded is shared through the database: leases, so that two nodes never do one work twice, and
vectors, by the text they belong to, so that a text is embedded once and not once a node. Vectors of texts
that are gone are deleted there, too. If the database does not answer, a vector is missing until the next
cycle, and nothing else happens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from nagori.core.model import Memory, Scope
from nagori.core.storage_types import Batch, Owner, Vector
from nagori.core.value_object import no_observer
from nagori.errors import Conflict, InvalidInput, JournalError
from nagori.postgres import Database
from nagori.protocols import Observer
from nagori.stores.sql_rows import ask
from nagori.stores.sql_statements import take_lease
from nagori.stores.sqlite import ERASE_IN_COPY, SqliteStore, SqliteVectors
from nagori.stores.sqlite.writes import erase_owner

OWN = "tenant = ? AND user_id = ?"
# Derived data: nobody waits for the disk. Nothing is added for an owner who is erased at the same time.
PUT = f"""
    WITH open AS MATERIALIZED (
        SELECT set_config('synchronous_commit', 'off', true) FROM journal_owner WHERE {OWN} FOR KEY SHARE)
    INSERT INTO node_vector (tenant, user_id, model, digest, data)
    SELECT ?, ?, new.* FROM unnest(?::text[], ?::bytea[], ?::bytea[]) AS new, open ON CONFLICT DO NOTHING"""
GET = f"SELECT model, digest, data FROM node_vector WHERE {OWN} AND digest = ANY(?)"
DELETE = f"DELETE FROM node_vector WHERE {OWN} AND digest = ANY(?)"


class NodeStore(SqliteStore):
    """A local fold whose leases and vectors are shared with other nodes."""

    def __init__(
        self, path: Path, database: Database, index_bytes: int = 0, observe: Observer = no_observer
    ) -> None:
        super().__init__(path, index_bytes, observe)
        self.shared = SharedVectors(database)
        self._database = database
        self._vectors = NodeVectors(self)
        self.has_remains = True  # bytes of deleted rows may be in the files, also from an earlier process

    def commit(self, owner: Owner, batch: Batch) -> None:
        whose = Scope(tenant=owner[0], user=owner[1])
        before = self.get(whose, [*(memory.id for memory in batch.memories), *batch.erased])
        super().commit(owner, batch)
        self.has_remains = self.has_remains or bool(batch.erased or batch.redacted_turns)
        with suppress(JournalError, Conflict):  # vectors are derived: they can be made again
            self._share(owner, batch, before)

    def _share(self, owner: Owner, batch: Batch, before: Sequence[Memory]) -> None:
        former = {memory.digest for memory in before}
        present = {memory.digest for memory in batch.memories if memory.id not in batch.erased}
        self.shared.delete(owner, former - present)
        if not batch.vectors_shared:
            self.shared.put(owner, batch.vectors)
        given = {vector.digest for vector in batch.vectors.values()}
        new = {m.id: m.digest for m in batch.memories if m.digest not in former | given}
        found = self.shared.find(owner, self.vectors.active(owner), new) if new else {}
        with suppress(InvalidInput):  # of a model that has another dimension here
            SqliteVectors.put(self.vectors, owner, found)

    def drop_fold(self, owner: Owner, identity: str) -> None:
        """Remove what was folded from another journal than the one with this identity."""
        with self.writing() as db:
            rows = ask(db, "SELECT journal FROM owner WHERE tenant = ? AND user = ?", owner)
            while rows and rows[0][0] != identity and erase_owner(db, owner, ERASE_IN_COPY):
                self.has_remains = True
        self._drop_indexes(owner)

    def compact(self, steps: int = 1_000) -> bool:
        clean = super().compact(steps)
        self.has_remains = not clean
        return clean

    def erase(self, owner: Owner, at_once: int) -> int:
        with self._database.session(owner[0]) as session:
            session.execute('DELETE FROM lease WHERE tenant = ? AND "user" = ?', owner)
        return super().erase(owner, at_once)

    def lease(self, owner: Owner, work: str, holder: str, now: float, until: float) -> str | None:
        with self._database.session(owner[0]) as session, session.raw.transaction():
            return take_lease(session, owner, work, holder, now, until)


class NodeVectors(SqliteVectors):
    """The vectors of a node: its own, and those that other nodes made."""

    def __init__(self, store: NodeStore) -> None:
        super().__init__(store)
        self._shared = store.shared

    def put(self, owner: Owner, vectors: Mapping[str, Vector]) -> int:
        stored = super().put(owner, vectors)
        with suppress(JournalError, Conflict):
            self._shared.put(owner, vectors)
        return stored


class SharedVectors:
    """Vectors of all nodes, by owner, model and text."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, owner: Owner, vectors: Mapping[str, Vector]) -> None:
        rows = sorted({(each.model, each.digest, each.data) for each in vectors.values()})
        if rows:
            with self._database.session(owner[0]) as session:
                session.execute(PUT, (*owner, *owner, *map(list, zip(*rows, strict=True))))

    def find(self, owner: Owner, model: str | None, digests: Mapping[str, bytes]) -> dict[str, Vector]:
        """Vectors of these texts, by the names given: of this model, or of the one that most of them have."""
        with self._database.session(owner[0]) as session:
            rows = session.ask(GET, *owner, list(set(digests.values())))
        if model is None and rows:
            [(model, _)] = Counter(name for name, _, _ in rows).most_common(1)
        data = {bytes(digest): bytes(vector) for name, digest, vector in rows if name == model}
        return {
            name: Vector(model or "", digest, data[digest])
            for name, digest in digests.items()
            if digest in data
        }

    def delete(self, owner: Owner, digests: set[bytes]) -> None:
        if digests:
            with self._database.session(owner[0]) as session:
                session.execute(DELETE, (*owner, list(digests)))
