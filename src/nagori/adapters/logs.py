"""Logs of turns as Parquet files, written and queried by DuckDB.

A folder per owner, named by a digest; a file per run of events, named by their numbers: how far the log goes
is read from the names, and a file that was lost is written again from the store. A query sees one owner, has
no access to files or network, and cannot change anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC
from hashlib import sha256
from pathlib import Path
from typing import Any

from nagori.core.events import RecordedTurn
from nagori.core.storage import Owner
from nagori.errors import InvalidInput, StoreError
from nagori.files import private_dir, sync_folder

COLUMNS: Mapping[str, str] = {
    "seq": "BIGINT",
    "said_at": "TIMESTAMP",  # in UTC
    "session": "VARCHAR",
    "role": "VARCHAR",
    "speaker": "VARCHAR",
    "project": "VARCHAR",
    "agent": "VARCHAR",
    "host": "VARCHAR",
    "text": "VARCHAR",
}
LIMITS = {"threads": "1", "memory_limit": "512MB"}
OFFLINE = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
MOST_ROWS = 10_000  # of an answer


class ParquetLogs:
    """The logs in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def position(self, owner: Owner) -> int:
        """The number of the last event in the log; 0 if there is none."""
        return max((last for _, last in map(_numbers, self._files(owner))), default=0)

    def append(self, owner: Owner, turns: Sequence[RecordedTurn]) -> None:
        """Write turns as one file. Written again, it replaces itself."""
        if turns:
            name = f"turns-{turns[0].seq:012d}-{turns[-1].seq:012d}.parquet"
            self._write(private_dir(self._place(owner)) / name, map(_row, turns))

    def keep_only(self, owner: Owner, seqs: frozenset[int]) -> int:
        """Remove all turns but these; returns their number. A file without turns is deleted."""
        removed = 0
        for path in self._files(owner):
            with _connect() as db:
                rows = db.execute("SELECT * FROM read_parquet(?) ORDER BY seq", [[str(path)]]).fetchall()
            kept = [row for row in rows if row[0] in seqs]
            removed += len(rows) - len(kept)
            if not kept:
                path.unlink()
            elif len(kept) < len(rows):
                self._write(path, kept)
        return removed

    def erase(self, owner: Owner) -> int:
        """Delete everything of an owner; returns the number of files."""
        folder, count = self._place(owner), 0
        for path in folder.glob("*") if folder.exists() else ():
            path.unlink(missing_ok=True)
            count += 1
        if folder.exists():
            folder.rmdir()
        return count

    def query(self, owner: Owner, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The columns and rows of one SELECT over the table `turns`."""
        import duckdb

        files = [str(path) for path in self._files(owner)]
        with _connect() as db:
            source = "read_parquet(?)" if files else "(SELECT * FROM turns_empty WHERE false)"
            db.execute(f"CREATE TABLE turns_empty ({_columns()})")
            db.execute(f"CREATE TABLE turns AS SELECT * FROM {source}", [files] if files else [])  # noqa: S608
            db.execute("DROP TABLE turns_empty")
            db.execute("SET enable_external_access = false; SET lock_configuration = true")
            try:
                statements = db.extract_statements(sql)
                if [each.type for each in statements] != [duckdb.StatementType.SELECT]:
                    raise InvalidInput("sql", "error.not_select")
                answer = db.execute(statements[0])
                names = [each[0] for each in answer.description or ()]
                return names, answer.fetchmany(MOST_ROWS)
            except duckdb.Error as fault:
                raise InvalidInput("sql", "error.query_failed", reason=str(fault).split("\n")[0]) from None

    def _place(self, owner: Owner) -> Path:
        return self.folder / sha256("\x1f".join(owner).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _files(self, owner: Owner) -> list[Path]:
        return sorted(self._place(owner).glob("turns-*.parquet"))

    def _write(self, path: Path, rows: Iterable[tuple[Any, ...]]) -> None:
        """Replace a file at once, readable by its owner alone."""
        new = path.with_suffix(".new")
        with _connect() as db:
            db.execute(f"CREATE TABLE turns ({_columns()})")
            db.executemany(f"INSERT INTO turns VALUES ({', '.join('?' * len(COLUMNS))})", list(rows))  # noqa: S608
            target = str(new).replace("'", "''")
            db.execute(f"COPY (SELECT * FROM turns ORDER BY seq) TO '{target}' (FORMAT parquet)")  # noqa: S608
        new.chmod(0o600)
        with new.open("rb") as written:
            os.fsync(written.fileno())
        new.replace(path)
        sync_folder(path.parent)


def _columns() -> str:
    return ", ".join(f"{name} {type}" for name, type in COLUMNS.items())


def _row(turn: RecordedTurn) -> tuple[Any, ...]:
    about = (turn.session, turn.role, turn.speaker, turn.project, turn.agent, turn.host)
    return (turn.seq, turn.at.astimezone(UTC).replace(tzinfo=None), *about, turn.text)


def _numbers(path: Path) -> tuple[int, int]:
    """The first and the last event, from the name of a file."""
    _, first, last = path.stem.split("-")
    return int(first), int(last)


@contextmanager
def _connect() -> Iterator[Any]:
    try:
        import duckdb
    except ImportError:
        raise StoreError("error.duckdb_missing") from None
    db = duckdb.connect(":memory:", config={**LIMITS, **OFFLINE})
    try:
        yield db
    except duckdb.Error as fault:  # a damaged file, a full disk
        raise StoreError("error.log_failed", reason=type(fault).__name__) from fault
    finally:
        db.close()
