"""`nagori prune` on a file of messages."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nagori.edges.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.setenv("NAGORI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    monkeypatch.setenv("COLUMNS", "200")

    def typed(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["nagori", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), *capsys.readouterr()

    return typed


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    said = [
        {"role": "user", "content": f"The key of room {n} hangs beside lamp {n * 7}."} for n in range(200)
    ]
    path = tmp_path / "talk.jsonl"
    path.write_text("\n".join(map(json.dumps, said)) + "\n\n", encoding="utf-8")
    return path


def test_a_file_is_pruned_and_what_is_left_out_is_remembered(run: Run, talk: Path) -> None:
    code, out, err = run("prune", talk, "--budget", 1000)
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert lines[-1]["content"].startswith("The key of room 199")
    assert len(lines) < 60
    assert "of 200 messages left out" in err
    assert "room 3 " in run("recall", "the key of room 3")[1]


def test_it_goes_into_a_file_or_to_machines(run: Run, talk: Path, tmp_path: Path) -> None:
    code, out, _ = run(
        "prune", talk, "-o", tmp_path / "short.jsonl", "--preset", "conservative", "--no-remember"
    )
    assert (code, out) == (0, "")
    answer = json.loads(run("prune", talk, "--json", "--strategy", "sliding", "--budget", 2000)[1])
    assert answer["report"]["pruned"]
    written = (tmp_path / "short.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(written) > len(answer["messages"])


def test_a_line_that_is_no_message_is_named(run: Run, talk: Path) -> None:
    talk.write_text('{"role": "user", "content": "hi"}\n[1]\n', encoding="utf-8")
    code, _, err = run("prune", talk)
    assert (code, "line 2 is not a JSON object" in err) == (2, True)
    assert "2 行目" in run("--lang", "ja", "prune", talk)[2]
