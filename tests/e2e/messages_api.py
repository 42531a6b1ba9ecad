"""A stand-in for the Messages API on loopback, so that the real `claude` program can run without a network.

It answers from a script, one answer per question, and echoes when the script is over. Every question is kept:
what reached the model is what the tests are about. The same port serves as the program's proxy: whatever it
wants to say to anybody else arrives here as a stray and is refused.
"""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Text:
    """The model says something and its turn is over."""

    text: str
    context: int = 10  # tokens the model says it has read; many of them make the program compact


@dataclass(frozen=True)
class ToolUse:
    """The model wants a tool; the program runs it and asks again with the result."""

    name: str
    input: Json


@dataclass(frozen=True)
class Error:
    """The API refuses, as it does when a key is wrong or the service is overloaded."""

    status: int
    kind: str
    message: str = "scripted"


@dataclass(frozen=True)
class Hold:
    """No answer until the stub is closed: time to kill whoever waits for it."""


Reply = Text | ToolUse | Error | Hold


@dataclass(frozen=True)
class Question:
    """One POST /v1/messages, with the readings that tests ask for."""

    body: Json
    path: str = "/v1/messages"

    @property
    def messages(self) -> list[Json]:
        return list(self.body.get("messages", []))

    @property
    def system(self) -> str:
        return plain(self.body.get("system", ""))

    @property
    def tools(self) -> list[str]:
        return [tool.get("name", "") for tool in self.body.get("tools", [])]

    @property
    def session(self) -> str:
        """Which conversation asks; the program tells it in a string of JSON."""
        named = json.loads(self.body.get("metadata", {}).get("user_id") or "{}")
        return str(named.get("session_id", ""))

    @property
    def compacts(self) -> bool:
        """Whether the program, not the user, asks for a recap of the conversation."""
        said = self.said("user")
        return bool(said) and "<analysis> block followed by a <summary> block" in said[-1]

    def said(self, role: str) -> list[str]:
        """The text of every message of one role, oldest first."""
        return [plain(message["content"]) for message in self.messages if message["role"] == role]

    def everything(self) -> str:
        """All that the model can read in this question, for `in` and `not in`."""
        return "\n".join([self.system, *(plain(message["content"]) for message in self.messages)])

    def tool_results(self) -> list[str]:
        return [
            plain(part.get("content", ""))
            for message in self.messages
            if isinstance(message["content"], list)
            for part in message["content"]
            if part.get("type") == "tool_result"
        ]


Answer = str | Reply | Callable[[Question], str | Reply]


def plain(content: Any) -> str:
    """The readable text of a message's content, whichever of its three shapes it has."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return plain(content.get("text") or content.get("content") or "")
    return "\n".join(filter(None, map(plain, content)))


def echo(question: Question) -> str:
    """Repeat what the user said last: enough for tests in which the answer does not matter."""
    if question.compacts:
        return "<analysis>short</analysis>\n<summary>A recap of the talk.</summary>"
    said = question.said("user")
    return f"You said: {said[-1][-200:] if said else ''}"


@dataclass
class MessagesApi:
    """`with MessagesApi([...]) as stub:` — closed and joined when the block ends."""

    script: Sequence[Answer] = ()
    default: Answer = echo
    questions: list[Question] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._answers: Iterator[Answer] = iter(self.script)
        self._turn = threading.Lock()
        self._numbers = count(1)
        self.closing = threading.Event()
        self.asked = threading.Event()

    def __enter__(self) -> "MessagesApi":
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.stub = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, question: Question) -> Reply:
        """Keep the question and take the next line of the script; one at a time, as runs may be parallel."""
        with self._turn:
            self.questions.append(question)
            chosen = next(self._answers, self.default)
        self.asked.set()
        reply = chosen(question) if callable(chosen) else chosen
        return Text(reply) if isinstance(reply, str) else reply

    def number(self) -> int:
        with self._turn:
            return next(self._numbers)


class _Server(ThreadingHTTPServer):
    """Joins its handlers on closing, and keeps quiet when a killed client hangs up."""

    daemon_threads = False
    block_on_close = True
    stub: MessagesApi

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        if not self._stray():
            self._send(200, {})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_CONNECT(self) -> None:
        self._stray()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self._stray():
            return
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._send(200, {"input_tokens": len(body) // 4})
        elif path == "/v1/messages":
            self._reply(Question(json.loads(body), path))
        else:
            self._send(200, {})

    def _stray(self) -> bool:
        """Refuse what was meant for another host, and remember it for the test to complain about."""
        if self.command != "CONNECT" and not self.path.startswith("http"):
            return False
        self.server.stub.strays.append(f"{self.command} {self.path}")
        self._send(403, {})
        return True

    def _reply(self, question: Question) -> None:
        stub = self.server.stub
        reply = stub.answer(question)
        if isinstance(reply, Hold):
            stub.closing.wait(self.timeout)
            self.close_connection = True
        elif isinstance(reply, Error):
            self._send(
                reply.status, {"type": "error", "error": {"type": reply.kind, "message": reply.message}}
            )
        elif question.body.get("stream"):
            self._send_events(_events(_message(question, reply, stub.number())))
        else:
            self._send(200, _message(question, reply, stub.number()))

    def _send(self, status: int, value: Json) -> None:
        self._send_bytes(status, "application/json", json.dumps(value).encode())

    def _send_events(self, events: Sequence[Json]) -> None:
        lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send_bytes(200, "text/event-stream", "".join(lines).encode())

    def _send_bytes(self, status: int, kind: str, body: bytes) -> None:
        """Whole and then closed: no connection outlives its answer, so closing the stub never waits."""
        self.close_connection = True
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _message(question: Question, reply: Text | ToolUse, number: int) -> Json:
    """The API's answer as one object."""
    block: Json = {"type": "text", "text": reply.text} if isinstance(reply, Text) else _tool(reply, number)
    return {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": question.body.get("model", "stub"),
        "content": [block],
        "stop_reason": "end_turn" if isinstance(reply, Text) else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": getattr(reply, "context", 10), "output_tokens": 10},
    }


def _tool(reply: ToolUse, number: int) -> Json:
    return {"type": "tool_use", "id": f"toolu_{number:04}", "name": reply.name, "input": reply.input}


def _events(message: Json) -> list[Json]:
    """The same answer as the stream that the program asks for."""
    (block,) = message["content"]
    if block["type"] == "text":
        start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    return [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 10}},
        {"type": "message_stop"},
    ]
