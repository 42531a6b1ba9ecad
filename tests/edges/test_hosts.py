"""What each host says and wants to hear, on payloads of its own.

Those of Claude Code were captured from the real program (tests/e2e/golden.py); the others follow the hosts'
published references, Codex's are valid by its own schemas (openai/codex, codex-rs/hooks/schema).
"""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from nagori.core.model import Scope
from nagori.edges import hooks
from nagori.edges.hooks.call_types import SILENCE, Answer, At, Moment
from nagori.edges.hooks.host_payloads_and_replies import HOSTS, guess, moment, reply
from nagori.edges.hosts import HOSTS as INSTALLED
from nagori.journals.file import FileJournal

FIXTURES = Path(__file__).parent / "fixtures" / "hooks"
SESSION = "00000000-0000-4000-8000-000000000001"
TURN = "00000000-0000-4000-8000-000000000002"
TEA, GREEN, CUPS = "緑茶が好きです。", "Green tea it is.", "Seven cups."

# What each payload means; None for what is none of our business.
CLAUDE: dict[str, dict[str, Any] | None] = {
    "SessionStart": {"at": At.SESSION_START, "source": "startup"},
    "SessionStart.resume": {"at": At.SESSION_START, "source": "resume"},
    "SessionStart.compact": {"at": At.SESSION_START, "source": "compact"},
    "UserPromptSubmit": {"at": At.PROMPT, "text": "Write down which tea I like: green.", "ref": TURN},
    "UserPromptSubmit.command": {"at": At.PROMPT, "text": "/fixit 42"},
    "UserPromptExpansion": None,
    "PreToolUse": {"at": At.BEFORE_TOOL, "tool": "Write", "target": "/home/user/project/tea.txt"},
    "PostToolUse": {"at": At.TOOL_DONE, "tool": "Write", "text": "", "error": ""},
    "PostToolUseFailure": {"at": At.TOOL_FAILED, "tool": "Bash", "target": "exit 3", "error": "Exit code 3"},
    "PostToolBatch": None,
    "SubagentStart": None,
    "SubagentStop": {"at": At.SUBAGENT_END, "text": CUPS, "speaker": "general-purpose"},
    "SubagentStop.compact": {"at": At.SUBAGENT_END, "speaker": None},
    "Stop": {"at": At.TURN_END, "text": "The tea is written down.", "ref": TURN},
    "StopFailure": None,  # its message is the host's error, not an answer
    "PreCompact": {"at": At.BEFORE_COMPACTION, "text": ""},
    "PostCompact": {
        "at": At.COMPACTED,
        "text": "<analysis>short</analysis>\n<summary>A recap of the talk.</summary>",
    },
    "SessionEnd": {"at": At.SESSION_END, "source": "other"},
}
CODEX: dict[str, dict[str, Any] | None] = {
    "SessionStart": {"at": At.SESSION_START, "source": "startup"},
    "UserPromptSubmit": {"at": At.PROMPT, "text": TEA, "ref": TURN},
    "UserPromptSubmit.subagent": None,  # a model said it
    "PreToolUse": {"at": At.BEFORE_TOOL, "tool": "Bash", "target": "ls cups"},
    "PostToolUse": {"at": At.TOOL_DONE, "tool": "Bash", "text": ""},
    "PermissionRequest": None,
    "Stop": {"at": At.TURN_END, "text": GREEN, "ref": TURN},
    "Stop.silent": {"at": At.TURN_END, "text": ""},
    "SubagentStart": None,
    "SubagentStop": {"at": At.SUBAGENT_END, "text": CUPS, "speaker": "worker"},
    "PreCompact": {"at": At.BEFORE_COMPACTION},
    "PostCompact": {"at": At.COMPACTED, "text": ""},
    "SessionEnd": {"at": At.SESSION_END, "source": "other"},
}
GEMINI: dict[str, dict[str, Any] | None] = {
    "SessionStart": {"at": At.SESSION_START, "source": "startup"},
    "BeforeAgent": {"at": At.PROMPT, "text": TEA},
    "BeforeTool": {"at": At.BEFORE_TOOL, "tool": "read_file", "target": "/home/user/project/tea.txt"},
    "AfterTool": {"at": At.TOOL_DONE, "tool": "read_file", "text": "", "error": ""},
    "AfterTool.failed": {"at": At.TOOL_FAILED, "target": "brew tea", "error": "brew: command not found"},
    "AfterAgent": {"at": At.TURN_END, "text": GREEN},
    "BeforeModel": None,
    "PreCompress": {"at": At.BEFORE_COMPACTION},
    "SessionEnd": {"at": At.SESSION_END, "source": "exit"},
}
CURSOR: dict[str, dict[str, Any] | None] = {
    "sessionStart": {"at": At.SESSION_START},
    "beforeSubmitPrompt": {"at": At.PROMPT, "text": TEA, "ref": TURN},
    "preToolUse": {"at": At.BEFORE_TOOL, "target": "ls cups", "folder": "/home/user/project/kitchen"},
    "postToolUse": {"at": At.TOOL_DONE, "tool": "Shell"},
    "postToolUseFailure": {
        "at": At.TOOL_FAILED,
        "target": "brew tea",
        "error": "Command timed out after 30s",
    },
    "afterAgentResponse": {"at": At.TURN_END, "text": GREEN, "ref": TURN},
    "afterAgentThought": None,
    "stop": None,  # the answer came before
    "subagentStop": {"at": At.SUBAGENT_END, "text": CUPS, "speaker": "explore"},
    "preCompact": {"at": At.BEFORE_COMPACTION},
    "sessionEnd": {"at": At.SESSION_END, "source": "completed"},
}
COPILOT: dict[str, dict[str, Any] | None] = {
    "sessionStart": {"at": At.SESSION_START, "source": "new"},
    "userPromptSubmitted": {"at": At.PROMPT, "text": TEA},
    "preToolUse": {"at": At.BEFORE_TOOL, "tool": "bash", "target": "ls cups"},
    "postToolUse": {"at": At.TOOL_DONE, "tool": "bash", "target": "ls cups"},
    "postToolUseFailure": {"at": At.TOOL_FAILED, "target": "brew tea", "error": "brew: command not found"},
    "agentStop": {"at": At.TURN_END, "text": ""},  # it does not say what was answered
    "subagentStop": {"at": At.SUBAGENT_END, "text": "", "speaker": "explore"},
    "preCompact": {"at": At.BEFORE_COMPACTION},
    "errorOccurred": None,
    "sessionEnd": {"at": At.SESSION_END, "source": "complete"},
}
EXPECTED = {"claude-code": CLAUDE, "codex": CODEX, "gemini": GEMINI, "cursor": CURSOR, "copilot": COPILOT}
CASES = [(host, name) for host, cases in EXPECTED.items() for name in cases]
MEANT = [(host, name) for host, name in CASES if EXPECTED[host][name] is not None]


def payload(host: str, name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((FIXTURES / host / f"{name}.json").read_text("utf-8"))
    return value


def heard(host: str, name: str) -> Moment | None:
    """As the host calls: Copilot's command line names the event, the others' payloads do."""
    return moment(host, payload(host, name), name.partition(".")[0] if host == "copilot" else None)


def understood(host: str, name: str) -> Moment:
    found = heard(host, name)
    assert found is not None
    return found


# --- what is read ---------------------------------------------------------------------------------


def test_every_payload_of_the_folder_is_expected_and_every_expected_one_is_there() -> None:
    there = {(path.parent.name, path.stem) for path in FIXTURES.glob("*/*.json")}
    assert there == set(CASES)


@pytest.mark.parametrize(("host", "name"), CASES)
def test_a_payload_means_what_it_should(host: str, name: str) -> None:
    expected, found = EXPECTED[host][name], heard(host, name)
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert {key: getattr(found, key) for key in expected} == expected
    assert (found.host, found.session, found.event) == (host, SESSION, name.partition(".")[0])
    assert found.folder == expected.get("folder", "/home/user/project")


@pytest.mark.parametrize("host", EXPECTED)
def test_every_event_that_init_asks_for_was_tried(host: str) -> None:
    asked = {*INSTALLED[host].events, *INSTALLED[host].before_tool}
    assert asked <= {name.partition(".")[0] for name in EXPECTED[host]}


@pytest.mark.parametrize(("host", "name"), CASES)
def test_the_host_is_found_by_what_it_says(host: str, name: str) -> None:
    """Codex's first and last words have none of its marks; they read and are answered like Claude Code's."""
    found = guess(payload(host, name))
    if host == "codex" and name in ("SessionStart", "SessionEnd"):
        assert (found, HOSTS[found]) == ("claude-code", HOSTS["codex"])
    elif host == "gemini" and name in ("SessionStart", "SessionEnd", "BeforeModel"):
        assert found == "claude-code"  # shared names; `init` says --host, so nothing is guessed
    else:
        assert found == host


@pytest.mark.parametrize("host", [*HOSTS])
@pytest.mark.parametrize("event", ["PostResponse", "PostAssistantResponse", "Elicitation", "x" * 1000, ""])
def test_an_unknown_event_is_accepted_and_ignored(host: str, event: str) -> None:
    told = {"hook_event_name": event, "session_id": "s", "sessionId": "s", "cwd": "/tmp", "prompt": TEA}
    assert moment(host, told) is None
    assert hooks.answer(["--host", host], io.BytesIO(json.dumps(told).encode())) == ""


@pytest.mark.parametrize("host", EXPECTED)
@pytest.mark.parametrize("wrong", [None, 7, [], {}, True, [["x"]], {"a": {"b": 1}}])
def test_fields_of_the_wrong_kind_count_as_not_said(host: str, wrong: object) -> None:
    for name in EXPECTED[host]:
        told = payload(host, name)
        for field in told:
            event = name.partition(".")[0] if host == "copilot" else None
            found = moment(host, told | {field: wrong}, event)
            assert found is None or found.session == SESSION


def test_a_session_without_a_name_is_nobody_s() -> None:
    told = payload("claude-code", "UserPromptSubmit")
    del told["session_id"]
    assert moment("claude-code", told) is None


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[1]", b"null", b"7", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"hook_event_name": 5}']
)
def test_any_bytes_are_answered_with_silence(data: bytes) -> None:
    assert hooks.answer([], io.BytesIO(data)) == ""


@pytest.mark.parametrize("at", [*At])
def test_a_host_nobody_knows_may_name_the_moment_itself(at: At) -> None:
    told = {"event": at.value, "session_id": "s", "cwd": "/tmp", "prompt": TEA}
    assert guess(told) == "raw"
    found = moment("raw", told)
    assert found is not None
    assert found.at is at


# --- what is answered -----------------------------------------------------------------------------

KNOWN, ILL = Answer(context="<memories>…</memories>"), Answer(notice="nagori: ill")
MAY_SHOW = {At.SESSION_START, At.PROMPT, At.BEFORE_TOOL}


def said(host: str, name: str, answer: Answer) -> dict[str, Any]:
    line = reply(host, understood(host, name), answer)
    assert "\n" not in line
    value = json.loads(line) if line else {}
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize(("host", "name"), [case for case in MEANT if case[0] in ("claude-code", "codex")])
def test_claude_code_and_codex_are_shown_memories_and_told_trouble(host: str, name: str) -> None:
    at, event = understood(host, name).at, name.partition(".")[0]
    shown = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": KNOWN.context}}
    assert said(host, name, KNOWN) == (shown if at in MAY_SHOW else {})
    assert said(host, name, ILL) == {"systemMessage": "nagori: ill"}
    assert reply(host, understood(host, name), SILENCE) == ""


@pytest.mark.parametrize("name", [name for host, name in MEANT if host == "gemini"])
def test_gemini_gets_json_in_any_case(name: str) -> None:
    shown = {"hookEventName": name.partition(".")[0], "additionalContext": KNOWN.context}
    may = understood("gemini", name).at in MAY_SHOW
    assert said("gemini", name, KNOWN).get("hookSpecificOutput") == (shown if may else None)
    assert said("gemini", name, ILL) == {"systemMessage": "nagori: ill"}
    assert said("gemini", name, SILENCE) == {"suppressOutput": True}


@pytest.mark.parametrize("name", [name for host, name in MEANT if host == "cursor"])
def test_cursor_is_never_stopped_and_shown_memories_where_it_has_room(name: str) -> None:
    prompt = understood("cursor", name).at is At.PROMPT
    assert said("cursor", name, KNOWN) == (
        {"continue": True} if prompt else {"additional_context": KNOWN.context}
    )
    assert said("cursor", name, SILENCE) == ({"continue": True} if prompt else {})


@pytest.mark.parametrize("name", [name for host, name in MEANT if host == "copilot"])
def test_copilot_is_shown_memories(name: str) -> None:
    assert said("copilot", name, KNOWN) == {"additionalContext": KNOWN.context}
    assert said("copilot", name, SILENCE) == {}


def test_whoever_is_unknown_is_told_everything_plainly() -> None:
    found = moment("raw", {"event": "prompt", "session_id": "s", "prompt": TEA})
    assert found is not None
    assert json.loads(reply("raw", found, Answer("c", "n"))) == {"context": "c", "notice": "n"}


@pytest.mark.parametrize(("host", "name"), MEANT)
def test_no_answer_ever_stops_a_host(host: str, name: str) -> None:
    for answer in (KNOWN, ILL, SILENCE):
        value = said(host, name, answer)
        assert value.get("continue", True) is True
        assert not value.keys() & {"decision", "permissionDecision", "stopReason", "permission"}


# --- what is written down -------------------------------------------------------------------------

TOLD = {("user", TEA), ("assistant", GREEN), ("assistant", CUPS)}
WRITTEN = {
    "claude-code": {
        ("user", "Write down which tea I like: green."),
        ("user", "/fixit 42"),
        ("tool", "Bash exit 3: Exit code 3"),
        ("assistant", "The tea is written down."),
        ("assistant", CUPS),
        ("summary", "A recap of the talk."),
    },
    "codex": TOLD,
    "gemini": TOLD - {("assistant", CUPS)}
    | {("tool", "run_shell_command brew tea: brew: command not found")},
    "cursor": TOLD | {("tool", "Shell brew tea: Command timed out after 30s")},
    "copilot": {("user", TEA), ("tool", "bash brew tea: brew: command not found")},
}


@pytest.mark.parametrize("host", EXPECTED)
def test_a_day_with_a_host_is_written_down(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAGORI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("NAGORI_HOOKS__WORKER", "false")
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    for name in EXPECTED[host]:
        event = ["--event", name.partition(".")[0]] if host == "copilot" else []
        source = io.BytesIO(json.dumps(payload(host, name)).encode())
        assert "nagori: " not in hooks.answer(["--host", host, *event], source)
    journal = FileJournal(tmp_path / "data" / "journal")
    events = list(journal.read(Scope().owner))
    assert {event.type for event in events} <= {"turn_recorded", "session_compacted", "worked"}
    written = [event for event in events if event.type == "turn_recorded"]
    assert {(event.data["role"], event.data["text"]) for event in written} == WRITTEN[host]
    assert {event.data["project"] for event in written} == {"/home/user/project"}
