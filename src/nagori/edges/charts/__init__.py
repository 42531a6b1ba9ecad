"""Chart data: decay curves of memories, axes and geometry. Pure; `decay_curve_terminal` and
`decay_curve_svg` draw them.

    memory ─ curve_points ─► Series ─┬─ terminal_chart ─► lines of styled text
                                     └─ svg_chart ──────► one SVG document

Both outputs share one geometry: days to the right, retention 0–100 upward, the levels as bands. Every curve
has a letter, so colours are not needed. Labels are memory texts: they are cleaned, cut and escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from nagori.config import Config
from nagori.core import decay
from nagori.core.events import Event, fold
from nagori.core.levels import LEVELS, Levels, level_for, levels_under
from nagori.core.model import Level, Memory, utc
from nagori.core.value_object import clean_text
from nagori.errors import InvalidInput

DAY = timedelta(days=1)
TOP = 100.0
LIFTS, RECALLS = ("reinforced", "revived"), ("recalled", "repeated")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ENGLISH = {Level.FULL: "full", Level.SUMMARY: "summary", Level.TRACE: "trace", Level.ARCHIVED: "archive"}

Spot = tuple[float, float]  # position in the picture's own units


class Point(NamedTuple):
    """A retention of 0–100, and the days since the start of the chart."""

    day: float
    score: float


@dataclass(frozen=True, slots=True)
class Series:
    """One memory's curve. `marks` are recalls; `ghost` is the curve without them, drawn dashed."""

    label: str
    points: Sequence[Point]
    marks: Sequence[Point] = ()
    protected: bool = False
    ghost: bool = False


@dataclass(frozen=True, slots=True)
class ChartAxes:
    """The axes. `early` stretches the first days, where most of the decay is."""

    days: float | None = None  # None: up to the last point
    ticks: Sequence[float] = ()  # empty: chosen automatically
    early: bool = False
    levels: Levels = field(default_factory=Levels)
    names: Mapping[Level, str] = field(default_factory=lambda: ENGLISH)
    unit: str = "days"
    recalled: str = "recalled"

    def fitted(self, series: Sequence[Series]) -> Frame:
        """The frame for these axes."""
        last = max((point.day for one in series for point in one.points), default=0.0)
        days = (self.days if self.days is not None else last) or 1.0
        bottoms = [getattr(self.levels, rung.threshold) if rung.threshold else 0.0 for rung in LEVELS]
        bands = zip((rung.level for rung in LEVELS), [TOP, *bottoms], bottoms, strict=False)
        ticks = [tick for tick in self.ticks or round_ticks(days) if 0 <= tick <= days]
        return Frame(days, 0.5 if self.early else 1.0, ticks, [ChartBand(*band) for band in bands])


class ChartBand(NamedTuple):
    """The retention range of one level."""

    level: Level
    top: float
    bottom: float


class Frame(NamedTuple):
    """Days and retention as shares of a picture's width and height."""

    days: float
    power: float
    ticks: Sequence[float]
    bands: Sequence[ChartBand]

    def across(self, day: float) -> float:
        return float(min(1.0, max(0.0, day / self.days)) ** self.power)

    def down(self, score: float) -> float:
        return 1.0 - min(TOP, max(0.0, score)) / TOP


def round_ticks(days: float) -> list[float]:
    """About six round numbers from 0 to `days`."""
    rough = days / 6
    unit = 10 ** math.floor(math.log10(rough))
    step = next(unit * n for n in (1, 2, 5, 10) if unit * n >= rough)
    return [step * n for n in range(math.floor(days / step) + 1)]


# ── from a memory to its curve ───────────────────────────────────────────────────────────────────


def strength(memory: Memory, now: datetime, config: Config) -> float:
    """The value to draw for a memory: its retention; a protected one stays at its level.

    The retention of a protected memory keeps falling while its level does not. It is drawn at its initial
    retention, or in the middle of its level if it was protected later.
    """
    if not memory.protected:
        return decay.retention(memory, now, config.retention, config.weekly)
    newborn = decay.retention(memory, memory.anchor, config.retention, config.weekly)
    levels = levels_under(config.retention.law, config.levels)
    if level_for(newborn, levels) is memory.level:
        return newborn
    bands = ChartAxes(levels=levels).fitted([]).bands
    return next((band.top + band.bottom) / 2 for band in bands if band.level is memory.level)


def after_recalls(memory: Memory, recalls: Iterable[datetime], now: datetime, config: Config) -> Memory:
    """The memory after reinforcement by each recall up to `now`."""
    for moment in sorted(moment for moment in recalls if moment <= now):
        memory = decay.reinforce(memory, moment, config.retention, config.recall)
    return memory


def curve_points(
    memory: Memory,
    config: Config,
    start: datetime,
    days: float,
    step: float = 1.0,
    recalls: Iterable[datetime] = (),
) -> list[Point]:
    """The retention from `start` on, every `step` days; each of `recalls` is a jump (two points on one day).

    Days before its creation are left out. Without recalls the retention never rises.
    """
    for name, value in (("days", days), ("step", step)):
        if not value > 0 or math.isinf(value):
            raise InvalidInput(name, "error.not_above_zero", value=value)
    start = utc(start, "start")
    born = max(0.0, (memory.created - start) / DAY)
    grid = [n * step for n in range(math.floor(days / step) + 1)]
    stops = sorted({day for day in (*grid, born, days) if born <= day <= days})
    waiting = sorted(utc(moment, "recalls") for moment in recalls)
    points: list[Point] = []
    for day in stops:
        now = start + timedelta(days=day)
        while waiting and waiting[0] <= now:
            moment = waiting.pop(0)
            younger = after_recalls(memory, [moment], moment, config)
            if (at := (moment - start) / DAY) >= born:
                points += [Point(at, strength(each, moment, config)) for each in (memory, younger)]
            memory = younger
        points.append(Point(day, strength(memory, now, config)))
    return points


def life_series(
    id: str, history: Iterable[Event], config: Config, start: datetime, days: float, step: float = 1.0
) -> Series:
    """The curve of a memory by its history: after each event it decays from there. Marks show reinforcements,
    and recalls that wait for the cycle."""
    turns = _turns(id, history, start, days)
    last = turns[-1].memory
    grid = [n * step for n in range(math.floor(days / step) + 1)]
    points: list[Point] = []
    for turn, until in zip(turns, [*(turn.day for turn in turns[1:]), days], strict=True):
        stops = [turn.day, *(day for day in grid if turn.day < day < until), until]
        points += [Point(day, strength(turn.memory, start + day * DAY, config)) for day in stops]
    settled = last.reinforced_at or last.created
    marks = [
        Point(turn.day, strength(turn.memory, start + turn.day * DAY, config))
        for turn in turns
        if turn.type in LIFTS or (turn.type in RECALLS and turn.at > settled)
    ]
    words = last.texts[min(last.texts)]
    once = [point for point, before in zip(points, [None, *points], strict=False) if point != before]
    return Series(words.content, once, tuple(marks), last.protected)


class _CurveTurn(NamedTuple):
    """A memory after an event."""

    at: datetime
    day: float
    type: str
    memory: Memory


def _turns(id: str, history: Iterable[Event], start: datetime, days: float) -> list[_CurveTurn]:
    """The states of a memory, from its creation on; a clock that went back does not reverse the curve."""
    turns: list[_CurveTurn] = []
    for event in history:
        before = turns[-1] if turns else None
        memory = fold([event], {id: before.memory} if before else {}).memories.get(id)
        if memory is not None:
            day = ((event.at if before else memory.created) - start) / DAY
            turns.append(
                _CurveTurn(event.at, min(days, max(before.day if before else 0.0, day)), event.type, memory)
            )
    return turns


def series_of(
    memory: Memory,
    config: Config,
    start: datetime,
    days: float,
    step: float = 1.0,
    recalls: Sequence[datetime] = (),
    label: str | None = None,
) -> Series:
    """A memory as one curve, with a mark at each recall."""
    points = curve_points(memory, config, start, days, step, recalls)
    lifted = {(moment - utc(start)) / DAY for moment in map(utc, recalls)}
    marks = {point.day: point for point in points if point.day in lifted}  # the later of the two
    return Series(label or memory.text.content, points, tuple(marks.values()), memory.protected)


# ── what both pictures need ──────────────────────────────────────────────────────────────────────


def free_places(
    paths: Sequence[Sequence[Spot]],
    marks: Sequence[Sequence[Spot]],
    enough: float,
) -> list[Spot | None]:
    """For each path a position for its letter, away from other paths, marks and letters."""
    thin = [thin_path(path, enough / 4) for path in paths]
    taken = [spot for spots in marks for spot in spots]
    places: list[Spot | None] = []
    for number, path in enumerate(thin):
        others = [spot for n, other in enumerate(thin) if n != number for spot in other] + taken

        def room(spot: Spot, others: list[Spot] = others) -> float:
            return min(enough, min((math.dist(spot, other) for other in others), default=enough))

        inner = path[len(path) // 12 : -max(1, len(path) // 12)] or path
        place = max(inner, key=room, default=None)
        places.append(place)
        taken += [place] if place else []
    return places


def thin_path(path: Sequence[Spot], least: float = 2.0) -> list[Spot]:
    """The path without invisible steps."""
    kept = list(path[:1])
    for spot in path[1:]:
        if math.dist(spot, kept[-1]) >= least or spot is path[-1]:
            kept.append(spot)
    return kept


def cut(text: str, cells: int) -> str:
    """One line of at most `cells` cells, without unprintable characters."""
    line = "".join(c if c.isprintable() else " " for c in clean_text(text))
    line = " ".join(line.split())
    return line if cell_len(line) <= cells else set_cell_size(line, max(0, cells - 1)).rstrip() + "…"
