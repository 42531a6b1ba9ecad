"""A hook and its worker among torn files, busy locks and strange bytes: nothing is lost, nobody waits."""

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nagori import Nagori
from nagori.core.events import Event
from nagori.core.model import Scope
from nagori.edges import hooks
from nagori.edges.hooks.call_types import At
from nagori.edges.hooks.selftest import read_record, recent_calls
from nagori.edges.worker import run as worker
from nagori.errors import Notice
from nagori.journals.file import FileJournal
from nagori.services.record_turns_or_spool import read_spool as spooled
from nagori.services.record_turns_or_spool import record_or_spool as write_down

OWNER = ("local", "me")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test's hooks write; no worker is started behind its back."""
    folder = tmp_path / "data"
    monkeypatch.setenv("NAGORI_DATA_DIR", str(folder))
    monkeypatch.setenv("NAGORI_HOOKS__WORKER", "false")
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    return folder


def call(event: str = "UserPromptSubmit", **more: Any) -> dict[str, Any]:
    """What Claude Code would be answered."""
    told = {"session_id": "s", "cwd": "/srv/tea", "hook_event_name": event, "prompt_id": "1", **more}
    said = hooks.answer(["--host", "claude-code"], io.BytesIO(json.dumps(told).encode()))
    return json.loads(said) if said else {}


def texts(data: Path) -> list[str]:
    with Nagori.open(data, scope=Scope(project="/srv/tea")) as memory:
        return [each.text.content for each in reversed(memory.list())]


def exchanges(data: Path) -> list[tuple[str, str]]:
    with Nagori.open(data, scope=Scope(project="/srv/tea")) as memory:
        return [(each.text.trigger, each.text.content) for each in reversed(memory.list())]


def working(data: Path) -> int:
    """Work, within bounds: a worker that goes round and round fails instead of hanging."""
    until = time.monotonic() + 30
    formed = worker.work(data, until)
    assert time.monotonic() < until
    return formed


# --- the hook -------------------------------------------------------------------------------------


def test_what_is_said_while_somebody_holds_the_journal_is_kept_beside_it(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(hooks.SECONDS, At.PROMPT, 0.1)
    with FileJournal(data / "journal").locked(OWNER):
        assert "too long" in call(prompt="The kettle is blue.")["systemMessage"]
    assert [events[0].data["text"] for _, _, events in spooled(data)] == ["The kettle is blue."]
    assert working(data) == 1
    assert texts(data) == ["The kettle is blue."]
    assert list(spooled(data)) == []


def test_a_host_that_never_closes_its_end_does_not_keep_the_hook() -> None:
    code = "import nagori.edges.hooks as hooks; hooks.USUALLY = 0.1; hooks.main([])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        try:
            assert process.wait(60) == 0
        finally:
            process.kill()


@pytest.mark.parametrize("field", ["prompt", "session_id", "prompt_id", "transcript_path", "cwd"])
def test_half_a_character_does_not_cost_the_turn(data: Path, field: str) -> None:
    assert call(**{"prompt": "tea", field: "tea \ud83d"}) == {}
    assert working(data) == 1


def test_what_was_kept_by_hand_is_still_told_after_a_compaction(data: Path) -> None:
    """It belongs to no session, which is not the same as to this one."""
    with Nagori.open(data) as memory:
        memory.remember("The blue kettle whistles at noon.")
    assert "whistles" in json.dumps(call(prompt="When does the blue kettle whistle?"))
    call("SessionStart", source="compact")
    assert "whistles" in json.dumps(call(prompt="When does the blue kettle whistle?", prompt_id="2"))


def test_what_this_session_said_is_told_back_only_after_a_compaction(data: Path) -> None:
    call(prompt="青いやかんは正午に鳴ります。")
    working(data)
    asked = {"prompt": "青いやかんはいつ鳴りますか？"}
    assert call(**asked, prompt_id="2") == {}
    call("SessionStart", source="compact")
    assert "やかん" in call(**asked, prompt_id="3")["hookSpecificOutput"]["additionalContext"]


def test_a_hook_that_is_off_hears_and_says_nothing(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAGORI_HOOKS__ENABLED", "false")
    assert call(prompt="The kettle is blue.") == {}
    assert working(data) == 0


# --- the worker -----------------------------------------------------------------------------------


def test_a_torn_line_does_not_keep_the_worker_going_round(data: Path) -> None:
    call(prompt="The kettle is blue.")
    (journal,) = data.glob("journal/*/*/*.jsonl")
    with journal.open("ab") as file:
        file.write(b'{"torn":')
    assert working(data) == 1
    assert working(data) == 0
    call(prompt="The cup is red.", prompt_id="2")
    assert working(data) == 1
    assert texts(data) == ["The kettle is blue.", "The cup is red."]


def test_what_is_said_while_the_worker_is_leaving_is_not_left_lying(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It saw a worker at work and started none, so that one has to look again."""
    real: Callable[..., tuple[int, bool]] = worker._work
    late = ["The cup is red."]

    def leaving(folder: Path, until: float) -> tuple[int, bool]:
        done = real(folder, until)
        if late:
            call(prompt=late.pop(), prompt_id="2")
        return done

    monkeypatch.setattr(worker, "_work", leaving)
    call(prompt="The kettle is blue.")
    assert working(data) == 2


def test_a_store_that_stays_ill_is_tried_once(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call(prompt="The kettle is blue.")

    def ill(*_: object, **__: object) -> None:
        raise OSError("ill")

    monkeypatch.setattr(worker, "process", ill)
    assert working(data) == 0
    assert str(read_record((data / worker.LOG).read_text())) == "OSError: ill"


# --- sessions that were killed --------------------------------------------------------------------


@pytest.fixture
def killed(data: Path, tmp_path: Path) -> Path:
    """The host's file of a session that was asked an hour ago; the answer stands only there."""
    asked = datetime.now(UTC) - timedelta(hours=1)
    path = tmp_path / "s.jsonl"
    common = {"sessionId": "s", "cwd": "/srv/tea", "isSidechain": False}
    lines = [
        {"type": "user", "uuid": "u", "message": {"role": "user", "content": "Which tea?"}},
        {
            "type": "assistant",
            "uuid": "a",
            "parentUuid": "u",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "Green tea from Uji."}]},
        },
    ]
    stamped = [
        {**line, **common, "timestamp": (asked + timedelta(seconds=n)).isoformat()}
        for n, line in enumerate(lines)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in stamped), encoding="utf-8")
    said = {"host": "claude-code", "session": "s", "role": "user", "text": "Which tea?", "ref": "1"}
    said |= {"project": "/srv/tea", "transcript": str(path)}
    write_down(data, OWNER, [Event("turn_recorded", asked, said, by="host")])
    working(data)
    return path


def aged(path: Path) -> None:
    hour_ago = time.time() - 3600
    os.utime(path, (hour_ago, hour_ago))


def test_the_answer_of_a_killed_session_is_taken_from_the_host_s_file(data: Path, killed: Path) -> None:
    aged(killed)
    assert working(data) == 1
    assert exchanges(data) == [("Which tea?", "Green tea from Uji.")]
    assert working(data) == 0


def test_a_session_whose_file_still_grows_was_not_killed(data: Path, killed: Path) -> None:
    assert working(data) == 0
    call("Stop", last_assistant_message="Green tea from Uji, as always.")
    aged(killed)
    assert working(data) == 1
    assert exchanges(data) == [("Which tea?", "Green tea from Uji, as always.")]


# --- a folder that takes no notes


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


def test_a_folder_that_cannot_be_written_is_told_once_in_a_session(
    data: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.write_text("a file, where the folder should be", encoding="utf-8")  # root may write anywhere else
    assert "nagori doctor" in call(prompt="Tea?")["systemMessage"]
    assert call(prompt="Tea?") == {}
    assert call(prompt="Tea?", session_id="another")["systemMessage"]
    [place] = temporary.iterdir()
    assert place.stat().st_mode & 0o777 == 0o700


def test_a_faulty_configuration_is_told_once_in_a_session(
    data: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAGORI_RETRIEVAL__TOP_K", "many")
    assert "top_k" in call(prompt="Tea?")["systemMessage"]
    assert call(prompt="Tea?") == {}


def test_notes_are_not_left_in_a_folder_that_is_somebody_elses(data: Path, temporary: Path) -> None:
    data.write_text("a file, where the folder should be", encoding="utf-8")
    theirs = temporary / "theirs"
    theirs.mkdir()
    (temporary / f"nagori-{os.getuid()}").symlink_to(theirs)
    assert call(prompt="Tea?")["systemMessage"]
    assert call(prompt="Tea?")["systemMessage"]  # better twice than never
    assert list(theirs.iterdir()) == []


def test_what_failed_is_noted_by_its_id_and_old_notes_are_shown_as_they_are(tmp_path: Path) -> None:
    place = tmp_path / "hosts"
    place.mkdir()
    record = Notice("notice.trouble", reason=Notice("error.lock_lost")).to_record()
    (place / "failed-prompt").write_text(f"claude-code\n{json.dumps(record)}\n")
    (place / "failed-stop").write_text("codex\nnagori: an old {sentence}\n")
    (place / "fired-stop").write_text("codex\n\n")
    told = {each.moment + str(each.failure is None): each.failure for each in recent_calls(tmp_path)}
    assert "ロックが失われました" in told["promptFalse"].in_language("ja")  # type: ignore[union-attr]
    assert str(told["stopFalse"]) == "nagori: an old {sentence}"
    assert told["stopTrue"] is None


# --- erased ---------------------------------------------------------------------------------------


def test_the_hooks_of_an_erased_user_say_nothing_and_keep_nothing(data: Path) -> None:
    call(prompt="The ferry to Rishiri leaves at nine.")
    working(data)
    with Nagori.open(data) as memory:
        memory.remember("The ferry to Rishiri must be booked a week ahead.", protect=True)
        memory.erase(memory.plan_erasure(everything=True))
    before = sorted(path.relative_to(data) for path in data.rglob("*"))
    for event, more in {
        "SessionStart": {"source": "startup"},
        "UserPromptSubmit": {"prompt": "When does the wolpertinger ferry leave?"},
        "PostToolUseFailure": {"tool_name": "Bash", "error": "the wolpertinger failed"},
        "Stop": {"last_assistant_message": "The wolpertinger leaves at ten."},
        "SessionEnd": {"reason": "clear"},
    }.items():
        assert call(event, **more) == {}
    after = [path for path in data.rglob("*") if path.is_file()]
    assert not [path for path in after if b"wolpertinger" in path.read_bytes()]
    new = {path.relative_to(data) for path in after} - set(before)
    assert {path.parts[0] for path in new} <= {"hosts"}  # when a hook was called last
    assert working(data) == 0
    with Nagori.open(data) as memory:
        memory.reopen()
    call(prompt="The ferry to Rebun leaves at ten.")
    working(data)
    assert texts(data) == ["The ferry to Rebun leaves at ten."]
