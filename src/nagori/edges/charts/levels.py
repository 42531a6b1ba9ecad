"""Draw the number of memories at each level, day by day, as stacked layers in SVG or in a terminal.

Fuller levels are lower and darker. The forecast stands behind a line and is paler. Layers can be told apart
without colours: by order, name and, in a terminal, by pattern.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text

from nagori.core.simulate_future_cycles import GROUPS, Population
from nagori.edges.charts import round_ticks
from nagori.edges.charts.decay_curve_svg import page, safe

LIGHT = ("#0b4f8a", "#4189c4", "#94c1e4", "#c4c9cf", "#e9ebee")
DARK = ("#a5d0ff", "#5a9bd8", "#2f5f92", "#4d545d", "#262b32")
INKS = tuple(f"color({n})" for n in (33, 37, 98, 246, 240))
GRAIN = "█▓▒░·"
LEFT, RIGHT, ABOVE, BELOW = 64, 170, 62, 48
MOST_POINTS = 400
LABEL_APART, DATE_WIDE = 18, 90


class ChartLabels(NamedTuple):
    """The texts beside the layers."""

    names: Mapping[str, str]
    today: str
    forecast: str


def rows_json(days: Sequence[Population]) -> list[dict[str, object]]:
    return [{"day": one.day.isoformat(), **one.counts, "forecast": one.forecast} for one in days]


def _heights(one: Population) -> list[int]:
    """The limits of the layers, from below."""
    return [0, *accumulate(one.counts[place] for place in GROUPS)]


def _now(days: Sequence[Population]) -> int:
    """The index of today."""
    return max((n for n, one in enumerate(days) if not one.forecast), default=0)


def _some(days: Sequence[Population], most: int) -> list[int]:
    """The indices of at most about `most` days, evenly spread, with both ends and today."""
    step = math.ceil(len(days) / most)
    return sorted({*range(0, len(days), step), _now(days), len(days) - 1})


# ── as a picture ─────────────────────────────────────────────────────────────────────────────────


class Plot(NamedTuple):
    """Days and counts as positions in a picture."""

    days: Sequence[Population]
    top: int
    wide: float
    high: float

    def x(self, n: float) -> float:
        return LEFT + self.wide * n / max(1, len(self.days) - 1)

    def y(self, count: float) -> float:
        return ABOVE + self.high * (1 - count / self.top)


def levels_svg(
    days: Sequence[Population], title: str, words: ChartLabels, width: int = 960, height: int = 480
) -> str:
    """The layers as an SVG document, in light or dark as the reader prefers."""
    top = max(*(_heights(one)[-1] for one in days), 1)
    plot = Plot(days, top, width - LEFT - RIGHT, height - ABOVE - BELOW)
    body = [*_layers(plot), *_counts(plot), *_dates(plot, words), *_names(plot, words)]
    rules = ["\n".join(f".p{n}{{fill:{c}}}" for n, c in enumerate(colours)) for colours in (LIGHT, DARK)]
    rules[0] += "\n.ahead{opacity:.55}"
    return page(title, width, height, body, rules)


def _layers(plot: Plot) -> list[str]:
    shown, now = _some(plot.days, MOST_POINTS), _now(plot.days)
    parts = []
    past, ahead = [n for n in shown if n <= now], [n for n in shown if n >= now]
    for looks, some in (("", past), (" ahead", ahead if len(ahead) > 1 else [])):
        for number in range(len(GROUPS) if some else 0):
            upper = [(plot.x(n), plot.y(_heights(plot.days[n])[number + 1])) for n in some]
            lower = [(plot.x(n), plot.y(_heights(plot.days[n])[number])) for n in reversed(some)]
            along = " ".join(f"{x:.1f},{y:.1f}" for x, y in (*upper, *lower))
            parts.append(f'<polygon class="p{number}{looks}" points="{along}"/>')
    return parts


def _counts(plot: Plot) -> list[str]:
    """The scale at the left."""
    parts = []
    for tick in round_ticks(plot.top):
        if tick == int(tick):
            y = plot.y(tick)
            parts += [
                f'<path class="line" d="M{LEFT} {y:.1f}h{plot.wide:.1f}"/>',
                f'<text class="faint end" x="{LEFT - 8}" y="{y + 4:.1f}">{int(tick):,}</text>',
            ]
    return parts


def _dates(plot: Plot, words: ChartLabels) -> list[str]:
    """The first day, today and the last day below, and a line where the forecast begins."""
    floor, now, last = plot.y(0), _now(plot.days), len(plot.days) - 1
    x = plot.x(now)
    parts = [f'<path class="line axis" d="M{LEFT} {floor:.1f}h{plot.wide:.1f}"/>']
    if last > now:
        parts += [
            f'<path class="line axis" d="M{x:.1f} {ABOVE - 6}V{floor + 5:.1f}"/>',
            f'<text class="faint" x="{x + 6:.1f}" y="{ABOVE - 10}">{safe(words.forecast, 60)}</text>',
        ]
    for n in sorted({0, now, last}):
        at = plot.x(n)
        if n == now or abs(at - x) > DATE_WIDE:
            said = words.today if n == now else plot.days[n].day.isoformat()
            parts.append(
                f'<text class="faint middle" x="{at:.1f}" y="{floor + 20:.1f}">{safe(said, 12)}</text>'
            )
    return parts


def _names(plot: Plot, words: ChartLabels) -> list[str]:
    """Each layer's name and number at the right, without overlaps."""
    parts, lowest = [], -math.inf
    heights = _heights(plot.days[-1])
    for number, place in reversed(list(enumerate(GROUPS))):
        middle = plot.y((heights[number] + heights[number + 1]) / 2)
        lowest = max(lowest + LABEL_APART, min(middle, plot.y(0) - LABEL_APART * number))
        x, count = LEFT + plot.wide + 12, plot.days[-1].counts[place]
        parts += [
            f'<rect class="p{number}" x="{x:.1f}" y="{lowest - 6:.1f}" width="11" height="11"/>',
            f'<text x="{x + 18:.1f}" y="{lowest + 4:.1f}">{safe(words.names[place], 12)} {count:,}</text>',
        ]
    return parts


# ── in a terminal ────────────────────────────────────────────────────────────────────────────────


def levels_text(
    days: Sequence[Population], words: ChartLabels, width: int = 80, height: int = 12
) -> list[Text]:
    """The layers in a terminal, `width` cells wide and `height` high without dates and names."""
    top = max(*(_heights(one)[-1] for one in days), 1)
    gutter = len(f"{top:,}") + 1
    columns = _columns(days, max(16, width - gutter - 1))
    lines = []
    for row in range(height):
        label = {0: f"{top:,}", height - 1: "0"}.get(row, "")
        line = Text(f"{label:>{gutter - 1}}{'┤' if label else '│'}", style="dim")
        for one in columns:
            line.append(*_grain(one, (height - row - 0.5) / height * top))
        lines.append(line)
    return [*lines, *_date_lines(columns, words, gutter), *_legend(days, words)]


def _columns(days: Sequence[Population], room: int) -> list[Population]:
    """One day for each column: few days are stretched, many are sampled."""
    if len(days) >= room:
        return [days[round(n * (len(days) - 1) / (room - 1))] for n in range(room)]
    broad = room // len(days)
    return [one for one in days for _ in range(broad)]


def _grain(one: Population, height: float) -> tuple[str, str]:
    """The pattern at this height of a column."""
    for number, upper in enumerate(_heights(one)[1:]):
        if height < upper:
            return GRAIN[number], f"dim {INKS[number]}" if one.forecast else INKS[number]
    return " ", ""


def _date_lines(columns: Sequence[Population], words: ChartLabels, gutter: int) -> list[Text]:
    now = _now(columns)
    rule = "".join("┴" if n == now else "╌" if one.forecast else "─" for n, one in enumerate(columns))
    first, last = columns[0].day.isoformat(), columns[-1].day.isoformat()
    numbers = Text(first if now > len(first) + cell_len(words.today) else "")
    numbers.pad_right(max(0, now - cell_len(words.today) // 2 - numbers.cell_len))
    numbers.append(words.today)
    if columns[-1].forecast and len(columns) - numbers.cell_len > len(last) + 1:
        numbers.pad_right(len(columns) - len(last) - numbers.cell_len)
        numbers.append(last)
    numbers.pad_left(gutter)
    numbers.style = "dim"
    return [Text(f"{' ' * (gutter - 1)}└{rule}", style="dim"), numbers]


def _legend(days: Sequence[Population], words: ChartLabels) -> list[Text]:
    """Each layer's pattern, name and present number; and the last number of a forecast."""
    now, last = days[_now(days)], days[-1]
    broad = max(cell_len(words.names[place]) for place in GROUPS)
    lines = []
    for number, place in reversed(list(enumerate(GROUPS))):
        line = Text(f"{GRAIN[number] * 2} ", style=INKS[number])
        line.append(words.names[place] + " " * (broad - cell_len(words.names[place])), style="default")
        line.append(f" {now.counts[place]:>7,}", style="default")
        lines.append(line.append(f" → {last.counts[place]:,}" if last.forecast else "", style="dim"))
    return lines
