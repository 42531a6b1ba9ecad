"""The benchmark of language models, on invented sentences and a model whose answers are known."""

# mypy: disable-error-code="operator"
# Because rows of mixed values.

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench import models
from tests.models import judging
from tests.scripted import Scripted

JAPANESE = [("とても嬉しい散歩だった。", 1), ("ひどい雨で悲しい。", -1), ("机の上に本がある。", 0)] * 3
ENGLISH = [("What a happy walk.", 4.0, 3.5), ("A sad rain.", 2.0, 3.0), ("There is a book.", 3.0, 2.5)] * 3


@pytest.fixture
def server() -> Iterator[Scripted]:
    def seen(each: dict[str, Any]) -> dict[str, Any]:
        text = each["text"]
        if "happy" in text or "嬉しい" in text:
            return {"valence": "positive", "intensity": 70, "arousal": 60}
        if "sad" in text or "悲しい" in text:
            return {"valence": "negative", "intensity": 70, "arousal": 50}
        return {}

    with Scripted(answer=judging(seen)) as running:
        yield running


def written(folder: Path) -> Path:
    rows = "".join(f"{n},dev,{v},{a},3.0,{text}\n" for n, (text, v, a) in enumerate(ENGLISH))
    (folder / "emobank-train-dev.csv").write_text(f"id,split,V,A,D,text\n{rows}", encoding="utf-8")
    lines = "".join(f"{n}\t{label}\t{text}\t{{}}\tdev\n" for n, (text, label) in enumerate(JAPANESE))
    (folder / "jrte-polarity-train-dev.tsv").write_text(lines, encoding="utf-8")
    return folder


def run(folder: Path, *more: str) -> dict[str, Any]:
    out = folder / "figures.json"
    models.main([*more, "--json", str(out)])
    figures: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return figures


def test_a_model_that_sees_what_people_see_has_the_best_figures_and_no_sentence_is_kept(
    tmp_path: Path, server: Scripted, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--emotion", "9", str(written(tmp_path)), "--no-embedder", "--base-url", server.base]
    figures = run(tmp_path, *given)
    english, japanese = (figures["emotions"][language] for language in ("en", "ja"))
    assert english["figures"]["model"]["valence r"]["value"] == pytest.approx(1.0)
    assert japanese["figures"]["model"]["accuracy"]["value"] == 1.0
    assert japanese["figures"]["model"]["usable"] == {"value": 1.0, "n": 9}
    assert (english["questions"], japanese["questions"]) == (2, 2)
    kept = (tmp_path / "figures.json").read_text(encoding="utf-8")
    assert not [text for text, *_ in (*JAPANESE, *ENGLISH) if text in kept]
    assert "samples (ja)" in capsys.readouterr().out


def test_what_cannot_be_used_is_counted(tmp_path: Path, server: Scripted) -> None:
    server.answer = lambda body: "I would rather not."
    given = ["--emotion", "9", str(written(tmp_path)), "--no-embedder", "--base-url", server.base]
    figures = run(tmp_path, *given)["emotions"]["en"]["figures"]
    assert figures["model"] == {"usable": {"value": 0.0, "n": 9}}
    assert figures["words"]["usable"]["value"] == 1.0


def test_twenty_turns_in_a_question_make_twenty_times_fewer(tmp_path: Path) -> None:
    figures = run(tmp_path, "--turns", "40", "--seconds", "0")
    many, alone = figures["turns"]
    assert (many["memories"], many["questions"], alone["questions"]) == (40, 2, 40)
    assert figures["ratio"] == 20
    assert 0 < many["usd"] < alone["usd"]


def test_nothing_to_measure_is_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        models.main([])
    assert "nothing to measure" in capsys.readouterr().err
