"""What a hook writes down: raw turns, into the journal, before anything else is done.

A hook makes no memories. It appends what it heard, scrubbed of private passages and secrets, and leaves; the
worker forms memories of it later. If the journal cannot be written (somebody holds it, it is damaged), the
words go into a file of their own in `spool/`, which the worker takes from there.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from errno import ENOSPC
from pathlib import Path

from nagori.config import Config
from nagori.core.bookkeeping import Space
from nagori.core.fold import Event
from nagori.core.privacy import fit_to_keep, without_memories
from nagori.edges.hooks.moment import At, Moment
from nagori.errors import JournalError
from nagori.journal import FileJournal, decode, encode
from nagori.paths import open_private, private_dir

ROLES = {
    At.PROMPT: "user",
    At.TURN_END: "assistant",
    At.SUBAGENT_END: "assistant",
    At.COMPACTED: "summary",
    At.TOOL_FAILED: "tool",
}
LONGEST = 200_000  # characters of one turn: nobody says more, programs do
PATIENCE = 1.0  # seconds to wait for the journal: the host waits for us, and the words are safe beside it
INSERTED = ("system-reminder", "last-session")  # by the host, by us (`<memories>` goes with what is private)


def heard(moment: Moment, project: str | None, config: Config, now: datetime) -> Event | None:
    """The event of a moment in which something was said; None when nothing is left of it."""
    role = ROLES.get(moment.at)
    text = _said(moment, config) if role else ""
    if not role or not text:
        return None
    data = {
        "host": moment.host,
        "session": moment.session,
        "role": role,
        "text": text,
        "project": project,
        "ref": moment.ref,
        "speaker": moment.speaker if moment.at is At.SUBAGENT_END else None,
        "transcript": moment.transcript,
    }
    said = {name: value for name, value in data.items() if value is not None}
    return Event("heard", now, said, by="host")


def _said(moment: Moment, config: Config) -> str:
    text = moment.text
    if moment.at is At.TOOL_FAILED:
        text = _failure(moment)
    elif moment.at is At.COMPACTED and "<summary>" in text:
        text = text.partition("<summary>")[2].partition("</summary>")[0]
    elif moment.at is At.SUBAGENT_END and not moment.speaker:
        return ""  # a compaction's own helper: its recap comes as such
    if moment.at is At.PROMPT and text.lstrip().startswith("/") and _is_built_in(text):
        return ""
    for tag in INSERTED:
        text = _without(text, tag)
    return scrubbed(without_memories(text), config)


def _is_built_in(prompt: str) -> bool:
    """Whether a prompt is a command of the host itself, which says nothing [ruling 26]."""
    from nagori.edges.transcripts.claude_code import BUILT_IN

    return prompt.split(None, 1)[0] in BUILT_IN


def _without(text: str, tag: str) -> str:
    """Without the blocks of this tag; one that is never closed is somebody's text."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    out, at = [], 0
    while (begin := text.find(opening, at)) >= 0 and (end := text.find(closing, begin)) >= 0:
        out.append(text[at:begin])
        at = end + len(closing)
    return "".join((*out, text[at:]))


def _failure(moment: Moment) -> str:
    error = " ".join(moment.error.split())[:1000]
    return f"{moment.tool or 'tool'} {moment.target}: {error}" if error else ""


def scrubbed(text: str, config: Config) -> str:
    """`text` as it may be written down [ruling 27]."""
    rules = config.privacy
    return fit_to_keep(text[:LONGEST], strip=rules.strip_private, redact=rules.redact_secrets)


# --- writing down ---------------------------------------------------------------------------------


def write_down(folder: Path, space: Space, events: Sequence[Event]) -> None:
    """Keep `events`: in the journal, or else beside it. OSError when neither can be written."""
    if not events:
        return
    journal, kept = FileJournal(folder / "journal", patience=PATIENCE), False
    try:
        private_dir(folder)
        with journal.locked(space):
            journal.append(space, events)
            kept = True
    except BaseException as trouble:  # also when our time is up while somebody else holds the journal
        if not kept:
            spool(folder, space, events)
        if not isinstance(trouble, (JournalError, OSError)):
            raise


def spool(folder: Path, space: Space, events: Sequence[Event]) -> Path:
    """A file of its own, in the journal's words."""
    place = private_dir(folder / "spool")
    name = f"{time.time_ns():020d}-{os.getpid()}"
    block, _ = encode(events, 0)
    body = json.dumps(list(space)).encode() + b"\n" + block
    descriptor = open_private(place / f"{name}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        if os.write(descriptor, body) != len(body):
            raise OSError(ENOSPC, os.strerror(ENOSPC))  # half of it would be called kept, and be lost
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    final = place / f"{name}.jsonl"
    (place / f"{name}.new").rename(final)
    return final


def spooled(folder: Path) -> Iterator[tuple[Path, Space, list[Event]]]:
    """What waits beside the journal, oldest first; what cannot be read is left where it is."""
    for path in sorted((folder / "spool").glob("*.jsonl")):
        try:
            head, _, rest = path.read_bytes().partition(b"\n")
            tenant, user = json.loads(head)
            yield path, (str(tenant), str(user)), decode(rest)
        except (OSError, ValueError, JournalError):
            path.rename(path.with_suffix(".unreadable"))
