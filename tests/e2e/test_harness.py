"""The host as we found it, driven for real: what our hook may rely on, and what it must not do.

These tests use a stand-in hook. They say nothing about nagori; when one fails after the pin in
requirements/e2e.txt moved, the host has changed and the adapter has to be looked at.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from .claude import Run, World, hooks, kill, run, start, together, validate
from .golden import ALLOWED, FOLDER, day, delegate, golden
from .messages_api import Answer, Error, Hold, MessagesApi, Question, Text, ToolUse
from .recorder import Recorder
from .story import injected, story

COMMON = {"session_id", "transcript_path", "cwd", "hook_event_name"}


def context(event: str, text: str) -> str:
    """What a hook prints to add text, in the host's JSON."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def test_a_prompt_fires_four_events_in_order(world: World, stub: MessagesApi, recorder: Recorder) -> None:
    stub.default = "Green it is."
    done = run("I like green tea.", world, stub)
    start, prompt, stop, end = told = recorder.payloads()
    assert recorder.names() == ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]
    assert all(payload.keys() >= COMMON for payload in told)
    assert {payload["session_id"] for payload in told} == {done.session}
    assert {payload["cwd"] for payload in told} == {str(world.project)}
    assert start["source"] == "startup"
    assert prompt["prompt"] == "I like green tea."
    assert (stop["last_assistant_message"], stop["stop_hook_active"]) == ("Green it is.", False)
    assert end["reason"] == "other"
    assert prompt["prompt_id"] == stop["prompt_id"] == end["prompt_id"]
    assert world.transcripts == [Path(stop["transcript_path"])]


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
@pytest.mark.parametrize("form", ["plain", "json"])
def test_what_the_hook_prints_reaches_the_model(
    world: World, stub: MessagesApi, recorder: Recorder, event: str, form: str
) -> None:
    text = "<memo>\n- 緑茶が好き\n\n- the second paragraph\n</memo>"
    recorder.say(event, text if form == "plain" else context(event, text))
    (question,) = run("Which tea?", world, stub).questions
    assert [message["role"] for message in question.messages] == ["user", "system"]
    assert injected(question) == [(event, text)]


def test_a_notice_for_the_user_is_not_for_the_model(
    world: World, stub: MessagesApi, recorder: Recorder
) -> None:
    recorder.say("UserPromptSubmit", json.dumps({"systemMessage": "the memory is ill"}))
    (question,) = run("hello", world, stub).questions
    assert "the memory is ill" not in question.everything()


@pytest.mark.parametrize(
    "garbage",
    [
        '{"torn":',
        '{"hookSpecificOutput": 5}',
        "",
        *(
            pytest.param(more, marks=pytest.mark.slow)
            for more in ("[1, 2]", "\x01\x7f", '{"unknown": 1}', "\n" * 50)
        ),
    ],
)
def test_garbage_with_exit_0_does_no_harm(
    world: World, stub: MessagesApi, recorder: Recorder, garbage: str
) -> None:
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"):
        recorder.say(event, garbage)
    stub.default = "fine"
    done = run("hello", world, stub)
    assert (done.code, done.answer) == (0, "fine")
    assert recorder.names() == ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]


def test_exit_1_is_only_a_notice(world: World, stub: MessagesApi, recorder: Recorder) -> None:
    recorder.leave("UserPromptSubmit", 1)
    assert run("hello", world, stub).code == 0
    assert len(stub.questions) == 1


def test_exit_2_eats_the_prompt(world: World, stub: MessagesApi, recorder: Recorder) -> None:
    """Why a memory hook must leave with 0 on every path."""
    recorder.leave("UserPromptSubmit", 2)
    run("hello", world, stub)
    assert stub.questions == []


@pytest.mark.parametrize("form", ["plain", "json"])
@pytest.mark.parametrize(
    ("length", "whole"), [pytest.param(9_500, True, marks=pytest.mark.slow), (10_000, True), (10_001, False)]
)
def test_ten_thousand_characters_fit(
    world: World, stub: MessagesApi, recorder: Recorder, form: str, length: int, whole: bool
) -> None:
    text = "あ" * length
    recorder.say("UserPromptSubmit", text if form == "plain" else context("UserPromptSubmit", text))
    (question,) = run("hello", world, stub).questions
    seen = question.everything()
    assert (text in seen, "<persisted-output>" in seen) == (whole, not whole)
    assert whole or 1_000 < seen.count("あ") < 2_100


def test_a_resumed_session_starts_again_and_replays_what_was_added(
    world: World, stub: MessagesApi, recorder: Recorder
) -> None:
    recorder.say("UserPromptSubmit", "first memo")
    first = run("one", world, stub)
    recorder.say("UserPromptSubmit", "second memo")
    second = run("two", world, stub, resume=first.session)
    assert first.session == second.session
    assert [payload["source"] for payload in recorder.payloads("SessionStart")] == ["startup", "resume"]
    assert [text for _, text in injected(second.questions[0])] == ["first memo", "second memo"]


def test_compacting_tells_before_and_after(world: World, stub: MessagesApi, recorder: Recorder) -> None:
    first = run("one", world, stub)
    run("/compact keep the tea", world, stub, resume=first.session)
    told = [name for name in recorder.names() if name != "SubagentStop"]
    assert told[4:] == ["SessionStart", "PreCompact", "SessionStart", "PostCompact", "SessionEnd"]
    (before,), (after,) = recorder.payloads("PreCompact"), recorder.payloads("PostCompact")
    assert (before["trigger"], before["custom_instructions"]) == ("manual", "keep the tea")
    assert "A recap of the talk." in after["compact_summary"]
    assert recorder.payloads("SessionStart")[-1]["source"] == "compact"
    (recap,) = recorder.payloads("SubagentStop")
    assert (recap["agent_type"], recap["last_assistant_message"]) == ("", after["compact_summary"])


def test_a_full_window_compacts_by_itself_and_keeps_what_was_added(world: World, recorder: Recorder) -> None:
    small: dict[str, Any] = {"arguments": ["--autocompact", "100k"]}
    with MessagesApi(["one", "two", Text("three", context=150_000)]) as stub:
        session = run("1", world, stub, **small).session
        run("2", world, stub, resume=session, **small)
        run("3", world, stub, resume=session, **small)
        recorder.say("UserPromptSubmit", "memo of the full turn")
        full = run("4", world, stub, resume=session, **small)
    assert [payload["trigger"] for payload in recorder.payloads("PostCompact")] == ["auto"]
    assert [question.compacts for question in full.questions] == [True, False]
    assert "memo of the full turn" in full.questions[-1].everything()


def test_a_tool_that_works_and_one_that_fails(world: World, recorder: Recorder) -> None:
    file = world.project / "tea.txt"
    script: list[Answer] = [
        ToolUse("Write", {"file_path": str(file), "content": "green\n"}),
        ToolUse("Read", {"file_path": str(file)}),
        ToolUse("Bash", {"command": "exit 3", "description": "fail"}),
        "done",
    ]
    with MessagesApi(script) as stub:
        done = run("use tools", world, stub, arguments=[*ALLOWED, "--add-dir", str(world.project)])
    assert file.read_text() == "green\n"
    assert "green" in done.questions[2].tool_results()[1]
    worked, failed = recorder.payloads("PostToolUse"), recorder.payloads("PostToolUseFailure")
    assert [payload["tool_name"] for payload in worked] == ["Write", "Read"]
    assert [(payload["tool_name"], payload["error"]) for payload in failed] == [("Bash", "Exit code 3")]
    assert recorder.payloads("Stop")[0]["last_assistant_message"] == "done"


def test_a_subagent_has_its_own_end_and_no_prompt_event(
    world: World, stub: MessagesApi, recorder: Recorder
) -> None:
    stub.default = delegate
    run("delegate the counting", world, stub, arguments=ALLOWED)
    (ended,) = recorder.payloads("SubagentStop")
    assert (ended["agent_type"], ended["last_assistant_message"]) == ("general-purpose", "Seven cups.")
    assert Path(ended["agent_transcript_path"]) in world.transcripts
    assert len(recorder.payloads("UserPromptSubmit")) == len(recorder.payloads("Stop")) == 1


def test_an_own_command_is_a_prompt_and_a_builtin_is_not(
    world: World, stub: MessagesApi, recorder: Recorder
) -> None:
    commands = world.project / ".claude" / "commands"
    commands.mkdir()
    (commands / "fixit.md").write_text("Mend $ARGUMENTS.")
    for prompt in ("/fixit 42", "/context", "/srv/app/main.py crashes"):
        run(prompt, world, stub)
    told = [payload["prompt"] for payload in recorder.payloads("UserPromptSubmit")]
    assert told == ["/fixit 42", "/srv/app/main.py crashes"]


def test_a_refusal_of_the_api_ends_the_session_without_a_stop(
    world: World, stub: MessagesApi, recorder: Recorder
) -> None:
    stub.default = Error(400, "invalid_request_error", "no")
    assert run("hello", world, stub).code == 1
    assert recorder.names() == ["SessionStart", "UserPromptSubmit", "SessionEnd"]


def test_two_runs_at_once_do_not_mix(world: World, stub: MessagesApi, recorder: Recorder) -> None:
    runs = together(["about tea", "about coffee"], world, stub)
    assert [run.code for run in runs] == [0, 0]
    assert runs[0].session != runs[1].session
    for done in runs:
        mine = [p["hook_event_name"] for p in recorder.payloads() if p["session_id"] == done.session]
        assert mine == ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]
        assert [question.said("user")[-1].endswith(done.prompt) for question in done.questions] == [True]


def test_a_killed_run_says_no_goodbye_and_its_session_goes_on(
    world: World, stub: MessagesApi, recorder: Recorder
) -> None:
    session = run("one", world, stub).session
    stub.asked.clear()
    stub.default = Hold()
    process = start("never answered", world, stub, resume=session)
    try:
        assert stub.asked.wait(60)
    finally:
        kill(process)
    assert recorder.names()[4:] == ["SessionStart", "UserPromptSubmit"]
    stub.default = "welcome back"
    assert run("still there?", world, stub, resume=session).answer == "welcome back"


@pytest.mark.parametrize(("event", "code"), [("Stop", 0), ("PostResponse", 1)])
def test_the_host_checks_a_plugin_offline(world: World, stub: MessagesApi, event: str, code: int) -> None:
    plugin = world.project / "plugin"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / "hooks").mkdir()
    manifest = {"name": "sample", "version": "1.0.0", "description": "d", "author": {"name": "a"}}
    (plugin / ".claude-plugin" / "plugin.json").write_text(json.dumps(manifest))
    (plugin / "hooks" / "hooks.json").write_text(json.dumps(hooks("true", [event])))
    checked = validate(plugin, world, stub)
    assert checked.returncode == code, checked.stdout


def shape(value: Any) -> Any:
    """Names and kinds, without what differs between versions and machines."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return type(value).__name__


def test_the_golden_payloads_are_what_the_host_tells_today(world: World) -> None:
    today = golden(*day(world.home.parent / "day"))
    kept = {path.stem: json.loads(path.read_text("utf-8")) for path in FOLDER.glob("*.json")}
    del kept["StopFailure"]  # the host does not wait for that hook: a test that needs it would be a race
    assert {kind: shape(payload) for kind, payload in today.items()} == {
        kind: shape(payload) for kind, payload in kept.items()
    }


def test_a_story_tells_typed_added_received_and_answered() -> None:
    question = Question(
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "<system-reminder>x</system-reminder>"},
                        {"type": "text", "text": "Which tea?"},
                    ],
                },
                {
                    "role": "system",
                    "content": "# Environment\n\nUserPromptSubmit hook success: likes green"
                    "\n\nToday's date is 2026-01-02.",
                },
            ]
        }
    )
    told = story([Run("Which tea?", 0, json.dumps({"result": "Green."}), "", [question])])
    assert told.splitlines() == [
        "── 1. the user types",
        "Which tea?",
        "",
        "   UserPromptSubmit adds",
        "   │ likes green",
        "",
        "   the model gets 2 messages, the last of the user's being",
        "   │ Which tea?",
        "",
        "   and answers",
        "   │ Green.",
    ]
