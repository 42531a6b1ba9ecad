"""Write summaries and traces by a language model [ruling 9].

An answer is compared with its source (`language.llm_answer_checks`). A summary in another language, with new
names or numbers, or longer than its source is rejected. What could not be compressed waits for the next
cycle; after some cycles the rules do it, so a model that is gone delays nothing for long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nagori.core.llm import CompletionRequest
from nagori.core.model import Level, Memory, Text
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, default_factory
from nagori.errors import ModelError, Notice, UnusableAnswer
from nagori.language.llm_answer_checks import belongs, strays
from nagori.language.passages import about_tokens
from nagori.language.tokenizer import is_japanese, tokens
from nagori.runtime import Runtime
from nagori.services.llm.batch_api import BatchJobs
from nagori.services.llm.client import ask, question_of
from nagori.services.llm.failure_counts_and_batch_size import ModelHealth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STAGES = {Level.SUMMARY: "summary", Level.TRACE: "trace"}
WORTH_IT = 40  # tokens: shorter texts are left to the rules
TERSE = 25  # a trigger this short stays as it is
LONGEST = 8000  # maximum characters of one memory in a request
READ = 6000  # maximum tokens of one request
MOST = 8  # maximum number of memories in one request
SHORTER = 0.5  # maximum length relative to the source; the prompt asks for a quarter
ILL = 3

_HALVES = {
    "summary": ({"type": "string", "maxLength": 300}, {"type": "string", "maxLength": 700}),
    "trace": (
        {"type": "array", "maxItems": 6, "items": {"type": "string", "maxLength": 40}},
        {"type": "array", "maxItems": 14, "items": {"type": "string", "maxLength": 40}},
    ),
}


class CompressionResult(Value, frozen=False):
    """`texts` by memory; `waiting`: why there is none yet; `rules`: waited so long that rules do it."""

    texts: dict[str, Text] = default_factory(dict)
    waiting: dict[str, Notice] = default_factory(dict)
    rules: set[str] = default_factory(set)


class Compressor:
    """The model's texts for one cycle. After repeated failures it is not asked again in this cycle."""

    def __init__(self, runtime: Runtime, owner: Owner) -> None:
        self._runtime = runtime
        self.health = ModelHealth.of(runtime, owner)
        self.trouble: Notice | None = None
        self._in_a_row = 0
        self._asked = False
        self._later = (
            {s: BatchJobs(runtime, owner, s) for s in STAGES.values()} if BatchJobs.is_wanted(runtime) else {}
        )
        self._to_post: dict[str, list[Memory]] = {stage: [] for stage in self._later}
        self._posted: dict[tuple[str, str], Mapping[str, Any] | None] = {}
        self._fetch_post()

    @property
    def by_post(self) -> bool:
        """Whether the batch API is used."""
        return bool(self._later)

    def shorten(self, wanted: Sequence[tuple[Memory, Level]]) -> CompressionResult:
        """Texts for these memories at these levels. Only memories that benefit from a model are requested."""
        done = CompressionResult()
        for level, stage in STAGES.items():
            memories = [
                memory
                for memory, to in wanted
                if to is level and about_tokens(_fullest(memory).whole) > WORTH_IT
            ]
            if stage in self._later:
                self._by_post(stage, memories, done)
                continue
            for batch in _batches(memories):
                self._try(stage, batch, done)
        for id in list(done.waiting):
            if any(
                self.health.count(stage, id) > self._runtime.config.llm.fallback_after_cycles
                for stage in STAGES.values()
            ):
                del done.waiting[id]
                done.rules.add(id)
        return done

    def save(self) -> None:
        """End of the cycle: take in collected answers and submit new requests."""
        for later in self._later.values():
            later.finish()
        for stage, memories in self._to_post.items():
            asked = [(batch, 0, self._question(stage, batch)) for batch in _batches(memories)]
            if asked and not self.trouble:
                try:
                    self._later[stage].submit(asked)
                    self._asked = True
                except ModelError as trouble:
                    self.trouble = trouble.notice
            if self.trouble:
                self.health.fail(stage, [memory.id for memory in memories])
        if self._asked or self.trouble:  # without a request the model's health is unknown
            self.health.note(self.trouble, self._runtime.clock.now())
        self.health.save()

    def _try(self, stage: str, batch: Sequence[Memory], done: CompressionResult) -> None:
        if self.trouble:
            self._leave(stage, batch, self.trouble, done)
            return
        try:
            answer = self._ask(stage, batch)
        except UnusableAnswer as fault:
            self._in_a_row += 1
            if self._in_a_row >= ILL:
                self.trouble = fault.notice
            if len(batch) == 1:
                self._leave(stage, batch, fault.notice, done)
                return
            middle = len(batch) // 2
            self._try(stage, batch[:middle], done)
            self._try(stage, batch[middle:], done)
            return
        except ModelError as trouble:
            self.trouble = trouble.notice
            self._leave(stage, batch, self.trouble, done)
            return
        self._in_a_row = 0
        for place, memory in enumerate(batch):
            self._take(stage, memory, answer.get(place), done)

    def _ask(self, stage: str, batch: Sequence[Memory]) -> dict[int, Mapping[str, Any]]:
        self._asked = True
        places = range(len(batch))
        answer = ask(self._runtime, stage, _texts_of_batch(batch), _schema(stage), _longest(batch), places)
        return _match_items(answer["items"], batch)

    def _question(self, stage: str, batch: Sequence[Memory]) -> CompletionRequest:
        places = range(len(batch))
        return question_of(
            self._runtime, stage, _texts_of_batch(batch), _schema(stage), _longest(batch), places
        )

    # --- batch API: requests of one cycle are answered before the next

    def _fetch_post(self) -> None:
        try:
            for stage, later in self._later.items():
                for back in later.collect(_schema(stage)):
                    items = _match_items(back.answer["items"], back.shown) if not back.fault else {}
                    for place, memory in enumerate(back.shown):
                        if memory:
                            self._posted[stage, memory.id] = items.get(place)
                self.trouble = self.trouble or later.trouble
        except ModelError as trouble:
            self.trouble = trouble.notice

    def _by_post(self, stage: str, memories: Sequence[Memory], done: CompressionResult) -> None:
        away = self._later[stage].on_their_way()
        for memory in memories:
            if (stage, memory.id) in self._posted:
                self._take(stage, memory, self._posted.pop((stage, memory.id)), done)
            elif self.trouble:
                self._leave(stage, [memory], self.trouble, done)
            else:
                done.waiting[memory.id] = Notice("answer.batch_pending")
                if memory.id not in away:
                    self._to_post[stage].append(memory)

    def _take(
        self, stage: str, memory: Memory, item: Mapping[str, Any] | None, done: CompressionResult
    ) -> None:
        fault: Notice | None = Notice("answer.left_out")
        text = None
        if item is not None:
            make = _summary if stage == "summary" else _trace
            fault, text = make(item, _fullest(memory))
        if text is None:
            model = self._runtime.config.llm.model
            self._leave(stage, [memory], Notice("error.model_answer", model=model, reason=fault), done)
        else:
            done.texts[memory.id] = text
            self.health.clear(stage, [memory.id])

    def _leave(self, stage: str, batch: Sequence[Memory], why: Notice, done: CompressionResult) -> None:
        self.health.fail(stage, [memory.id for memory in batch])
        done.waiting |= {memory.id: why for memory in batch}


def _texts_of_batch(batch: Sequence[Memory]) -> list[dict[str, object]]:
    texts = [_fullest(memory) for memory in batch]
    return [
        {"i": place, "trigger": text.trigger[:LONGEST], "content": text.content[:LONGEST]}
        for place, text in enumerate(texts)
    ]


def _longest(batch: Sequence[Memory]) -> int:
    """Maximum tokens of an answer: half of the input is more than any summary needs."""
    read = sum(about_tokens(_fullest(memory).whole[:LONGEST]) for memory in batch)
    return 200 + 40 * len(batch) + read // 2


def _batches(memories: Sequence[Memory]) -> list[list[Memory]]:
    """Memories for one request: of one language, because the prompt is written in it."""
    batches: list[list[Memory]] = []
    size = 0
    for memory in sorted(memories, key=_is_japanese):
        length = about_tokens(_fullest(memory).whole[:LONGEST])
        last = batches[-1] if batches else []
        same = last and _is_japanese(last[0]) == _is_japanese(memory)
        if same and len(last) < MOST and size + length <= READ:
            last.append(memory)
            size += length
        else:
            batches.append([memory])
            size = length
    return batches


def _is_japanese(memory: Memory) -> bool:
    return is_japanese(_fullest(memory).whole)


def _fullest(memory: Memory) -> Text:
    return memory.texts[min(memory.texts)]


def _schema(stage: str) -> dict[str, Any]:
    """The schema. Content comes first: a model that copies would otherwise put it into an empty trigger."""
    trigger, content = _HALVES[stage]
    fields = {"i": {"type": "integer", "minimum": 0, "maximum": MOST}, "content": content, "trigger": trigger}
    item = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    items = {"type": "array", "maxItems": MOST, "items": item}
    top = {"type": "object", "properties": {"items": items}, "required": ["items"]}
    return {**top, "additionalProperties": False}


def _match_items(
    items: Sequence[Mapping[str, Any]], batch: Sequence[Memory | None]
) -> dict[int, Mapping[str, Any]]:
    """Items by the number of their text; items about another text are dropped."""
    known = [frozenset(tokens(_fullest(memory).whole) if memory else ()) for memory in batch]
    return {item["i"]: item for item in items if _is_about(item, known)}


def _is_about(item: Mapping[str, Any], texts: Sequence[frozenset[str]]) -> bool:
    """Whether an item can be about the text with its number."""
    halves = (item["trigger"], item["content"])
    words = " ".join(half if isinstance(half, str) else " ".join(half) for half in halves)
    return item["i"] < len(texts) and belongs(words, item["i"], texts)


def _summary(item: Mapping[str, Any], source: Text) -> tuple[Notice | None, Text | None]:
    """A valid summary, or why it is invalid. A trigger that is not faithful is dropped: the content is
    enough."""
    trigger, content = " ".join(item["trigger"].split()), " ".join(item["content"].split())
    fault = strays(content, source.whole)
    if fault:
        return Notice(f"answer.strays_{fault}"), None
    if len(content) > SHORTER * len(source.content):
        return Notice("answer.hardly_shorter"), None
    if source.trigger and (not trigger or strays(trigger, source.trigger)):
        trigger = source.trigger if about_tokens(source.trigger) <= TERSE else ""
    return None, Text(trigger if source.trigger else "", content)


def _trace(item: Mapping[str, Any], source: Text) -> tuple[Notice | None, Text | None]:
    """A trace of those keywords that occur in the source."""
    trigger, content = (_occurring_words(item[half], source.whole) for half in ("trigger", "content"))
    if not content:
        return Notice("answer.no_keywords"), None
    return None, Text(", ".join(trigger) if source.trigger else "", ", ".join(content))


def _occurring_words(words: Sequence[str], text: str) -> list[str]:
    known = text.casefold()
    plain = (" ".join(word.split()) for word in words)
    return list(dict.fromkeys(word for word in plain if word and word.casefold() in known))


# --- summaries of many texts ----------------------------------------------------------------------
# Many texts in a few sentences: of a session, or of a gap in a conversation.

RETOLD_READ, RETOLD_LONGEST = 8000, 4000  # maximum tokens of the request, characters of one text

SCHEMA = {
    "type": "object",
    "properties": {"summary": {"type": "string", "maxLength": 4000}},
    "required": ["summary"],
    "additionalProperties": False,
}


def resummarise(runtime: Runtime, stage: str, texts: Sequence[str], tokens: int) -> str:
    """A model's summary of these texts within `tokens`; empty if it is not faithful or there is nothing to
    shorten. ModelError if it does not answer."""
    shown = _clip_texts(texts)
    if sum(map(about_tokens, shown)) <= tokens:
        return ""
    told = ask(runtime, stage, {"texts": shown, "tokens": tokens}, SCHEMA, 100 + 2 * tokens)["summary"]
    plain = " ".join(told.split())
    return "" if about_tokens(plain) > tokens or strays(plain, "\n".join(shown)) else plain


def _clip_texts(texts: Sequence[str]) -> list[str]:
    """The texts for the request: if there are too many, the last ones."""
    shown: list[str] = []
    room = RETOLD_READ
    for text in reversed(texts):
        room -= about_tokens(text)
        if room < 0 and shown:
            break
        shown.append(text[:RETOLD_LONGEST])
    return shown[::-1]
