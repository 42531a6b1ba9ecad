"""A new version migrates the tables while nodes of the old one go on: nothing fails, nothing is lost."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from tests.nodes.test_nodes import digests
from tests.postgres import Server

import nagori.journals
from nagori import Nagori
from nagori import postgres as database
from nagori.errors import SchemaTooNew
from nagori.journals import postgres as journal

ADDED = """-- Programs from step 1 on work with this.
ALTER TABLE work ADD COLUMN note text;
CREATE TABLE host (name text PRIMARY KEY);
"""
BREAKING = "ALTER TABLE work RENAME COLUMN due TO due_at; ALTER TABLE work RENAME COLUMN due_at TO due;"


class Programs:
    """The old program, and newer ones with more migrations."""

    def __init__(self, folder: Path, url: str, patch: pytest.MonkeyPatch) -> None:
        self._folder, self._url, self._patch = folder, url, patch
        shutil.copytree(Path(nagori.journals.__file__).parent / "migrations", folder / "migrations")
        (folder / "migrations" / "0002_added.sql").write_text(ADDED, encoding="utf-8")
        (folder / "migrations" / "0003_breaking.sql").write_text(BREAKING, encoding="utf-8")
        patch.setattr(database, "files", lambda _: folder)
        self._opened = 0

    def open(self, *more: str) -> Nagori:
        self._opened += 1
        self._patch.setattr(journal, "STEPS", ("0001_journal.sql", *more))
        return Nagori.open(f"{self._url}&folder={self._folder}/node-{self._opened}", embedder=None)


@pytest.fixture
def programs(postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Programs]:
    postgres.ask("DROP SCHEMA IF EXISTS upgraded CASCADE")
    yield Programs(tmp_path, postgres.url(schema="upgraded"), monkeypatch)
    postgres.ask("DROP SCHEMA IF EXISTS upgraded CASCADE")


def test_old_and_new_nodes_work_beside_each_other(programs: Programs) -> None:
    with programs.open() as old, ThreadPoolExecutor(1) as pool:
        stop, started = Event(), Event()

        def write() -> int:
            number = 0
            while not stop.is_set():
                old.remember(f"The old node wrote line {number}.")
                started.set()
                number += 1
            return number

        writing = pool.submit(write)
        try:
            assert started.wait(60) or writing.result()
            with programs.open("0002_added.sql") as new:
                new.remember("The new node writes, too.")
                with programs.open() as restarted:  # an old one that was restarted after the migration
                    restarted.remember("The old program starts again.")
                    stop.set()
                    count = writing.result()
                    assert len(digests(new)) == count + 2
                    assert digests(new) == digests(old) == digests(restarted)
        finally:
            stop.set()


def test_an_old_program_does_not_start_on_tables_that_it_would_misread(programs: Programs) -> None:
    with programs.open() as old:
        old.remember("Before.")
        with programs.open("0002_added.sql", "0003_breaking.sql") as new:
            new.remember("After.")
            with pytest.raises(SchemaTooNew):
                programs.open()
            with pytest.raises(SchemaTooNew):
                programs.open("0002_added.sql")


def test_nodes_that_open_an_empty_database_at_the_same_moment_take_turns(programs: Programs) -> None:
    with ThreadPoolExecutor(6) as pool:
        opened = [*pool.map(lambda _: programs.open("0002_added.sql"), range(6))]
    try:
        opened[0].remember("The kettle is green.")
        assert all(len(each.list()) == 1 for each in opened)
    finally:
        for each in opened:
            each.close()


def test_tables_from_before_versions_had_a_bound_are_opened(programs: Programs, postgres: Server) -> None:
    programs.open().close()
    postgres.ask("ALTER TABLE upgraded.nagori_schema DROP COLUMN oldest")
    with programs.open("0002_added.sql") as new:
        assert new.remember("The kettle is green.")
