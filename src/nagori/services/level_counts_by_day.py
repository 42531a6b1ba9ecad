"""Number of memories at each level, day by day, from the journal for the past, simulated ahead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from itertools import groupby

from nagori.core.cycle import life_row
from nagori.core.events import Event, fold
from nagori.core.model import Memory, Scope
from nagori.core.simulate_future_cycles import (
    Change,
    Population,
    PopulationTally,
    group_of,
    read_life,
    simulate_cycles,
)
from nagori.core.value_object import check_whole, split_batches
from nagori.core.visibility import can_see
from nagori.runtime import Progress, Runtime, no_progress
from nagori.services.cycle import rules_of

FOLD_AT_ONCE = 1000  # events
MOST_DAYS = 36_525  # a century
PAST_SHARE = 60  # of 100 parts of the work; the rest is the forecast


def populations(
    runtime: Runtime,
    scope: Scope,
    past: int | None = None,
    ahead: int = 0,
    progress: Progress = no_progress,
) -> list[Population]:
    """Memories by level for the last `past` days (None: all), today, and `ahead` days without recalls.

    The journal is read once, however many days there are. The cycle covers all memories of an owner, so the
    forecast simulates all of them and counts those that the scope sees.
    """
    for name, n in (("past", 0 if past is None else past), ("ahead", ahead)):
        check_whole(name, n, most=MOST_DAYS)
    today = runtime.clock.now().astimezone(runtime.clock.zone).date()
    known: dict[str, Memory] = {}
    lived = PopulationTally(today)
    lived.take(_read_changes(runtime, scope, known, progress))
    first = lived.first if past is None else today - timedelta(days=past)
    days = [Population(day, counts) for day, counts in lived.days(first)]
    return [*days, *_forecast(runtime, scope, known, today, ahead, progress)]


def _read_changes(
    runtime: Runtime, scope: Scope, known: dict[str, Memory], progress: Progress
) -> Iterator[Change]:
    """The level changes of each day; afterwards `known` holds the present memories, without their words."""
    zone, newest = runtime.clock.zone, max(1, runtime.journal.last_seq(scope.owner))
    told = groupby(runtime.journal.read(scope.owner), lambda event: event.at.astimezone(zone).date())
    for day, some in told:
        for bundle in split_batches(some, FOLD_AT_ONCE):
            yield from _changes(day, bundle, scope, known)
            progress(min(PAST_SHARE, bundle[-1].seq * PAST_SHARE // newest), 100)


def _changes(day: date, events: Iterable[Event], scope: Scope, known: dict[str, Memory]) -> Iterator[Change]:
    outcome = fold(events, known, read=read_life)
    known |= outcome.memories
    for id, memory in outcome.memories.items():
        yield day, id, group_of(memory) if can_see(scope, memory) else None
    for id in outcome.erased:
        if known.pop(id, None) is not None:
            yield day, id, None


def _forecast(
    runtime: Runtime,
    scope: Scope,
    known: dict[str, Memory],
    today: date,
    nights: int,
    progress: Progress,
) -> Iterator[Population]:
    seen = {id for id, memory in known.items() if can_see(scope, memory)}
    rows = [life_row(memory) for memory in known.values() if not memory.is_forgotten]
    tally = PopulationTally(today + timedelta(days=nights))
    tally.take((today, id, group_of(known[id])) for id in seen)
    for number, moves in enumerate(simulate_cycles(rows, rules_of(runtime), runtime.clock.now(), nights), 1):
        day = today + timedelta(days=number)
        tally.take((day, id, place) for id, place in moves if id in seen)
        progress(PAST_SHARE + number * (100 - PAST_SHARE) // nights, 100)
    for day, counts in tally.days(today + timedelta(days=1)):
        yield Population(day, counts, forecast=True)
