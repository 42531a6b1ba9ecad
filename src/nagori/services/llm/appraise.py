"""Appraise memories by a language model, after rules have appraised them at formation [L11].

Memories are stored at once, appraised by rules. The queue for the model is a query to the store: memories
that no model has appraised. So nothing can be lost from it, and a missing answer costs only the better
appraisal. Many turns go into one request. If an answer is unusable, the request is repeated in halves, so
that one odd turn does not affect the others. A turn that keeps failing keeps the rules' appraisal, and its
log says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from nagori.core.events import Event
from nagori.core.llm import CompletionRequest
from nagori.core.model import Filter, Memory, Scope
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, default_factory
from nagori.errors import ModelError, Notice, UnusableAnswer
from nagori.event_ledger import read_memories
from nagori.language.passages import about_tokens
from nagori.leases import lease
from nagori.runtime import Progress, Runtime, no_progress
from nagori.services.llm.appraisal_schema_and_events import (
    LONGEST,
    SCHEMA,
    events,
    longest,
    match_items,
    passages_of,
)
from nagori.services.llm.batch_api import BatchAnswer, BatchJobs
from nagori.services.llm.client import TIMED_OUT, ask, ask_tokens, cost_of, price_for, question_of
from nagori.services.llm.failure_counts_and_batch_size import ModelHealth
from nagori.services.upgrade_from_0_1 import adopt_notes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STAGE = "appraise"
LOOKED_AT = 500  # memories read from the queue at a time
MOST_WAITING = 10_000  # maximum of the reported count
READ = 5000  # maximum tokens of one request
CONTEXT = 3  # preceding turns, for context
PASSAGE_TOKENS = 20  # overhead of a passage in the request
ILL = 5  # unusable answers in a row after which the model is considered faulty
ATTEMPTS = 3


class AppraisalReport(Value, frozen=False):
    """The result of a run."""

    judged: int = 0
    by_rules: list[str] = default_factory(list)  # given up: the rules' appraisal stays
    questions: int = 0
    waiting: int = 0
    trouble: Notice | None = None


def appraise_with_llm(
    runtime: Runtime,
    owner: Owner,
    since: datetime | None = None,
    progress: Progress = no_progress,
    stop: Callable[[], bool] = lambda: False,
) -> AppraisalReport:
    """Let the model appraise the queue until it is empty, the model fails, or `stop` says so."""
    round, llm = AppraisalReport(), runtime.llm
    if llm is None or not runtime.config.llm.appraise:
        return round
    since = since or _since(runtime)
    adopt_notes(runtime, owner)
    with lease(runtime, owner, "appraise"):
        work = _AppraisalRound(runtime, owner, llm.model, round)
        if BatchJobs.is_wanted(runtime):
            work.by_post(since)
        size = work.health.size(runtime.config.llm.memories_per_request)
        while not BatchJobs.is_wanted(runtime) and (batches := _batches(work.find_waiting(since), size)):
            before: Sequence[Memory] = ()
            for batch in batches:
                work.try_batch(batch, _context(before, batch))
                before = batch
                progress(round.judged, 0)
                if round.trouble or stop():
                    break
            if round.trouble or stop():
                break
        if round.judged and not round.trouble:
            work.health.in_time(runtime.config.llm.memories_per_request)
        round.waiting = len(_find_unappraised(runtime, owner, since, MOST_WAITING))
        if round.questions or round.trouble:  # without a request the model's health is unknown
            work.health.note(round.trouble, runtime.clock.now())
        work.health.save()
    return round


class Estimate(Value):
    """The maximum cost of an appraisal run."""

    memories: int
    questions: int
    input_tokens: int
    output_tokens: int
    usd: float


def estimate(runtime: Runtime, owner: Owner, since: datetime | None = None) -> Estimate:
    """The maximum cost of appraising the whole queue now."""
    waiting = _find_unappraised(runtime, owner, since or _since(runtime), MOST_WAITING)
    batches = _batches(waiting, ModelHealth.of(runtime, owner).size(runtime.config.llm.memories_per_request))
    price = price_for(runtime.config.llm)
    task = ask_tokens(STAGE, SCHEMA)
    shown = [*waiting, *(memory for pair in pairwise(batches) for memory in _context(*pair))]
    read = sum(about_tokens(memory.text.whole[:LONGEST]) + PASSAGE_TOKENS for memory in shown)
    read = round((read + task * len(batches)) * price.tokens)
    written = sum(map(longest, batches))
    return Estimate(len(waiting), len(batches), read, written, cost_of(price, read, written))


def _find_unappraised(runtime: Runtime, owner: Owner, since: datetime, limit: int) -> list[Memory]:
    """Memories that only rules have appraised, oldest first."""
    scope = Scope(tenant=owner[0], user=owner[1])
    wanted = Filter(since=since, unappraised=True)
    return runtime.store.find(scope, wanted, limit=limit, oldest_first=True)


def _since(runtime: Runtime) -> datetime:
    return runtime.clock.now() - timedelta(days=runtime.config.llm.appraise_days)


def _batches(memories: Sequence[Memory], most: int) -> list[list[Memory]]:
    """Turns for one request: of one session, in order."""
    ordered = sorted(memories, key=lambda m: (m.source.session or "", m.source.turn or 0, m.created, m.id))
    batches: list[list[Memory]] = []
    size = 0
    for memory in ordered:
        length = about_tokens(memory.text.whole[:LONGEST])
        last = batches[-1] if batches else []
        fits = last and last[-1].source.session == memory.source.session and len(last) < most
        if fits and size + length <= READ:
            last.append(memory)
            size += length
        else:
            batches.append([memory])
            size = length
    return batches


def _context(before: Sequence[Memory], batch: Sequence[Memory]) -> Sequence[Memory]:
    same = before and before[-1].source.session == batch[0].source.session
    return before[-CONTEXT:] if same else ()


class _AppraisalRound:
    """One run: memories set aside, and failures of the model in a row."""

    def __init__(self, runtime: Runtime, owner: Owner, model: str, round: AppraisalReport) -> None:
        self._runtime, self._owner, self._model, self._round = runtime, owner, model, round
        self.health = ModelHealth.of(runtime, owner)
        self._aside: set[str] = set()
        self._in_a_row = 0

    def find_waiting(self, since: datetime) -> list[Memory]:
        found = _find_unappraised(self._runtime, self._owner, since, LOOKED_AT + len(self._aside))
        return [memory for memory in found if memory.id not in self._aside]

    def by_post(self, since: datetime) -> None:
        """Use the batch API: collect answers, and submit the whole queue."""
        later = BatchJobs(self._runtime, self._owner, STAGE)
        try:
            for back in later.collect(SCHEMA):
                self._take_back(back)
            later.finish()
            self._round.trouble = later.trouble
            away = later.on_their_way()
            batches = _batches(
                [memory for memory in self.find_waiting(since) if memory.id not in away],
                self._runtime.config.llm.memories_per_request,
            )
            if batches:
                sent = later.submit([(batch, 0, self._question(batch)) for batch in batches])
                self._round.questions += sent
        except ModelError as trouble:
            self._round.trouble = trouble.notice

    def _take_back(self, back: BatchAnswer) -> None:
        if back.fault:
            for memory in back.subjects:
                self._note_failure(memory, back.fault)
            return
        texts = [memory.text.whole if memory else "" for memory in back.shown]
        findings = match_items(back.answer["items"], texts, range(len(texts)))
        self._write(back.shown, findings)
        for place, left in enumerate(back.shown):
            if left and place not in findings:
                self._note_failure(left, self._answer_fault("answer.left_out").notice)

    def try_batch(self, batch: Sequence[Memory], context: Sequence[Memory] = ()) -> None:
        """Request a batch; in halves if the answer is unusable, until the model is considered faulty."""
        if self._round.trouble:
            return
        try:
            findings = self._ask(batch, context)
        except UnusableAnswer as fault:
            self._unusable(batch, fault)
            return
        except ModelError as trouble:
            self._round.trouble = trouble.notice
            self._round.questions -= "cap" in trouble.values  # no request was made
            if TIMED_OUT in trouble.values:
                self.health.too_slow(len(batch))
            return
        self._in_a_row = 0
        self._write([*context, *batch], findings)
        left = [memory for place, memory in enumerate(batch, len(context)) if place not in findings]
        if len(left) == len(batch):
            self._unusable(batch, self._answer_fault("answer.nothing_appraised"))
        else:
            for memory in left:
                self.try_batch([memory])

    def _unusable(self, batch: Sequence[Memory], fault: UnusableAnswer) -> None:
        self._in_a_row += 1
        if self._in_a_row >= ILL:
            self._round.trouble = fault.notice
        if len(batch) > 1:
            middle = len(batch) // 2
            self.try_batch(batch[:middle])
            self.try_batch(batch[middle:])
            return
        self._note_failure(batch[0], fault.notice)

    def _answer_fault(self, id: str) -> UnusableAnswer:
        return UnusableAnswer("error.model_answer", model=self._model, reason=Notice(id))

    def _note_failure(self, memory: Memory, why: Notice) -> None:
        self._aside.add(memory.id)
        self.health.fail(STAGE, [memory.id])
        if self.health.count(STAGE, memory.id) >= ATTEMPTS:
            self._give_up(memory, why)

    def _give_up(self, memory: Memory, why: Notice) -> None:
        data = {"by": "rules", "reason": why.to_record()}
        event = Event("appraised", self._runtime.clock.now(), data, memory.id, by="model")
        self._runtime.ledger.write(self._owner, lambda: [event])
        self.health.clear(STAGE, [memory.id])
        self._round.by_rules.append(memory.id)

    def _ask(self, batch: Sequence[Memory], context: Sequence[Memory]) -> dict[int, Mapping[str, Any]]:
        """Findings by index."""
        self._round.questions += 1
        shown = passages_of(batch, context)
        asked = range(len(context), len(shown))
        answer = ask(self._runtime, STAGE, shown, SCHEMA, longest(batch), asked)
        return match_items(answer["items"], [str(each["text"]) for each in shown], asked)

    def _question(self, batch: Sequence[Memory]) -> CompletionRequest:
        places = range(len(batch))
        return question_of(self._runtime, STAGE, passages_of(batch, ()), SCHEMA, longest(batch), places)

    def _write(self, shown: Sequence[Memory | None], findings: Mapping[int, Mapping[str, Any]]) -> None:
        """Write all findings at once; memories that changed meanwhile are appraised again later."""
        runtime, owner = self._runtime, self._owner
        ids = [memory.id for place in findings if (memory := shown[place])]

        def decide() -> list[Event]:
            known = read_memories(runtime.store, owner, [memory.id for memory in shown if memory])
            same = [_if_unchanged(memory, known) for memory in shown]
            taken: set[str] = set()
            return [
                event
                for each in findings.items()
                for event in events(runtime, same, *each, self._model, taken)
            ]

        written = runtime.ledger.write(owner, decide).events
        self._round.judged += sum(event.type == "appraised" for event in written)
        self._aside.update(set(ids) - {event.memory for event in written})
        self.health.clear(STAGE, ids)


def _if_unchanged(memory: Memory | None, known: Mapping[str, Memory]) -> Memory | None:
    now = known.get(memory.id) if memory else None
    return now if now and memory and now.version == memory.version else None
