"""Back up and restore the data folder while others write [E23].

A backup is one tar file: the journal up to a moment, a consistent copy of the store, and a list of checksums.
The journal only grows, so its first N bytes are a snapshot. The store is copied first, so it is never ahead
of the journal. The tombstones of erased owners are saved with the journal. Of an encrypted folder neither
the keys nor the store are saved: what was erased since cannot be read from its backups. Of a database the
journal is saved, as files.

A restore checks every checksum and every journal line first. It moves the former data aside and deletes
nothing. What was erased since the backup does not come back: the tombstones and erasures of the former data
are applied to the restored data before it is put in place.
"""

from __future__ import annotations

import glob
import io
import json
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from hashlib import file_digest
from pathlib import Path

from nagori.core.events import checksum_of
from nagori.core.model import Scope
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, replace
from nagori.errors import InvalidInput, StoreDamaged, StoreError
from nagori.files import ENCRYPTION_NOTE, open_private, private_dir, sync_folder
from nagori.journals import erased_owners
from nagori.journals.file import OWNER_KEYS, FileJournal
from nagori.leases import is_running
from nagori.protocols import BackupBucket, Journal
from nagori.runtime import Progress, Runtime, no_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
STORE = "nagori.db"
WORK = "backup-"  # folders of backups that are being written, with the number of the process
ASIDE = ".before-restore-"  # folders beside the data folder in which an erasure looks, too
UNPACKED, READY = f"{ASIDE}new-", f"{ASIDE}ready"  # a restore that has not exchanged the folders yet
KEPT = ("audit.jsonl", "receipt.key", ENCRYPTION_NOTE)  # files that a restore takes over from the former data

Opener = Callable[[Path], AbstractContextManager[Runtime]]


class BackupReport(Value):
    """A finished backup. `damaged`: unreadable journal lines, saved as they are. `store`: whether the store
    is included; otherwise it is rebuilt from the journal."""

    path: Path
    files: int
    bytes: int
    events: int
    damaged: int = 0
    store: bool = True


def backup(runtime: Runtime, path: Path, progress: Progress = no_progress) -> BackupReport:
    """Write everything to one file, then read it back and check it."""
    if path.exists():
        raise InvalidInput("path", "error.file_exists", path=path)
    prefix = f"{WORK}{os.getpid()}-"
    remove_abandoned_copies(runtime.data_dir)
    with _trouble(path), tempfile.TemporaryDirectory(dir=runtime.data_dir, prefix=prefix) as work:
        copy, journal = Path(work) / STORE, runtime.journal
        saved = isinstance(journal, FileJournal) and not (runtime.data_dir / ENCRYPTION_NOTE).exists()
        saved = saved and _copy_store(runtime, copy)
        members = [(STORE, copy, copy.stat().st_size)] if saved else []
        if not isinstance(journal, FileJournal):
            journal = _copy_database(journal, Path(work))
        members += _journal_prefix(journal)
        unfinished = path.with_name(path.name + ".part")
        _write(unfinished, members, progress)
        with _unpack(unfinished) as (folder, _):
            events, damaged = _read_through(folder, runtime.data_dir)
        unfinished.replace(path)
        sync_folder(path.parent)
    return BackupReport(path, len(members), path.stat().st_size, events, damaged, saved)


def remove_abandoned_copies(data_dir: Path) -> int:
    """Remove what killed backups left in a data folder, full copies in plain text; returns their number."""
    removed = 0
    for path in data_dir.glob(f"{WORK}*"):
        number = path.name.removeprefix(WORK).partition("-")[0]
        if not number.isdecimal() or not is_running(int(number)):
            shutil.rmtree(path, ignore_errors=True)
            removed += 1
    return removed


def _copy_database(journal: Journal, work: Path) -> FileJournal:
    """The journals of a database as files. Each owner's is a snapshot: it only grows."""
    from nagori.services.copy_journal_to_other_backend import copy_journals

    files = FileJournal(private_dir(work / "journal"))
    copy_journals(journal, files, journal.owners())
    return files


def _copy_store(runtime: Runtime, copy: Path) -> bool:
    """Copy the store; a damaged one is left out, because it can be rebuilt from the journal."""
    try:
        runtime.store.backup(copy)  # type: ignore[attr-defined]
    except StoreDamaged as trouble:
        runtime.observe("backup.without_store", reason=trouble.notice)
        return False
    return True


def restore(path: Path, data_dir: Path, stamp: str, opened: Opener) -> Path | None:
    """Install a backup; returns the folder with the former data, if there was any. `opened` opens a data
    folder. After a kill either the former data or those of the backup are there (see `finish_restore`)."""
    if os.path.ismount(data_dir):
        raise InvalidInput("data_dir", "error.restore_mounted", path=data_dir)
    prefix = f"{data_dir.name}{UNPACKED}"
    with _trouble(path), _unpack(path, near=data_dir.parent, prefix=prefix) as (folder, _):
        occupied = data_dir.exists() and any(data_dir.iterdir())
        if occupied:
            _take_over(data_dir, folder)
        _read_through(folder, folder)
        _apply_erasures(folder, data_dir, opened)
        _sync(folder)
        ready, aside = data_dir.with_name(f"{data_dir.name}{READY}"), None
        shutil.rmtree(ready, ignore_errors=True)  # of a restore that was killed before it took effect
        folder.rename(ready)
        sync_folder(data_dir.parent)
        try:
            if occupied:
                aside = data_dir.with_name(f"{data_dir.name}{ASIDE}{stamp}")
                data_dir.rename(aside)
            elif data_dir.exists():
                data_dir.rmdir()
            ready.rename(data_dir)
        except OSError:  # the former data stay
            if aside is not None and aside.exists() and not data_dir.exists():
                aside.rename(data_dir)
            shutil.rmtree(ready, ignore_errors=True)
            raise
        sync_folder(data_dir.parent)
    return aside


def finish_restore(data_dir: Path) -> None:
    """Where a restore was killed after the former data were put aside, install what was ready."""
    ready = data_dir.with_name(f"{data_dir.name}{READY}")
    if ready.is_dir() and not data_dir.exists():
        ready.rename(data_dir)
        sync_folder(data_dir.parent)


def _sync(folder: Path) -> None:
    """Bring everything to the disk before the former data make room for it."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        elif path.is_dir():
            sync_folder(path)
    sync_folder(folder)


def restore_database(runtime: Runtime, path: Path) -> int:
    """Put a backup's journals into an open database; returns the number of events. Conflict, before anything
    is written, where an owner has other or newer events there. Who was erased there stays erased."""
    from nagori.services.copy_journal_to_other_backend import check_room, copy_journals

    if isinstance(runtime.journal, FileJournal):
        raise InvalidInput("data_dir", "error.not_database")
    with _trouble(path), _unpack(path, near=runtime.data_dir) as (folder, _):
        journal = FileJournal(folder / "journal")
        owners = [owner for owner in journal.owners() if not runtime.journal.is_erased(owner)]
        check_room(journal, runtime.journal, owners)
        return copy_journals(journal, runtime.journal, owners)


# --- kept backups ---------------------------------------------------------------------------------

NAMED = re.compile(r"nagori-(\d{8}T\d{6})\.tar")


class FolderBackups:
    """Backups in a folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        return [path.name for path in self.folder.glob("nagori-*.tar")] if self.folder.is_dir() else []

    def write(self, runtime: Runtime, name: str) -> BackupReport:
        return backup(runtime, private_dir(self.folder) / name)

    @contextmanager
    def open(self, runtime: Runtime, name: str) -> Iterator[Path]:
        yield self.folder / name

    def delete(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)


class BucketBackups:
    """Backups in a bucket. Each is written and checked in the data folder, where an erasure finds what a kill
    leaves."""

    def __init__(self, bucket: BackupBucket) -> None:
        self.bucket = bucket

    def names(self) -> list[str]:
        return self.bucket.names("")

    def write(self, runtime: Runtime, name: str) -> BackupReport:
        with work_folder(runtime.data_dir) as work:
            report = backup(runtime, work / name)
            self.bucket.upload("", name, report.path)
        return report

    @contextmanager
    def open(self, runtime: Runtime, name: str) -> Iterator[Path]:
        with work_folder(runtime.data_dir) as work:
            yield self.bucket.fetch("", [name], work)[0]

    def delete(self, name: str) -> None:
        self.bucket.delete("", name)


@contextmanager
def work_folder(data_dir: Path) -> Iterator[Path]:
    """A folder of this process inside the data folder, for a backup on its way."""
    with tempfile.TemporaryDirectory(dir=private_dir(data_dir), prefix=f"{WORK}{os.getpid()}-") as work:
        yield Path(work)


def configured_backups(runtime: Runtime) -> FolderBackups | BucketBackups | None:
    """Where the nightly run puts its backups, if anywhere."""
    if bucket := runtime.open_bucket():
        return BucketBackups(bucket)
    folder = runtime.config.backup.folder
    return FolderBackups(Path(folder).expanduser()) if folder else None


def list_backups(place: FolderBackups | BucketBackups) -> list[tuple[datetime, str]]:
    """The backups that `backup_if_due` wrote, newest first."""
    named = [(match[1], name) for name in place.names() if (match := NAMED.fullmatch(name))]
    found = [(datetime.strptime(f"{at}+0000", "%Y%m%dT%H%M%S%z"), name) for at, name in named]
    return sorted(found, reverse=True)


def backup_if_due(runtime: Runtime) -> BackupReport | None:
    """Write a backup into the configured folder or bucket if the last one there is old enough, and delete
    those beyond the number to keep. None if nothing was due."""
    rules, now, place = runtime.config.backup, runtime.clock.now(), configured_backups(runtime)
    if place is None:
        return None
    known = list_backups(place)
    # An hour of tolerance: a nightly run does not start at the same second.
    if known and now - known[0][0] < timedelta(days=rules.every_days) - timedelta(hours=1):
        return None
    report = place.write(runtime, f"nagori-{now:%Y%m%dT%H%M%S}.tar")
    for _, name in list_backups(place)[rules.keep :]:
        place.delete(name)
    return report


def drill_newest(runtime: Runtime, opened: Opener) -> DrillReport:
    """Drill the newest backup of the nightly run."""
    place = configured_backups(runtime)
    known = list_backups(place) if place else []
    if place is None or not known:
        raise InvalidInput("path", "error.no_backup")
    with place.open(runtime, known[0][1]) as path:
        return replace(drill(runtime, path, opened), path=Path(known[0][1]))


class DrillReport(Value):
    """A restore drill: what came back, and which owners' exports differ from the present ones. `moved` are
    owners with newer events than the backup, which were not compared."""

    path: Path
    owners: int
    memories: int
    differing: tuple[Owner, ...] = ()
    moved: tuple[Owner, ...] = ()

    @property
    def matches(self) -> bool:
        return not self.differing


def drill(runtime: Runtime, path: Path, opened: Opener) -> DrillReport:
    """Restore a backup into a temporary folder, rebuild its store from the journal alone, and compare its
    exports with those of the present data. What was erased since is erased there, too."""
    from nagori.services import transfer, verify_and_rebuild

    with _trouble(path), _unpack(path, near=runtime.data_dir) as (folder, _):
        _take_over(runtime.data_dir, folder)
        _read_through(folder, folder)
        _apply_erasures(folder, runtime.data_dir, opened)
        differing, moved, memories = list[Owner](), list[Owner](), 0
        with opened(folder) as other:
            verify_and_rebuild.rebuild(other)
            owners = [each for each in other.journal.owners() if not runtime.journal.is_erased(each)]
            for owner in owners:
                scope = Scope(tenant=owner[0], user=owner[1])
                restored = list(transfer.to_jsonl(other, scope))
                memories += other.store.count(scope).total
                same = _compare_export(runtime, scope, restored, other.journal.last_seq(owner))
                if same is None:
                    moved.append(owner)
                elif not same:
                    differing.append(owner)
    return DrillReport(path, len(owners), memories, tuple(differing), tuple(moved))


def _compare_export(runtime: Runtime, scope: Scope, restored: list[str], seq: int) -> bool | None:
    """Whether the present export is the same; None if the present journal has gone on."""
    from nagori.services import transfer

    runtime.ledger.catch_up(scope.owner)
    if runtime.journal.last_seq(scope.owner) != seq:
        return None
    present = list(transfer.to_jsonl(runtime, scope))
    return present == restored if runtime.journal.last_seq(scope.owner) == seq else None


def folders_aside(data_dir: Path) -> list[Path]:
    """Folders with former data that restores put aside."""
    return sorted(
        path for path in data_dir.parent.glob(f"{glob.escape(data_dir.name)}{ASIDE}*") if path.is_dir()
    )


def _take_over(former: Path, folder: Path) -> None:
    """Files that no backup replaces: the audit log, its key, keys, erased_owners."""
    for name in KEPT:
        if (former / name).is_file():
            shutil.copyfile(former / name, folder / name)
            (folder / name).chmod(0o600)
    for key in former.glob(f"journal/*/*/{OWNER_KEYS}"):
        place = folder / key.relative_to(former)
        if place.parent.is_dir():
            shutil.copyfile(key, place)
            place.chmod(0o600)
    root = folder / "journal"
    for stone in erased_owners.all_tombstones(former / "journal"):
        place = root / stone.path.relative_to(former / "journal")
        known = [each for each in erased_owners.all_tombstones(root) if each.path == place]
        journals = (*stone.journals, *(j for each in known for j in each.journals if j not in stone.journals))
        erased_owners.write_tombstone(replace(stone, path=place, journals=journals))


def _apply_erasures(folder: Path, former: Path, opened: Opener) -> None:
    """Remove from unpacked data what was erased since it was saved."""
    journal = FileJournal(folder / "journal")
    _remove_unnamed(folder, journal)
    owners = _erased_owners(journal)
    parts = [(owner, data) for owner in journal.owners() for data in _later_erasures(former, journal, owner)]
    if not owners and not parts and not journal.unfinished_erasures():
        return
    from nagori.services import erase
    from nagori.services.erase_owner import erase_owner

    with opened(folder) as runtime:
        for owner, reopened in owners:
            erase_owner(runtime, owner)
            if reopened:
                runtime.journal.reopen(owner)
        for owner, data in parts:
            if owner not in dict(owners):
                erase.repeat_erasure(runtime, owner, data)
        erase.resume_owners(runtime)


def _remove_unnamed(folder: Path, journal: FileJournal) -> None:
    """Remove erased journals whose file with the owner's name is damaged. Rows without a known name cannot be
    found, so the store goes, too: it is rebuilt from the journals."""
    for place in journal.unreadable_folders():
        if erased_owners.find_tombstones(journal.root, place.relative_to(journal.root).as_posix()):
            shutil.rmtree(place)
            (folder / STORE).unlink(missing_ok=True)


def _erased_owners(journal: FileJournal) -> list[tuple[Owner, bool]]:
    """Owners with a journal that was erased, and whether a new one may be started."""
    found = []
    for owner, identity in journal.identities():
        stones = journal.tombstones(owner)
        if any(not stone.reopened or stone.covers(identity) for stone in stones):
            found.append((owner, all(stone.reopened for stone in stones)))
    return found


def _later_erasures(former: Path, journal: FileJournal, owner: Owner) -> list[dict[str, Any]]:
    """What was erased of an owner after the backup, as the former journal says. A turn counts only if both
    journals have the same event at its number: they may have parted."""
    known = FileJournal(former / "journal")
    if known.identity(owner) != journal.identity(owner):
        return []
    last = journal.last_seq(owner)

    def is_same(seq: int) -> bool:
        mine, theirs = journal.event(owner, seq), known.event(owner, seq)
        return mine is not None and theirs is not None and checksum_of(mine) == checksum_of(theirs)

    erasures = [event.data for event in known.read(owner) if event.type == "erased" and event.seq > last]
    return [{**data, "turns": [seq for seq in data.get("turns", ()) if is_same(seq)]} for data in erasures]


def _journal_prefix(journal: FileJournal) -> Iterator[tuple[str, Path, int]]:
    """The files of every journal up to their present ends, including journals without a known owner."""
    files = [file for owner in journal.owners() for file in journal.files(owner)]
    for folder in journal.unreadable_folders():
        files += [(file, file.stat().st_size) for file in sorted(folder.glob("*.json*"))]
    files += [(stone.path, stone.path.stat().st_size) for stone in erased_owners.all_tombstones(journal.root)]
    for file, size in files:
        yield f"journal/{file.relative_to(journal.root).as_posix()}", file, size


def _write(path: Path, members: list[tuple[str, Path, int]], progress: Progress) -> None:
    listing: dict[str, dict[str, object]] = {}
    total, done = sum(size for _, _, size in members), 0
    path.unlink(missing_ok=True)  # of a killed backup; or somebody's link, which must not be followed
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w") as tar:
        for name, source, size in members:
            with source.open("rb") as stream:
                content = stream.read(size) if size < 1 << 20 else None
                body = io.BytesIO(content) if content is not None else stream
                info = tarfile.TarInfo(name)
                info.size, info.mode = size, 0o600
                tar.addfile(info, body)
            listing[name] = {"bytes": size, "sha256": _digest(source, size)}
            done += size
            progress(done, total)
        manifest = json.dumps({"format": FORMAT, "files": listing}, sort_keys=True).encode()
        info = tarfile.TarInfo("manifest.json")
        info.size, info.mode = len(manifest), 0o600
        tar.addfile(info, io.BytesIO(manifest))
        file.flush()
        os.fsync(file.fileno())


def _digest(path: Path, size: int) -> str:
    from hashlib import sha256

    digest, left = sha256(), size
    with path.open("rb") as stream:
        while left and (block := stream.read(min(left, 1 << 20))):
            digest.update(block)
            left -= len(block)
    return digest.hexdigest()


@contextmanager
def _unpack(
    path: Path, near: Path | None = None, prefix: str = ".nagori-"
) -> Iterator[tuple[Path, dict[str, object]]]:
    """Unpack beside the final place and check every file against the list."""
    if near is not None:
        private_dir(near)
    with tempfile.TemporaryDirectory(dir=near or path.parent, prefix=prefix) as work:
        folder = Path(work)
        try:
            with tarfile.open(path, "r:") as tar:
                tar.extractall(folder, filter="data")
            manifest = json.loads((folder / "manifest.json").read_bytes())
            files = manifest["files"]
        except (tarfile.TarError, ValueError, KeyError, FileNotFoundError) as fault:
            raise InvalidInput("path", "error.not_backup", path=path, reason=fault) from None
        _compare(path, folder, files)
        (folder / "manifest.json").unlink()
        yield folder, files


def _compare(path: Path, folder: Path, files: dict[str, dict[str, object]]) -> None:
    present = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    # Nothing else may be put into a data folder: hosts run what is in `bin`.
    known = all(name == STORE or name.startswith("journal/") for name in files)
    if present != {*files, "manifest.json"} or not known:
        raise InvalidInput("path", "error.backup_incomplete", path=path)
    for name, facts in files.items():
        with (folder / name).open("rb") as stream:
            if file_digest(stream, "sha256").hexdigest() != facts["sha256"]:
                raise InvalidInput("path", "error.backup_damaged", path=path, name=name)
        (folder / name).chmod(0o600)
    for sub in folder.rglob("*"):
        if sub.is_dir():
            sub.chmod(0o700)


def _read_through(folder: Path, keys: Path) -> tuple[int, int]:
    """The number of events of all journals, and of unreadable lines. Damage is reported and does not prevent
    saving or restoring the rest. `keys`: the data folder whose keys open encrypted lines."""
    journal, events, damaged = FileJournal(folder / "journal", keys=keys), 0, 0
    for owner in journal.owners():
        verdict = journal.verify(owner)
        events += verdict.events
        damaged += len(verdict.damage)
    return events, damaged


@contextmanager
def _trouble(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise StoreError("error.file", path=fault.filename or path, reason=fault.strerror or fault) from fault
