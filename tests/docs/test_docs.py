"""The documentation is complete, its links lead somewhere, and every error can be said in both languages."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
from tools.names import anchors_of

from nagori import config, errors
from nagori.edges import cli
from nagori.edges.cli.commands.schedule import BY_NOBODY, BY_WORKER, LAST, NEVER, SCHEDULED
from nagori.edges.locale.doctor import ADVICE, NAMES, SEEN
from nagori.edges.locale.errors import ERRORS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
REFERENCE = ROOT / "docs" / "reference"
SOURCE = ROOT / "src" / "nagori"
ERROR_NAMES = {
    name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)
}


# ── complete ─────────────────────────────────────────────────────────────────────────────────────


def test_the_generated_pages_say_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "docs.generate", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_command_is_in_the_reference() -> None:
    page = (REFERENCE / "commands.md").read_text(encoding="utf-8")
    names = [c.name or c.callback.__name__ for c in cli.app.registered_commands if c.callback]
    assert names
    assert [name for name in names if f"## nagori {name}\n" not in page] == []


def test_every_setting_is_in_the_reference() -> None:
    page = (REFERENCE / "settings.md").read_text(encoding="utf-8")
    assert [setting.key for setting in config.describe() if f"| `{setting.key}` |" not in page] == []


def test_every_setting_is_described_in_japanese_and_none_is_stale() -> None:
    words = tomllib.loads((ROOT / "docs" / "settings.ja.toml").read_text(encoding="utf-8"))
    keys = [setting.key for setting in config.describe()]
    assert list(words["settings"]) == keys
    assert list(words["sections"]) == list(dict.fromkeys(key.partition(".")[0] for key in keys))
    japanese = re.compile("[ぁ-んァ-ヶ一-龠]")
    assert [key for key, meaning in words["settings"].items() if not japanese.search(meaning)] == []
    page = (REFERENCE / "settings.ja.md").read_text(encoding="utf-8")
    assert [key for key in keys if f"| `{key}` |" not in page] == []


def test_every_error_is_in_the_reference() -> None:
    page = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    assert {name for name in ERROR_NAMES if f"| `{name}` |" not in page} == set()


def test_the_tour_of_the_house_names_every_file() -> None:
    tour = (ROOT / "docs" / "house.md").read_text(encoding="utf-8")
    names = {path.name for path in SOURCE.rglob("*.py")} - {"__init__.py", "__main__.py"}
    named = set(re.findall(r"\w+\.py\b", tour))
    testing = {path.name for path in (SOURCE / "testing").glob("*.py")}
    assert names - named - testing == set()


# ── findable ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if re.match(r"[a-z]+:", link):
            continue
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.is_relative_to(ROOT / "docs")], ids=str)
def test_every_page_can_be_reached_from_the_readme(page: Path) -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        here = waiting.pop()
        if here not in reached and here.suffix == ".md":
            reached.add(here)
            links = re.findall(r"\]\(([^)\s#]+)[^)]*\)", here.read_text(encoding="utf-8"))
            waiting += [(here.parent / link).resolve() for link in links if ":" not in link]
    assert page in reached


@pytest.mark.parametrize("name", ["README.md", "README.ja.md"])
def test_the_first_screen_shows_how_to_try_it_and_how_to_prove_it(name: str) -> None:
    first = "\n".join((ROOT / name).read_text(encoding="utf-8").split("\n")[:40])
    for shown in ("make demo", "make test", "pip install", "Nagori.open", "$ nagori", ".svg"):
        assert shown in first


# ── sayable ──────────────────────────────────────────────────────────────────────────────────────


def raised(path: Path) -> Iterator[tuple[str, ast.expr]]:
    """Where errors of ours are made, and their message as written."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERROR_NAMES:
            at = 1 if node.func.id == "InvalidInput" else 0
            if node.func.id not in ("NotFound", "LimitReached", "InvalidConfig") and len(node.args) > at:
                yield f"{path.name}:{node.lineno}", node.args[at]


SPEAKING = [
    path for room in ("services", "adapters", "edges") for path in sorted((SOURCE / room).rglob("*.py"))
]
MESSAGES = [found for path in (*SPEAKING, SOURCE / "app.py") for found in raised(path)]


def test_no_message_to_a_user_is_put_together_where_it_is_raised() -> None:
    assert len(MESSAGES) > 15
    assert [where for where, message in MESSAGES if isinstance(message, ast.JoinedStr)] == []


def test_every_error_template_has_a_japanese_entry() -> None:
    missing = {
        f"{where}: {message.value!r}"
        for where, message in MESSAGES
        if isinstance(message, ast.Constant) and message.value not in ERRORS
    }
    assert missing == set()


def test_the_errors_that_carry_their_own_words_have_a_japanese_entry() -> None:
    made: list[errors.NagoriError] = [errors.NotFound("mem_a"), errors.LimitReached(50, ["mem_a"])]
    assert [error.template for error in made if error.template not in ERRORS] == []


def findings() -> Iterator[tuple[str, str, str]]:
    """Name, template and advice of what the doctor can find, as far as they are written out."""
    for path in SPEAKING:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "make_finding"
            ):
                said = [each.value if isinstance(each, ast.Constant) else "" for each in node.args]
                name, _, template, advice = [*map(str, said), "", ""][:4]
                yield name, template, advice


def test_everything_the_doctor_finds_can_be_said_in_japanese() -> None:
    told = list(findings())
    assert len(told) > 15
    bare = re.compile(r"(\{\w+\}[ :,]*)*|Python \{python\}, SQLite \{sqlite\}")  # values alone are no words
    silent = {template for _, template, _ in told if template not in SEEN and not bare.fullmatch(template)}
    assert silent == set()
    assert {name for name, _, _ in told} <= NAMES.keys()
    command = re.compile(r"(nagori|pip) .*|")
    assert {advice for *_, advice in told if advice not in ADVICE and not command.fullmatch(advice)} == set()
    ends = [start + end for start in (SCHEDULED, BY_WORKER, BY_NOBODY) for end in (LAST, NEVER)]
    assert [template for template in ends if template not in SEEN] == []


@pytest.mark.parametrize("template", SEEN)
def test_the_doctor_speaks_of_the_same_values_in_both_languages(template: str) -> None:
    assert fields_of(SEEN[template]) == fields_of(template)


def fields_of(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


@pytest.mark.parametrize("template", ERRORS)
def test_both_languages_speak_of_the_same_values(template: str) -> None:
    assert fields_of(ERRORS[template]) <= fields_of(template)
    values = dict.fromkeys(fields_of(template), 1)
    assert ERRORS[template].format(**values)
