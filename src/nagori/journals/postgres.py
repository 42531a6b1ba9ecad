"""The PostgreSQL journal: one row an event, the source of truth for many nodes.

A row holds the line that the file journal would write, so both have one format and one checksum. Writers of
an owner take turns by an advisory lock of their session. The primary key (owner, seq) is the fence: whoever
lost the lock without noticing cannot write over another. An append is one statement in one transaction; it is
acknowledged after its commit.

Work (turns to process, cycles that are due) is in the table `work`. A recorded turn and the request to
process it are one commit, so a killed node leaves nothing that no worker knows of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from threading import get_ident

from nagori.config.postgres_address import Address
from nagori.core.events import TURNS, Event
from nagori.core.storage_types import Owner, Vector
from nagori.core.value_object import Value
from nagori.errors import Conflict, JournalError, JournalTooNew, MemoryErased, NagoriError, Notice
from nagori.journals.file import LOCK_SECONDS, Damage, Verdict, decode, encode
from nagori.postgres import Database, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STEPS = ("0001_journal.sql",)
AT_ONCE = 500  # events read at once
CHANNEL = "nagori_work"  # notified when work is requested

OWN = "tenant = ? AND user_id = ?"
SETTLE = """
    WITH new AS (INSERT INTO journal_owner (tenant, user_id) VALUES (?, ?) ON CONFLICT DO NOTHING)
    INSERT INTO work (tenant, user_id) VALUES (?, ?) ON CONFLICT DO NOTHING"""
PATIENCE = "SELECT set_config('lock_timeout', ?, false)"
LOCK = "SELECT pg_advisory_lock(hashtextextended(current_schema() || ?, 0))"
UNLOCK = "SELECT pg_advisory_unlock(hashtextextended(current_schema() || ?, 0))"
LAST = f"SELECT coalesce(max(seq), 0) FROM journal WHERE {OWN}"
POSITION = f"""
    SELECT coalesce(max(seq), 0), (SELECT identity::text FROM journal_owner WHERE {OWN})
    FROM journal WHERE {OWN}"""
DIGEST = """(SELECT encode(sha256(convert_to(salt::text || chr(31) || ? || chr(31) || ?, 'UTF8')), 'hex')
             FROM erasure_salt)"""
IS_ERASED = f"SELECT EXISTS (SELECT 1 FROM erased WHERE digest = {DIGEST} AND NOT reopened)"
ERASE = f"""
    INSERT INTO erased (digest, tenant, user_id) VALUES ({DIGEST}, ?, ?)
    ON CONFLICT (digest) DO UPDATE
    SET reopened = false, tenant = excluded.tenant, user_id = excluded.user_id"""
FINISH_ERASURE = f"UPDATE erased SET tenant = NULL, user_id = NULL WHERE digest = {DIGEST}"
REOPEN = f"UPDATE erased SET reopened = true WHERE digest = {DIGEST}"
# Everything of an owner, except leases. Its own row is first: who adds to the others without the lock of the
# journal locks that row, so it is either deleted with them or comes too late.
TABLES = ("journal_owner", "journal", "work", "node_vector")
# One statement, and so one commit: the events, and the request to process turns among them.
_APPENDED = f"""
        INSERT INTO journal (tenant, user_id, seq, line) SELECT ?, ?, ? + n, line
        FROM unnest(?::text[]) WITH ORDINALITY AS new (line, n){{}} WHERE ({LAST}) = ? RETURNING seq),
    asked AS (
        UPDATE work SET asked = true
        WHERE ? AND {OWN} AND NOT asked AND EXISTS (SELECT 1 FROM appended) RETURNING 1)"""
APPEND = f"WITH appended AS ({_APPENDED.format('')} SELECT seq FROM appended"
# The same without the lock, if nobody holds it. What became of the owner since the statement began is not
# in its snapshot, so the row of the owner is locked: it is there as long as this journal is. Vectors for the
# other nodes go with it.
APPEND_EXPECTED = f"""
    WITH open AS MATERIALIZED (
        SELECT 1 FROM journal_owner WHERE {OWN} AND identity = ?::uuid
            AND pg_try_advisory_xact_lock(hashtextextended(current_schema() || ?, 0)) FOR KEY SHARE),
    appended AS ({_APPENDED.format(", open")},
    shared AS (
        INSERT INTO node_vector (tenant, user_id, model, digest, data)
        SELECT ?, ?, new.* FROM unnest(?::text[], ?::bytea[], ?::bytea[]) AS new
        WHERE EXISTS (SELECT 1 FROM appended) ON CONFLICT DO NOTHING)
    SELECT seq FROM appended"""
REQUEST = """
    INSERT INTO work (tenant, user_id, asked) VALUES (?, ?, true)
    ON CONFLICT (tenant, user_id) DO UPDATE SET asked = true"""
REDACT = f"""
    UPDATE journal SET line = new.line FROM unnest(?::bigint[], ?::text[]) AS new (n, line)
    WHERE {OWN} AND seq = n RETURNING seq"""
# The oldest work that nobody holds. SKIP LOCKED: workers that look at the same time take different owners.
CLAIM = """
    UPDATE work
    SET holder = ?, until = now() + ?, fence = fence + 1, claimed = claimed OR asked, asked = false
    WHERE (tenant, user_id) = (
        SELECT tenant, user_id FROM work
        WHERE ({}) AND (until IS NULL OR until <= now()) ORDER BY due LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING tenant, user_id, fence"""
EXAMINE = """
    SELECT current_setting('server_version'), now(),
        NOT (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user),
        (SELECT count(*) FROM pg_stat_activity WHERE application_name = ? AND datname = current_database())"""
OVERDUE = "SELECT count(*) FROM work WHERE due < now() - ? AND (until IS NULL OR until <= now())"
OVERDUE_SECONDS = 3600.0
WORKER_NAME = "nagori worker"  # of a worker's sessions
HELD = f"{OWN} AND holder = ? AND fence = ?"
RENEW = f"UPDATE work SET until = now() + ? WHERE {HELD} RETURNING fence"
FINISH = f"""
    UPDATE work SET claimed = false, due = now() + ?, holder = NULL, until = NULL
    WHERE {HELD} RETURNING fence"""
GIVE_UP = f"UPDATE work SET until = now() + ?, holder = NULL WHERE {HELD} RETURNING fence"


class WorkClaim(Value):
    """An owner whose work a worker holds. `fence` tells it from earlier and later holders."""

    owner: Owner
    holder: str
    fence: int


class DatabaseState(Value):
    """What an operator asks of the database: its version, how far its clock is ahead of a given time, the
    steps of each part of the tables (done and known here), whether row-level security binds us, owners whose
    work nobody does, and sessions of workers."""

    server: str
    clock_ahead: float  # seconds
    steps: Mapping[str, tuple[int, int]]
    is_bound: bool
    overdue: int
    workers: int


class PostgresJournal:
    """The journal as a table. Safe for many processes on many machines."""

    def __init__(self, address: Address, *, patience: float | None = None) -> None:
        self.patience = patience  # seconds to wait for the lock; None: LOCK_SECONDS
        self.database = Database(address, JournalError)
        self.database.migrate("journal", "nagori.journals", STEPS)
        self._held: dict[tuple[Owner, int], Session] = {}  # sessions that hold a lock, by thread
        self._identities: dict[Owner, str] = {}  # as last seen; another node may erase an owner and reopen it
        self._last: dict[Owner, int] = {}  # the last number as last seen; others may have written since

    def close(self) -> None:
        """Close its connections."""
        self.database.close()

    # --- owners ---------------------------------------------------------------------------------

    def owners(self) -> list[Owner]:
        with self.database.session(None) as session:
            return session.ask("SELECT tenant, user_id FROM journal_owner ORDER BY tenant, user_id")

    def identity(self, owner: Owner) -> str:
        """As it was when `last_seq` was last asked for."""
        if not self._identities.get(owner):
            self.last_seq(owner)
        return self._identities[owner]

    def size(self, owner: Owner) -> int:
        sum_up = f"SELECT coalesce(sum(octet_length(line)), 0)::bigint FROM journal WHERE {OWN}"
        return int(self._ask(owner, sum_up, *owner)[0][0])

    # --- writing --------------------------------------------------------------------------------

    @contextmanager
    def locked(self, owner: Owner, patience: float | None = None) -> Iterator[int]:
        chosen = [seconds for seconds in (patience, self.patience) if seconds is not None]
        name, who = _lock_name(owner), (owner, get_ident())
        with self._session(owner) as session:
            if not self._identities.get(owner) and not self._read_position(session, owner)[1]:
                self._refuse_erased(session, owner)
                session.execute(SETTLE, (*owner, *owner))
            limit = f"{max(1.0, 1000 * min(chosen, default=LOCK_SECONDS)):.0f}ms"
            if session.patience != limit:
                session.ask(PATIENCE, limit)
                session.patience = limit
            session.ask(LOCK, name)
            self._held[who] = session
            try:
                last = self.last_seq(owner)
                if not last:  # it may have been erased while we waited; nothing is left of an erased owner
                    self._refuse_erased(session, owner)
                    session.execute(SETTLE, (*owner, *owner))
                    last = self.last_seq(owner)
                yield last
            finally:
                del self._held[who]
                if session.is_usable:  # otherwise the lock was lost with its session
                    with suppress(NagoriError), self.database.errors():
                        session.ask(UNLOCK, name)

    def append(self, owner: Owner, events: Sequence[Event], after: int) -> list[Event]:
        if not events:
            return []
        session = self._holder(owner)
        with self.database.errors():
            return self._append(session, owner, events, after, APPEND)

    def expected_position(self, owner: Owner) -> tuple[int, str] | None:
        """The last number and the journal's identity as last seen here, without asking."""
        last, identity = self._last.get(owner, 0), self._identities.get(owner)
        return (last, identity) if last and identity else None

    def append_expected(
        self,
        owner: Owner,
        events: Sequence[Event],
        expected: tuple[int, str],
        vectors: Collection[Vector] = (),
    ) -> list[Event]:
        """Append without the lock in one round trip, with vectors that other nodes can use; Conflict if
        somebody holds the lock, or has written since."""
        after, identity = expected
        columns = [[v.model for v in vectors], [v.digest for v in vectors], [v.data for v in vectors]]
        with self._session(owner) as session:
            condition, shared = (*owner, identity, _lock_name(owner)), (*owner, *columns)
            return self._append(session, owner, events, after, APPEND_EXPECTED, condition, shared)

    def _append(
        self,
        session: Session,
        owner: Owner,
        events: Sequence[Event],
        after: int,
        statement: str,
        condition: Sequence[object] = (),
        shared: Sequence[object] = (),
    ) -> list[Event]:
        written = [encode([event], after + n) for n, event in enumerate(events)]
        lines, numbered = [line.decode() for line, _ in written], [event for _, [event] in written]
        turns = any(event.type in TURNS for event in events)
        values = (*condition, *owner, after, lines, *owner, after, turns, *owner, *shared)
        self._last.pop(owner, None)
        if not session.ask(statement, *values):
            last, _ = self._read_position(session, owner)
            raise Conflict("error.journal_moved", after=after, last=last)
        self._last[owner] = after + len(events)
        return numbered

    def redact(self, owner: Owner, replacements: Mapping[int, Event]) -> int:
        """The words are gone from every answer at once. PostgreSQL keeps dead rows until VACUUM and its
        write-ahead log until that turns over; see docs/why/postgres.md."""
        session = self._holder(owner)
        lines = [encode([event], seq - 1)[0].decode() for seq, event in replacements.items()]
        with self.database.errors():
            return len(session.ask(REDACT, list(replacements), lines, *owner)) if lines else 0

    def erase(self, owner: Owner) -> None:
        """The tombstone is committed first, so a writer that waits for the lock is refused."""
        self._identities.pop(owner, None)
        self._last.pop(owner, None)
        with self.database.session(owner[0]) as session:
            session.execute(ERASE, (*owner, *owner))
            session.ask(LOCK, _lock_name(owner))
            try:
                with session.raw.transaction():
                    for table in TABLES:
                        session.execute(f"DELETE FROM {table} WHERE {OWN}", owner)
            finally:
                session.ask(UNLOCK, _lock_name(owner))

    def is_erased(self, owner: Owner) -> bool:
        return bool(self._ask(owner, IS_ERASED, *owner)[0][0])

    def unfinished_erasures(self) -> list[Owner]:
        with self.database.session(None) as session:
            return session.ask("SELECT tenant, user_id FROM erased WHERE tenant IS NOT NULL ORDER BY 1, 2")

    def finish_erasure(self, owner: Owner) -> None:
        with self._session(owner) as session:
            session.execute(FINISH_ERASURE, owner)

    def reopen(self, owner: Owner) -> None:
        if owner in self.unfinished_erasures():
            raise Conflict("error.erasure_unfinished")
        with self._session(owner) as session:
            session.execute(REOPEN, owner)

    # --- reading --------------------------------------------------------------------------------

    def last_seq(self, owner: Owner) -> int:
        with self._session(owner) as session:
            return self._read_position(session, owner)[0]

    def read(self, owner: Owner, after: int = 0) -> Iterator[Event]:
        for _, event in self._scan(owner, after):
            if isinstance(event, Event):
                yield event

    def event(self, owner: Owner, seq: int) -> Event | None:
        for _, event in self._scan(owner, seq - 1, 1):
            return event if isinstance(event, Event) and event.seq == seq else None
        return None

    def verify(self, owner: Owner) -> Verdict:
        verdict, last = Verdict(owner, bytes=self.size(owner)), 0
        for seq, event in self._scan(owner, 0):
            missing = Notice("damage.event_missing", expected=last + 1, found=seq)
            problem = event if seq == last + 1 else missing
            if isinstance(problem, Notice):
                verdict.damage.append(Damage("journal", seq, 0, problem))
            verdict.events, last = verdict.events + isinstance(event, Event), seq
        return verdict

    def examine(self, now: datetime) -> DatabaseState:
        """The state of the database, for `doctor`."""
        with self.database.session(None) as session:
            [(server, clock, bound, workers)] = session.ask(EXAMINE, WORKER_NAME)
            [(overdue,)] = session.ask(OVERDUE, timedelta(seconds=OVERDUE_SECONDS))
        known = self.database.known_steps
        steps = {part: (done, known.get(part, done)) for part, done in self.database.versions().items()}
        ahead = (clock - now).total_seconds()
        return DatabaseState(server, ahead, steps, bool(bound), int(overdue), int(workers))

    # --- work -----------------------------------------------------------------------------------

    def request_work(self, owner: Owner) -> None:
        """Usually the append of the turns has done it, and nothing is written."""
        with self._session(owner) as session:
            if session.ask(IS_ERASED, *owner)[0][0]:
                return
            if not session.ask(f"SELECT 1 FROM work WHERE {OWN} AND asked", *owner):
                session.execute(REQUEST, owner)
            session.execute(f"NOTIFY {CHANNEL}")

    def requested_work(self) -> list[Owner]:
        with self.database.session(None) as session:
            return session.ask("SELECT tenant, user_id FROM work WHERE asked OR claimed ORDER BY due")

    def claim_work(self, owner: Owner) -> None:
        self._ask(
            owner, f"UPDATE work SET claimed = true, asked = false WHERE {OWN} AND asked RETURNING 1", *owner
        )

    def finish_work(self, owner: Owner) -> None:
        self._ask(owner, f"UPDATE work SET claimed = false WHERE {OWN} AND claimed RETURNING 1", *owner)

    def claim_next(self, holder: str, seconds: float) -> WorkClaim | None:
        """Claim the work of one owner for so long; None if nothing waits that nobody else holds."""
        with self.database.session(None) as session:
            for waiting in ("asked OR claimed", "due <= now()"):  # each has its index
                found = session.ask(CLAIM.format(waiting), holder, timedelta(seconds=seconds))
                for tenant, user, fence in found:
                    return WorkClaim((tenant, user), holder, fence)
        return None

    def renew_claim(self, claim: WorkClaim, seconds: float) -> bool:
        """Hold a claim for longer; False if it was lost."""
        values = (timedelta(seconds=seconds), *claim.owner, claim.holder, claim.fence)
        return bool(self._ask(claim.owner, RENEW, *values))

    def finish_claim(self, claim: WorkClaim, done: bool, again: float) -> bool:
        """Give a claim back, with its work done or not; it is due again after so many seconds. False if it
        was lost: another worker has it."""
        values = (timedelta(seconds=again), *claim.owner, claim.holder, claim.fence)
        return bool(self._ask(claim.owner, FINISH if done else GIVE_UP, *values))

    def wait_for_work(self, seconds: float) -> None:
        """Wait until work is requested, but no longer than this."""
        with self.database.session(None) as session:
            session.execute(f"LISTEN {CHANNEL}")
            try:
                for _ in session.raw.notifies(timeout=seconds, stop_after=1):
                    break
            finally:
                session.execute(f"UNLISTEN {CHANNEL}")

    # --- internal -------------------------------------------------------------------------------

    def _scan(self, owner: Owner, after: int, size: int = AT_ONCE) -> Iterator[tuple[int, Event | Notice]]:
        page = f"SELECT seq, line FROM journal WHERE {OWN} AND seq > ? ORDER BY seq LIMIT ?"
        while rows := self._ask(owner, page, *owner, after, size):
            yield from ((seq, _event_of(line, seq)) for seq, line in rows)
            after = rows[-1][0]

    def _read_position(self, session: Session, owner: Owner) -> tuple[int, str]:
        """The last number and the journal's identity, which changes only if the owner is erased and starts
        again."""
        [(last, identity)] = session.ask(POSITION, *owner, *owner)
        self._identities[owner], self._last[owner] = identity or "", int(last)
        return int(last), identity or ""

    def _refuse_erased(self, session: Session, owner: Owner) -> None:
        if session.ask(IS_ERASED, *owner)[0][0]:
            raise MemoryErased()

    @contextmanager
    def _session(self, owner: Owner) -> Iterator[Session]:
        """A session for this owner's rows; inside `locked` the one that holds the lock, so that a thread
        never waits for a connection while it holds a lock."""
        held = self._held.get((owner, get_ident()))
        if held is None:
            with self.database.session(owner[0]) as session:
                yield session
        else:
            with self.database.errors():
                yield held

    def _ask(self, owner: Owner, sql: str, *values: object) -> list[Any]:
        with self._session(owner) as session:
            return session.ask(sql, *values)

    def _holder(self, owner: Owner) -> Session:
        session = self._held.get((owner, get_ident()))
        if session is None:
            raise JournalError("error.lock_not_held")
        return session


def _lock_name(owner: Owner) -> str:
    return "\x1f".join(["", *owner])


def _event_of(line: str, seq: int) -> Event | Notice:
    try:
        [event] = decode(line.encode())
    except JournalTooNew:
        raise
    except JournalError as fault:
        return fault.notice
    except ValueError:
        return Notice("damage.line_foreign")
    return event if event.seq == seq else Notice("damage.event_missing", expected=seq, found=event.seq)
