"""Record turns: append what was said to the journal, before memories are formed.

Hooks, library, context window, transcripts and servers all use this: a turn becomes an event `turn_recorded`,
without private passages and secrets. `ingest` forms memories later.

If the journal cannot be written (it is locked or damaged), a hook writes to a file of its own in `spool/`;
the worker reads it from there.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from errno import ENOSPC
from pathlib import Path

from nagori.core.events import Event
from nagori.errors import JournalError, JournalTooNew
from nagori.journals.file import FileJournal, decode, encode
from nagori.language.redaction import fit_to_keep
from nagori.ledger import record_turns
from nagori.paths import private_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.config.sections import PrivacySettings as PrivacySettings
    from nagori.core.model import Scope
    from nagori.core.storage import Owner

HOOK_PATIENCE = 1.0  # seconds to wait for the journal; the host is waiting, and the spool is safe, too
SPOOL = "spool"


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


# --- from a hook ----------------------------------------------------------------------------------


def record_or_spool(folder: Path, owner: Owner, events: Sequence[Event]) -> None:
    """Append turn events to the journal, or else to the spool. OSError if neither can be written."""
    if not events:
        return
    journal, recorded = FileJournal(folder / "journal", patience=HOOK_PATIENCE), False
    try:
        private_dir(folder)
        recorded = bool(record_turns(journal, owner, events))
    except BaseException as trouble:  # includes the timeout while another process holds the journal
        if not recorded:
            spool(folder, owner, events)
        if not isinstance(trouble, (JournalError, OSError)):
            raise


def spool(folder: Path, owner: Owner, events: Sequence[Event]) -> Path:
    """Write events to a spool file, in the journal's format."""
    place = private_dir(folder / SPOOL)
    name = f"{time.time_ns():020d}-{os.getpid()}"
    block, _ = encode(events, 0)
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


def read_spool(folder: Path) -> Iterator[tuple[Path, Owner, list[Event]]]:
    """The events in the spool, oldest first. A file that cannot be read now (newer version, disk error) stays
    for the next time; a foreign file is moved aside."""
    for path in sorted((folder / SPOOL).glob("*.jsonl")):
        try:
            head, _, rest = path.read_bytes().partition(b"\n")
            tenant, user = json.loads(head)
            yield path, (str(tenant), str(user)), decode(rest)
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
        record_turns(journal, owner, events)
        path.unlink()
