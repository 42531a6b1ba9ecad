"""Backups by the nightly run, and restore drills [T11]."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from nagori import Nagori, Scope
from nagori.config import load
from nagori.services.backup import list_backups
from nagori.testing import FrozenClock


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Nagori]:
    config = load(overrides={"backup.folder": str(tmp_path / "saved"), "backup.keep": 3}).config
    with Nagori.open(tmp_path / "data", clock=clock, config=config, embedder=None, llm=None) as memory:
        memory.remember("The kettle is green.")
        yield memory


def test_t11_the_nightly_run_writes_backups_and_keeps_some(
    memory: Nagori, clock: FrozenClock, tmp_path: Path
) -> None:
    first = clock.now()
    for _ in range(5):
        memory.cycle_all()
        memory.cycle_all()  # twice in a night: one backup
        clock.forward(days=1)
    saved = list_backups(tmp_path / "saved")
    assert [(at - first) // timedelta(days=1) for at, _ in saved] == [4, 3, 2]
    assert all(path.stat().st_mode & 0o777 == 0o600 for _, path in saved)


def test_files_of_others_are_left_alone(memory: Nagori, clock: FrozenClock, tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "nagori-of-mine.tar").write_text("mine")
    for _ in range(5):
        memory.cycle_all()
        clock.forward(days=1)
    assert (tmp_path / "saved" / "nagori-of-mine.tar").read_text() == "mine"


def test_a_folder_that_cannot_be_written_costs_only_the_backup(tmp_path: Path, clock: FrozenClock) -> None:
    (tmp_path / "saved").write_text("no folder")
    heard: list[str] = []
    config = load(overrides={"backup.folder": str(tmp_path / "saved")}).config
    with Nagori.open(
        tmp_path / "data",
        clock=clock,
        config=config,
        embedder=None,
        llm=None,
        observe=lambda name, **_: heard.append(name),
    ) as memory:
        memory.remember("The kettle is green.")
        assert memory.cycle_all()
    assert "backup.failed" in heard


def test_t11_a_drill_restores_elsewhere_and_compares_exports(memory: Nagori, tmp_path: Path) -> None:
    memory.with_scope(Scope(user="other")).remember("The cup is blue.")
    memory.items.put(("notes",), "a", {"text": "hello"})
    memory.backup(tmp_path / "now.tar")
    before = sorted(path.name for path in (tmp_path / "data").iterdir())
    report = memory.drill(tmp_path / "now.tar")
    assert report.matches
    assert (report.owners, report.memories, report.moved) == (2, 2, ())
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == before
    memory.remember("The spoon is bent.")
    assert memory.drill(tmp_path / "now.tar").moved == (("local", "me"),)


def test_a_drill_does_not_bring_back_what_was_erased(memory: Nagori, tmp_path: Path) -> None:
    other = memory.with_scope(Scope(user="other"))
    other.remember("The cup is blue.")
    memory.backup(tmp_path / "now.tar")
    other.erase(other.plan_erasure(everything=True))
    report = memory.drill(tmp_path / "now.tar")
    assert report.matches
    assert report.memories == 1


def test_t11_a_drill_notices_a_difference(
    memory: Nagori, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nagori.services import transfer

    memory.backup(tmp_path / "now.tar")
    real, calls = transfer.to_jsonl, list[int]()

    def changed(*arguments: object) -> Iterator[str]:
        calls.append(1)
        yield from real(*arguments)  # type: ignore[arg-type]
        if len(calls) == 1:
            yield "another line"

    monkeypatch.setattr(transfer, "to_jsonl", changed)
    assert memory.drill(tmp_path / "now.tar").differing == (("local", "me"),)
