"""Record turns: append what was said to the journal, before memories are formed.

Hooks, library, context window, transcripts and servers all use this: a turn becomes an event `turn_recorded`,
without private passages and secrets. `process_turns` forms memories later.

If the journal cannot be written (it is locked or damaged), a hook writes to a file of its own in `spool/`;
the worker reads it from there.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from errno import ENOSPC
from pathlib import Path

from nagori.core.events import WORK, Event, RecordedTurn, fold, turn_id
from nagori.core.model import TurnFilter
from nagori.errors import JournalError, JournalTooNew, MemoryErased, StoreError
from nagori.event_ledger import record_turns
from nagori.files import private_dir
from nagori.journals.file import FileJournal, decode, encode
from nagori.language.redaction import fit_to_keep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.config.sections import PrivacySettings as PrivacySettings
    from nagori.core.model import Scope
    from nagori.core.storage_types import Owner
    from nagori.runtime import Runtime
    from nagori.services.tool_outcome_log import Result

WINDOW = "window"  # host name of turns that left a context window
OUTSIDE = -1  # index of a turn that is no part of the conversation
HOOK_PATIENCE = 1.0  # seconds to wait for the journal; the host is waiting, and the spool is safe, too
SPOOL = "spool"
OUTBOX = "outbox"  # folder of the spool for a server
UNFINISHED_SECONDS = 60.0  # an older unfinished file is of a killed hook


def turn_event(
    scope: Scope,
    rules: PrivacySettings,
    *,
    text: str,
    role: str,
    at: datetime,
    session: str = "",
    by: str = "user",
    **more: object,
) -> Event | None:
    """The event of a turn; None if nothing storable is left. `more` are further fields of `RecordedTurn`."""
    kept = fit_to_keep(text, strip=rules.strip_private, redact=rules.redact_secrets)
    if not kept:
        return None
    whose = {"project": scope.project, "agent": scope.agent, "agent_role": scope.role}
    data = {"session": session, "role": role, "text": kept, **whose, **more}
    return Event("turn_recorded", at, {name: v for name, v in data.items() if v is not None}, by=by)


def work_event(scope: Scope, results: Sequence[Result], at: datetime, session: str, **more: object) -> Event:
    """The event of what tools did in a turn: one line for each, repetitions bundled. Its place is outside of
    the conversation."""
    from nagori.core.outcomes_lessons_and_credit import bundle_results  # only where tools were used

    lines = [[*each, times] for each, times in bundle_results(results)]
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    whose = {"project": scope.project, "agent": scope.agent, "agent_role": scope.role, "task": scope.task}
    data = {"session": session, "role": WORK, "text": text, "index": OUTSIDE, **whose, **more}
    return Event("worked", at, {name: v for name, v in data.items() if v is not None}, by="host")


def record_new(runtime: Runtime, owner: Owner, events: Sequence[Event]) -> list[RecordedTurn]:
    """The turns of these events, in order; unknown ones are recorded now."""
    known = _known_turns(runtime, owner, events)
    fresh = {_id(event): event for event in events if _id(event) not in known}
    written = record_turns(runtime.journal, owner, list(fresh.values()))
    known |= {turn.id: turn for turn in fold(written, {}).turns}
    return [known[_id(event)] for event in events]


def _known_turns(runtime: Runtime, owner: Owner, events: Sequence[Event]) -> dict[str, RecordedTurn]:
    """The turns that were recorded before; none if the store cannot be read."""
    try:
        runtime.ledger.catch_up(owner, turns=True)
        known = runtime.store.turns(owner, TurnFilter(ids=tuple(_id(event) for event in events)))
    except StoreError:
        return {}
    return {turn.id: turn for turn in known}


def _id(event: Event) -> str:
    return str(event.data.get("turn") or turn_id(event.data, event.at))


# --- from a hook ----------------------------------------------------------------------------------


def record_or_spool(folder: Path, owner: Owner, events: Sequence[Event]) -> None:
    """Append turn events to the journal, or else to the spool. OSError if neither can be written. Of an
    erased owner nothing is recorded, and the host is not told."""
    if not events:
        return
    journal, recorded = FileJournal(folder / "journal", patience=HOOK_PATIENCE), False
    try:
        private_dir(folder)
        recorded = bool(record_turns(journal, owner, events))
    except MemoryErased:
        return
    except BaseException as trouble:  # includes the timeout while another process holds the journal
        if not recorded:
            path = spool(folder, owner, events)
            if journal.is_erased(owner):  # an erasure that began meanwhile may not have seen the file
                path.unlink(missing_ok=True)
        if not isinstance(trouble, (JournalError, OSError)):
            raise


def spool(folder: Path, owner: Owner, events: Sequence[Event], *, keys: Path | None = None) -> Path:
    """Write events to a spool file, in the journal's format, encrypted as there. `keys`: the data folder with
    the keys, if it is another one."""
    place = private_dir(folder / SPOOL)
    name = f"{time.time_ns():020d}-{os.getpid()}"
    block, _ = encode(events, 0, FileJournal((keys or folder) / "journal").encryption(owner))
    body = json.dumps(list(owner)).encode() + b"\n" + block
    descriptor = os.open(place / f"{name}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if os.write(descriptor, body) != len(body):
            raise OSError(ENOSPC, os.strerror(ENOSPC))  # a partial write must not count as kept
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    final = place / f"{name}.jsonl"
    (place / f"{name}.new").rename(final)
    return final


def read_spool(folder: Path, keys: Path | None = None) -> Iterator[tuple[Path, Owner, list[Event]]]:
    """The events in the spool, oldest first. A file that cannot be read now (newer version, disk error) stays
    for the next time; a foreign file is moved aside."""
    journal = FileJournal((keys or folder) / "journal")
    for path in sorted((folder / SPOOL).glob("*.jsonl")):
        try:
            head, _, rest = path.read_bytes().partition(b"\n")
            tenant, user = json.loads(head)
            owner = (str(tenant), str(user))
            yield path, owner, decode(rest, journal.decryption(owner))
        except OSError:
            continue
        except JournalTooNew:
            continue
        except (ValueError, JournalError):
            path.rename(path.with_suffix(".unreadable"))


def take_spool(journal: FileJournal, folder: Path) -> None:
    """Move the spool into the journal. After a crash a turn may be there twice; its id is the same, so it
    counts once."""
    for path, owner, events in read_spool(folder):
        with suppress(MemoryErased):
            record_turns(journal, owner, events)
        path.unlink(missing_ok=True)


def erase_spool(folder: Path, owner: Owner) -> int:
    """Delete what the spool holds of an owner, and files that nobody can attribute; returns their number."""
    count = 0
    for path in (*(folder / SPOOL).glob("*"), *(folder / OUTBOX / SPOOL).glob("*")):
        try:
            mine = json.loads(path.read_bytes().partition(b"\n")[0]) == list(owner)
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            mine = True
        if mine and (path.suffix != ".new" or not _is_new(path)):
            path.unlink(missing_ok=True)
            count += 1
    return count


def _is_new(path: Path) -> bool:
    """Whether a hook may still be writing this file; it checks for an erasure itself."""
    return time.time() - path.stat().st_mtime < UNFINISHED_SECONDS
