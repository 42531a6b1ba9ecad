"""The commands `know` and `associate` in a terminal."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nagori.edges.cli import app

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")

    def call(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, ["--data-dir", str(tmp_path / "data"), *arguments])
        assert done.exit_code == code, done.output
        return done.output

    return call


def test_know_adds_searches_lists_and_removes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "setup.md").write_text("# Staging\n\nStaging listens on port 8443.\n")
    assert "1 added" in run("know", "add", str(tmp_path / "setup.md"), "--kb", "manuals")
    assert "1 unchanged" in run("know", "add", str(tmp_path / "setup.md"), "--kb", "manuals")
    assert "manuals: setup.md, Staging" in run("know", "search", "staging", "port")
    [passage] = json.loads(run("know", "search", "staging port", "--json"))["passages"]
    assert (passage["document"], passage["version"]) == ("setup.md", 1)
    assert "setup.md" in run("know", "list")
    assert json.loads(run("know", "list", "--kb", "manuals", "--json"))["documents"][0]["passages"] == 1
    assert "Removed setup.md" in run("know", "remove", "setup.md", "--kb", "manuals")
    assert "No documents" in run("know", "list")
    assert "No matching passages" in run("know", "search", "staging")


def test_a_file_that_cannot_be_read_is_named_and_fails_the_command(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.md").write_text("")
    assert "empty.md" in run("know", "add", str(tmp_path / "empty.md"), "--kb", "manuals", code=1)
    told = json.loads(run("know", "add", str(tmp_path / "empty.md"), "--kb", "manuals", "--json", code=1))
    assert told["failed"][0]["name"] == "empty.md"


def test_know_asks_for_what_is_missing(tmp_path: Path) -> None:
    for arguments in (["know", "add"], ["know", "add", "x.md"], ["know", "search"]):
        done = CliRunner().invoke(app, ["--data-dir", str(tmp_path), *arguments])
        assert done.exit_code != 0


def test_associate_shows_topics_and_memories(run: Run) -> None:
    run("remember", "Aki plays the piano.")
    run("remember", "The piano was bought in Kyoto.")
    shown = run("associate", "Aki")
    assert "piano" in shown
    assert "piano was bought" in shown
    told = json.loads(run("associate", "Aki", "--json", "--depth", "1"))
    assert [topic["name"] for topic in told["topics"]] == ["piano", "plays"]
    assert told["memories"] == []
    assert "No matching" in run("associate", "submarine")
    assert "bought in Kyoto" in " ".join(run("recall", "Aki", "--spread", "2").split())
