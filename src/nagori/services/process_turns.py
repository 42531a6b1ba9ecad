"""Form memories from recorded turns, for the worker, the library and the context window alike.

Pending turns are in the store, so nothing is lost between recording and forming. After a crash they are still
pending, and forming a turn again adds nothing. A memory names the turn it was formed from.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby

from nagori.core.events import SESSIONS, THREADS, WORK, Event, RecordedTurn
from nagori.core.model import (
    Filter,
    Kind,
    Memory,
    Relation,
    RelationType,
    Scope,
    Source,
    Trust,
    Turn,
    TurnFilter,
)
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, check_kind, check_list, replace, split_batches
from nagori.errors import InvalidInput, StoreDamaged
from nagori.language.host_commands import is_built_in
from nagori.language.passages import is_chatter
from nagori.language.speech_acts import NO_WISH, WishKind, is_statement, without_wishes
from nagori.runtime import Progress, Runtime, no_progress
from nagori.services.formation import FormationInput, form_memories, read_wish
from nagori.services.link_similar_memories import link_event
from nagori.services.off_record_keep_and_forget_requests import obey_forget, withhold_turns
from nagori.services.record_turns_or_spool import WINDOW, record_new, turn_event
from nagori.services.remember import AT_ONCE as BUNDLE
from nagori.services.remember import Draft, remember_many

AT_ONCE = 100  # turns per batch; progress is saved after each
SPOKEN = ("user", "assistant", "import")
LIVE = "live"  # in a uri: recorded by a hook, not read from a transcript
LEAST_TURNS = 4  # a shorter thread is told by its memories
MOST_TURNS = 600  # turns of a store in which no thread was ended before
FEWEST_TO_SUMMARISE = 3  # memories of a session
TOLD = (500, 250)  # characters kept from the start and the end of a tool's result


def process(runtime: Runtime, owner: Owner, until: float = float("inf"), ended: Collection[str] = ()) -> int:
    """Form memories of an owner's pending turns; returns the number of turns processed. What came of memories
    that were shown is credited; `ended` are sessions that are known to be over."""
    has_old_notes = getattr(runtime.journal, "has_old_notes", None)  # only the file journal has note files
    if has_old_notes is not None and has_old_notes(owner):
        from nagori.services.upgrade_from_0_1 import adopt_notes

        adopt_notes(runtime, owner)
    runtime.ledger.catch_up(owner, turns=True)
    done, last = 0, None
    while turns := runtime.store.turns(owner, TurnFilter(pending=True, first=AT_ONCE)):
        if turns == last:  # they were marked as processed: without this it would never end
            raise StoreDamaged("error.store_row", reason="processed turns are pending")
        done, last = done + _process(runtime, owner, turns), turns
        if time.monotonic() > until:
            break
    if any(note.get("awaiting") for note in (runtime.store.state(owner, SESSIONS) or {}).values()):
        from nagori.services.lessons_and_credit import credit_sessions  # only where memories were shown

        credit_sessions(runtime, owner, ended)
    if ended and runtime.config.learning.session_summaries:
        for session in ended:
            store_summary(runtime, owner, session)
    if time.monotonic() > until:
        return done
    if runtime.config.threads.summaries or runtime.config.sessions.policy == "summaries":
        keep_thread_summaries(runtime, owner)
    if runtime.config.sessions.log_dir or runtime.config.sessions.cache:
        from nagori.services.redis_and_parquet_copies import copy_sessions

        copy_sessions(runtime, owner)
    return done


def keep_thread_summaries(runtime: Runtime, owner: Owner) -> None:
    """Keep summaries of the threads that have ended, each as a memory."""
    note = runtime.store.state(owner, THREADS) or {}
    after, last = note.get("upto", 0), None if note else MOST_TURNS
    turns = runtime.store.turns(owner, TurnFilter(after=after, last=last))
    if len(turns) >= LEAST_TURNS:  # a shorter thread has no summary
        from nagori.services.summarize_ended_threads import end_threads

        end_threads(runtime, owner, turns)


def store_summary(runtime: Runtime, owner: Owner, session: str) -> Memory | None:
    """Store the summary of a session that is over, once, as private as the most private memory of it."""
    from nagori.core.model import Privacy, is_thread_summary, strictest_privacy
    from nagori.services.summarize_session import summarise

    whole = Scope(tenant=owner[0], user=owner[1])
    found = runtime.store.find(whole, Filter(session=session), limit=1000)
    told = [memory for memory in found if not is_thread_summary(memory)]
    if len(told) < FEWEST_TO_SUMMARISE or any(memory.kind is Kind.SUMMARY for memory in told):
        return None
    projects = {memory.project for memory in told}
    closed = [memory for memory in told if memory.privacy is not Privacy.PUBLIC]
    owners = {(memory.agent, memory.role) for memory in closed}
    agent, role = next(iter(owners)) if len(owners) == 1 else (None, None)
    scope = replace(whole, project=projects.pop() if len(projects) == 1 else None, agent=agent, role=role)
    text = summarise(runtime, whole, session)
    if not text:
        return None
    draft = Draft(
        text,
        kind=Kind.SUMMARY,
        created=max(memory.created for memory in told),
        source=Source(session, uri=f"summary:{session}"),
        trust=Trust.ASSISTANT,
        privacy=Privacy(strictest_privacy(memory.privacy for memory in told)),
    )
    (kept,) = remember_many(runtime, scope, [draft])
    _link_to_session(runtime, scope, kept)
    return kept


def count_pending(runtime: Runtime, owner: Owner) -> int:
    """The number of unprocessed turns."""
    runtime.ledger.catch_up(owner, turns=True)
    return len(runtime.store.turns(owner, TurnFilter(pending=True)))


def _process(runtime: Runtime, owner: Owner, turns: Sequence[RecordedTurn]) -> int:
    formed = 0
    for (project, agent, role), group in groupby(turns, key=lambda t: (t.project, t.agent, t.agent_role)):
        scope = Scope(tenant=owner[0], user=owner[1], project=project, agent=agent, role=role)
        formed += _form(runtime, scope, list(group))
    mark_processed(runtime, owner, turns)
    return formed


def mark_processed(runtime: Runtime, owner: Owner, turns: Iterable[RecordedTurn]) -> None:
    """Mark these turns as processed."""
    data = {"turns": _ranges(sorted(turn.seq for turn in turns))}
    event = Event("turns_processed", runtime.clock.now(), data, by="worker")
    runtime.ledger.write(owner, lambda: [event] if data["turns"] else [], blind=True)


def _ranges(numbers: Sequence[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges


def _form(runtime: Runtime, scope: Scope, turns: Sequence[RecordedTurn]) -> int:
    """Form memories of consecutive turns of one project. A turn that cannot be stored does not stop the
    others."""
    others = [turn for turn in turns if turn.role not in (*SPOKEN, WORK) and turn.host != WINDOW]
    try:
        form_exchanges(runtime, scope, turns)
        if others:
            origins = {n: (turn.seq,) for n, turn in enumerate(others)}
            kept = remember_many(
                runtime, scope, [_draft(runtime, scope, turn) for turn in others], origins=origins
            )
            for memory in kept:
                _link_to_session(runtime, scope, memory)
        for turn in turns:
            if turn.role == WORK:
                from nagori.services.lessons_and_credit import form_lessons  # only where tools were used

                form_lessons(runtime, scope, turn)
    except InvalidInput as fault:
        if len(turns) > 1:
            return sum(_form(runtime, scope, [turn]) for turn in turns)
        runtime.observe("worker.passed_over", reason=fault.notice)
        return 0
    return len(turns)


class Exchange(Value):
    """What was said, and what was answered to it; one of the two may be missing."""

    turn: RecordedTurn
    answer: RecordedTurn | None = None

    @property
    def seqs(self) -> list[int]:
        return [each.seq for each in (self.turn, self.answer) if each is not None]


def form_exchanges(runtime: Runtime, scope: Scope, turns: Sequence[RecordedTurn]) -> list[Memory]:
    """Memories of what was said, in its order; what the user wishes of the memory is obeyed on the way."""
    formed: list[Memory] = []
    said: list[FormationInput] = []
    for exchange in pair_turns([*_open_prompts(runtime, scope.owner, turns), *turns]):
        users = _is_users(exchange.turn)
        wish = read_wish(runtime, scope.owner, exchange.turn.text) if users else NO_WISH
        if wish.kind in (WishKind.NOT_KEEP, WishKind.FORGET):
            if wish.kind is WishKind.FORGET:  # it may mean what was said just before
                formed, said = formed + form_memories(runtime, scope, said), []
                gone = {memory.id for memory in obey_forget(runtime, scope, wish, exchange.turn)}
                formed = [memory for memory in formed if memory.id not in gone]
                rest = "" if wish.learned else without_wishes(exchange.turn.text)
                if rest and is_statement(rest):  # what else was said is not to be forgotten
                    alone = Exchange(replace(exchange.turn, text=rest))
                    formed += form_memories(runtime, scope, _what_was_said(alone))
            withhold_turns(runtime, scope.owner, exchange.seqs)
        else:
            said += _what_was_said(exchange)
    return formed + form_memories(runtime, scope, said)


def _open_prompts(runtime: Runtime, owner: Owner, turns: Sequence[RecordedTurn]) -> Iterator[RecordedTurn]:
    """Questions whose answers come only now: a worker may have been faster than the answer. A statement
    became a memory by itself."""
    first = {turn.session: turn for turn in reversed(turns) if _is_plain(turn) and turn.session}
    for session, answer in first.items():
        if answer.role == "assistant":
            before = runtime.store.turns(owner, TurnFilter(session=session))
            earlier = [turn for turn in before if turn.seq < answer.seq and _is_plain(turn)]
            if earlier and _is_users(earlier[-1]) and not is_statement(earlier[-1].text):
                yield earlier[-1]


def pair_turns(turns: Sequence[RecordedTurn]) -> Iterator[Exchange]:
    """A conversation between a user and an assistant in exchanges; between people every utterance stands
    alone."""
    waiting: dict[str, RecordedTurn] = {}
    for turn in turns:
        if _is_users(turn):
            if before := waiting.pop(turn.session, None):
                yield Exchange(before)
            waiting[turn.session] = turn
        elif _is_plain(turn) and (prompt := waiting.pop(turn.session, None)):
            yield Exchange(prompt, turn)
        else:
            yield Exchange(turn)
    yield from map(Exchange, waiting.values())


def _is_users(turn: RecordedTurn) -> bool:
    return turn.role == "user" and _is_plain(turn)


def _is_plain(turn: RecordedTurn) -> bool:
    """Whether it belongs to a talk between a user and an assistant, as it was held."""
    return turn.role in ("user", "assistant") and turn.speaker is None and turn.host != WINDOW


def _what_was_said(exchange: Exchange) -> Iterator[FormationInput]:
    """What memories are formed of. A question, an order or a thanks alone is none."""
    turn, answer = exchange.turn, exchange.answer
    if answer is not None and is_chatter(answer.text):
        answer = None
    if not _is_spoken(turn):
        if answer is not None:
            yield FormationInput(_to_turn(answer), answer.seq)
    elif answer is not None:
        yield FormationInput(_to_turn(turn), turn.seq, answer.text, answer.seq)
    elif not _is_users(turn) or is_statement(turn.text):
        yield FormationInput(_to_turn(turn), turn.seq)


def _is_spoken(turn: RecordedTurn) -> bool:
    """Whether memories are formed from the words themselves; mere interjections are not remembered."""
    if turn.host == WINDOW:
        return turn.role in (*SPOKEN, "tool") and not is_chatter(turn.text)
    return turn.role in SPOKEN and not is_chatter(turn.text)


def _link_to_session(runtime: Runtime, scope: Scope, memory: Memory) -> None:
    """A summary of a session is derived from its newest memories, as many as relations are allowed [E16]."""
    session, most = memory.source.session, runtime.config.relations.max_relations_per_memory
    if memory.kind is not Kind.SUMMARY or not session or not most:
        return
    told = runtime.store.find(scope, Filter(session=session), limit=most + 1)
    sources = [each for each in told if each.id != memory.id and each.kind is not Kind.SUMMARY][:most]
    now, derived = runtime.clock.now(), RelationType.DERIVED_FROM

    def decide() -> list[Event]:
        known = set(runtime.store.relations(scope, [memory.id]))
        new = [each for each in sources if Relation(memory.id, each.id, derived) not in known]
        return [link_event(memory, each, derived, now, "worker") for each in new]

    runtime.ledger.write(scope.owner, decide)


def _to_turn(turn: RecordedTurn) -> Turn:
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


def _draft(runtime: Runtime, scope: Scope, turn: RecordedTurn) -> Draft:
    """The draft for a turn that nobody said: a tool's failure becomes a lesson; a recap becomes a summary of
    its session, as private as the most private memory of it."""
    from nagori.core.model import strictest_privacy

    spoken = _to_turn(turn)
    draft = Draft(
        spoken.text,
        kind=Kind.LESSON if turn.role == "tool" else Kind.SUMMARY,
        created=turn.at,
        source=Source(spoken.session, spoken.index, spoken.speaker, spoken.uri),
        trust=spoken.role,
    )
    if draft.kind is Kind.SUMMARY and turn.session:
        from nagori.core.model import Privacy

        told = runtime.store.find(scope, Filter(session=turn.session, archived=True), limit=1000)
        draft = replace(draft, privacy=Privacy(strictest_privacy(memory.privacy for memory in told)))
    return draft


# --- turns that are brought and formed at once ----------------------------------------------------


def form_turns(
    runtime: Runtime, scope: Scope, turns: Iterable[Turn], progress: Progress = no_progress
) -> list[Memory]:
    """Record turns of a conversation and form their memories. Repeating the same turns adds nothing."""
    formed: list[Memory] = []
    for bundle in split_batches(check_list("turns", turns), BUNDLE):
        told = _without_commands([check_kind("turns", turn, Turn) for turn in bundle])
        pairs = [(turn, event) for turn in told if (event := _event_of(runtime, scope, turn)) is not None]
        recorded = record_new(runtime, scope.owner, [event for _, event in pairs])
        said = [FormationInput(turn, known.seq) for (turn, _), known in zip(pairs, recorded, strict=True)]
        formed += form_memories(runtime, scope, said)
        _finish(runtime, scope.owner, recorded)
        progress(len(formed), 0)
    return formed


def _without_commands(turns: Sequence[Turn]) -> list[Turn]:
    """The turns without built-in commands of a host and what it printed for them [E14]."""
    kept: list[Turn] = []
    dropped = False
    for turn in turns:
        command = turn.role is Trust.USER and is_built_in(turn.text)
        dropped = command or (dropped and turn.role is not Trust.USER)
        if not dropped:
            kept.append(turn)
    return kept


def form_recorded(runtime: Runtime, scope: Scope, turns: Sequence[RecordedTurn]) -> list[Memory]:
    """Form the memories of some recorded turns, and mark these as processed."""
    formed = form_exchanges(runtime, scope, turns)
    _finish(runtime, scope.owner, turns)
    return formed


def _finish(runtime: Runtime, owner: Owner, turns: Sequence[RecordedTurn]) -> None:
    """Mark the turns as processed."""
    pending = [turn for turn in turns if not turn.processed]
    if pending:
        mark_processed(runtime, owner, pending)
    if not runtime.store.turns(owner, TurnFilter(pending=True, first=1)):
        runtime.journal.claim_work(owner)
        runtime.journal.finish_work(owner)


def _event_of(runtime: Runtime, scope: Scope, turn: Turn) -> Event | None:
    return turn_event(
        scope,
        runtime.config.privacy,
        text=turn.text,
        role=str(turn.role),
        at=turn.at,
        session=turn.session or "",
        index=turn.index,
        speaker=turn.speaker,
        uri=turn.uri,
        ref=turn.ref,
    )
