"""Histories as vendors' own libraries build them: objects, mixed lists, calls without ids; what is refused.

The objects here look like those of the libraries; `make test-frameworks` has the real ones.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest

from nagori import Nagori
from nagori.core.window.messages import Message
from nagori.errors import InvalidInput
from nagori.services.window.formats import copy_with, detect_format, format_of, plain
from nagori.services.window.formats.count_and_cut_content import PAGE, shorten_content, weigh
from nagori.services.window.formats.request_body import body_of


class Role(str, Enum):  # noqa: UP042 - as many programs still have it
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Model:
    """Looks like a pydantic model."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {
            name: [each.model_dump() if isinstance(each, Model) else each for each in value]
            if isinstance(value, list)
            else value
            for name, value in self.__dict__.items()
            if value is not None
        }

    def model_copy(self, update: dict[str, Any]) -> Model:
        return type(self)(**self.__dict__ | update)


class Content(Model):
    """Looks like Gemini's, which makes parts of dicts."""

    def __init__(self, role: str, parts: list[Any]) -> None:
        super().__init__(role=role, parts=[Model(**p) if isinstance(p, dict) else p for p in parts])


def read(*messages: Any, format: str | None = None) -> list[Message]:
    return format_of(messages, format).read(messages, len)


def block(kind: str, **fields: Any) -> Model:
    return Model(type=kind, **fields)


# --- calls stay with their results


def anthropic_turn(n: int) -> list[Any]:
    content = [
        block("text", text=f"Reading {n}."),
        block("tool_use", id=f"t{n}", name="read", input={"n": n}),
    ]
    result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"file {n} has {n} lines " * 6}
    return [
        {"role": Role.USER, "content": f"Please read file number {n} and tell me about it."},
        {"role": "assistant", "content": content},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [block("text", text=f"File {n} is a list of names.")]},
    ]


def openai_turn(n: int) -> list[Any]:
    call = {"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    return [
        {"role": Role.USER, "content": f"Please read file number {n} and tell me about it."},
        Model(role="assistant", content=None, tool_calls=[call]),
        {"role": Role.TOOL, "tool_call_id": f"c{n}", "content": f"file {n} has {n} lines " * 6},
        Model(role="assistant", content=f"File {n} is a list of names.", tool_calls=None),
    ]


def ollama_turn(n: int) -> list[Any]:
    calls = [{"function": {"name": name, "arguments": {"n": n}}} for name in ("read", "look")]
    return [
        {"role": "user", "content": f"Please read file number {n} and tell me about it."},
        Model(role="assistant", content="", tool_calls=calls),
        {"role": "tool", "tool_name": "look", "content": f"file {n} has {n} lines " * 3},
        {"role": "tool", "tool_name": "read", "content": f"file {n} has {n} lines " * 3},
        {"role": "assistant", "content": f"File {n} is a list of names."},
    ]


def responses_turn(n: int) -> list[Any]:
    return [
        {"role": "user", "content": f"Please read file number {n} and tell me about it."},
        block("reasoning", id=f"r{n}", summary=[]),
        block("function_call", call_id=f"c{n}", name="read", arguments="{}"),
        {"type": "function_call_output", "call_id": f"c{n}", "output": f"file {n} has {n} lines " * 6},
        block("message", role="assistant", content=[block("output_text", text=f"File {n}: names.")]),
    ]


def gemini_turn(n: int) -> list[Any]:
    answer = {"functionResponse": {"name": "read", "response": {"result": f"file {n} has {n} lines " * 6}}}
    return [
        Content("user", [{"text": f"Please read file number {n} and tell me about it."}]),
        Content("model", [{"text": "Reading."}, {"function_call": {"name": "read", "args": {"n": n}}}]),
        {"role": "user", "parts": [answer]},
        {"role": "model", "parts": [{"text": f"File {n} is a list of names."}]},
    ]


def sharegpt_turn(n: int) -> list[Any]:
    return [
        {"from": "human", "value": f"Please read file number {n} and tell me about it."},
        {"from": "function_call", "value": '{"name": "read"}'},
        {"from": "observation", "value": f"file {n} has {n} lines " * 6},
        {"from": "gpt", "value": f"File {n} is a list of names."},
    ]


def langchain_turn(n: int) -> list[Any]:
    call = {"id": f"c{n}", "name": "read", "args": {"n": n}}
    told = {"content": f"file {n} has {n} lines " * 6, "tool_call_id": f"c{n}"}
    return [
        ("human", f"Please read file number {n} and tell me about it."),
        SimpleNamespace(type="ai", content="", tool_calls=[call]),
        {"lc": 1, "type": "constructor", "id": ["langchain", "ToolMessage"], "kwargs": told},
        {"type": "ai", "data": {"content": f"File {n} is a list of names."}},
        {"role": "user", "content": "Thank you for the file."},
    ]


TURNS = {
    "anthropic": anthropic_turn,
    "openai": openai_turn,
    "ollama": ollama_turn,
    "responses": responses_turn,
    "gemini": gemini_turn,
    "sharegpt": sharegpt_turn,
    "langchain": langchain_turn,
}


@pytest.mark.parametrize("name", TURNS)
def test_calls_that_stay_have_their_results_and_the_assistants_words_are_read(
    memory: Nagori, name: str
) -> None:
    said = [message for n in range(40) for message in TURNS[name](n)]
    form = format_of(said)
    words = [message.text for message in form.read(said, len) if message.role == "assistant"]
    assert any("File 39" in text for text in words)
    done = memory.prune(said, budget=1500, strategy="sliding")
    sent = form.read(done.messages, len)
    calls = sorted(id for message in sent for id in message.calls)
    assert calls == sorted(id for message in sent for id in message.answers)
    assert done.was_pruned
    assert len(calls) > 2
    assert all(any(message is each for each in said) for message in done.messages[3:])


@pytest.mark.parametrize("name", TURNS)
def test_reading_on_gives_what_reading_all_gives(name: str) -> None:
    said = [message for n in range(4) for message in TURNS[name](n)]
    form = format_of(said)
    whole = form.read(said, len)
    assert all(form.read(said, len, start) == whole[start:] for start in range(len(said)))


@pytest.mark.parametrize("name", [name for name in TURNS if name != "sharegpt"])
def test_what_is_cut_is_a_copy_of_the_same_kind(name: str) -> None:
    form = format_of(TURNS[name](1))
    for original in TURNS[name](1):
        [whole] = form.read([original], len)
        short = form.cut(original, whole.fixed + 30, len)
        assert type(short) is type(original)
        [cut] = form.read([short], len)
        assert cut.tokens <= max(whole.fixed + 30, whole.fixed)


@pytest.mark.parametrize(
    ("like", "said"),
    [
        (("human", "hi"), ("human", "[…]")),
        ("hi", ("human", "[…]")),
        ({"role": "user", "content": "hi"}, {"role": "user", "content": "[…]"}),
        ({"type": "ai", "data": {}}, {"type": "human", "data": {"type": "human", "content": "[…]"}}),
        (
            {"lc": 1, "id": ["x", "AIMessage"], "kwargs": {}},
            {"lc": 1, "id": ["x", "HumanMessage"], "kwargs": {"type": "human", "content": "[…]"}},
        ),
    ],
)
def test_a_gap_in_langchains_list_is_told_as_the_message_beside_it(like: Any, said: Any) -> None:
    assert format_of((), "langchain").say("user", "[…]", like) == said


def test_gemini_tells_of_a_gap_in_its_own_objects() -> None:
    form, original = format_of((), "gemini"), Content("user", [{"text": "hi"}])
    assert plain(form.say("assistant", "[…]", original)) == {"role": "model", "parts": [{"text": "[…]"}]}
    assert [part.text for part in form.note(original, "[…]", after=True).parts] == ["hi", "[…]"]
    assert form.note({"parts": [{"text": "hi"}]}, "[…]", after=False) == {
        "parts": [{"text": "[…]"}, {"text": "hi"}]
    }


# --- what is not known is refused by name


TYPE, PART, FORMAT = "error.type_not_message", "error.unknown_message_part", "error.unknown_in_format"


def not_in(format: str, what: str) -> dict[str, Any]:
    return {"n": 0, "what": what, "format": format}


@pytest.mark.parametrize(
    ("messages", "format", "message_id", "values"),
    [
        ([object()], None, TYPE, {"type": "object"}),
        ([{"role": "user", "content": [{"toolUse": {}}]}], None, PART, {"names": "toolUse"}),
        ([{"role": "user", "content": [{}]}], None, "error.empty_message_part", {}),
        ([{"role": "user", "content": 7}], None, TYPE, {"type": "int"}),
        ([{"role": 7, "content": "hi"}], None, FORMAT, not_in("openai", "7")),
        ([{"content": "hi"}], "openai", FORMAT, not_in("openai", "{content}")),
        (
            [{"role": "user", "content": [{"type": "tool_use"}]}],
            "openai",
            FORMAT,
            not_in("openai", "'tool_use'"),
        ),
        (
            [{"role": "tool", "tool_call_id": "c", "content": "x"}],
            "anthropic",
            FORMAT,
            not_in("anthropic", "'tool'"),
        ),
        ([{"type": "novelty"}], "responses", FORMAT, not_in("responses", "'novelty'")),
        ([{"from": "narrator", "value": "x"}], None, FORMAT, not_in("sharegpt", "'narrator'")),
        ([{"role": "narrator", "parts": []}], None, FORMAT, not_in("gemini", "'narrator'")),
        (
            [SimpleNamespace(type="remove", content="")],
            "langchain",
            FORMAT,
            not_in("langchain", "SimpleNamespace"),
        ),
        ([("human", "a", "b")], None, FORMAT, not_in("langchain", "tuple")),
        ([{"role": "user"}], "pydantic_ai", FORMAT, not_in("pydantic_ai", "'user'")),
    ],
)
def test_what_is_not_known_is_refused_by_name(
    memory: Nagori, messages: list[Any], format: str | None, message_id: str, values: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.prune(messages, format=format)  # type: ignore[arg-type]
    assert refused.value.message_id == message_id
    assert {name: refused.value.values[name] for name in values} == values


# --- objects as data


@dataclass
class Point:
    x: int


def test_every_kind_of_object_becomes_data() -> None:
    given = Model(a=[Point(1)], b=Role.USER, c=b"\x00", d=SimpleNamespace(e=(1, 2.5)))
    assert plain(given) == {"a": [{"x": 1}], "b": "user", "c": "AA==", "d": {"e": [1, 2.5]}}
    assert plain(SimpleNamespace(to_dict=lambda: {"y": 1})) == {"y": 1}
    assert copy_with(Point(1), x=2) == Point(2)
    assert copy_with(SimpleNamespace(x=1), x=2) == SimpleNamespace(x=2)


def test_a_format_is_known_by_any_of_its_messages() -> None:
    assert detect_format(
        [{"role": "user", "content": "hi"}, {"role": "user", "content": [block("tool_result")]}]
    ) == ("anthropic")
    assert detect_format([{"role": "user", "content": "hi"}, ("human", "hi")]) == "langchain"
    assert detect_format([("human", "hi")], "langchain") == "langchain"
    assert detect_format([{"role": "user", "content": "hi"}]) == ""


# --- everything that is billed counts


def test_documents_count_by_their_words_and_pdfs_by_their_pages() -> None:
    text = {"type": "document", "source": {"type": "text", "data": "x" * 9000}, "title": "t"}
    parts = {
        "type": "document",
        "source": {"type": "content", "content": [{"type": "text", "text": "x" * 9000}]},
    }
    assert min(weigh([text], len).whole, weigh([parts], len).whole) > 9000
    pages = b"%PDF-1.7 " + b"/Type /Page\n" * 12 + b"/Type /Pages /Count 12"
    data = base64.b64encode(pages).decode()
    pdf = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}}
    assert weigh([pdf], len).whole == 12 * PAGE
    url = {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{data}"}}
    assert weigh([url], len).whole == 12 * PAGE
    packed = base64.b64encode(b"%PDF-1.7 " + b"x" * 30_000).decode()
    assert weigh([{"inline_data": {"mime_type": "application/pdf", "data": packed}}], len).whole >= 10 * PAGE
    assert weigh([{"type": "file", "file": {"file_id": "abc!"}}], len).whole == 1600


def test_citations_and_unknown_fields_count_by_their_json() -> None:
    cited = {"type": "text", "text": "so", "citations": [{"cited_text": "y" * 500}]}
    assert weigh([cited], len).whole > 500
    [message] = read({"role": "user", "content": "hi", "novelty": "y" * 500})
    assert message.tokens > 500
    [message] = read({"role": "user", "content": "hi", "images": ["a" * 9000]})
    assert 1600 < message.tokens < 2000


def test_a_result_of_many_parts_keeps_whole_ones_from_both_ends() -> None:
    parts = [{"type": "text", "text": f"row {n} of the table"} for n in range(300)]
    result = [{"type": "tool_result", "tool_use_id": "a", "content": parts}]
    [short] = shorten_content(result, 1000, len)
    texts = [part["text"] for part in short["content"]]
    assert texts[0] == "row 0 of the table"
    assert texts[-1] == "row 299 of the table"
    assert 20 < len(texts) < 60
    assert sum("parts left out" in text for text in texts) == 1
    assert sum(map(len, texts)) <= 1000
    tiny = shorten_content(parts, 60, len)
    assert sum(len(part["text"]) for part in tiny) <= 60
    assert shorten_content(parts, 10**6, len) == parts


# --- a whole request


def test_a_request_is_known_by_its_fields_and_what_stands_beside_the_messages_counts() -> None:
    body = body_of({"model": "m", "system": "Be kind.", "messages": [{"role": "user", "content": "hi"}]})
    assert body is not None
    assert body.messages == [{"role": "user", "content": "hi"}]
    assert body.beside(len) > len("Be kind.")
    assert body.with_messages([])["model"] == "m"
    bare = body_of({"contents": []})
    assert bare is not None
    assert bare.beside(len) == 0
    assert body_of({"role": "user", "content": "hi"}) is None
    assert body_of({"x": 1}) is None
    assert body_of([1]) is None
