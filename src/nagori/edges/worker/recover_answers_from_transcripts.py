"""Recover killed sessions: record an answer from the host's transcript if no hook did.

It is recorded like any other turn, so the journal stays the only source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path

from nagori.core.events import OPEN_PROMPTS, Event
from nagori.core.model import Scope, Trust
from nagori.core.storage_types import Owner
from nagori.edges.importers import claude_code
from nagori.event_ledger import record_turns
from nagori.runtime import Runtime
from nagori.services.record_turns_or_spool import turn_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KILLED = timedelta(minutes=10)  # a prompt without an answer for this long belongs to a killed session
GIVEN_UP = timedelta(days=7)
TRANSCRIPTS = {"claude-code": claude_code.read}
LONGEST = 200_000  # maximum characters of one turn
LOOKED = "transcripts_looked_at"  # state: size of a transcript when it held no answer


def finish_killed(runtime: Runtime, owner: Owner) -> int:
    """Record the answers of killed sessions; returns their number."""
    now, recorded = runtime.clock.now(), 0
    for session, prompt in (runtime.store.state(owner, OPEN_PROMPTS) or {}).items():
        if not KILLED <= now - _time_of(prompt) <= GIVEN_UP:
            continue
        size = _final_size(prompt, now)
        looked = runtime.store.state(owner, LOOKED) or {}
        if size is None or looked.get(session) == size:  # unchanged since the last look
            continue
        events = list(_answers(runtime, owner, session, prompt))
        recorded += len(record_turns(runtime.journal, owner, events))
        if not events:
            newest = dict([*looked.items(), (session, size)][-50:])
            runtime.ledger.set_state(owner, LOOKED, newest, now, by="worker")
    return recorded


def _final_size(prompt: Mapping[str, Any], now: datetime) -> int | None:
    """The size of the transcript; None if there is none or it is still being written: then a hook may still
    record the answer."""
    try:
        file = Path(str(prompt.get("transcript") or "")).stat()
    except (OSError, ValueError):
        return None
    return file.st_size if now.timestamp() - file.st_mtime >= KILLED.total_seconds() else None


def _time_of(prompt: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(str(prompt["at"]))


def _answers(runtime: Runtime, owner: Owner, session: str, prompt: Mapping[str, Any]) -> Iterator[Event]:
    read = TRANSCRIPTS.get(str(prompt.get("host")))
    path = Path(str(prompt.get("transcript") or ""))
    if read is None or path.suffix != ".jsonl" or not path.is_file():
        return
    scope = Scope(
        tenant=owner[0],
        user=owner[1],
        project=prompt.get("project"),
        agent=prompt.get("agent"),
        role=prompt.get("agent_role"),
    )
    since = _time_of(prompt)
    for turn in read(path):
        if turn.role is Trust.ASSISTANT and turn.session == session and turn.at >= since:
            event = turn_event(
                scope,
                runtime.config.privacy,
                text=turn.text[:LONGEST],
                role="assistant",
                at=turn.at,
                session=session,
                by="worker",
                host=prompt.get("host"),
                ref=prompt.get("ref"),
            )
            if event is not None:
                yield event
