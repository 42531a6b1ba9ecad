"""Logs of turns as Parquet files, written and queried by DuckDB.

A folder per owner, named by a digest, on this machine or in a bucket; a file per run of events, named by
their numbers: how far the log goes is read from the names, and a file that was lost is written again from the
store. A query sees one owner, has no access to files or network, and cannot change anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from nagori.core.events import RecordedTurn
from nagori.core.storage_types import Owner
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
_NAME = re.compile(r"turns-\d+-\d+\.parquet")


class LogFiles(Protocol):
    """Where the files of logs are: a folder of this machine, or a bucket."""

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, in order."""
        ...

    def fetch(self, folder: str, names: Sequence[str], work: Path) -> list[Path]:
        """Paths at which these files can be read; `work` is a folder for copies."""
        ...

    def put(self, folder: str, name: str, write: Callable[[Path], None]) -> None:
        """A file that `write` writes; it is there as a whole or not at all."""
        ...

    def delete(self, folder: str, name: str) -> None:
        """Remove a file; nothing happens if it is not there."""
        ...

    def remove_folder(self, folder: str) -> None:
        """Remove a folder without files."""
        ...


class FolderFiles:
    """Files in folders of this machine, readable by their owner alone."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self, folder: str) -> list[str]:
        return sorted(path.name for path in (self.root / folder).glob("*"))

    def fetch(self, folder: str, names: Sequence[str], work: Path) -> list[Path]:
        return [self.root / folder / name for name in names]

    def put(self, folder: str, name: str, write: Callable[[Path], None]) -> None:
        path = private_dir(self.root / folder) / name
        new = path.with_suffix(".new")
        write(new)
        new.chmod(0o600)
        with new.open("rb") as written:
            os.fsync(written.fileno())
        new.replace(path)
        sync_folder(path.parent)

    def delete(self, folder: str, name: str) -> None:
        (self.root / folder / name).unlink(missing_ok=True)

    def remove_folder(self, folder: str) -> None:
        if (self.root / folder).exists():
            (self.root / folder).rmdir()


class ParquetLogs:
    """The logs in one place."""

    def __init__(self, files: LogFiles) -> None:
        self.files = files

    def position(self, owner: Owner) -> int:
        """The number of the last event in the log; 0 if there is none."""
        return max((last for _, last in map(_numbers, self._names(owner))), default=0)

    def append(self, owner: Owner, turns: Sequence[RecordedTurn]) -> None:
        """Write turns as one file. Written again, it replaces itself."""
        if turns:
            name = f"turns-{turns[0].seq:012d}-{turns[-1].seq:012d}.parquet"
            self._write(owner, name, map(_row, turns))

    def keep_only(self, owner: Owner, seqs: frozenset[int]) -> int:
        """Remove all turns but these; returns their number. A file without turns is deleted."""
        removed, folder = 0, _folder_of(owner)
        for name in self._names(owner):
            with _connect() as db, TemporaryDirectory(prefix="nagori-") as work:
                paths = [str(path) for path in self.files.fetch(folder, [name], Path(work))]
                rows = db.execute("SELECT * FROM read_parquet(?) ORDER BY seq", [paths]).fetchall()
            kept = [row for row in rows if row[0] in seqs]
            removed += len(rows) - len(kept)
            if not kept:
                self.files.delete(folder, name)
            elif len(kept) < len(rows):
                self._write(owner, name, kept)
        return removed

    def erase(self, owner: Owner) -> int:
        """Delete everything of an owner; returns the number of files."""
        folder = _folder_of(owner)
        names = self.files.names(folder)
        for name in names:
            self.files.delete(folder, name)
        self.files.remove_folder(folder)
        return len(names)

    def query(self, owner: Owner, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The columns and rows of one SELECT over the table `turns`."""
        import duckdb

        with _connect() as db, TemporaryDirectory(prefix="nagori-") as work:
            files = list(map(str, self.files.fetch(_folder_of(owner), self._names(owner), Path(work))))
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

    def _names(self, owner: Owner) -> list[str]:
        return [name for name in self.files.names(_folder_of(owner)) if _NAME.fullmatch(name)]

    def _write(self, owner: Owner, name: str, rows: Iterable[tuple[Any, ...]]) -> None:
        def write(path: Path) -> None:
            with _connect() as db:
                db.execute(f"CREATE TABLE turns ({_columns()})")
                db.executemany(f"INSERT INTO turns VALUES ({', '.join('?' * len(COLUMNS))})", list(rows))  # noqa: S608
                target = str(path).replace("'", "''")
                db.execute(f"COPY (SELECT * FROM turns ORDER BY seq) TO '{target}' (FORMAT parquet)")  # noqa: S608

        self.files.put(_folder_of(owner), name, write)


def _folder_of(owner: Owner) -> str:
    return sha256("\x1f".join(owner).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _columns() -> str:
    return ", ".join(f"{name} {type}" for name, type in COLUMNS.items())


def _row(turn: RecordedTurn) -> tuple[Any, ...]:
    about = (turn.session, turn.role, turn.speaker, turn.project, turn.agent, turn.host)
    return (turn.seq, turn.at.astimezone(UTC).replace(tzinfo=None), *about, turn.text)


def _numbers(name: str) -> tuple[int, int]:
    """The first and the last event, from the name of a file."""
    _, first, last = name.removesuffix(".parquet").split("-")
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
