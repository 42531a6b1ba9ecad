"""Note what tools did, in a file that is bundled into one event at the end of the turn.

A host runs a hook after every tool, so noting a result imports and does as little as possible: one line is
appended, without waiting for the disk. If the host is killed before the end of the turn, the worker takes the
file when it is old enough.

A line holds the tool, its target and an error, without secrets; never what the tool read or wrote. The first
line says whose they are.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from nagori.core.sha256_without_openssl import sha256
from nagori.files import ENCRYPTION_NOTE, ERASED, HOT, private_dir, write_private
from nagori.language.redaction import fit_to_keep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nagori.config.sections import PrivacySettings
    from nagori.core.storage_types import Owner

LONGEST_ERROR = 300  # characters
MOST_BYTES = 200_000  # of one file: what comes after that in one turn is not noted
ABANDONED_SECONDS = 600.0  # a file that nobody wrote to for so long belongs to a killed session

Result = tuple[str, str, bool, int, str]  # tool, target, success, milliseconds, error
Concerns = Callable[[Mapping[str, object], list[Result]], bool]


def note_result(folder: Path, head: Mapping[str, object], result: Result, rules: PrivacySettings) -> None:
    """Append the result of a tool. `head` says whose it is: at least `owner` and `session`. Of an erased
    owner nothing is noted."""
    if _is_erased(folder, head):
        return
    tool, target, ok, ms, error = result
    keep = {"strip": rules.strip_private, "redact": rules.redact_secrets}
    error = " ".join(error[: 4 * LONGEST_ERROR].split())
    line = [tool, fit_to_keep(target, **keep), ok, ms, fit_to_keep(error, **keep)[:LONGEST_ERROR]]
    path = folder / HOT / _name(str(head["session"]), head.get("agent"))
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        private_dir(path.parent)
        descriptor = os.open(path, flags, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        if size < MOST_BYTES:
            first = "" if size else _format_line(folder, head, head)
            os.write(descriptor, (first + _format_line(folder, head, line)).encode())
    finally:
        os.close(descriptor)
    if _is_erased(folder, head):  # an erasure that began meanwhile may not have seen the file
        path.unlink(missing_ok=True)


def _format_line(folder: Path, head: Mapping[str, object], told: object) -> str:
    """A line of a file: plain, or encrypted as lines of the journal are."""
    text = json.dumps(told)
    if (folder / ENCRYPTION_NOTE).exists() and (owner := _owner_of(head)) is not None:
        from nagori.journals.file import FileJournal

        if encrypt := FileJournal(folder / "journal").encryption(owner):
            text = json.dumps({"owner": list(owner), **encrypt(text.encode(), 0)})
    return text + "\n"


def _read_lines(folder: Path, data: bytes) -> list[object]:
    """The lines of a file, decrypted where they are encrypted."""
    lines = [_parse(line) for line in data.splitlines()]
    for n, line in enumerate(lines):
        if isinstance(line, dict) and "enc" in line and (owner := _owner_of(line)) is not None:
            from nagori.journals.file import FileJournal

            decrypt, lines[n] = FileJournal(folder / "journal").decryption(owner), None
            with suppress(ValueError):  # it was changed
                lines[n] = _parse(decrypt({**line, "seq": 0}))
    return lines


def _is_erased(folder: Path, head: Mapping[str, object]) -> bool:
    if not os.path.isdir(folder / "journal" / ERASED):  # noqa: PTH112 - after every tool; usually that is all
        return False
    from nagori.journals.file import FileJournal

    owner = _owner_of(head)
    return owner is not None and FileJournal(folder / "journal").is_erased(owner)


def _name(session: str, agent: object) -> str:
    """The file of a session, or of a subagent in it; any text may be an id."""
    name = _digest(session)[:24]
    return f"{name}-{_digest(str(agent))[:12]}.jsonl" if agent else f"{name}.jsonl"


def _digest(text: str) -> str:
    digest: str = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return digest


def take_results(folder: Path, session: str, agent: str | None = None) -> list[Result]:
    """The results of the turn that ends now; they are noted no longer."""
    return _take(folder / HOT / _name(session, agent))[1]


def take_abandoned(folder: Path) -> Iterator[tuple[dict[str, Any], list[Result]]]:
    """The results of killed sessions, each with what its first line says."""
    for path in sorted((folder / HOT).glob("*")):
        if path.suffix in (".jsonl", ".taken") and not _is_fresh(path):
            head, results = _take(path)
            if results and head.get("session") and _owner_of(head):
                yield head, results


def note_end(folder: Path, owner: Owner, session: str) -> None:
    """Note that a session ended, so that the worker need not wait to be sure of it."""
    head = {"owner": list(owner), "session": session}
    if not _is_erased(folder, head):
        path = private_dir(folder / HOT) / f"{_digest(session)[:24]}.ended"
        write_private(path, _format_line(folder, head, head).encode())


def take_ends(folder: Path) -> Iterator[tuple[Owner, str]]:
    """The sessions that ended since the last time."""
    for path in sorted((folder / HOT).glob("*.ended")):
        with suppress(OSError):
            (head,) = _read_lines(folder, path.read_bytes())[:1] or [None]
            path.unlink()
            if isinstance(head, dict) and (owner := _owner_of(head)) and head.get("session"):
                yield owner, str(head["session"])


def erase_results(folder: Path, owner: Owner, concerns: Concerns | None = None) -> int:
    """Delete what is noted of an owner; returns the number of files."""
    found = find_results(folder, owner, concerns)
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)


def find_results(folder: Path, owner: Owner, concerns: Concerns | None = None) -> list[Path]:
    """The files of an owner, and those that nobody can attribute. With `concerns`, only files of which it
    says so, by their first line and their results."""
    found = []
    for path in (folder / HOT).glob("*"):
        with suppress(OSError):
            data = path.read_bytes()
            head = _parse(data.partition(b"\n")[0])
            mine = (_owner_of(head) if isinstance(head, dict) else None) in (owner, None)
            if mine and (concerns is None or concerns(*_read_results(folder, data))):
                found.append(path)
    return found


def _owner_of(head: Mapping[str, object]) -> tuple[str, str] | None:
    match head.get("owner"):
        case [str(tenant), str(user)]:
            return tenant, user
    return None


def _is_fresh(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < ABANDONED_SECONDS
    except OSError:  # another process took it
        return True


def _take(path: Path) -> tuple[dict[str, Any], list[Result]]:
    """Remove the file and return what it says. It is renamed first, so that a tool that ends just now starts
    a file of its own, and nothing is taken twice."""
    mine = path.with_name(f"{path.name.partition('.')[0]}.{os.getpid()}.taken")
    try:
        path.rename(mine)
        data = mine.read_bytes()
        mine.unlink()
    except OSError:
        return {}, []
    return _read_results(path.parents[1], data)


def _read_results(folder: Path, data: bytes) -> tuple[dict[str, Any], list[Result]]:
    """The first line of a file, which says whose it is, and the results."""
    lines = _read_lines(folder, data)
    head = lines[0] if lines and isinstance(lines[0], dict) else {}
    return head, [result for line in lines if (result := _result(line)) is not None]


def _parse(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # cut by a crash
        return None


def _result(line: object) -> Result | None:
    match line:
        case [str(tool), str(target), bool(ok), int(ms), str(error)]:
            return tool, target, ok, ms, error
    return None
