"""Backups by the nightly run, to a folder and to a bucket, and restore drills [T11]."""

import json
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests import seaweedfs

from nagori import Nagori, Scope
from nagori.adapters import s3
from nagori.adapters.s3 import BucketFiles, parse_bucket
from nagori.config import load
from nagori.edges.cli import main
from nagori.errors import InvalidInput, StoreError
from nagori.services import audit_log
from nagori.services.backup import WORK, FolderBackups, list_backups
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
    saved = list_backups(FolderBackups(tmp_path / "saved"))
    assert [(at - first) // timedelta(days=1) for at, _ in saved] == [4, 3, 2]
    assert all((tmp_path / "saved" / name).stat().st_mode & 0o777 == 0o600 for _, name in saved)


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


# --- a bucket -------------------------------------------------------------------------------------


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The address of an empty prefix in a real S3 server, with a place for a name."""
    server = seaweedfs.start_server()
    if isinstance(server, str):
        pytest.skip(server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", seaweedfs.KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", seaweedfs.SECRET)
    return f"s3://logs/{tmp_path.name}{{}}?endpoint={server.endpoint}"


@pytest.fixture
def remote(bucket: str, tmp_path: Path, clock: FrozenClock) -> Iterator[Nagori]:
    config = load(overrides={"backup.folder": bucket.format(""), "backup.keep": 3}).config
    with Nagori.open(tmp_path / "data", clock=clock, config=config, embedder=None, llm=None) as memory:
        memory.remember("The kettle is green.")
        yield memory


def test_t11_nightly_backups_go_to_a_bucket_and_some_are_kept(
    remote: Nagori, bucket: str, clock: FrozenClock, tmp_path: Path
) -> None:
    files, first = BucketFiles(parse_bucket(bucket.format(""))), clock.now()
    (tmp_path / "mine").write_text("mine")
    files.upload("", "nagori-of-mine.tar", tmp_path / "mine")
    for _ in range(5):
        remote.cycle_all()
        remote.cycle_all()  # twice in a night: one backup
        clock.forward(days=1)
    days = [f"nagori-{first + timedelta(days=n):%Y%m%dT%H%M%S}.tar" for n in (2, 3, 4)]
    assert files.names("") == sorted([*days, "nagori-of-mine.tar"])
    assert not list((tmp_path / "data").glob(f"{WORK}*"))
    assert [entry.act for entry in audit_log.read(tmp_path / "data")].count("backed_up") == 5


def test_t11_a_drill_of_the_newest_backup_in_a_bucket(
    remote: Nagori, bucket: str, clock: FrozenClock
) -> None:
    with pytest.raises(InvalidInput) as caught:
        remote.drill()
    assert caught.value.message_id == "error.no_backup"
    remote.cycle_all()
    report = remote.drill()
    assert report.matches
    assert (report.owners, report.memories, report.moved) == (1, 1, ())
    remote.remember("The spoon is bent.")
    assert remote.drill().moved == (("local", "me"),)
    clock.forward(days=1)
    remote.cycle_all()
    assert remote.drill().memories == 2


def test_t11_a_backup_comes_back_from_a_bucket(
    remote: Nagori, bucket: str, clock: FrozenClock, tmp_path: Path
) -> None:
    other = remote.with_scope(Scope(user="other"))
    other.remember("The cup is blue.")
    remote.backup(bucket.format("/monday.tar"))
    assert remote.drill(bucket.format("/monday.tar")).matches
    other.erase(other.plan_erasure(everything=True))
    assert remote.drill(bucket.format("/monday.tar")).memories == 1
    Nagori.restore(bucket.format("/monday.tar"), tmp_path / "copy", clock.now())
    with Nagori.open(tmp_path / "copy", clock=clock, embedder=None, llm=None) as copy:
        assert [each.text.content for each in copy.list()] == ["The kettle is green."]
        assert copy.verify().sound
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "data"]


def test_a_damaged_backup_in_a_bucket_is_refused(remote: Nagori, bucket: str, tmp_path: Path) -> None:
    remote.backup(bucket.format("/monday.tar"))
    files = BucketFiles(parse_bucket(bucket.format("")))
    [path] = files.fetch("", ["monday.tar"], tmp_path)
    path.write_bytes(path.read_bytes().replace(b"kettle", b"bottle"))
    files.upload("", "monday.tar", path)
    with pytest.raises(InvalidInput) as caught:
        remote.drill(bucket.format("/monday.tar"))
    assert caught.value.message_id == "error.backup_damaged"


def test_what_is_too_large_for_a_bucket_is_not_uploaded(
    remote: Nagori, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "LARGEST", 100)
    with pytest.raises(StoreError) as caught:
        remote.backup(bucket.format("/monday.tar"))
    assert caught.value.message_id == "error.bucket_file_too_large"


def test_a_bucket_that_is_away_costs_only_the_backup(
    tmp_path: Path, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    heard: list[str] = []
    config = load(overrides={"backup.folder": "s3://logs/a?endpoint=http://127.0.0.1:1"}).config
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
        assert memory.recall("kettle")
    assert "backup.failed" in heard


def test_the_commands_take_the_address_of_a_bucket(
    remote: Nagori, bucket: str, monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    monkeypatch.setenv("NAGORI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("NAGORI_BACKUP__FOLDER", bucket.format(""))

    def run(*words: str) -> tuple[int, dict[str, Any]]:
        monkeypatch.setattr(sys, "argv", ["nagori", *words, "--json"])
        with pytest.raises(SystemExit) as end:
            main()
        return int(end.value.code or 0), json.loads(capsys.readouterr().out)

    address = bucket.format("/monday.tar")
    code, told = run("backup", address)
    assert (code, told["path"]) == (0, address)
    assert run("backup", address, "--drill")[1]["passed"]
    assert run("backup", "--drill")[0] == 2
    remote.cycle_all()
    assert run("backup", "--drill")[1]["passed"]
    assert run("backup")[0] == 2
    assert run("restore", address, "--yes")[0] == 0
