"""Forecast future cycles without recalls: run `plan_cycle` again and again over light rows.

`apply_step` does to rows what `core.events` does to whole memories. Each simulated cycle reads only the rows
that may need a step by then. When that is follows from the decay curve, so a year over a large store takes
seconds. The plan equals the plan from all rows.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from heapq import heappop, heappush, nsmallest

from nagori.core.cycle import (
    DAY,
    REARCHIVE_AFTER,
    REVIVAL_RETRY,
    Census,
    CycleRules,
    CycleStep,
    LifeRow,
    curve_by,
    plan_cycle,
)
from nagori.core.decay import Curve
from nagori.core.levels import LEVELS
from nagori.core.model import EPOCH, Emotion, Level, Memory, Privacy, Text, to_micros, utc
from nagori.core.serialize import PLAIN, RENAMED, TIMES
from nagori.core.value_object import Value, build_unchecked
from nagori.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SLACK = 1_000_000  # microseconds: reading a row a little early does no harm, missing one does
EARLIEST, NEVER = -math.inf, math.inf

Move = tuple[str, str | None]  # a memory and its new level; None: it was deleted


_NO_MEMORY = vars(Memory("mem_", EPOCH, EPOCH, {}))
_NO_EMOTION, _NO_WORDS = vars(Emotion()), Text("", "")
_LEVELS = {str(int(level)): level for level in Level}


def read_life(record: Any) -> Memory:
    """The memory of a stored record with all that decides its level and who sees it, and without its words,
    keywords, source and metadata. For `fold`: a population counts every memory there ever was."""
    if not RENAMED.keys().isdisjoint(record):
        record = {RENAMED.get(name, name): value for name, value in record.items()}
    fields = {**_NO_MEMORY, "metadata": {}}
    fields |= {name: record[name] for name in PLAIN if record.get(name) is not None}
    fields |= {name: utc(datetime.fromisoformat(record[name])) for name in TIMES if record.get(name)}
    fields["privacy"] = Privacy(record.get("privacy", Privacy.PUBLIC))
    fields["level"] = Level(record.get("level", Level.FULL))
    fields["texts"] = {_LEVELS[key]: _NO_WORDS for key in record["texts"]}
    if "intensity" in record.get("emotion", ()):
        felt = {**_NO_EMOTION, "intensity": float(record["emotion"]["intensity"])}
        fields["emotion"] = build_unchecked(Emotion, felt)
    if "id" not in record or "created" not in record:  # no store has this memory
        raise InvalidInput("memory", "error.missing")
    if "anchor" not in record:
        fields["anchor"] = fields["created"]
    return build_unchecked(Memory, fields)


def simulate_cycles(
    rows: Iterable[LifeRow], rules: CycleRules, now: datetime, nights: int
) -> Iterator[list[Move]]:
    """For each of the next cycles, a day apart, the memories whose level changes."""
    sleeper = _Simulation(rows, rules)
    for number in range(1, nights + 1):
        yield sleeper.sleep(now + timedelta(days=number))


def apply_step(row: LifeRow, step: CycleStep, now: datetime) -> LifeRow | None:
    """The row after a step; None if it was deleted."""
    if step.act == "delete":
        return None
    moment = to_micros(now) or 0
    changes: dict[str, object] = {"version": row.version + 1}
    if step.act in ("reinforce", "revive"):
        changes |= {"anchor": to_micros(step.anchor), "recalls": row.recalls + 1, "reinforced_at": moment}
    if step.act == "reinforce":
        changes |= {"coefficient": step.coefficient}
    elif step.act == "compress":
        changes |= {"level": step.level}
    elif step.act == "archive":
        changes |= {"level": step.level, "archived_at": moment, "keep_until": None, "revival_at": None}
    elif step.act == "revive":
        changes |= {"level": step.level, "keep_until": moment + REARCHIVE_AFTER}
        changes |= {"archived_at": None, "revival_at": None}
    elif step.act == "defer_revival":
        changes |= {"revival_at": moment + REVIVAL_RETRY}
    else:
        changes |= {"full": False}
    return row._replace(**changes)


class _Simulation:
    """All rows, by the time at which a cycle must look at them again."""

    def __init__(self, rows: Iterable[LifeRow], rules: CycleRules) -> None:
        self.rules, self.curve_of = rules, curve_by(rules)
        self.curves: dict[str, Curve] = {}  # of active rows: each night compares them all
        self.rows: dict[str, LifeRow] = {}
        self.movable: dict[Level, dict[str, LifeRow]] = {level: {} for level in Level}
        self.protected = 0
        self.alarms: list[tuple[float, str]] = []
        for row in rows:
            self.protected += row.protected
            self._keep(row)

    def sleep(self, now: datetime) -> list[Move]:
        moment = to_micros(now) or 0
        woken = []
        while self.alarms and self.alarms[0][0] <= moment + SLACK:
            woken.append(heappop(self.alarms)[1])
        due = {id: self.rows[id] for id in woken if id in self.rows}

        def weakest(level: Level, n: int) -> list[LifeRow]:
            ranked = [(*self._rank(row, moment), row) for row in self.movable[level].values()]
            return [row for *_, row in nsmallest(n, ranked)]

        census = Census({level: len(rows) for level, rows in self.movable.items()}, self.protected)
        plan = plan_cycle(due.values(), census, self.rules, now, weakest)
        before = {step.id: self.rows[step.id] for step in plan.steps}
        for step in plan.steps:
            self._do(step, now)
        for id in due.keys() - before.keys():  # nothing to do yet
            self._wake(due[id], moment + DAY)
        return [(id, self._place(id)) for id, row in before.items() if self._place(id) != _name(row)]

    def _do(self, step: CycleStep, now: datetime) -> None:
        row = self.rows.pop(step.id)
        self.movable[Level(row.level)].pop(row.id, None)
        new = apply_step(row, step, now)
        if new is not None:
            self._keep(new)

    def _keep(self, row: LifeRow) -> None:
        self.rows[row.id] = row
        if row.level != Level.ARCHIVED:
            self.curves[row.id] = self.curve_of(row)
        if not row.protected:
            self.movable[Level(row.level)][row.id] = row
        self._wake(row, EARLIEST)

    def _wake(self, row: LifeRow, not_before: float) -> None:
        wakes = max(self._wakes(row), not_before)
        if wakes < NEVER:
            heappush(self.alarms, (wakes, row.id))

    def _wakes(self, row: LifeRow) -> float:
        """The time, in microseconds, from which a cycle may have a step for this row."""
        if row.level == Level.ARCHIVED:
            return self._wakes_in_archive(row)
        if row.recalled_at is not None and row.recalled_at > (row.reinforced_at or EARLIEST):
            return EARLIEST
        if row.protected:
            return NEVER
        return float(row.anchor) + DAY * self.curves[row.id].age(self._threshold(row))

    def _wakes_in_archive(self, row: LifeRow) -> float:
        if row.revival_at is not None:
            return float(row.revival_at)
        archive = self.rules.archive
        if row.protected or row.archived_at is None or not archive.auto_delete_enabled:
            return NEVER  # purging removes words and changes no count
        return float(row.archived_at) + DAY * archive.retention_days

    def _threshold(self, row: LifeRow) -> float:
        name = LEVELS[row.level - 1].threshold
        assert name is not None
        return float(getattr(self.rules.thresholds, name))

    def _rank(self, row: LifeRow, moment: int) -> tuple[float, int, int, str]:
        return self.curves[row.id].at((moment - row.anchor) / DAY), row.created, row.recalls, row.id

    def _place(self, id: str) -> str | None:
        return _name(self.rows[id]) if id in self.rows else None


def _name(row: LifeRow) -> str:
    return GROUPS[int(row.level) - 1]


# --- population by level --------------------------------------------------------------------------
# Populations are counted from changes: on this day, this memory moved to this place. Only the difference
# to the day before is kept, so a history of any length takes one pass.

FORGOTTEN = "forgotten"

GROUPS = (*(level.name.lower() for level in Level), FORGOTTEN)

Change = tuple[date, str, str | None]  # the day, the memory, its place from then on; None: hidden


class Population(Value):
    """The number of memories at each place at the end of a day. Future days are a forecast."""

    day: date
    counts: Mapping[str, int]
    forecast: bool = False


def group_of(memory: Memory) -> str:
    """The place of a memory: its level, protected, or hidden."""
    return FORGOTTEN if memory.is_forgotten else GROUPS[memory.level - 1]


class PopulationTally:
    """Counts changes as they come. Days never go back: a change dated in the future (a clock was ahead)
    counts from that day on, and on the last day at the latest."""

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
        """The day of the first change."""
        return min(self._moves, default=self.last)

    def days(self, first: date) -> Iterator[tuple[date, dict[str, int]]]:
        """Every day from `first` to the last, with the counts at its end."""
        counts = dict.fromkeys(GROUPS, 0)
        moves = sorted(self._moves.items(), reverse=True)
        for number in range((self.last - first).days + 1):
            day = first + timedelta(days=number)
            while moves and moves[-1][0] <= day:
                for place, n in moves.pop()[1].items():
                    counts[place] += n
            yield day, dict(counts)
