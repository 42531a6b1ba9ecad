"""Decay curves: what is drawn, and that hostile words stay words."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from nagori.config import Config
from nagori.core.decay import retention
from nagori.core.levels import LEVELS
from nagori.core.model import Emotion, Level, Memory, Text
from nagori.core.value_object import replace
from nagori.edges.charts import (
    ChartAxes,
    Point,
    Series,
    after_recalls,
    curve_points,
    series_of,
    strength,
)
from nagori.edges.charts.decay_curve_svg import LEAST_PLOT, svg_chart
from nagori.edges.charts.decay_curve_terminal import terminal_chart
from nagori.errors import InvalidInput

BORN = datetime(2026, 4, 1, 9, tzinfo=UTC)
CONFIG = Config()
HOSTILE = "</svg><script>alert('x')</script> & \"q\" <!-- \x00\x1b[31m\u202e ]]>"
SVG = "{http://www.w3.org/2000/svg}"


def memory(intensity: float = 80, coefficient: float = 0.97, **more: object) -> Memory:
    made = Memory(
        id="mem_a",
        created=BORN,
        anchor=BORN,
        texts={Level.FULL: Text("", "花を持っていく")},
        emotion=Emotion(intensity),
        coefficient=coefficient,
    )
    return replace(made, **more)  # type: ignore[arg-type]


def after(days: float) -> datetime:
    return BORN + timedelta(days=days)


# ── points ───────────────────────────────────────────────────────────────────────────────────────


@given(
    intensity=st.floats(0, 100),
    coefficient=st.floats(0.01, 1.0),
    days=st.floats(0.5, 900),
    step=st.floats(0.5, 50),
)
def test_without_recalls_a_curve_never_rises_and_runs_from_edge_to_edge(
    intensity: float, coefficient: float, days: float, step: float
) -> None:
    points = curve_points(memory(intensity, coefficient), CONFIG, BORN, days, step)
    assert all(a.day < b.day and a.score >= b.score for a, b in pairwise(points))
    assert (points[0].day, points[-1].day) == (0, days)


def test_points_are_the_law_of_the_core() -> None:
    it = memory()
    for day, score in curve_points(it, CONFIG, BORN, 30, 5):
        assert score == retention(it, after(day), CONFIG.retention, CONFIG.weekly)


def test_a_recall_lifts_the_curve_and_is_marked_at_its_new_height() -> None:
    one = series_of(memory(), CONFIG, BORN, 30, recalls=[after(10)])
    before, lifted = [point for point in one.points if point.day == 10][:2]
    assert lifted.score > before.score
    assert one.marks == (lifted,)
    never = curve_points(memory(), CONFIG, BORN, 30)
    assert one.points[-1].score > never[-1].score


def test_recalls_before_the_start_count_and_are_not_drawn() -> None:
    one = series_of(memory(), CONFIG, after(20), 30, recalls=[after(10)])
    assert one.marks == ()
    younger = after_recalls(memory(), [after(10)], after(20), CONFIG)
    assert one.points[0].score == strength(younger, after(20), CONFIG)


def test_recalls_still_to_come_change_nothing() -> None:
    assert after_recalls(memory(), [after(10)], after(9), CONFIG) == memory()


@pytest.mark.parametrize("level", [Level.FULL, Level.SUMMARY, Level.TRACE])
def test_a_protected_memory_is_a_straight_line_in_the_band_of_its_level(level: Level) -> None:
    one = series_of(memory(protected=True, level=level), CONFIG, BORN, 400)
    heights = {point.score for point in one.points}
    assert one.protected
    assert len(heights) == 1
    band = next(band for band in ChartAxes().fitted([]).bands if band.level is level)
    assert band.bottom < heights.pop() <= band.top


def test_a_curve_begins_with_the_memory() -> None:
    assert curve_points(memory(), CONFIG, after(-10), 30, 4)[0] == Point(10, 80)
    assert curve_points(memory(), CONFIG, after(-10), 5) == []


@pytest.mark.parametrize(("days", "step"), [(0, 1), (-1, 1), (10, 0), (float("nan"), 1), (float("inf"), 1)])
def test_senseless_spans_are_refused(days: float, step: float) -> None:
    with pytest.raises(InvalidInput):
        curve_points(memory(), CONFIG, BORN, days, step)


def test_the_bands_cover_the_scale_without_a_gap() -> None:
    bands = ChartAxes().fitted([]).bands
    assert [band.level for band in bands] == [rung.level for rung in LEVELS]
    assert [band.top for band in bands] == [100, 50, 20, 5]
    assert all(upper.bottom == lower.top for upper, lower in pairwise(bands))


# ── terminal ─────────────────────────────────────────────────────────────────────────────────────


def some(count: int) -> list[Series]:
    return [series_of(memory(90 - n, 0.99 - n / 100), CONFIG, BORN, 90, label=f"m{n}") for n in range(count)]


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("early", [False, True])
def test_no_line_of_a_terminal_chart_is_too_wide(width: int, early: bool) -> None:
    series = [*some(3), series_of(memory(), CONFIG, BORN, 90, label="忘れないで" * 40)]
    names = {Level.FULL: "全文", Level.SUMMARY: "要約", Level.TRACE: "痕跡", Level.ARCHIVED: "保管"}
    lines = terminal_chart(series, width, axes=ChartAxes(early=early, names=names, unit="日"))
    assert max(cell_len(line.plain) for line in lines) <= width


@pytest.mark.parametrize("height", [1, 8, 16, 40])
def test_a_terminal_chart_names_every_level_and_every_curve(height: int) -> None:
    drawn = terminal_chart(some(4), 80, height)
    text = "\n".join(line.plain for line in drawn)
    assert all(name in text for name in ("full", "summary", "trace", "archive"))
    assert all(f"m{n}" in text for n in range(4))
    picture = "\n".join(line.plain for line in drawn[: max(6, height)])
    assert height < 16 or all(f"{letter}" in picture for letter in "abcd")


def test_hostile_words_do_not_reach_the_terminal_as_commands() -> None:
    lines = terminal_chart([Series(HOSTILE, [Point(0, 90), Point(9, 10)])])
    assert all(line.plain.isprintable() for line in lines)


def test_empty_charts_are_drawn() -> None:
    for series in ([], [Series("nothing", [])], [Series("one", [Point(0, 50)])]):
        assert terminal_chart(series)
        ElementTree.fromstring(svg_chart(series, "t"))


# ── SVG ──────────────────────────────────────────────────────────────────────────────────────────


def test_hostile_words_stay_words_in_the_svg() -> None:
    text = svg_chart([Series(HOSTILE, [Point(0, 90), Point(9, 10)])], HOSTILE, ChartAxes(unit="<b>"))
    root = ElementTree.fromstring(text)
    assert "<script" not in text
    assert text.count("</svg>") == 1
    assert {child.tag.removeprefix(SVG) for child in root.iter()} <= {
        *("svg", "title", "style", "rect", "text", "path", "polyline", "circle")
    }
    assert any("</svg><script>alert('x')</script>" in (each.text or "") for each in root.iter(f"{SVG}text"))


@given(st.text(st.characters(), max_size=80))
def test_any_label_makes_a_document(label: str) -> None:
    ElementTree.fromstring(svg_chart([Series(label, [Point(0, 90), Point(9, 10)])], label))


def test_the_svg_shows_curves_recalls_and_both_themes() -> None:
    recalled = series_of(memory(), CONFIG, BORN, 90, recalls=[after(5), after(20)])
    kept = series_of(memory(protected=True), CONFIG, BORN, 90)
    ghost = Series("never", curve_points(memory(), CONFIG, BORN, 90), ghost=True)
    text = svg_chart([recalled, kept, ghost], "fading")
    root = ElementTree.fromstring(text)
    assert len(root.findall(f"{SVG}polyline")) == 3
    assert sum("mark" in circle.get("class", "") for circle in root.iter(f"{SVG}circle")) == 2
    assert "prefers-color-scheme:dark" in text
    assert "Noto Sans CJK JP" in text
    flat = next(line for line in root.iter(f"{SVG}polyline") if "kept" in line.get("class", ""))
    assert len({pair.split(",")[1] for pair in flat.get("points", "").split()}) == 1


@pytest.mark.parametrize("count", [1, 7, 60])
def test_everything_stays_inside_the_picture(count: int) -> None:
    root = ElementTree.fromstring(svg_chart(some(min(count, 8)) * (count // 8 or 1), "t"))
    for each in root.iter(f"{SVG}text"):
        assert 0 <= float(each.get("x", 0)) <= 960
        assert 0 <= float(each.get("y", 0)) <= 540 - 2
    plot = sum(float(r.get("height", 0)) for r in root.iter(f"{SVG}rect") if r.get("class") != "page")
    assert plot >= LEAST_PLOT - 20
