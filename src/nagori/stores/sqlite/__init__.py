"""The default store: one SQLite file, shared by many processes.

WAL with `BEGIN IMMEDIATE` for every write: readers never wait, writers take turns. `synchronous` is NORMAL
because the journal, not this file, acknowledges writes: a power cut may lose the last commits, and the next
open applies them again. Deleted text is overwritten (`secure_delete`).

Searching is in `search.py`, writing in `writes.py`. What all SQL engines share is in `stores/sql_rows.py`,
`stores/sql_statements.py` and `stores/cycle_queries.py`.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from math import inf
from pathlib import Path

import apsw

from nagori.core.model import ALIVE, Filter, Hit, Memory, Scope, check_vector
from nagori.core.relevance import Candidates, Query, check_query
from nagori.core.storage_types import (
    NOTHING_APPLIED,
    AppliedPosition,
    Batch,
    Owner,
    Vector,
    VectorModels,
)
from nagori.core.value_object import Value, no_observer, split_batches
from nagori.errors import Conflict, EncryptionError, Notice, SchemaTooNew, StoreDamaged, StoreError
from nagori.files import (
    ENCRYPTION_NOTE,
    lock_folder,
    open_private,
    package_folder,
    private_dir,
    write_private,
)
from nagori.stores import sql_rows as sql
from nagori.stores.sql_rows import SELECT, Selection, ask, find_model, find_owner
from nagori.stores.sql_statements import SqlReads, take_lease
from nagori.stores.sqlite import search as search
from nagori.stores.sqlite import writes as writing
from nagori.stores.sqlite.migrate import APPLICATION_ID, STEPS, migrate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import ConceptIndex, Observer, Store
    from nagori.stores.sqlite.resident import ResidentIndexes

BUSY_MS = 30_000
PAUSE_MS = 4  # between two tries for a lock
CIPHER = "chacha20"
PRAGMAS = {"synchronous": "normal", "secure_delete": "on", "cache_size": -32_000}
MOST_CONNECTIONS, MOST_IDLE = 64, 8
MERGE_PAGES = 256  # pages of the word index per step: a few milliseconds
CHECKPOINT_MS, CHECKPOINTS = 50, 5  # maximum wait for readers, in which writers wait; and how often
ERASE_AT_ONCE = 50  # memories in one transaction
NO_LIMIT = -1
ERASE_IN_COPY = 10_000  # rows at once: nobody waits for a copy
SEARCHES_BEFORE_INDEX = 3  # of an owner in one process, before its index is copied into memory
MOST_COUNTED = 100_000  # owners whose searches are counted
WAIT_FOR_PLACE = 0.01  # seconds between checks for a free connection
TROUBLES = (apsw.Error, OSError, OverflowError, UnicodeError)
# Messages of SQLite about unexpected tables.
SIGNS_OF_DAMAGE = ("no such table", "no such column", "malformed", "Vector dimension", "Error reading")


def _no_more(store: object) -> AbstractContextManager[None]:
    """Nothing to do at the moment of exchange."""
    return nullcontext()


class SqliteStore(SqlReads):
    """One file, opened on first use."""

    name = "sqlite"
    capabilities = frozenset({"durable", "files"})

    def __init__(self, path: Path, index_bytes: int = 0, observe: Observer = no_observer) -> None:
        """`index_bytes`: memory for the indexes of owners who are asked about often; 0: none."""
        self.path, self._observe = path, observe
        self._pool = _Pool(path)
        self._vectors = SqliteVectors(self)
        self._index_bytes = index_bytes
        self._searches: dict[Owner, int] = {}  # number of searches so far
        self._indexes: tuple[int, ResidentIndexes] | None = None  # of the process with this id

    @property
    def vectors(self) -> SqliteVectors:
        return self._vectors

    @property
    def concepts(self) -> ConceptIndex:
        from nagori.stores.sql_concept_index import (  # only association needs it
            ConceptSql,
            SqlConcepts,
        )

        # An object, not a list of pairs: a pair would be parsed again for each row that it is joined with.
        pairs = "(SELECT key AS node, value AS a FROM json_each(?))"
        cosine = "1 - vec_distance_cosine(c.vector, ?)"
        return SqlConcepts(self, ConceptSql(sql.SQLITE, pairs, _pack_pairs, cosine, "vector", bytes, bytes))

    def close(self) -> None:
        """Close every connection; those in use are closed after their work."""
        self._drop_indexes()
        self._pool.close()

    # --- writing --------------------------------------------------------------------------------

    def applied(self, owner: Owner) -> AppliedPosition:
        with self.reading() as db:
            rows = ask(db, "SELECT seq, mark, journal FROM owner WHERE tenant = ? AND user = ?", owner)
            sql.APPLIED_ROW.check(rows)
        return AppliedPosition(*rows[0]) if rows else NOTHING_APPLIED

    def commit(self, owner: Owner, batch: Batch) -> None:
        if len(batch.erased) > ERASE_AT_ONCE:
            self._erase_ahead(owner, batch)
        with self.writing() as db:
            number, seq, first = writing.open_owner(db, owner)
            _check_position(seq, batch)
            known = _read_known(db, number, frozenset([memory.id for memory in batch.memories]))
            writing.apply(db, number, first, known, batch)
        if self._indexes is not None:
            self._forget_changed(owner, batch)

    def _erase_ahead(self, owner: Owner, batch: Batch) -> None:
        """Delete most of what a batch erases in short transactions, because other owners wait for each. It is
        in the journal already: after a kill in between, applying the batch again deletes the rest. Inside a
        longer transaction they would gain nothing."""
        current = self._pool.current()
        if current is not None and current.in_transaction:
            return
        written = {memory.id for memory in batch.memories}
        ids = [id for id in batch.erased if id not in written]
        seqs = dict(batch.erasures)
        for some in split_batches(ids, ERASE_AT_ONCE):
            begin = time.monotonic()
            with self.writing() as db:
                number, seq, _ = writing.open_owner(db, owner)
                _check_position(seq, batch)
                writing.erase_memories(db, number, some, [(id, seqs[id]) for id in some if id in seqs])
            time.sleep(time.monotonic() - begin)  # others get their turn

    @contextmanager
    def rebuilding(self, owner: Owner) -> Iterator[None]:
        self._drop_indexes(owner)
        # Errors of the caller's own code pass unchanged.
        with self._pool.operation("BEGIN IMMEDIATE", write=True, translate=False) as db:
            with store_errors(self.path):
                number, *_ = writing.open_owner(db, owner)
                writing.empty_owner(db, number)
            yield
            with store_errors(self.path):
                writing.refill_owner(db, number)

    def erase(self, owner: Owner, at_once: int) -> int:
        with self.writing() as db:
            count = writing.erase_owner(db, owner, at_once)
        self._drop_indexes(owner)
        return count

    def lease(self, owner: Owner, work: str, holder: str, now: float, until: float) -> str | None:
        with self.writing() as db:
            return take_lease(db, owner, work, holder, now, until)

    # --- reading --------------------------------------------------------------------------------

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Memory]:
        if not ids:
            return []
        with self.reading() as db:
            if (indexes := self._find_indexes(db, scope.owner)) is not None and (
                found := indexes.get(db, scope, ids)
            ) is not None:
                return found
            number = find_owner(db, scope.owner)
            if scope.is_whole:
                known = _read_known(db, number, frozenset(ids))
                return [known[id][1] for id in ids if id in known]
            seen, values = Selection(number, scope).seen()
            rows = f"{SELECT} WHERE {seen} AND {sql.SQLITE.among.format('m.id')}"
            by_id = {m.id: m for _, m in sql.load(db, rows, (*values, json.dumps(list(ids))))}
        return [by_id[id] for id in ids if id in by_id]

    def candidates(self, scope: Scope, query: Query) -> Candidates:
        with self.reading() as db:
            model = find_model(db, query.model) if query.model else None
            if query.vector is not None:
                check_query(query, model.dimension if model else None)
            selection = self.selection(db, scope, query.filter)
            if (indexes := self._find_indexes(db, scope.owner, search=True)) is not None and (
                found := indexes.candidates(db, selection, query, model)
            ) is not None:
                return found
            return search.candidates(db, selection, query, model)

    # --- indexes in memory ----------------------------------------------------------------------

    def _find_indexes(self, db: Connection, owner: Owner, *, search: bool = False) -> ResidentIndexes | None:
        """The indexes in memory, if this process has searched for this owner often enough to gain from one. A
        transaction that writes sees what nobody else can see yet, so it reads the file."""
        if not self._index_bytes:
            return None
        count = self._searches.get(owner, 0) + search
        if search:
            if len(self._searches) > MOST_COUNTED:
                self._searches.clear()
            self._searches[owner] = count
        if count < SEARCHES_BEFORE_INDEX or db.txn_state("main") == apsw.SQLITE_TXN_WRITE:
            return None
        if self._indexes is None or self._indexes[0] != os.getpid():  # a fork copies locks that are held
            if package_folder("numpy") is None:
                self._index_bytes = 0
                return None
            from nagori.stores.sqlite import resident

            if not resident.is_possible():
                self._index_bytes = 0
                return None
            self._indexes = (os.getpid(), resident.ResidentIndexes(self._index_bytes, self._observe))
        return self._indexes[1]

    @property
    def index_bytes_used(self) -> int:
        """The memory that the indexes take."""
        return 0 if self._indexes is None else self._indexes[1].nbytes

    def _drop_indexes(self, owner: Owner | None = None) -> None:
        if self._indexes is not None:
            self._indexes[1].drop(owner)

    def _forget_changed(self, owner: Owner, batch: Batch) -> None:
        """What was erased or edited leaves the memory of this process at once."""
        if batch.erased:
            self._drop_indexes(owner)
        elif self._indexes is not None:
            self._indexes[1].forget(owner, [memory.id for memory in batch.memories])

    # --- maintenance ----------------------------------------------------------------------------

    def check(self) -> list[Notice]:
        from nagori.stores.sqlite.check import faults

        try:
            # A separate connection: an existing one may check cached pages instead of the file.
            db = open_connection(self.path, write=False)
            try:
                with store_errors(self.path):
                    db.execute("BEGIN")
                    return list(faults(db))
            finally:
                db.close()
        except StoreDamaged as damage:
            return [damage.notice]

    def backup(self, path: Path) -> None:
        with self._pool.operation("") as db:
            os.close(open_private(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC))
            target = apsw.Connection(str(path))
            try:
                unlock_store(target, path)
                with target.backup("main", db, "main") as copy:
                    copy.step(NO_LIMIT)
                # A single file: nothing of the copy may be left in a side file.
                target.pragma("journal_mode", "delete")
            finally:
                target.close()

    @contextmanager
    def replacing(
        self, stamp: str, finishing: Callable[[Store], AbstractContextManager[None]] = _no_more
    ) -> Iterator[SqliteStore]:
        from nagori.stores.sqlite import (
            replace_database_file as replacing,  # imported late: only a rebuild needs it
        )

        replacing.remove_abandoned(self.path)
        draft = replacing.name_draft(self.path, stamp)
        store = SqliteStore(draft)
        try:
            yield store
            self._replace_by(store, stamp, finishing)
        finally:
            store.close()
            replacing.remove(draft)

    def _replace_by(
        self, store: SqliteStore, stamp: str, finishing: Callable[[Store], AbstractContextManager[None]]
    ) -> None:
        """Replace our content by the other's. Of a damaged file only sound data is taken over, and the file
        is moved aside. A file that is only busy or full is left as it is."""
        from nagori.stores.sqlite import replace_database_file as replacing

        source = open_connection(store.path, write=True)
        try:
            try:
                with store_errors(self.path):
                    replacing.take_over(source, self.path)
                with finishing(store), self._pool.operation("", write=True) as target:
                    replacing.copy_pages(source, target)
            except (StoreDamaged, SchemaTooNew) as trouble:
                if isinstance(trouble, SchemaTooNew):
                    raise
                store.close()
                with store_errors(self.path):
                    source.pragma("journal_mode", "delete")  # nothing may be left in a side file
                    source.close()
                self._put_in_place(store.path, stamp)
        finally:
            source.close()
        self.close()

    def quarantine(self, stamp: str) -> Path | None:
        return self._put_in_place(None, stamp)

    def _put_in_place(self, draft: Path | None, stamp: str) -> Path | None:
        """Move our file aside, where there is one, and use another instead of it. Returns the place of the
        old one."""
        from nagori.stores.sqlite import replace_database_file as replacing

        self.close()
        with store_errors(self.path), lock_folder(self.path.parent, BUSY_MS / 1000):
            aside = replacing.move_aside(self.path, stamp)
            if draft is not None:
                draft.replace(self.path)
        return aside

    def reencrypt(self, stamp: str) -> None:
        """Replace the file by a copy as the folder's keys demand: encrypted with the newest one, or plain.
        What others commit meanwhile is applied again from the journal."""
        if not self.path.exists():
            return
        from nagori.stores.sqlite import replace_database_file as replacing

        replacing.remove_abandoned(self.path)
        draft = replacing.name_draft(self.path, stamp)
        try:
            with store_errors(self.path):
                os.close(open_private(draft, os.O_RDWR | os.O_CREAT))
                replacing.copy_encrypted(self.path, draft)
            aside = self._put_in_place(draft, stamp)
            if aside is not None:
                replacing.remove(aside)
        finally:
            replacing.remove(draft)

    def erase_copies(self, owner: Owner, others: Sequence[Path] = ()) -> list[Path]:
        from nagori.stores.sqlite import replace_database_file as replacing

        replacing.remove_abandoned(self.path)
        for copy in replacing.find_files(self.path, "damaged"):  # free pages may hold anything
            replacing.remove(copy)
        copies = [path for path in others if path.exists()]
        for copy in [*replacing.find_files(self.path, "before-rebuild"), *copies]:
            store = SqliteStore(copy)
            try:
                while store.erase(owner, ERASE_IN_COPY):
                    pass
                erased = store.compact()
            except StoreError:
                erased = False
            finally:
                store.close()
            if not erased:
                replacing.remove(copy)
        return replacing.find_files(self.path, "rebuild")

    def compact(self, steps: int = 1_000) -> bool:
        from nagori.stores.sqlite import replace_database_file as replacing

        replacing.remove_abandoned(self.path)
        with self._pool.operation("", write=True) as db:
            merged = writing.merge_words(db, steps, MERGE_PAGES)
            return _empty_log(db) and merged

    def vacuum(self) -> None:
        with self._pool.operation("", write=True) as db:
            db.execute("VACUUM")
            ask(db, "PRAGMA wal_checkpoint(TRUNCATE)")

    # --- internal -------------------------------------------------------------------------------

    def reading(self, owner: Owner | None = None) -> _Operation:
        """A read transaction: everything read inside is consistent."""
        return self._pool.operation("BEGIN")

    def number_of(self, db: Connection, owner: Owner) -> int | None:
        return find_owner(db, owner)

    def writing(self, owner: Owner | None = None) -> _Operation:
        """A write transaction, or part of the one that is open."""
        return self._pool.operation("BEGIN IMMEDIATE", write=True)


def _check_position(seq: int, batch: Batch) -> None:
    if seq != batch.before:
        raise Conflict("error.store_moved", before=batch.before, seq=seq)


def _empty_log(db: Connection) -> bool:
    """Move the write-ahead log into the file and cut it; returns whether it is empty. Most of it is moved
    while others go on; they wait only for the rest, and only for a moment until readers have ended."""
    for _ in range(CHECKPOINTS):
        ask(db, "PRAGMA wal_checkpoint(PASSIVE)")
        db.set_busy_handler(_wait_for_readers)
        try:
            [(busy, *_)] = ask(db, "PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            db.set_busy_handler(_wait_for_lock)
        if not busy:
            return True
        time.sleep(CHECKPOINT_MS / 1000)
    return False


def _pack_pairs(pairs: Mapping[str, float]) -> tuple[str]:
    return (json.dumps(pairs),)


class SqliteVectors:
    """The vectors of a SqliteStore."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def put(self, owner: Owner, vectors: Mapping[str, Vector]) -> int:
        with self._store.writing() as db:
            number = find_owner(db, owner)
            if not number:
                return 0
            writing.renew_revision(db, number)
            return writing.put_vectors(db, number, vectors)

    def get(self, owner: Owner, model: str, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        with self._store.reading() as db:
            number, known = find_owner(db, owner), find_model(db, model)
            if known is None or number is None:
                return {}
            one = f"SELECT digest, v FROM {known.vectors} WHERE digest = ? AND key BETWEEN ? AND ? LIMIT 1"
            return dict(row for digest in digests for row in ask(db, one, (digest, *sql.keys(number))))

    def nearest(
        self,
        scope: Scope,
        vectors: Sequence[bytes],
        model: str,
        k: int,
        filter: Filter = ALIVE,
        least: float = -inf,
    ) -> list[list[Hit]]:
        with self._store.reading() as db:
            known = find_model(db, model)
            for vector in vectors:
                check_vector(vector, known.dimension if known else None)
            if known is None:
                return [[] for _ in vectors]
            selection = self._store.selection(db, scope, filter)
            return search.nearest(db, selection, vectors, known, k, least)

    def active(self, owner: Owner) -> str | None:
        with self._store.reading() as db:
            rows = ask(db, "SELECT model FROM owner WHERE tenant = ? AND user = ?", owner)
        return rows[0][0] if rows else None

    def models(self, owner: Owner) -> VectorModels:
        with self._store.reading() as db:
            rows = ask(db, "SELECT id, model FROM owner WHERE tenant = ? AND user = ?", owner)
            if not rows:
                return VectorModels()
            [(number, active)] = rows
            one = "SELECT count(*) FROM {} WHERE key BETWEEN ? AND ?"
            counts = {
                model.name: ask(db, one.format(model.vectors), sql.keys(number))[0][0]
                for model in sql.all_models(db)
            }
        return VectorModels(active, {name: count for name, count in counts.items() if count})

    def activate(self, owner: Owner, model: str) -> bool:
        with self._store.writing() as db:
            number, *_ = writing.open_owner(db, owner)
            return writing.activate_model(db, number, model)

    def drop(self, owner: Owner, model: str, limit: int) -> int:
        with self._store.writing() as db:
            number, known = find_owner(db, owner), find_model(db, model)
            return writing.drop_vectors(db, number, known, limit) if number and known else 0


# --- cache of a writer ----------------------------------------------------------------------------


class _ReadCache(Value):
    """Cached memories, and the state of the database they belong to."""

    stamp: tuple[int | None, int, int]
    ids: frozenset[str]
    known: dict[str, tuple[int, Memory]]


def _read_known(
    db: Connection, number: int | None, wanted: frozenset[str]
) -> Mapping[str, tuple[int, Memory]]:
    """Keys and memories, at least of those wanted. A writer needs the same ones when it computes, decides and
    writes; they are read again only if somebody wrote in between."""
    stamp = (number, db.pragma("data_version"), db.total_changes())  # commits of others, and our own changes
    seen = db.seen
    if seen is None or seen.stamp != stamp or not wanted <= seen.ids:
        known = {memory.id: (key, memory) for key, memory in sql.load_by_id(db, number, wanted)}
        db.seen = seen = _ReadCache(stamp, wanted, known)
    return seen.known


# --- connections ----------------------------------------------------------------------------------


class Connection(apsw.Connection):
    """One connection with its own caches, so that nothing cached outlives its file."""

    seen: _ReadCache | None = None
    file: tuple[int, int] | None = None
    pid = 0
    writable = True
    generation = 0
    compared_version = -1  # when the indexes in memory were last compared with the file


_LEFT_TO_PARENTS: list[Connection] = []  # SQLite forbids using, and even closing, them after a fork


class _Pool:
    """Connections to one file, each used by one thread at a time and then returned. Threads come and go, and
    a process has a limited number of open files. Nested operations of a thread share its connection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._generation = 0
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._idle: deque[Connection] = deque()  # its operations are atomic: no lock is needed
        self._places = threading.Semaphore(MOST_CONNECTIONS)  # limits the open connections
        self._local = threading.local()

    def operation(self, begin: str, *, write: bool = False, translate: bool = True) -> _Operation:
        return _Operation(self, begin, write, translate)

    def close(self) -> None:
        self._generation += 1
        while (db := self._pop()) is not None:
            self._close(db)

    def current(self) -> Connection | None:
        """The connection that this thread is using."""
        if self._pid != os.getpid():
            _LEFT_TO_PARENTS.extend(self._idle)
            self._begin()
        db: Connection | None = getattr(self._local, "current", None)
        return db

    def take(self, write: bool) -> Connection:
        db = self._idle_connection()
        while db is None:
            if self._places.acquire(timeout=WAIT_FOR_PLACE):
                db = self._open(write)
            else:
                db = self._idle_connection()
        self._local.current = db
        return db

    def give_back(self, db: Connection) -> None:
        if db.pid != self._pid or db.pid != os.getpid():
            _LEFT_TO_PARENTS.append(db)
            return
        self._local.current = None
        # A read-only connection would not see later writes of others.
        sound = db.writable and not db.in_transaction and db.generation == self._generation
        if sound and len(self._idle) < MOST_IDLE:
            self._idle.append(db)
        else:
            self._close(db)

    def _pop(self) -> Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _idle_connection(self) -> Connection | None:
        """An idle connection to the present file: another process may have exchanged it or moved it aside."""
        file = _identity(self.path)
        while (db := self._pop()) is not None:
            if db.file == file and file is not None:
                return db
            self._close(db)
        return None

    def _open(self, write: bool) -> Connection:
        try:
            db = open_connection(self.path, write=write)
        except BaseException:
            self._places.release()
            raise
        db.pid, db.generation = self._pid, self._generation
        return db

    def _close(self, db: Connection) -> None:
        try:
            db.close()
        finally:
            self._places.release()


class _Operation:
    """A connection for one operation, in its own transaction unless one is open. A class instead of a
    generator, because every query pays for it."""

    __slots__ = ("_begin", "_begun", "_db", "_outermost", "_pool", "_translate", "_write")

    def __init__(self, pool: _Pool, begin: str, write: bool, translate: bool) -> None:
        self._pool, self._begin, self._write, self._translate = pool, begin, write, translate

    def __enter__(self) -> Connection:
        current = self._pool.current()
        self._outermost = current is None
        self._db = db = self._pool.take(self._write) if current is None else current
        self._begun = bool(self._begin) and not db.in_transaction
        if self._begun:
            try:
                db.execute(self._begin)
            except BaseException as error:
                self._leave()
                if isinstance(error, TROUBLES):
                    raise _store_error(self._pool.path, error) from error
                raise
        return db

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        translated: StoreError | None = None
        try:
            if self._begun and self._db.pid == os.getpid():
                self._end(error)
            if self._translate and isinstance(error, TROUBLES):
                translated = self._translated(error)
        finally:
            self._leave()
        if translated is not None:
            raise translated from error

    def _end(self, error: BaseException | None) -> None:
        try:
            if error is None:
                self._db.execute("COMMIT")
        except TROUBLES as trouble:
            raise _store_error(self._pool.path, trouble) from trouble
        finally:
            if error is not None or self._db.in_transaction:
                self._db.seen = None  # what was read inside may have been rolled back
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def _translated(self, error: Exception) -> StoreError:
        """A missing table is damage, unless a newer nagori has migrated the file meanwhile."""
        with suppress(apsw.Error):
            if isinstance(error, apsw.SQLError) and int(self._db.pragma("user_version")) > len(STEPS):
                return SchemaTooNew("error.store_upgraded")
        return _store_error(self._pool.path, error)

    def _leave(self) -> None:
        if self._outermost:
            self._pool.give_back(self._db)


def open_connection(path: Path, *, write: bool) -> Connection:
    """A connection to a migrated store; a read-only one where nothing can be written, unless `write` is
    required."""
    with store_errors(path):
        try:
            return _prepare(path, connect)
        except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.FullError, apsw.IOError, OSError) as trouble:
            if write or not path.exists():
                raise
            return _read_only(path, trouble)


def _read_only(path: Path, trouble: Exception) -> Connection:
    """A read-only connection: normal if side files exist, otherwise to an immutable file; only if no
    write-ahead log is pending, because it would be ignored."""
    try:
        return _prepare(path, lambda path: _connect_to_read(path, "mode=ro"))
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.FullError, apsw.IOError):
        log = path.with_name(path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise trouble from None
        return _prepare(path, lambda path: _connect_to_read(path, "mode=ro&immutable=1"))


def _prepare(path: Path, connect: Callable[[Path], Connection]) -> Connection:
    """A connection together with the identity of its file; `connect` may be called again, because a file can
    be created or exchanged while it is opened. Threads open a path one after the other: SQLite opens the file
    first and its side files later, by their names, and cuts a shared memory that only its own process has
    open, as if it were abandoned. A thread with a deleted file would thus take those of the new one away from
    the others, and the system would kill the process (SIGBUS)."""
    while True:
        with _OPENING[hash(path) % len(_OPENING)]:
            before = _identity(path)
            db = connect(path)
            try:
                if (db.pragma("application_id"), db.pragma("user_version")) != (APPLICATION_ID, len(STEPS)):
                    migrate(db)
            except BaseException:
                db.close()
                raise
            db.file, db.writable = _identity(path), not db.readonly("main")
            if before == db.file:
                return db
            db.close()


def _renew_locks() -> None:
    _OPENING[:] = [threading.Lock() for _ in _OPENING]


_OPENING = [threading.Lock() for _ in range(64)]  # many, so that files rarely wait for another
if hasattr(os, "register_at_fork"):  # a child would wait for threads that it does not have
    os.register_at_fork(after_in_child=_renew_locks)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - runs for every query; a Path costs as much again
    except OSError:
        return None
    return status.st_dev, status.st_ino


def connect(path: Path) -> Connection:
    """A connection with the settings that all of nagori uses."""
    if not path.exists():
        _create(path)
    connection = Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        unlock_store(connection, path)
        _set_up(connection)
        _use_wal(connection)
        for name, value in PRAGMAS.items():
            connection.pragma(name, value)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: Path) -> None:
    """Create an empty file; SQLite's side files inherit its mode. Side files of a file that somebody has
    deleted go first: SQLite takes a shared memory that only this process has open for an abandoned one and
    cuts it, and a thread that still reads the deleted file would be killed (SIGBUS)."""
    with lock_folder(private_dir(path.parent), BUSY_MS / 1000):
        if not path.exists():
            for ending in ("-wal", "-shm"):
                path.with_name(path.name + ending).unlink(missing_ok=True)
            # Made elsewhere and moved: closing any descriptor of a file ends this process's locks on it.
            write_private(path, b"")


def unlock_store(connection: apsw.Connection, path: Path) -> None:
    """Give a connection its key, if its folder is encrypted. It must be the first that is done with it."""
    if not os.path.exists(path.parent / ENCRYPTION_NOTE):  # noqa: PTH110 - on the way of hooks
        return
    from nagori.encryption import store_keys

    keys = store_keys(path)
    for key in keys:
        if not hasattr(apsw, "mc_version"):
            raise EncryptionError("error.encryption_library", library="apsw-sqlite3mc")
        connection.pragma("cipher", CIPHER)
        connection.pragma("key", f"raw:{key.hex()}")
        if len(keys) == 1:
            return
        with suppress(apsw.NotADBError):  # while keys are being changed, the former one may be right
            connection.pragma("schema_version")
            return


def _connect_to_read(path: Path, how: str) -> Connection:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = Connection(f"{path.absolute().as_uri()}?{how}", flags=flags)
    unlock_store(connection, path)
    _set_up(connection)
    return connection


def _set_up(connection: Connection) -> None:
    connection.set_busy_handler(_wait_for_lock)
    connection.enable_load_extension(True)
    connection.load_extension(_vector_extension())
    connection.enable_load_extension(False)


def _wait_for_lock(tries: int) -> bool:
    """Wait a moment, and say whether to try again. SQLite's own waiting grows to 100 ms a step, so that who
    waits long loses to everybody who came later."""
    time.sleep(min(tries + 1, 2 * PAUSE_MS) / 2000)
    return tries < BUSY_MS / PAUSE_MS


def _wait_for_readers(tries: int) -> bool:
    time.sleep(PAUSE_MS / 1000)
    return tries < CHECKPOINT_MS / PAUSE_MS


def _use_wal(connection: Connection) -> None:
    """Turn on the write-ahead log. The first time needs exclusive access, and SQLite does not wait for it:
    many processes that open a new store at once take turns here."""
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
    """The path of sqlite-vec's library. Importing the package would import numpy for its type hints, which
    takes as long as four interpreter starts."""
    package = package_folder("sqlite_vec")
    if package is None:
        raise StoreError("error.sqlite_vec")
    return str(package / "vec0")


# --- errors ---------------------------------------------------------------------------------------


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Convert errors of SQLite and the disk to ours, with advice."""
    try:
        yield
    except TROUBLES as error:
        raise _store_error(path, error) from error


def _store_error(path: Path, error: Exception) -> StoreError:
    if _is_damage(error):
        return StoreDamaged("error.store_damaged", path=path, reason=str(error))
    if isinstance(error, apsw.BusyError):
        return StoreError("error.store_busy", path=path, seconds=BUSY_MS // 1000)
    if isinstance(error, apsw.ReadOnlyError):
        return StoreError("error.store_read_only", path=path, reason=str(error))
    if isinstance(error, OverflowError | UnicodeError):
        return StoreError("error.store_value", path=path, reason=str(error))
    if isinstance(error, OSError):
        return StoreError("error.file", path=error.filename or path, reason=error.strerror or str(error))
    return StoreError("error.file", path=path, reason=str(error))


def _is_damage(error: Exception) -> bool:
    """Whether the content is damaged, so that a rebuild helps; not the disk, permissions or the query."""
    if isinstance(error, apsw.SQLError):
        return any(sign in str(error) for sign in SIGNS_OF_DAMAGE)
    return isinstance(error, apsw.CorruptError | apsw.NotADBError | UnicodeDecodeError)
