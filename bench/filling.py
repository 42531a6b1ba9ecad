"""A large store, quickly: memories of four months that have lived through their nights already.

Levels are given as the nights would have given them (by strength, within each level's share), so that the
first night that is measured is a normal one. Everything goes the usual way, through the ledger: one journal
line a bundle, folded, committed. Then a day passes: some memories are new, some were recalled.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

from bench.data import sentences

from nagori import Category, Config, Draft, Emotion, Kind, Level, Memory, Nagori, Scope, __version__
from nagori.core.decay import coefficient_for, retention
from nagori.core.events import Event
from nagori.core.levels import LEVELS, Capacity, level_for
from nagori.core.model import Filter, Text
from nagori.core.serialize import to_record
from nagori.core.value_object import replace, split_batches
from nagori.language.compression import compress_to_summary, compress_to_trace
from nagori.services.remember import identify
from nagori.stores.sqlite.migrate import STEPS
from nagori.testing import FrozenClock

DAYS = 120
NEW, RECALLED = 0.01, 0.008  # of all memories, in the day before the night
AT_ONCE = 5_000
KINDS = [Kind.EPISODE] * 6 + [Kind.FACT, Kind.DECISION, Kind.LESSON]
OWNER = Scope().owner
MADE_BY = f"{__version__}-{len(STEPS)}"  # a kept store is another one when the schema is


def filled(folder: Path, size: int, lines: int = 1) -> None:
    """A store of so many memories in `folder`, each of so many sentences; the evening before the night."""
    clock = FrozenClock()
    with opened(folder, size, clock) as memory:
        for bundle in split_batches(settled(size, clock.now(), lines), AT_ONCE):
            events = [Event("imported", clock.now(), {"memory": to_record(m)}, m.id) for m in bundle]
            memory.runtime.ledger.write(OWNER, lambda events=events: events)  # type: ignore[misc]
        a_day(memory, clock, size, lines)
        memory.runtime.store.compact()


def evening() -> FrozenClock:
    """When a filled store awaits its night."""
    clock = FrozenClock()
    clock.forward(days=1)
    return clock


def opened(folder: Path, size: int, clock: FrozenClock) -> Nagori:
    """Without an embedder and with room: fading is measured, not a full store."""
    return Nagori.open(folder, config=Config(capacity=Capacity(limit=10 * size)), clock=clock, embedder=None)


def kept(cache: Path, work: Path, stem: str, fill: Callable[[Path], object]) -> Path:
    """A copy of the filled store in `cache`, which is filled when it is not there yet."""
    if not (cache / stem).exists():
        shutil.rmtree(cache / f"{stem}.new", ignore_errors=True)
        fill(cache / f"{stem}.new")
        (cache / f"{stem}.new").rename(cache / stem)
    return Path(shutil.copytree(cache / stem, work / stem))


def settled(size: int, now: datetime, lines: int = 1) -> Iterator[Memory]:
    """Memories as different as people's, each at the level where nights would have brought it."""
    dice, config = random.Random(1), Config()
    texts = told(1, lines)
    young = []
    for _ in range(size):
        kind, category, felt = dice.choice(KINDS), dice.choice(list(Category)), Emotion(dice.uniform(5, 95))
        slow = coefficient_for(category, felt.intensity, kind, config.retention)
        born = now - timedelta(days=dice.uniform(0, DAYS))
        whole = {Level.FULL: Text("", next(texts))}
        memory = Memory("", born, born, whole, kind, category, emotion=felt, coefficient=slow)
        young.append(replace(memory, id=identify(memory)))
    strengths = [retention(memory, now, config.retention, config.weekly) for memory in young]
    for memory, level in zip(young, levels(strengths, config), strict=True):
        yield aged(memory, level, now, dice.random())


def told(seed: int, lines: int) -> Iterator[str]:
    source = sentences(seed)
    while found := [text for text, _, _ in islice(source, lines)]:
        yield " ".join(found)


def levels(strengths: Sequence[float], config: Config) -> list[Level]:
    """By strength, the strongest first, as far as each level has room."""
    room = {rung.level: int(getattr(config.compression, rung.ratio) * len(strengths)) for rung in LEVELS}
    found, used, level = [Level.FULL] * len(strengths), Counter[Level](), Level.FULL
    for place in sorted(range(len(strengths)), key=lambda place: -strengths[place]):
        level = max(level, level_for(strengths[place], config.levels))
        while level < Level.ARCHIVED and used[level] >= room[level]:
            level = Level(level + 1)
        used[level] += 1
        found[place] = level
    return found


def aged(memory: Memory, level: Level, now: datetime, share: float) -> Memory:
    """A memory after the nights that brought it to `level`."""
    if level is Level.FULL:
        return memory
    whole = memory.texts[Level.FULL]
    texts = memory.texts | {Level.SUMMARY: compress_to_summary(whole, memory.emotion)}
    if level > Level.SUMMARY:
        texts |= {Level.TRACE: compress_to_trace(whole, memory.emotion)}
    away = now - (now - memory.created) * share if level is Level.ARCHIVED else None
    if away and now - away > timedelta(days=Config().archive.grace_days):
        texts = {Level.TRACE: texts[Level.TRACE]}
    reason = "score" if away else None
    return memory.evolve(level=level, texts=texts, archived_at=away, archive_reason=reason)


def a_day(memory: Nagori, clock: FrozenClock, size: int, lines: int) -> None:
    """What is new, and what comes to mind: recalls find five at a time."""
    dice = random.Random(2)
    recalled = memory.runtime.store.find(Scope(), Filter(), limit=int(RECALLED * size))
    clock.forward(days=1)
    drafts = (
        Draft(
            text,
            kind=dice.choice(KINDS),
            category=dice.choice(list(Category)),
            emotion=Emotion(dice.uniform(5, 95)),
            created=clock.now() - timedelta(days=dice.random()),
        )
        for text in islice(told(2, lines), int(NEW * size))
    )
    memory.remember_many(drafts)
    marks = [
        Event("recalled", clock.now(), {"memories": [m.id for m in few]})
        for few in split_batches(recalled, 5)
    ]
    memory.runtime.ledger.write(OWNER, lambda: marks)
