"""The real program as a language model: it answers in our shape, with no tools, no hooks and no trace."""

# mypy: disable-error-code="arg-type"
# Because words stand for members of enums, or options are passed on as a dict.

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nagori.adapters.llm import open_llm
from nagori.config.sections import Llm
from nagori.core.llm import Prompt
from nagori.errors import ModelError
from nagori.protocols import LLM

from .claude import PROGRAM, World, environment
from .messages_api import Error, Hold, MessagesApi, Question, Reply, Text, ToolUse
from .recorder import Recorder

ASKED = Prompt("Judge the passages.", '[{"i": 0, "text": "The kettle is green."}]')
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


@pytest.fixture
def llm(world: World, stub: MessagesApi, monkeypatch: pytest.MonkeyPatch) -> Callable[..., LLM]:
    def opened(**more: object) -> LLM:
        for name, value in environment(world, stub).items():
            monkeypatch.setenv(name, value)
        config = Llm(provider="claude-cli", command=str(PROGRAM), **{"timeout_seconds": 60.0, **more})
        found = open_llm(config)
        assert found is not None
        return found

    return opened


def test_it_answers_in_the_shape_that_is_asked_for(stub: MessagesApi, llm: Callable[..., LLM]) -> None:
    stub.default = lambda question: ToolUse("StructuredOutput", {"n": 3})
    reply = llm().complete(ASKED, SCHEMA, 500)
    assert json.loads(reply.text) == {"n": 3}
    assert (reply.input_tokens > 0, reply.output_tokens > 0) == (True, True)
    (question,) = stub.questions
    assert "Judge the passages." in json.dumps(question.body["system"])
    assert "kettle" in json.dumps(question.messages[0])


def test_nobody_else_is_called_and_nothing_is_left(
    world: World, recorder: Recorder, stub: MessagesApi, llm: Callable[..., LLM]
) -> None:
    """Also not the hooks that a user has: ours among them would remember our own questions."""
    user_settings = world.home / ".claude" / "settings.json"
    user_settings.parent.mkdir(exist_ok=True)
    user_settings.write_text(json.dumps(recorder.hooks()), encoding="utf-8")
    stub.default = lambda question: Text("fine")
    assert llm().complete(ASKED).text == "fine"
    assert list(recorder.folder.iterdir()) == []
    assert world.transcripts == []
    assert [question.body.get("tools") for question in stub.questions] == [[]]


@pytest.mark.parametrize("answer", [Error(400, "invalid_request_error"), Text("")])
def test_its_failure_is_told(stub: MessagesApi, llm: Callable[..., LLM], answer: Reply) -> None:
    stub.default = lambda question: answer
    with pytest.raises(ModelError):
        llm().complete(ASKED)


def test_nobody_waits_beyond_the_deadline(stub: MessagesApi, llm: Callable[..., LLM], tmp_path: Path) -> None:
    asked: list[Question] = []

    def hold(question: Question) -> Reply:
        asked.append(question)
        return Hold()

    stub.default = hold
    with pytest.raises(ModelError, match="within"):
        llm(timeout_seconds=4.0).complete(ASKED)
