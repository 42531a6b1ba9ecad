"""What messages that are left out were about, in a few of their own sentences; no language model is asked.

A sentence tells much by its names, numbers and terms, and by words that the gap returns to; what a user said
counts more than what was answered, and a question less than a statement. They stay in their order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from math import sqrt

from nagori.core.model import Kind
from nagori.core.window.messages import ASSISTANT, USER, Message
from nagori.core.window.scores import TextFeatures
from nagori.language.keywords import (
    _SAID,
    _WEIGHTS,
    NOUN,
    WORD,
    Keyword,
    _pattern,
    _take_latin,
    find_keywords,
    sum_weights,
)
from nagori.language.lexicon import cue
from nagori.language.passages import ScoredSentence, choose_sentences, is_chatter, sentences
from nagori.language.tokenizer import asks, query_tokens

MOST = 200  # messages that are read
READ = 600  # characters of each
SHORTEST, LONGEST = 8, 240  # characters of a sentence that can stand alone
WORTH = {USER: 1.5, ASSISTANT: 1.0}
OTHERS = 0.7  # what a tool gives back, what a system says
QUESTION = 0.6


def gist(messages: Sequence[Message], tokens: int, count: Callable[[str], int]) -> str:
    """The most telling sentences of `messages`, in at most so many tokens."""
    return " ".join(choose_sentences(_sentences(_some(messages)), tokens, lambda text: count(text) + 1))


def _some(messages: Sequence[Message]) -> Sequence[Message]:
    """Not all of a very long gap: a user's words, if there are too many; every so many of those."""
    if len(messages) > MOST:
        messages = [message for message in messages if message.role == USER] or messages
    step = -(-len(messages) // MOST)
    return messages[:: max(step, 1)]


def _sentences(messages: Sequence[Message]) -> list[ScoredSentence]:
    cut = [
        (message, " ".join(text.split()))
        for message in messages
        for text in sentences(message.text[:READ])
        if SHORTEST <= len(text) <= LONGEST
    ]
    weights = [{word.text.casefold(): word.weight for word in find_keywords(text)} for _, text in cut]
    often = Counter(word for words in weights for word in words)
    return [
        ScoredSentence(place, text, frozenset(words), _worth(message, text, words, often))
        for place, ((message, text), words) in enumerate(zip(cut, weights, strict=True))
        if any(weight >= WORD for weight in words.values())
    ]


def _worth(message: Message, text: str, words: dict[str, float], often: Counter[str]) -> float:
    return (
        sum_weights(words, often)
        / sqrt(len(words))
        * WORTH.get(message.role, OTHERS)
        * (QUESTION if asks(text) else 1.0)
    )


# --- features of a text, for the choice of what stays -----------------------------------------------


def is_decision(text: str) -> bool:
    """Whether a text says that something was decided."""
    decision = cue(Kind.DECISION)
    if text.isascii():
        return _lower_case(decision.english.pattern).search(text.lower()) is not None
    return decision.occurs(text)


@cache
def _lower_case(pattern: str) -> re.Pattern[str]:
    """A pattern for texts in small letters: it takes half as long as one that ignores case."""
    return re.compile(pattern, re.MULTILINE)


def information(text: str) -> float:
    """The weight of the names, numbers and terms of a text, outside its questions: the keywords with at least
    a noun's weight. Every message of a long conversation is read here, so usual words are skipped early."""
    if any(sign in text for sign in _ASKING_SIGNS):
        text = "\n".join(each for each in sentences(text) if not asks(each))
    found: list[Keyword] = []
    for match in _pattern().finditer(text):
        word, group = match[0], match.lastgroup or ""
        if group == "latin":
            if word in _SAID or not (word.islower() and word.isalpha()):
                _take_latin(found, match, None, 0.0)
        elif (weight := _SAID.get(word, _WEIGHTS[group])) >= NOUN:
            found.append(Keyword(word, match.start(), weight))
    return sum(word.weight for word in found if word.weight >= NOUN)


_ASKING_SIGNS = ("?", "？", "か", "っけ")  # whatever asks has one of them
FEATURES = TextFeatures(query_tokens, asks, is_chatter, is_decision, information)
