"""Draw decay curves in a terminal: Braille dots, a letter per curve, a legend below."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.text import Text

from nagori.core.model import Level
from nagori.edges.charts import LETTERS, ChartAxes, Frame, Point, Series, Spot, cut, free_places, thin_path

# Middle tones of the 256-colour cube: readable on black and on white.
INKS = tuple(f"color({n})" for n in (33, 166, 35, 169, 98, 136, 37, 160))
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
BRAILLE, GUTTER = 0x2800, 4


def terminal_chart(
    series: Sequence[Series], width: int = 80, height: int = 16, axes: ChartAxes | None = None
) -> list[Text]:
    """The curves in dots, `width` cells wide and `height` high without axis and legend."""
    axes = axes or ChartAxes()
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
    """The content and colour of each cell: dots first, then recalls, then letters."""
    dots: dict[tuple[int, int], int] = {}
    inks: dict[tuple[int, int], str] = {}

    def dot(point: Point) -> Spot:
        return frame.across(point.day) * (columns * 2 - 1), frame.down(point.score) * (height * 4 - 1)

    paths = [thin_path([dot(point) for point in one.points], 1.0) for one in series]
    for number, (one, path) in enumerate(zip(series, paths, strict=True)):
        for column, row in _path_dots(path, broken=one.ghost):
            spot = (column // 2, row // 4)
            dots[spot] = dots.get(spot, 0) | DOTS[row % 4][column % 2]
            inks[spot] = INKS[number % len(INKS)]
    cells = {spot: (chr(BRAILLE + bits), inks[spot]) for spot, bits in dots.items()}
    marks = [[dot(point) for point in one.marks] for one in series]
    for number, spots in enumerate(marks):
        for x, y in spots:
            cells[round(x) // 2, round(y) // 4] = ("●", INKS[number % len(INKS)])
    for number, place in enumerate(free_places(paths, marks, 8)):
        if place:
            ink = f"bold {INKS[number % len(INKS)]}"
            cells[round(place[0]) // 2, round(place[1]) // 4] = (LETTERS[number % len(LETTERS)], ink)
    return cells


def _path_dots(path: Sequence[Spot], broken: bool) -> Iterable[tuple[int, int]]:
    """Every dot along `path`; only some of them for a dashed line."""
    walked = 0
    for (x, y), (to_x, to_y) in zip(path, path[1:] or path, strict=False):
        paces = max(1, math.ceil(max(abs(to_x - x), abs(to_y - y))))
        for pace in range(paces + 1):
            if not broken or (walked + pace) % 6 < 3:
                yield round(x + (to_x - x) * pace / paces), round(y + (to_y - y) * pace / paces)
        walked += paces


def _name_rows(frame: Frame, height: int) -> dict[int, Level]:
    """A separate row for the name of each level, near the middle of its band."""
    rows: dict[int, Level] = {}
    free = height - 1
    for band in reversed(frame.bands):
        free = min(free, _row((band.top + band.bottom) / 2, frame, height))
        rows[free] = band.level
        free -= 1
    return rows


def _day_lines(frame: Frame, axes: ChartAxes, columns: int) -> list[Text]:
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


def _legend_lines(series: Sequence[Series], axes: ChartAxes, width: int) -> list[Text]:
    lines = []
    for number, one in enumerate(series):
        sign = "┅┅" if one.ghost else "━━"
        line = Text(f"{LETTERS[number % len(LETTERS)]} {sign} ", style=INKS[number % len(INKS)])
        lines.append(line.append(_fit_label(one, width - 7), style="default"))
    if any(one.marks for one in series):
        lines.append(Text(f"●    {axes.recalled}", style="dim"))
    return lines


def _fit_label(one: Series, cells: int) -> str:
    """The label for the terminal."""
    lock = " 🔒" if one.protected else ""
    return cut(one.label, cells - cell_len(lock)) + lock
