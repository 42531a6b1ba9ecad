"""What a strategy would rather lose: the worth of every message at a moment of the conversation [C7].

    scored   the score of `scores`: recency, role, content
    sliding  the newest stay
    session  the newest sessions stay; a long pause begins a session
    topic    topics that share words with the present one stay; a user who speaks of something else begins one

A worth hangs on the messages up to that moment alone, so planning all at once and planning message by
message come to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

from nagori.core.window import Window
from nagori.core.window.messages import USER, Message
from nagori.core.window.scores import recency, standing

READ = 1000  # characters of a message whose words are compared
SHARED = 0.15  # share of a user's words that the topic knows already, below which another one begins
FEW = 3  # so few words say nothing about the topic

Worth = Callable[[int, int], float]  # index of a message, and how many there are by now
Words = Callable[[str], Iterable[str]]  # the words of a text that say what it is about


def worth_of(messages: Sequence[Message], rules: Window, words: Words = str.split) -> Worth:
    """The worth of messages by the configured strategy; `words` tells topics apart."""
    if rules.strategy == "topic":
        return _topic(messages, words)
    return {"scored": _scored, "sliding": _sliding, "session": _session}[rules.strategy](messages, rules)


def _scored(messages: Sequence[Message], rules: Window) -> Worth:
    known: dict[int, float] = {}

    def worth(index: int, count: int) -> float:
        if index not in known:
            known[index] = standing(messages[index], rules)
        return known[index] + recency(index, count, rules)

    return worth


def _sliding(messages: Sequence[Message], rules: Window) -> Worth:
    return lambda index, count: index / count


def _session(messages: Sequence[Message], rules: Window) -> Worth:
    pause = timedelta(minutes=rules.pause_minutes)
    number, numbers = 0, []
    last = None
    for message in messages:
        if last is not None and message.at is not None and message.at - last >= pause:
            number += 1
        last = message.at or last
        numbers.append(number)
    return lambda index, count: numbers[index] + index / count


def _topic(messages: Sequence[Message], words_of: Words) -> Worth:
    words = [frozenset(words_of(message.text[:READ])) for message in messages]
    topics: list[int] = []  # where the topic of each message began
    known: set[str] = set()
    for at, message in enumerate(messages):
        said = words[at]
        fresh = message.role == USER and len(said) > FEW and len(said & known) < SHARED * len(said)
        if fresh or not topics:
            topics.append(at)
            known = set()
        else:
            topics.append(topics[-1])
        known |= said

    ends = {topic: at + 1 for at, topic in enumerate(topics)}

    def about(topic: int, count: int) -> frozenset[str]:
        return frozenset().union(*words[topic : min(ends[topic], count)])

    likeness: dict[tuple[int, int], float] = {}

    def worth(index: int, count: int) -> float:
        topic, present = topics[index], topics[count - 1]
        if (topic, count) not in likeness:
            mine, theirs = about(topic, count), about(present, count)
            shared = len(mine & theirs) / max(1, min(len(mine), len(theirs)))
            likeness[topic, count] = 1.0 if topic == present else shared
        return likeness[topic, count] + 0.1 * index / count

    return worth
