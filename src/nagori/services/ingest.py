"""Ingest: recorded turns become memories. The same for the worker, the library and what leaves a window.

Pending turns stand in the store, so nothing is lost between recording and forming; a crash in between leaves
them pending, and forming a turn again adds nothing. What a turn becomes names the turn it came from.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import groupby

from nagori.core.arguments import check_kind, check_list
from nagori.core.events import Event, RecordedTurn, fold, turn_id
from nagori.core.model import Kind, Memory, Scope, Source, Trust, Turn, TurnFilter
from nagori.core.storage import Space
from nagori.core.values import batched
from nagori.errors import InvalidInput, StoreError
from nagori.language.passages import is_chatter
from nagori.ledger import record_turns
from nagori.runtime import Parts, Progress, no_progress
from nagori.services.formation import Said, form_said
from nagori.services.record import turn_event
from nagori.services.remember import AT_ONCE as BUNDLE
from nagori.services.remember import Draft, remember_many

AT_ONCE = 100  # turns between two notes of how far we are
SPOKEN = ("user", "assistant", "import")
WINDOW = "window"  # the host's name of what left a context window
LIVE = "live"  # in a uri: heard from the host itself, not read from its files
TOLD = (500, 250)  # characters from the beginning and the end of a tool's result that become a memory


def process(parts: Parts, space: Space, until: float = float("inf")) -> int:
    """Form what is pending in a space; how many turns were processed."""
    has_old_notes = getattr(parts.journal, "has_old_notes", None)  # only files have notes beside them
    if has_old_notes is not None and has_old_notes(space):
        from nagori.services.upgrade import adopt_notes

        adopt_notes(parts, space)
    parts.ledger.catch_up(space, turns=True)
    done = 0
    while turns := parts.store.turns(space, TurnFilter(pending=True, first=AT_ONCE)):
        done += _process(parts, space, turns)
        if time.monotonic() > until:
            break
    return done


def count_pending(parts: Parts, space: Space) -> int:
    """How many turns wait to be processed."""
    parts.ledger.catch_up(space, turns=True)
    return len(parts.store.turns(space, TurnFilter(pending=True)))


def _process(parts: Parts, space: Space, turns: Sequence[RecordedTurn]) -> int:
    formed = 0
    for (project, agent, role), group in groupby(turns, key=lambda t: (t.project, t.agent, t.agent_role)):
        scope = Scope(tenant=space[0], user=space[1], project=project, agent=agent, role=role)
        formed += _form(parts, scope, list(group))
    mark_processed(parts, space, turns)
    return formed


def mark_processed(parts: Parts, space: Space, turns: Iterable[RecordedTurn]) -> None:
    """These turns need no more processing."""
    data = {"turns": _ranges(sorted(turn.seq for turn in turns))}
    event = Event("turns_processed", parts.clock.now(), data, by="worker")
    parts.ledger.write(space, lambda: [event] if data["turns"] else [], blind=True)


def _ranges(numbers: Sequence[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges


def _form(parts: Parts, scope: Scope, turns: Sequence[RecordedTurn]) -> int:
    """Memories of consecutive turns of one project. A turn that cannot be kept must not hold up the rest."""
    said = [Said(_spoken(turn), turn.seq) for turn in turns if _is_spoken(turn)]
    others = [turn for turn in turns if turn.role not in SPOKEN and turn.host != WINDOW]
    try:
        if said:
            form_said(parts, scope, said)
        if others:
            origins = {n: (turn.seq,) for n, turn in enumerate(others)}
            remember_many(parts, scope, [_draft(parts, scope, turn) for turn in others], origins=origins)
    except InvalidInput as fault:
        if len(turns) > 1:
            return sum(_form(parts, scope, [turn]) for turn in turns)
        parts.tell("worker.passed_over", reason=str(fault))
        return 0
    return len(turns)


def _is_spoken(turn: RecordedTurn) -> bool:
    """Whether memories are formed of the words themselves; mere noises are not remembered."""
    if turn.host == WINDOW:
        return turn.role in (*SPOKEN, "tool") and not is_chatter(turn.text)
    return turn.role in SPOKEN and not is_chatter(turn.text)


def _spoken(turn: RecordedTurn) -> Turn:
    text = turn.text
    if turn.role == "tool" and len(text) > sum(TOLD):
        text = f"{text[: TOLD[0]]}\n…\n{text[-TOLD[1] :]}"
    return Turn(
        text,
        turn.at,
        session=turn.session or None,
        index=turn.index,
        speaker=turn.speaker,
        role=Trust(turn.role) if turn.role in set(Trust) else Trust.ASSISTANT,
        uri=turn.uri or _uri(turn),
    )


def _uri(turn: RecordedTurn) -> str:
    return f"{turn.host or 'raw'}-{LIVE}:{turn.session}#{turn.ref or turn.seq}"


def _draft(parts: Parts, scope: Scope, turn: RecordedTurn) -> Draft:
    """What was not said by anybody: a tool's failure is a lesson; a recap is a summary of its session, as
    private as the most private thing it tells of."""
    from nagori.core.model import strictest

    spoken = _spoken(turn)
    draft = Draft(
        spoken.text,
        kind=Kind.LESSON if turn.role == "tool" else Kind.SUMMARY,
        created=turn.at,
        source=Source(spoken.session, spoken.index, spoken.speaker, spoken.uri),
        trust=spoken.role,
    )
    if draft.kind is Kind.SUMMARY and turn.session:
        from nagori.core.model import Filter, Privacy
        from nagori.core.values import replace

        told = parts.store.find(scope, Filter(session=turn.session, archived=True), limit=1000)
        draft = replace(draft, privacy=Privacy(strictest(memory.privacy for memory in told)))
    return draft


# --- turns that are brought and formed at once ----------------------------------------------------


def form_turns(
    parts: Parts, scope: Scope, turns: Iterable[Turn], progress: Progress = no_progress
) -> list[Memory]:
    """Record turns of a conversation and form their memories. Telling the same turns again adds nothing."""
    formed: list[Memory] = []
    for bundle in batched(check_list("turns", turns), BUNDLE):
        told = [check_kind("turns", turn, Turn) for turn in bundle]
        pairs = [(turn, event) for turn in told if (event := _event_of(parts, scope, turn)) is not None]
        recorded = _record_new(parts, scope.space, [event for _, event in pairs])
        said = [Said(turn, known.seq) for (turn, _), known in zip(pairs, recorded, strict=True)]
        formed += form_said(parts, scope, said)
        _finish(parts, scope.space, recorded)
        progress(len(formed), 0)
    return formed


def ingest(parts: Parts, scope: Scope, events: Sequence[Event]) -> list[Memory]:
    """Record turns that are not known yet, and form memories of those at once."""
    recorded = [turn for turn in _record_new(parts, scope.space, events) if not turn.processed]
    formed = form_said(parts, scope, [Said(_spoken(turn), turn.seq) for turn in recorded if _is_spoken(turn)])
    _finish(parts, scope.space, recorded)
    return formed


def _record_new(parts: Parts, space: Space, events: Sequence[Event]) -> list[RecordedTurn]:
    """The turns of these events, in order; those that are not known yet are recorded now."""
    known = _known_turns(parts, space, events)
    fresh = {_id(event): event for event in events if _id(event) not in known}
    written = record_turns(parts.journal, space, list(fresh.values()))
    known |= {turn.id: turn for turn in fold(written, {}).turns}
    return [known[_id(event)] for event in events]


def _finish(parts: Parts, space: Space, turns: Sequence[RecordedTurn]) -> None:
    """They are formed: nobody need come back to them."""
    pending = [turn for turn in turns if not turn.processed]
    if pending:
        mark_processed(parts, space, pending)
    if not parts.store.turns(space, TurnFilter(pending=True, first=1)):
        parts.journal.claim_work(space)
        parts.journal.finish_work(space)


def _event_of(parts: Parts, scope: Scope, turn: Turn) -> Event | None:
    return turn_event(
        scope,
        parts.config.privacy,
        text=turn.text,
        role=str(turn.role),
        at=turn.at,
        session=turn.session or "",
        index=turn.index,
        speaker=turn.speaker,
        uri=turn.uri,
        ref=turn.ref,
    )


def _known_turns(parts: Parts, space: Space, events: Sequence[Event]) -> dict[str, RecordedTurn]:
    """Those that were recorded before; none when the store cannot say."""
    try:
        parts.ledger.catch_up(space, turns=True)
        known = parts.store.turns(space, TurnFilter(ids=tuple(_id(event) for event in events)))
    except StoreError:
        return {}
    return {turn.id: turn for turn in known}


def _id(event: Event) -> str:
    return str(event.data.get("turn") or turn_id(event.data, event.at))
