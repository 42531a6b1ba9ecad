"""What others complain about in English is said in Japanese; what is not known stays whole."""

import re
import sys
from pathlib import Path

import pytest

from nagori.config import Config, load
from nagori.core.values import leaves
from nagori.edges.cli import main
from nagori.edges.locale.faults import parser_fault, setting_fault
from nagori.errors import InvalidConfig

ENGLISH = re.compile(r"\b(is|not|no|such|should|missing|value|error|input|invalid|got|try|usage)\b", re.I)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["recal", "x"], "「recal」というコマンドはありません。もしかして: 'recall'"),
        (["recall"], "query がありません"),
        (["recall", "x", "-k", "y"], "-k: 整数ではありません"),
        (["recall", "x", "--bogus"], "--bogus というオプションはありません"),
        (["show", "a", "b"], "余分な引数があります: b"),
        (["list", "--level", "9"], "--level: 4 以下にしてください"),
        (["chart", "--days", "-1"], "--days: 0 以上にしてください"),
        (["feedback", "sideways", "x"], "judgement: 'sideways' は 'up', 'down' のどれでもありません"),
        (["remember", "x", "--intensity", "much"], "--intensity: 数ではありません"),
        (["remember", "x", "--intensity"], "--intensity には値が必要です"),
        (["status", "--line=5"], "--line に値は付けられません"),
        (["schedule"], "act がありません。次から選んでください: install, remove, show"),
    ],
)
def test_the_parser_complains_in_japanese(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["nagori", "--lang", "ja", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    err = capsys.readouterr().err
    assert stop.value.code == 2
    assert err.splitlines()[-1] == f"nagori: {said}"
    assert not ENGLISH.search(err)


def test_in_english_the_parser_speaks_for_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["nagori", "recall", "x", "--bogus"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "No such option: --bogus" in capsys.readouterr().err


def test_nothing_typed_is_help_in_any_language(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["nagori", "--lang", "ja"])
    with pytest.raises(SystemExit):
        main()
    told = capsys.readouterr()
    assert "nagori" in told.out + told.err


def faults(tmp_path: Path, toml: str = "", env: dict[str, str] | None = None) -> list[str]:
    path = tmp_path / "c.toml"
    path.write_text(toml, encoding="utf-8")
    with pytest.raises(InvalidConfig) as caught:
        load(path, env=env or {})
    return list(caught.value.faults)


def test_every_kind_of_fault_in_settings_is_said_in_japanese(tmp_path: Path) -> None:
    told = faults(
        tmp_path,
        """
        levels = 5
        [retrieval]
        top_k = "many"
        top_kk = 3
        nonsense_entirely = 1
        [retention]
        law = "other"
        base_decay_coefficient = 7.5
        [capacity]
        limit = -1
        share = "x"
        [archive]
        auto_delete_enabled = "x"
        [general]
        data_dir = "here"
        language = 5
        [window]
        keywords = "x"
        warn_at = 0.9
        """,
        {"NAGORI_NONSENSE": "1"},
    )
    assert len(told) >= 10
    japanese = [setting_fault(fault) for fault in told]
    stay = re.compile("|".join(re.escape(leaf.key) for leaf in leaves(Config())))
    assert [said for said in japanese if ENGLISH.search(stay.sub("", said.replace(str(tmp_path), "")))] == []
    assert any("環境変数" in said for said in japanese)


def test_settings_that_contradict_each_other_are_said_in_japanese(tmp_path: Path) -> None:
    toml = (
        "[window]\nwarn_at = 0.95\n[sessions]\nkeep_hours = 1.0\n[levels]\nlevel2_threshold = 60.0\n"
        "[compression]\nlevel1_ratio = 0.9\n[capacity]\nlow_water = 0.95\n"
    )
    said = "\n".join(setting_fault(fault) for fault in faults(tmp_path, toml))
    telling = (
        "より小さい値",
        "小さい順になっていません",
        "より小さくありません",
        "合計が 1.75",
        "より大きい値",
    )
    assert [words for words in telling if words not in said] == []


def test_the_command_line_says_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NAGORI_RETRIEVAL__TOP_K", "many")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", ["nagori", "--lang", "ja", "list"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert (
        "retrieval.top_k: 'many' は整数ではありません（env:NAGORI_RETRIEVAL__TOP_K）"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("said", ["", "Something new (perhaps).", "{0} {braces} (file:/a)"])
def test_what_is_not_known_stays_whole(said: str) -> None:
    assert parser_fault(said) == said
    assert setting_fault("Something new (perhaps).") == "Something new (perhaps)."
