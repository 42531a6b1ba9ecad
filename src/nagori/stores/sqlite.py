"""The default store: one SQLite file, many processes.

WAL with `BEGIN IMMEDIATE` for every write: readers never wait, writers take turns. `synchronous` is
NORMAL because the journal, not this file, is what acknowledges: a power cut may take the last commits
away, and the next open applies them again. Deleted text is overwritten (`secure_delete`).

How things are found is in `_search.py` and `_evidence.py`, how they are kept in `_writing.py`, what the cycle
asks in `_life.py`.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import apsw

from nagori.core.bookkeeping import Batch, Counts, Cursor, LogEntry, Space, Vector
from nagori.core.model import ALIVE, Filter, Hit, Memory, Relation, RelationType, Scope, micros
from nagori.core.relevance import Evidence
from nagori.core.values import Value
from nagori.errors import Conflict, StoreError
from nagori.paths import open_private, private_dir
from nagori.stores import _search as search
from nagori.stores import _writing as writing
from nagori.stores._common import check_vector, moment
from nagori.stores._evidence import evidence
from nagori.stores._rows import SELECT, ask, load
from nagori.stores.migrate import migrate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from nagori.core.bookkeeping import Measures
    from nagori.core.cycle import Census, LifeRow, Rules
    from nagori.core.life import Tiers
    from nagori.core.model import Level

BUSY_MS = 30_000
PRAGMAS = {"synchronous": "normal", "secure_delete": "on", "cache_size": -32_000}
MOVE_SPACE = """UPDATE space SET segment = ?, offset = ?, seq = ?, next = ?, tokens = tokens + ?
                WHERE id = ?"""


class SqliteStore:
    """One file, opened at the first question. Each thread has its own connection; none is shared."""

    name = "sqlite"
    capabilities = frozenset({"text", "vectors", "durable", "backup"})

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._open: list[apsw.Connection] = []
        self._spaces: dict[Space, int] = {}
        self._models: dict[str, search.Model] = {}

    def close(self) -> None:
        """Close every thread's connection."""
        for connection in self._open:
            connection.close()
        self._open.clear()
        self._local = threading.local()

    # --- writing --------------------------------------------------------------------------------

    def cursor(self, space: Space) -> Cursor:
        with self._reading() as db:
            row = db.execute(
                "SELECT segment, offset, seq FROM space WHERE tenant = ? AND user = ?", space
            ).fetchone()
        return Cursor(*row) if row else Cursor()

    def commit(self, space: Space, batch: Batch) -> None:
        with self._writing() as db:
            number, at, next_number = self._space_row(db, space)
            if at != batch.before:
                raise Conflict(f"expected to stand at {batch.before}, but the store is at {at}")
            known = self._known(db, number, frozenset(m.id for m in batch.memories))
            newborn = [memory for memory in batch.memories if memory.id not in known]
            models = self._all_models(db) if known else []
            # By key, the new ones last: the word index writes a piece to disk whenever a key is out of order.
            changes = [(*known[m.id], m) for m in batch.memories if m.id in known]
            changes.sort(key=lambda change: change[0])
            tokens = writing.change(db, models, changes)
            tokens += writing.add(db, number, next_number, newborn)
            next_number += len(newborn)
            writing.put_links(db, number, batch.links)
            writing.put_log(db, number, batch.log)
            self._put_vectors(db, number, batch.vectors)
            after = batch.after
            db.execute(MOVE_SPACE, (after.segment, after.offset, after.seq, next_number, tokens, number))

    def add_vectors(self, space: Space, vectors: Mapping[str, Vector]) -> int:
        with self._writing() as db:
            number = self._number(db, space)
            return self._put_vectors(db, number, vectors) if number else 0

    def use_model(self, space: Space, model: str) -> bool:
        from nagori.stores import _models as models  # of a change of model: a recall need not load it

        with self._writing() as db:
            return models.use(db, self._space_row(db, space)[0], model, self._model(db, model))

    def drop_vectors(self, space: Space, model: str, limit: int) -> int:
        from nagori.stores import _models as models

        with self._writing() as db:
            number, known = self._number(db, space), self._model(db, model)
            return models.drop(db, number, known, limit) if number and known else 0

    @contextmanager
    def renewed(self, space: Space) -> Iterator[None]:
        with self._writing() as db:
            number = self._space_row(db, space)[0]
            models = self._all_models(db)
            for model in models:
                search.set_vectors_aside(db, model, number)
            writing.forget_words(db, number)
            search.empty(db, models, number)
            db.execute(
                "UPDATE space SET segment = 0, offset = 0, seq = 0, next = 1, tokens = 0 WHERE id = ?",
                (number,),
            )
            yield
            for model in models:
                search.bring_vectors_back(db, model, number)

    # --- reading --------------------------------------------------------------------------------

    def look(self, space: Space, ids: Iterable[str]) -> dict[str, Memory]:
        with self._reading() as db:
            wanted = frozenset(ids)
            known = self._known(db, self._number(db, space), wanted)
            return {id: known[id][1] for id in wanted if id in known}

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Memory]:
        with self._reading() as db:
            seen, values = search.seen_by(scope, self._number(db, scope.space))
            sql = f"{SELECT} WHERE {seen} AND m.id IN (SELECT value FROM json_each(?))"
            found = {m.id: m for _, m in load(db, sql, (*values, json.dumps(list(ids))))}
        return [found[id] for id in ids if id in found]

    def find(
        self, scope: Scope, filter: Filter = ALIVE, *, limit: int = 100, older_than: Memory | None = None
    ) -> list[Memory]:
        with self._reading() as db:
            where, values = search.meant(scope, self._number(db, scope.space), filter)
            if older_than is not None:
                where += " AND (m.created, m.id) < (?, ?)"
                values = (*values, micros(older_than.created), older_than.id)
            # Few of many by an index of their own: SQLite would rather walk all memories in order.
            by = "+m.created" if filter.session or filter.protected else "m.created"
            sql = f"{SELECT} WHERE {where} ORDER BY {by} DESC, m.id DESC LIMIT ?"
            return [memory for _, memory in load(db, sql, (*values, limit))]

    def with_prefix(self, scope: Scope, prefix: str, limit: int = 10) -> list[str]:
        with self._reading() as db:
            seen, values = search.seen_by(scope, self._number(db, scope.space))
            sql = f"SELECT m.id FROM memory m WHERE {seen} AND m.id >= ? AND m.id < ? ORDER BY m.id LIMIT ?"
            return [id for (id,) in ask(db, sql, (*values, prefix, prefix + "\U0010ffff", limit))]

    def match_text(self, scope: Scope, words: Sequence[str], k: int, filter: Filter = ALIVE) -> list[Hit]:
        with self._reading() as db:
            return search.by_words(db, scope, self._number(db, scope.space), words, k, filter)

    def nearest(self, scope: Scope, vector: bytes, model: str, k: int, filter: Filter = ALIVE) -> list[Hit]:
        with self._reading() as db:
            known = self._model(db, model)
            check_vector(vector, known.dimension if known else None)
            if known is None:
                return []
            return search.by_vector(db, scope, self._number(db, scope.space), vector, known, k, filter)

    def nearest_many(
        self,
        scope: Scope,
        vectors: Sequence[bytes],
        model: str,
        k: int,
        least: float,
        filter: Filter = ALIVE,
    ) -> list[list[Hit]]:
        from nagori.stores import _together as together  # of the night

        with self._reading() as db:
            known, number = self._model(db, model), self._number(db, scope.space)
            for vector in vectors:
                check_vector(vector, known.dimension if known else None)
            if known is None or not together.pays(known, len(vectors)):
                hits = [self.nearest(scope, vector, model, k, filter) for vector in vectors]
                return [[hit for hit in each if hit.score >= least] for each in hits]
            near = together.nearest_keys(db, scope, number, vectors, known, k, least, filter)
            return search.named(db, near)

    def evidence(
        self,
        scope: Scope,
        words: Sequence[str],
        vector: bytes | None,
        model: str | None,
        n: int,
        filter: Filter = ALIVE,
    ) -> Evidence:
        with self._reading() as db:
            known = self._model(db, model) if model else None
            if vector is not None:
                check_vector(vector, known.dimension if known else None)
            return evidence(
                db, scope, self._number(db, scope.space), words, vector if known else None, known, n, filter
            )

    def census(self, space: Space) -> Census:
        from nagori.stores import _life as life  # of the night: a recall need not load it

        with self._reading() as db:
            return life.census(db, self._number(db, space))

    def due(self, space: Space, rules: Rules, now: datetime) -> list[LifeRow]:
        from nagori.stores import _life as life

        with self._reading() as db:
            return life.due(db, self._number(db, space), rules, now)

    def weakest(self, space: Space, level: Level, n: int, rules: Rules, now: datetime) -> list[LifeRow]:
        from nagori.stores import _life as life

        with self._reading() as db:
            return life.weakest(db, self._number(db, space), level, n, rules, now)

    def relations(self, scope: Scope, ids: Sequence[str]) -> list[Relation]:
        with self._reading() as db:
            number = self._number(db, scope.space)
            sql = """
                SELECT source, target, type FROM relation WHERE space = ?1
                    AND (source IN (SELECT value FROM json_each(?2))
                         OR target IN (SELECT value FROM json_each(?2)))
                ORDER BY source, target, type"""
            rows = ask(db, sql, (number, json.dumps(list(ids))))
        found = [Relation(source, target, RelationType(type)) for source, target, type in rows]
        ends = {m.id for m in self.get(scope, sorted({e for r in found for e in (r.source, r.target)}))}
        return [relation for relation in found if {relation.source, relation.target} <= ends]

    def unembedded(self, space: Space, model: str, limit: int) -> list[Memory]:
        with self._reading() as db:
            number, known = self._number(db, space), self._model(db, model)
            where = search.without_vector(known)
            sql = f"{SELECT} WHERE m.space = ? AND {where} ORDER BY m.id LIMIT ?"
            return [memory for _, memory in load(db, sql, (number, limit))]

    def unjudged(self, space: Space, since: datetime, limit: int) -> list[Memory]:
        sql = (
            f"{SELECT} WHERE m.space = ? AND m.created >= ? AND m.judged_by IS NULL AND m.turn IS NOT NULL"
            " AND m.level = 1 AND m.forgotten_at IS NULL AND m.superseded_by IS NULL"
            " ORDER BY m.created, m.id LIMIT ?"
        )
        with self._reading() as db:
            return [m for _, m in load(db, sql, (self._number(db, space), micros(since), limit))]

    def vectors_of(self, space: Space, model: str, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        with self._reading() as db:
            number, known = self._number(db, space), self._model(db, model)
            if known is None or number is None:
                return {}
            sql = f"SELECT digest, v FROM {known.vectors} WHERE digest = ? AND key BETWEEN ? AND ? LIMIT 1"
            return dict(row for digest in digests for row in ask(db, sql, (digest, *search.keys(number))))

    def model_in_use(self, space: Space) -> str | None:
        with self._reading() as db:
            sql = "SELECT model FROM space WHERE tenant = ? AND user = ?"
            row = db.execute(sql, space).fetchone()
        return row[0] if row else None

    def models(self, space: Space) -> dict[str, int]:
        from nagori.stores import _models as models

        with self._reading() as db:
            return models.counts(db, self._number(db, space), self._all_models(db))

    def history(self, space: Space, id: str) -> list[LogEntry]:
        sql = "SELECT seq FROM log WHERE space = ? AND memory = ? ORDER BY seq"
        with self._reading() as db:
            number = self._number(db, space)
            numbers = [seq for (seq,) in db.execute(sql, (number, id))]
            return [entry for seq in numbers for entry in self._log_entries(db, number, "seq = ?", (seq,))]

    def last_log(self, space: Space, limit: int) -> list[LogEntry]:
        with self._reading() as db:
            number = self._number(db, space)
            newest = "SELECT DISTINCT seq FROM log WHERE space = ? ORDER BY seq DESC LIMIT ?"
            where = f"seq >= (SELECT min(seq) FROM ({newest}))"
            return self._log_entries(db, number, where, (number, limit))[::-1]

    def count(self, scope: Scope, model: str | None = None) -> Counts:
        with self._reading() as db:
            number = self._number(db, scope.space)
            seen, values = search.seen_by(scope, number)
            missing = search.without_vector(self._model(db, model)) if model else "0"
            sql = f"""
                SELECT m.level, count(*), sum(m.protected), sum(m.superseded_by IS NOT NULL), sum({missing})
                FROM memory m WHERE {seen} AND m.forgotten_at IS NULL GROUP BY m.level ORDER BY m.level"""
            rows = ask(db, sql, values)
            gone = f"SELECT count(*) FROM memory m WHERE {seen} AND m.forgotten_at IS NOT NULL"
            [(forgotten,)] = ask(db, gone, values)
        return Counts(
            levels={level: n for level, n, *_ in rows},
            protected=sum(row[2] for row in rows),
            forgotten=forgotten,
            superseded=sum(row[3] for row in rows),
            unembedded=sum(row[4] for row in rows),
        )

    def measure(self, scope: Scope, now: datetime, tiers: Tiers) -> Measures:
        from nagori.stores._measure import measure  # no hook ever asks

        with self._reading() as db:
            return measure(db, scope, self._number(db, scope.space), now, tiers)

    # --- upkeep ---------------------------------------------------------------------------------

    def check(self) -> list[str]:
        with self._reading() as db:
            faults = [text for (text,) in db.execute("PRAGMA integrity_check(20)") if text != "ok"]
            return faults or list(search.disagreements(db, self._all_models(db)))

    def backup(self, path: Path) -> None:
        os.close(open_private(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC))
        with self._reading() as db:
            target = apsw.Connection(str(path))
            try:
                with target.backup("main", db, "main") as copy:
                    copy.step(-1)
                # One plain file: nothing of the copy may hide in a side file.
                target.pragma("journal_mode", "delete")
            finally:
                target.close()

    def start_over(self, stamp: str) -> Path | None:
        self.close()
        self._spaces.clear()
        self._models.clear()
        aside = None
        for file in sorted(self.path.parent.glob(self.path.name + "*")):
            if file.name.removeprefix(self.path.name) in ("", "-wal", "-shm"):
                aside = file.rename(file.with_name(f"{file.name}.damaged-{stamp}"))
        return aside

    def compact(self) -> None:
        """Give back the space of what was deleted, and leave no old bytes in the side file [E23]."""
        with _trouble(self.path):
            db = self._connection()
            db.execute("INSERT INTO words (words) VALUES ('optimize')")
            db.execute("VACUUM")
            db.pragma("wal_checkpoint(TRUNCATE)")

    # --- how it is done -------------------------------------------------------------------------

    def _connection(self) -> apsw.Connection:
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            with _trouble(self.path):
                connection = connect(self.path)
                migrate(connection)
            self._local.connection = connection
            self._open.append(connection)
        return connection

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        with _trouble(self.path):
            yield self._connection()

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        with _trouble(self.path):
            db = self._connection()
            if db.in_transaction:  # part of something larger, which commits
                yield db
                return
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                self._models.clear()  # what was learned inside the transaction may be gone with it
                self._local.seen = None
                raise

    def _number(self, db: apsw.Connection, space: Space) -> int | None:
        if space not in self._spaces:
            row = db.execute("SELECT id FROM space WHERE tenant = ? AND user = ?", space).fetchone()
            if row is None:
                return None
            self._spaces[space] = row[0]
        return self._spaces[space]

    def _known(
        self, db: apsw.Connection, number: int | None, wanted: frozenset[str]
    ) -> Mapping[str, tuple[int, Memory]]:
        """Keys and memories, at least of those wanted. A writer asks for the same ones when he computes, when
        he decides and when he writes: they are read again only if somebody wrote in between."""
        stamp = (number, db.pragma("data_version"), db.total_changes())  # others' commits, and our own
        seen: _Seen | None = getattr(self._local, "seen", None)
        if seen is None or seen.stamp != stamp or not wanted <= seen.ids:
            known = {m.id: (key, m) for key, m in writing.rows(db, number, wanted)}
            self._local.seen = seen = _Seen(stamp, wanted, known)
        return seen.known

    def _space_row(self, db: apsw.Connection, space: Space) -> tuple[int, Cursor, int]:
        db.execute("INSERT OR IGNORE INTO space (tenant, user) VALUES (?, ?)", space)
        sql = "SELECT id, segment, offset, seq, next FROM space WHERE tenant = ? AND user = ?"
        row = db.execute(sql, space).fetchone()
        assert row is not None
        number, segment, offset, seq, next_number = row
        return number, Cursor(segment, offset, seq), next_number

    def _put_vectors(self, db: apsw.Connection, number: int, vectors: Mapping[str, Vector]) -> int:
        kept = 0
        for name in {vector.model for vector in vectors.values()}:
            mine = {id: vector for id, vector in vectors.items() if vector.model == name}
            known = self._model(db, name)
            for vector in mine.values():
                dimension = check_vector(vector.data, known.dimension if known else None)
                if known is None:
                    known = self._models[name] = search.new_model(db, name, dimension)
            assert known is not None
            kept += search.put_vectors(db, known, number, mine)
            if search.grow_bits(db, known):
                del self._models[name]
            if kept:  # the first vectors of a space decide what it is searched with
                db.execute("UPDATE space SET model = ? WHERE id = ? AND model IS NULL", (name, number))
        return kept

    def _model(self, db: apsw.Connection, name: str) -> search.Model | None:
        known = self._models.get(name)
        if known is None or known.center is None:  # another process may have made the shortlist meanwhile
            known = search.load_model(db, name)
            if known:
                self._models[name] = known
        return known

    def _all_models(self, db: apsw.Connection) -> list[search.Model]:
        names = [name for (name,) in db.execute("SELECT name FROM model")]
        return [model for name in names if (model := self._model(db, name))]

    def _log_entries(
        self, db: apsw.Connection, number: int | None, where: str, values: Sequence[Any]
    ) -> list[LogEntry]:
        columns = "seq, at, type, memory, segment, offset"
        sql = f"SELECT {columns} FROM log WHERE space = ? AND {where} ORDER BY seq"
        entries: dict[int, LogEntry] = {}
        for seq, at, type, memory, segment, offset in ask(db, sql, (number, *values)):
            known = entries.get(seq)
            ids = (*known.memories, memory) if known else (memory,)
            entries[seq] = LogEntry(seq, moment(at), type, ids, Cursor(segment, offset, seq - 1))
        return list(entries.values())


class _Seen(Value):
    """What a writer saw last, and when."""

    stamp: tuple[int | None, int, int]
    ids: frozenset[str]
    known: dict[str, tuple[int, Memory]]


def connect(path: Path) -> apsw.Connection:
    """A connection set up the one way all of nagori uses."""
    if not path.exists():
        private_dir(path.parent)
        os.close(open_private(path, os.O_RDWR | os.O_CREAT))  # SQLite's side files take over its mode
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(BUSY_MS)
    connection.enable_load_extension(True)
    connection.load_extension(_vector_extension())
    connection.enable_load_extension(False)
    _use_wal(connection)
    for name, value in PRAGMAS.items():
        connection.pragma(name, value)
    return connection


def _use_wal(connection: apsw.Connection) -> None:
    """Turn the write-ahead log on. The first time needs the file alone, and SQLite does not wait for that
    by itself: many who open a new store at once take turns here."""
    deadline = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        else:
            return


def _vector_extension() -> str:
    """The path of sqlite-vec's library. Importing the package would import numpy for its type hints,
    which costs four interpreter starts."""
    spec = find_spec("sqlite_vec")
    if spec is None or not spec.submodule_search_locations:
        raise StoreError("the package sqlite-vec is not installed; pip install sqlite-vec")
    return str(Path(next(iter(spec.submodule_search_locations))) / "vec0")


@contextmanager
def _trouble(path: Path) -> Iterator[None]:
    """SQLite's and the disk's errors as ours, with what can be done about them."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        advice = "`nagori rebuild` makes it anew from the journal"
        raise StoreError(f"{path} is damaged ({error}); {advice}") from error
    except apsw.BusyError as error:
        raise StoreError(f"{path} was busy for {BUSY_MS // 1000} seconds") from error
    except apsw.Error as error:
        raise StoreError(f"{path}: {error}") from error
    except OSError as error:
        raise StoreError(f"{error.filename or path}: {error.strerror or error}") from error
