"""The server in local mode: who gets in, what is answered, and in which shape."""

from __future__ import annotations

import pytest
from starlette.requests import Request
from starlette.routing import Route
from tests.http.calls import Caller

from nagori.app import Nagori
from nagori.core.model import Scope
from nagori.edges.http.access import LocalAccess
from nagori.edges.http.app import create_app, run_verb
from nagori.edges.http.replies import json_reply

TOKEN = "t" * 43


@pytest.fixture
def memory(tmp_path):
    with Nagori.open(tmp_path, embedder=None, llm=None) as opened:
        yield opened


@pytest.fixture
def call(memory):
    return Caller(create_app(memory, LocalAccess(TOKEN, Scope())), TOKEN)


def test_what_is_remembered_over_http_is_listed_shown_recalled_and_forgotten(call):
    made = call.post("/v1/memories", {"content": "The staging server moved to port 8443."})
    assert made.status == 201
    id = made.json["id"]
    assert [row["id"] for row in call.get("/v1/memories").json] == [id]
    assert call.get(f"/v1/memories/{id}").json["texts"]["1"]["content"].endswith("8443.")
    assert call.post("/v1/recall", {"query": "staging server port"}).json[0]["memory"]["id"] == id
    assert call.delete(f"/v1/memories/{id}").json["forgotten_at"]
    assert call.get("/v1/memories").json == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": "localhost:80:80"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"host": "localhost:8438", "origin": "http://localhost:3000"}, 403),
    ],
)
def test_a_foreign_page_or_a_caller_without_the_token_is_refused(call, headers, status):
    reply = call.get("/v1/memories", headers=headers)
    assert reply.status == status
    assert set(reply.json["error"]) == {"type", "id", "field", "values", "message"}


def test_errors_have_one_shape_and_the_callers_language(call):
    reply = call.get("/v1/memories/nothing", headers={"accept-language": "ja,en"})
    assert (reply.status, reply.json["error"]["id"]) == (404, "error.memory_not_found")
    assert reply.json["error"]["message"] != call.get("/v1/memories/nothing").json["error"]["message"]
    assert call.post("/v1/memories", {"content": 1}).json["error"]["id"] == "error.http_body"
    assert call.post("/v1/memories", {"content": "x", "unknown": 1}).status == 400
    assert call.get("/nowhere").json["error"]["id"] == "error.http_path"
    assert call.request("PUT", "/v1/memories").status == 405


def test_a_body_above_the_limit_is_refused(call):
    assert call.post("/v1/memories", {"content": "x" * 5_000_000}).status == 413


def test_routes_of_another_module_use_the_callers_memory(memory):
    async def count(request: Request):
        return json_reply({"n": len(await run_verb(request, lambda own: own.list()))})

    call = Caller(
        create_app(memory, LocalAccess(TOKEN, Scope()), routes=[Route("/page/count", count)]), TOKEN
    )
    memory.remember("One thing.")
    assert call.get("/page/count").json == {"n": 1}
    assert call.get("/page/count", headers={"authorization": ""}).status == 401
