"""The routes of mem0's platform API. mem0's own clients are run by `make test-suites`; this is a slice."""

from __future__ import annotations

import uuid

import pytest
from tests.http.calls import Caller

from nagori.app import Nagori
from nagori.core.model import Scope
from nagori.edges.http.access import Grant, LocalAccess
from nagori.edges.http.app import create_app
from nagori.edges.http.keys import KeyAccess, KeyTable
from nagori.edges.http.mem0 import mem0_routes
from nagori.edges.http.mem0_filters import matches, named_users
from nagori.errors import InvalidInput
from nagori.services import audit_log

TOKEN = "t" * 43


@pytest.fixture
def memory(tmp_path):
    with Nagori.open(tmp_path, embedder=None, llm=None) as opened:
        yield opened


@pytest.fixture
def call(memory):
    caller = Caller(create_app(memory, LocalAccess(TOKEN, Scope()), routes=mem0_routes()), TOKEN)
    caller.headers["authorization"] = f"Token {TOKEN}"
    return caller


def add(call, text, **more):
    body = {"messages": [{"role": "user", "content": text}], "user_id": "taro", **more}
    return call.post("/v3/memories/add/", body).json["results"][0]


def test_a_row_is_added_found_changed_and_deleted(call, memory):
    row = add(call, "I work at Acme Corp.", metadata={"k": "v"})
    assert (row["user_id"], row["metadata"], uuid.UUID(row["id"]).version) == ("taro", {"k": "v"}, 8)
    path = f"/v1/memories/{row['id']}/"
    assert call.get(path).json["memory"] == "I work at Acme Corp."
    body = {"query": "Acme", "filters": {"user_id": "taro"}, "top_k": 1}
    [hit] = call.post("/v3/memories/search/", body).json["results"]
    assert hit["id"] == row["id"]
    assert call.post("/v2/memories/search/", body).json[0]["id"] == row["id"]
    v1 = call.post("/v1/memories/search/", {"query": "Acme", "user_id": "taro"}).json
    assert v1[0]["id"] == row["id"]
    call.request("PUT", path, {"text": "I left Acme Corp."})
    assert call.get(path).json["memory"] == "I left Acme Corp."
    history = call.get(f"{path}history/").json
    assert [(each["event"], each["new_memory"]) for each in history] == [
        ("ADD", "I work at Acme Corp."),
        ("UPDATE", "I left Acme Corp."),
    ]
    assert call.delete(path).status == 200
    assert call.get(path).status == 404
    assert memory.with_scope(user="taro").list() == []


def test_the_same_words_of_two_users_are_two_rows(call):
    one, other = add(call, "I like tea."), add(call, "I like tea.", user_id="hanako")
    assert one["id"] != other["id"]
    call.delete(f"/v1/memories/{one['id']}/")
    assert call.get(f"/v1/memories/{other['id']}/").json["user_id"] == "hanako"


def test_reading_several_users_at_once_is_noted_and_reading_one_is_not(call, memory):
    for user in ("taro", "hanako"):
        add(call, "I like tea.", user_id=user)
    call.post("/v3/memories/search/", {"query": "tea", "filters": {"user_id": "taro"}})
    assert audit_log.read(memory.runtime.data_dir) == []
    call.post("/v3/memories/search/", {"query": "tea", "filters": {"user_id": "*"}})
    call.get("/v1/entities/")
    noted = audit_log.read(memory.runtime.data_dir)
    assert [(act.act, act.owner, act.detail["users"]) for act in noted] == [("scope_crossed", "", 2)] * 2


def test_agents_apps_and_runs_own_and_narrow(call):
    add(call, "The bot speaks softly.", agent_id="bot", app_id="shop", run_id="r1")
    alone = call.post("/v1/memories/", {"messages": "I am a bot of my own.", "agent_id": "lone"}).json[
        "results"
    ][0]
    assert (alone["user_id"], alone["agent_id"]) == (None, "lone")
    everything = call.post("/v3/memories/", {"filters": {"OR": [{"user_id": "*"}, {"agent_id": "*"}]}}).json
    assert everything["count"] == 2
    narrow = call.get("/v1/memories/?user_id=taro&agent_id=bot").json
    assert [(row["app_id"], row["run_id"]) for row in narrow] == [("shop", "r1")]
    assert call.get("/v1/memories/?user_id=taro&agent_id=other").json == []
    names = {(row["type"], row["name"]) for row in call.get("/v1/entities/").json["results"]}
    assert names == {("user", "taro"), ("agent", "bot"), ("app", "shop"), ("run", "r1"), ("agent", "lone")}
    call.delete("/v2/entities/agent/lone/")
    assert call.post("/v3/memories/", {"filters": {"agent_id": "lone"}}).json["results"] == []
    assert call.delete("/v1/memories/?user_id=taro").status == 200
    assert call.post("/v3/memories/", {"filters": {"user_id": "taro"}}).json["results"] == []


def test_what_a_person_says_of_themselves_keeps_its_app_agent_and_run(call):
    row = add(call, "I work at Acme Corp.", agent_id="bot", app_id="shop", run_id="r1")
    assert (row["agent_id"], row["app_id"], row["run_id"]) == ("bot", "shop", "r1")
    wanted = {"AND": [{"user_id": "taro"}, {"app_id": "shop"}, {"run_id": "*"}]}
    [hit] = call.post("/v3/memories/search/", {"query": "Where do I work?", "filters": wanted}).json[
        "results"
    ]
    assert hit["id"] == row["id"]


def test_batches_feedback_events_and_pages(call):
    rows = [add(call, f"Thing number {n}.", infer=False) for n in range(3)]
    paged = call.post("/v3/memories/?page=2&page_size=2", {"filters": {"user_id": "taro"}}).json
    assert (paged["count"], len(paged["results"]), paged["next"]) == (3, 1, None)
    assert call.get(f"/v1/event/{rows[0]['id']}/").json["status"] == "SUCCEEDED"
    changes = [{"memory_id": rows[0]["id"], "text": "Changed."}, {"memory_id": rows[1]["id"], "text": "Too."}]
    assert call.request("PUT", "/v1/batch/", {"memories": changes}).status == 200
    assert call.get(f"/v1/memories/{rows[0]['id']}/").json["memory"] == "Changed."
    assert call.post("/v1/feedback/", {"memory_id": rows[2]["id"], "feedback": "POSITIVE"}).status == 200
    gone = {"memories": [{"memory_id": rows[0]["id"]}]}
    assert call.request("DELETE", "/v1/batch/", gone).status == 200
    assert call.get(f"/v1/memories/{rows[0]['id']}/").status == 404


def test_a_search_finds_the_rows_of_a_run_among_many_others(call, memory):
    own = memory.with_scope(user="taro")
    own.remember_many([f"The kettle number {n} stands in the kitchen." for n in range(60)])
    add(call, "The kettle of the office is old.", run_id="r9", infer=False)
    body = {"query": "kettle kitchen", "filters": {"AND": [{"user_id": "taro"}, {"run_id": "r9"}]}}
    rows = call.post("/v3/memories/search/", body).json["results"]
    assert [row["memory"] for row in rows] == ["The kettle of the office is old."]


def test_only_what_a_search_returned_is_strengthened(call, memory):
    for n in range(3):
        add(call, f"The kettle number {n} stands in the kitchen.", infer=False)
    body = {"query": "Which kettle stands in the kitchen?", "filters": {"user_id": "taro"}, "top_k": 1}
    [hit] = call.post("/v3/memories/search/", body).json["results"]
    own = memory.with_scope(user="taro")
    recalled = [each for each in own.list() if any(e.type == "recalled" for e in own.why(each.id).history)]
    assert [each.text.content for each in recalled] == [hit["memory"]]


def test_wildcards_delete_the_rows_that_have_the_entity_and_all_four_everything(call):
    add(call, "Of Taro.", infer=False)
    add(call, "Of Hanako.", user_id="hanako", app_id="shop", infer=False)
    alone = call.post("/v3/memories/add/", {"messages": "Of a bot.", "agent_id": "bot", "infer": False}).json
    assert call.delete("/v1/memories/?app_id=*").status == 200
    left = call.post("/v3/memories/", {"filters": {"OR": [{"user_id": "*"}, {"agent_id": "*"}]}}).json
    assert {row["memory"] for row in left["results"]} == {"Of Taro.", "Of a bot."}
    assert call.delete("/v1/memories/?user_id=*&agent_id=*&app_id=*&run_id=*").status == 200
    assert call.get("/v1/entities/").json["results"] == []
    assert call.get(f"/v1/memories/{alone['results'][0]['id']}/").status == 404


def test_shorthands_beside_filters_narrow_and_fields_choose(call):
    add(call, "I like tea from Uji.", metadata={"source": "chat"}, infer=False)
    add(call, "I like coffee.", infer=False)
    named = {"filters": {"user_id": "taro"}}

    def found(**more):
        return [row["memory"] for row in call.post("/v3/memories/", {**named, **more}).json["results"]]

    assert found(keywords="TEA") == ["I like tea from Uji."]
    assert found(metadata={"source": "chat"}) == ["I like tea from Uji."]
    assert len(found(start_date="2020-01-01")) == 2
    assert found(end_date="2020-01-01") == []
    assert call.get("/v1/memories/?user_id=taro&keywords=tea&fields=memory").json[0].keys() == {
        "id",
        "memory",
    }
    body = {**named, "query": "tea", "fields": ["memory", "score"]}
    hit = call.post("/v3/memories/search/", body).json["results"][0]
    assert hit.keys() == {"id", "memory", "score"}
    assert call.post("/v3/memories/", {**named, "fields": 3}).status == 400
    gone = call.delete("/v1/memories/?user_id=taro&metadata=%7B%22source%22%3A%22chat%22%7D")
    assert (gone.status, found()) == (200, ["I like coffee."])
    assert call.delete("/v1/memories/?user_id=taro&metadata=x").status == 400


def test_entities_and_events_are_listed_page_by_page_and_one_by_one(call):
    row = add(call, "Of Taro.", run_id="r1", infer=False)
    add(call, "Of Hanako.", user_id="hanako", infer=False)
    paged = call.get("/v1/entities/?page=1&page_size=2").json
    assert (paged["count"], len(paged["results"])) == (3, 2)
    [taro] = call.get("/v2/entities/user/taro/").json
    assert (taro["name"], taro["total_memories"], taro["created_at"]) == ("taro", 1, row["created_at"])
    assert call.get("/v2/entities/user/nobody/").json == []
    assert call.get("/v2/entities/planet/mars/").status == 400
    assert call.get("/v1/memories/run/r1/").json["results"][0]["id"] == row["id"]
    events = call.get("/v1/events/").json["results"]
    assert [(each["status"], each["event_type"]) for each in events] == [("SUCCEEDED", "ADD")] * 2
    assert row["id"] in {each["id"] for each in events}


def test_a_project_is_there_and_nothing_can_be_set_for_it(call):
    path = "/api/v1/orgs/organizations/nagori/projects/nagori/"
    assert call.get(f"{path}?fields=custom_instructions").json["custom_instructions"] is None
    assert call.request("PATCH", path, {"custom_instructions": "x"}).status in (400, 501)
    assert call.get("/api/v1/webhooks/projects/nagori/").json == []
    assert call.post("/api/v1/webhooks/projects/nagori/", {"url": "https://example.com"}).status == 501


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/memories/not-an-id/", None, 400),
        ("GET", "/v1/memories/00000000-0000-4000-8000-000000000000/", None, 404),
        ("GET", "/v1/memories/00000000-0000-8000-8000-000000000000/", None, 404),
        ("POST", "/v3/memories/add/", {"messages": "x"}, 400),
        (
            "POST",
            "/v3/memories/add/",
            {"messages": "x", "user_id": "a", "immutable": True},
            400,
        ),
        ("POST", "/v3/memories/add/", {"messages": [], "user_id": "a"}, 400),
        ("POST", "/v3/memories/search/", {"query": "x"}, 400),
        ("POST", "/v3/memories/search/", {"query": "x", "filters": {"nothing": 1}}, 400),
        ("POST", "/v3/memories/", {"filters": "x"}, 400),
        ("DELETE", "/v1/memories/", None, 400),
        ("POST", "/v1/exports/", {"schema": "x"}, 501),
        ("GET", "/api/v1/orgs/organizations/x/members/", None, 501),
        ("PUT", "/v1/memories/00000000-0000-8000-8000-000000000000/", {"timestamp": 1}, 404),
    ],
)
def test_what_has_no_meaning_here_is_refused_with_a_sentence(call, method, path, body, status):
    reply = call.request(method, path, body)
    assert reply.status == status
    if status >= 400:
        assert reply.json["detail"]


def test_a_key_of_one_user_reaches_no_other(memory):
    keys = KeyTable(memory)
    taro, _ = keys.add("taro", Grant("", "local", "taro"))
    agent, _ = keys.add("agent", Grant("", "local", "taro", agent="bot"))
    call = Caller(create_app(memory, KeyAccess(keys), routes=mem0_routes()), taro)
    memory.with_scope(user="hanako").remember("Of Hanako.")
    assert call.post("/v3/memories/", {"filters": {"user_id": "*"}}).json["count"] == 0
    assert call.post("/v3/memories/", {"filters": {"user_id": "hanako"}}).json["count"] == 0
    assert call.post("/v3/memories/add/", {"messages": "x", "user_id": "hanako"}).status == 403
    assert Caller(call.app, agent).get("/v1/ping/").status == 403


ROW = {
    "id": "m1",
    "user_id": "taro",
    "agent_id": None,
    "memory": "I like tea.",
    "categories": ["work"],
    "metadata": {"n": 3},
    "created_at": "2026-05-04T12:00:00+00:00",
}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, True),
        ({"user_id": "taro"}, True),
        ({"agent_id": "*"}, False),
        ({"NOT": [{"user_id": "taro"}]}, False),
        ({"AND": [{"user_id": "taro"}, {"metadata": {"n": 3}}]}, True),
        ({"OR": [{"user_id": "x"}, {"metadata": {"n": {"gt": 2}}}]}, True),
        ({"created_at": {"gte": "2026-05-04", "lt": "2026-05-05T00:00:00Z"}}, True),
        ({"created_at": {"gt": "2026-06-01"}}, False),
        ({"categories": {"contains": "work"}}, True),
        ({"memory": {"icontains": "TEA"}}, True),
        ({"user_id": {"in": ["a", "taro"]}}, True),
        ({"metadata": {"n": {"gt": "text"}}}, False),
        ({"user_id": {"ne": "taro"}}, False),
        ({"user_id": ["hanako", "taro"]}, True),
        ({"categories": {"in": ["health", "work"]}}, True),
        ({"categories": {"in": ["health"]}}, False),
        ({"categories": "work"}, True),
        ({"keywords": "TEA"}, True),
        ({"keywords": ["tea", "coffee"]}, False),
        ({"keywords": {"contains": "TEA"}}, False),
        ({"text": {"icontains": "TEA"}}, True),
        ({"timestamp": {"gte": "2026-05-04"}}, True),
        ({"memory_ids": ["m1", "m2"]}, True),
        ({"memory_ids": {"in": ["m2"]}}, False),
        ({"NOT": {"categories": {"in": ["work"]}}}, False),
    ],
)
def test_filters(filters, expected):
    assert matches(filters, ROW) is expected


@pytest.mark.parametrize(
    "filters", [[], {"unknown": 1}, {"user_id": {"like": "x"}}, {"created_at": {"gt": "x"}}]
)
def test_filters_that_are_none(filters):
    with pytest.raises(InvalidInput):
        matches(filters, ROW)


def test_filters_name_the_users_that_can_fit():
    assert named_users({"user_id": "a"}) == {"a"}
    assert named_users({"AND": [{"user_id": {"in": ["a", "b"]}}, {"user_id": "b"}]}) == {"b"}
    assert named_users({"OR": [{"user_id": "a"}, {"agent_id": "x"}]}) is None
    assert named_users({"user_id": "*"}) is None
    assert named_users({"user_id": ["a", "b"]}) == named_users({"user_id": {"in": ["a", "b"]}}) == {"a", "b"}
    assert named_users({"user_id": {"eq": "a"}}) == {"a"}
    assert named_users({"user_id": ["a", "*"]}) is None
    assert named_users({"user_id": "a", "AND": [{"user_id": "b"}]}) == set()
