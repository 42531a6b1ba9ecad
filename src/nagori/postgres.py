"""Connect to PostgreSQL: pooled sessions, one tenant each, numbered migrations, errors without a password.

A session belongs to one thread while it is in use. It is taken with the tenant whose rows it may see: every
table has row-level security by the setting `nagori.tenant`, so a query without a tenant finds nothing, also a
wrong one. A login that would bypass it (a superuser) changes to the role `nagori_node`, which owns nothing.

The driver (`pip install 'nagori[postgres]'`) is imported when a database is opened.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.resources import files

from nagori.config.postgres_address import Address
from nagori.errors import Conflict, InvalidInput, NagoriError, SchemaTooNew

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import psycopg

CONNECTIONS, MOST_IDLE = 32, 8
CONNECT_SECONDS = 10
PATIENCE_SECONDS, WAIT_FOR_PLACE = 30.0, 0.01  # for a session while all are in use
ROLE = "nagori_node"
# A vanished machine must not hold a lock longer than others wait for it.
KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 2}
PREPARE = """
    SELECT set_config('search_path', ?, false), set_config('synchronous_commit', 'on', false),
        set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
        set_config('tcp_keepalives_count', '2', false), set_config('lock_timeout', '30s', false)"""
SHOW_TENANT = """
    SELECT set_config('nagori.tenant', ?, false), set_config('nagori.every_tenant', ?, false),
        set_config('nagori.owner', '', false)"""
UNKNOWN = "\0"  # a tenant that nobody can have
TRUSTED_SECONDS = 1.0  # a connection that was used this recently is not tried first
BYPASSES = """
    SELECT 1 FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)
        AND EXISTS (SELECT 1 FROM pg_roles WHERE rolname = ?) AND pg_has_role(current_user, ?, 'MEMBER')"""
VECTOR_SCHEMA = """
    SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
    WHERE e.extname = 'vector'"""
HAS_OLDEST = """
    SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(?) AND attname = 'oldest' AND NOT attisdropped"""
VERSIONS = "CREATE TABLE IF NOT EXISTS nagori_schema (part text PRIMARY KEY, version integer NOT NULL)"
# The oldest program, by the steps it knows, that may go on beside the newest step. Without a value: none.
OLDEST = "ALTER TABLE nagori_schema ADD COLUMN IF NOT EXISTS oldest integer"
COMPATIBLE = re.compile(r"-- Programs from step (\d+) on work with this\.")
STEP_LOCK = "SET LOCAL lock_timeout = '2s'"  # who waits for a table stops everybody behind it
STEP_ATTEMPTS, STEP_PAUSE = 60, 0.5


# --- sessions -------------------------------------------------------------------------------------


class Session:
    """One connection. Statements have `?` or `:name` placeholders, as in `stores.sql_rows`; `?b` sends a
    value in binary form."""

    def __init__(self, raw: psycopg.Connection[Any]) -> None:
        self.raw = raw
        self.tenant: str | None = ""  # whose rows it sees
        self.owner: tuple[str, str] | None = None  # whose rows of the store it sees
        self.number: int | None = None
        self.used = time.monotonic()
        self.patience = ""  # with a lock, if one was set

    def execute(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Any:
        return self.raw.execute(_placeholders(sql), values, prepare=None)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self.raw.cursor() as cursor:
            cursor.executemany(_placeholders(sql), rows)

    def ask(self, sql: str, *values: object) -> list[Any]:
        """All rows of a statement."""
        rows: list[Any] = self.execute(sql, values).fetchall()
        return rows

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """A transaction whose statements are sent without waiting for each answer, if the driver can."""
        if driver().Pipeline.is_supported():
            with self.raw.pipeline(), self.raw.transaction():
                yield
        else:
            with self.raw.transaction():
                yield

    def show_tenant(self, tenant: str | None) -> None:
        """See the rows of this tenant from now on. None: the names of all owners and their work, and nothing
        of what they remember."""
        if self.tenant != tenant:
            every = "on" if tenant is None else ""
            self.ask(SHOW_TENANT, tenant or "", every)
            self.tenant, self.owner, self.number = tenant, None, None
        elif time.monotonic() - self.used > TRUSTED_SECONDS:
            self.ask("SELECT 1")  # the server may be another one by now

    def forget_tenant(self) -> None:
        """What was set inside a transaction is gone with it."""
        self.tenant, self.owner, self.number = UNKNOWN, None, None

    def roll_back(self) -> None:
        """Undo the open transaction."""
        self.forget_tenant()
        with suppress(Exception):  # a connection that is gone has undone it already
            self.raw.rollback()

    @property
    def is_usable(self) -> bool:
        return not self.raw.closed and not self.raw.broken and self.raw.info.transaction_status == 0


@lru_cache(512)
def _placeholders(sql: str) -> str:
    named = re.sub(r"(?<![:\w]):([a-z_]+)", r"%(\1)s", sql.replace("%", "%%"))
    return named.replace("?b", "%b").replace("?", "%s")


class Database:
    """Sessions of one database and schema; a session that is given back is used again."""

    def __init__(
        self,
        address: Address,
        error: type[NagoriError],
        prepare: Callable[[Session], None] | None = None,
        connections: int = CONNECTIONS,
    ) -> None:
        self.address = address
        self.application = "nagori"  # the name of its sessions, for whoever watches the server
        self.known_steps: dict[str, int] = {}  # of each part that was migrated
        self._error, self._prepare, self._connections = error, prepare, connections
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._idle: deque[Session] = deque()  # its operations are atomic: no lock is needed
        self._places = threading.Semaphore(self._connections)
        self._closed = False

    def close(self) -> None:
        """Close the sessions that are not in use; the others are closed when they come back."""
        self._closed = True
        self._drop_idle()

    @contextmanager
    def session(self, tenant: str | None) -> Iterator[Session]:
        """A session that sees this tenant's rows. Errors of the driver become ours."""
        with self.errors():
            session = self._take(tenant)
            try:
                yield session
            finally:
                self._give_back(session)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Translate the driver's errors."""
        psycopg = driver()
        try:
            yield
        except psycopg.errors.UniqueViolation as fault:
            raise Conflict("error.store_changing") from fault
        except psycopg.errors.LockNotAvailable as fault:
            raise self._error("error.postgres_busy", where=self.address.shown) from fault
        except psycopg.DataError as fault:
            if fault.sqlstate is None:  # the driver refused to send it
                raise InvalidInput("text", "error.nul_character") from None
            raise self._error("error.postgres", where=self.address.shown, reason=_reason(fault)) from None
        except psycopg.Error as fault:
            raise self._error("error.postgres", where=self.address.shown, reason=_reason(fault)) from None

    def migrate(
        self, part: str, package: str, steps: Sequence[str], needs: tuple[str, str] | None = None
    ) -> None:
        """Bring the tables of a part up to date, as the login role. Each step and its number are one
        transaction; nodes that start together take turns. `needs` is a question that must have an answer, and
        the message if it has none."""
        self.known_steps[part] = len(steps)
        with self.errors():
            session = self._connect(as_login=True)
            try:
                if needs is not None and not session.ask(needs[0]):
                    raise self._error(needs[1])
                _migrate(session, self.address.schema, part, package, steps)
            finally:
                session.raw.close()

    def versions(self) -> dict[str, int]:
        """The number of the last step of each part, as the login role."""
        with self.errors():
            session = self._connect(as_login=True)
            try:
                return dict(session.ask("SELECT part, version FROM nagori_schema ORDER BY part"))
            finally:
                session.raw.close()

    # --- internal -------------------------------------------------------------------------------

    def _take(self, tenant: str | None) -> Session:
        if self._pid != os.getpid():  # a forked child must not use its parent's connections
            _LEFT_TO_PARENTS.extend(self._idle)
            self._begin()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (session := self._idle_session(tenant)) is None:
            if self._places.acquire(timeout=WAIT_FOR_PLACE):
                return self._open(tenant)
            if time.monotonic() > deadline:
                raise self._error("error.postgres_busy", where=self.address.shown)
        return session

    def _idle_session(self, tenant: str | None) -> Session | None:
        """A session that somebody gave back and that still answers."""
        psycopg = driver()
        while (session := self._pop()) is not None:
            try:
                session.show_tenant(tenant)
                return session
            except psycopg.OperationalError:  # the server was restarted: nothing was asked of it yet
                self._discard(session)
        return None

    def _open(self, tenant: str | None) -> Session:
        try:
            session = self._connect()
            session.show_tenant(tenant)
        except BaseException:
            self._places.release()
            raise
        return session

    def _pop(self) -> Session | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _give_back(self, session: Session) -> None:
        usable = session.is_usable and self._pid == os.getpid()
        if not usable:
            self._drop_idle()  # the server may have gone: the others are as useless
        session.used = time.monotonic()
        if usable and not self._closed and len(self._idle) < MOST_IDLE:
            self._idle.append(session)
        else:
            self._discard(session)

    def _drop_idle(self) -> None:
        while (session := self._pop()) is not None:
            self._discard(session)

    def _discard(self, session: Session) -> None:
        with suppress(Exception):  # it is of no use any more, whatever is wrong with it
            session.raw.close()
        self._places.release()

    def _connect(self, as_login: bool = False) -> Session:
        psycopg = driver()
        try:
            raw = psycopg.connect(
                self.address.conninfo,
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                application_name=self.application,
                **KEEPALIVE,
            )
        except psycopg.Error as fault:
            raise self._refused(fault) from None  # the driver's words may repeat the address
        session = Session(raw)
        try:
            if raw.info.parameter_status("server_encoding") != "UTF8":
                raise self._error("error.postgres_encoding", where=self.address.shown)
            extra = [name for (name,) in session.ask(VECTOR_SCHEMA)]
            session.ask(PREPARE, ", ".join(f'"{name}"' for name in (self.address.schema, *extra)))
            if not as_login:
                if session.ask(BYPASSES, ROLE, ROLE):
                    raw.execute(f"SET ROLE {ROLE}")
                if self._prepare is not None:
                    self._prepare(session)
        except BaseException:
            raw.close()
            raise
        return session

    def _refused(self, fault: Exception) -> NagoriError:
        said = str(fault)
        where = self.address.shown
        if re.search(r"password|authentication|pg_hba|role .* does not exist", said):
            return self._error("error.postgres_login", where=where)
        if re.search(r'database ".*" does not exist', said):
            return self._error("error.postgres_database", where=where)
        if isinstance(fault, driver().ProgrammingError):
            return InvalidInput("address", "error.postgres_address")
        return self._error("error.postgres_away", where=where)


_LEFT_TO_PARENTS: list[Session] = []  # closing them would end the parent's connection


def driver() -> Any:
    """The driver; an error that says how to install it."""
    try:
        import psycopg
    except ImportError:
        raise InvalidInput("address", "error.postgres_driver") from None
    return psycopg


def _reason(fault: Exception) -> str:
    """The server's sentence. Its details are left out, because they may hold values."""
    said = getattr(getattr(fault, "diag", None), "message_primary", None)
    return str(said) if said else type(fault).__name__


# --- migrations -----------------------------------------------------------------------------------


def _migrate(session: Session, schema: str, part: str, package: str, steps: Sequence[str]) -> None:
    if not session.ask("SELECT 1 FROM pg_namespace WHERE nspname = ?", schema):
        with session.raw.transaction():  # two at once would fail, in spite of IF NOT EXISTS
            _take_turns(session, schema)
            session.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
    if not session.ask(HAS_OLDEST, f'"{schema}".nagori_schema'):
        with session.raw.transaction():
            _take_turns(session, schema)
            session.execute(VERSIONS)
            session.execute(OLDEST)
    for number, name in enumerate(steps, 1):
        if _version(session, part)[0] < number:
            sql = files(package).joinpath("migrations", name).read_text(encoding="utf-8")
            _take_step(session, schema, part, number, sql)
    version, oldest = _version(session, part)
    if version > len(steps) and not 0 < oldest <= len(steps):
        raise SchemaTooNew("error.schema_too_new", version=version, known=len(steps))


def _take_step(session: Session, schema: str, part: str, number: int, sql: str) -> None:
    """One step, beside nodes that go on working: it does not wait long for a table, but tries again."""
    oldest = COMPATIBLE.search(sql)
    for attempt in range(1, STEP_ATTEMPTS + 1):
        try:
            with session.raw.transaction():
                _take_turns(session, schema)
                if _version(session, part)[0] >= number:  # another node has done it
                    return
                session.execute(STEP_LOCK)
                session.raw.execute(sql.replace("{schema}", f'"{schema}"'))
                session.execute(
                    "INSERT INTO nagori_schema VALUES (?, ?, ?) ON CONFLICT (part) DO UPDATE"
                    " SET version = excluded.version, oldest = excluded.oldest",
                    (part, number, int(oldest[1]) if oldest else None),
                )
            return
        except driver().errors.LockNotAvailable:
            if attempt == STEP_ATTEMPTS:
                raise
            time.sleep(STEP_PAUSE)


def _take_turns(session: Session, schema: str) -> None:
    session.ask("SELECT pg_advisory_xact_lock(hashtextextended('nagori migrations of ' || ?, 0))", schema)


def _version(session: Session, part: str) -> tuple[int, int]:
    """The last step that was taken, and the oldest program that works with it (0: only one that knows it)."""
    rows = session.ask("SELECT version, coalesce(oldest, 0) FROM nagori_schema WHERE part = ?", part)
    return (int(rows[0][0]), int(rows[0][1])) if rows else (0, 0)
