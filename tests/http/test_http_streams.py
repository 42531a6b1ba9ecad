"""Streams, health, metrics, logs and the OpenAPI document of a server."""

from __future__ import annotations

import http.client
import json
import threading

import pytest
from tests.http.calls import Caller
from tests.http.served import ServedMemory

from nagori.app import Nagori
from nagori.core.model import Scope
from nagori.edges.http.access import LocalAccess
from nagori.edges.http.app import create_app
from nagori.edges.http.limits import Limits
from nagori.edges.http.operations import OPERATIONS

TOKEN = "t" * 43


@pytest.fixture
def memory(tmp_path):
    with Nagori.open(tmp_path, embedder=None, llm=None) as opened:
        yield opened


@pytest.fixture
def lines():
    return []


@pytest.fixture
def call(memory, lines):
    app = create_app(memory, LocalAccess(TOKEN, Scope()), metrics_token=TOKEN, log=lines.append)
    return Caller(app, TOKEN)


def test_a_log_line_has_no_words_of_a_memory_and_no_name_of_a_user(call, lines):
    call.post("/v1/memories", {"content": "Confidential words."}, headers={"nagori-user": "somebody"})
    call.post("/v1/recall", {"query": "confidential"}, headers={"nagori-user": "somebody"})
    call.get("/v1/memories/confidential-words?forgotten=true")
    told = json.dumps(lines)
    assert "onfidential" not in told
    assert "somebody" not in told
    assert [line["status"] for line in lines] == [201, 200, 404]
    assert lines[0]["route"] == "/v1/memories"
    assert lines[0]["key"] == "local"


def test_a_bug_is_answered_without_its_message_and_logged_by_its_place(memory, lines, monkeypatch):
    monkeypatch.setattr(Nagori, "list", lambda *_, **__: 1 / 0)
    call = Caller(create_app(memory, LocalAccess(TOKEN, Scope()), log=lines.append), TOKEN)
    reply = call.get("/v1/memories")
    assert (reply.status, reply.json["error"]["id"]) == (500, "error.http_bug")
    assert lines[0]["error"] == "ZeroDivisionError"
    assert "test_http_streams.py" in lines[0]["where"]


def test_a_request_that_takes_too_long_is_answered(memory, monkeypatch):
    ready = threading.Event()
    monkeypatch.setattr(Nagori, "list", lambda *_, **__: ready.wait(20) and [])
    app = create_app(memory, LocalAccess(TOKEN, Scope()), limits=Limits(seconds=0.2))
    try:
        reply = Caller(app, TOKEN).get("/v1/memories")
    finally:
        ready.set()
    assert (reply.status, reply.json["error"]["id"]) == (503, "error.http_timeout")


def test_metrics_count_requests_and_need_the_token(call):
    call.post("/v1/memories", {"content": "A thing."})
    call.get("/nowhere")
    assert call.get("/metrics", headers={"authorization": ""}).status == 401
    text = call.get("/metrics").body.decode()
    assert 'nagori_http_requests_total{method="POST",route="/v1/memories",status="201"} 1' in text
    assert 'nagori_http_request_seconds_bucket{le="+Inf"} 3' in text


def test_health_and_readiness_need_no_token(call):
    anybody = {"authorization": ""}
    assert call.get("/health", headers=anybody).json == {"status": "ok"}
    assert call.get("/ready", headers=anybody).json == {"status": "ready"}


def test_a_server_whose_store_is_gone_is_alive_but_not_ready(call, memory, monkeypatch):
    from nagori.errors import StoreError

    def fail(*_: object) -> None:
        raise StoreError("error.store_changing")

    monkeypatch.setattr(memory.runtime.store, "applied", fail)
    assert call.get("/health").status == 200
    assert call.get("/ready").status == 503


def test_the_document_describes_every_route(call):
    document = call.get("/openapi.json", headers={"authorization": ""}).json
    assert document["openapi"] == "3.1.0"
    told = {(method, path) for path, methods in document["paths"].items() for method in methods}
    assert told == {(each.method.lower(), each.path) for each in OPERATIONS}
    names = set(document["components"]["schemas"])
    used = {part.split('"')[0] for part in json.dumps(document).split("#/components/schemas/")[1:]}
    assert used <= names


def test_events_are_told_as_they_happen_and_go_on_where_they_stopped(tmp_path):
    with ServedMemory(tmp_path / "memory") as server:
        client = server.client()
        client.remember("Before.")
        first = _listen(server, {}, lambda: client.remember("Confidential words."), 1)
        assert first[0]["type"] == "formed"
        assert client.show(first[0]["memories"][0]).text.content == "Confidential words."
        assert "Confidential" not in json.dumps(first)
        again = _listen(server, {"last-event-id": "0"}, lambda: None, 2)
        assert [event["seq"] for event in again] == sorted(event["seq"] for event in again)
        assert again[-1] == first[0]


def _listen(server, headers, act, count):
    """The next events of a stream."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", "/v1/events", headers={"authorization": f"Bearer {server.token}", **headers})
    response = connection.getresponse()
    assert response.headers["content-type"].startswith("text/event-stream")
    response.readline()  # a sign of life: from now on nothing is missed
    act()
    told: list[dict[str, object]] = []
    while len(told) < count:
        line = response.readline()
        if line.startswith(b"data: "):
            told.append(json.loads(line[6:]))
    response.close()
    connection.close()
    return told
