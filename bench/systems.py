"""Who answers: nagori through its public names, two baselines, and the peers in processes of their own.

A system is given one talk at a time and answers its questions in order. Every conversation is a scope of
its own, so that nobody is asked to tell two of them apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bench.baselines import Bm25, Cosine
from bench.data import write
from bench.data_sets import Said, Talk
from bench.measure import Subjects
from bench.metrics import tokens
from bench.peers import WARM_UP
from bench.vectors import Remembered

from nagori import Config, Draft, Kind, Memory, Nagori, Scope, Source, Turn
from nagori.services.spreading_activation import index_concepts
from nagori.testing import FrozenClock

TOP_TEXTS = 10  # as many as are counted into a prompt
PIECES = 3  # a long message becomes several memories; so many times k are asked for, to find k messages


class Skipped(Exception):
    """A system that cannot be measured here; the reason is its text."""


@dataclass(frozen=True)
class Answer:
    found: list[str]  # distinct uris, best first
    tokens: float  # of the best texts
    cpu: float  # seconds, without embedding the question


System = Callable[[Talk], list[Answer]]


def answer(texts: Sequence[tuple[str, str]], k: int, cpu: float) -> Answer:
    """From (uri, text) pairs, best first: of several pieces of one message the best one counts."""
    distinct: dict[str, str] = {}
    for uri, text in texts:
        distinct.setdefault(uri, text)
    best = list(distinct)[:k]
    return Answer(best, sum(tokens(distinct[uri]) for uri in best[:TOP_TEXTS]), cpu)


def timed(ask: Callable[[str], list[tuple[str, str]]], talk: Talk, k: int) -> list[Answer]:
    """Every question of a talk, after a few whose time is thrown away."""
    for question in talk.questions[:WARM_UP]:
        ask(question.text)
    answers = []
    for question in talk.questions:
        begun = time.process_time()
        texts = ask(question.text)
        answers.append(answer(texts, k, time.process_time() - begun))
    return answers


# --- nagori


class OurMemory:
    """One store for all talks, each in its own scope, asked on the day after its last message."""

    def __init__(
        self,
        folder: Path,
        embedder: Remembered | None,
        ranking: str | None,
        k: int,
        age: int = 0,
        spread: int = 0,
    ) -> None:
        self._clock, self._ranking, self._k, self._age = FrozenClock(), ranking, k, age
        self._spread = spread
        self.facts: set[tuple[str, str]] = set()  # talk and uri of what is meant to last
        self._memory = Nagori.open(folder, config=Config(), clock=self._clock, embedder=embedder)

    def __call__(self, talk: Talk) -> list[Answer]:
        memory = self._memory.with_scope(Scope(user=talk.name))
        moments = [said.at for said in talk.said if said.at]
        if moments:
            self._clock.set(max(moments) + timedelta(days=1))
        for kept in keep(memory, talk.said):
            if kept.kind is Kind.FACT:
                self.facts.add((talk.name, kept.source.uri or ""))
        for _ in range(self._age):  # a life: a night after every day, and nobody asks
            self._clock.forward(days=1)
            memory.cycle()

        if self._spread:  # what nights would complete
            index_concepts(memory.runtime, memory.scope.owner, vectors=1_000_000)

        def ask(question: str) -> list[tuple[str, str]]:
            # Unmarked: otherwise the order of the questions would be part of the result.
            how: dict[str, Any] = {"ranking": self._ranking, "mark": False, "spread": self._spread}
            found = memory.recall(question, k=PIECES * self._k, **how)
            return [(each.memory.source.uri or "", each.memory.searchable) for each in found]

        return timed(ask, talk, self._k)

    def close(self) -> None:
        self._memory.close()


def keep(memory: Nagori, said: Sequence[Said]) -> list[Memory]:
    """Turns of a conversation are formed; texts of a collection, which nobody said, are remembered."""
    turns = [turn(each, each.at) for each in said if each.at]
    if turns:
        return memory.form(turns)
    return memory.remember_many([Draft(each.text, source=Source(uri=each.uri)) for each in said])


def turn(said: Said, at: datetime) -> Turn:
    return Turn(
        text=said.text,
        at=at,
        session=said.session,
        index=said.index,
        speaker=said.speaker,
        role=said.role,
        uri=said.uri,
    )


# --- baselines: a whole message is one text


def bm25(k: int) -> System:
    def system(talk: Talk) -> list[Answer]:
        index, texts = Bm25([said.whole for said in talk.said]), pairs(talk)
        return timed(lambda question: [texts[row] for row in index.top(question, k)], talk, k)

    return system


def vectors(embedder: Remembered, k: int) -> System:
    def system(talk: Talk) -> list[Answer]:
        stored = embedder.embed_passages([said.whole for said in talk.said])
        index, texts = Cosine(stored, embedder.dimension), pairs(talk)
        asked = {each.text: embedder.embed_query(each.text) for each in talk.questions}
        return timed(lambda question: [texts[row] for row in index.top(asked[question], k)], talk, k)

    return system


def pairs(talk: Talk) -> list[tuple[str, str]]:
    return [(said.uri, said.whole) for said in talk.said]


# --- peers


def peer(name: str, subjects: Subjects, embedder: Remembered, k: int) -> System:
    """A peer with the same texts and vectors. Each talk gets a store of its own, which suits it best."""

    def system(talk: Talk) -> list[Answer]:
        uris: dict[str, list[str]] = {}
        for said in talk.said:  # the same words twice have the same vector, and stand together
            uris.setdefault(said.whole, []).append(said.uri)
        data, store = subjects.work / "data" / talk.name, subjects.work / "stores" / name / talk.name
        if not data.exists():
            prepare(data, list(uris), [each.text for each in talk.questions], embedder)
        ended = subjects.act(name, "answer", data, store, min(k, len(uris)))
        if ended.failure:
            raise Skipped(ended.failure)
        texts = ([(uri, text) for text in found for uri in uris[text]] for found in ended.output["found"])
        return [answer(each, k, cpu) for each, cpu in zip(texts, ended.output["cpu"], strict=True)]

    return system


def prepare(folder: Path, texts: list[str], queries: list[str], embedder: Remembered) -> None:
    folder.mkdir(parents=True)
    write(folder / "texts", texts, b"".join(embedder.embed_passages(texts)))
    write(folder / "queries", queries, b"".join(map(embedder.embed_query, queries)))
