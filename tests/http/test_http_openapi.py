"""The server does what its OpenAPI document says, and nothing that is sent to it makes a server error."""

from __future__ import annotations

import re

import pytest
from tests.http import fuzz
from tests.http.calls import Caller
from tests.http.served import ServedMemory
from tests.postgres import Server

from nagori.app import Nagori
from nagori.core.model import Scope
from nagori.edges.http.access import LocalAccess
from nagori.edges.http.app import create_app
from nagori.edges.http.mem0 import mem0_routes
from nagori.edges.http.operations import OPERATIONS
from nagori.edges.http.request_structs import HIDDEN
from nagori.language.redaction import fit_to_keep

TOKEN = "Zq3-" * 11
NUL = "a\0b"


@pytest.mark.skipif(not fuzz.PROGRAM.exists(), reason="schemathesis is not installed; make test-openapi")
def test_generated_requests_to_some_operations_are_answered_as_the_document_says(tmp_path):
    with ServedMemory(tmp_path / "memory", "--mem0", env=fuzz.UNLIMITED) as server:
        report = fuzz.run(server, 3, ["--include-path-regex", "/v1/(lessons|policy/back|tools)$"])
    assert report.is_clean, report.said[-4000:]
    assert report.tested == 3
    assert report.cases > 20


def test_a_wrong_method_is_refused_as_such_also_beside_the_routes_of_mem0(tmp_path):
    with Nagori.open(tmp_path, embedder=None, llm=None) as memory:
        app = create_app(memory, LocalAccess(TOKEN, Scope()), routes=mem0_routes())
        paths = {each.path for each in OPERATIONS} - {"/v1/memories/batch"}  # to GET it is the id of a memory
        for path in paths:
            known = {each.method for each in OPERATIONS if each.path == path}
            for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - known:
                reply = Caller(app, TOKEN).request(method, path.replace("{id}", "mem_x"), {})
                assert reply.status == 405, (method, path)
                assert set(reply.headers["allow"].split(", ")) - {"HEAD"} == known
        assert Caller(app, TOKEN).get("/v1/organizations/").status == 501


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_nul_character_is_refused_with_a_sentence_and_is_no_fault_of_the_database(
    postgres: Server, tmp_path, store
):
    address = postgres.url(store=store, folder=str(tmp_path))
    with Nagori.open(address, embedder=None, llm=None) as memory:
        call = Caller(create_app(memory, LocalAccess(TOKEN, Scope()), routes=mem0_routes()), TOKEN)
        said = [
            *(("POST", "/v1/memories", {"content": "x", **more}) for more in ({"keywords": [NUL]},)),
            ("POST", "/v1/memories", {"content": "x", "source": {"session": NUL}}),
            ("POST", "/v1/turns", {"text": "x", "session": NUL}),
            ("POST", "/v1/tools", {"session": "s", "results": [{"tool": NUL, "target": "x", "ok": True}]}),
            ("POST", "/v1/recall", {"query": "x", "filter": {"session": NUL}}),
            ("PUT", "/v1/items", {"namespace": [NUL], "key": "k", "value": 1}),
            ("GET", "/v1/memories/a%00b", None),
            ("GET", "/v1/summary?session=a%00b", None),
        ]
        for method, path, body in said:
            assert call.request(method, path, body).status == 400, (method, path, body)
        assert call.get("/v1/memories/a%00b/", headers={"nagori-user": "taro"}).status in (400, 404)
        assert call.post("/v1/memories", {"content": NUL}).status == 201
        assert call.post("/v1/recall", {"query": NUL}).status == 200


def test_words_that_cleaning_would_remove_are_no_words():
    pattern = re.compile(f"[^{HIDDEN}]")
    for code in (*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE1100)):
        assert bool(fit_to_keep(chr(code))) == bool(pattern.search(chr(code))), hex(code)
