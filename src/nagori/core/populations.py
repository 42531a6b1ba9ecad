"""How many memories stood where, day by day.

A population is counted from changes, each told once: on this day, this memory stands there now. Nothing is
kept of a day but the difference to the day before, so a life of any length is one pass.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta

from nagori.core.model import Level, Memory
from nagori.core.values import Value

FORGOTTEN = "forgotten"
PLACES = (*(level.name.lower() for level in Level), FORGOTTEN)

Change = tuple[date, str, str | None]  # the day, the memory, where it stands from then on; None: out of sight


class Population(Value):
    """How many memories stood at each place when a day ended; a day that is still to come is a forecast."""

    day: date
    counts: Mapping[str, int]
    forecast: bool = False


def place_of(memory: Memory) -> str:
    """Where a memory stands."""
    return FORGOTTEN if memory.forgotten else PLACES[memory.level - 1]


class Tally:
    """Counts changes as they come. A memory never moves back in time: what a clock that ran ahead dated
    later than the rest counts from that day on, and on the last day at the latest."""

    def __init__(self, last: date) -> None:
        self.last = last
        self._stands: dict[str, tuple[date, str | None]] = {}
        self._moves: defaultdict[date, Counter[str]] = defaultdict(Counter)

    def take(self, changes: Iterable[Change]) -> None:
        for day, id, place in changes:
            since, before = self._stands.get(id, (day, None))
            day = min(self.last, max(day, since))
            self._stands[id] = (day, place)
            if place != before:
                self._moves[day].update({name: 1 for name in (place,) if name})
                self._moves[day].subtract({name: 1 for name in (before,) if name})

    @property
    def first(self) -> date:
        """The first day on which anything happened."""
        return min(self._moves, default=self.last)

    def days(self, first: date) -> Iterator[tuple[date, dict[str, int]]]:
        """Every day from `first` to the last, with what stood where when it ended."""
        counts = dict.fromkeys(PLACES, 0)
        moves = sorted(self._moves.items(), reverse=True)
        for number in range((self.last - first).days + 1):
            day = first + timedelta(days=number)
            while moves and moves[-1][0] <= day:
                for place, n in moves.pop()[1].items():
                    counts[place] += n
            yield day, dict(counts)
