"""What a text is about and what kind of memory it makes: rules over words and phrases.

`kind_of` tells facts, decisions and lessons from mere episodes (ruling 4); questions are never any of
them. `count` says how many words of a topic occur.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from nagori.core.lexicon import JAPANESE, cue, rows
from nagori.core.model import Kind
from nagori.core.values import Value


class _Topic(Value):
    words: frozenset[str]  # English
    phrases: tuple[str, ...]  # English, between spaces
    japanese: re.Pattern[str]


@cache
def _topic(name: str) -> _Topic:
    listed = {language: named.split(" ") for topic, language, named in rows("topics") if topic == name}
    english = [word.replace("_", " ") for word in listed["en"]]
    return _Topic(
        frozenset(word for word in english if " " not in word),
        tuple(f" {phrase} " for phrase in english if " " in phrase),
        re.compile("|".join(map(re.escape, listed["ja"]))),
    )


@lru_cache(8)  # one text is asked about all topics in a row
def _spoken(text: str) -> tuple[frozenset[str], str]:
    """The English words of a text with and without a plural s, and all of them in order."""
    words = re.findall("[a-z'-]+", text.lower())
    return frozenset((*words, *(word[:-1] for word in words if word.endswith("s")))), f" {' '.join(words)} "


def count(name: str, text: str) -> int:
    """How many different words of the topic occur in the text."""
    topic = _topic(name)
    words, joined = _spoken(text)
    english = len(topic.words & words) + sum(phrase in joined for phrase in topic.phrases)
    if not JAPANESE.search(text):
        return english
    return english + len(set(topic.japanese.findall(text)))


def kind_of(statements: str) -> Kind:
    """The kind of memory these statements make; questions must have been taken out."""
    order = (Kind.LESSON, Kind.DECISION, Kind.FACT)  # "I learned we chose X" teaches; "we chose X" decides
    return next((kind for kind in order if cue(kind).occurs(statements)), Kind.EPISODE)
