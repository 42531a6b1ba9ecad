"""The file journal: append-only JSONL segments, the source of truth.

    <root>/<tenant>/<user>/00000001.jsonl   segments, in order; a new one when the last is large
                           lock             held while somebody appends
                           space.json       the owner, and the journal's identity
                           key              the owner's keys, if this folder is encrypted (see `encryption`)
                           torn-….bytes     unfinished lines after a crash, kept aside
    <root>/requests/…                       owners with turns to process
    <root>/=erased/…                        erased owners, without their names (see `erased_owners`)

One append is one line `{…,"seq":N,"sum":"xxxxxxxx"}`, with one event or several, so it is complete or absent.
`seq` is the number of the (last) event, so a missing line is detected, and any event is found by binary
search; no offset leaves this file. `sum` is the CRC-32 of everything before it, so a damaged line is
detected. An append is one `write` and one `fsync`, and it is acknowledged after both. A crash can only leave
the last line unfinished. It was never acknowledged, so the next writer moves it aside.
"""

from __future__ import annotations

import errno
import json
import os
import re
import time
from _thread import get_ident  # `threading` would cost a hook a millisecond
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from zlib import crc32

from nagori.core.events import RENAMED_TYPES, SKIPPABLE, Event
from nagori.core.model import utc
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, default_factory, replace
from nagori.errors import (
    Conflict,
    EncryptionError,
    InvalidInput,
    JournalError,
    JournalTooNew,
    MemoryErased,
    Notice,
)
from nagori.files import (
    ENCRYPTION_NOTE,
    ERASED,
    private_dir,
    sync_folder,
    unlock,
    wait_for_lock,
    write_durably,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from nagori.encryption import FolderKeys, OwnerCipher
    from nagori.journals.erased_owners import Tombstone

    Encrypt = Callable[[bytes, int], dict[str, Any]]
    Decrypt = Callable[[Mapping[str, Any]], bytes]

FORMAT, ENCRYPTED = 1, 2  # of a plain line, and of an encrypted one
SEGMENT_BYTES = 64 * 1024 * 1024
MOST_DECODED = 256  # owners whose last event is kept
LOCK_SECONDS = 30.0
NEAR = 64 * 1024  # below this many bytes, read instead of search
OWNER_KEYS = "key"  # file with the owner's wrapped keys
REQUESTS, CLAIMED = "requests", "=claimed"
UPGRADE = "upgrade"  # file: 0.1 created this journal, and its note files are not taken over yet
# files of 0.1 beside the segments (and later-*.json), in the order of taking them over
NOTES = ("linked.json", "cycle.last", "model.json", "cycle.lock", "judge.lock", "drained.json", UPGRADE)
_TAIL = re.compile(rb',"seq":(\d{1,15}),"sum":"([0-9a-f]{8})"\}\n\Z')
_SEGMENT = re.compile(r"[0-9]{8}\.jsonl")
_END = len(b',"sum":"00000000"}\n')


class Damage(Value, frozen=False):
    """A damaged line, and where it is."""

    file: str
    line: int
    offset: int
    problem: Notice


class Verdict(Value, frozen=False):
    """The result of `verify` for one owner. An unfinished last line is not damage: it was never
    acknowledged."""

    owner: Owner
    events: int = 0
    bytes: int = 0
    damage: list[Damage] = default_factory(list)
    unfinished: bool = False

    @property
    def sound(self) -> bool:
        return not self.damage


class FileJournal:
    """The journal as files. Safe for many processes, with one lock per owner."""

    def __init__(
        self,
        root: Path,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        patience: float | None = None,
        keys: Path | None = None,
    ) -> None:
        self.root = root
        self.keys = keys or root.parent  # data folder with the keys of encrypted lines
        self.patience = patience  # seconds to wait for the lock; None: LOCK_SECONDS
        self._segment_bytes = segment_bytes
        self._held: dict[tuple[Owner, int], int] = {}  # lock files held, by thread
        # The last number and line of segments, by folder and name. They go with their segment: no words of an
        # erased owner may stay here.
        self._ends: dict[Path, dict[str, tuple[_Stamp, int, bytes]]] = {}
        self._notes: dict[Path, tuple[_Stamp, Owner | None, str]] = {}
        self._folders: dict[Owner, Path] = {}
        self._ciphers: dict[Owner, tuple[object, OwnerCipher]] = {}
        self._decoded: dict[Owner, tuple[int, bytes, Event]] = {}  # the last event of each, and its line

    def close(self) -> None:
        """It holds nothing open."""

    # --- owners ---------------------------------------------------------------------------------

    def owners(self) -> list[Owner]:
        """All owners with a journal, in a stable order. If the file that names the owner is damaged, the
        folder name is used."""
        folders = sorted(path.parent for path in self.root.glob("*/*/space.json"))
        folders += sorted({path.parent for path in self.root.glob("*/*/00000001.jsonl")} - set(folders))
        named_owners = (_note_of(folder)[0] or _owner_of(folder) for folder in folders)
        found = dict.fromkeys(named_owner for named_owner in named_owners if named_owner is not None)
        return [owner for owner in found if not self.is_erased(owner)]

    def identities(self) -> list[tuple[Owner, str]]:
        """Every owner with a journal folder, erased or not, and the journal's identity."""
        folders = {
            path.parent for name in ("space.json", "00000001.jsonl") for path in self.root.glob(f"*/*/{name}")
        }
        named = (
            (_note_of(folder)[0] or _owner_of(folder), _note_of(folder)[1]) for folder in sorted(folders)
        )
        return [(owner, identity) for owner, identity in named if owner is not None]

    def unreadable_folders(self) -> list[Path]:
        """Folders with a journal whose owner is unknown."""
        folders = {path.parent for path in self.root.glob("*/*/00000001.jsonl")}
        return sorted(f for f in folders if _note_of(f)[0] is None and _owner_of(f) is None)

    def has_old_notes(self, owner: Owner) -> bool:
        """Whether there are note files of 0.1 to take over (`services.upgrade_from_0_1`)."""
        try:
            names = os.listdir(self.folder(owner))  # noqa: PTH208 - names are all that is needed
        except FileNotFoundError:
            return False
        return any(name in NOTES or (name.startswith("later-") and name.endswith(".json")) for name in names)

    def identity(self, owner: Owner) -> str:
        return self._note(self.folder(owner))[1]

    def folder(self, owner: Owner) -> Path:
        known = self._folders.get(owner)
        if known is None:
            tenant, user = owner
            known = self._folders[owner] = self.root / folder_name(tenant) / folder_name(user)
        return known

    def files(self, owner: Owner) -> list[tuple[Path, int]]:
        """The files of the journal, and their present lengths."""
        note = self.folder(owner) / "space.json"
        paths = [path for _, path in self._segments(owner)]
        return [(path, path.stat().st_size) for path in (note, *paths) if path.exists()]

    def size(self, owner: Owner) -> int:
        return sum(path.stat().st_size for _, path in self._segments(owner))

    # --- writing --------------------------------------------------------------------------------

    @contextmanager
    def locked(self, owner: Owner, patience: float | None = None) -> Iterator[int]:
        with _disk_trouble():
            folder = self._settle(owner)
            try:
                descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            except FileNotFoundError:
                self._refuse_erased(owner)
                raise
        who = (owner, get_ident())
        try:
            chosen = [seconds for seconds in (patience, self.patience) if seconds is not None]
            wait_for_lock(descriptor, min(chosen, default=LOCK_SECONDS))
            if self._note(folder)[0] != owner:  # the owner was erased while we waited
                self._refuse_erased(owner)
            self._held[who] = descriptor
            yield self.last_seq(owner)
        finally:
            self._held.pop(who, None)
            unlock(descriptor)  # a forked child may have a copy, so closing is not enough
            os.close(descriptor)

    def append(self, owner: Owner, events: Sequence[Event], after: int) -> list[Event]:
        if not events:
            return []
        self._check_lock(owner)
        with _disk_trouble():
            path, created = self._open_segment(owner)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                size = self._mend_tail(descriptor, path)
                last = self.last_seq(owner)
                if last != after:
                    raise Conflict("error.journal_moved", after=after, last=last)
                block, numbered = encode(events, after, self.encryption(owner))
                self._write(descriptor, block, size)
            finally:
                os.close(descriptor)
            if created:
                sync_folder(path.parent)
        return numbered

    def redact(self, owner: Owner, replacements: Mapping[int, Event]) -> int:
        """Segments with a replaced event are written anew, and the old ones are deleted; other lines are
        copied byte for byte. Unfinished lines that were kept aside may hold the same words, so they are
        deleted."""
        self._check_lock(owner)
        replaced = 0
        with _disk_trouble():
            first = 1
            for _, path in self._segments(owner):
                last = self._end(path)[0] or first - 1
                if any(first <= seq <= last for seq in replacements):
                    cipher = (self.encryption(owner), self.decryption(owner))
                    replaced += _rewrite(path, replacements, *cipher)
                first = last + 1
            if replaced:
                for torn in self.folder(owner).glob("torn-*.bytes"):
                    torn.unlink(missing_ok=True)
                sync_folder(self.folder(owner))
        return replaced

    # --- encryption -----------------------------------------------------------------------------

    def encryption(self, owner: Owner) -> Encrypt | None:
        """What encrypts a line of this owner; None if lines are written plainly."""
        keys = self._folder_keys()
        return None if keys is None or not keys.on else self._cipher(keys, owner, create=True).encrypt

    def decryption(self, owner: Owner) -> Decrypt:
        """What decrypts a line of this owner. The key is read when the first encrypted line is met."""

        def decrypt(body: Mapping[str, Any]) -> bytes:
            keys = self._folder_keys()
            if keys is None:
                raise EncryptionError("error.keys_needed")
            return self._cipher(keys, owner, create=False).decrypt(body)

        return decrypt

    def reencrypt(self, owner: Owner) -> None:
        """Write every segment anew as lines are written now: encrypted with the newest key, or plainly. The
        lock is held. Unfinished lines that were kept aside are deleted."""
        self._check_lock(owner)
        cipher = (self.encryption(owner), self.decryption(owner))
        with _disk_trouble():
            for _, path in self._segments(owner):
                _rewrite(path, {}, *cipher, everything=True)
            for torn in self.folder(owner).glob("torn-*.bytes"):
                torn.unlink(missing_ok=True)
            sync_folder(self.folder(owner))

    def key_folder(self, owner: Owner) -> Path:
        """The folder with the owner's keys."""
        return self.keys / self.root.name / self.folder(owner).relative_to(self.root)

    def _folder_keys(self) -> FolderKeys | None:
        if not os.path.exists(self.keys / ENCRYPTION_NOTE):  # noqa: PTH110 - on the way of hooks
            return None
        from nagori.encryption import open_keys

        return open_keys(self.keys)

    def _cipher(self, keys: FolderKeys, owner: Owner, *, create: bool) -> OwnerCipher:
        place = self.key_folder(owner)
        stamp = (keys, _stamp_of(place / OWNER_KEYS))
        known = self._ciphers.get(owner)
        if known is None or known[0] != stamp:
            cipher = keys.cipher(place, create=create)
            known = self._ciphers[owner] = ((keys, _stamp_of(place / OWNER_KEYS)), cipher)
        return known[1]

    # --- erasing --------------------------------------------------------------------------------

    def erase(self, owner: Owner) -> None:
        """The tombstone first; then the file without which nobody can begin to write; then, when the last
        writer has finished, all others. A folder name is the owner's name, so the folders go, too."""
        from nagori.journals import erased_owners

        folder = self.folder(owner)
        with _disk_trouble():
            erased_owners.set_tombstone(
                private_dir(self.root), self._place(owner), owner, self.identity(owner)
            )
            (folder / "space.json").unlink(missing_ok=True)
            if folder.is_dir():
                self._remove_folder(folder)
            with suppress(OSError):  # other users of this tenant
                folder.parent.rmdir()
            request = self._request(owner)
            for path in (request, request.with_name(request.name + CLAIMED)):
                path.unlink(missing_ok=True)
            sync_folder(self.root)

    def _remove_folder(self, folder: Path) -> None:
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            wait_for_lock(descriptor, LOCK_SECONDS)
            for path in sorted(folder.iterdir(), key=lambda path: path.name == "lock"):  # the lock last
                path.unlink(missing_ok=True)
            folder.rmdir()
        finally:
            unlock(descriptor)
            os.close(descriptor)

    def is_erased(self, owner: Owner) -> bool:
        if not os.path.isdir(self.root / ERASED):  # noqa: PTH112 - on the way of hooks; usually that is all
            return False
        return any(not each.reopened for each in self.tombstones(owner))

    def tombstones(self, owner: Owner) -> list[Tombstone]:
        """The tombstones of an owner."""
        from nagori.journals import erased_owners

        return erased_owners.find_tombstones(self.root, self._place(owner))

    def unfinished_erasures(self) -> list[Owner]:
        if not os.path.isdir(self.root / ERASED):  # noqa: PTH112
            return []
        from nagori.journals import erased_owners

        found = (each.owner for each in erased_owners.all_tombstones(self.root))
        return list(dict.fromkeys(owner for owner in found if owner is not None))

    def finish_erasure(self, owner: Owner) -> None:
        self._change_tombstones(owner, owner=None)

    def reopen(self, owner: Owner) -> None:
        if owner in self.unfinished_erasures():
            raise Conflict("error.erasure_unfinished")
        self._change_tombstones(owner, reopened=True)

    def _change_tombstones(self, owner: Owner, /, **changes: object) -> None:
        from nagori.journals import erased_owners

        with _disk_trouble():
            for each in self.tombstones(owner):
                erased_owners.write_tombstone(replace(each, **changes))

    def _place(self, owner: Owner) -> str:
        """The name of the owner's folder, by which a tombstone is found."""
        return self.folder(owner).relative_to(self.root).as_posix()

    def _refuse_erased(self, owner: Owner) -> None:
        if self.is_erased(owner):
            raise MemoryErased()

    # --- reading --------------------------------------------------------------------------------

    def last_seq(self, owner: Owner) -> int:
        with _disk_trouble():
            for _, path in reversed(self._segments(owner)):
                if last := self._end(path)[0]:
                    return last
        return 0

    def read(self, owner: Owner, after: int = 0) -> Iterator[Event]:
        """Sound events after number `after`, in order; stops at a line that is still being written."""
        last = after
        for path in self._segments_after(owner, after):
            for item in _scan(path, last, self.decryption(owner)):
                if isinstance(item, Event) and item.seq > last:
                    last = item.seq
                    yield item

    def event(self, owner: Owner, seq: int) -> Event | None:
        line = self._last_line(owner, seq)
        if line:
            return self._event_in(owner, seq, line)
        first = next(self.read(owner, seq - 1), None) if seq > 0 else None
        return first if first is not None and first.seq == seq else None

    def _event_in(self, owner: Owner, seq: int, line: bytes) -> Event | None:
        """An event of the last line. Every reader asks for it, and an import leaves hundreds of events in one
        line: a line that was decoded before is not decoded again."""
        known = self._decoded.get(owner)
        if known is not None and known[:2] == (seq, line):  # mostly the same object, see `_end`
            return known[2]
        event = next((event for event in decode(line, self.decryption(owner)) if event.seq == seq), None)
        if event is not None:
            if len(self._decoded) >= MOST_DECODED:
                self._decoded.clear()
            self._decoded[owner] = (seq, line, event)
        return event

    def verify(self, owner: Owner) -> Verdict:
        """Read every line and report faults: damage, gaps in the numbering, an unfinished end."""
        verdict, expected = Verdict(owner), 1
        segments = self._segments(owner)
        for number, path in segments:
            for item in _scan(path, 0, self.decryption(owner)):
                if isinstance(item, Damage):
                    if item.problem.id == UNFINISHED and number == segments[-1][0]:
                        verdict.unfinished = True
                    else:
                        verdict.damage.append(item)
                    continue
                if item.seq != expected:
                    problem = Notice("damage.event_missing", expected=expected, found=item.seq)
                    verdict.damage.append(Damage(path.name, 0, 0, problem))
                expected = item.seq + 1
                verdict.events += 1
        verdict.bytes = self.size(owner)
        return verdict

    # --- work -----------------------------------------------------------------------------------

    def request_work(self, owner: Owner) -> None:
        path = self._request(owner)
        if path.exists() or self.is_erased(owner):
            return
        with _disk_trouble():
            private_dir(path.parent)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.write(descriptor, json.dumps(list(owner), ensure_ascii=False).encode())
            os.close(descriptor)

    def requested_work(self) -> list[Owner]:
        asked: dict[Owner, None] = {}
        for path in sorted((self.root / REQUESTS).glob("*")):
            try:
                tenant, user = json.loads(path.read_bytes())
                asked[str(tenant), str(user)] = None
            except (OSError, ValueError):
                with suppress(OSError):
                    path.unlink()  # an incomplete request of a killed process
        for pattern in (f"*/*/{UPGRADE}", "*/*/drained.json"):
            for path in self.root.glob(pattern):
                named_owner = _note_of(path.parent)[0] or _owner_of(path.parent)
                if named_owner is not None:
                    asked[named_owner] = None
        return list(asked)

    def claim_work(self, owner: Owner) -> None:
        path = self._request(owner)
        with _disk_trouble(), suppress(FileNotFoundError):
            path.replace(path.with_name(path.name + CLAIMED))

    def finish_work(self, owner: Owner) -> None:
        path = self._request(owner)
        with _disk_trouble():
            path.with_name(path.name + CLAIMED).unlink(missing_ok=True)

    # --- internal -------------------------------------------------------------------------------

    def _request(self, owner: Owner) -> Path:
        return self.root / REQUESTS / f"{folder_name(owner[0])}@{folder_name(owner[1])}"

    def _settle(self, owner: Owner) -> Path:
        """The owner's folder, created with its identity file."""
        folder = self.folder(owner)
        named_owner, identity = self._note(folder)
        if named_owner != owner or not identity:
            self._refuse_erased(owner)
            private_dir(folder)
            if named_owner == owner:
                write_durably(folder / UPGRADE, b"")
            said = {"tenant": owner[0], "user": owner[1], "id": identity or os.urandom(16).hex()}
            fresh = folder / f"space.{os.getpid()}.{time.monotonic_ns()}.new"
            write_durably(fresh, json.dumps(said, ensure_ascii=False).encode())
            fresh.replace(folder / "space.json")
            for part in (folder, folder.parent, self.root):
                sync_folder(part)
            if self.is_erased(owner):  # since we looked
                self.erase(owner)
                raise MemoryErased()
        return folder

    def _note(self, folder: Path) -> tuple[Owner | None, str]:
        """The owner of a folder and the journal's identity; cached until the file changes."""
        stamp = _stamp_of(folder / "space.json")
        known = self._notes.get(folder)
        if known is None or known[0] != stamp or stamp is None:
            known = self._notes[folder] = (stamp, *_note_of(folder))
        return known[1:]

    def _end(self, path: Path) -> tuple[int, bytes]:
        """The last event number of a segment and its line ("" if damaged); cached until the file changes."""
        stamp, ends = _stamp_of(path), self._ends.setdefault(path.parent, {})
        known = ends.get(path.name)
        if known is None or known[0] != stamp or stamp is None:
            known = ends[path.name] = (stamp, *_last_in(path))
        return known[1:]

    def _last_line(self, owner: Owner, seq: int) -> bytes:
        """The last line, if it ends with event `seq`: a frequent question."""
        with _disk_trouble():
            for _, path in reversed(self._segments(owner)):
                last, line = self._end(path)
                if last:
                    return line if last == seq else b""
        return b""

    def _check_lock(self, owner: Owner) -> None:
        """JournalError unless this thread holds the lock, and the lock file is still the current one."""
        descriptor = self._held.get((owner, get_ident()))
        if descriptor is None:
            raise JournalError("error.lock_not_held")
        try:
            mine, theirs = os.fstat(descriptor), (self.folder(owner) / "lock").stat()
        except OSError:
            self._refuse_erased(owner)
            raise JournalError("error.lock_lost") from None
        if (mine.st_dev, mine.st_ino) != (theirs.st_dev, theirs.st_ino):
            raise JournalError("error.lock_lost")

    def _segments(self, owner: Owner) -> list[tuple[int, Path]]:
        """Segments in order. Used by every recall: one listing of a small folder."""
        folder = self.folder(owner)
        try:
            names = os.listdir(folder)  # noqa: PTH208 - names are all that is needed
        except FileNotFoundError:
            self._ends.pop(folder, None)
            self._decoded.pop(owner, None)
            return []
        except OSError as trouble:
            raise JournalError("error.file", path=folder, reason=trouble.strerror or trouble) from trouble
        segments = sorted(name for name in names if name.endswith(".jsonl") and _SEGMENT.fullmatch(name))
        ends = self._ends.get(folder)
        if ends is not None and len(ends) > len(segments):
            self._ends[folder] = {name: end for name, end in ends.items() if name in segments}
        return [(int(name[:8]), folder / name) for name in segments]

    def _segments_after(self, owner: Owner, after: int) -> list[Path]:
        """The segments with events after this number."""
        wanted: list[Path] = []
        with _disk_trouble():
            for _, path in reversed(self._segments(owner)):
                if after and (self._end(path)[0] or after + 1) <= after:
                    break
                wanted.append(path)
        return wanted[::-1]

    def _open_segment(self, owner: Owner) -> tuple[Path, bool]:
        segments = self._segments(owner)
        if not segments:
            return self.folder(owner) / _segment_name(1), True
        number, path = segments[-1]
        if path.stat().st_size < self._segment_bytes:
            return path, False
        return path.with_name(_segment_name(number + 1)), True

    def _mend_tail(self, descriptor: int, path: Path) -> int:
        """Move an unfinished last line aside. Nobody else writes now, so it comes from a crash and was never
        acknowledged."""
        size = os.fstat(descriptor).st_size
        if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
            return size
        begin = _last_newline(descriptor, size)
        line = os.pread(descriptor, size - begin, begin)
        if _checked_seq(line[:-1] + b"\n") is not None:  # only its last byte is missing: it was acknowledged
            os.ftruncate(descriptor, size - 1)
            os.write(descriptor, b"\n")
            os.fsync(descriptor)
            return size
        aside = path.with_name(f"torn-{path.stem}-{begin}.bytes")
        write_durably(aside, line)
        os.ftruncate(descriptor, begin)
        os.fsync(descriptor)
        return begin

    def _write(self, descriptor: int, block: bytes, size: int) -> None:
        try:
            written = os.write(descriptor, block)
            if written != len(block):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
        except OSError:
            # Not acknowledged: truncate what may have been written, so that it cannot appear later.
            with suppress(OSError):
                os.ftruncate(descriptor, size)
            raise


# --- lines ----------------------------------------------------------------------------------------

UNFINISHED = "damage.line_unfinished"


def _scan(path: Path, after: int, decrypt: Decrypt) -> Iterator[Event | Damage]:
    """The events of a segment after a number, and damaged lines, in order."""
    with _disk_trouble(), path.open("rb") as file:
        offset = _find(file, after) if after else 0
        file.seek(offset)
        for number, line in enumerate(file, 1):
            begin, offset = offset, offset + len(line)
            if after and (tail := _TAIL.search(line[-64:])) and int(tail[1]) <= after:
                continue
            try:
                yield from decode(line, decrypt)
            except JournalTooNew:
                raise
            except JournalError as trouble:
                yield Damage(path.name, number, begin, trouble.notice)


def _find(file: BinaryIO, after: int) -> int:
    """An offset at which a line begins and before which no event has a higher number: binary search over
    sound lines. Most callers want the newest events, so it starts near the end."""
    low, high = _find_near_end(file, after)
    while high - low > NEAR:
        middle = (low + high) // 2
        begin, end, seq = _sound_line(file, middle, high)
        if seq is None:  # no sound line begins in the upper half
            high = middle
        elif seq <= after:
            low = end
        else:
            high = begin
    return low


def _find_near_end(file: BinaryIO, after: int) -> tuple[int, int]:
    """Start and end for the binary search, found in growing steps backward from the end."""
    size = high = file.seek(0, os.SEEK_END)
    step = NEAR
    while step < size:
        begin, end, seq = _sound_line(file, size - step, high)
        if seq is not None and seq <= after:
            return end, high
        high, step = (begin if seq is not None else size - step), step * 16
    return 0, high


def _sound_line(file: BinaryIO, start: int, limit: int) -> tuple[int, int, int | None]:
    """Begin, end and number of the first sound line that begins after `start` and before `limit`."""
    file.seek(start)
    begin = start + len(file.readline())
    while begin < limit and (line := file.readline()):
        if (seq := _checked_seq(line)) is not None:
            return begin, begin + len(line), seq
        begin += len(line)
    return begin, begin, None


def _checked_seq(line: bytes) -> int | None:
    """The number at the end of a line with a correct checksum."""
    tail = _TAIL.search(line[-64:])
    if tail is None or crc32(line[:-_END]) != int(tail[2], 16):
        return None
    return int(tail[1])


_Stamp = tuple[int, int, int] | None


def _stamp_of(path: Path) -> _Stamp:
    """A value that changes with the file; None if there is no file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - runs very often; a Path costs as much again
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _last_in(path: Path) -> tuple[int, bytes]:
    """The last event number of a segment (0 if there is none) and its line. A damaged last line counts by the
    number it claims, unless that is lower than its predecessor's: its events are lost, and the gap is
    detected."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        window = 4096
        while size:
            file.seek(max(0, size - window))
            block = file.read(min(window, size))
            lines = block[: block.rfind(b"\n") + 1].splitlines(keepends=True)
            whole = lines if window >= size else lines[1:]
            last, line = _last_of(whole)
            if last or window >= size:
                return last, line
            window *= 8
    return 0, b""


def _last_of(lines: Sequence[bytes]) -> tuple[int, bytes]:
    claimed = 0
    for line in reversed(lines):
        if (seq := _checked_seq(line)) is not None:
            return (seq, line) if seq >= claimed else (claimed, b"")
        if not claimed and (tail := _TAIL.search(line[-64:])):
            claimed = int(tail[1])
    return claimed, b""


def _rewrite(
    path: Path,
    replacements: Mapping[int, Event],
    encrypt: Encrypt | None,
    decrypt: Decrypt,
    *,
    everything: bool = False,
) -> int:
    """Write a segment with replaced events, or with every sound line written anew; returns the number of
    events replaced."""
    fresh, replaced, before = path.with_suffix(".new"), 0, 0
    with (
        path.open("rb") as old,
        os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as new,
    ):
        for line in old:
            last = _checked_seq(line)
            if last is not None and (
                everything or any(seq in replacements for seq in range(before + 1, last + 1))
            ):
                line, count = _exchange(line, replacements, encrypt, decrypt)
                replaced += count
            before = last if last is not None else before
            new.write(line)
        new.flush()
        os.fsync(new.fileno())
    fresh.replace(path)
    return replaced


def _exchange(
    line: bytes, replacements: Mapping[int, Event], encrypt: Encrypt | None, decrypt: Decrypt
) -> tuple[bytes, int]:
    events = decode(line, decrypt)
    others = [replacements.get(event.seq, event) for event in events]
    return encode(others, events[0].seq - 1, encrypt)[0], sum(event.seq in replacements for event in events)


def encode(events: Sequence[Event], before: int, encrypt: Encrypt | None = None) -> tuple[bytes, list[Event]]:
    """One line for `events`, numbered from `before` + 1, and the events as they will be read."""
    numbered = [_with_seq(event, before + n) for n, event in enumerate(events, 1)]
    said = [_to_json(event) for event in numbered]
    body: dict[str, Any] = said[0] if len(said) == 1 else {"bundle": said}
    try:
        text = json.dumps({"v": FORMAT, **body}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        last = numbered[-1].seq
        if encrypt is not None:
            text = json.dumps({"v": ENCRYPTED, **encrypt(text.encode(), last)}, separators=(",", ":"))
        head = text[:-1].encode() + b',"seq":%d' % last
    except (UnicodeEncodeError, ValueError, TypeError, RecursionError) as trouble:
        raise InvalidInput("event", "error.event_not_json", reason=str(trouble)) from None
    return head + b',"sum":"%08x"}\n' % crc32(head), numbered


def _with_seq(event: Event, seq: int) -> Event:
    skippable = event.skippable or event.type in SKIPPABLE
    return Event(event.type, utc(event.at), event.data, event.memory, event.by, seq, skippable)


def _to_json(event: Event) -> dict[str, Any]:
    body: dict[str, Any] = {"type": event.type, "at": event.at.isoformat(), "by": event.by}
    if event.memory is not None:
        body["memory"] = event.memory
    if event.data:
        body["data"] = event.data
    if event.skippable:
        body["skip"] = True
    return body


def decode(line: bytes, decrypt: Decrypt | None = None) -> list[Event]:
    """The events of a line; JournalError describes the fault."""
    if not line.endswith(b"\n"):
        whole = _checked_seq(line[:-1] + b"\n") is not None
        raise JournalError("damage.line_end" if whole else UNFINISHED)
    tail = _TAIL.search(line[-64:])
    if tail is None:
        raise JournalError("damage.line_foreign")
    if crc32(line[:-_END]) != int(tail[2], 16):
        raise JournalError("damage.line_checksum")
    try:
        body = json.loads(line)
        if body["v"] > ENCRYPTED:
            raise JournalTooNew("error.journal_format", version=body["v"], known=ENCRYPTED)
        if body["v"] == ENCRYPTED and decrypt is not None:
            body = {**json.loads(decrypt(body)), "seq": body["seq"]}
        bundle = body.get("bundle", [body])
        first = body["seq"] - len(bundle) + 1
        return [_from_json(said, first + n) for n, said in enumerate(bundle)]
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
        InvalidInput,
    ) as trouble:
        reason = trouble.notice if isinstance(trouble, InvalidInput) else str(trouble)
        raise JournalError("damage.not_event", reason=reason) from None


def _from_json(said: dict[str, Any], seq: int) -> Event:
    at = utc(datetime.fromisoformat(said["at"]))
    type, data, memory, by = said["type"], said.get("data", {}), said.get("memory"), said["by"]
    if not (isinstance(type, str) and isinstance(by, str) and isinstance(data, dict)):
        raise ValueError("its parts are not what they should be")
    if memory is not None and not isinstance(memory, str):
        raise ValueError("the memory's name is not a text")
    return Event(RENAMED_TYPES.get(type, type), at, data, memory, by, seq, said.get("skip") is True)


def folder_name(name: str) -> str:
    """A file name for any tenant or user: readable, reversible if short, unique on case-insensitive file
    systems, and never a path."""
    safe = "abcdefghijklmnopqrstuvwxyz0123456789_-"
    encoded = "".join(chr(b) if chr(b) in safe else f"%{b:02x}" for b in name.encode())
    if len(encoded) > 120:
        from hashlib import sha256

        return f"{encoded[:80]}+{sha256(name.encode()).hexdigest()[:24]}"
    return encoded


def _owner_of(folder: Path) -> Owner | None:
    """The owner of a folder by its name, if the name is reversible."""
    named_owner = (_name_of(folder.parent.name), _name_of(folder.name))
    return named_owner if named_owner[0] and named_owner[1] else None  # type: ignore[return-value]


def _name_of(encoded: str) -> str | None:
    if "+" in encoded:
        return None
    with suppress(ValueError):
        name = re.sub(rb"%([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), encoded.encode()).decode()
        return name if folder_name(name) == encoded else None
    return None


def _note_of(folder: Path) -> tuple[Owner | None, str]:
    """The owner of a folder and the journal's identity, from its file."""
    try:
        said = json.loads((folder / "space.json").read_bytes())
        named_owner = (str(said["tenant"]), str(said["user"]))
        identity = str(said.get("id", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None, ""
    right = (folder.parent.name, folder.name) == (folder_name(named_owner[0]), folder_name(named_owner[1]))
    return (named_owner, identity) if right else (None, "")


def _segment_name(number: int) -> str:
    return f"{number:08d}.jsonl"


def _last_newline(descriptor: int, size: int) -> int:
    """Offset just after the last newline before `size`, reading backwards."""
    end = size
    while end > 0:
        begin = max(0, end - 65536)
        at = os.pread(descriptor, end - begin, begin).rfind(b"\n")
        if at >= 0:
            return begin + at + 1
        end = begin
    return 0


@contextmanager
def _disk_trouble() -> Iterator[None]:
    try:
        yield
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        if trouble.filename:
            raise JournalError("error.file", path=trouble.filename, reason=reason) from trouble
        raise JournalError("error.store_fault", reason=reason) from trouble
