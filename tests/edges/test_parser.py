"""Help and complaints of the command line are in the user's language."""

import re
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from nagori.config import Config, load
from nagori.core.value_object import leaves
from nagori.edges.cli import COMMANDS, app, main
from nagori.edges.cli.translated_help import OWN, complaint, wrap
from nagori.edges.locale import language
from nagori.errors import InvalidConfig
from nagori.messages import find

ENGLISH = re.compile(r"\b(is|not|no|such|should|missing|value|error|input|invalid|got|try|usage)\b", re.I)
KANA = re.compile("[ぁ-んァ-ヶ]")


def run(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["nagori", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    said = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, said.out + said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["recal", "x"], "'recal' というコマンドはありません。もしかして: recall"),
        (["xyzzy"], "'xyzzy' というコマンドはありません。"),
        (["recall"], "query を指定してください。"),
        (["recall", "x", "-k", "y"], "-k: 整数ではありません。"),
        (["recall", "x", "--bogus"], "--bogus というオプションはありません。"),
        (["recall", "x", "--jsn"], "--jsn というオプションはありません。もしかして: --json"),
        (["remember", "x", "--bogus"], "--bogus というオプションはありません。"),
        (["list", "--limit", "0"], "-n / --limit: 1 以上にしてください。"),
        (["show", "a", "b"], "余分な引数があります: b"),
        (["list", "--level", "9"], "--level: 4 以下にしてください。"),
        (["chart", "--days", "-1"], "--days: 0 以上にしてください。"),
        (
            ["feedback", "sideways", "x"],
            "judgement: 'sideways' は使えません。up, down のどれかにしてください。",
        ),
        (["remember", "x", "--intensity", "much"], "--intensity: 数ではありません。"),
        (["remember", "x", "--intensity"], "--intensity には値が必要です。"),
        (["status", "--line=5"], "--line に値は付けられません。"),
        (["schedule"], "act を install, remove, show から選んでください。"),
    ],
)
def test_the_parser_complains_in_japanese(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, err = run(["--lang", "ja", *words], monkeypatch, capsys)
    assert code == 2
    assert err.splitlines()[-1] == f"nagori: {said}"
    assert err.startswith("使い方: ")
    assert not ENGLISH.search(err)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["recall", "x", "--bogus"], "No such option: --bogus"),
        (["recal", "x"], "There is no command 'recal'. Did you mean recall?"),
        (["show", "a", "b"], "These arguments are too many: b"),
        (["--lang", "en"], "A command is missing."),
    ],
)
def test_the_parser_complains_in_english(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, err = run(words, monkeypatch, capsys)
    assert code == 2
    assert said in err
    assert err.startswith("Usage: ")


def test_what_is_no_complaint_of_the_parser_stays_what_it_is() -> None:
    class UsageError(Exception):
        ctx = None

        def format_message(self) -> str:
            return "something new"

    assert str(complaint(UsageError())) == "something new"
    assert complaint(ValueError("x")) is None


def test_nothing_typed_is_help_in_any_language(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    assert "記憶:" in run([], monkeypatch, capsys)[1]


# ── help ─────────────────────────────────────────────────────────────────────────────────────────


NAMES = [name for commands in COMMANDS.values() for name in commands]


@pytest.mark.parametrize("name", ["", *NAMES])
def test_help_is_in_the_language_of_the_locale(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("NAGORI_DATA_DIR", str(tmp_path))
    for lang, usage in (("ja_JP.UTF-8", "使い方: "), ("en_US.UTF-8", "Usage: ")):
        monkeypatch.setenv("LANG", lang)
        code, told = run([*([name] if name else []), "--help"], monkeypatch, capsys)
        assert code == 0
        assert told.startswith(usage)
        assert "help." not in told
        assert bool(KANA.search(told)) == (lang[:2] == "ja")
        about = find(f"help.command.{name}" if name else "help.program", lang[:2])
        assert about
        assert about[:20] in told


def test_every_command_option_and_argument_has_a_help_text_of_the_catalogue() -> None:
    group = get_command(app)
    for command in (group, *(group.get_command(None, name) for name in NAMES)):  # type: ignore[attr-defined]
        assert find(command.help or "", "ja"), command.name
        for param in command.params:
            id = OWN.get(param.name) or getattr(param, "help", None)
            assert id, (command.name, param.name)
            assert find(id, "ja"), (command.name, param.name)


def test_a_japanese_line_is_broken_by_columns_and_never_before_a_full_stop() -> None:
    lines = wrap("記憶を保管庫に移す。検索でき、元にも戻せる。", 20)
    assert lines == ["記憶を保管庫に移す。", "検索でき、元にも戻せ", "る。"]
    assert wrap("一二三四五。", 10) == ["一二三四五。"]
    assert wrap("short words stay whole", 11) == ["short words", "stay whole"]
    assert wrap("", 10) == []


@pytest.mark.parametrize(
    ("setting", "env", "chosen"),
    [
        ("ja", {}, "ja"),
        ("auto", {"LANG": "ja_JP.UTF-8"}, "ja"),
        ("auto", {"LANG": "de_DE.UTF-8"}, "en"),
        ("auto", {"LC_ALL": "C", "LANG": "ja_JP.UTF-8"}, "en"),
        ("auto", {}, "en"),
    ],
)
def test_the_language_is_the_setting_or_the_locale(setting: str, env: dict[str, str], chosen: str) -> None:
    assert language(setting, env) == chosen


# ── settings ─────────────────────────────────────────────────────────────────────────────────────


def faults(tmp_path: Path, toml: str = "", env: dict[str, str] | None = None) -> list[str]:
    path = tmp_path / "c.toml"
    path.write_text(toml, encoding="utf-8")
    with pytest.raises(InvalidConfig) as caught:
        load(path, env=env or {})
    return [notice.in_language("ja") for notice in caught.value.notices]


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
    stay = re.compile("|".join(re.escape(leaf.key) for leaf in leaves(Config())))
    assert [said for said in told if ENGLISH.search(stay.sub("", said.replace(str(tmp_path), "")))] == []
    assert any("環境変数" in said for said in told)


def test_settings_that_contradict_each_other_are_said_in_japanese(tmp_path: Path) -> None:
    toml = (
        "[window]\nwarn_at = 0.95\n[tiers]\nwarm_days = 1.0\n[levels]\nlevel2_threshold = 60.0\n"
        "[compression]\nlevel1_ratio = 0.9\n[capacity]\nlow_water = 0.95\n"
    )
    said = "\n".join(faults(tmp_path, toml))
    telling = (
        "下回っています",
        "小さい順になっていません",
        "より小さくしてください",
        "合計が 1.75",
        "上回っています",
    )
    assert [words for words in telling if words not in said] == []


def test_the_command_line_says_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NAGORI_RETRIEVAL__TOP_K", "many")
    monkeypatch.setenv("COLUMNS", "200")
    code, err = run(["--lang", "ja", "list"], monkeypatch, capsys)
    assert code == 2
    assert "設定: retrieval.top_k: 'many' は整数ではありません（env:NAGORI_RETRIEVAL__TOP_K）" in err
