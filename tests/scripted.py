"""A server of language models and embeddings on loopback that answers, or fails, as a script says.

    with Scripted(["503", "cut", "ok"], answer=lambda body: "a summary") as server:
        ...            # Anthropic: server.url; OpenAI and embeddings: server.base
    server.requests    # what reached it, in order

Every way of failing has a name in FAULTS. When the script is over the last line of it goes on; without a
script all is well. Two faults need no server: `elsewhere()` is a name nobody has, `closed_port()` a port
nobody listens at.
"""

# mypy: disable-error-code="dict-item"
# Because a fault that answers.

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
LONG = 10_000_000


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]  # names in lower case
    body: Json


def vector_of(text: str, dimension: int = 8) -> list[float]:
    """The same numbers for the same text, never zero, not normalised."""
    seed = sha256(text.encode()).digest()
    return [(seed[at % 32] - 127.5) / 64 for at in range(dimension)]


@dataclass
class Scripted:
    """`with Scripted([...]) as server:` — closed and joined when the block ends."""

    script: Sequence[str] = ()
    answer: Callable[[Json], str] = lambda body: "fine"
    embed: Callable[[str], list[float]] = vector_of
    retry_after: str = "1"
    said: str = "scripted"  # the server's message when it refuses
    requests: list[Request] = field(default_factory=list)
    batches: Batches | None = None  # where many questions can be handed over at once

    def __post_init__(self) -> None:
        unknown = set(self.script) - set(FAULTS)
        assert not unknown, f"no such fault: {unknown}"
        self._turn = threading.Lock()
        self.closing = threading.Event()

    def __enter__(self) -> Scripted:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.scripted = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
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

    @property
    def base(self) -> str:
        """What an OpenAI-compatible client is configured with."""
        return f"{self.url}/v1"

    def next(self, request: Request) -> str:
        with self._turn:
            line = self.script[min(len(self.requests), len(self.script) - 1)] if self.script else "ok"
            self.requests.append(request)
        return line

    def good(self, request: Request) -> Any:
        """The answer of the API whose path this is."""
        if self.batches is not None and self.batches.knows(request.path):
            return self.batches.answer(self, request)
        return APIS[request.path.partition("?")[0]](self, request.body)


@dataclass
class Batches:
    """Both providers' batches: questions are kept until `done`, and then answered one by one."""

    done: bool = False
    failed: frozenset[str] = frozenset()  # questions that come back without an answer
    questions: dict[str, Json] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)

    def knows(self, path: str) -> bool:
        return "/batches" in path or "/files" in path

    def answer(self, server: Scripted, request: Request) -> Any:
        path = request.path
        if path == "/v1/messages/batches":
            return self._take({r["custom_id"]: r["params"] for r in request.body["requests"]})
        if path.endswith("/results"):
            return self._lines(server, self._anthropic)
        if path == "/v1/files":
            self.files["file-in"] = request.body["raw"]
            return {"id": "file-in", "object": "file"}
        if path.endswith("/content"):
            return self._lines(server, self._openai)
        if path.startswith("/v1/files/"):
            self.deleted.append(path.rpartition("/")[2])
            return {"deleted": True}
        if path == "/v1/batches":
            raw = self.files[request.body["input_file_id"]].decode()
            lines = [json.loads(line) for line in raw.splitlines() if line.startswith("{")]
            return self._take({line["custom_id"]: line["body"] for line in lines})
        state = {"processing_status": "ended" if self.done else "in_progress"}
        files = {"output_file_id": "file-out", "input_file_id": "file-in"} if self.done else {}
        return {"id": "batch_1", "status": "completed" if self.done else "in_progress", **state, **files}

    def _take(self, questions: dict[str, Json]) -> Json:
        self.questions, self.done = questions, False
        return {"id": "batch_1", "status": "validating", "processing_status": "in_progress"}

    def _lines(self, server: Scripted, line: Callable[[Scripted, str, Json], Json]) -> bytes:
        lines = [json.dumps(line(server, name, body)) for name, body in self.questions.items()]
        return ("\n".join(reversed(lines)) + "\n").encode()

    def _anthropic(self, server: Scripted, name: str, body: Json) -> Json:
        if name in self.failed:
            return {"custom_id": name, "result": {"type": "errored", "error": {"type": "api_error"}}}
        return {"custom_id": name, "result": {"type": "succeeded", "message": _message(server, body)}}

    def _openai(self, server: Scripted, name: str, body: Json) -> Json:
        if name in self.failed:
            return {"custom_id": name, "response": None, "error": {"code": "batch_expired"}}
        response = {"status_code": 200, "body": _completion(server, body)}
        return {"custom_id": name, "response": response, "error": None}


def elsewhere(path: str = "/v1/messages") -> str:
    return f"https://nobody.invalid{path}"


def closed_port() -> str:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{sock.getsockname()[1]}"


# ── the three APIs ───────────────────────────────────────────────────────────────────────────────


def _message(server: Scripted, body: Json, stop: str = "end_turn") -> Json:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", ""),
        "content": [{"type": "text", "text": server.answer(body)}],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "output_tokens": 5},
    }


def _completion(server: Scripted, body: Json, stop: str = "stop") -> Json:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": body.get("model", ""),
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": server.answer(body)},
                "finish_reason": stop,
            }
        ],
        "usage": {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17},
    }


def _embeddings(server: Scripted, body: Json) -> Json:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    rows = [
        {"object": "embedding", "index": at, "embedding": server.embed(text)} for at, text in enumerate(texts)
    ]
    return {
        "object": "list",
        "data": rows,
        "model": body.get("model", ""),
        "usage": {"prompt_tokens": 3, "total_tokens": 3},
    }


APIS: dict[str, Callable[[Scripted, Json], Json]] = {
    "/v1/messages": _message,
    "/v1/chat/completions": _completion,
    "/v1/embeddings": _embeddings,
}


# ── faults: each is given the handler and the request ────────────────────────────────────────────


def _ok(on: _Handler, request: Request) -> None:
    good = on.scripted.good(request)
    if isinstance(good, bytes):
        on.send_bytes(200, good)
    else:
        on.send(200, good)


def _status(status: int, kind: str, *, ask: bool = False) -> Fault:
    def fault(on: _Handler, request: Request) -> None:
        asked = {"retry-after": on.scripted.retry_after} if ask else {}
        on.send(
            status, {"type": "error", "error": {"type": kind, "message": on.scripted.said}}, headers=asked
        )

    return fault


def _hang(on: _Handler, request: Request) -> None:
    on.scripted.closing.wait(60)


def _slow(on: _Handler, request: Request) -> None:
    """The whole of a good answer's head, and then its body as slowly as can be."""
    on.begin(200, 1000)
    while not on.scripted.closing.wait(0.05):
        on.wfile.write(b" ")


def _cut(on: _Handler, request: Request) -> None:
    whole = json.dumps(on.scripted.good(request)).encode()
    on.begin(200, len(whole))
    on.wfile.write(whole[: len(whole) // 2])


def _reset(on: _Handler, request: Request) -> None:
    on.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    on.connection.close()


def _long(on: _Handler, request: Request) -> None:
    on.begin(200, LONG)
    on.pour(LONG)


def _endless(on: _Handler, request: Request) -> None:
    """Longer than any limit, and not saying how long."""
    on.begin(200, None)
    while not on.scripted.closing.is_set():
        on.pour(65536)


def _bytes(raw: bytes) -> Fault:
    return lambda on, request: on.send_bytes(200, raw)


def _changed(change: Callable[[Json], Any]) -> Fault:
    """A good answer with something wrong in it."""

    def fault(on: _Handler, request: Request) -> None:
        value = on.scripted.good(request)
        change(value)
        on.send(200, value)

    return fault


def _stopped(anthropic: str, openai: str) -> Callable[[Json], None]:
    def change(value: Json) -> None:
        if "choices" in value:
            value["choices"][0]["finish_reason"] = openai
        else:
            value["stop_reason"] = anthropic

    return change


def _said_nothing(value: Json) -> None:
    if "choices" in value:
        value["choices"][0]["message"]["content"] = ""
    else:
        value["content"] = [{"type": "text", "text": ""}]


def _each_vector(change: Callable[[list[Any]], list[Any]]) -> Callable[[Json], None]:
    def all_of(value: Json) -> None:
        for row in value["data"]:
            row["embedding"] = change(row["embedding"])

    return all_of


def _redirect(on: _Handler, request: Request) -> None:
    on.send(307, {}, headers={"location": f"{on.scripted.url}/elsewhere"})


Fault = Callable[["_Handler", Request], None]
FAULTS: dict[str, Fault] = {
    "ok": _ok,
    "hang": _hang,
    "slow": _slow,
    "cut": _cut,
    "reset": _reset,
    "429": _status(429, "rate_limit_error"),
    "429 wait": _status(429, "rate_limit_error", ask=True),
    "500": _status(500, "api_error"),
    "502": _status(502, "api_error"),
    "503": _status(503, "api_error"),
    "503 wait": _status(503, "api_error", ask=True),
    "504": _status(504, "timeout_error"),
    "529": _status(529, "overloaded_error"),
    "400": _status(400, "invalid_request_error"),
    "401": _status(401, "authentication_error"),
    "403": _status(403, "permission_error"),
    "404": _status(404, "not_found_error"),
    "413": _status(413, "request_too_large"),
    "422": _status(422, "unprocessable"),
    "redirect": _redirect,
    "garbage": _bytes(b"<html>\x00 not what you asked for"),
    "not http": lambda on, request: on.wfile.write(b"\x15\x03\x01 hello\r\n\r\n") and None,
    "empty body": _bytes(b""),
    "list": _bytes(b"[1, 2]"),
    "deep": _bytes(b"[" * 200_000),
    "wrong schema": _bytes(b'{"result": {"ok": true}}'),
    "empty answer": _changed(_said_nothing),
    "refusal": _changed(_stopped("refusal", "content_filter")),
    "truncated": _changed(_stopped("max_tokens", "length")),
    "wrong model": _changed(lambda value: value.update(model="another-model")),
    "10 MB": _long,
    "endless": _endless,
    "wrong dimension": _changed(_each_vector(lambda vector: vector[:-1])),
    "nan vector": _changed(_each_vector(lambda vector: [float("nan"), *vector[1:]])),
    "null vector": _changed(_each_vector(lambda vector: [None, *vector[1:]])),
    "zero vector": _changed(_each_vector(lambda vector: [0.0] * len(vector))),
    "huge vector": _changed(_each_vector(lambda vector: [1e300] * len(vector))),
    "fewer vectors": _changed(lambda value: value["data"].pop()),
    "shuffled vectors": _changed(lambda value: value["data"].reverse()),
    "same index": _changed(lambda value: [row.update(index=0) for row in value["data"]]),
}


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    scripted: Scripted

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in the middle is what many of these are about."""


class _Handler(BaseHTTPRequestHandler):
    timeout = 60
    server: _Server

    @property
    def scripted(self) -> Scripted:
        return self.server.scripted

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        is_json = raw and headers.get("content-type") == "application/json"
        body = json.loads(raw) if is_json else {"raw": raw}
        request = Request(self.path, headers, body)
        FAULTS[self.scripted.next(request)](self, request)

    def do_GET(self) -> None:
        self.do_POST()

    def do_DELETE(self) -> None:
        self.do_POST()

    def send(self, status: int, value: Json, headers: dict[str, str] | None = None) -> None:
        self.send_bytes(status, json.dumps(value).encode(), headers)

    def send_bytes(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.begin(status, len(body), headers)
        self.wfile.write(body)

    def begin(self, status: int, length: int | None, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        if length is not None:
            self.send_header("content-length", str(length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()

    def pour(self, length: int) -> None:
        self.wfile.write(b" " * length)
