"""Profile of a user: topics, speakers, how well they are known, and a vector of their favourite topics.

It is derived from the memories whenever it is read, and only from those that the asker may see. So there is
nothing to keep up to date: what is corrected, forgotten or erased is gone from it at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from nagori.core.model import ALIVE, Category, Kind, Memory, Scope, Trust, days_between, is_thread_summary
from nagori.core.value_object import Value
from nagori.language.keywords import DAY, NOUN, WORD, find_keywords
from nagori.language.tokenizer import stem
from nagori.runtime import Runtime
from nagori.services.remember import embed_texts

MOST_READ = 2000  # memories, the newest first
MOST_TOPICS = 10
SHORTEST_WORD = 5  # letters of a plain English word that can be a topic
LEAST_OFTEN = 2  # memories that speak of a topic
STATED = 1.5  # weight of what the user said, beside 1 for the others
# Each part of the depth is half reached after so many days, sessions and personal memories.
HALF_DAYS, HALF_SESSIONS, HALF_PERSONAL = 30.0, 20.0, 50.0


class ProfileTopic(Value):
    """A word that several memories speak of, and how many do."""

    name: str
    memories: int
    weight: float


class Speaker(Value):
    """Somebody who spoke by name: how often, and in how many memories of others the name is said."""

    name: str
    spoke: int
    mentions: int


class Relationship(Value):
    """How well the user is known: since when, in how many sessions, with how many personal memories; `depth`
    is from 0 to 1."""

    since: datetime | None = None
    days: float = 0.0
    sessions: int = 0
    personal: int = 0
    depth: float = 0.0


class Profile(Value):
    """What the memories say about a user. `preferences` is the vector of the top topics in the model named;
    None without an embedder or topics."""

    topics: tuple[ProfileTopic, ...] = ()
    speakers: tuple[Speaker, ...] = ()
    relationship: Relationship = Relationship()
    memories: int = 0  # how many it was derived from
    preferences: bytes | None = None
    model: str | None = None


def profile(runtime: Runtime, scope: Scope, *, vector: bool = True, most: int = MOST_READ) -> Profile:
    """The profile, from the newest memories that this scope may see."""
    runtime.ledger.catch_up(scope.owner)
    found = runtime.store.find(scope, ALIVE, limit=most)
    known = [memory for memory in found if not (memory.superseded_by or is_thread_summary(memory))]
    topics = find_topics(known)
    text = " ".join(topic.name for topic in topics)
    made = embed_texts(runtime, scope, [text]).get(text) if vector and topics else None
    return Profile(
        topics=topics,
        speakers=_count_speakers(known),
        relationship=_relationship(known, runtime.clock.now()),
        memories=len(known),
        preferences=made.data if made else None,
        model=made.model if made else None,
    )


def find_topics(memories: Iterable[Memory], most: int = MOST_TOPICS) -> tuple[ProfileTopic, ...]:
    """The words that most memories speak of, heaviest first. Words of one stem are one topic."""
    weights: dict[str, float] = {}
    counts: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = {}
    for memory in memories:
        for key, (name, weight) in _topic_words(memory).items():
            weights[key] = weights.get(key, 0.0) + weight
            counts[key] += 1
            spellings.setdefault(key, Counter())[name] += 1
    often = [key for key in weights if counts[key] >= LEAST_OFTEN]
    best = sorted(often, key=lambda key: (-weights[key], key))[:most]
    return tuple(
        ProfileTopic(max(sorted(spellings[key]), key=spellings[key].__getitem__), counts[key], weights[key])
        for key in best
    )


def _topic_words(memory: Memory) -> Mapping[str, tuple[str, float]]:
    """The words of a memory that can be topics: no numbers, no paths, no small talk."""
    stated = STATED if memory.trust is Trust.USER else 1.0
    found: dict[str, tuple[str, float]] = {}
    for word in find_keywords(memory.fullest.whole):
        low = word.text.casefold()
        if _can_be_topic(low, word.weight):
            found.setdefault(stem(low) if low.isascii() else low, (word.text, word.weight * stated))
    return found


def _can_be_topic(word: str, weight: float) -> bool:
    """Short plain words are verbs more often than topics; days and number words are none."""
    if weight < WORD or weight == DAY or not word.replace(" ", "").isalpha():
        return False
    return len(word) >= (SHORTEST_WORD if word.isascii() and weight < NOUN else 2)


def _count_speakers(memories: Sequence[Memory]) -> tuple[Speaker, ...]:
    spoke = Counter(memory.source.speaker for memory in memories if memory.source.speaker)
    mentions: Counter[str] = Counter()
    for memory in memories:
        text = memory.fullest.whole.casefold()
        mentions.update(n for n in spoke if n and n != memory.source.speaker and n.casefold() in text)
    ordered = sorted(spoke, key=lambda name: (-spoke[name], name or ""))
    return tuple(Speaker(name, spoke[name], mentions[name]) for name in ordered if name)


def _relationship(memories: Sequence[Memory], now: datetime) -> Relationship:
    if not memories:
        return Relationship()
    since = min(memory.created for memory in memories)
    days = days_between(since, now)
    sessions = len({memory.source.session for memory in memories if memory.source.session})
    personal = sum(_is_personal(memory) for memory in memories)
    parts = ((days, HALF_DAYS), (sessions, HALF_SESSIONS), (personal, HALF_PERSONAL))
    depth = sum(value / (value + half) for value, half in parts) / len(parts)
    return Relationship(since, days, sessions, personal, depth)


def _is_personal(memory: Memory) -> bool:
    """Whether it tells something of the user: a fact they stated, or what moved them."""
    told = memory.trust is Trust.USER and memory.kind is Kind.FACT
    return told or memory.category is Category.EMOTIONAL
