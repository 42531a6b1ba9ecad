"""The audit log: who erased, exported, backed up or restored, and when; no content and no names.

One private file, `audit.jsonl`, with one line per act. Each line holds the SHA-256 of the line before it, so
a changed, missing or inserted line is detected. Whoever can write the file can also write all of it anew;
against that, keep an anchor elsewhere: the number and the hash of a line. `verify` finds out whether the log
still contains it.

An owner is named by a digest with the log's own salt, so that only somebody who knows the name finds its
lines.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from nagori.core.storage_types import Owner
from nagori.core.value_object import Value
from nagori.errors import InvalidInput, Notice, StoreError
from nagori.files import open_private, private_dir, unlock, wait_for_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from nagori.runtime import Runtime

FILE = "audit.jsonl"
LOCK_PATIENCE = 10.0
CHUNK = 65_536  # bytes; a line has some hundred
ACTS = (
    "erasure_requested",
    "erasure_finished",
    "reopened",
    "exported",
    "backed_up",
    "restored",
    "key_created",
    "keys_changed",
    "disclosed",
    "policy_changed",
    "scope_crossed",
)


class AuditEntry(Value):
    """One line of the log. `hash` is of the whole line without it, and `before` is the hash of the line
    before."""

    number: int
    at: str
    act: str
    owner: str  # a digest; "" if the act concerns the whole folder
    uid: int  # the account that did it; -1 where there are none
    detail: Mapping[str, Any]
    before: str
    hash: str

    @property
    def anchor(self) -> str:
        """What to keep elsewhere."""
        return f"{self.number}:{self.hash}"


class AuditVerdict(Value):
    """The result of `verify`: the number of sound lines, the faults, and the anchor of the last line."""

    entries: int
    faults: tuple[Notice, ...]
    anchor: str

    @property
    def sound(self) -> bool:
        return not self.faults


def record(runtime: Runtime, act: str, owner: Owner | None = None, **detail: object) -> None:
    """Append a line, durably. `detail` holds numbers and kinds, never content."""
    append(runtime.data_dir, runtime.clock.now(), act, owner, **detail)


def record_or_observe(runtime: Runtime, act: str, owner: Owner | None = None, **detail: object) -> None:
    """The same for acts that only read: they go on if the log cannot be written, and that is reported."""
    try:
        record(runtime, act, owner, **detail)
    except StoreError as trouble:
        runtime.observe("act.unrecorded", act=act, reason=trouble.notice)


def append(folder: Path, at: datetime, act: str, owner: Owner | None = None, **detail: object) -> AuditEntry:
    assert act in ACTS, act
    with _open_log(folder) as descriptor:
        lines = _first_and_last(descriptor)
        last = _decode(lines[-1]) if lines else None
        salt = _salt_of(lines)
        said: dict[str, Any] = {
            "number": last.number + 1 if last else 1,
            "at": at.isoformat(),
            "act": act,
            "owner": _digest(salt, owner) if owner else "",
            "uid": os.getuid() if hasattr(os, "getuid") else -1,
            "detail": detail if lines else {**detail, "salt": salt},
            "before": last.hash if last else "",
        }
        said["hash"] = _hash(said)
        os.lseek(descriptor, 0, os.SEEK_END)
        line = json.dumps(said, sort_keys=True).encode() + b"\n"
        if os.write(descriptor, line) != len(line):
            raise OSError("the line was not written whole")
        os.fsync(descriptor)
    return AuditEntry(**said)


def read(folder: Path) -> list[AuditEntry]:
    """All lines, oldest first. Unreadable ones are left out; `verify` reports them."""
    entries = (_decode(line) for line in _lines(folder))
    return [entry for entry in entries if entry is not None]


def verify(folder: Path, anchor: str = "") -> AuditVerdict:
    """Check every line, the chain, and whether the log contains the anchor."""
    faults: list[Notice] = []
    before, sound = "", list[AuditEntry]()
    for number, line in enumerate(_lines(folder), 1):
        entry = _decode(line)
        if entry is None:
            faults.append(Notice("audit.line_unreadable", n=number))
        elif entry.hash != _hash({k: v for k, v in json.loads(line).items() if k != "hash"}):
            faults.append(Notice("audit.line_changed", n=number))
        elif (entry.number, entry.before) != (number, before):
            faults.append(Notice("audit.chain_broken", n=number))
        else:
            sound.append(entry)
        before = entry.hash if entry else ""
    if anchor and anchor not in {entry.anchor for entry in sound}:
        _check_anchor(anchor)
        faults.append(Notice("audit.anchor_missing"))
    return AuditVerdict(len(sound), tuple(faults), sound[-1].anchor if sound else "")


def entries_of(folder: Path, owner: Owner) -> list[AuditEntry]:
    """The lines about an owner whose name is known."""
    salt = _salt_of(_lines(folder))
    return [entry for entry in read(folder) if entry.owner == _digest(salt, owner)]


def _check_anchor(anchor: str) -> None:
    number, _, digest = anchor.partition(":")
    if not (number.isdecimal() and len(digest) == 64 and all(c in "0123456789abcdef" for c in digest)):
        raise InvalidInput("anchor", "error.not_anchor", value=anchor)


def _salt_of(lines: list[bytes]) -> str:
    """The salt that the first line holds; a new one for a new log."""
    first = _decode(lines[0]) if lines else None
    return str(first.detail.get("salt", "")) if first else os.urandom(16).hex()


def _digest(salt: str, owner: Owner) -> str:
    return sha256("\x1f".join((salt, *owner)).encode()).hexdigest()[:32]


def _hash(said: Mapping[str, Any]) -> str:
    return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _decode(line: bytes) -> AuditEntry | None:
    try:
        entry = AuditEntry(**json.loads(line))
        fields = (entry.at, entry.act, entry.owner, entry.before, entry.hash)
        fine = all(isinstance(each, str) for each in fields) and isinstance(entry.number, int)
        return entry if fine and isinstance(entry.detail, dict) else None
    except (ValueError, TypeError, RecursionError):
        return None


def _lines(folder: Path) -> list[bytes]:
    try:
        return (folder / FILE).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as trouble:
        raise StoreError("error.file", path=folder / FILE, reason=trouble.strerror or trouble) from trouble


def _first_and_last(descriptor: int) -> list[bytes]:
    """The first and the last line so far. One without its end is of a killed process and was never
    acknowledged. A long log is not read whole: a server appends to it while it answers."""
    size = os.fstat(descriptor).st_size
    start = max(0, size - CHUNK)
    tail = os.pread(descriptor, CHUNK, start)
    if tail.count(b"\n") < 2:
        start, tail = 0, os.pread(descriptor, size, 0)
    end = tail.rfind(b"\n") + 1
    if start + end < size:
        os.ftruncate(descriptor, start + end)
    first = os.pread(descriptor, CHUNK, 0).partition(b"\n")[0]
    return [first, tail[:end].splitlines()[-1]] if end else []


@contextmanager
def _open_log(folder: Path) -> Iterator[int]:
    try:
        descriptor = open_private(private_dir(folder) / FILE, os.O_RDWR | os.O_CREAT)
        try:
            wait_for_lock(descriptor, LOCK_PATIENCE)
            yield descriptor
        finally:
            unlock(descriptor)
            os.close(descriptor)
    except OSError as trouble:
        raise StoreError("error.file", path=folder / FILE, reason=trouble.strerror or trouble) from trouble
