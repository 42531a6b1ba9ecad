"""Two servers on one PostgreSQL: the same keys, the same memories, and a write that happens once on both."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.http.calls import Caller
from tests.postgres import Server

from nagori.app import Nagori
from nagori.edges.http import keys as keys_module
from nagori.edges.http.access import Grant
from nagori.edges.http.app import create_app
from nagori.edges.http.keys import KeyAccess, KeyTable
from nagori.edges.http.mem0 import mem0_routes


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_two_servers_are_one_memory(postgres: Server, tmp_path: Path, monkeypatch, store: str) -> None:
    monkeypatch.setattr(keys_module, "FRESH_SECONDS", -1.0)
    places = [postgres.url(store=store, folder=str(tmp_path / name)) for name in "ab"]
    with (
        Nagori.open(places[0], embedder=None, llm=None) as one,
        Nagori.open(places[1], embedder=None, llm=None) as other,
    ):
        secret, key = KeyTable(one).add("laptop", Grant("", "acme", "taro"))
        foreign, _ = KeyTable(one).add("foreign", Grant("", "globex", "taro"))
        apps = [create_app(each, KeyAccess(KeyTable(each)), routes=mem0_routes()) for each in (one, other)]
        first, second = (Caller(app, secret) for app in apps)
        once = {"idempotency-key": "a"}
        made = first.post("/v1/memories", {"content": "The office is in Kyoto."}, headers=once)
        assert made.status == 201
        assert (
            second.post("/v1/memories", {"content": "The office is in Kyoto."}, headers=once).json
            == made.json
        )
        assert [row["id"] for row in second.get("/v1/memories").json] == [made.json["id"]]
        assert second.post("/v1/recall", {"query": "Kyoto office"}).json[0]["memory"]["id"] == made.json["id"]
        assert Caller(apps[1], foreign).get("/v1/memories").json == []
        [row] = second.post("/v3/memories/", {"filters": {"user_id": "taro"}}).json["results"]
        assert row["memory"] == "The office is in Kyoto."
        assert first.get("/ready").status == 200
        KeyTable(one).revoke(key.id)
        assert second.get("/v1/memories").status == 401
