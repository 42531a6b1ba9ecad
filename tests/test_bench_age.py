"""The benchmark of ages, on an invented talk: one life, asked on the way."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench import age, age_chart, recall

TALK = [
    {
        "sample_id": "conv-0",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a kitten called Miso, so small!"},
                {"speaker": "Bob", "dia_id": "D1:2", "text": "My violin lesson starts on Tuesday at noon."},
            ],
        },
        "qa": [
            {"question": "Which kitten was adopted?", "category": 4, "evidence": ["D1:1"]},
            {"question": "When is the violin lesson?", "category": 2, "evidence": ["D1:2"]},
        ],
    }
]


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(TALK), encoding="utf-8")
    return path


def test_one_life_gives_the_figures_that_separate_lives_give(tmp_path: Path, talk: Path) -> None:
    out = tmp_path / "ages.json"
    age.main(["--format", "locomo", str(talk), "--no-embedder", "--ages", "400,0", "--json", str(out)])
    ages = json.loads(out.read_text(encoding="utf-8"))["ages"]
    assert list(ages) == ["0", "400"]
    for days, told in ages.items():
        alone = tmp_path / f"{days}.json"
        common = ["--format", "locomo", str(talk), "--no-embedder", "--age", days, "--json", str(alone)]
        recall.main(common)
        overall = json.loads(alone.read_text(encoding="utf-8"))["overall"]
        same = ("n", "R@5", "R@10", "MRR", "tokens", "intervals")
        assert {name: told["overall"][name] for name in same} == {name: overall[name] for name in same}
        assert sum(told["levels"].values()) == 2
        assert 0 < told["bytes"]["words"] <= told["bytes"]["kept"] < told["bytes"]["store"]
    assert ages["400"]["bytes"]["words"] < ages["0"]["bytes"]["words"]


def test_the_figures_are_drawn(tmp_path: Path, talk: Path) -> None:
    out, picture = tmp_path / "ages.json", tmp_path / "ages.svg"
    common = ["--format", "locomo", str(talk), "--no-embedder", "--ages", "0,9", "--json", str(out)]
    age.main([*common, "--chart", str(picture)])
    ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    age_chart.main([str(tmp_path / "both.svg"), str(out), str(out)])
    both = (tmp_path / "both.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(both)
    assert both.count("n = 2 questions") == 2


@pytest.mark.parametrize("ages", ["soon", "-1,5", "1,,2"])
def test_senseless_ages_are_refused(talk: Path, ages: str) -> None:
    with pytest.raises(SystemExit):
        age.main(["--format", "locomo", str(talk), f"--ages={ages}"])
