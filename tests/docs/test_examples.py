"""Every example of the documentation is run: a page that no longer works fails the build.

```console   lines after `$ ` are run by a shell, in the page's own empty home, one after the other
             (`> ` carries a command on); what follows is compared: `...` stands for anything,
             any id for any id, any date for any date
```python    runs as a script in an empty folder; where its first line is `# needs x`, only if x is installed
             (`make test-frameworks` installs them all)
```text      is only shown
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = {"text", "toml", "json", "mermaid"}


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    body: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


class Step(NamedTuple):
    command: str
    expected: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found[1], found[2])
        for found in FENCE.finditer(text)
    ]


def steps(block: Block) -> Iterator[Step]:
    for part in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]:
        lines = part.split("\n")
        taken = 1
        while taken < len(lines) and lines[taken].startswith("> "):
            taken += 1
        command = "\n".join([lines[0], *(line[2:] for line in lines[1:taken])])
        yield Step(command, "\n".join(lines[taken:]))


def environment(home: Path, page: Path) -> dict[str, str]:
    """An empty home; a Japanese page is read where the locale is Japanese."""
    keep = {name: os.environ[name] for name in ("SYSTEMROOT", "TMPDIR") if name in os.environ}
    if "PYTHONPATH" in os.environ:  # how `make test-frameworks` finds the package
        keep["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, os.environ["PYTHONPATH"].split(os.pathsep)))
    return keep | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(home),
        "LANG": "ja_JP.UTF-8" if page.name.endswith(".ja.md") else "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "80",
        "TERM": "dumb",
        "PYTHONUTF8": "1",
    }


def plain(output: str) -> str:
    """Output without what differs from run to run."""
    output = re.sub(r"mem_[a-z2-7]{16}", "mem_xxxxxxxxxxxxxxxx", output)
    output = re.sub(r"\b\d{4}-\d\d-\d\d\b", "yyyy-mm-dd", output)
    output = re.sub(r"\b\d\d:\d\d\b", "hh:mm", output)
    return "\n".join(line.rstrip() for line in output.strip().split("\n"))


def agrees(expected: str, got: str) -> bool:
    pattern = ".*".join(map(re.escape, plain(expected).split("...")))
    return re.fullmatch(pattern, plain(got), re.DOTALL) is not None


def every(language: str) -> list[Block]:
    return [block for page in PAGES for block in blocks(page) if block.language == language]


CONSOLE_PAGES = [page for page in PAGES if any(b.language == "console" for b in blocks(page))]


@pytest.mark.parametrize("page", CONSOLE_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_types_answers_what_the_page_says(page: Path, tmp_path: Path) -> None:
    for block in blocks(page):
        for step in steps(block) if block.language == "console" else ():
            done = subprocess.run(
                ["bash", "-c", step.command],
                cwd=tmp_path,
                env=environment(tmp_path, page),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                timeout=60,
            )
            told = f"{block}\n$ {step.command}\n--- expected\n{step.expected}\n--- got\n{done.stdout}"
            assert agrees(step.expected, done.stdout), told
            assert done.returncode == 0 or step.expected.startswith("nagori: "), told


@pytest.mark.parametrize("block", every("python"), ids=str)
def test_the_python_of_a_page_runs(block: Block, tmp_path: Path) -> None:
    needed = re.match(r"# needs (\w+)\n", block.body)
    if needed and find_spec(needed[1]) is None:
        pytest.skip(f"{needed[1]} is not installed; `make test-frameworks` installs and runs it")
    script = tmp_path / "example.py"
    script.write_text(block.body, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=environment(tmp_path, block.page),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_either_run_or_marked_as_only_shown(page: Path) -> None:
    assert {block.language for block in blocks(page)} <= {"console", "python", *SHOWN}
    assert page.read_text(encoding="utf-8").count("\n```") % 2 == 0


def test_the_comparison_knows_ids_dates_and_gaps() -> None:
    assert agrees("kept mem_aaaaaaaaaaaaaaaa", "kept mem_2222222222222222  \n")
    assert agrees("2026-01-01 ... end", "2031-12-31 12:30 x\n y end")
    assert not agrees("kept mem_aaaaaaaaaaaaaaaa", "kept nothing")
