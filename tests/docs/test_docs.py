"""The documentation is complete, and its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tools.names import anchors_of

from nagori import config, errors
from nagori.edges import cli

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
    names = [name for commands in cli.COMMANDS.values() for name in commands]
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
