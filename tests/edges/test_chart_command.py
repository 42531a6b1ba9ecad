"""`nagori chart`: from a store to a picture."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from nagori import Emotion, Nagori
from nagori.edges.cli import app
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


def test_a_terminal_shows_it_too(data: Path) -> None:
    assert "kettle" in run(data)
