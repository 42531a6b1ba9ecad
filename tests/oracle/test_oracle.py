"""What users see has not changed: the fixed life gives the same answers as before the refactoring."""

from __future__ import annotations

import difflib

import pytest
from tests.oracle.freeze import FROZEN, collect

NAMES = sorted(path.name for path in FROZEN.iterdir())
MOST_LINES = 60


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return collect(tmp_path_factory.mktemp("life"))


def test_every_fixture_is_compared(collected: dict[str, str]) -> None:
    assert sorted(collected) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_users_see_the_same_as_before(collected: dict[str, str], name: str) -> None:
    expected = (FROZEN / name).read_bytes().decode()
    if collected[name] != expected:
        pytest.fail(show_difference(name, expected, collected[name]), pytrace=False)


def show_difference(name: str, expected: str, found: str) -> str:
    """The lines that differ. Long lines are cut to the part around their first difference."""
    before, after = expected.splitlines(), found.splitlines()
    lines = list(difflib.unified_diff(before, after, "frozen", "now", n=0, lineterm=""))
    cut = [shorten(line, lines[max(0, at - 1) : at + 2]) for at, line in enumerate(lines)]
    left_out = f"\n… and {len(lines) - MOST_LINES} more lines" if len(lines) > MOST_LINES else ""
    advice = "A wanted change is listed in tests/oracle/RULED.md, then `python -m tests.oracle.freeze`."
    return (
        f"{name} differs from tests/oracle/frozen/{name}\n"
        + "\n".join(cut[:MOST_LINES])
        + f"{left_out}\n{advice}"
    )


def shorten(line: str, neighbours: list[str], most: int = 300) -> str:
    if len(line) <= most:
        return line
    alike = 0
    for other in neighbours:
        if {other[:1], line[:1]} == {"-", "+"}:
            alike = next((n for n, (a, b) in enumerate(zip(line[1:], other[1:], strict=False)) if a != b), 0)
    start = max(1, alike - most // 3)
    return f"{line[0]}{line[1:60]} … {line[start : start + most]} …" if start > 60 else f"{line[:most]} …"
