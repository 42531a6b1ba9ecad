"""Learn from what agents did with the memories they were shown: lessons and credit.

    lessons   a tool failed, and then worked on the same target: what worked is a lesson, linked to both
    credit    provisional at the end of a turn, final when its session is over [S7]

The final credit of a session is one event that holds the resulting numbers and removes the turns it was made
of, in one commit: a kill at any moment credits nothing twice.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from nagori.core.events import LEARNED, SESSIONS, WORK, Event, RecordedTurn
from nagori.core.memory_scores import contribution
from nagori.core.model import (
    NO_CREDIT,
    Credit,
    Filter,
    Kind,
    Memory,
    Relation,
    RelationType,
    Scope,
    Source,
    TaskOutcome,
    Trust,
    TurnFilter,
)
from nagori.core.outcomes_lessons_and_credit import (
    Evidence,
    ToolLesson,
    ToolResult,
    UsualOutcome,
    credit_turn,
    find_lessons,
    outcome_of,
)
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value
from nagori.event_ledger import Decision, read_memories
from nagori.language.passages import shares_own_words
from nagori.language.speech_acts import rejects_answer
from nagori.runtime import Runtime
from nagori.services.learned_settings import round_numbers, settings_in_force
from nagori.services.link_similar_memories import link_event
from nagori.services.remember import Draft, remember_many

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OVER = timedelta(minutes=10)  # a session without a turn for so long is over
NIGHT = timedelta(hours=12)  # at least so much time lies between two steps of a policy
OF_TARGET, OF_ANSWER = 0.1, 0.3  # share of its own words in a call, which is short, and in an answer
GOOD = 0.5  # outcome from which a use strengthens
DOUBTFUL = 0.1  # of confidence above the minimum: a prompt that hardly needs memories
LONGEST_TARGET, LONGEST_ERROR = 160, 120  # characters of a call and of an error in a lesson


# --- lessons --------------------------------------------------------------------------------------


def read_results(turn: RecordedTurn) -> list[ToolResult]:
    """What tools did in a turn; lines that say something else are left out."""
    results = []
    for line in turn.text.splitlines():
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            continue
        match told:
            case [str(tool), str(target), bool(ok), int(ms), str(error), int(times)] if ms >= 0 < times:
                results.append(ToolResult(tool, target, ok, ms, error, times))
    return results


def form_lessons(runtime: Runtime, scope: Scope, turn: RecordedTurn) -> list[Memory]:
    """Lessons of failures in this session that ended in a success in this turn."""
    before = runtime.store.turns(scope.owner, TurnFilter(session=turn.session))
    earlier = [
        each
        for each in before
        if each.role == WORK
        and each.seq < turn.seq
        and (each.agent, each.project) == (turn.agent, turn.project)
    ]
    old = [result for each in earlier for result in read_results(each)]
    new = read_results(turn)
    known = {(lesson.failure, lesson.success) for lesson in find_lessons(old)}
    found = [lesson for lesson in find_lessons([*old, *new]) if (lesson.failure, lesson.success) not in known]
    drafts = [_draft_lesson(lesson, turn) for lesson in found]
    origins = {n: [each.seq for each in (*earlier, turn)] for n in range(len(drafts))}
    formed = remember_many(runtime, scope, drafts, origins=origins)
    for lesson, memory in zip(found, formed, strict=True):
        _link_lesson(runtime, scope, lesson, memory)
    return formed


def _draft_lesson(lesson: ToolLesson, turn: RecordedTurn) -> Draft:
    failure, success = lesson.failure, lesson.success
    wrong, right = _call(failure), _call(success)
    error = f": {failure.error[:LONGEST_ERROR]}" if failure.error else ""
    if lesson.between is not None:
        text = f"{right} worked after {_call(lesson.between)}; before it failed{error}"
    elif failure.target == success.target:
        text = f"{right} worked when it was run again; before it failed{error}"
    else:  # what works comes first: it is what is left when the text is shortened
        text = f"{right} worked; {wrong} failed{error}"
    uri = f"{turn.host or 'raw'}-work:{turn.session}#{turn.seq}"
    return Draft(
        text,
        kind=Kind.LESSON,
        created=turn.at,
        source=Source(turn.session or None, uri=uri),
        trust=Trust.TOOL,
        outcome=TaskOutcome.SUCCESS,
    )


def _call(result: ToolResult) -> str:
    return f"{result.tool} `{result.target[:LONGEST_TARGET]}`"


def _link_lesson(runtime: Runtime, scope: Scope, lesson: ToolLesson, memory: Memory) -> None:
    """Link a lesson to the memory of the failure it was made from, and to what was said about the work."""
    session = memory.source.session
    if not session or not runtime.config.relations.max_relations_per_memory:
        return
    there = runtime.store.find(scope, Filter(session=session), limit=200)  # newest first
    begins = f"{lesson.failure.tool} {lesson.failure.target}:"
    failed = [m for m in there if m.kind is Kind.LESSON and m.fullest.content.startswith(begins)]
    said = [m for m in there if m.kind is not Kind.LESSON and m.kind is not Kind.SUMMARY]
    wanted = [(m, RelationType.DERIVED_FROM) for m in failed[-1:]]
    wanted += [(m, RelationType.REFERENCES) for m in said[:1]]
    now = runtime.clock.now()

    def decide() -> list[Event]:
        known = set(runtime.store.relations(scope, [memory.id]))
        new = [(m, type) for m, type in wanted if Relation(memory.id, m.id, type) not in known]
        return [link_event(memory, m, type, now, "worker") for m, type in new if m.id != memory.id]

    runtime.ledger.write(scope.owner, decide)


# --- credit ---------------------------------------------------------------------------------------


class TurnObservation(Value):
    """What came of the memories shown in one turn."""

    seq: int  # of the event that showed them
    outcome: float | None
    seconds: float
    used: Mapping[str, float | None]  # memories that were used, and the outcome of what they were used in


def credit_sessions(runtime: Runtime, owner: Owner, ended: Collection[str] = ()) -> int:
    """Credit the memories that were shown: provisionally at the end of a turn, and finally where the session
    is over. Returns the number of sessions with a final credit. `ended`: sessions that are known to be."""
    runtime.ledger.catch_up(owner, turns=True)
    notes = runtime.store.state(owner, SESSIONS) or {}
    final = 0
    for session in [session for session, note in notes.items() if note.get("awaiting")]:
        turns = runtime.store.turns(owner, TurnFilter(session=session))
        awaiting = notes[session]["awaiting"]
        over = session in ended or _is_over(runtime, turns, awaiting)
        for observed in _observe(runtime, owner, turns, awaiting, over):
            _write_provisional(runtime, owner, session, observed)
        if over:
            final += _write_final(runtime, owner, session, _rejected_turns(turns, awaiting))
    return final


def _is_over(runtime: Runtime, turns: Sequence[RecordedTurn], awaiting: Sequence[Mapping[str, Any]]) -> bool:
    last = max((turn.at for turn in turns), default=None)
    shown = datetime.fromisoformat(awaiting[-1]["at"])
    return runtime.clock.now() - max(shown, last or shown) >= OVER


def _observe(
    runtime: Runtime,
    owner: Owner,
    turns: Sequence[RecordedTurn],
    awaiting: Sequence[Mapping[str, Any]],
    over: bool,
) -> Iterator[TurnObservation]:
    """What came of turns that have an answer and were not observed yet."""
    ends = [*(turn["seq"] for turn in awaiting[1:]), float("inf")]
    for shown, end in zip(awaiting, ends, strict=True):
        if "used" in shown:
            continue
        here = [turn for turn in turns if shown["seq"] < turn.seq < end]
        answers = [turn.text for turn in here if turn.role == "assistant"]
        if not answers and not over:
            continue
        prompt = _prompt_of(turns, shown["seq"])
        results = [result for turn in here if turn.role == WORK for result in read_results(turn)]
        memories = read_memories(runtime.store, owner, shown["order"])
        uses = {id: _use(memory, prompt, results, answers) for id, memory in memories.items()}
        withheld = shown.get("withheld")
        used = {id: outcome for id, (is_used, outcome) in uses.items() if is_used and id != withheld}
        seconds = sum(result.ms for result in results) / 1000
        yield TurnObservation(shown["seq"], outcome_of(results) if results else None, seconds, used)


def _prompt_of(turns: Sequence[RecordedTurn], seq: int) -> str:
    """The prompt that memories were shown for: a hook records it before, a program perhaps after that."""
    before = next((turn.text for turn in reversed(turns) if turn.seq < seq and turn.role == "user"), "")
    after = next((turn for turn in turns if turn.seq > seq and turn.role in ("user", "assistant")), None)
    return f"{before}\n{after.text}" if after is not None and after.role == "user" else before


def _use(
    memory: Memory, prompt: str, results: Sequence[ToolResult], answers: Sequence[str]
) -> tuple[bool, float | None]:
    """Whether a memory was used, and the outcome of what it was used in, if known: its words, other than
    those of the prompt, stand in a tool's target or in the answer."""
    words = memory.fullest.whole
    calls = [result for result in results if shares_own_words(words, prompt, result.target, OF_TARGET)]
    if calls:
        return True, float(calls[-1].ok)
    used = any(shares_own_words(words, prompt, answer, OF_ANSWER) for answer in answers)
    return used, outcome_of(results) if results else None


def _rejected_turns(turns: Sequence[RecordedTurn], awaiting: Sequence[Mapping[str, Any]]) -> set[int]:
    """The turns whose answer the user rejected in the next prompt: "no, that's wrong"."""
    rejected = set()
    for shown in awaiting:
        after = [turn for turn in turns if turn.seq > shown["seq"] and turn.role in ("user", "assistant")]
        answered = next((n for n, turn in enumerate(after) if turn.role == "assistant"), len(after))
        following = next((turn for turn in after[answered:] if turn.role == "user"), None)
        if following is not None and rejects_answer(following.text):
            rejected.add(shown["seq"])
    return rejected


def _write_provisional(runtime: Runtime, owner: Owner, session: str, observed: TurnObservation) -> None:
    seen = {
        "seq": observed.seq,
        "outcome": observed.outcome,
        "seconds": round(observed.seconds, 3),
        "used": dict(observed.used),
    }
    event = Event("credited", runtime.clock.now(), {"session": session, "provisional": seen}, by="worker")

    def decide() -> list[Event]:
        note = (runtime.store.state(owner, SESSIONS) or {}).get(session, {})
        open_turns = [turn["seq"] for turn in note.get("awaiting", ()) if "used" not in turn]
        return [event] if observed.seq in open_turns else []

    runtime.ledger.write(owner, decide)


def _write_final(runtime: Runtime, owner: Owner, session: str, rejected: Collection[int]) -> int:
    """Credit all observed turns of a session in one event; returns whether there were any."""

    def decide() -> Decision:
        note = (runtime.store.state(owner, SESSIONS) or {}).get(session, {})
        turns = [turn for turn in note.get("awaiting", ()) if "used" in turn]
        if not turns:
            return Decision([], 0)
        books = _Books(runtime, owner, turns)
        for turn in turns:
            books.enter(turn, turn["seq"] in rejected)
        data = {"session": session, "through": turns[-1]["seq"], **books.entries()}
        return Decision([Event("credited", runtime.clock.now(), data, by="worker")], 1)

    return int(runtime.ledger.write(owner, decide).result)


class _Books:
    """The credits of some memories, the usual outcomes of their tasks, and the evidence about settings."""

    def __init__(self, runtime: Runtime, owner: Owner, turns: Sequence[Mapping[str, Any]]) -> None:
        ids = list(dict.fromkeys(id for turn in turns for id in turn["order"]))
        self.credits: dict[str, Credit] = {
            id: memory.credit for id, memory in read_memories(runtime.store, owner, ids).items()
        }
        learned = runtime.store.state(owner, LEARNED) or {}
        self.usual = {name: UsualOutcome(*value) for name, value in learned.get("usual", {}).items()}
        self.evidence = {name: Evidence(*value) for name, value in learned.get("evidence", {}).items()}
        self.config = settings_in_force(runtime, owner)
        self.touched: set[str] = set()  # tasks and settings
        self.strengthened: dict[str, None] = {}

    def enter(self, turn: Mapping[str, Any], rejected: bool) -> None:
        """Enter what came of one turn."""
        outcome = 0.0 if rejected else turn["outcome"]
        task, withheld = str(turn.get("task") or ""), turn.get("withheld")
        usual = self.usual.get(task, UsualOutcome())
        self._weigh_settings(turn, None if outcome is None else outcome - usual.outcome)
        saved = usual.usual_seconds - turn["seconds"] if outcome is not None and usual.count else 0.0
        for id in turn["order"]:
            if id not in self.credits:  # it was deleted meanwhile
                continue
            used = id in turn["used"]
            own = 0.0 if used and rejected else turn["used"].get(id, outcome) if used else outcome
            surplus = 0.0 if own is None else own - usual.outcome
            if id != withheld or outcome is not None:
                self.credits[id] = credit_turn(
                    self.credits[id], surplus, used=used, withheld=id == withheld, saved=saved
                )
            if used and (own is None or own >= GOOD):
                self.strengthened[id] = None
        if outcome is not None:
            self.usual[task] = usual.after(outcome, turn["seconds"])
            self.touched.add(task)

    def _weigh_settings(self, turn: Mapping[str, Any], surplus: float | None) -> None:
        """What the turn says about each setting, by the memory in question."""
        withheld, share = turn.get("withheld"), float(turn.get("share") or 0.0)
        for name, id in self._in_question(turn):
            seen = self.evidence.get(name, Evidence())
            if surplus is not None and 0 < share < 1:
                seen = seen.after_outcome(surplus, id == withheld, share)
            if id != withheld:
                seen = seen.after_showing(id in turn["used"])
            self.evidence[name] = seen
            self.touched.add(name)

    def _in_question(self, turn: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        order = [id for id in turn["order"] if id in self.credits]
        if not order:
            return
        if len(order) >= self.config.hooks.max_memories:
            yield "hooks.max_memories", order[-1]
        if turn.get("sure", 1.0) < self.config.hooks.min_confidence + DOUBTFUL:
            yield "hooks.min_confidence", order[0]
        limit = self.config.learning.exclude_unused_after
        unused = [id for id in order if limit and self.credits[id].unused >= limit / 2]
        harmful = [id for id in order if contribution(self.credits[id]) < 0]
        for name, ids in (("exclude_unused_after", unused), ("credit_weight", harmful)):
            if ids:
                yield f"learning.{name}", ids[0]

    def entries(self) -> dict[str, Any]:
        """The resulting numbers, as the event holds them."""
        changed = {id: credit for id, credit in self.credits.items() if credit != NO_CREDIT}
        usual = {name: value for name, value in self.usual.items() if name in self.touched}
        evidence = {name: value for name, value in self.evidence.items() if name in self.touched}
        return {
            "memories": list(changed),
            "credits": {id: round_numbers(credit) for id, credit in changed.items()},
            "strengthened": list(self.strengthened),
            "usual": {name: round_numbers(value) for name, value in usual.items()},
            "evidence": {name: round_numbers(value) for name, value in evidence.items()},
        }
