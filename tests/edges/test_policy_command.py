"""`nagori policy`: what was learned is shown, explained and taken back, in both languages."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nagori import Nagori
from nagori.core.events import Event
from nagori.core.outcomes_lessons_and_credit import Evidence
from nagori.edges.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], own_home: Path) -> Run:
    monkeypatch.setenv("NAGORI_DATA_DIR", str(own_home / "data"))
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    monkeypatch.setenv("NAGORI_LANG", "en")
    monkeypatch.setenv("COLUMNS", "200")

    def typed(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nagori", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return typed


def learn(folder: Path, **evidence: Evidence) -> None:
    """A night with this evidence."""
    with Nagori.open(folder, embedder=None) as memory:
        told = {name.replace("__", "."): list(seen) for name, seen in evidence.items()}
        data = {"usual": {"": [1.0, 1.0, 0.0]}, "evidence": told}
        now = memory.runtime.clock.now()
        memory.runtime.ledger.write(("local", "me"), lambda: [Event("credited", now, data)])
        memory.cycle()


def test_a_policy_is_shown_explained_and_taken_back(run: Run, own_home: Path) -> None:
    """[S8]"""
    assert "hooks.max_memories = 8 (default)" in run("policy")[1]
    assert run("policy", "why")[1] == "Nothing has been learned yet.\n"
    code, _, complaint = run("policy", "back")
    assert (code, "no earlier version" in complaint) == (2, True)
    learn(own_home / "data", hooks__max_memories=Evidence(shown=2000, used=10))
    assert "hooks.max_memories = 7 (learned)" in run("policy", "show")[1]
    why = run("policy", "why")[1]
    assert "hooks.max_memories moved from 8 to 7." in why
    assert "Of 2000 memories in question that were shown, 10 were used" in why
    off = run("policy", "off")[1]
    assert "Learning of settings is off." in off
    assert "hooks.max_memories = 8 (default)" in off
    assert "hooks.max_memories = 7 (learned)" in run("policy", "back")[1]
    assert "hooks.max_memories = 8 (default)" in run("policy", "back")[1]
    history = run("policy", "history")[1].splitlines()
    assert [line.partition(": ")[2].split()[0] for line in history if not line.startswith(" ")] == [
        *("hooks.max_memories", "switched", "taken", "taken")
    ]


def test_programs_get_every_version_with_its_evidence(run: Run, own_home: Path) -> None:
    """[S8]"""
    seen = Evidence(turns=4000, withheld=200, total=3600.0, squares=65000.0)
    learn(own_home / "data", hooks__max_memories=seen)
    told = json.loads(run("policy", "history", "--json")[1])
    (version,) = told["versions"]
    assert (version["setting"], version["reason"], version["parent"]) == (
        "hooks.max_memories",
        "outcome",
        None,
    )
    assert version["evidence"]["withheld"] == 200
    assert {each["setting"]: each["origin"] for each in told["settings"]}["hooks.max_memories"] == "learned"
    assert "200 of 4000 times" in run("policy", "why")[1]


def test_a_setting_of_the_user_is_said_to_be_chosen(
    run: Run, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn(own_home / "data", hooks__max_memories=Evidence(shown=2000, used=10))
    monkeypatch.setenv("NAGORI_HOOKS__MAX_MEMORIES", "8")
    assert "hooks.max_memories = 8 (chosen by you; it is not learned)" in run("policy")[1]
    monkeypatch.setenv("NAGORI_LANG", "ja")
    assert "あなたの設定" in run("policy")[1]


def test_the_task_of_a_command_is_that_of_what_it_remembers(run: Run, own_home: Path) -> None:
    assert run("--task", "boil", "remember", "The kettle needs gas.")[0] == 0
    with Nagori.open(own_home / "data", embedder=None) as memory:
        assert [each.task for each in memory.list()] == ["boil"]
