"""`nagori cycle --dry-run`: what a person and a program see of a plan."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nagori import Category, Draft, Emotion, Kind, Nagori
from nagori.edges.cli import app
from nagori.testing import FrozenClock

WORDS = (
    "Store {n} at the harbour got <new> [bold]racks[/bold] on Tuesday. Everybody was tired, and it rained."
    " We had squid afterwards and walked back. Nobody said much on the way. The ferry was late as well."
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Ten memories, four days old today."""
    clock = FrozenClock(datetime.now(UTC) - timedelta(days=4))
    with Nagori.open(tmp_path / "data", clock=clock, embedder=None) as memory:
        memory.remember_many(
            Draft(WORDS.format(n=n), kind=Kind.EPISODE, category=Category.WORK, emotion=Emotion(40))
            for n in range(10)
        )
    return tmp_path / "data"


def run(data: Path, *words: str, lang: str = "en") -> str:
    typed = ["--data-dir", str(data), "--lang", lang, "cycle", "--dry-run", *words]
    answer = CliRunner().invoke(app, typed, catch_exceptions=False, env={"COLUMNS": "200"})
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_examples_are_shown_with_their_words_and_the_rest_is_counted(data: Path) -> None:
    said = run(data)
    assert said.count("compress → summary mem_") == 3
    assert "got <new> [bold]racks[/bold]" in said
    assert "and 7 more" in said
    assert "10 memories get shorter" in said
    assert "measured on all of them" in said
    assert "costs nothing" in said
    assert "Nothing was changed" in said


def test_in_japanese_too(data: Path) -> None:
    said = run(data, lang="ja")
    for words in ("圧縮 → 要約", "ほか 7 件", "10 件の文章が短く", "全件で計測", "費用は"):
        assert words in said


def test_a_program_gets_all_of_it(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = json.loads(run(data, "--json"))
    assert told["counts"] == [{"act": "compress", "reason": "score", "n": 10}]
    assert len(told["examples"]) == 3
    assert len(told["steps"]) == 10
    assert told["saves"]["bytes_before"] > told["saves"]["bytes_after"] > 0
    assert told["cost"]["usd"] == 0
    monkeypatch.setenv("NAGORI_LLM__PROVIDER", "anthropic")
    monkeypatch.setenv("NAGORI_LLM__MODEL", "claude-haiku-4-5")
    priced = json.loads(run(data, "--json"))["cost"]
    read, written = priced["tokens_read"], priced["tokens_written"]
    assert priced["usd"] == pytest.approx((read * 1.0 + written * 5.0) / 1e6, abs=1e-6)
    assert "claude-haiku-4-5: about $0.0" in run(data)


def test_a_model_without_a_known_price_is_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAGORI_LLM__PROVIDER", "openai")
    monkeypatch.setenv("NAGORI_LLM__MODEL", "somebody-s-own")
    said = run(data)
    assert "The price of somebody-s-own is not known" in said
    assert "costs nothing" not in said


def test_nothing_to_do_is_said(tmp_path: Path) -> None:
    assert "nothing to do" in run(tmp_path / "none")
