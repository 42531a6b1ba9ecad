"""Random bodies to every route, ours and mem0's, with the key of one user: no crash, nothing of another."""

from __future__ import annotations

import json
import random
import string
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.http.calls import Caller

from nagori.app import Nagori
from nagori.edges.http.access import Grant
from nagori.edges.http.app import create_app
from nagori.edges.http.keys import KeyAccess, KeyTable
from nagori.edges.http.limits import Limits
from nagori.edges.http.mem0 import TABLE, mem0_routes
from nagori.edges.http.mem0_rows import row_of
from nagori.edges.http.operations import OPERATIONS

THEIRS = "The vault code of somebody else is under the piano."
MINE = "The staging server of project Zebra listens on port 8443."
# What ends the memory, or makes the machine work for minutes, is tested elsewhere.
LEFT_OUT = {"erase", "cycle", "process", "rebuild", "reembed", "backup", "verify", "compact", "form"}
ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**63, 1e308, "", "\0", "'; DROP TABLE memory; --", "%_*", "😀" * 40, "x" * 5000),
    *("*", "hanako", "vault code piano", "2026-01-01", "../hanako", [], {}, [[]], {"$gt": ""}),
)
FIELDS = (
    *(
        "messages",
        "user_id",
        "agent_id",
        "app_id",
        "run_id",
        "filters",
        "query",
        "text",
        "metadata",
        "fields",
    ),
    *("memories", "memory_id", "page", "page_size", "top_k", "timestamp", "feedback", "keywords", "infer"),
    *(
        "content",
        "session",
        "prompt",
        "k",
        "limit",
        "kind",
        "filter",
        "user",
        "tenant",
        "id",
        "name",
        "order",
    ),
)
OPERATORS = ("AND", "OR", "NOT", "in", "eq", "ne", "gt", "contains", "icontains", "user_id", "created_at")


def draw(dice: random.Random, ids: list[str], depth: int = 0) -> Any:
    """Any JSON, and now and then something right."""
    if depth < 4 and dice.random() < 0.45:
        if dice.random() < 0.4:
            return [draw(dice, ids, depth + 1) for _ in range(dice.randrange(4))]
        names = [*FIELDS, *OPERATORS, "".join(dice.choices(string.printable + "名残", k=5))]
        return {dice.choice(names): draw(dice, ids, depth + 1) for _ in range(dice.randrange(4))}
    return dice.choice([*ODD, *ids, THEIRS.split(" is")[0]])


def draw_body(dice: random.Random, ids: list[str]) -> bytes:
    said = {field: draw(dice, ids) for field in dice.sample(FIELDS, dice.randrange(6))}
    if dice.random() < 0.5:
        said |= {
            "filters": draw(dice, ids),
            "query": "vault code piano",
            "user_id": dice.choice(["taro", "*"]),
        }
    data = json.dumps(said if dice.random() < 0.9 else draw(dice, ids)).encode()
    return data[: dice.randrange(len(data))] if dice.random() < 0.2 else data


def draw_path(dice: random.Random, path: str, ids: list[str]) -> str:
    while "{" in path:
        before, _, rest = path.partition("{")
        value = str(dice.choice([*ids, *(each for each in ODD if isinstance(each, str)), "user", "taro"]))
        path = before + quote(value[:200] or "x", safe="") + rest.partition("}")[2]
    return path if dice.random() < 0.7 else f"{path}?{dice.choice(FIELDS)}={quote(str(dice.choice(ODD)))}"


@pytest.mark.parametrize("count", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_hostile_bodies_crash_nothing_and_find_nothing_of_others(tmp_path: Path, count: int) -> None:
    dice = random.Random(count)
    routes = [(each.method, each.path) for each in OPERATIONS if each.name not in LEFT_OUT]
    routes += [(method, path) for method, path, _ in TABLE] * 2
    with Nagori.open(tmp_path, embedder=None, llm=None) as memory:
        theirs = memory.with_scope(user="hanako")
        secret, mine = theirs.remember(THEIRS), memory.with_scope(user="taro").remember(MINE)
        ids = [secret.id, mine.id, row_of(theirs, secret)["id"]]
        keys = KeyTable(memory)
        key, _ = keys.add("taro", Grant("", "local", "taro"))
        app = create_app(memory, KeyAccess(keys), limits=Limits(per_minute=10**9), routes=mem0_routes())
        call = Caller(app, key)
        good = 0
        for _ in range(count):
            method, path = dice.choice(routes)
            where, body = draw_path(dice, path, ids), draw_body(dice, ids)
            reply = call.request(method, where, None if method == "GET" else body)
            assert reply.status < 500 or reply.status == 501, (method, where, body, reply.body)
            assert b"under the piano" not in reply.body, (method, where, body)
            good += reply.status < 300
        assert good > count / 50
        assert call.post("/v3/memories/search/", {"query": "x", "filters": {"user_id": "taro"}}).status == 200
        assert [(each.text.content, each.version) for each in theirs.list()] == [(THEIRS, secret.version)]
        assert memory.verify().sound
