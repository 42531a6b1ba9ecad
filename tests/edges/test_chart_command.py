"""`nagori chart`: from a store to a picture."""

import json
from datetime import date, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from nagori import Category, Emotion, Filter, Kind, Nagori
from nagori.core.simulate_future_cycles import GROUPS, Population
from nagori.edges.charts.levels import ChartLabels, levels_text
from nagori.edges.cli import app
from nagori.errors import InvalidInput
from nagori.testing import FrozenClock


@pytest.fixture
def data(tmp_path: Path) -> Path:
    clock = FrozenClock()
    with Nagori.open(tmp_path / "data", clock=clock, embedder=None) as memory:
        memory.remember("The kettle is <green> & old.", emotion=Emotion(80))
        clock.forward(days=20)
        memory.recall("kettle")
        clock.forward(hours=1)
        memory.cycle()
    return tmp_path / "data"


def run(data: Path, *words: str) -> str:
    answer = CliRunner().invoke(app, ["--data-dir", str(data), "chart", *words], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_a_recall_lifts_the_curve_where_the_night_counted_it(data: Path) -> None:
    [one] = json.loads(run(data, "--json"))["series"]
    [(day, score)] = one["recalls"]
    assert day == pytest.approx(20 + 1 / 24, abs=0.01)
    before = max(value for at, value in one["points"] if at < day - 0.5 and at > day - 1.5)
    assert score > before
    assert one["points"][0] == [0.0, 80.0]


def test_the_picture_is_sound_and_what_people_wrote_stays_text(data: Path, tmp_path: Path) -> None:
    run(data, "--svg", str(tmp_path / "life.svg"))
    drawn = (tmp_path / "life.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(drawn)
    assert "&lt;green&gt;" in drawn
    assert "<green>" not in drawn


@pytest.mark.parametrize("levels", [[], ["--levels"]])
def test_a_picture_and_figures_at_once(data: Path, tmp_path: Path, levels: list[str]) -> None:
    told = json.loads(run(data, *levels, "--svg", str(tmp_path / "life.svg"), "--json"))
    assert told.keys() == json.loads(run(data, *levels, "--json")).keys()
    assert all(told.values())
    ElementTree.fromstring((tmp_path / "life.svg").read_text(encoding="utf-8"))


def test_of_nothing_there_are_figures_but_no_curves(tmp_path: Path) -> None:
    told = json.loads(run(tmp_path / "empty", "--svg", str(tmp_path / "life.svg"), "--json"))
    assert told["series"] == []
    assert not (tmp_path / "life.svg").exists()


def test_a_terminal_shows_it_too(data: Path) -> None:
    assert "kettle" in run(data)


def test_a_recall_that_waits_for_its_night_is_marked_too(data: Path) -> None:
    clock = FrozenClock()
    clock.forward(days=30)
    with Nagori.open(data, clock=clock, embedder=None) as memory:
        memory.recall("kettle")
    [one] = json.loads(run(data, "--json"))["series"]
    assert [round(day) for day, _ in one["recalls"]] == [20, 30]


def test_a_curve_stands_still_in_the_archive_and_comes_back_with_a_wish(tmp_path: Path) -> None:
    clock = FrozenClock()
    with Nagori.open(tmp_path / "data", clock=clock, embedder=None) as memory:
        soon = {"kind": Kind.EPISODE, "category": Category.CASUAL, "emotion": Emotion(30)}
        id = memory.remember("The kettle is green.", **soon).id  # type: ignore[arg-type]
        for day in range(40):
            if day == 30:
                memory.recall("kettle", filter=Filter(archived=True))
            clock.forward(days=1)
            memory.cycle()
    [one] = json.loads(run(tmp_path / "data", id, "--json"))["series"]
    resting = {value for day, value in one["points"] if 15 < day < 30.5}
    assert len(resting) == 1
    [(day, score)] = one["recalls"]
    assert day == 31
    assert score > resting.pop()


# --- how many stand at each level


def test_levels_are_told_day_by_day_with_what_is_to_come(data: Path) -> None:
    days = json.loads(run(data, "--levels", "--days", "5", "--json"))["days"]
    assert days[0] == dict.fromkeys(GROUPS, 0) | {"day": "2026-04-01", "full": 1, "forecast": False}
    assert [day["forecast"] for day in days[-6:]] == [False] + [True] * 5
    assert all(sum(day[place] for place in GROUPS) == 1 for day in days)
    assert len(json.loads(run(data, "--levels", "--days", "0", "--past", "3", "--json"))["days"]) == 4


@pytest.mark.parametrize("ahead", ["0", "90"])
def test_the_picture_of_levels_is_sound_in_both_languages(data: Path, tmp_path: Path, ahead: str) -> None:
    for lang, said in (("en", "archive"), ("ja", "保管")):
        picture = tmp_path / f"{lang}.svg"
        words = ["--data-dir", str(data), "--lang", lang, "chart", "--levels", "--days", ahead]
        answer = CliRunner().invoke(app, [*words, "--svg", str(picture)], catch_exceptions=False)
        assert answer.exit_code == 0
        drawn = picture.read_text(encoding="utf-8")
        ElementTree.fromstring(drawn)
        assert said in drawn
        assert ("ahead" in drawn.partition("</style>")[2]) == (ahead == "90")


def test_a_terminal_shows_the_levels(data: Path) -> None:
    drawn = run(data, "--levels")
    assert "█" in drawn
    assert "today" in drawn


def test_ids_and_levels_do_not_go_together(data: Path) -> None:
    with pytest.raises(InvalidInput):
        run(data, "--levels", "mem_1")


def test_no_memories_are_no_picture(tmp_path: Path) -> None:
    assert "No memories yet" in run(tmp_path / "none", "--levels")
    assert "No memories yet" in run(tmp_path / "none")
    assert json.loads(run(tmp_path / "none", "--json"))["series"] == []


@pytest.mark.parametrize("width", [30, 80, 200])
@pytest.mark.parametrize("n", [1, 2, 30, 900])
def test_no_line_of_the_levels_is_too_wide(width: int, n: int) -> None:
    first = date(2026, 1, 1)
    days = [
        Population(first + timedelta(days=day), dict.fromkeys(GROUPS, day), forecast=day > n // 2)
        for day in range(n)
    ]
    words = ChartLabels(dict.fromkeys(GROUPS, "忘却"), "今日", "何も思い出さない場合")
    assert max(line.cell_len for line in levels_text(days, words, width)) <= width
