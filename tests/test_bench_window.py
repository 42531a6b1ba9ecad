"""The benchmark of the context window, on invented conversations."""

import json
from pathlib import Path
from statistics import mean

import pytest
from bench import estimate, literal_window, window


@pytest.mark.slow
def test_it_finds_nothing_wrong_with_us_and_much_with_the_documents_own_code(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    talk = {
        "conversation_id": "c",
        "sessions": [
            {
                "session_id": "s",
                "date": "2026-01-01T10:00:00+09:00",
                "turns": [
                    {"id": f"t{n}", "speaker": "葵", "text": f"第{n}室の鍵は{n}番の棚にあります。" * 8}
                    for n in range(60)
                ],
            }
        ],
        "questions": [{"question": "第3室の鍵はどの棚ですか。", "category": "one", "evidence": ["t3"]}],
    }
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(talk), encoding="utf-8")
    options = ["--histories", "40", "--no-embedder", "--kept", f"jamem={path}", "--json", str(out)]
    window.main(options)
    figures = json.loads(out.read_text(encoding="utf-8"))
    ours = [row for row in figures["histories"] if row[1] == "nagori"]
    assert [row[4:] for row in ours] == [["0"] * 7] * 4
    assert any(int(cell) for row in figures["histories"] if row[1] == "003" for cell in row[4:])
    stable = {row[0]: float(row[2]) for row in figures["stability"]}
    assert stable["nagori"] > stable["003"]
    kept = {(row[0], row[1]): row[3:6] for row in figures["kept jamem"]}
    assert kept["4,000", "nagori"] == ["0.0", "100.0", "100.0"]
    assert kept["4,000", "sliding window"] == ["0.0"] * 3


def test_the_documents_own_code_prunes_as_it_is_printed() -> None:
    said = [{"role": "user", "content": f"{n} " + "x" * 100} for n in range(30)]
    assert literal_window.prune_history(said[:5], 1000) == said[:5]
    assert literal_window.prune_history(said[:17], 1000)[0]["content"] == "[4件のメッセージが省略されました]"
    assert (
        literal_window.prune_history(said[:18], 1000)[0]["content"] == "[過去5件のメッセージが削除されました]"
    )
    assert literal_window.prune_history(said, 1000) == said[-13:]


def test_the_estimate_is_below_no_vocabulary_and_not_far_above() -> None:
    pytest.importorskip("splintr")
    found = estimate.ratios(estimate.VOCABULARIES)
    assert {kind: row for kind, row in found.items() if min(row) < 1.0} == {}
    assert mean(ratio for kind in estimate.TWELVE for ratio in found[kind]) <= 1.25
