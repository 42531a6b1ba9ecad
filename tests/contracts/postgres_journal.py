"""An exercise: a journal over one table of PostgreSQL. The primary key is the fence: two writers never share
a number. The lock belongs to a session. The event is text: jsonb changes numbers and the order of keys."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from hashlib import sha256

import psycopg

from nagori.core.events import Event
from nagori.core.model import utc
from nagori.core.storage import Owner
from nagori.core.values import replace
from nagori.errors import Conflict, InvalidInput, JournalError, MemoryErased, Notice
from nagori.journals.file import Damage, Verdict

TABLES = """SELECT pg_advisory_xact_lock(hashtext('nagori_journal'));
CREATE TABLE IF NOT EXISTS nagori_journal (tenant text, owner text, seq bigint, line text NOT NULL,
    name uuid DEFAULT gen_random_uuid(), PRIMARY KEY (tenant, owner, seq)); -- the first one's is the identity
CREATE TABLE IF NOT EXISTS nagori_request (tenant text, owner text, claimed boolean);
CREATE TABLE IF NOT EXISTS nagori_erased (
    digest text PRIMARY KEY, reopened boolean, tenant text, owner text)"""
SETTINGS = "SELECT set_config('lock_timeout', %s, false), set_config('synchronous_commit', 'on', false)"
LOCK = "SELECT pg_advisory_lock(hashtextextended(current_schema() || %s, 0))"
ROWS = "FROM nagori_journal WHERE tenant = %s AND owner = %s"
LAST = f"SELECT coalesce(max(seq), 0) {ROWS}"
APPEND = f"""INSERT INTO nagori_journal SELECT %s, %s, %s + n, line
    FROM unnest(%s::text[]) WITH ORDINALITY AS new(line, n) WHERE ({LAST}) = %s RETURNING seq"""
CLAIM = "UPDATE nagori_request SET claimed = true WHERE (tenant, owner) = (%s, %s) RETURNING 1"
FINISH = "DELETE FROM nagori_request WHERE (tenant, owner) = (%s, %s) AND claimed RETURNING 1"
REDACT = """UPDATE nagori_journal SET line = new.line FROM unnest(%s::bigint[], %s::text[]) AS new(n, line)
    WHERE tenant = %s AND owner = %s AND seq = n RETURNING seq"""

ERASE = """INSERT INTO nagori_erased VALUES (%s, false, %s, %s) ON CONFLICT (digest) DO UPDATE
    SET reopened = false, tenant = excluded.tenant, owner = excluded.owner RETURNING 1"""


class PostgresJournal:
    def __init__(self, address: str, *, patience: float = 30.0) -> None:
        self._address, self._patience, self._holders = address, patience, dict[Owner, psycopg.Connection]()
        self._ask(TABLES)

    def owners(self) -> list[Owner]:
        return self._ask("SELECT tenant, owner FROM nagori_journal WHERE seq = 1")

    def identity(self, owner: Owner) -> str:
        return self._ask(f"SELECT coalesce(max(name::text), '') {ROWS} AND seq = 1", *owner)[0][0]

    @contextmanager
    def locked(self, owner: Owner, patience: float | None = None) -> Iterator[int]:
        seconds = self._patience if patience is None else min(patience, self._patience)
        with self._session() as session:
            _ask(session, SETTINGS, f"{max(1.0, seconds * 1000):.0f}ms")
            _ask(session, LOCK, "\x1f".join(["", *owner]))
            if self.is_erased(owner):
                raise MemoryErased()
            self._holders[owner] = session
            try:
                yield _ask(session, LAST, *owner)[0][0]
            finally:
                if self._holders.get(owner) is session:  # nobody took the lock after it was lost
                    del self._holders[owner]

    def append(self, owner: Owner, events: Sequence[Event], after: int) -> list[Event]:
        numbered = [replace(e, at=utc(e.at), seq=after + n) for n, e in enumerate(events, 1)]
        lines = [_line_of(event) for event in numbered]
        if lines and not _ask(self._holder(owner), APPEND, *owner, after, lines, *owner, after):
            raise Conflict("event {after} is not the last one", after=after)
        return numbered

    def last_seq(self, owner: Owner) -> int:
        return self._ask(LAST, *owner)[0][0]

    def read(self, owner: Owner, after: int = 0) -> Iterator[Event]:
        return (event for _, event in self._scan(owner, after) if isinstance(event, Event))

    def event(self, owner: Owner, seq: int) -> Event | None:
        return next((event for event in self.read(owner, seq - 1) if event.seq == seq), None)

    def redact(self, owner: Owner, replacements: Mapping[int, Event]) -> int:
        lines = list(map(_line_of, replacements.values()))
        return len(_ask(self._holder(owner), REDACT, list(replacements), lines, *owner))

    def erase(self, owner: Owner) -> None:
        self._ask(ERASE, _digest_of(owner), *owner)
        with self._session() as session:
            _ask(session, LOCK, "\x1f".join(["", *owner]))
            _ask(session, f"DELETE {ROWS} RETURNING 1", *owner)
            _ask(session, "DELETE FROM nagori_request WHERE (tenant, owner) = (%s, %s) RETURNING 1", *owner)

    def is_erased(self, owner: Owner) -> bool:
        found = "SELECT 1 FROM nagori_erased WHERE digest = %s AND NOT reopened"
        return bool(self._ask(found, _digest_of(owner)))

    def unfinished_erasures(self) -> list[Owner]:
        return self._ask("SELECT tenant, owner FROM nagori_erased WHERE tenant IS NOT NULL")

    def finish_erasure(self, owner: Owner) -> None:
        done = "UPDATE nagori_erased SET tenant = NULL, owner = NULL WHERE digest = %s RETURNING 1"
        self._ask(done, _digest_of(owner))

    def reopen(self, owner: Owner) -> None:
        if owner in self.unfinished_erasures():
            raise Conflict("error.erasure_unfinished")
        self._ask("UPDATE nagori_erased SET reopened = true WHERE digest = %s RETURNING 1", _digest_of(owner))

    def verify(self, owner: Owner) -> Verdict:
        verdict, last = Verdict(owner, bytes=self.size(owner)), 0
        for seq, event in self._scan(owner, 0):
            missing = Notice("damage.event_missing", expected=last + 1, found=seq)
            if isinstance(problem := event if seq == last + 1 else missing, Notice):
                verdict.damage.append(Damage("nagori_journal", seq, 0, problem))
            verdict.events, last = verdict.events + isinstance(event, Event), seq
        return verdict

    def size(self, owner: Owner) -> int:
        return self._ask(f"SELECT coalesce(sum(octet_length(line)), 0)::bigint {ROWS}", *owner)[0][0]

    def request_work(self, owner: Owner) -> None:
        if self.is_erased(owner):
            return
        self._ask("INSERT INTO nagori_request VALUES (%s, %s, false) RETURNING 1", *owner)

    def requested_work(self) -> list[Owner]:
        return self._ask("SELECT DISTINCT tenant, owner FROM nagori_request")

    def claim_work(self, owner: Owner) -> None:
        self._ask(CLAIM, *owner)

    def finish_work(self, owner: Owner) -> None:
        self._ask(FINISH, *owner)

    def _scan(self, owner: Owner, after: int) -> Iterator[tuple[int, Event | Notice]]:
        page = f"SELECT seq, line {ROWS} AND seq > %s ORDER BY seq LIMIT 500"
        while rows := self._ask(page, *owner, after):
            yield from ((seq, _event_of(line, seq)) for seq, line in rows)
            after = rows[-1][0]

    def _ask(self, query: str, *values: object) -> list:
        with self._session() as session:
            return _ask(session, query, *values)

    def _session(self) -> closing[psycopg.Connection]:
        with _translated():
            return closing(psycopg.connect(self._address, autocommit=True))

    def _holder(self, owner: Owner) -> psycopg.Connection:
        if owner not in self._holders:
            raise JournalError("error.lock_not_held")
        return self._holders[owner]


def _ask(session: psycopg.Connection, query: str, *values: object) -> list:
    with _translated():
        return session.execute(query, values).fetchall()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except psycopg.errors.UniqueViolation as fault:
        raise Conflict("error.store_changing") from fault
    except psycopg.Error as fault:
        raise JournalError("error.store_fault", reason=str(fault)) from fault


def _digest_of(owner: Owner) -> str:
    return sha256("\x1f".join(owner).encode()).hexdigest()  # a real engine salts it


def _line_of(event: Event) -> str:
    said = {**vars(event), "at": utc(event.at).isoformat()}
    try:
        return json.dumps(said, ensure_ascii=False, allow_nan=False).encode().decode()
    except (ValueError, TypeError, RecursionError) as fault:
        raise InvalidInput("event", "error.event_not_json", reason=str(fault)) from None


def _event_of(line: str, seq: int) -> Event | Notice:
    try:
        said = json.loads(line)
        return Event(**{**said, "at": utc(datetime.fromisoformat(said["at"])), "seq": seq})
    except (ValueError, TypeError, KeyError, InvalidInput) as fault:
        return Notice("damage.not_event", reason=str(fault))
