"""The real program with the real hook: what is told in one session is known in the next, come what may."""

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nagori import Nagori

from .claude import Run, World, kill, run, start, together
from .golden import ALLOWED, delegate
from .messages_api import Answer, Hold, MessagesApi, Question, ToolUse
from .recording import FILE, recorded
from .remembering import Remembering, blocks, told
from .story import injected

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc for workers left behind")

TEA, ASKED = "I drink only green tea from Uji, never coffee.", "Which tea should you order for me?"
お茶, 聞く = "私は宇治の緑茶しか飲みません。", "私にはどのお茶を注文しますか？"


@pytest.fixture
def memory(world: World, stub: MessagesApi) -> Any:
    """Installed; and when the test is over nothing of it runs any more."""
    stub.default = "Understood."
    made = Remembering.at(world, stub)
    yield made
    assert made.no_worker_left()


def say(memory: Remembering, prompt: str, **more: Any) -> Run:
    """One run, and all that was heard in it formed."""
    done = run(prompt, memory.world, memory.stub, **more)
    assert (done.code, done.err) == (0, "")
    memory.settle()
    return done


# --- told and recalled ----------------------------------------------------------------------------


@pytest.mark.parametrize(("fact", "question"), [(TEA, ASKED), (お茶, 聞く)])
def test_what_is_told_in_one_session_is_injected_in_the_next(
    memory: Remembering, fact: str, question: str
) -> None:
    told_in = say(memory, fact)
    assert blocks(told_in.questions[0]) == []
    (asked,) = say(memory, question).questions
    (block,) = blocks(asked)
    assert fact in block
    assert block.endswith("</memories>")
    assert asked.said("user")[-1].endswith(question)


def test_both_sides_of_a_conversation_are_kept_once(memory: Remembering) -> None:
    memory.stub.default = "Noted: green tea from Uji it is."
    session = say(memory, TEA).session
    kept = memory.memories()  # one exchange; two memories where the worker came between
    halves = [half for each in kept for half in each["texts"]["1"].values() if half]
    assert sorted(halves) == sorted([TEA, memory.stub.default])
    assert "user" in {each["trust"] for each in kept}
    assert {(each["source"]["session"], each["mentions"]) for each in kept} == {(session, 1)}


def test_what_a_hook_added_is_not_remembered_as_said(memory: Remembering) -> None:
    say(memory, TEA)
    say(memory, ASKED)
    assert not any("<memories" in text or "mem_" in text for text in memory.texts())


def test_a_private_passage_and_a_key_are_never_written_down(memory: Remembering) -> None:
    key = "sk-ant-" + "api03-" + "Ab1" * 20
    # Not a bare number: ids and times in the store may hold any four digits by chance.
    code = "otter-4711-gate"
    say(memory, f"My door code is <private>{code}</private> and my key {key}; the kettle is blue.")
    written = b"".join(path.read_bytes() for path in memory.data.rglob("*") if path.is_file())
    assert b"the kettle is blue" in written
    assert code.encode() not in written
    assert key.encode() not in written


def test_another_project_is_not_told(memory: Remembering, tmp_path: Path) -> None:
    say(memory, TEA)
    elsewhere = World(memory.world.home, tmp_path / "another")
    elsewhere.project.mkdir()
    (asked,) = run(ASKED, elsewhere, memory.stub).questions
    assert "Uji" not in asked.everything()


def test_a_protected_memory_is_told_when_a_session_starts(memory: Remembering) -> None:
    assert memory.nagori("remember", "薬のアレルギー: ペニシリン", "--protect").returncode == 0
    (asked,) = say(memory, "hello").questions
    assert [event for event, text in injected(asked) if "ペニシリン" in text] == ["SessionStart"]


# --- once in a session ----------------------------------------------------------------------------


def times(question: Question, text: str) -> int:
    """In how many blocks of memories a text stands."""
    return sum(text in block for block in blocks(question))


def test_a_resumed_session_is_shown_nothing_twice(memory: Remembering) -> None:
    memory.nagori("remember", "The user is allergic to penicillin.", "--protect")
    say(memory, TEA)
    session = say(memory, ASKED).session
    again = say(memory, ASKED, resume=session)
    assert again.session == session
    assert times(again.questions[0], TEA) == 1  # the host's replay of the first time
    assert times(again.questions[0], "penicillin") == 1


def test_what_was_said_in_this_session_is_not_told_back(memory: Remembering) -> None:
    session = say(memory, TEA).session
    (asked,) = say(memory, ASKED, resume=session).questions
    assert blocks(asked) == []


def test_after_a_compaction_the_recap_is_kept_and_memories_are_shown_again(memory: Remembering) -> None:
    def answer(question: Question) -> str:
        recap = "<analysis>short</analysis>\n<summary>宇治の緑茶を注文することにした。</summary>"
        return recap if question.compacts else "Understood."

    memory.stub.default = answer
    say(memory, TEA)
    session = say(memory, ASKED).session
    say(memory, "/compact keep the tea", resume=session)
    (recap,) = [each for each in memory.memories() if each["kind"] == "summary"]
    assert recap["texts"]["1"]["content"] == "宇治の緑茶を注文することにした。"
    assert recap["source"]["session"] == session
    (asked,) = say(memory, ASKED, resume=session).questions
    assert times(asked, TEA) == 1  # the compaction took the first one away


# --- tools and helpers ----------------------------------------------------------------------------


def test_a_failed_tool_is_a_lesson_and_one_that_worked_is_not(world: World) -> None:
    script: list[Answer] = [
        ToolUse("Write", {"file_path": str(world.project / "tea.txt"), "content": "green\n"}),
        ToolUse("Bash", {"command": "echo no such kettle >&2; exit 3", "description": "fail"}),
        "The kettle is missing.",
    ]
    with MessagesApi(script) as stub:
        memory = Remembering.at(world, stub)
        say(memory, "Boil the water.", arguments=ALLOWED)
        (lesson,) = [each for each in memory.memories() if each["kind"] == "lesson"]
        assert lesson["trust"] == "tool"
        assert lesson["texts"]["1"]["content"].startswith("Bash echo no such kettle")
        assert "Exit code 3 no such kettle" in lesson["texts"]["1"]["content"]
        # The order and its answer are one memory, unless the worker came between them.
        assert len(memory.texts()) in (2, 3)
        assert memory.no_worker_left()


def test_the_answer_of_a_subagent_is_kept_with_its_name(memory: Remembering) -> None:
    memory.stub.default = delegate
    say(memory, "delegate the counting", arguments=ALLOWED)
    kept = {each["texts"]["1"]["content"]: each["source"].get("speaker") for each in memory.memories()}
    assert kept == {"delegate the counting": None, "Seven cups.": "general-purpose"}  # "Done." says nothing


# --- limits ---------------------------------------------------------------------------------------


def test_a_block_stays_below_the_host_s_limit_and_arrives_whole(memory: Remembering) -> None:
    memory.settings(
        "[retrieval]\ntoken_budget = 100000\nmin_confidence = 0.0\ntop_k = 100\n"
        "[hooks]\nmax_memories = 100\nmin_confidence = 0.0\n"
    )
    long = [f"Tea number {n}: {'緑茶 and green tea and ' * 60}" for n in range(40)]
    with Nagori.open(memory.data, embedder=None) as opened:
        opened.remember_many(long)
    (asked,) = say(memory, "Which green tea 緑茶 do we have?").questions
    (block,) = blocks(asked)
    assert 3_500 < len(block) <= 9_500
    assert block.startswith("<memories")
    assert block.endswith("</memories>")
    assert "<persisted-output>" not in asked.everything()


# --- several at once, and killed ------------------------------------------------------------------


def test_two_runs_at_once_are_both_heard_and_nothing_is_stored_twice(memory: Remembering) -> None:
    prompts = ["The red kettle is in the kitchen.", "青いやかんは倉庫にあります。"]
    runs = together(prompts, memory.world, memory.stub)
    assert [done.code for done in runs] == [0, 0]
    assert Counter(memory.texts()) == Counter(prompts)  # "Understood." says nothing
    heard = {each["texts"]["1"]["content"]: each["source"]["session"] for each in memory.memories()}
    assert [heard[prompt] for prompt in prompts] == [done.session for done in runs]


@pytest.mark.parametrize("fact", [TEA, お茶])
def test_a_killed_run_loses_nothing(memory: Remembering, fact: str) -> None:
    memory.stub.default = Hold()
    process = start(fact, memory.world, memory.stub)
    try:
        assert memory.stub.asked.wait(60)
    finally:
        kill(process)
    memory.stub.default = "Understood."
    run("hello", memory.world, memory.stub)
    assert memory.texts().count(fact) == 1


def test_work_that_was_killed_is_done_by_the_next(memory: Remembering) -> None:
    """A worker killed at any time leaves the journal, from which the next one goes on."""
    say(memory, TEA)
    for store in memory.data.glob("nagori.db*"):
        store.unlink()  # as if it had never come so far
    say(memory, "hello")
    assert Counter(memory.texts())[TEA] == 1


# --- when the store is ill ------------------------------------------------------------------------


def read_only(data: Path) -> None:
    data.chmod(0o500)
    if os.access(data, os.W_OK):
        pytest.skip("this user may write everywhere")


def directory(data: Path) -> None:
    (data / "nagori.db").mkdir()


def garbage(data: Path) -> None:
    (data / "nagori.db").write_bytes(b"not a database at all" * 500)


@pytest.mark.parametrize("harm", [directory, garbage])
def test_a_store_that_cannot_be_opened_stops_nobody_and_is_told_once(memory: Remembering, harm: Any) -> None:
    harm(memory.data)
    done = run(TEA, memory.world, memory.stub)
    assert (done.code, done.answer, done.err) == (0, "Understood.", "")
    (notice,) = told(memory.world)
    assert notice.startswith("nagori: ")
    assert "doctor" in notice


def test_a_folder_that_cannot_be_written_stops_nobody_and_is_told(memory: Remembering) -> None:
    """More than once: there is no place to note that it was told."""
    read_only(memory.data)
    done = run(TEA, memory.world, memory.stub)
    memory.data.chmod(0o700)
    assert (done.code, done.answer, done.err) == (0, "Understood.", "")
    assert told(memory.world)
    assert all(notice.startswith("nagori: ") and "doctor" in notice for notice in told(memory.world))


@pytest.mark.parametrize("harm", [garbage, pytest.param(directory, marks=pytest.mark.slow)])
def test_what_was_said_while_the_store_was_ill_is_there_when_it_is_well(
    memory: Remembering, harm: Any
) -> None:
    harm(memory.data)
    run(TEA, memory.world, memory.stub)
    memory.settle()
    broken = memory.data / "nagori.db"
    broken.rename(memory.data / "aside")
    assert memory.nagori("rebuild").returncode == 0
    assert memory.texts().count(TEA) == 1
    (asked,) = say(memory, ASKED).questions
    assert times(asked, TEA) == 1


def test_no_place_for_any_memory_stops_nobody_and_is_told(memory: Remembering, tmp_path: Path) -> None:
    blocked = tmp_path / "a-file"
    blocked.write_text("not a folder")
    nowhere = {"NAGORI_DATA_DIR": str(blocked / "nagori")}
    done = run(TEA, memory.world, memory.stub, extra=nowhere)
    assert (done.code, done.answer) == (0, "Understood.")
    assert told(memory.world)
    assert all(notice.startswith("nagori: ") for notice in told(memory.world))


def test_settings_that_cannot_be_read_stop_nobody_and_are_told(memory: Remembering) -> None:
    memory.settings("[hooks\nthis is not TOML")
    done = run(TEA, memory.world, memory.stub)
    assert (done.code, done.answer) == (0, "Understood.")
    assert "nagori: " in told(memory.world)[0]


def test_a_launcher_whose_nagori_is_gone_stops_nobody_and_is_told(memory: Remembering) -> None:
    (memory.data / "bin" / "nagori-hook.py").unlink()
    done = run(TEA, memory.world, memory.stub)
    assert (done.code, done.answer) == (0, "Understood.")
    assert "nagori init" in told(memory.world)[0]


def test_uninstalled_is_silent(memory: Remembering) -> None:
    say(memory, TEA)
    assert memory.nagori("uninstall", "--yes").returncode == 0
    (asked,) = run(ASKED, memory.world, memory.stub).questions
    assert injected(asked) == []
    assert memory.texts().count(ASKED) == 0


# --- the recording --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_recorded_story_is_what_happens_today(world: World) -> None:
    """After a change that is meant: python -m tests.e2e.recording."""
    assert recorded(world.home.parent / "story") == FILE.read_text("utf-8")


def test_the_recorded_story_names_no_machine() -> None:
    text = FILE.read_text("utf-8")
    assert not any(place in text for place in ("/home/", "/tmp", "/root", "/Users", str(Path.home())))
