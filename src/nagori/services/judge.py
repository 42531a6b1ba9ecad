"""Judge: a language model's second look at what rules have judged when it was formed [E3, E4, L11].

What was said is kept at once, judged by rules. Whatever no model has looked at yet is the queue: it stands in
the store, so nothing can be lost from it, and an answer that never comes costs nothing but the better
judgement. Many turns go into one question. An answer that cannot be used is asked for again in halves, so
that one strange turn does not spoil its neighbours; a turn that stays strange keeps the rules' judgement,
and its log says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from nagori.core.answers import belongs
from nagori.core.bookkeeping import Space
from nagori.core.decay import coefficient_for
from nagori.core.fold import Event
from nagori.core.model import TAGS, Category, Emotion, Kind, Memory, RelationType, Trust, Valence
from nagori.core.pieces import about_tokens
from nagori.core.record import emotion_record
from nagori.core.text import tokens
from nagori.core.values import Value, fresh, replace
from nagori.errors import ModelError, Unusable
from nagori.parts import Parts, Progress, no_progress
from nagori.services.ask import ask, ask_tokens, cost_of, price_for
from nagori.services.form import LASTING
from nagori.services.lease import lease
from nagori.services.patience import Patience
from nagori.services.ties import linking, superseding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STAGE = "judge"
LOOKED_AT = 500  # memories taken from the queue at a time
MOST_WAITING = 10_000  # counted
READ = 5000  # tokens of one question
LONGEST = 2000  # characters of a turn that are shown: a feeling is told by then
CONTEXT = 3  # turns before, to understand the first by
ITEM_TOKENS, FRAME_TOKENS = 160, 200
PASSAGE_TOKENS = 20  # what frames a passage in the question
IMPORTANCE = 0.8  # what matters but was not felt lasts nearly as long as what was
ILL = 5  # answers in a row that cannot be used: it is the model, not the turns
ATTEMPTS = 3

_PLACE = {"type": ["integer", "null"], "minimum": 0, "maximum": 200}
_PERCENT = {"type": "integer", "minimum": 0, "maximum": 100}
# In the order they are answered: the words first, so that a model looks at this passage and no other; what
# it is and how it felt before any number.
_ITEM: dict[str, Any] = {
    "i": {"type": "integer", "minimum": 0, "maximum": 200},
    "keywords": {"type": "array", "maxItems": 8, "items": {"type": "string", "maxLength": 60}},
    "kind": {"type": "string", "enum": [str(each) for each in Kind if each is not Kind.SUMMARY]},
    "category": {"type": "string", "enum": [str(each) for each in Category]},
    "valence": {"type": "string", "enum": [str(each) for each in Valence]},
    "tags": {"type": "array", "maxItems": 4, "items": {"type": "string", "enum": sorted(TAGS)}},
    "intensity": _PERCENT,
    "arousal": _PERCENT,
    "importance": _PERCENT,
    "corrects": _PLACE,
    "continues": _PLACE,
}
_OBJECT = {"type": "object", "properties": _ITEM, "required": list(_ITEM), "additionalProperties": False}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"items": {"type": "array", "maxItems": 120, "items": _OBJECT}},
    "required": ["items"],
    "additionalProperties": False,
}


class Judged(Value, frozen=False):
    """What came of a round."""

    judged: int = 0
    by_rules: list[str] = fresh(list)  # given up: the rules' judgement stands
    questions: int = 0
    waiting: int = 0
    trouble: str = ""


def judge(
    parts: Parts,
    space: Space,
    since: datetime | None = None,
    progress: Progress = no_progress,
    stop: Callable[[], bool] = lambda: False,
) -> Judged:
    """Let the model judge what waits, until nothing does, the model does not answer, or `stop` says so."""
    round, llm = Judged(), parts.llm
    if llm is None or not parts.config.llm.judge:
        return round
    since = since or _since(parts)
    with lease(parts, space, "judge"):
        work = _Round(parts, space, llm.model, round)
        while batches := _batches(work.waiting(since), parts.config.llm.batch):
            before: Sequence[Memory] = ()
            for batch in batches:
                work.try_batch(batch, _context(before, batch))
                before = batch
                progress(round.judged, 0)
                if round.trouble or stop():
                    break
            if round.trouble or stop():
                break
        round.waiting = len(parts.store.unjudged(space, since, MOST_WAITING))
        work.patience.note(round.trouble, parts.clock.now())
        work.patience.save()
    return round


class Estimate(Value):
    """What judging would ask for, at most."""

    memories: int
    questions: int
    input_tokens: int
    output_tokens: int
    usd: float


def estimate(parts: Parts, space: Space, since: datetime | None = None) -> Estimate:
    """What `judge` would cost at most, if everything that waits were judged now."""
    waiting = parts.store.unjudged(space, since or _since(parts), MOST_WAITING)
    batches = _batches(waiting, parts.config.llm.batch)
    price = price_for(parts.config.llm)
    task = ask_tokens(STAGE, SCHEMA)
    read = sum(about_tokens(memory.text.whole[:LONGEST]) + PASSAGE_TOKENS for memory in waiting)
    read = round((read + task * len(batches)) * price.tokens)
    written = sum(FRAME_TOKENS + ITEM_TOKENS * len(batch) for batch in batches)
    return Estimate(len(waiting), len(batches), read, written, cost_of(price, read, written))


def _since(parts: Parts) -> datetime:
    return parts.clock.now() - timedelta(days=parts.config.llm.judge_days)


def _batches(memories: Sequence[Memory], most: int) -> list[list[Memory]]:
    """Turns that go into one question: of one session, in their order."""
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


class _Round:
    """One round's work: what was set aside, how often the model failed in a row."""

    def __init__(self, parts: Parts, space: Space, model: str, round: Judged) -> None:
        self._parts, self._space, self._model, self._round = parts, space, model, round
        self.patience = Patience.of(parts, space)
        self._aside: set[str] = set()
        self._in_a_row = 0

    def waiting(self, since: datetime) -> list[Memory]:
        found = self._parts.store.unjudged(self._space, since, LOOKED_AT + len(self._aside))
        return [memory for memory in found if memory.id not in self._aside]

    def try_batch(self, batch: Sequence[Memory], context: Sequence[Memory] = ()) -> None:
        """Ask about a batch; in halves if the answer cannot be used, until the model seems ill."""
        if self._round.trouble:
            return
        try:
            findings = self._ask(batch, context)
        except Unusable as fault:
            self._unusable(batch, fault)
            return
        except ModelError as trouble:
            self._round.trouble = str(trouble)
            return
        self._in_a_row = 0
        self._write([*context, *batch], findings)
        left = [memory for place, memory in enumerate(batch, len(context)) if place not in findings]
        if len(left) == len(batch):
            self._unusable(batch, Unusable("{model}: {why}", model=self._model, why="nothing was judged"))
        else:
            for memory in left:
                self.try_batch([memory])

    def _unusable(self, batch: Sequence[Memory], fault: Unusable) -> None:
        self._in_a_row += 1
        if self._in_a_row >= ILL:
            self._round.trouble = str(fault)
        if len(batch) > 1:
            middle = len(batch) // 2
            self.try_batch(batch[:middle])
            self.try_batch(batch[middle:])
            return
        memory = batch[0]
        self._aside.add(memory.id)
        self.patience.fail(STAGE, [memory.id])
        if self.patience.count(STAGE, memory.id) >= ATTEMPTS:
            self._give_up(memory, str(fault))

    def _give_up(self, memory: Memory, why: str) -> None:
        event = Event(
            "judged", self._parts.clock.now(), {"by": "rules", "reason": why}, memory.id, by="model"
        )
        self._parts.ledger.write(self._space, lambda: [event])
        self.patience.done(STAGE, [memory.id])
        self._round.by_rules.append(memory.id)

    def _ask(self, batch: Sequence[Memory], context: Sequence[Memory]) -> dict[int, Mapping[str, Any]]:
        """Findings by place."""
        self._round.questions += 1
        shown = [
            _shown(place, memory, place >= len(context)) for place, memory in enumerate((*context, *batch))
        ]
        asked = range(len(context), len(shown))
        answer = ask(self._parts, STAGE, shown, SCHEMA, FRAME_TOKENS + ITEM_TOKENS * len(batch), asked)
        return placed(answer["items"], [str(each["text"]) for each in shown], asked)

    def _write(self, shown: Sequence[Memory], findings: Mapping[int, Mapping[str, Any]]) -> None:
        """All findings in one write; who changed meanwhile is judged another time."""
        parts, space = self._parts, self._space
        ids = [shown[place].id for place in findings]

        def decide() -> list[Event]:
            known = parts.store.look(space, [memory.id for memory in shown])
            same = [
                known[m.id] if m.id in known and known[m.id].version == m.version else None for m in shown
            ]
            events = [
                event for each in findings.items() for event in _events(parts, same, *each, self._model)
            ]
            self._round.judged += sum(event.type == "judged" for event in events)
            return events

        written = parts.ledger.write(space, decide)
        self._aside.update(set(ids) - {event.memory for event in written})
        self.patience.done(STAGE, ids)


def placed(
    items: Sequence[Mapping[str, Any]], texts: Sequence[str], asked: Sequence[int]
) -> dict[int, Mapping[str, Any]]:
    """Items by their place among `texts`. What was not asked for is passed over, and so is what is about
    another passage than it says: it will be asked for alone, where it can be about nothing else."""
    known = [frozenset(tokens(text)) for text in texts]
    return {
        item["i"]: item
        for item in items
        if item["i"] in asked and (len(asked) == 1 or belongs(" ".join(item["keywords"]), item["i"], known))
    }


def _shown(place: int, memory: Memory, judge: bool) -> dict[str, object]:
    who = memory.source.speaker or str(memory.trust)
    said = {"i": place, "who": who, "text": memory.text.whole[:LONGEST]}
    return {**said, "judge": True} if judge else said


def _events(
    parts: Parts, shown: Sequence[Memory | None], place: int, found: Mapping[str, Any], model: str
) -> Iterator[Event]:
    memory, now = shown[place], parts.clock.now()
    if memory is None or memory.judged_by:
        return
    yield Event("judged", now, {**_judgement(parts, memory, found), "by": model}, memory.id, by="model")
    old = _earlier(shown, place, found["corrects"])
    if old and _can_correct(memory, old):
        yield from superseding(memory, old, now, by="model")
        return
    told = _earlier(shown, place, found["continues"])
    # The turn before is its neighbour in the session anyway.
    if told and (memory.source.turn or 0) - (told.source.turn or 0) > 1:
        yield linking(memory, told, RelationType.CONTINUES, now, by="model")


def _judgement(parts: Parts, memory: Memory, found: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a finding, in our own terms. Nothing it says can protect, hide or weaken beyond them."""
    kind, category = Kind(found["kind"]), Category(found["category"])
    strength = max(float(found["intensity"]), IMPORTANCE * found["importance"])
    if kind is Kind.FACT:
        strength = max(strength, LASTING)
    emotion = Emotion(strength, Valence(found["valence"]), float(found["arousal"]), tuple(found["tags"]))
    coefficient = coefficient_for(category, strength, kind, parts.config.retention)
    if memory.recalls:  # what recalls have earned stays
        coefficient = max(coefficient, memory.coefficient)
    said = memory.searchable.casefold()
    keywords = [word for word in found["keywords"] if word.strip() and word.casefold() in said]
    return {
        "emotion": emotion_record(emotion),
        "kind": str(kind),
        "category": str(category),
        "coefficient": coefficient,
        "keywords": list(dict.fromkeys([*memory.keywords, *keywords])),
    }


def _earlier(shown: Sequence[Memory | None], place: int, other: int | None) -> Memory | None:
    return shown[other] if other is not None and other < place else None


def _can_correct(new: Memory, old: Memory) -> bool:
    """Only a user takes back a user's words, and only about a matter that both of them name."""
    users = new.trust is Trust.USER and old.trust is Trust.USER
    same = replace(new.source, turn=None, uri=None) == replace(old.source, turn=None, uri=None)
    shared = set(tokens(new.text.content)) & set(tokens(old.text.content))
    return users and same and bool(shared) and not old.superseded_by
