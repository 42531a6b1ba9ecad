"""Backups of a database [T11]: its journals as files, compared by a drill, and put into another database."""

import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from tests.postgres import Server

from nagori import Nagori, Scope
from nagori.config import load
from nagori.edges.cli import main
from nagori.errors import Conflict, JournalError
from nagori.services.backup import FolderBackups, list_backups
from nagori.testing import FrozenClock, WordEmbedder

Opener = Callable[..., Nagori]


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def opened(postgres: Server, tmp_path: Path, clock: FrozenClock) -> Opener:
    def open_memory(store: str = "sqlite", **settings: object) -> Nagori:
        address = postgres.url(store=store, folder=str(tmp_path / f"node-{store}"))
        config = load(overrides=settings).config
        return Nagori.open(address, clock=clock, config=config, embedder=WordEmbedder(), llm=None)

    return open_memory


def fill(memory: Nagori, clock: FrozenClock) -> None:
    memory.remember("The kettle is green.")
    changed = memory.remember("The cup is blue.")
    memory.edit(changed.id, content="The cup is red.")
    memory.with_scope(Scope(tenant="acme", user="aki")).remember("湯呑みは白い。")
    memory.turn("The spoon is bent.", session="s").answer("It can be straightened.")
    memory.process()
    clock.forward(days=1)
    memory.cycle()


def exports(memory: Nagori) -> dict[tuple[str, str], list[str]]:
    owners = memory.runtime.journal.owners()
    return {each: list(memory.with_scope(Scope(tenant=each[0], user=each[1])).export()) for each in owners}


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_T11_a_database_is_saved_drilled_and_restored_elsewhere(
    opened: Opener, clock: FrozenClock, tmp_path: Path, postgres: Server, store: str
) -> None:
    with opened(store) as memory:
        fill(memory, clock)
        saved = memory.backup(tmp_path / "now.tar")
        assert (saved.path.stat().st_mode & 0o777, saved.damaged) == (0o600, 0)
        report = memory.drill(saved.path)
        assert (report.matches, report.owners, report.moved) == (True, 2, ())
        before = exports(memory)
        assert set(before) == {("local", "me"), ("acme", "aki")}
    Nagori.restore(saved.path, tmp_path / "files", clock.now())
    with Nagori.open(tmp_path / "files", clock=clock, embedder=WordEmbedder(), llm=None) as copy:
        assert exports(copy) == before
        assert copy.verify().sound
    address = postgres.url(store=store, schema="elsewhere", folder=str(tmp_path / "other"))
    try:
        for _ in range(2):  # again: nothing is added
            assert Nagori.restore(saved.path, address, clock.now()) is None
        with Nagori.open(address, clock=clock, embedder=WordEmbedder(), llm=None) as copy:
            assert exports(copy) == before
            assert copy.verify().sound
    finally:
        postgres.ask("DROP SCHEMA IF EXISTS elsewhere CASCADE")


def test_T11_nightly_backups_of_a_database_are_kept_and_deleted(
    opened: Opener, clock: FrozenClock, tmp_path: Path
) -> None:
    folder, first = tmp_path / "saved", clock.now()
    with opened(**{"backup.folder": str(folder), "backup.keep": 2}) as memory:
        memory.remember("The kettle is green.")
        for _ in range(3):
            memory.cycle_all()
            clock.forward(days=1)
        assert [(at - first) // timedelta(days=1) for at, _ in list_backups(FolderBackups(folder))] == [2, 1]
        assert memory.drill().matches


def test_a_database_with_newer_events_is_left_as_it_is(
    opened: Opener, clock: FrozenClock, tmp_path: Path, postgres: Server
) -> None:
    with opened() as memory:
        fill(memory, clock)
        memory.backup(tmp_path / "now.tar")
        memory.remember("The plate is new.")
        before = exports(memory)
        assert memory.drill(tmp_path / "now.tar").moved == (("local", "me"),)
    with pytest.raises(Conflict):
        Nagori.restore(tmp_path / "now.tar", postgres.url(folder=str(tmp_path / "node-sqlite")), clock.now())
    with opened() as memory:
        assert exports(memory) == before


def test_who_was_erased_in_the_database_is_not_restored(
    opened: Opener, clock: FrozenClock, tmp_path: Path, postgres: Server
) -> None:
    with opened() as memory:
        fill(memory, clock)
        memory.backup(tmp_path / "now.tar")
        aki = memory.with_scope(Scope(tenant="acme", user="aki"))
        aki.erase(aki.plan_erasure(everything=True))
        report = memory.drill(tmp_path / "now.tar")
        assert (report.matches, report.owners) == (True, 1)
    Nagori.restore(tmp_path / "now.tar", postgres.url(folder=str(tmp_path / "node-sqlite")), clock.now())
    with opened() as memory:
        assert memory.runtime.journal.owners() == [("local", "me")]


def test_a_journal_with_an_unreadable_event_is_not_saved_as_if_it_were_whole(
    opened: Opener, clock: FrozenClock, tmp_path: Path, postgres: Server
) -> None:
    with opened() as memory:
        fill(memory, clock)
        postgres.ask("UPDATE journal SET line = '{}' WHERE seq = 2")
        with pytest.raises(JournalError) as caught:
            memory.backup(tmp_path / "now.tar")
        assert caught.value.message_id == "error.journal_gap"
    assert not (tmp_path / "now.tar").exists()


def test_the_command_restores_into_the_configured_database(
    opened: Opener, clock: FrozenClock, tmp_path: Path, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened() as memory:
        fill(memory, clock)
        memory.backup(tmp_path / "now.tar")
    postgres.clear()
    address = postgres.url(folder=str(tmp_path / "another-node"))
    monkeypatch.setenv("NAGORI_DATABASE", address)
    monkeypatch.setattr(sys, "argv", ["nagori", "restore", str(tmp_path / "now.tar"), "--yes"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    with Nagori.open(address, clock=clock, embedder=WordEmbedder(), llm=None) as memory:
        assert [each.memory.text.content for each in memory.recall("kettle")] == ["The kettle is green."]
