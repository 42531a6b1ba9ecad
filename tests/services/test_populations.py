"""How many stand where: the past is what `as_of` says, the future is what the nights then do."""

from collections import Counter
from datetime import UTC, datetime, time, timedelta
from random import Random

import pytest

from nagori import Category, Draft, Emotion, Filter, Kind, Nagori
from nagori.config import load
from nagori.core.simulate_future_cycles import GROUPS
from nagori.errors import InvalidInput
from nagori.testing import FrozenClock

EVERYTHING = Filter(archived=True, forgotten=True)
TIGHT = {
    "compression.min_population": "20",
    "archive.auto_delete_enabled": "true",
    "archive.retention_days": "15",
    "capacity.limit": "80",
}


def counted(memory: Nagori, at: datetime | None = None) -> dict[str, int]:
    whole = memory.as_of(at, EVERYTHING) if at else memory.list(EVERYTHING, limit=10_000)
    stands = Counter("forgotten" if one.is_forgotten else one.level.name.lower() for one in whole)
    return {place: stands[place] for place in GROUPS}


def live(memory: Nagori, clock: FrozenClock, days: int, seed: int = 1) -> None:
    chance = Random(seed)
    for day in range(days):
        feelings = [chance.randint(5, 95) for _ in range(chance.randint(0, 6))]
        kept = memory.remember_many(
            Draft(f"day {day} tea {n}", kind=Kind.EPISODE, category=Category.WORK, emotion=Emotion(feeling))
            for n, feeling in enumerate(feelings)
        )
        if kept and chance.random() < 0.3:
            memory.protect(kept[0].id)
        if len(kept) > 1 and chance.random() < 0.3:
            memory.forget(kept[1].id)
        memory.recall(f"day {chance.randint(0, day)} tea", filter=Filter(archived=True))
        clock.forward(days=1)
        memory.cycle()


@pytest.mark.parametrize("settings", [{}, pytest.param(TIGHT, marks=pytest.mark.slow)])
def test_every_past_day_is_as_it_was_then(tmp_path, clock: FrozenClock, settings: dict[str, str]) -> None:  # type: ignore[no-untyped-def]
    config = load(overrides=settings).config
    with Nagori.open(tmp_path, config=config, clock=clock, embedder=None) as memory:
        live(memory, clock, 40)
        told = memory.populations()
        assert [one.day for one in told] == [
            told[0].day + timedelta(days=n) for n in range((clock.now().date() - told[0].day).days + 1)
        ]
        for one in told:
            was = counted(memory, datetime.combine(one.day, time.max, UTC))
            if settings:  # what was deleted since was there then, and is shown no more
                assert all(one.counts[place] >= n for place, n in was.items()), one.day
            else:
                assert one.counts == was, one.day
        assert told[-1].counts == counted(memory)
        assert memory.populations(past=7) == told[-8:]


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, marks=pytest.mark.slow),
        TIGHT,
        pytest.param(TIGHT | {"retention.law": "weekly"}, marks=pytest.mark.slow),
    ],
)
def test_the_forecast_is_what_the_nights_then_do(  # type: ignore[no-untyped-def]
    tmp_path, clock: FrozenClock, settings: dict[str, str]
) -> None:
    config = load(overrides=settings).config
    with Nagori.open(tmp_path, config=config, clock=clock, embedder=None) as memory:
        live(memory, clock, 30)
        memory.recall("day 3 tea", filter=Filter(archived=True))  # its night is still to come
        told = memory.populations(past=0, ahead=60)
        assert [one.forecast for one in told] == [False] + [True] * 60
        lived = [counted(memory)]
        for _ in range(60):
            clock.forward(days=1)
            memory.cycle()
            lived.append(counted(memory))
    assert [one.counts for one in told] == lived
    assert len({tuple(counts.items()) for counts in lived}) >= 3  # something happened


def test_only_what_the_scope_sees_is_counted_but_all_live_on(memory: Nagori, clock: FrozenClock) -> None:
    for project, n in (("a", 3), ("b", 4)):
        memory.with_scope(project=project).remember_many(f"{project} {i}" for i in range(n))
    memory.remember("everywhere")
    sums = {
        project: {sum(one.counts.values()) for one in memory.with_scope(project=project).populations(0, 30)}
        for project in ("a", "b", None)
    }
    assert sums == {"a": {4}, "b": {5}, None: {8}}


def test_senseless_spans_are_refused(memory: Nagori) -> None:
    with pytest.raises(InvalidInput):
        memory.populations(past=-1)
    with pytest.raises(InvalidInput):
        memory.populations(ahead=-1)
