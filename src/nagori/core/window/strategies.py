"""Strategies rank messages: the least worthy is pruned first [C7].

    scored   by the score of `scores`; unsolved failures and unanswered questions weigh more
    sliding  by age: the newest messages stay
    session  by session, then by score: the newest sessions stay; a long pause starts a session
    topic    by topic: topics that share words with the current one stay; a user who changes the subject
             starts a topic

The worth of a message depends only on the messages so far. So one plan for the whole conversation equals a
plan that grows message by message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from math import ceil

from nagori.core.window import Window
from nagori.core.window.messages import TOOL, USER, Message
from nagori.core.window.scores import (
    PLAIN,
    Substance,
    TextFeatures,
    emphasis,
    fixed_score,
    is_failure,
    recency,
    substance_of,
)

READ = 1000  # characters of a message whose words are compared
SHARED = 0.15  # share of a user's words that the topic knows already, below which another one begins
LAST = 200  # characters at the end of a message in which it asks
NEVER = 1 << 60  # messages: it is open still
FEW = 3  # so few words say nothing about the topic

# The worth of messages, by their indexes and by how many messages there are by now. Every pruning asks for
# all messages that may go.
Worth = Callable[[Sequence[int], int], list[float]]


def worth_of(
    messages: Sequence[Message],
    rules: Window,
    features: TextFeatures = PLAIN,
    before: Worth | None = None,
) -> Worth:
    """The worth of messages by the configured strategy. `before` is the worth of the first of them."""
    if isinstance(before, _ScoreWorth):
        return before.see(messages)
    strategies = {"scored": _rank_scored, "sliding": _rank_sliding, "session": _session, "topic": _topic}
    return strategies[rules.strategy](messages, rules, features)


def _rank_scored(messages: Sequence[Message], rules: Window, features: TextFeatures) -> Worth:
    return _ScoreWorth(rules, features).see(messages)


class _ScoreWorth:
    """Worth by score. Each message is read once, even when more messages arrive."""

    def __init__(self, rules: Window, features: TextFeatures) -> None:
        self._rules, self._features = rules, features
        self._messages: Sequence[Message] = ()
        self._scores: dict[int, float] = {}  # without recency
        self._substances: dict[int, Substance] = {}
        self._weights: dict[int, float] = {}
        self._weighed_for = 1.0  # the share of what users did not say
        self._rarity: list[float] = []  # for every message the share of all tokens up to it that no user said
        self._users = self._everybody = 0
        # For failures and questions: how many messages there are when the same call has succeeded, or
        # somebody else has spoken.
        self._open_until: dict[int, int] = {}
        self._failures: dict[str, list[int]] = {}  # by what was called
        self._about: dict[str, str] = {}  # by call
        self._question: int | None = None

    def __call__(self, indexes: Sequence[int], count: int) -> list[float]:
        self._weigh_for(self._rarity[count - 1])
        scores, weights, open_until = self._scores, self._weights, self._open_until
        step = recency(1, count, self._rules)
        worths = []
        for index in indexes:
            weight = weights.get(index) or self._weigh(index)
            if index in open_until and open_until[index] > count:
                weight = self._emphasise_open(index, weight)
            worths.append((scores[index] + step * index) * weight)
        return worths

    def _emphasise_open(self, index: int, weight: float) -> float:
        rules = self._rules
        is_result = self._messages[index].role == TOOL
        return max(weight, 1.0) * (rules.error_weight if is_result else rules.question_weight)

    def _weigh_for(self, rarity: float) -> None:
        """Weigh user messages anew when the share of what others say has changed by a hundredth."""
        rarity = ceil(100 * rarity) / 100
        if rarity != self._weighed_for:
            self._weighed_for = rarity
            self._weights = {}

    def _weigh(self, index: int) -> float:
        """The weight of a message. Its text is read the first time."""
        message, rules = self._messages[index], self._rules
        if index not in self._scores:
            self._scores[index] = fixed_score(message, rules)
            self._substances[index] = substance_of(message, rules, self._features)
        self._weights[index] = emphasis(message.role, self._substances[index], rules, self._weighed_for)
        return self._weights[index]

    def see(self, messages: Sequence[Message]) -> _ScoreWorth:
        seen, self._messages = len(self._messages), messages
        for at in range(seen, len(messages)):
            message = messages[at]
            self._everybody += message.tokens
            self._users += message.tokens if message.role == USER else 0
            self._rarity.append(1.0 - self._users / max(1, self._everybody))
            self._about.update(zip(message.calls, message.about, strict=False))
            if message.role == TOOL:
                self._hear_result(at, message)
            elif message.text and not message.calls:
                self._hear_speech(at, message)
        return self

    def _hear_result(self, at: int, message: Message) -> None:
        subject = self._about.get(message.answers[0], "") if message.answers else ""
        if is_failure(message):
            self._failures.setdefault(subject, []).append(at)
            self._open_until[at] = NEVER
        else:
            self._open_until.update(dict.fromkeys(self._failures.pop(subject, ()), at + 1))

    def _hear_speech(self, at: int, message: Message) -> None:
        if self._question is not None and _speaker(self._messages[self._question]) != _speaker(message):
            self._open_until[self._question] = at + 1
        self._question = at if self._features.is_question(message.text[-LAST:]) else None
        if self._question is not None:
            self._open_until[at] = NEVER


def _speaker(message: Message) -> tuple[str, str | None]:
    return message.role, message.speaker


def _rank_sliding(messages: Sequence[Message], rules: Window, features: TextFeatures) -> Worth:
    return lambda indexes, count: [index / count for index in indexes]


def _session(messages: Sequence[Message], rules: Window, features: TextFeatures) -> Worth:
    pause = timedelta(minutes=rules.pause_minutes)
    number, numbers = 0, []
    last = None
    for message in messages:
        if last is not None and message.at is not None and message.at - last >= pause:
            number += 1
        last = message.at or last
        numbers.append(number)
    scored = _rank_scored(messages, rules, features)

    def worth(indexes: Sequence[int], count: int) -> list[float]:
        scores = zip(indexes, scored(indexes, count), strict=True)
        return [numbers[index] + score / (1 + score) for index, score in scores]  # the fraction is below 1

    return worth


def _topic(messages: Sequence[Message], rules: Window, features: TextFeatures) -> Worth:
    """Worth by topic. Topics are compared on demand, and the words of each topic are collected once."""
    words = [_words(message, features) for message in messages]
    topics = _topics(messages, words)
    ends = {topic: at + 1 for at, topic in enumerate(topics)}
    added: dict[int, tuple[int, set[str]]] = {}  # by topic: up to which message, and their words
    likeness: dict[int, tuple[int, float]] = {}  # by topic: for how many messages, and how alike

    def about(topic: int, count: int) -> set[str]:
        until, known = added.get(topic, (topic, set()))
        end = min(ends[topic], count)
        if until > end:  # an earlier moment than the last that was asked for
            return set().union(*words[topic:end])
        known.update(*words[until:end])
        added[topic] = end, known
        return known

    def worth_of_one(index: int, count: int) -> float:
        topic, present = topics[index], topics[count - 1]
        if likeness.get(topic, (0, 0.0))[0] != count:
            mine, theirs = about(topic, count), about(present, count)
            shared = len(mine & theirs) / max(1, min(len(mine), len(theirs)))
            likeness[topic] = count, 1.0 if topic == present else shared
        return likeness[topic][1] + 0.1 * index / count

    return lambda indexes, count: [worth_of_one(index, count) for index in indexes]


def _words(message: Message, features: TextFeatures) -> frozenset[str]:
    """The words that identify a topic. Only users choose topics, so only their words count."""
    return frozenset(features.topic_words(message.text[:READ])) if message.role == USER else frozenset()


def _topics(messages: Sequence[Message], words: Sequence[frozenset[str]]) -> list[int]:
    """For each message, the index of the message that started its topic."""
    topics: list[int] = []
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
    return topics
