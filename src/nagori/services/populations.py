"""How many memories stand where, day by day: what was, from the journal; what will be, from the plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from itertools import groupby

from nagori.core.ahead import nights_ahead
from nagori.core.cycle import life_row
from nagori.core.fold import Event, fold
from nagori.core.model import Memory, Scope
from nagori.core.populations import Change, Population, Tally, place_of
from nagori.core.selection import sees
from nagori.core.values import batched
from nagori.errors import InvalidInput
from nagori.parts import Parts
from nagori.services.cycle import rules_of

FOLD_AT_ONCE = 1000  # events


def populations(parts: Parts, scope: Scope, past: int | None = None, ahead: int = 0) -> list[Population]:
    """The last `past` days (None: all there were), today, and `ahead` days if nothing is recalled.

    The journal is read once, however many days there are. Nights belong to everybody in a space, so all its
    memories live on in the forecast; those that the scope sees are counted.
    """
    for name, n in (("past", past or 0), ("ahead", ahead)):
        if n < 0:
            raise InvalidInput(name, "{n} is not at least 0", n=n)
    today = parts.clock.now().astimezone(parts.clock.zone).date()
    known: dict[str, Memory] = {}
    lived = Tally(today)
    lived.take(_told(parts, scope, known))
    first = lived.first if past is None else today - timedelta(days=past)
    days = [Population(day, counts) for day, counts in lived.days(first)]
    return [*days, *_forecast(parts, scope, known, today, ahead)]


def _told(parts: Parts, scope: Scope, known: dict[str, Memory]) -> Iterator[Change]:
    """Where memories stood after each day's events; `known` ends as they are now."""
    for day, some in groupby(
        parts.journal.read(scope.space), lambda event: event.at.astimezone(parts.clock.zone).date()
    ):
        for bundle in batched(some, FOLD_AT_ONCE):
            yield from _changes(day, bundle, scope, known)


def _changes(day: date, events: Iterable[Event], scope: Scope, known: dict[str, Memory]) -> Iterator[Change]:
    outcome = fold(events, known)
    known |= outcome.memories
    for id, memory in outcome.memories.items():
        yield day, id, place_of(memory) if sees(scope, memory) else None
    for id in outcome.erased:
        if known.pop(id, None) is not None:
            yield day, id, None


def _forecast(
    parts: Parts, scope: Scope, known: dict[str, Memory], today: date, nights: int
) -> Iterator[Population]:
    seen = {id for id, memory in known.items() if sees(scope, memory)}
    rows = [life_row(memory) for memory in known.values() if not memory.forgotten]
    tally = Tally(today + timedelta(days=nights))
    tally.take((today, id, place_of(known[id])) for id in seen)
    for number, moves in enumerate(nights_ahead(rows, rules_of(parts), parts.clock.now(), nights), 1):
        day = today + timedelta(days=number)
        tally.take((day, id, place) for id, place in moves if id in seen)
    for day, counts in tally.days(today + timedelta(days=1)):
        yield Population(day, counts, forecast=True)
