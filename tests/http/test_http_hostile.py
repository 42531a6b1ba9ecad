"""Hostile requests to a local server: Host, Origin, token, traversal, broken HTTP. None gets in.

NAGORI_TEST_HOSTILE is the number of requests (2,000 by default).
"""

from __future__ import annotations

import os
import random
import socket

import pytest
from tests.http.calls import Caller
from tests.http.served import ServedMemory

from nagori.app import Nagori
from nagori.core.model import Scope
from nagori.edges.http.access import LocalAccess, host_name
from nagori.edges.http.app import create_app
from nagori.edges.http.mem0 import mem0_routes
from nagori.edges.http.operations import OPERATIONS

TOKEN = "Zq3-" * 11
REQUESTS = int(os.environ.get("NAGORI_TEST_HOSTILE", "2000"))
HOSTS = (
    *("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example:8438", "", "0.0.0.0"),
    *("127.0.0.1@evil.example", "evil.example#127.0.0.1", "[::1]evil", "[::1].evil:80", "localhost:80:80"),
    *(
        "127.1",
        "2130706433",
        "0x7f.1",
        "LOCALHOST.",
        "127.0.0.1:",
        "localhost:port",
        "[::1",
        "::1",
        "localhost\t",
    ),
)
ORIGINS = (
    *(
        "http://evil.example",
        "null",
        "https://127.0.0.1:8438",
        "http://127.0.0.1:9999",
        "http://localhost:8438",
    ),
    *(
        "file://",
        "http://127.0.0.1:8438.evil.example",
        "http://127.0.0.1:8438@evil.example",
        "chrome-extension://x",
    ),
)
TOKENS = (
    *(
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN}x",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer null",
    ),
    *(f"Bearer {TOKEN.lower()}", f"Bearer {TOKEN} {TOKEN}", f"Bearer,{TOKEN}", "Bearer \u00e9"),
)
PATHS = (
    *(operation.path.replace("{id}", "mem_x") for operation in OPERATIONS),
    *("/v1/export", "/v1/events", "/metrics", "/v1/../v1/memories", "/v1/%2e%2e/metrics", "//v1/memories"),
    *(
        "/v1/memories/..%2f..%2fetc%2fpasswd",
        "/v1/ping/",
        "/v3/memories/",
        "/v1/entities/",
        "/../../etc/passwd",
    ),
    *(
        "/v1/memories/mem_x/why?query=a&token=x",
        "/v1/memories;jsessionid=1",
        "/V1/memories",
        "/v1/memories%00",
    ),
)


@pytest.fixture
def app(tmp_path):
    with Nagori.open(tmp_path, embedder=None, llm=None) as memory:
        memory.remember("The canary of this machine.")
        access = LocalAccess(TOKEN, Scope())
        yield create_app(memory, access, routes=mem0_routes(), metrics_token=TOKEN)


def test_no_hostile_request_is_accepted(app):
    drawn, accepted, seen = random.Random(3), [], set()
    for _ in range(REQUESTS):
        method = drawn.choice(
            ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT"]
        )
        path = drawn.choice(PATHS)
        headers = {
            "content-type": drawn.choice(
                ["application/json", "text/plain", "application/x-www-form-urlencoded"]
            )
        }
        trick = drawn.choice(["host", "origin", "token", "site", "all"])
        if trick in ("host", "all"):
            headers["host"] = drawn.choice(HOSTS)
        if trick in ("origin", "all"):
            headers["origin"] = drawn.choice(ORIGINS)
        if trick in ("token", "all"):
            headers["authorization"] = drawn.choice(TOKENS)
        if trick == "site":
            headers["sec-fetch-site"] = drawn.choice(["cross-site", "same-site"])
        body = drawn.choice(
            [None, {}, {"query": "canary"}, {"content": "x"}, b"\xff\xfe", b"[" * 1000, b'{"a":']
        )
        reply = Caller(app, TOKEN).request(method, path, body, headers)
        seen.add(reply.status)
        if reply.status < 400 or b"canary of" in reply.body:
            accepted.append((method, path, headers, reply.status))
        assert reply.status < 500 or reply.status == 501, (method, path, headers, reply.body)
    assert accepted == []
    assert {401, 403} <= seen


def test_the_same_requests_get_in_with_the_right_words(app):
    call = Caller(app, TOKEN)
    assert call.get("/v1/memories").status == 200
    for origin in ("http://127.0.0.1:8438",):
        assert call.get("/v1/memories", headers={"origin": origin}).status == 200
    assert call.get("/v1/memories", headers={"host": "[::1]:8438"}).status == 200
    assert call.get("/metrics").status == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:80", "localhost:8438", "[::1]", "[::1]:8438"])
def test_names_of_this_machine(host):
    assert host_name(host) in ("127.0.0.1", "localhost", "::1")


BROKEN = (
    b"GET /v1/memories HTTP/1.1\r\n\r\n",
    b"GET /v1/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
    b"POST /v1/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /v1/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\nhello",
    b"POST /v1/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n",
    b"GET http://evil.example/v1/memories HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET /v1/memories HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 50,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET /v1/memories HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + b"\xff" * 64 + b"\r\n\r\n",
)


def test_broken_http_harms_no_server(tmp_path):
    with ServedMemory(tmp_path / "memory") as server:
        server.client().remember("The canary of this machine.")
        for raw in BROKEN:
            with socket.create_connection(("127.0.0.1", server.port), timeout=10) as wire:
                answer = b""
                try:
                    wire.sendall(raw)
                    wire.shutdown(socket.SHUT_WR)
                    while piece := wire.recv(65536):
                        answer += piece
                except OSError:
                    pass
                assert b" 200 " not in answer.partition(b"\r\n")[0]
                assert b"canary" not in answer
        assert len(server.client().list()) == 1
        assert "canary" not in server.log.read_text(encoding="utf-8", errors="replace")
