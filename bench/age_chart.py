"""The figures of `bench.age` as a picture: `python -m bench.age_chart OUT.svg FIGURES.json …`.

Three panels over one axis of days: the share that comes back with its interval, what an answer costs in
tokens, and what the words take. A data set is a colour and a letter.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.recall import OVERALL

from nagori.edges.charts import LETTERS, round_ticks
from nagori.edges.charts.decay_curve_svg import LIGHT, page, safe

WIDTH, HIGH, GAP, LEFT, RIGHT, ABOVE = 960, 150, 64, 64, 60, 84
LEGEND = 24


class Panel(NamedTuple):
    """One of the three: its title, and what it takes from the figures of an age."""

    title: str
    value: Callable[[dict[str, Any]], float]
    broken: Callable[[dict[str, Any]], float] | None = None  # a second curve, drawn broken
    spread: Callable[[dict[str, Any]], tuple[float, float]] | None = None
    top: float | None = None


def _share(each: dict[str, Any], name: str) -> float:
    """Of what it was at first, per cent."""
    return 100 * float(each["bytes"][name]) / float(each["first"][name])


PANELS = (
    Panel(
        "R@10: per cent of the evidence among the first ten, with 95 % interval",
        lambda each: float(each[OVERALL]["R@10"]),
        spread=lambda each: tuple(each[OVERALL]["intervals"]["R@10"]),
        top=100.0,
    ),
    Panel("tokens of the ten texts of an answer", lambda each: float(each[OVERALL]["tokens"])),
    Panel(
        "size, per cent of the first day: the words that are shown; broken, the whole store on disk",
        lambda each: _share(each, "words"),
        broken=lambda each: _share(each, "store"),
    ),
)


def draw(sets: Sequence[dict[str, Any]], title: str = "Recall after a life that nobody asked about") -> str:
    """All data sets in one document."""
    lives = [_ages(each) for each in sets]
    days = max(age for life in lives for age, _ in life) or 1
    body: list[str] = []
    for place, panel in enumerate(PANELS):
        body += _panel(panel, lives, days, ABOVE + place * (HIGH + GAP))
    bottom = ABOVE + len(PANELS) * (HIGH + GAP)
    for number, each in enumerate(sets):
        body += _legend(number, each, bottom + 4 + number * LEGEND)
    rules = ("".join(f".a{n}{{fill:{colour};opacity:.14}}" for n, colour in enumerate(LIGHT)), "")
    return page(title, WIDTH, bottom + len(sets) * LEGEND + 4, body, rules)


def _ages(figures: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Age by age, each knowing how large everything was at first."""
    ages = sorted((int(day), each) for day, each in figures["ages"].items())
    first = ages[0][1]["bytes"]
    return [(day, each | {"first": first}) for day, each in ages]


def _panel(
    panel: Panel, lives: Sequence[list[tuple[int, dict[str, Any]]]], days: int, above: float
) -> Iterator[str]:
    values = [panel.value(each) for life in lives for _, each in life]
    values += [panel.broken(each) for life in lives for _, each in life] if panel.broken else []
    top = panel.top or max(*values, 1) * 1.15

    def at(day: float, value: float) -> tuple[float, float]:
        return LEFT + (WIDTH - LEFT - RIGHT) * day / days, above + HIGH * (1 - value / top)

    yield f'<text x="{LEFT}" y="{above - 14:.1f}">{safe(panel.title, 120)}</text>'
    for tick in round_ticks(top)[::2]:
        x, y = at(0, tick)
        yield f'<path class="line" d="M{x:.1f} {y:.1f}h{WIDTH - LEFT - RIGHT}"/>'
        yield f'<text class="faint end" x="{x - 8:.1f}" y="{y + 4:.1f}">{tick:g}</text>'
    for day in sorted({day for life in lives for day, _ in life}):
        x, y = at(day, 0)
        yield f'<text class="faint middle" x="{x:.1f}" y="{y + 17:.1f}">{day}</text>'
    for number, life in enumerate(lives):
        higher = sum(_last(panel, other) > _last(panel, life) for other in lives)
        yield from _curves(panel, number, life, at, 18 if higher else -10)


def _last(panel: Panel, life: list[tuple[int, dict[str, Any]]]) -> float:
    return panel.value(life[-1][1])


def _curves(
    panel: Panel,
    number: int,
    life: list[tuple[int, dict[str, Any]]],
    at: Callable[[float, float], tuple[float, float]],
    numbers: float,
) -> Iterator[str]:
    """`numbers`: how far below the curve its values stand, so that no curve writes on another."""
    colour = number % len(LIGHT)
    if panel.spread:
        lows = [at(day, panel.spread(each)[0]) for day, each in life]
        highs = [at(day, panel.spread(each)[1]) for day, each in reversed(life)]
        yield f'<polygon class="a{colour}" points="{_path([*lows, *highs])}"/>'
    if panel.broken:
        along = _path(at(day, panel.broken(each)) for day, each in life)
        yield f'<polyline class="curve ghost s{colour}" points="{along}"/>'
    spots = [at(day, panel.value(each)) for day, each in life]
    yield f'<polyline class="curve s{colour}" points="{_path(spots)}"/>'
    for (x, y), (_, each) in zip(spots, life, strict=True):
        yield f'<circle class="mark f{colour}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
        place = f'x="{max(x, LEFT + 16):.1f}" y="{y + numbers:.1f}"'  # not on the numbers of the axis
        yield f'<text class="faint middle" {place}>{panel.value(each):.0f}</text>'
    yield from _key(number, spots[-1][0] + 28, spots[-1][1] + numbers / 2 + 2)


def _path(spots: Any) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)


def _legend(number: int, figures: dict[str, Any], y: float) -> list[str]:
    asked = next(iter(figures["ages"].values()))[OVERALL]["n"]
    said = f"{figures['head']['data']}, n = {asked} questions at each age; {figures['head']['embedder']}"
    return [*_key(number, LEFT + 8, y), f'<text x="{LEFT + 24}" y="{y + 4.5}">{safe(said, 130)}</text>']


def _key(number: int, x: float, y: float) -> Iterator[str]:
    """The letter of a data set, on its colour."""
    yield f'<circle class="f{number % len(LIGHT)}" cx="{x:.1f}" cy="{y:.1f}" r="8"/>'
    yield f'<text class="key" x="{x:.1f}" y="{y + 3.5:.1f}">{LETTERS[number % len(LETTERS)]}</text>'


def main(given: Sequence[str] | None = None) -> None:
    out, *figures = sys.argv[1:] if given is None else given
    sets = [json.loads(Path(each).read_text(encoding="utf-8")) for each in figures]
    Path(out).write_text(draw(sets), encoding="utf-8")


if __name__ == "__main__":
    main()
