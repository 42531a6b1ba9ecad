"""How memories fade, as pictures: a terminal chart of dots, and an SVG that stands alone. Pure drawing.

    memory ─ curve_points ─► Series ─┬─ terminal_chart ─► lines of styled text
                                     └─ svg_chart ──────► one SVG document

Both pictures share one geometry: days to the right, strength 0–100 upward, the levels as bands. Every
curve carries a letter, so that it is told from the others without colours. Labels are memory text, which
anybody may have written: they are cleaned, cut to fit, and escaped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from html import escape
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from nagori.config import Config
from nagori.core import decay
from nagori.core.life import LADDER, Levels, level_for
from nagori.core.model import Level, Memory, utc
from nagori.core.text import clean
from nagori.errors import InvalidInput

DAY = timedelta(days=1)
TOP = 100.0
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ENGLISH = {Level.FULL: "full", Level.SUMMARY: "summary", Level.TRACE: "trace", Level.ARCHIVED: "archive"}


class Point(NamedTuple):
    """A strength of 0–100 at so many days after the start of the chart."""

    day: float
    score: float


@dataclass(frozen=True, slots=True)
class Series:
    """One memory's curve. `marks` are recalls; `ghost` is what would have been, drawn broken."""

    label: str
    points: Sequence[Point]
    marks: Sequence[Point] = ()
    protected: bool = False
    ghost: bool = False


@dataclass(frozen=True, slots=True)
class Axes:
    """What the curves are drawn on. `early` draws the first days wider, where most of the fading is."""

    days: float | None = None  # None: as far as the points go
    ticks: Sequence[float] = ()  # empty: chosen
    early: bool = False
    levels: Levels = field(default_factory=Levels)
    names: Mapping[Level, str] = field(default_factory=lambda: ENGLISH)
    unit: str = "days"
    recalled: str = "recalled"

    def fitted(self, series: Sequence[Series]) -> Frame:
        """These axes, decided."""
        last = max((point.day for one in series for point in one.points), default=0.0)
        days = (self.days if self.days is not None else last) or 1.0
        bottoms = [getattr(self.levels, rung.threshold) if rung.threshold else 0.0 for rung in LADDER]
        bands = zip((rung.level for rung in LADDER), [TOP, *bottoms], bottoms, strict=False)
        ticks = [tick for tick in self.ticks or _round_ticks(days) if 0 <= tick <= days]
        return Frame(days, 0.5 if self.early else 1.0, ticks, [Band(*band) for band in bands])


class Band(NamedTuple):
    """The strengths of one level."""

    level: Level
    top: float
    bottom: float


class Frame(NamedTuple):
    """Days and strengths as shares of a picture's width and height."""

    days: float
    power: float
    ticks: Sequence[float]
    bands: Sequence[Band]

    def across(self, day: float) -> float:
        return float(min(1.0, max(0.0, day / self.days)) ** self.power)

    def down(self, score: float) -> float:
        return 1.0 - min(TOP, max(0.0, score)) / TOP


# ── from a memory to its curve ───────────────────────────────────────────────────────────────────


def strength(memory: Memory, now: datetime, config: Config) -> float:
    """What to draw for a memory: its retention; a protected one stays where its level is.

    The number behind a protected memory goes on falling, its level does not: it is held at the strength
    it had when new, or in the middle of its level if it was protected further down.
    """
    if not memory.protected:
        return decay.retention(memory, now, config.retention, config.weekly)
    newborn = decay.retention(memory, memory.anchor, config.retention, config.weekly)
    if level_for(newborn, config.levels) is memory.level:
        return newborn
    bands = Axes(levels=config.levels).fitted([]).bands
    return next((band.top + band.bottom) / 2 for band in bands if band.level is memory.level)


def after_recalls(memory: Memory, recalls: Iterable[datetime], now: datetime, config: Config) -> Memory:
    """The memory strengthened by each recall up to `now`, as the cycle does it."""
    for moment in sorted(moment for moment in recalls if moment <= now):
        memory = decay.strengthen(memory, moment, config.retention, config.recall)
    return memory


def curve_points(
    memory: Memory,
    config: Config,
    start: datetime,
    days: float,
    step: float = 1.0,
    recalls: Iterable[datetime] = (),
) -> list[Point]:
    """Its strength from `start` on, every `step` days; each of `recalls` is a jump (two points, one day).

    Days before its birth are left out. Without recalls the strength never rises.
    """
    for name, value in (("days", days), ("step", step)):
        if not value > 0 or math.isinf(value):
            raise InvalidInput(name, "{value} is not above 0", value=value)
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


def series_of(
    memory: Memory,
    config: Config,
    start: datetime,
    days: float,
    step: float = 1.0,
    recalls: Sequence[datetime] = (),
    label: str | None = None,
) -> Series:
    """A memory as one curve of a chart, with a mark where each recall lifted it."""
    points = curve_points(memory, config, start, days, step, recalls)
    lifted = {(moment - utc(start)) / DAY for moment in map(utc, recalls)}
    marks = {point.day: point for point in points if point.day in lifted}  # the later of the two
    return Series(label or memory.text.content, points, tuple(marks.values()), memory.protected)


# ── in a terminal ────────────────────────────────────────────────────────────────────────────────

# Middle tones of the 256-colour cube: readable on black and on white.
INKS = tuple(f"color({n})" for n in (33, 166, 35, 169, 98, 136, 37, 160))
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
BRAILLE, GUTTER = 0x2800, 4


def terminal_chart(
    series: Sequence[Series], width: int = 80, height: int = 16, axes: Axes | None = None
) -> list[Text]:
    """The curves in dots, `width` cells wide and `height` high without axis and legend."""
    axes = axes or Axes()
    frame = axes.fitted(series)
    side = max(cell_len(name) for name in axes.names.values()) + 1
    columns, height = max(16, width - GUTTER - side), max(6, height)
    cells = _canvas(series, frame, columns, height)
    lines = []
    names = _name_rows(frame, height)
    numbers = {_row(band.top, frame, height): band.top for band in frame.bands}
    for row in range(height):
        label = f"{numbers[row]:g}" if row in numbers else ""
        line = Text().append(f"{label:>{GUTTER - 1}}{'┤' if label else '│'}", style="dim")
        for column in range(columns):
            faint = "┈" if label and row else " "
            character, style = cells.get((column, row), (faint, "dim"))
            line.append(character, style=style)
        lines.append(line.append(f" {axes.names[names[row]]}" if row in names else "", style="dim"))
    lines += [*_day_lines(frame, axes, columns), *_legend_lines(series, axes, width)]
    return lines


def _row(score: float, frame: Frame, height: int) -> int:
    return round(frame.down(score) * (height * 4 - 1)) // 4


def _canvas(
    series: Sequence[Series], frame: Frame, columns: int, height: int
) -> dict[tuple[int, int], tuple[str, str]]:
    """What stands in each cell, and its colour: dots first, then recalls, then letters."""
    dots: dict[tuple[int, int], int] = {}
    inks: dict[tuple[int, int], str] = {}

    def dot(point: Point) -> tuple[float, float]:
        return frame.across(point.day) * (columns * 2 - 1), frame.down(point.score) * (height * 4 - 1)

    paths = [_thinned([dot(point) for point in one.points], 1.0) for one in series]
    for number, (one, path) in enumerate(zip(series, paths, strict=True)):
        for column, row in _trodden(path, broken=one.ghost):
            spot = (column // 2, row // 4)
            dots[spot] = dots.get(spot, 0) | DOTS[row % 4][column % 2]
            inks[spot] = INKS[number % len(INKS)]
    cells = {spot: (chr(BRAILLE + bits), inks[spot]) for spot, bits in dots.items()}
    marks = [[dot(point) for point in one.marks] for one in series]
    for number, spots in enumerate(marks):
        for x, y in spots:
            cells[round(x) // 2, round(y) // 4] = ("●", INKS[number % len(INKS)])
    for number, place in enumerate(_free_places(paths, marks, 8)):
        if place:
            ink = f"bold {INKS[number % len(INKS)]}"
            cells[round(place[0]) // 2, round(place[1]) // 4] = (LETTERS[number % len(LETTERS)], ink)
    return cells


def _trodden(path: Sequence[tuple[float, float]], broken: bool) -> Iterable[tuple[int, int]]:
    """Every dot on the way along `path`; only some of them if it is a broken line."""
    walked = 0
    for (x, y), (to_x, to_y) in zip(path, path[1:] or path, strict=False):
        paces = max(1, math.ceil(max(abs(to_x - x), abs(to_y - y))))
        for pace in range(paces + 1):
            if not broken or (walked + pace) % 6 < 3:
                yield round(x + (to_x - x) * pace / paces), round(y + (to_y - y) * pace / paces)
        walked += paces


def _name_rows(frame: Frame, height: int) -> dict[int, Level]:
    """A row of its own for the name of each level, as near the middle of its band as there is room."""
    rows: dict[int, Level] = {}
    free = height - 1
    for band in reversed(frame.bands):
        free = min(free, _row((band.top + band.bottom) / 2, frame, height))
        rows[free] = band.level
        free -= 1
    return rows


def _day_lines(frame: Frame, axes: Axes, columns: int) -> list[Text]:
    rule, numbers = ["─"] * columns, " " * (columns + GUTTER)
    for tick in frame.ticks:
        column = round(frame.across(tick) * (columns - 1))
        rule[column] = "┴"
        label = f"{tick:g}"
        left = min(column + GUTTER - len(label) // 2, len(numbers) - len(label))
        if not numbers[max(0, left - 1) : left + len(label)].strip():
            numbers = numbers[:left] + label + numbers[left + len(label) :]
    return [
        Text(f"{'0':>{GUTTER - 1}}└{''.join(rule)}", style="dim"),
        Text(f"{numbers} {axes.unit}", style="dim"),
    ]


def _legend_lines(series: Sequence[Series], axes: Axes, width: int) -> list[Text]:
    lines = []
    for number, one in enumerate(series):
        sign = "┅┅" if one.ghost else "━━"
        line = Text(f"{LETTERS[number % len(LETTERS)]} {sign} ", style=INKS[number % len(INKS)])
        lines.append(line.append(_shown(one, width - 7), style="default"))
    if any(one.marks for one in series):
        lines.append(Text(f"●    {axes.recalled}", style="dim"))
    return lines


# ── as SVG ───────────────────────────────────────────────────────────────────────────────────────

LIGHT = ("#0067b1", "#c2500a", "#00805a", "#b8478f", "#6b4bb8", "#86660a", "#007c8a", "#b3261e")
DARK = ("#6cb6ff", "#ff9f5a", "#4fd1a1", "#f08fcb", "#b79cff", "#e3c04f", "#58cfdd", "#ff8a80")
TINTS = {1: ("#eaf3ec", "#15241b"), 2: ("#e9f1f8", "#14202d"), 3: ("#f4eff9", "#211a2d")}
TINTS[4] = ("#efefef", "#232323")
FONTS = (
    "system-ui, -apple-system, 'Segoe UI', 'Hiragino Sans', 'Yu Gothic UI', Meiryo, "
    "'Noto Sans CJK JP', 'Noto Sans JP', 'IPAexGothic', sans-serif"
)
CELL_PX, LEGEND_ROW, LEAST_PLOT = 6.7, 21, 160
LOCK = (
    '<g class="lock" transform="translate({x:.1f} {y:.1f})"><path d="M0 5h10v7H0z"/>'
    '<path class="bow" d="M2 5V3a3 3 0 0 1 6 0v2"/></g>'
)
LEFT, RIGHT, ABOVE, BELOW = 52, 104, 58, 46


def svg_chart(
    series: Sequence[Series],
    title: str,
    axes: Axes | None = None,
    width: int = 960,
    height: int = 540,
) -> str:
    """The curves as an SVG document in light or dark, whichever the reader prefers."""
    axes = axes or Axes()
    frame = axes.fitted(series)
    rows = min(math.ceil(len(series) / 2), (height - ABOVE - BELOW - LEAST_PLOT) // LEGEND_ROW)
    wide, high = width - LEFT - RIGHT, height - ABOVE - BELOW - rows * LEGEND_ROW - 14

    def at(point: Point) -> tuple[float, float]:
        return LEFT + frame.across(point.day) * wide, ABOVE + frame.down(point.score) * high

    name = _safe(title, 200)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{name}">',
        f"<title>{name}</title>",
        f"<style>\n{_stylesheet()}\n</style>",
        f'<rect class="page" width="{width}" height="{height}"/>',
        f'<text class="title" x="{LEFT}" y="34">{_safe(title, int((width - LEFT) / 10.5))}</text>',
        *_svg_frame(frame, axes, at, wide, any(one.marks for one in series)),
        *_svg_curves(series, at),
        *_svg_legend(series, rows, width, height - rows * LEGEND_ROW),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


At = Callable[[Point], tuple[float, float]]


def _stylesheet() -> str:
    def theme(n: int, page: str, ink: str, faint: str, line: str) -> str:
        colours = (LIGHT, DARK)[n]
        rules = [f".page{{fill:{page}}} text{{fill:{ink}}} .faint{{fill:{faint}}}"]
        rules += [f".lock{{fill:{faint};stroke:{faint}}}"]
        rules += [f".line{{stroke:{line}}} .key{{fill:{page}}} .mark{{stroke:{page}}}"]
        rules += [f".l{level}{{fill:{tints[n]}}}" for level, tints in TINTS.items()]
        rules += [f".s{i}{{stroke:{c}}} .f{i}{{fill:{c}}}" for i, c in enumerate(colours)]
        return "\n".join(rules)

    return "\n".join(
        (
            f"text{{font:13px {FONTS}}} .title{{font-size:19px;font-weight:600}}",
            ".faint{font-size:12px} .key{font-size:11px;font-weight:700;text-anchor:middle}",
            ".curve{fill:none;stroke-width:2.25;stroke-linejoin:round;stroke-linecap:round}",
            ".ghost{stroke-dasharray:2 6} .kept{stroke-width:3.5} .mark{stroke-width:1.5}",
            ".line{stroke-width:1;stroke-dasharray:3 4} .axis{stroke-dasharray:none}",
            ".lock{stroke-width:1.4} .bow{fill:none}",
            ".end{text-anchor:end} .middle{text-anchor:middle}",
            theme(0, "#ffffff", "#1f2328", "#5b6570", "#b4bcc4"),
            "@media (prefers-color-scheme:dark){",
            theme(1, "#0d1117", "#e6edf3", "#9aa5b1", "#48515b"),
            "}",
        )
    )


def _svg_frame(frame: Frame, axes: Axes, at: At, wide: float, marked: bool) -> list[str]:
    parts = []
    _, floor = at(Point(0, 0))
    for band in frame.bands:
        _, top = at(Point(0, band.top))
        _, bottom = at(Point(0, band.bottom))
        middle = (top + bottom) / 2 + 4
        parts += [
            f'<rect class="l{int(band.level)}" x="{LEFT}" y="{top:.1f}" '
            f'width="{wide:.1f}" height="{bottom - top:.1f}"/>',
            f'<path class="line" d="M{LEFT} {top:.1f}h{wide:.1f}"/>',
            f'<text class="faint end" x="{LEFT - 8}" y="{top + 4:.1f}">{band.top:g}</text>',
            f'<text class="faint" x="{LEFT + wide + 10:.1f}" y="{middle:.1f}">'
            f"{_safe(axes.names[band.level], 13)}</text>",
        ]
    parts.append(f'<path class="line axis" d="M{LEFT} {floor:.1f}h{wide:.1f}"/>')
    last = -math.inf
    for tick in frame.ticks:
        x, _ = at(Point(tick, 0))
        if x - last >= 24:
            parts += [
                f'<path class="line axis" d="M{x:.1f} {floor:.1f}v5"/>',
                f'<text class="faint middle" x="{x:.1f}" y="{floor + 20:.1f}">{tick:g}</text>',
            ]
            last = x
    parts.append(
        f'<text class="faint" x="{LEFT + wide + 22:.1f}" y="{floor + 20:.1f}">{_safe(axes.unit, 11)}</text>'
    )
    if marked:
        x = LEFT + wide
        parts += [
            f'<circle class="faint" cx="{x - 5:.1f}" cy="{ABOVE - 16}" r="4"/>',
            f'<text class="faint end" x="{x - 15:.1f}" y="{ABOVE - 12}">{_safe(axes.recalled, 30)}</text>',
        ]
    return parts


def _svg_curves(series: Sequence[Series], at: At) -> list[str]:
    parts = []
    paths = [_thinned([at(point) for point in one.points]) for one in series]
    marks = [[at(point) for point in one.marks] for one in series]
    for number, (one, path) in enumerate(zip(series, paths, strict=True)):
        if path:
            looks = f"curve s{number % len(LIGHT)}{' ghost' * one.ghost}{' kept' * one.protected}"
            along = " ".join(f"{x:.1f},{y:.1f}" for x, y in path)
            parts.append(f'<polyline class="{looks}" points="{along}"/>')
    for number, spots in enumerate(marks):
        look = f"mark f{number % len(LIGHT)}"
        parts += [f'<circle class="{look}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>' for x, y in spots]
    for number, place in enumerate(_free_places(paths, marks, 40)):
        if place:
            parts += _svg_key(number, *place)
    return parts


def _svg_key(number: int, x: float, y: float) -> list[str]:
    """The letter of a curve on a disc of its colour."""
    return [
        f'<circle class="f{number % len(LIGHT)}" cx="{x:.1f}" cy="{y:.1f}" r="8"/>',
        f'<text class="key" x="{x:.1f}" y="{y + 3.5:.1f}">{LETTERS[number % len(LETTERS)]}</text>',
    ]


def _svg_legend(series: Sequence[Series], rows: int, width: int, top: float) -> list[str]:
    """Two columns of labels, read downward; what has no room is counted."""
    parts = []
    half = (width - LEFT) / 2
    room = rows * 2
    for number, one in enumerate(series[:room]):
        column, row = divmod(number, rows)
        x, y = LEFT + column * half, top + row * LEGEND_ROW
        label = _cut(one.label, int((half - 44) / CELL_PX))
        if number == room - 1 and len(series) > room:
            label = f"… +{len(series) - number}"
        else:
            parts += _svg_key(number, x + 8, y)
            parts += [LOCK.format(x=x + 22, y=y - 6)] if one.protected else []
        inset = 38 if one.protected else 24
        parts.append(f'<text x="{x + inset:.1f}" y="{y + 4.5:.1f}">{escape(label)}</text>')
    return parts


# ── shared ───────────────────────────────────────────────────────────────────────────────────────


def _round_ticks(days: float) -> list[float]:
    """Some six round numbers of days."""
    rough = days / 6
    unit = 10 ** math.floor(math.log10(rough))
    step = next(unit * n for n in (1, 2, 5, 10) if unit * n >= rough)
    return [step * n for n in range(math.floor(days / step) + 1)]


def _free_places(
    paths: Sequence[Sequence[tuple[float, float]]],
    marks: Sequence[Sequence[tuple[float, float]]],
    enough: float,
) -> list[tuple[float, float] | None]:
    """For each path a place on it, away from the others, their marks and each other: for its letter."""
    thin = [_thinned(path, enough / 4) for path in paths]
    taken = [spot for spots in marks for spot in spots]
    places: list[tuple[float, float] | None] = []
    for number, path in enumerate(thin):
        others = [spot for n, other in enumerate(thin) if n != number for spot in other] + taken

        def room(spot: tuple[float, float], others: list[tuple[float, float]] = others) -> float:
            return min(enough, min((math.dist(spot, other) for other in others), default=enough))

        inner = path[len(path) // 12 : -max(1, len(path) // 12)] or path
        place = max(inner, key=room, default=None)
        places.append(place)
        taken += [place] if place else []
    return places


def _thinned(path: Sequence[tuple[float, float]], least: float = 2.0) -> list[tuple[float, float]]:
    """The path without steps too small to see."""
    kept = list(path[:1])
    for spot in path[1:]:
        if math.dist(spot, kept[-1]) >= least or spot is path[-1]:
            kept.append(spot)
    return kept


def _shown(one: Series, cells: int) -> str:
    """The label as it stands in a terminal."""
    lock = " 🔒" if one.protected else ""
    return _cut(one.label, cells - cell_len(lock)) + lock


def _cut(text: str, cells: int) -> str:
    """One line of at most `cells` cells, without characters that do not print."""
    line = "".join(c if c.isprintable() else " " for c in clean(text))
    line = " ".join(line.split())
    return line if cell_len(line) <= cells else set_cell_size(line, max(0, cells - 1)).rstrip() + "…"


def _safe(text: str, cells: int) -> str:
    return escape(_cut(text, cells))
