"""Summarise a session: by its own most informative sentences, or on request by a language model.

A sentence scores by words that recur in the session, by decisions and lessons, and by emotion. People's words
count more than an assistant's. Redundant sentences are dropped, and the order of the conversation is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from math import log, sqrt

from nagori.core.model import Filter, Kind, Memory, Scope, Trust, is_thread_summary
from nagori.core.value_object import check_text, check_whole
from nagori.errors import ModelError
from nagori.language.passages import ScoredSentence, about_tokens, choose_sentences, sentences
from nagori.language.statement_or_question import looks_like_statement
from nagori.language.tokenizer import asks, tokens
from nagori.runtime import Runtime

MOST = 2000  # maximum number of memories read
SHORTEST, LONGEST = 12, 300  # length of a usable sentence, in characters
WORTH = {Kind.DECISION: 1.6, Kind.LESSON: 1.6, Kind.FACT: 1.4}
LEAST = 0.25  # minimum share of the best score, so that greetings do not fill the room


def summarise(runtime: Runtime, scope: Scope, session: str, tokens: int = 200, model: bool = False) -> str:
    """The session in about `tokens` tokens; empty if nothing is known of it. `model`: written by the
    configured model, if it answers and its text is faithful."""
    check_text("session", session)
    check_whole("tokens", tokens)
    runtime.ledger.catch_up(scope.owner)
    found = runtime.store.find(scope, Filter(session=session), limit=MOST)
    said = [memory for memory in found if not is_thread_summary(memory)]
    said.sort(key=lambda memory: (memory.created, memory.source.turn or 0))
    if model and runtime.llm is not None and said:
        from nagori.services.llm.summarize import resummarise  # hooks never get here

        with suppress(ModelError):  # reported and counted; fall back to extraction
            told = resummarise(runtime, "session", [memory.text.content for memory in said], tokens)
            if told:
                return told
    return "\n".join(choose_sentences(_informative(_sentences(said)), tokens, about_tokens))


def _informative(found: Sequence[ScoredSentence]) -> list[ScoredSentence]:
    least = LEAST * max((each.score for each in found), default=0.0)
    return [each for each in found if each.score >= least]


def _sentences(said: Iterable[Memory]) -> list[ScoredSentence]:
    cut = [
        (memory, " ".join(text.split()))
        for memory in said
        for text in sentences(_own_words(memory))
        if SHORTEST <= len(text) <= LONGEST and not asks(text)
    ]
    words = [frozenset(tokens(text)) for _, text in cut]
    often = Counter(word for each in words for word in each)
    return [
        ScoredSentence(place, text, own, _score(memory, own, often, len(cut)))
        for place, ((memory, text), own) in enumerate(zip(cut, words, strict=True))
        if own
    ]


def _own_words(memory: Memory) -> str:
    """What the user stated in an exchange; what was answered to a question."""
    text = memory.text
    return text.trigger if text.trigger and looks_like_statement(text.trigger) else text.content


def _score(memory: Memory, words: frozenset[str], often: Counter[str], count: int) -> float:
    """The score of a sentence: recurring words count, ubiquitous ones do not."""
    shared = sum(log(often[word]) * log(1 + count / often[word]) for word in sorted(words)) / sqrt(len(words))
    told = 1.0 if memory.trust is Trust.ASSISTANT else 1.5
    return (0.1 + shared) * WORTH.get(memory.kind, 1.0) * told * (1 + memory.emotion.intensity / 200)
