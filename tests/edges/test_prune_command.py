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
    assert (code, "Line 2 is not a JSON object" in err) == (2, True)
    assert "2 行目" in run("--lang", "ja", "prune", talk)[2]


# --- files as they are


def test_a_file_and_a_report_for_machines_at_once(run: Run, talk: Path, tmp_path: Path) -> None:
    code, out, _ = run("prune", talk, "--budget", 1000, "-o", tmp_path / "short.jsonl", "--json")
    written = [json.loads(line) for line in (tmp_path / "short.jsonl").read_text("utf-8").splitlines()]
    assert code == 0
    assert written == json.loads(out)["messages"]
    assert json.loads(out)["report"]["pruned"]


def test_half_a_pair_of_surrogates_comes_out_as_it_went_in(run: Run, talk: Path, tmp_path: Path) -> None:
    half = {"role": "user", "content": "Half a face: \ud83d", "name": "A\ud83d"}
    said = [half, *({"role": "user", "content": f"Lamp {n} \ud83d hangs in room {n}."} for n in range(200))]
    talk.write_text("\n".join(map(json.dumps, [*said, half])), encoding="utf-8")
    code, out, _ = run("prune", talk, "--budget", 1000)
    assert (code, json.loads(out.splitlines()[-1])) == (0, half)
    code, out, _ = run("prune", talk, "--budget", 1000, "--json")
    assert (code, json.loads(out)["messages"][-1]) == (0, half)
    assert run("prune", talk, "--budget", 1000, "-o", tmp_path / "o.jsonl")[0] == 0
    assert json.loads((tmp_path / "o.jsonl").read_text("utf-8").splitlines()[-1]) == half
    assert "room 3." in run("recall", "which lamp hangs in room 3")[1]
    assert run("verify")[0] == 0


def test_a_mark_of_the_encoding_at_the_beginning_is_no_part_of_a_message(run: Run, talk: Path) -> None:
    talk.write_bytes(b"\xef\xbb\xbf" + talk.read_bytes().replace(b"\n", b"\r\n"))
    assert run("prune", talk)[0] == 0


def test_bytes_that_are_no_text_are_refused_with_their_line(run: Run, talk: Path) -> None:
    talk.write_bytes(b'{"role": "user", "content": "hi"}\n{"role": "user", "content": "caf\xe9"}\n')
    code, out, err = run("prune", talk)
    assert (code, out) == (2, "")
    assert "Line 2 is not UTF-8" in err
    assert "2 行目が UTF-8" in run("--lang", "ja", "prune", talk)[2]


@pytest.mark.parametrize("deep", [500, 5_000, 200_000])
def test_a_line_without_end_is_refused_or_read(run: Run, talk: Path, deep: int) -> None:
    talk.write_text('{"role": "user", "content": ' + "[" * deep + "]" * deep + "}\n", encoding="utf-8")
    code, _, err = run("prune", talk)
    assert code == 2 or (code == 0 and deep < 10_000)  # how deep is too deep is Python's to say
    assert "Traceback" not in err
    assert code == 0 or "messages: " in err


def test_it_reads_what_is_piped_in(run: Run, talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with talk.open(encoding="utf-8") as piped:
        monkeypatch.setattr(sys, "stdin", piped)
        assert len(run("prune", "-", "--budget", 1000)[1].splitlines()) < 60


def test_a_file_that_is_not_there_is_named(run: Run, tmp_path: Path) -> None:
    code, _, err = run("prune", tmp_path / "nothing.jsonl")
    assert (code, "nothing.jsonl" in err) == (2, True)


@pytest.mark.parametrize(
    ("option", "value"), [("session", "a\udcff"), ("session", "x" * 5000), ("beside", -1), ("budget", 0)]
)
def test_a_wrong_option_is_refused(run: Run, talk: Path, option: str, value: object) -> None:
    code, out, err = run("prune", talk, f"--{option}={value}")
    assert (code, out) == (2, "")
    assert option in err
    assert json.loads(run("prune", talk, f"--{option}={value}", "--json")[1])["error"]["message"]


@pytest.mark.parametrize(
    ("request_", "place"),
    [
        ({"model": "m", "system": "Be kind. " * 20, "tools": [{"name": "read"}]}, "messages"),
        ({"instructions": "Be kind."}, "input"),
    ],
)
def test_a_whole_request_comes_back_with_fewer_messages(
    run: Run, talk: Path, request_: dict[str, object], place: str
) -> None:
    said = [json.loads(line) for line in talk.read_text(encoding="utf-8").splitlines() if line]
    talk.write_text(json.dumps({**request_, place: said}), encoding="utf-8")
    code, out, _ = run("prune", talk, "--budget", 1000, "--no-remember")
    sent = json.loads(out)
    assert code == 0
    assert {name: value for name, value in sent.items() if name != place} == request_
    assert 0 < len(sent[place]) < len(said)


@pytest.mark.parametrize("number", [1, 3])
def test_a_list_in_one_piece_is_read(run: Run, talk: Path, number: int) -> None:
    talk.write_text(json.dumps([{"from": "human", "value": "hi"}] * number, indent=1), encoding="utf-8")
    code, out, _ = run("prune", talk, "--no-remember")
    assert (code, len(out.splitlines())) == (0, number)
