"""The world of tasks: what learning is kept for. Seeds are fixed, so every run gives the same figures."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench import learning


def rows(seeds: int, nights: int, *worlds: str) -> Any:
    return learning.measure(seeds, nights, worlds)


def test_a_short_life_already_gains_and_saves_tokens() -> None:
    """[S7]"""
    steady = rows(3, 60, "steady")["steady"]
    assert steady["learned"]["late gain"][0] > 3
    assert steady["learned"]["late tokens"][0] < -20
    assert steady["oracle"]["late gain"][0] > steady["learned"]["late gain"][0]


def test_noise_moves_no_setting() -> None:
    """[S8]"""
    noise = rows(4, 40, "noise")["noise"]["learned"]
    assert (noise["runs that adopt"], noise["late gain"][0]) == (0.0, 0.0)


@pytest.mark.slow
def test_what_must_be_shown_is_shown() -> None:
    """[S7, S8] The bounds that were set before anything was measured."""
    report = rows(20, 100, *learning.WORLDS)
    steady, drifting = report["steady"]["learned"], report["drifting"]["learned"]
    mean, half = steady["late gain"]
    assert mean - half >= 5
    assert drifting["recovery"] is not None
    assert drifting["recovery"] <= 150
    noise = report["noise"]["learned"]
    assert noise["late gain"][0] >= -1
    assert noise["runs that adopt"] <= 0.05
    poisoned = report["poisoned"]["learned"]
    assert poisoned["bad"][0] + poisoned["bad"][1] < 0
    assert poisoned["late gain"][0] - poisoned["late gain"][1] >= 0
    for world in ("steady", "drifting", "poisoned"):
        assert report[world]["learned"]["late gain"][0] > report[world]["correlation"]["late gain"][0]


def test_the_report_is_written_for_people_and_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "figures.json"
    words = ["learning", "--seeds", "2", "--nights", "20", "--worlds", "poisoned", "--json", str(file)]
    monkeypatch.setattr("sys.argv", words)
    learning.main()
    assert "correlation" in capsys.readouterr().out
    assert set(json.loads(file.read_text())["poisoned"]) == set(learning.ARMS)
