"""The real program learns: a mistake of one session is avoided in the next, and that is credited."""

import sys
from typing import Any

import pytest

from nagori import Nagori

from .claude import Run, World, run
from .golden import ALLOWED, delegate
from .messages_api import MessagesApi, Question, ToolUse
from .remembering import Remembering, blocks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc for workers left behind")

MAKEFILE = "kettle:\n\t@test -n '$(FUEL)' || (echo no fuel for the kettle; exit 3)\n\t@echo hot\n"
WRONG, RIGHT = "make kettle", "make kettle FUEL=gas"
LESSON = f"Bash `{RIGHT}` worked;"


def say(memory: Remembering, prompt: str, **more: Any) -> Run:
    done = run(prompt, memory.world, memory.stub, arguments=ALLOWED, **more)
    assert (done.code, done.err) == (0, "")
    memory.settle()
    return done


def bash(command: str) -> ToolUse:
    return ToolUse("Bash", {"command": command, "description": "boil"})


def test_a_mistake_of_one_session_is_avoided_in_the_next_and_its_lesson_is_credited(world: World) -> None:
    """[S1, S2, S7, S10] The model is scripted: it does what the lesson says if it is given one."""
    (world.project / "Makefile").write_text(MAKEFILE)

    def answer(question: Question) -> str | ToolUse:
        results = question.tool_results()
        if not results:
            return bash(RIGHT if any(LESSON in block for block in blocks(question)) else WRONG)
        return bash(RIGHT) if "no fuel" in results[-1] else "The kettle boils."

    with MessagesApi([]) as stub:
        stub.default = answer
        memory = Remembering.at(world, stub)
        first = say(memory, "Please make the kettle hot.")
        assert not any(LESSON in block for question in first.questions for block in blocks(question))
        (lesson,) = [each for each in memory.memories() if LESSON in each["texts"]["1"]["content"]]
        assert "no fuel for the kettle" in lesson["texts"]["1"]["content"]
        second = say(memory, "Please make the kettle hot once more.")
        assert any(LESSON in block for block in blocks(second.questions[0])), blocks(second.questions[0])
        assert "no fuel for the kettle" in first.questions[-1].tool_results()[0]
        assert second.questions[-1].tool_results() == ["hot"]  # and so the mistake is not made again
        with Nagori.open(memory.data, embedder=None) as opened:
            credit = opened.show(lesson["id"]).credit
            events = [entry.event for entry in opened.log(lesson["id"], limit=50)]
        assert (credit.used, credit.unused) == (1.0, 0)
        assert [event.type for event in events].count("credited") == 1
        assert memory.no_worker_left()


def test_a_subagent_works_under_its_own_id_and_type(world: World) -> None:
    """[S9]"""
    with MessagesApi([]) as stub:
        stub.default = delegate
        memory = Remembering.at(world, stub)
        say(memory, "delegate the counting")
        (kept,) = [each for each in memory.memories() if each["texts"]["1"]["content"] == "Seven cups."]
        assert (kept["role"], bool(kept["agent"])) == ("general-purpose", True)
        assert memory.no_worker_left()
