"""The stub itself: it must speak as the API does, and leave nothing running."""

import json
import threading
from http.client import HTTPConnection, HTTPResponse

import pytest

from .messages_api import Error, MessagesApi, Text, ToolUse

ASK = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def call(stub: MessagesApi, method: str, path: str, body: object = None) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection(*stub.url.removeprefix("http://").split(":"))  # type: ignore[arg-type]
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None)
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def test_a_plain_question_gets_one_object(stub: MessagesApi) -> None:
    _, body = call(stub, "POST", "/v1/messages?beta=true", ASK)
    assert json.loads(body)["content"] == [{"type": "text", "text": "You said: hello"}]
    assert stub.questions[0].said("user") == ["hello"]


def test_a_streaming_question_gets_events() -> None:
    with MessagesApi([ToolUse("Bash", {"command": "ls"})]) as stub:
        answer, body = call(stub, "POST", "/v1/messages", {**ASK, "stream": True})
    events = [json.loads(line.removeprefix(b"data: ")) for line in body.splitlines() if b"data: " in line]
    assert answer.getheader("content-type") == "text/event-stream"
    assert [event["type"] for event in events] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert json.loads(events[2]["delta"]["partial_json"]) == {"command": "ls"}


def test_the_script_is_followed_and_then_the_default() -> None:
    with MessagesApi(["one", lambda q: f"{len(q.messages)} read", Error(529, "overloaded_error")]) as stub:
        stub.default = Text("over")
        answers = [call(stub, "POST", "/v1/messages", ASK) for _ in range(4)]
    assert [answer.status for answer, _ in answers] == [200, 200, 529, 200]
    assert [text in body for text, (_, body) in zip([b"one", b"1 read"], answers[:2], strict=True)]
    assert json.loads(answers[2][1])["error"]["type"] == "overloaded_error"
    assert b"over" in answers[3][1]


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("HEAD", "/"), ("POST", "/v1/anything")])
def test_everything_else_is_answered_with_nothing(stub: MessagesApi, method: str, path: str) -> None:
    answer, body = call(stub, method, path, {} if method == "POST" else None)
    assert (answer.status, body) == (200, b"" if method == "HEAD" else b"{}")
    assert stub.questions == []


def test_tokens_are_counted(stub: MessagesApi) -> None:
    assert json.loads(call(stub, "POST", "/v1/messages/count_tokens", ASK)[1])["input_tokens"] > 0


def test_words_for_another_host_are_refused_and_remembered() -> None:
    with MessagesApi() as stub:
        assert call(stub, "GET", "http://example.com/")[0].status == 403
        assert call(stub, "CONNECT", "example.com:443")[0].status == 403
    assert stub.strays == ["GET http://example.com/", "CONNECT example.com:443"]


def test_no_thread_is_left() -> None:
    before = threading.enumerate()
    with MessagesApi() as stub:
        call(stub, "POST", "/v1/messages", ASK)
    assert threading.enumerate() == before
