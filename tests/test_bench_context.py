"""The benchmark of contexts, on an invented talk whose figures can be worked out by hand."""

import json
from pathlib import Path

import pytest
from bench import context
from bench.data_sets import Question

TALK = [
    {
        "sample_id": "conv-0",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a kitten called Miso last week."},
                {"speaker": "Bob", "dia_id": "D1:2", "text": "My violin lesson starts on Tuesday evening."},
            ],
            "session_2_date_time": "10:00 am on 1 June, 2023",
            "session_2": [
                {"speaker": "Ann", "dia_id": f"D2:{n}", "text": f"Parcel {n} came by the afternoon post."}
                for n in range(1, 30)
            ],
        },
        "qa": [
            {"question": "Which kitten did Ann adopt?", "category": 4, "evidence": ["D1:1"]},
            {"question": "When does the violin lesson of Bob start?", "category": 4, "evidence": ["D1:2"]},
        ],
    }
]


def test_memories_tell_what_the_end_of_a_history_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "talk.json", tmp_path / "figures.json"
    path.write_text(json.dumps(TALK), encoding="utf-8")
    options = ["--format", "locomo", str(path), "--no-embedder", "--budgets", "200,5000", "--json", str(out)]
    context.main(options)
    ways = json.loads(out.read_text(encoding="utf-8"))["ways"]
    told = {name: each["told"]["overall"] for name, each in ways.items()}
    assert told["full context 200"] == told["recall 200"] == told["full context 5000"] == 100
    assert told["history 200"] == 0
    assert told["history 5000"] == 100
    assert all(each["tokens"] <= int(name.rpartition(" ")[2]) for name, each in ways.items())
    assert "100.0 [100-100]" in capsys.readouterr().out


def test_a_turn_is_told_if_half_of_its_words_stand_in_one_piece() -> None:
    question = Question("q", "c", frozenset({"a", "b"}))
    words = {"a": frozenset({"red", "kettle"}), "b": frozenset({"blue", "cup", "shelf", "wall"})}
    assert context.told_share(question, words, "- the red one / a blue thing\n- a shelf") == 50
    assert context.told_share(question, words, "- red kettle / blue cup") == 100
    assert context.told_share(question, words, "") == 0
