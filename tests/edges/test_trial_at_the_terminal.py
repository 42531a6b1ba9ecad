"""What a new user met at the terminal and in a host, each as a test named after its number in that report."""

from __future__ import annotations

import shutil
import sys
from collections import namedtuple
from typing import Any

import pytest
from tests.edges.test_cli import Run, kept, run  # noqa: F401 - a fixture

from nagori.errors import StoreError
from nagori.stores.sqlite import SqliteStore


def finding(run: Run, name: str) -> dict[str, str]:  # noqa: F811
    told: Any = run("doctor", "--json").json
    [found] = [each for each in told["findings"] if each["name"] == name]
    return dict(found)


def test_17_the_doctor_misses_a_key(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("NAGORI_LLM__PROVIDER", "anthropic")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    found = finding(run, "model")
    assert found["state"] == "warn"
    assert "ANTHROPIC_API_KEY" in found["detail"]


def test_17_the_doctor_knocks_at_a_dead_server(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("NAGORI_LLM__PROVIDER", "openai")
    monkeypatch.setenv("NAGORI_LLM__BASE_URL", "http://127.0.0.1:9/v1")
    found = finding(run, "model")
    assert found["state"] == "warn"
    assert "127.0.0.1:9" in found["detail"]


def test_17_on_a_full_disk_no_rebuild_is_advised(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    kept(run, "tea")
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 0))

    def full(_: SqliteStore) -> list[object]:
        raise StoreError("error.store_busy", path="nagori.db", seconds=1)

    monkeypatch.setattr(SqliteStore, "check", full)
    assert "rebuild" not in finding(run, "store")["advice"]


def test_18_edit_moves_a_memory_between_projects(run: Run) -> None:  # noqa: F811
    run("--project", "/a", "remember", "I always want commit messages in English.")
    assert "commit" not in run("--project", "/b", "list").out
    told: Any = run("--project", "/a", "list", "--json").json
    id = told["memories"][0]["id"]
    assert run("--project", "/a", "edit", id, "--everywhere").code == 0
    assert "commit" in run("--project", "/b", "list").out
    assert run("edit", id, "--project", "/a").code == 0
    assert "commit" not in run("--project", "/b", "list").out
    assert run("edit", id, "--project", "/a", "--everywhere").code == 2


def test_19_lists_show_projects_and_say_where_they_stop(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    for project in ("/alpha", "/beta"):
        run("--project", project, "remember", f"The kettle of {project} is green.")
    listed = run("list").out
    assert "/alpha" in listed
    assert "/beta" in listed
    for n in range(20):
        kept(run, f"Cup {n} is on shelf {chr(98 + n)}.")
    assert "newest 20" in run("list").out
    monkeypatch.setenv("COLUMNS", "40")
    assert "shelf" in run("list", "-n", "1").out


def test_19_one_undo_too_many_forgets_nothing(run: Run) -> None:  # noqa: F811
    id = kept(run, "The kettle is green.")
    run("edit", id, "The kettle is blue.")
    assert run("undo", id).code == 0
    assert run("undo", id).code == 2
    assert "The kettle is green." in run("list").out


@pytest.mark.parametrize(
    ("words", "code"), [("昨日", 0), ("三日前", 0), ("last Friday", 0), ("明日", 2), ("soon", 2)]
)
def test_20_times_in_words_are_understood(run: Run, words: str, code: int) -> None:  # noqa: F811
    assert run("remember", f"雨だった {words}", "--when", words).code == code
    if code == 0:
        found: Any = run("list", "--json").json
        assert len(found["memories"]) == 1
        assert run("recall", "雨", "--since", words).code == 0


def test_20_help_is_in_the_users_language(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from nagori.edges import cli

    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    for name in ("LC_ALL", "LC_MESSAGES", "LANGUAGE", "NAGORI_LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "argv", ["nagori", "recall", "--help"])
    with pytest.raises(SystemExit):
        cli.main()
    assert "使い方" in capsys.readouterr().out
