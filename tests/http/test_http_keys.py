"""API keys: what each may reach, and that a revoked one reaches nothing."""

from __future__ import annotations

import pytest
from tests.http.calls import Caller

from nagori.app import Nagori
from nagori.core.model import Privacy
from nagori.edges.http import keys as keys_module
from nagori.edges.http.access import Grant
from nagori.edges.http.app import create_app
from nagori.edges.http.keys import KeyAccess, KeyTable
from nagori.errors import InvalidInput, NotFound
from nagori.services import audit_log
from nagori.testing.fakes import FrozenClock


@pytest.fixture
def memory(tmp_path):
    with Nagori.open(tmp_path, embedder=None, llm=None, clock=FrozenClock()) as opened:
        yield opened


@pytest.fixture
def keys(memory):
    return KeyTable(memory)


@pytest.fixture
def app(memory, keys):
    return create_app(memory, KeyAccess(keys))


def test_only_the_hash_of_a_key_is_stored(memory, keys, tmp_path):
    secret, key = keys.add("laptop", Grant("laptop", "acme", "taro"))
    assert len(secret) >= 43
    assert keys.find(secret) == key
    assert keys.find(secret[:-1]) is None
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert secret.encode() not in kept
    assert key.hash.encode() in kept


def test_a_key_reaches_its_own_tenant_and_user_only(app, memory, keys):
    taro, _ = keys.add("taro", Grant("", "acme", "taro"))
    memory.with_scope(tenant="other", user="taro").remember("A secret of another tenant.")
    call = Caller(app, taro, host="memory.example.org")
    made = call.post("/v1/memories", {"content": "A thing of Taro's."}).json
    assert memory.with_scope(tenant="acme", user="taro").show(made["id"]).text.content.startswith("A thing")
    assert [row["id"] for row in call.get("/v1/memories").json] == [made["id"]]
    assert call.get("/v1/memories", headers={"nagori-user": "hanako"}).status == 403
    assert call.get("/v1/memories", headers={"nagori-user": "taro"}).status == 200


def test_a_key_for_every_user_needs_a_name(app, memory, keys):
    any_user, _ = keys.add("backend", Grant("", "acme"))
    call = Caller(app, any_user)
    assert call.get("/v1/memories").json["error"]["id"] == "error.http_user"
    call.post("/v1/memories", {"content": "日本語"}, headers={"nagori-user": "%E8%8A%B1%E5%AD%90"})
    assert len(memory.with_scope(tenant="acme", user="花子").list()) == 1


def test_a_key_of_an_agent_sees_no_private_memory_of_another(app, memory, keys):
    agent, _ = keys.add("bot", Grant("", "acme", "taro", agent="bot"))
    own = memory.with_scope(tenant="acme", user="taro")
    own.with_scope(agent="other").remember("Private to the other agent.", privacy=Privacy.PRIVATE)
    own.with_scope(agent="other", role="team").remember("For its role.", privacy=Privacy.AGENT_ONLY)
    call = Caller(app, agent)
    assert call.get("/v1/memories").json == []
    assert call.get("/v1/memories", headers={"nagori-agent": "other"}).status == 403
    assert call.get("/v1/memories", headers={"nagori-role": "team"}).status == 403
    for method, path in (("POST", "/v1/cycle"), ("GET", "/v1/items"), ("POST", "/v1/reopen")):
        assert call.request(method, path).status == 403
    erasure = {"kind": "owner", "name": "taro"}
    assert call.post("/v1/erasures/plan", erasure).status == 403


def test_a_revoked_key_is_refused_at_once_here_and_soon_elsewhere(app, memory, keys, monkeypatch):
    secret, key = keys.add("laptop", Grant("", "acme", "taro"))
    elsewhere = KeyTable(memory)
    assert elsewhere.find(secret) is not None
    call = Caller(app, secret)
    assert call.get("/v1/memories").status == 200
    keys.revoke(key.id)
    assert call.get("/v1/memories").status == 401
    monkeypatch.setattr(keys_module, "FRESH_SECONDS", -1.0)
    assert elsewhere.find(secret) is None
    assert [each.revoked is None for each in keys.list()] == [False]
    with pytest.raises(NotFound):
        keys.revoke("nothing")


def test_the_last_use_is_noted_once_an_hour(memory, keys):
    secret, _ = keys.add("laptop", Grant("", "acme", "taro"))
    journal, owner = memory.runtime.journal, keys_module.OWNER.owner
    keys.find(secret)
    noted = journal.last_seq(owner)
    keys.find(secret)
    assert journal.last_seq(owner) == noted
    assert keys.list()[0].last_used == memory.runtime.clock.now().isoformat()
    memory.runtime.clock.forward(hours=2)
    keys.find(secret)
    assert journal.last_seq(owner) == noted + 1


def test_no_key_reaches_the_keys(keys):
    with pytest.raises(InvalidInput):
        keys.add("thief", Grant("", keys_module.OWNER.tenant))
    with pytest.raises(InvalidInput):
        keys.add("control", Grant("", "acme", "a\nb"))


def test_a_caller_beyond_its_number_of_requests_waits(memory, keys):
    from nagori.edges.http.limits import Limits

    secret, _ = keys.add("busy", Grant("", "acme", "taro"))
    other, _ = keys.add("calm", Grant("", "acme", "hanako"))
    app = create_app(memory, KeyAccess(keys), limits=Limits(per_minute=5))
    statuses = [Caller(app, secret).get("/v1/memories").status for _ in range(8)]
    assert statuses[:5] == [200] * 5
    assert 429 in statuses[5:]
    assert Caller(app, other).get("/v1/memories").status == 200


def test_adding_and_revoking_a_key_is_noted_without_the_secret(memory, keys, tmp_path):
    secret, key = keys.add("laptop", Grant("laptop", "acme", "taro"))
    keys.revoke(key.id)
    keys.revoke(key.id)
    noted = [(entry.act, entry.detail["change"]) for entry in audit_log.read(tmp_path)]
    assert noted == [("keys_changed", "api key added"), ("keys_changed", "api key revoked")]
    assert audit_log.verify(tmp_path).sound
    assert secret not in (tmp_path / "audit.jsonl").read_text()
