"""The contract of journals, on files and on PostgreSQL (a real server)."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.postgres import Server

from nagori.core.storage_types import Owner
from nagori.errors import Conflict, Notice
from nagori.journals.file import FileJournal
from nagori.protocols import Journal
from nagori.testing.journal_contract import ME, JournalContract, event, words, write

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


@pytest.fixture
def open_postgres(postgres: Server) -> Iterator[Callable[..., Journal]]:
    """Open journals on the server; they are closed at the end."""
    from nagori.config.postgres_address import parse_address
    from nagori.journals.postgres import PostgresJournal

    opened: list[PostgresJournal] = []

    def open_journal(**more: float) -> Journal:
        opened.append(PostgresJournal(parse_address(postgres.url()), **more))
        return opened[-1]

    yield open_journal
    for journal in opened:
        journal.close()


class TestPostgresJournal(JournalContract):
    @pytest.fixture
    def journal(self, open_postgres: Callable[..., Journal]) -> Journal:
        return open_postgres()

    @pytest.fixture
    def another(self, open_postgres: Callable[..., Journal]) -> Journal:
        return open_postgres()

    @pytest.fixture
    def impatient(self, open_postgres: Callable[..., Journal]) -> Journal:
        return open_postgres(patience=0.2)

    @pytest.fixture
    def lose_lock(self, postgres: Server) -> Callable[[Journal, Owner], None]:
        def end_session(journal: Journal, owner: Owner) -> None:
            holders = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
            ended = postgres.ask(f"SELECT pg_terminate_backend(pid, 10000) FROM ({holders}) AS holder")
            assert ended == [(True,)]

        return end_session

    @pytest.fixture
    def damage(self, postgres: Server) -> Callable[[Owner, int], None]:
        def change_a_letter(owner: Owner, seq: int) -> None:
            change = 'UPDATE journal SET line = replace(line, \'"word":"\', \'"word":"x\')'
            postgres.ask(f"{change} WHERE (tenant, user_id, seq) = (%s, %s, %s)", *owner, seq)

        return change_a_letter

    @pytest.fixture
    def writer_command(self, postgres: Server) -> list[str]:
        program = f"{WRITER}\nfrom nagori.journals.postgres import PostgresJournal\n"
        program += "from nagori.config.postgres_address import parse_address\n"
        program += "append_for_ever(PostgresJournal(parse_address(sys.argv[1])), ME)"
        return [sys.executable, "-c", program, postgres.url()]

    def test_a_missing_row_is_told(self, journal: Journal, postgres: Server) -> None:
        write(journal, event(), event(), event())
        postgres.ask("DELETE FROM journal WHERE seq = 2")
        [damage] = journal.verify(ME).damage
        assert damage.problem == Notice("damage.event_missing", expected=2, found=3)

    def test_redacted_words_leave_the_tables_files_with_vacuum_full(
        self, journal: Journal, postgres: Server
    ) -> None:
        """PostgreSQL keeps dead rows: the words are gone from every answer at once, and from the files of the
        tables when an operator says so. The write-ahead log is recycled in its own time."""
        write(journal, event("kept"), event("quokka-in-the-files"))
        with journal.locked(ME):
            journal.redact(ME, {2: event("gone")})
        assert words(journal) == ["kept", "gone"]
        postgres.ask("VACUUM FULL journal")
        postgres.ask("CHECKPOINT")
        files = [path for path in (postgres.place / "data" / "base").rglob("*") if path.is_file()]
        held = b"".join(path.read_bytes() for path in files)
        assert b"kept" in held
        assert b"quokka-in-the-files" not in held

    def test_the_key_is_a_fence_by_itself(self, journal: Journal, postgres: Server) -> None:
        """A row that somebody is about to commit is no number for us, though we cannot see it yet."""
        import psycopg

        taken = "INSERT INTO nagori.journal VALUES (%s, %s, 1, 'theirs')"
        with psycopg.connect(postgres.conninfo) as theirs, journal.locked(ME) as last:
            theirs.execute(taken, ME)
            with pytest.raises(Conflict):
                _while_it_waits(lambda: journal.append(ME, [event()], last), theirs.commit)
        assert journal.last_seq(ME) == 1


def _while_it_waits(job: Callable[[], object], then: Callable[[], object]) -> None:
    from threading import Timer

    timer = Timer(0.3, then)
    timer.start()
    try:
        job()
    finally:
        timer.join(10)
