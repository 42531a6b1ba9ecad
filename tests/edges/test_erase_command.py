"""`nagori erase` and `nagori audit`: the plan, the token, the receipt, the log; in both languages."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.edges.test_cli import Run, kept, run

__all__ = ["run"]  # the fixture


def token_of(run: Run, *target: object) -> str:
    return str(run("erase", *target, "--json").json["token"])  # type: ignore[index]


def test_without_a_token_the_plan_is_shown_and_nothing_goes(run: Run) -> None:
    kept(run, "The kettle whistles at noon.")
    for target in (["--about", "kettle"], ["--user", "me"]):
        shown = run("erase", *target)
        assert shown.code == 0
        assert "1 memories" in shown.out
        assert "The kettle whistles at noon." in shown.out
        assert f"--confirm {token_of(run, *target)}" in shown.out
    assert "The kettle whistles at noon." in run("list").out


def test_the_command_that_is_shown_does_it(run: Run) -> None:
    import shlex

    kept(run, "--speaker", "Aki", "It's a kettle; rm -rf $HOME")
    run("--tenant", "a b", "--user", "o'neill", "remember", "A kettle of another tenant.")
    shown = run("--tenant", "a b", "--user", "o'neill", "erase", "--about", "kettle").out
    command = shown[shown.index("nagori --tenant") :]
    assert run(*shlex.split(command)[1:]).code == 0
    assert "kettle" not in run("--tenant", "a b", "--user", "o'neill", "list").out
    assert "kettle" in run("list").out


def test_a_wrong_token_erases_nothing(run: Run) -> None:
    kept(run, "The kettle whistles at noon.")
    assert run("erase", "--about", "kettle", "--confirm", "0" * 16).code == 5
    token = token_of(run, "--about", "kettle")
    kept(run, "The kettle is loud.")
    assert run("erase", "--about", "kettle", "--confirm", token).code == 5
    assert run("erase", "--about", "noon", "--confirm", token).code == 5
    assert run("status").code == 0
    assert run("list").out.count("kettle") == 2


def test_a_user_goes_with_a_receipt_that_can_be_checked(run: Run, tmp_path: Path) -> None:
    kept(run, "The kettle whistles at noon.")
    token, path = token_of(run, "--user", "me"), tmp_path / "receipt.json"
    done = run("erase", "--user", "me", "--confirm", token, "--receipt", path)
    assert done.code == 0
    assert "nothing was found" in done.out
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["user"] == "me"
    assert run("erase", "--verify-receipt", path).code == 0
    assert run("erase", "--user", "me", "--receipt", path).code == 2  # it exists
    path.write_text(path.read_text().replace('"clean": true', '"clean": false'))
    assert run("erase", "--verify-receipt", path).code == 1
    assert run("erase", "--verify-receipt", tmp_path / "none").code == 2
    refused = run("remember", "again")
    assert (refused.code, "erased" in refused.err) == (9, True)
    assert "消去されました" in run("--lang", "ja", "remember", "again").err
    assert run("doctor").code == 0
    assert run("erase", "--reopen").code == 0
    assert kept(run, "again")
    assert run("erase", "--reopen").code == 2


def test_the_log_is_shown_and_verified(run: Run, tmp_path: Path) -> None:
    assert run("audit").out.strip() == "The audit log is empty."
    assert run("audit", "verify").code == 0
    id = kept(run, "The kettle whistles at noon.")
    run("export", tmp_path / "x.jsonl")
    run("erase", "--memory", id, "--confirm", token_of(run, "--memory", id))
    shown = run("--lang", "ja", "audit").out
    assert "消去の完了" in shown
    assert "エクスポート" in shown
    verdict = run("audit", "verify", "--json").json
    assert verdict["sound"] is True  # type: ignore[index]
    anchor = str(verdict["anchor"])  # type: ignore[index]
    log = tmp_path / "data" / "audit.jsonl"
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    assert run("audit", "verify").code == 0
    assert run("audit", "verify", "--anchor", anchor).code == 1
    assert run("audit", "verify", "--anchor", "x").code == 2
    log.write_text(log.read_text().replace("exported", "restored"))
    changed = run("audit", "verify")
    assert (changed.code, "Line 1 was changed." in changed.out) == (1, True)


def test_an_interrupted_erasure_is_told_and_finished(run: Run, tmp_path: Path) -> None:
    from nagori.journals.file import FileJournal

    kept(run, "The kettle whistles at noon.")
    assert "No erasure is waiting" in run("erase", "--resume").out
    FileJournal(tmp_path / "data" / "journal").erase(("local", "me"))
    assert "erase --resume" in run("doctor").out
    assert run("erase", "--reopen").code == 5
    answer: Any = run("erase", "--resume", "--json").json
    [resumed] = answer["receipts"]
    assert (resumed["user"], resumed["interrupted"], resumed["clean"]) == ("me", True, True)
    assert "erase --resume" not in run("doctor").out


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ([], 2),
        (["--user", "nobody"], 2),
        (["--session", "none"], 2),
        (["--memory", "mem_none"], 3),
        (["--project", "p", "--session", "s"], 2),
        (["--about", " "], 2),
    ],
)
def test_an_unclear_target_is_refused(run: Run, target: list[str], code: int) -> None:
    kept(run, "tea")
    for language in ("en", "ja"):
        assert run("--lang", language, "erase", *target).code == code
