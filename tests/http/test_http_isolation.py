"""Tenants are apart: no answer, count, error or log of one shows anything of another.

NAGORI_TEST_TENANTS, NAGORI_TEST_CANARIES and NAGORI_TEST_CALLS give the full counts (50, 200 and 100,000).
"""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest
from tests.http.calls import Caller

from nagori.app import Nagori
from nagori.edges.http.access import Grant
from nagori.edges.http.app import create_app
from nagori.edges.http.keys import KeyAccess, KeyTable
from nagori.edges.http.limits import Limits
from nagori.edges.http.mem0 import mem0_routes

TENANTS = int(os.environ.get("NAGORI_TEST_TENANTS", "6"))
CANARIES = int(os.environ.get("NAGORI_TEST_CANARIES", "10"))
CALLS = int(os.environ.get("NAGORI_TEST_CALLS", "1500"))


def canary(tenant: int, n: int) -> str:
    return f"canary{tenant:03d}x{n:03d}z"


class Isolation:
    """Many tenants in one folder, each with a key, a user of the same name and canaries of its own."""

    def __init__(self, memory: Nagori) -> None:
        self.lines: list[str] = []
        keys = KeyTable(memory)
        self.secrets = [
            keys.add(f"key {n}", Grant("", f"tenant{n}", "taro" if n % 2 else None))[0]
            for n in range(TENANTS)
        ]
        self.ids: list[list[str]] = []
        for n in range(TENANTS):
            own = memory.with_scope(tenant=f"tenant{n}", user="taro")
            made = own.remember_many(f"The code word is {canary(n, m)}." for m in range(CANARIES))
            own.turn(f"My session is about {canary(n, 0)}.", session=f"session{n}")
            own.items.put(("rows",), canary(n, 0), {"value": canary(n, 1)})
            self.ids.append([each.id for each in made])
        self.app = create_app(
            memory,
            KeyAccess(keys),
            routes=mem0_routes(),
            limits=Limits(per_minute=10**7),
            log=lambda line: self.lines.append(json.dumps(line)),
        )

    def ask(self, tenant: int, method: str, path: str, body: Any, headers: dict[str, str]) -> str:
        reply = Caller(self.app, self.secrets[tenant]).request(method, path, body, headers)
        assert reply.status < 500 or reply.status == 501, (method, path, body, reply.body)
        return f"{reply.headers}{reply.body.decode()}"


def is_told(word: str, answer: str, asked: str) -> bool:
    """Whether an answer says more of a canary than the question did."""
    return word in answer and (
        word not in asked or any(f"{said} {word}" in answer for said in ("is", "about"))
    )


def hostile_call(drawn: random.Random, world: Isolation, tenant: int) -> tuple[str, str, Any, dict[str, str]]:
    """A request of one tenant that reaches for another."""
    other = drawn.choice([n for n in range(TENANTS) if n != tenant])
    id, word = drawn.choice(world.ids[other]), canary(other, drawn.randrange(CANARIES))
    name = drawn.choice(
        [f"tenant{other}", "taro", "../taro", f"tenant{other}/taro", "taro' OR 1=1 --", "*", "%"]
    )
    headers = {"nagori-user": drawn.choice(["taro", "taro", name.replace(" ", "%20")])}
    if drawn.random() < 0.2:
        headers[drawn.choice(["nagori-tenant", "x-tenant", "nagori-project", "nagori-agent"])] = (
            f"tenant{other}"
        )
    text = drawn.choice(
        [word, f'" OR "{word}', f"{word}*", f"tenant:{other} {word}", "code word", "\x00" + word]
    )
    paths: list[tuple[str, str, Any]] = [
        ("GET", f"/v1/memories/{id}", None),
        ("GET", f"/v1/memories/{id}/why?query={word}", None),
        ("GET", f"/v1/memories/{id}/related", None),
        ("GET", f"/v1/memories?prefix={id[:6]}&limit=1000", None),
        ("GET", f"/v1/log?id={id}", None),
        ("GET", "/v1/log?limit=1000", None),
        ("GET", "/v1/export", None),
        ("GET", "/v1/status", None),
        ("GET", "/v1/populations", None),
        ("GET", f"/v1/items?prefix=rows&limit={drawn.randrange(1, 9)}", None),
        ("GET", f"/v1/summary?session=session{other}", None),
        ("GET", f"/v1/as-of?moment=2030-01-01T00:00:00Z&session=session{other}", None),
        ("DELETE", f"/v1/memories/{id}", None),
        ("PATCH", f"/v1/memories/{id}", {"content": "mine now"}),
        ("POST", f"/v1/memories/{id}/protect", {}),
        ("POST", f"/v1/memories/{id}/undo", {}),
        ("POST", f"/v1/memories/{id}/links", {"other": drawn.choice(world.ids[other])}),
        ("POST", "/v1/recall", {"query": text, "min_confidence": 0.0, "k": 100, "mark": False}),
        (
            "POST",
            "/v1/recall",
            {"query": text, "filter": {"archived": True, "forgotten": True}, "mark": False},
        ),
        ("POST", "/v1/context", {"prompt": text, "session": f"session{other}", "mark": False}),
        ("POST", "/v1/session-start", {"session": f"session{other}", "mark": False}),
        ("POST", "/v1/erasures/plan", {"kind": "memory", "name": id}),
        ("POST", "/v1/erasures/plan", {"kind": "session", "name": f"session{other}"}),
        ("POST", "/v3/memories/search/", {"query": text, "filters": {"user_id": name}}),
        (
            "POST",
            "/v3/memories/search/",
            {"query": text, "filters": {"OR": [{"user_id": "taro"}, {"user_id": "*"}]}},
        ),
        ("POST", "/v3/memories/", {"filters": {"user_id": "*"}}),
        ("POST", "/v3/memories/", {"filters": {"memory": {"icontains": word}}}),
        ("GET", "/v1/entities/", None),
    ]
    method, path, body = drawn.choice(paths)
    return method, path, body, headers


@pytest.mark.skipif(TENANTS < 2, reason="isolation needs two tenants")
def test_no_foreign_canary_is_in_any_answer_or_log(tmp_path):
    drawn = random.Random(7)
    with Nagori.open(tmp_path, embedder=None, llm=None) as memory:
        world = Isolation(memory)
        digests = [
            memory.with_scope(tenant=f"tenant{n}", user="taro").list(limit=1000) for n in range(TENANTS)
        ]
        foreign = [[f"canary{n:03d}" for n in range(TENANTS) if n != tenant] for tenant in range(TENANTS)]
        for _ in range(CALLS):
            tenant = drawn.randrange(TENANTS)
            method, path, body, headers = hostile_call(drawn, world, tenant)
            answer = world.ask(tenant, method, path, body, headers)
            asked = f"{path}{json.dumps(body)}"
            leaks = [word for word in foreign[tenant] if is_told(word, answer, asked)]
            assert leaks == [], (method, path, body, headers)
        after = [memory.with_scope(tenant=f"tenant{n}", user="taro").list(limit=1000) for n in range(TENANTS)]
        assert [[m.text for m in own] for own in after] == [[m.text for m in own] for own in digests]
        assert not any("canary" in line for line in world.lines)
        assert len(world.lines) == CALLS
