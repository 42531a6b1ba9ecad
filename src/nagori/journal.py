"""The journal: append-only JSONL, the truth that everything else is derived from.

    <root>/<tenant>/<user>/00000001.jsonl   segments, in order; a new one when the last is large
                           lock             held while somebody appends
                           space.json       whose folder this is, in plain words
                           torn-….bytes     ends of lines that a crash cut off, kept aside

One append is one line `{…,"seq":N,"sum":"xxxxxxxx"}`, whether it says one event or a bundle of them, so it is
there whole or not at all. `seq` numbers the (last) event within the space, so a missing line shows; `sum`
is the CRC-32 of everything before it, so a damaged line shows. An append is one `write` and one `fsync`,
and it is acknowledged after both. A crash can only leave the last line unfinished: it was never
acknowledged, so the next writer moves it aside.

Erasing a user is removing one folder.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from zlib import crc32

from nagori.core.bookkeeping import START, Cursor, Placed, Space
from nagori.core.fold import Event
from nagori.core.model import utc
from nagori.core.values import Value, fresh
from nagori.errors import InvalidInput, JournalError, JournalTooNew
from nagori.paths import open_private, private_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
SEGMENT_BYTES = 64 * 1024 * 1024
LOCK_SECONDS = 30.0
_TAIL = re.compile(rb',"seq":(\d+),"sum":"([0-9a-f]{8})"\}\n\Z')


class Damage(Value, frozen=False):
    """A line that cannot be trusted, and where it is."""

    file: str
    line: int
    offset: int
    problem: str


class Verdict(Value, frozen=False):
    """What `verify` found in one space."""

    space: Space
    events: int = 0
    bytes: int = 0
    damage: list[Damage] = fresh(list)

    @property
    def sound(self) -> bool:
        return not self.damage


class FileJournal:
    """The journal as files. Safe for many processes: they take turns at a lock per space."""

    def __init__(
        self, root: Path, *, segment_bytes: int = SEGMENT_BYTES, patience: float | None = None
    ) -> None:
        self.root = root
        self.patience = patience  # seconds to wait for the lock; None: LOCK_SECONDS
        self._segment_bytes = segment_bytes
        self._last_seq: dict[Space, tuple[tuple[int, int], int]] = {}

    def spaces(self) -> list[Space]:
        """Every space that has a journal, in a stable order."""
        found = []
        for note in sorted(self.root.glob("*/*/space.json")):
            with suppress(OSError, ValueError, KeyError):
                owner = json.loads(note.read_bytes())
                found.append((str(owner["tenant"]), str(owner["user"])))
        return found

    def folder(self, space: Space) -> Path:
        tenant, user = space
        return self.root / folder_name(tenant) / folder_name(user)

    @contextmanager
    def locked(self, space: Space) -> Iterator[None]:
        """Hold the space's lock; whoever waits longer than `patience` gets a JournalError."""
        with _disk_trouble():
            folder = self._settle(space)
            descriptor = open_private(folder / "lock", os.O_RDWR | os.O_CREAT)
        try:
            wait_for_lock(descriptor, LOCK_SECONDS if self.patience is None else self.patience)
            yield
        finally:
            os.close(descriptor)  # closing releases the lock, also when the process dies

    def append(self, space: Space, events: Sequence[Event]) -> list[Placed]:
        """Write `events` durably: all or none. The caller holds the lock."""
        if not events:
            return []
        with _disk_trouble():
            segment, path, created = self._open_segment(space)
            descriptor = open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            try:
                size = self._mend_tail(descriptor, path)
                before = self._seq_at(space, segment, size)
                block, numbered = encode(events, before)
                self._write(descriptor, block, size)
            finally:
                os.close(descriptor)
            if created:
                _sync_folder(path.parent)
        placed = _places(numbered, segment, size, size + len(block))
        self._last_seq[space] = ((segment, size + len(block)), placed[-1].event.seq)
        return placed

    def end(self, space: Space) -> tuple[int, int]:
        """Where the journal ends now; (0, 0) if there is none."""
        segments = self._segments(space)
        if not segments:
            return (0, 0)
        return (segments[-1][0], segments[-1][1].stat().st_size)

    def read(self, space: Space, after: Cursor = START) -> Iterator[Placed]:
        """Sound events after `after`, in order; stops at a line that is still being written."""
        for item in self._scan(space, after):
            if isinstance(item, Placed):
                yield item

    def event_at(self, space: Space, place: Cursor) -> Event | None:
        """The event just after `place`."""
        path = self.folder(space) / _segment_name(place.segment)
        with _disk_trouble(), path.open("rb") as file:
            file.seek(place.offset)
            line = file.readline()
        try:
            return next((event for event in decode(line) if event.seq == place.seq + 1), None)
        except JournalError:
            return None

    def verify(self, space: Space) -> Verdict:
        """Read every line and say what is wrong: damage, gaps in the numbering, an unfinished end."""
        verdict, expected = Verdict(space), 1
        for item in self._scan(space, START):
            if isinstance(item, Damage):
                verdict.damage.append(item)
                continue
            seq = item.event.seq
            if seq != expected:
                file = _segment_name(item.begin.segment)
                problem = f"event {expected} expected, {seq} found"
                verdict.damage.append(Damage(file, 0, item.begin.offset, problem))
            expected = seq + 1
            verdict.events += 1
        verdict.bytes = sum(path.stat().st_size for _, path in self._segments(space))
        return verdict

    # --- how it is done -------------------------------------------------------------------------

    def _settle(self, space: Space) -> Path:
        folder = self.folder(space)
        note = folder / "space.json"
        if not note.exists():
            private_dir(folder)
            body = json.dumps({"tenant": space[0], "user": space[1]}, ensure_ascii=False).encode()
            fresh = folder / f"space.{os.getpid()}.{time.monotonic_ns()}.new"
            descriptor = open_private(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            try:
                os.write(descriptor, body)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            fresh.replace(note)
            for part in (folder, folder.parent, self.root):
                _sync_folder(part)
        return folder

    def _segments(self, space: Space) -> list[tuple[int, Path]]:
        """Segments in order. Asked on every recall: one listing of a folder with a handful of files."""
        folder = self.folder(space)
        try:
            names = os.listdir(folder)  # noqa: PTH208 - names are all that is needed
        except FileNotFoundError:
            return []
        except OSError as trouble:
            raise JournalError(f"{folder}: {trouble.strerror or trouble}") from trouble
        numbers = sorted(int(name[:8]) for name in names if re.fullmatch(r"\d{8}\.jsonl", name))
        return [(number, folder / _segment_name(number)) for number in numbers]

    def _open_segment(self, space: Space) -> tuple[int, Path, bool]:
        segments = self._segments(space)
        if not segments:
            return 1, self.folder(space) / _segment_name(1), True
        number, path = segments[-1]
        if path.stat().st_size < self._segment_bytes:
            return number, path, False
        return number + 1, path.with_name(_segment_name(number + 1)), True

    def _mend_tail(self, descriptor: int, path: Path) -> int:
        """Move an unfinished last line aside. Nobody else writes now, so it is a crash's, and it was
        never acknowledged."""
        size = os.fstat(descriptor).st_size
        if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n":
            return size
        begin = _last_newline(descriptor, size)
        aside = path.with_name(f"torn-{path.stem}-{begin}.bytes")
        keep = open_private(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            os.write(keep, os.pread(descriptor, size - begin, begin))
            os.fsync(keep)
        finally:
            os.close(keep)
        os.ftruncate(descriptor, begin)
        os.fsync(descriptor)
        return begin

    def _seq_at(self, space: Space, segment: int, offset: int) -> int:
        """The number of the last event before this place: remembered, or read off the last line."""
        known = self._last_seq.get(space)
        if known and known[0] == (segment, offset):
            return known[1]
        for number, path in reversed(self._segments(space)):
            size = offset if number == segment else path.stat().st_size
            if number <= segment and size:
                return _seq_before(path, size)
        return 0

    def _write(self, descriptor: int, block: bytes, size: int) -> None:
        try:
            written = os.write(descriptor, block)
            if written != len(block):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
        except OSError:
            # Not acknowledged: take back what may have been written, so that it cannot appear later.
            with suppress(OSError):
                os.ftruncate(descriptor, size)
            raise

    def _scan(self, space: Space, after: Cursor) -> Iterator[Placed | Damage]:
        for number, path in self._segments(space):
            if number < after.segment:
                continue
            offset, line_number = (after.offset if number == after.segment else 0), 0
            with _disk_trouble(), path.open("rb") as file:
                file.seek(offset)
                for line in file:
                    line_number += 1
                    begin, offset = offset, offset + len(line)
                    try:
                        events = decode(line)
                    except JournalTooNew:
                        raise
                    except JournalError as trouble:
                        yield Damage(path.name, line_number, begin, str(trouble))
                        continue
                    for placed in _places(events, number, begin, offset):
                        if placed.event.seq > after.seq:
                            yield placed


def encode(events: Sequence[Event], before: int) -> tuple[bytes, list[Event]]:
    """One line for `events`, numbered from `before` + 1, and the events as they will be read back."""
    numbered = [Event(e.type, utc(e.at), e.data, e.memory, e.by, before + n) for n, e in enumerate(events, 1)]
    said = [_said(event) for event in numbered]
    body: dict[str, Any] = said[0] if len(said) == 1 else {"bundle": said}
    try:
        text = json.dumps({"v": FORMAT, **body}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        head = text[:-1].encode() + b',"seq":%d' % numbered[-1].seq
    except (UnicodeEncodeError, ValueError, TypeError, RecursionError) as trouble:
        raise InvalidInput("event", f"cannot be written as JSON: {trouble}") from None
    return head + b',"sum":"%08x"}\n' % crc32(head), numbered


def _said(event: Event) -> dict[str, Any]:
    body: dict[str, Any] = {"type": event.type, "at": event.at.isoformat(), "by": event.by}
    if event.memory is not None:
        body["memory"] = event.memory
    if event.data:
        body["data"] = event.data
    return body


def decode(line: bytes) -> list[Event]:
    """The events of a line; JournalError says what is wrong with it."""
    if not line.endswith(b"\n"):
        raise JournalError("unfinished line")
    tail = _TAIL.search(line[-64:])
    if tail is None:
        raise JournalError("not a line of this journal")
    head = line[: len(line) - len(b',"sum":"00000000"}\n')]
    if crc32(head) != int(tail[2], 16):
        raise JournalError("checksum does not match")
    try:
        body = json.loads(line)
        if body["v"] > FORMAT:
            raise JournalTooNew(f"format {body['v']}; this version reads up to {FORMAT}")
        bundle = body.get("bundle", [body])
        first = body["seq"] - len(bundle) + 1
        return [_heard(said, first + n) for n, said in enumerate(bundle)]
    except (ValueError, KeyError, TypeError, RecursionError, InvalidInput) as trouble:
        raise JournalError(f"not an event: {trouble}") from None


def _heard(said: dict[str, Any], seq: int) -> Event:
    at = utc(datetime.fromisoformat(said["at"]))
    return Event(said["type"], at, said.get("data", {}), said.get("memory"), said["by"], seq)


def _places(events: Sequence[Event], segment: int, begin: int, end: int) -> list[Placed]:
    """Where the events of a line stand. Whoever stops inside a bundle comes back to the line's beginning,
    and goes on after the event he had."""
    between = [Cursor(segment, begin, event.seq) for event in events[:-1]]
    begins = [Cursor(segment, begin, events[0].seq - 1), *between]
    ends = [*between, Cursor(segment, end, events[-1].seq)]
    return [Placed(*each) for each in zip(events, begins, ends, strict=True)]


def folder_name(name: str) -> str:
    """A file name for any tenant or user: readable, reversible in its short form, the same on file
    systems that fold case, and never a path."""
    safe = "abcdefghijklmnopqrstuvwxyz0123456789_-"
    encoded = "".join(chr(b) if chr(b) in safe else f"%{b:02x}" for b in name.encode())
    if len(encoded) > 120:
        from hashlib import sha256

        return f"{encoded[:80]}+{sha256(name.encode()).hexdigest()[:24]}"
    return encoded


def _segment_name(number: int) -> str:
    return f"{number:08d}.jsonl"


def _seq_before(path: Path, end: int) -> int:
    """Sequence number of the last sound line that ends at or before `end`."""
    with path.open("rb") as file:
        file.seek(max(0, end - 64))
        tail = _TAIL.search(file.read(min(64, end)))
        if tail:
            return int(tail[1])
        # A foreign line stands at the end: walk the file for the last sound number.
        file.seek(0)
        last = 0
        for line in file:
            with suppress(JournalError):
                last = decode(line)[-1].seq
        return last


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


def _sync_folder(folder: Path) -> None:
    """A new name is durable only when its folder is."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _disk_trouble() -> Iterator[None]:
    try:
        yield
    except OSError as trouble:
        where = f"{trouble.filename}: " if trouble.filename else ""
        raise JournalError(f"{where}{trouble.strerror or trouble}") from trouble


if sys.platform == "win32":  # pragma: no cover - Windows
    import msvcrt

    def try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def wait_for_lock(descriptor: int, patience: float) -> None:
    deadline, pause = time.monotonic() + patience, 0.0005
    while not try_lock(descriptor):
        if time.monotonic() > deadline:
            raise JournalError(f"busy: another process has held the lock for {patience:.0f} seconds")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.01)
