"""What tools did: noted by a hook that imports little, bundled at the end of the turn, lost to nobody."""

import io
import json
import os
import random
import string
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nagori import Filter, Kind, Nagori
from nagori.core.model import Privacy
from nagori.edges import hooks
from nagori.edges.worker.run import work
from nagori.files import ENCRYPTION_NOTE
from nagori.journals.file import FileJournal
from nagori.services import tool_outcome_log
from nagori.services.memory_block import ID_SHOWN
from nagori.services.tool_outcome_log import note_end, take_abandoned, take_ends, take_results

OWNER = ("local", "me")


@pytest.fixture
def folder(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NAGORI_HOOKS__WORKER", "false")
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    return own_home / ".local/share/nagori"


def event(name: str, session: str = "now", **more: object) -> str:
    payload = {"hook_event_name": name, "session_id": session, "cwd": "/srv/app", **more}
    return hooks.answer(["--host", "claude-code"], io.BytesIO(json.dumps(payload).encode()))


def use(target: str, error: str = "", **more: Any) -> None:
    name = "PostToolUseFailure" if error else "PostToolUse"
    more = {"tool_name": "Bash", "tool_input": {"command": target}, "duration_ms": 40, **more}
    assert event(name, **more, **({"error": error} if error else {})) == ""


def worked(folder: Path) -> list[dict[str, Any]]:
    events = FileJournal(folder / "journal").read(OWNER)
    return [dict(event.data) for event in events if event.type == "worked"]


def lines(work: dict[str, Any]) -> list[Any]:
    return [json.loads(line) for line in work["text"].splitlines()]


def age(folder: Path) -> None:
    """As if all that happened an hour ago."""
    for path in (folder / "hot").iterdir():
        os.utime(path, (time.time() - 3600,) * 2)


def test_the_results_of_a_turn_become_one_event_at_its_end(folder: Path) -> None:
    """[S1, S2, S3]"""
    use("ls")
    use("ls")
    use("make kettle", error="Exit code 2")
    assert worked(folder) == []
    event("Stop", last_assistant_message="The kettle cannot be made.")
    (work,) = worked(folder)
    assert (work["session"], work["project"], work["role"], work["host"]) == (
        "now",
        "/srv/app",
        "work",
        "claude-code",
    )
    assert lines(work) == [
        ["Bash", "ls", True, 80, "", 2],
        ["Bash", "make kettle", False, 40, "Exit code 2", 1],
    ]
    assert list((folder / "hot").iterdir()) == []
    event("Stop", last_assistant_message="Nothing more was done.")
    assert len(worked(folder)) == 1


def test_what_a_tool_read_or_wrote_is_not_noted_and_secrets_are_removed(folder: Path) -> None:
    key = "sk-ant-" + "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=40))
    use(f"curl -H 'x-api-key: {key}'", tool_response="the whole listing")
    use("cat notes", error=f"password = hunter2Xq9 {key}")
    written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    for secret in (key, "hunter2Xq9", "the whole listing"):
        assert secret.encode() not in written
    assert b"curl" in written
    for path in (folder / "hot").iterdir():
        assert path.stat().st_mode & 0o077 == 0


def test_a_tool_hook_imports_no_store_no_journal_and_no_recall(folder: Path) -> None:
    payload = {"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {}}
    code = (
        "import sys, io; from nagori.edges import hooks;"
        f"hooks.answer(['--host', 'claude-code'], io.BytesIO({json.dumps(payload).encode()!r}));"
        "print(*sorted(name for name in sys.modules if name.startswith('nagori')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "nagori.services.tool_outcome_log" in loaded
    heavy = {
        "journals",
        "stores",
        "ledger",
        "services.recall",
        "services.record_turns_or_spool",
        "edges.hooks.handlers",
    }
    assert not {f"nagori.{name}" for name in heavy} & loaded


def test_results_of_a_killed_session_are_taken_by_the_worker_once(folder: Path) -> None:
    use("make kettle", error="no rule")
    use("make kettle FUEL=gas")
    work(folder)
    assert worked(folder) == []  # the turn may still go on
    age(folder)
    work(folder)
    (one,) = worked(folder)
    assert (one["session"], one["project"], len(lines(one))) == ("now", "/srv/app", 2)
    work(folder)
    assert len(worked(folder)) == 1
    with Nagori.open(folder, embedder=None) as memory:
        texts = [m.fullest.content for m in memory.list(Filter(kinds=frozenset({Kind.LESSON})))]
    assert "Bash `make kettle FUEL=gas` worked; Bash `make kettle` failed: no rule" in texts


def test_torn_and_foreign_lines_cost_only_themselves(folder: Path) -> None:
    use("ls")
    (path,) = (folder / "hot").iterdir()
    with path.open("ab") as file:
        file.write(b'["Bash", "torn\n[1, 2, 3, 4, 5]\n{}\n\xff\xfe\n["Bash", "pwd", true, 1, ""]\n')
    assert take_results(folder, "now") == [("Bash", "ls", True, 40, ""), ("Bash", "pwd", True, 1, "")]
    (folder / "hot" / "foreign.jsonl").write_bytes(b"[]")
    (folder / "hot" / "foreign.ended").write_bytes(b'{"owner": "x"}')
    age(folder)
    assert list(take_abandoned(folder)) == []
    assert list(take_ends(folder)) == []
    assert take_results(folder, "never seen") == []


def test_a_turn_of_very_many_tools_is_noted_up_to_a_limit(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_outcome_log, "MOST_BYTES", 1000)
    for n in range(100):
        use(f"echo {n}")
    (path,) = (folder / "hot").iterdir()
    assert path.stat().st_size < 1200


def test_an_erased_user_leaves_no_results_behind(folder: Path) -> None:
    use("ls wolpertinger")
    event("SessionEnd", session="other")
    with Nagori.open(folder, embedder=None) as memory:
        memory.remember("x")
        memory.erase(memory.plan_erasure(everything=True))
    assert list((folder / "hot").iterdir()) == []


def test_in_an_encrypted_folder_results_are_encrypted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cipher of its own: the real one needs libraries that are not everywhere."""

    def encryption(journal: FileJournal, owner: tuple[str, str]) -> Any:
        return lambda text, seq: {"key": seq, "enc": text[::-1].hex()}

    def decryption(journal: FileJournal, owner: tuple[str, str]) -> Any:
        return lambda body: bytes.fromhex(body["enc"])[::-1] if body["seq"] == body["key"] else b""

    monkeypatch.setattr(FileJournal, "encryption", encryption)
    monkeypatch.setattr(FileJournal, "decryption", decryption)
    (folder / "hot").mkdir(parents=True)
    (folder / ENCRYPTION_NOTE).write_text("{}")
    use("ls wolpertinger")
    note_end(folder, OWNER, "the wolpertinger's session")
    paths = sorted((folder / "hot").iterdir())
    assert len(paths) == 2
    for path in paths:
        assert b"wolpertinger" not in path.read_bytes()
        assert b"/srv/app" not in path.read_bytes()
    assert list(take_ends(folder)) == [(OWNER, "the wolpertinger's session")]
    assert take_results(folder, "now") == [("Bash", "ls wolpertinger", True, 40, "")]
    use("ls")
    age(folder)
    ((head, results),) = take_abandoned(folder)
    assert (head["session"], len(results)) == ("now", 1)
    use("ls")
    (path,) = (folder / "hot").iterdir()
    path.write_bytes(path.read_bytes().replace(b'"enc": "', b'"enc": "x'))
    assert take_results(folder, "now") == []  # whatever was changed is left out


def test_the_end_of_a_session_makes_its_credit_final(folder: Path) -> None:
    """[S1, S7, S10]"""
    with Nagori.open(folder, embedder=None) as memory:
        tip = memory.with_scope(project="/srv/app").remember(
            "For the kettle of the harbour use the gas burner with valve seven.", kind="lesson"
        )
    said = event("UserPromptSubmit", prompt="Please boil the kettle of the harbour now.")
    assert tip.id[:ID_SHOWN] in said
    use("burner --gas --valve seven")
    event("Stop", last_assistant_message="It boils.")
    work(folder)
    with Nagori.open(folder, embedder=None) as memory:
        assert memory.show(tip.id).credit.used == 0.0  # provisional
    event("SessionEnd", reason="other")
    work(folder)
    with Nagori.open(folder, embedder=None) as memory:
        credited = memory.show(tip.id)
    assert (credited.credit.used, credited.recalled_at is None) == (1.0, False)


def test_a_subagent_is_an_agent_of_its_own_whose_role_is_its_type(folder: Path) -> None:
    """[S9]"""
    use("ls", agent_id="a1", agent_type="Explore")
    use("pwd")
    event("SubagentStop", agent_id="a1", agent_type="Explore", last_assistant_message="Seven cups are there.")
    (own,) = worked(folder)
    assert (own["agent"], own["agent_role"], lines(own)[0][1]) == ("a1", "Explore", "ls")
    event("Stop", last_assistant_message="There are seven cups.")
    assert [("agent" in each) for each in worked(folder)] == [True, False]


def test_a_private_lesson_of_one_subagent_is_not_told_to_another_before_a_tool(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[S9]"""
    monkeypatch.setenv("NAGORI_HOOKS__BEFORE_TOOL", "true")
    monkeypatch.setenv("NAGORI_HOOKS__MIN_CONFIDENCE", "0")
    with Nagori.open(folder, embedder=None) as memory:
        explorer = memory.with_scope(project="/srv/app", agent="a1", role="Explore")
        (lesson,) = explorer.share(["Use valve seven for the kettle burner."], privacy="private")
    asked = {"tool_name": "Bash", "tool_input": {"command": "kettle burner"}}
    for agent, role, sees in (("a1", "Explore", True), ("a2", "Explore", False), ("a3", "Plan", False)):
        said = event("PreToolUse", session=agent, agent_id=agent, agent_type=role, **asked)
        assert (lesson.id[:ID_SHOWN] in said) is sees
    with Nagori.open(folder, embedder=None) as memory:
        assert memory.show(lesson.id).privacy is Privacy.PRIVATE
