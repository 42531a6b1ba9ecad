"""A17, A19: a backup follows no link and removes what killed ones left. A restore takes nothing but memories,
syncs them before the former ones make room, and after a kill anywhere either these or those are there."""

import hashlib
import io
import json
import os
import shutil
import tarfile
from pathlib import Path
from random import Random

import pytest
from tests.erased_bytes import draw_word, files_with

from nagori import Nagori, Scope
from nagori.errors import InvalidInput, StoreError
from nagori.testing import FrozenClock, WordEmbedder

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is forked and ends at once")
FOREIGN = ("bin/nagori-hook.py", "bin/nagori-hook", "hosts/00c0ffee.json", "receipt.key", "audit.jsonl", "x")


def opened(folder: Path, user: str = "me") -> Nagori:
    return Nagori.open(folder, scope=Scope(user=user), embedder=WordEmbedder(), llm=None)


def texts(folder: Path) -> list[str]:
    with opened(folder) as memory:
        assert memory.verify().sound
        return sorted(each.text.content for each in memory.list(limit=100))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A backup with one memory; the folder has a second one by now."""
    with opened(tmp_path / "data") as memory:
        memory.remember("The kettle is blue.")
        memory.backup(tmp_path / "saved.tar")
        memory.remember("The ferry leaves at nine.")
    return tmp_path / "saved.tar"


def test_a_restore_that_cannot_exchange_the_folders_leaves_everything_as_it_was(
    saved: Path, tmp_path: Path, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename, folder = Path.rename, tmp_path / "data"

    def refuse(path: Path, target: Path) -> Path:
        if target == folder and path.name.endswith("ready"):
            raise OSError(16, "Device or resource busy")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(StoreError, match="busy"):
        Nagori.restore(saved, folder, clock.now())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "saved.tar"]
    assert len(texts(folder)) == 2


def test_a_mount_point_is_refused_with_advice(saved: Path, clock: FrozenClock) -> None:
    with pytest.raises(InvalidInput, match="mount point"):
        Nagori.restore(saved, Path("/"), clock.now())


def add_file(saved: Path, name: str, content: bytes) -> Path:
    """The backup with one more file, as its list says."""
    crafted = saved.with_name("crafted.tar")
    with tarfile.open(saved) as source, tarfile.open(crafted, "w") as target:
        for member in source.getmembers():
            stream = source.extractfile(member)
            assert stream is not None
            body = stream.read()
            if member.name == "manifest.json":
                listing = json.loads(body)
                facts = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
                listing["files"][name] = facts
                body = json.dumps(listing).encode()
            member.size = len(body)
            target.addfile(member, io.BytesIO(body))
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(content), 0o755
        target.addfile(info, io.BytesIO(content))
    return crafted


@pytest.mark.parametrize("name", FOREIGN)
def test_a_backup_with_a_file_that_is_no_memory_is_refused(
    saved: Path, tmp_path: Path, clock: FrozenClock, name: str
) -> None:
    crafted = add_file(saved, name, b"print('somebody else')")
    for place in (tmp_path / "data", tmp_path / "new"):
        with pytest.raises(InvalidInput, match="unexpected files"):
            Nagori.restore(crafted, place, clock.now())
    assert not (tmp_path / "new").exists()
    assert len(texts(tmp_path / "data")) == 2


def test_everything_is_synced_before_the_former_data_make_room(
    saved: Path, tmp_path: Path, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, real, rename = set[int](), os.fsync, Path.rename

    def sync(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        real(descriptor)

    def check(path: Path, target: Path) -> Path:
        if path == tmp_path / "data":
            [ready] = tmp_path.glob("data.before-restore-ready")
            every = {each.stat().st_ino for each in ready.rglob("*")}
            assert len(every) >= 5
            assert every <= synced
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "rename", check)
    Nagori.restore(saved, tmp_path / "data", clock.now())
    assert texts(tmp_path / "data") == ["The kettle is blue."]


def restore_until_killed(saved: Path, folder: Path, clock: FrozenClock, at: int) -> bool:
    """Restore in a process that ends with its n-th renaming; whether it was killed there."""
    child = os.fork()
    if child == 0:
        rename, calls = Path.rename, 0

        def end(path: Path, target: Path) -> Path:
            nonlocal calls
            calls += 1
            if calls == at:
                os._exit(9)
            return rename(path, target)

        Path.rename = end  # type: ignore[assignment,method-assign]
        try:
            Nagori.restore(saved, folder, clock.now())
        except BaseException:
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


@needs_fork
def test_a_restore_that_is_killed_leaves_the_former_data_or_the_new(
    saved: Path, tmp_path: Path, clock: FrozenClock
) -> None:
    former, restored = texts(tmp_path / "data"), ["The kettle is blue."]
    found = []
    for at in range(1, 10):
        folder = tmp_path / f"at{at}" / "data"
        shutil.copytree(tmp_path / "data", folder)
        died = restore_until_killed(saved, folder, clock, at)
        found.append(texts(folder))
        assert found[-1] in (former, restored)
        clock.forward(seconds=1)
        Nagori.restore(saved, folder, clock.now())  # again, beside what the first has left
        assert texts(folder) == restored
        if not died:
            break
    assert found == [former, former, restored, restored]


@needs_fork
def test_an_erasure_reaches_what_a_killed_restore_has_left(tmp_path: Path, clock: FrozenClock) -> None:
    folder, saved, word = tmp_path / "place" / "data", tmp_path / "saved.tar", draw_word(Random(8))
    with opened(folder, "gone") as memory:
        memory.remember(f"The locker stands beside {word}.")
        memory.backup(saved)
    with opened(folder, "other") as memory:
        memory.remember("The kettle is blue.")
    for at in (1, 2):
        assert restore_until_killed(saved, folder, clock, at)
    assert len(files_with(folder.parent, [word])) >= 6
    with opened(folder, "gone") as memory:
        assert memory.erase(memory.plan_erasure(everything=True)).clean
    assert files_with(folder.parent, [word]) == {}


def test_a_backup_does_not_write_through_a_link(tmp_path: Path) -> None:
    victim, saved = tmp_path / "victim", tmp_path / "saved.tar"
    victim.write_text("precious")
    (tmp_path / "saved.tar.part").symlink_to(victim)
    with opened(tmp_path / "data") as memory:
        memory.remember("The kettle is blue.")
        memory.backup(saved)
    assert victim.read_text() == "precious"
    assert not saved.is_symlink()
    assert saved.stat().st_mode & 0o777 == 0o600


def test_the_next_backup_removes_what_a_killed_one_left_and_nothing_of_one_that_runs(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    killed, running = folder / "backup-99999999-abc", folder / f"backup-{os.getppid()}-abc"
    with opened(folder) as memory:
        memory.remember("The kettle is blue.")
        for work in (killed, running):
            work.mkdir()
            (work / "nagori.db").write_bytes(b"a copy")
        memory.backup(tmp_path / "saved.tar")
    assert not killed.exists()
    assert (running / "nagori.db").exists()
