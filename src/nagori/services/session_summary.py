"""What a session was about, in a few of its own sentences; or, where somebody asks for it, in a model's.

A sentence is worth telling when its words come up again and again in the session, when it decides or teaches
something, or when it was felt; what a person said counts more than what an assistant answered. What is told
already is not told in other words, and the order is that of the conversation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import log, sqrt

from nagori.core.arguments import check_text, check_whole
from nagori.core.model import Filter, Kind, Memory, Scope, Trust
from nagori.core.values import Value
from nagori.errors import ModelError
from nagori.language.passages import about_tokens, sentences
from nagori.language.tokenizer import asks, tokens
from nagori.runtime import Runtime

MOST = 2000  # memories of one session that are read
SHORTEST, LONGEST = 12, 300  # characters of a sentence that can stand alone
WORTH = {Kind.DECISION: 1.6, Kind.LESSON: 1.6, Kind.FACT: 1.4}
LEAST = 0.25  # of the best one's worth: a greeting is not told because there is room
REDUNDANT = 0.5  # share of a sentence's words that may have been told


class _RankedSentence(Value):
    place: int
    text: str
    words: frozenset[str]
    worth: float


def summarise(runtime: Runtime, scope: Scope, session: str, tokens: int = 200, model: bool = False) -> str:
    """The session in at most about so many tokens; empty when nothing is known of it. `model`: in the words
    of the configured model, if it answers and stays with what was said."""
    check_text("session", session)
    check_whole("tokens", tokens)
    runtime.ledger.catch_up(scope.owner)
    said = runtime.store.find(scope, Filter(session=session), limit=MOST)
    said.sort(key=lambda memory: (memory.created, memory.source.turn or 0))
    if model and runtime.llm is not None and said:
        from nagori.services.llm.summarize import (
            resummarise,  # a hook that asks for a summary never comes here
        )

        with suppress(ModelError):  # told and counted; its own sentences are enough
            told = resummarise(runtime, "session", [memory.text.content for memory in said], tokens)
            if told:
                return told
    return _extract(_sentences(said), tokens)


def _extract(found: Sequence[_RankedSentence], tokens: int) -> str:
    chosen = _choose(found, tokens)
    return "\n".join(each.text for each in sorted(chosen, key=lambda each: each.place))


def _sentences(said: Iterable[Memory]) -> list[_RankedSentence]:
    cut = [
        (memory, " ".join(text.split()))
        for memory in said
        for text in sentences(memory.text.content)
        if SHORTEST <= len(text) <= LONGEST and not asks(text)
    ]
    words = [frozenset(tokens(text)) for _, text in cut]
    often = Counter(word for each in words for word in each)
    return [
        _RankedSentence(place, text, own, _worth(memory, own, often, len(cut)))
        for place, ((memory, text), own) in enumerate(zip(cut, words, strict=True))
        if own
    ]


def _worth(memory: Memory, words: frozenset[str], often: Counter[str], count: int) -> float:
    """Words that return count, words that are everywhere do not."""
    shared = sum(log(often[word]) * log(1 + count / often[word]) for word in sorted(words)) / sqrt(len(words))
    told = 1.0 if memory.trust is Trust.ASSISTANT else 1.5
    return (0.1 + shared) * WORTH.get(memory.kind, 1.0) * told * (1 + memory.emotion.intensity / 200)


def _choose(found: Sequence[_RankedSentence], tokens: int) -> list[_RankedSentence]:
    chosen: list[_RankedSentence] = []
    told: set[str] = set()
    least = LEAST * max((each.worth for each in found), default=0.0)
    telling = [each for each in found if each.worth >= least]
    for each in sorted(telling, key=lambda each: (-each.worth, each.place)):
        cost = about_tokens(each.text)
        if cost <= tokens and len(each.words & told) <= REDUNDANT * len(each.words):
            chosen.append(each)
            told |= each.words
            tokens -= cost
    return chosen
