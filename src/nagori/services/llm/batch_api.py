"""Batch API: submit requests to a provider and collect the answers later, for half the price.

Submitted batches are noted in the owner's state, without any words of memories. A batch that never ends costs
money and time; its memories are still in the queue and are requested again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from nagori.core.llm import CompletionRequest, Reply
from nagori.core.model import Memory
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, default_factory
from nagori.errors import ModelError, Notice
from nagori.event_ledger import read_memories
from nagori.protocols import BatchLLM
from nagori.runtime import Runtime
from nagori.services.llm.client import answer_of, cost_of, dearest, now, price_for, tokens_of
from nagori.spend import SpendEntry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SHARE = 0.5  # share of the regular price
GIVEN_UP = timedelta(hours=36)  # providers promise 24 hours


class PendingBatch(Value):
    """A submitted batch. `questions`: by name, the memories with their versions, and how many of them are
    only context."""

    batch: str
    at: datetime
    hold: str
    questions: dict[str, tuple[int, tuple[str, ...]]] = default_factory(dict)


class BatchAnswer(Value):
    """The answer to one request, or the reason why there is none. A memory that changed or is gone is
    None."""

    shown: list[Memory | None]
    context: int
    answer: Any
    fault: Notice | None = None

    @property
    def subjects(self) -> list[Memory]:
        """The memories that the answer is about."""
        return [memory for memory in self.shown[self.context :] if memory]


class BatchJobs:
    """The batches of one stage and one owner. The caller holds the lease for this work."""

    def __init__(self, runtime: Runtime, owner: Owner, stage: str) -> None:
        self._runtime, self._owner, self._stage = runtime, owner, stage
        self._key = f"batches:{stage}"
        self._sent = _read(runtime.store.state(owner, self._key))
        self._done: dict[str, dict[str, Reply | ModelError]] = {}
        self.trouble: Notice | None = None  # the last failure of a batch

    @classmethod
    def is_wanted(cls, runtime: Runtime) -> bool:
        """Whether the batch API is configured and supported."""
        return runtime.config.llm.use_batch_api and isinstance(runtime.llm, BatchLLM)

    def on_their_way(self) -> set[str]:
        """Memories in submitted batches."""
        marks = (
            mark for s in self._sent for context, marks in s.questions.values() for mark in marks[context:]
        )
        return {mark.partition("@")[0] for mark in marks}

    def submit(self, asked: Sequence[tuple[Sequence[Memory], int, CompletionRequest]]) -> int:
        """Submit requests within the daily limit: each with its memories, and how many of them are context.
        Returns the number submitted; ModelError if not even the first was."""
        llm, runtime = self._runtime.llm, self._runtime
        assert isinstance(llm, BatchLLM)
        cap, going, most = (
            runtime.config.llm.daily_cap_usd,
            list[tuple[Sequence[Memory], int, CompletionRequest]](),
            0.0,
        )
        room = runtime.spend.left(now(runtime), self._stage, cap)
        for each in asked:
            cost = SHARE * dearest(runtime, self._stage, each[2])[1]
            if going and most + cost > room:
                break
            going.append(each)
            most += cost
        hold = runtime.spend.hold(now(runtime), self._stage, self._model, most, cap)
        try:
            batch = llm.submit({f"q{place}": question for place, (_, _, question) in enumerate(going)})
        except ModelError as trouble:
            self._settle(hold, 0.0, fault=trouble.message_id)
            raise
        about = {
            f"q{place}": (context, tuple(f"{memory.id}@{memory.version}" for memory in shown))
            for place, (shown, context, _) in enumerate(going)
        }
        self._save([*self._sent, PendingBatch(batch, runtime.clock.now(), hold, about)])
        return len(going)

    def collect(self, schema: Mapping[str, Any]) -> list[BatchAnswer]:
        """Finished answers; those that took too long return with an error. One failing batch does not delay
        the others. Until `taken_in` they can be collected again."""
        back: list[BatchAnswer] = []
        for sent in self._sent:
            try:
                answers = self._answers(sent)
            except ModelError as trouble:
                self.trouble = trouble.notice
                continue
            if answers is None:
                continue
            self._done[sent.batch] = answers
            for name, (context, marks) in sent.questions.items():
                back.append(_to_answer(self._look_up(marks), context, answers.get(name), schema))
        return back

    def finish(self) -> None:
        """The collected answers are in the journal: settle their cost and release them at the provider."""
        llm = self._runtime.llm
        assert isinstance(llm, BatchLLM)
        for sent in self._sent:
            if answers := self._done.get(sent.batch):
                self._book(sent, answers)
        self._save([sent for sent in self._sent if sent.batch not in self._done])
        for batch in self._done:
            llm.discard(batch)
        self._done = {}

    def _look_up(self, marks: Sequence[str]) -> list[Memory | None]:
        ids = [mark.partition("@")[0] for mark in marks]
        known = read_memories(self._runtime.store, self._owner, ids)
        return [
            known[id] if id in known and mark == f"{id}@{known[id].version}" else None
            for id, mark in zip(ids, marks, strict=True)
        ]

    def _answers(self, sent: PendingBatch) -> dict[str, Reply | ModelError] | None:
        llm = self._runtime.llm
        assert isinstance(llm, BatchLLM)
        late = self._runtime.clock.now() - sent.at > GIVEN_UP
        try:
            answers = llm.collect(sent.batch)
        except ModelError:
            if not late:
                raise
            answers = None
        if answers is None:
            return {} if late else None  # the reservation stays: it may still be billed
        return answers

    def _book(self, sent: PendingBatch, answers: Mapping[str, Reply | ModelError]) -> None:
        price = price_for(self._runtime.config.llm)
        counts = [tokens_of(reply, 0) for reply in answers.values() if isinstance(reply, Reply)]
        read, written = sum(count[0] for count in counts), sum(count[1] for count in counts)
        self._settle(sent.hold, SHARE * cost_of(price, read, written), read, written)

    @property
    def _model(self) -> str:
        assert self._runtime.llm is not None
        return self._runtime.llm.model

    def _settle(
        self, hold: str, usd: float, read: int = 0, written: int = 0, fault: str | None = None
    ) -> None:
        at = now(self._runtime)
        self._runtime.spend.settle(
            at, hold, SpendEntry(at, self._stage, self._model, usd, read, written, fault)
        )

    def _save(self, sent: list[PendingBatch]) -> None:
        self._sent = sent
        value = [[s.batch, s.at.isoformat(), s.hold, _plain(s.questions)] for s in sent]
        at = self._runtime.clock.now()
        self._runtime.ledger.set_state(self._owner, self._key, value or None, at, by="model")


def _to_answer(
    shown: list[Memory | None], context: int, reply: Reply | ModelError | None, schema: Mapping[str, Any]
) -> BatchAnswer:
    if not isinstance(reply, Reply):
        fault = reply.notice if reply else Notice("answer.none")
        return BatchAnswer(shown, context, None, fault)
    try:
        return BatchAnswer(shown, context, answer_of(reply, schema))
    except ModelError as unusable:
        return BatchAnswer(shown, context, None, unusable.notice)


def _plain(questions: Mapping[str, tuple[int, tuple[str, ...]]]) -> dict[str, list[object]]:
    return {name: [context, list(marks)] for name, (context, marks) in questions.items()}


def _read(value: Any) -> list[PendingBatch]:
    try:
        return [
            PendingBatch(
                str(batch),
                datetime.fromisoformat(at),
                str(hold),
                {str(name): (int(context), tuple(marks)) for name, (context, marks) in about.items()},
            )
            for batch, at, hold, about in value or ()
        ]
    except (ValueError, TypeError, AttributeError):
        return []
