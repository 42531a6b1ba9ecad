"""A3: a journal that is not what the store knows is told before anything is answered, written or rebuilt."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nagori import Nagori
from nagori.core.events import Event
from nagori.errors import JournalMismatch, NagoriError
from nagori.journals.file import FileJournal
from nagori.services.record_turns_or_spool import record_or_spool
from nagori.testing import FrozenClock

SEGMENT = Path("journal/local/me/00000001.jsonl")
OWNER = ("local", "me")


def turn(clock: FrozenClock, n: int) -> Event:
    data = {"session": "hook", "role": "user", "text": f"Turn {n} of a hook."}
    return Event("turn_recorded", clock.now(), data, by="host")


def put_back(folder: Path, kept: Path, clock: FrozenClock) -> None:
    shutil.rmtree(folder / "journal")
    shutil.copytree(kept / "journal", folder / "journal")


def empty(folder: Path, kept: Path, clock: FrozenClock) -> None:
    (folder / SEGMENT).write_bytes(b"")


def remove_segment(folder: Path, kept: Path, clock: FrozenClock) -> None:
    (folder / SEGMENT).unlink()


def remove_folder(folder: Path, kept: Path, clock: FrozenClock) -> None:
    shutil.rmtree(folder / "journal")


def cut_at_line_end(folder: Path, kept: Path, clock: FrozenClock) -> None:
    lines = (folder / SEGMENT).read_bytes().splitlines(keepends=True)
    (folder / SEGMENT).write_bytes(b"".join(lines[:-2]))


def regrow(folder: Path, kept: Path, clock: FrozenClock) -> None:
    """Yesterday's journal, and hooks that record past the store's number: they do not open the store."""
    put_back(folder, kept, clock)
    clock.forward(minutes=1)
    for n in range(8):
        record_or_spool(folder, OWNER, [turn(clock, n)])


def regrow_exactly(folder: Path, kept: Path, clock: FrozenClock) -> None:
    put_back(folder, kept, clock)
    missing = 6 - FileJournal(folder / "journal").last_seq(OWNER)
    clock.forward(minutes=1)
    for n in range(missing):
        record_or_spool(folder, OWNER, [turn(clock, n)])
    assert FileJournal(folder / "journal").last_seq(OWNER) == 6


def exchange(folder: Path, kept: Path, clock: FrozenClock) -> None:
    other = kept.with_name("other")
    with Nagori.open(other, clock=clock, embedder=None) as memory:
        for n in range(9):
            memory.remember(f"Of another home {n}.")
    put_back(folder, other, clock)


HARMS = [
    put_back,
    empty,
    remove_segment,
    remove_folder,
    cut_at_line_end,
    regrow,
    regrow_exactly,
    exchange,
]


def make(tmp_path: Path, clock: FrozenClock) -> tuple[Path, Path]:
    """A home with six events, and a copy of its journal from yesterday, with two."""
    folder, kept = tmp_path / "data", tmp_path / "kept"
    with Nagori.open(folder, clock=clock, embedder=None) as memory:
        for n in range(6):
            memory.remember(f"Memory number {n}.")
            if n == 1:
                shutil.copytree(folder / "journal", kept / "journal")
    return folder, kept


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted((folder / "journal").rglob("*.jsonl"))
    }


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("opened_before", [False, True])
def test_it_is_told_before_anything_is_answered_written_or_rebuilt(
    tmp_path: Path, clock: FrozenClock, harm: Callable[..., None], opened_before: bool
) -> None:
    folder, kept = make(tmp_path, clock)
    memory = Nagori.open(folder, clock=clock, embedder=None)
    if opened_before:
        memory.list()
    harm(folder, kept, clock)
    before = content(folder)
    id = "mem_aaaaaa"
    for name, verb in {
        "list": lambda: memory.list(),
        "recall": lambda: memory.recall("memory number"),
        "remember": lambda: memory.remember("Something new."),
        "edit": lambda: memory.edit(id, content="x"),
        "forget": lambda: memory.forget(id),
        "cycle": lambda: memory.cycle(),
        "export": lambda: list(memory.export()),
        "rebuild": lambda: memory.rebuild(),
        "context": lambda: memory.context("Which memory number is it?"),
        "import": lambda: memory.import_(
            ['{"memory":{"id":"mem_z","created":"2026-01-01T00:00:00+00:00","texts":{"1":{"content":"x"}}}}']
        ),
        "archive": lambda: memory.archive(id),
        "protect": lambda: memory.protect(id),
        "process": lambda: memory.process(),
    }.items():
        with pytest.raises(JournalMismatch):
            pytest.fail(f"{name} answered {verb()!r}")
    assert content(folder) == before
    proof = memory.verify()
    assert not proof.sound
    assert any(f.state == "fail" for f in memory.doctor())
    memory.close()


@pytest.mark.parametrize("harm", HARMS)
def test_accepting_the_loss_puts_a_copy_of_the_store_aside_first(
    tmp_path: Path, clock: FrozenClock, harm: Callable[..., None]
) -> None:
    folder, kept = make(tmp_path, clock)
    harm(folder, kept, clock)
    with Nagori.open(folder, clock=clock, embedder=None) as memory:
        memory.rebuild(accept_damage=True)
        memory.remember("Said after the loss.")
        assert "Said after the loss." in {m.text.content for m in memory.list()}
        assert memory.verify().sound
        assert not [f for f in memory.doctor() if f.state == "fail"]
    [aside] = [p for p in folder.glob("nagori.db.before-rebuild-*") if not p.name.endswith(("-wal", "-shm"))]
    rescue = tmp_path / "rescue"
    rescue.mkdir()
    shutil.copy(aside, rescue / "nagori.db")
    import apsw

    rows = apsw.Connection(str(rescue / "nagori.db")).execute("SELECT count(*) FROM memory").fetchall()
    assert rows == [(6,)]


def test_the_command_line_tells_it_and_does_not_exit_with_success(tmp_path: Path, clock: FrozenClock) -> None:
    folder, kept = make(tmp_path, clock)
    put_back(folder, kept, clock)
    for command, fails in (("verify", True), ("doctor", True), ("list", True), ("rebuild", True)):
        done = subprocess.run(
            [sys.executable, "-m", "nagori", "--data-dir", str(folder), command],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode != 0) == fails, (command, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr


def test_a_store_that_was_put_back_from_yesterday_catches_up(tmp_path: Path, clock: FrozenClock) -> None:
    folder = tmp_path / "data"
    with Nagori.open(folder, clock=clock, embedder=None) as memory:
        memory.remember("First.")
        memory.runtime.store.backup(tmp_path / "old.db")  # type: ignore[attr-defined]
        memory.remember("Second.")
    for file in folder.glob("nagori.db*"):
        file.unlink()
    shutil.copy(tmp_path / "old.db", folder / "nagori.db")
    with Nagori.open(folder, clock=clock, embedder=None) as memory:
        assert len(memory.list()) == 2
        assert memory.verify().sound


def test_a_hook_that_records_into_a_lost_journal_says_so_to_nobody_but_loses_nothing(
    tmp_path: Path, clock: FrozenClock
) -> None:
    """The words of the hook are in the journal, whatever somebody does about the store later."""
    folder, kept = make(tmp_path, clock)
    regrow(folder, kept, clock)
    with Nagori.open(folder, clock=clock, embedder=None) as memory:
        with pytest.raises(NagoriError):
            memory.process()
        memory.rebuild(accept_damage=True)
        assert memory.process() == 8
