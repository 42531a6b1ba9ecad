"""From what was heard to memories: turns get their number in the session and are formed in bundles."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path

from nagori.app import Nagori
from nagori.core.bookkeeping import Placed, Space
from nagori.core.chatter import is_chatter
from nagori.core.fold import Event
from nagori.core.model import Kind, Scope, Source, Trust, Turn
from nagori.core.values import Value, batched
from nagori.edges.hooks.hearing import scrubbed
from nagori.edges.transcripts import claude_code
from nagori.edges.worker.drained import Drained
from nagori.errors import InvalidInput
from nagori.journal import FileJournal
from nagori.services import leaving
from nagori.services.remember import Draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AT_ONCE = 100  # events between two notes of how far we are
KILLED = timedelta(minutes=10)  # a prompt that was not answered for so long belongs to a killed session
GIVEN_UP = timedelta(days=7)
TRANSCRIPTS = {"claude-code": claude_code.read}
LIVE = "live"  # in a uri: heard from the host itself, not read from its files


class _Heard(Value):
    """One turn to be formed, and where it belongs."""

    role: str
    turn: Turn
    project: str | None
    agent: str | None = None
    agent_role: str | None = None

    @property
    def whose(self) -> tuple[str | None, str | None, str | None]:
        return self.project, self.agent, self.agent_role


def drain(memory: Nagori, space: Space, until: float = float("inf")) -> int:
    """Form what was heard in a space since the last time; how many turns."""
    journal = memory.parts.journal
    state = Drained.of(journal.folder(space))
    formed = 0
    for run in batched(journal.read(space, state.cursor), AT_ONCE):
        heard = list(_numbered(run, state))
        for (project, agent, role), group in groupby(heard, key=lambda each: each.whose):
            scope = Scope(tenant=space[0], user=space[1], project=project, agent=agent, role=role)
            there = memory.within(scope)
            formed += _form(there, list(group))
        state.cursor = run[-1].end
        state.save()
        if time.monotonic() > until:
            break
    return formed


def is_drained(journal: FileJournal, space: Space) -> bool:
    """Whether nothing readable is left. A torn or damaged line at the end is nothing to wait for."""
    cursor = Drained.of(journal.folder(space)).cursor
    return next(journal.read(space, cursor), None) is None


def waiting(memory: Nagori, space: Space) -> int:
    """How many turns were heard and are no memories yet."""
    journal = memory.parts.journal
    cursor = Drained.of(journal.folder(space)).cursor
    heard = (placed.event for placed in journal.read(space, cursor) if placed.event.type == "heard")
    return sum(event.data.get("host") != leaving.HOST for event in heard)  # those were formed at once


def _numbered(run: Iterable[Placed], state: Drained) -> Iterator[_Heard]:
    """The turns among the events, each with its number; what was heard twice is passed over."""
    for placed in run:
        event = placed.event
        if event.type != "heard":
            continue
        data = event.data
        if data.get("host") == leaving.HOST:  # formed when it left its window, unless a crash came between
            if turn := leaving.turn_of(data, event.at):
                whose = (data.get("project"), data.get("agent"), data.get("agent_role"))
                yield _Heard("user", turn, *whose)
            continue
        session, role, text = str(data["session"]), str(data["role"]), str(data["text"])
        talk = state.talk(session)
        speaker = f"{role} {data.get('speaker', '')}"
        if not talk.is_new(data.get("ref") or event.at.isoformat(), speaker, text):
            continue
        if role == "user":
            talk.unanswered = {**data, "text": "", "at": event.at.isoformat()}
        elif role == "assistant" and not data.get("speaker"):
            talk.unanswered = None
        turn = Turn(
            text,
            event.at,
            session=session,
            index=talk.turns,
            speaker=data.get("speaker"),
            role=Trust(role) if role in {"user", "assistant", "tool"} else Trust.ASSISTANT,
            uri=f"{data.get('host', 'raw')}-{LIVE}:{session}#{data.get('ref') or placed.event.seq}",
        )
        talk.turns += 1
        yield _Heard(role, turn, data.get("project"))


def _form(memory: Nagori, heard: list[_Heard]) -> int:
    """Memories of consecutive turns of one project. A turn that cannot be kept must not hold up the rest."""
    said = [
        each.turn for each in heard if each.role in ("user", "assistant") and not is_chatter(each.turn.text)
    ]
    others = [each for each in heard if each.role not in ("user", "assistant")]
    try:
        if said:
            memory.form(said)
        if others:
            memory.remember_many(map(_draft, others))
    except InvalidInput as fault:
        if len(heard) > 1:
            return sum(_form(memory, [each]) for each in heard)
        memory.parts.tell("worker.passed_over", reason=str(fault))
        return 0
    return len(heard)


def _draft(heard: _Heard) -> Draft:
    """What was not said by anybody: a tool's failure is a lesson, a recap is a summary."""
    turn = heard.turn
    return Draft(
        turn.text,
        kind=Kind.LESSON if heard.role == "tool" else Kind.SUMMARY,
        created=turn.at,
        source=Source(turn.session, turn.index, turn.speaker, turn.uri),
        trust=turn.role,
    )


# --- sessions that were killed --------------------------------------------------------------------


def finish_killed(memory: Nagori) -> None:
    """An answer that no hook heard may stand in the host's own file. It is written down as heard, so that
    the journal alone says what was said."""
    journal, now = memory.parts.journal, memory.parts.clock.now()
    for space in journal.spaces():
        state = Drained.of(journal.folder(space))
        for session, talk in state.talks.items():
            waiting = talk.unanswered
            if waiting is None or now - _since(waiting) < KILLED:
                continue
            size = _final_size(waiting, now)
            if size is not None and size != waiting.get("looked"):  # a long file is not read twice in vain
                events = [*_answers(memory, session, waiting)]
                if events:
                    with journal.locked(space):
                        journal.append(space, events)
                talk.unanswered = None if events else {**waiting, "looked": size}
                state.save()
            if now - _since(waiting) > GIVEN_UP:
                talk.unanswered = None
                state.save()


def _final_size(waiting: Mapping[str, Any], now: datetime) -> int | None:
    """How long the host's file is; None if there is none, or if somebody is still writing it: an answer may
    take longer than our patience, and then a hook will tell it."""
    try:
        file = Path(str(waiting.get("transcript") or "")).stat()
    except (OSError, ValueError):
        return None
    return file.st_size if now.timestamp() - file.st_mtime >= KILLED.total_seconds() else None


def _since(waiting: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(str(waiting["at"]))


def _answers(memory: Nagori, session: str, waiting: Mapping[str, Any]) -> Iterator[Event]:
    read = TRANSCRIPTS.get(str(waiting.get("host")))
    path = Path(str(waiting.get("transcript") or ""))
    if read is None or path.suffix != ".jsonl" or not path.is_file():
        return
    since = _since(waiting)
    if memory.parts.clock.now().timestamp() - path.stat().st_mtime < KILLED.total_seconds():
        return  # a file that still grows belongs to a session that lives: its hook will tell the answer
    kept: dict[str, Any] = {
        name: waiting[name] for name in ("host", "session", "project", "ref") if name in waiting
    }
    for turn in read(path):
        if turn.role is Trust.ASSISTANT and turn.session == session and turn.at >= since:
            text = scrubbed(turn.text, memory.parts.config)
            if text:
                yield Event("heard", turn.at, {**kept, "role": "assistant", "text": text}, by="worker")
