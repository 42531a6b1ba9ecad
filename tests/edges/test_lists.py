"""What `list` shows of several projects, of more than it shows, and in a narrow terminal; and `undo`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nagori.edges.cli import COMMANDS, app

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")

    def call(*arguments: str, columns: int = 100, code: int = 0) -> str:
        done = CliRunner().invoke(
            app, ["--data-dir", str(tmp_path / "data"), *arguments], env={"COLUMNS": str(columns)}
        )
        assert done.exit_code == code, done.output
        return done.output

    return call


def test_a_list_of_two_projects_names_them(run: Run) -> None:
    run("remember", "The kettle whistles.")
    assert "project" not in run("--project", "tea", "list")
    run("--project", "tea", "remember", "Green tea at 70 degrees.")
    listed = run("--project", "tea", "list")
    assert "project" in listed
    assert "  tea  " in listed


def test_a_list_that_ends_early_says_so(run: Run) -> None:
    for n in range(3):
        run("remember", f"Fact number {n} about kettles.")
    assert "Use `-n` to see more" in run("list", "-n", "2")
    assert json.loads(run("list", "-n", "2", "--json"))["more"] is True
    assert "see more" not in run("list", "-n", "3")
    assert json.loads(run("list", "-n", "3", "--json"))["more"] is False


def test_forty_columns_still_show_every_word(run: Run) -> None:
    run("remember", "The kettle in the small kitchen whistles at noon.")
    id = json.loads(run("list", "--json"))["memories"][0]["id"]
    for command in (["list"], ["why", id], ["show", id]):
        lines = run(*command, columns=40).splitlines()
        assert max(len(line.rstrip()) for line in lines) <= 40
        assert "small kitchen" in " ".join(" ".join(lines).split())
    assert "…" not in run("--lang", "ja", "doctor", columns=40)


def test_protecting_or_releasing_twice_says_that_nothing_changed(run: Run) -> None:
    id = run("remember", "The kettle whistles.").split()[-1]
    assert f"{id} was not protected." in run("unprotect", id)
    assert f"Protected {id}" in run("protect", id)
    assert f"{id} is protected already (1 of 50)." in run("protect", id)
    assert f"{id} is no longer protected." in run("unprotect", id)


def test_undo_never_forgets_a_memory(run: Run) -> None:
    id = run("remember", "The kettle whistles.").split()[-1]
    run("edit", id, "The kettle sings.")
    run("undo", id)
    refused = run("undo", id, "--json", code=1)
    assert refused == ""  # the error boundary is `main`'s
    assert "The kettle whistles." in run("list")


def test_help_lists_every_command_without_loading_any(run: Run) -> None:
    listed = run("--help")
    assert [name for group in COMMANDS.values() for name in group if f"\n  {name}  " not in listed] == []


@pytest.mark.parametrize(("old", "new"), [("thumb", "feedback"), ("judge", "appraise"), ("work", "process")])
def test_a_renamed_command_names_its_successor(run: Run, old: str, new: str) -> None:
    assert f"renamed to {new}" in run(old, code=2)
