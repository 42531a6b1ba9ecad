"""A write with an idempotency key happens once: sent twice, sent at once, or sent again after a kill -9."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from tests.http.calls import Caller
from tests.http.served import ServedMemory

from nagori.app import Nagori
from nagori.core.model import Memory, Scope
from nagori.edges.http.access import LocalAccess
from nagori.edges.http.app import create_app
from nagori.edges.http.client import RemoteNagori
from nagori.errors import NagoriError, StoreError

TOKEN = "t" * 43
KILLS = 3


@pytest.fixture
def memory(tmp_path):
    with Nagori.open(tmp_path, embedder=None, llm=None) as opened:
        yield opened


@pytest.fixture
def call(memory):
    return Caller(create_app(memory, LocalAccess(TOKEN, Scope())), TOKEN)


def test_the_same_request_again_changes_nothing_and_answers_the_same_memory(call, memory):
    first = call.post("/v1/memories", {"content": "Once."}, headers={"idempotency-key": "a"})
    events = memory.runtime.journal.last_seq(memory.scope.owner)
    again = call.post("/v1/memories", {"content": "Once."}, headers={"idempotency-key": "a"})
    assert (first.status, first.json) == (again.status, again.json)
    assert memory.runtime.journal.last_seq(memory.scope.owner) == events
    assert memory.list()[0].mentions == 1
    call.post("/v1/memories", {"content": "Once."})
    assert memory.list()[0].mentions == 2, "without a key it is said a second time"


def test_a_key_belongs_to_one_request(call):
    call.post("/v1/memories", {"content": "Once."}, headers={"idempotency-key": "a"})
    other = call.post("/v1/memories", {"content": "Other."}, headers={"idempotency-key": "a"})
    assert (other.status, other.json["error"]["id"]) == (409, "error.http_key_reused")
    assert call.post("/v1/memories", {"content": "x"}, headers={"idempotency-key": "k" * 300}).status == 400


def test_changes_and_batches_happen_once_too(call, memory):
    body = {"drafts": [{"content": "One."}, {"content": "Two."}]}
    made = call.post("/v1/memories/batch", body, headers={"idempotency-key": "b"}).json
    assert call.post("/v1/memories/batch", body, headers={"idempotency-key": "b"}).json == made
    path = f"/v1/memories/{made[0]['id']}"
    change = {"content": "One, corrected."}
    edited = call.request("PATCH", path, change, {"idempotency-key": "c"}).json
    assert call.request("PATCH", path, change, {"idempotency-key": "c"}).json == edited
    gone = call.request("DELETE", path, None, {"idempotency-key": "d"}).json
    assert call.request("DELETE", path, None, {"idempotency-key": "d"}).json == gone
    call.post(f"{path}/undo", {}, headers={"idempotency-key": "e"})
    repeated = call.post(f"{path}/undo", {}, headers={"idempotency-key": "e"})
    assert repeated.json["error"]["id"] == "error.http_done_before"
    assert not memory.show(made[0]["id"]).is_forgotten


def test_a_receipt_holds_no_words(call, memory):
    call.post("/v1/memories", {"content": "Confidential words."}, headers={"idempotency-key": "a"})
    [item] = memory.items.list(("nagori", "requests"))
    assert "Confidential" not in item.value
    assert item.ttl is not None


def test_the_same_request_many_times_at_once_happens_once(tmp_path):
    with ServedMemory(tmp_path / "memory") as server:
        client, made = server.client(), []

        def send() -> None:
            made.append(client.remember("Only once.", once="same").mentions)

        threads = [threading.Thread(target=send) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [1] * 12
        assert [each.mentions for each in client.list()] == [1]


def list_all(client: RemoteNagori) -> Iterator[Memory]:
    page = client.list(limit=1000)
    while page:
        yield from page
        page = client.list(limit=1000, older_than=page[-1])


def test_nothing_is_lost_or_doubled_when_the_server_is_killed(tmp_path):
    """A client that sends again until it is answered, while the server is killed again and again."""
    with ServedMemory(tmp_path / "memory") as server:
        acknowledged: list[str] = []
        stop = threading.Event()

        def write(name: int) -> None:
            n = 0
            while not stop.is_set():
                said = f"Writer {name} says number {n}."
                for _ in range(200):
                    try:
                        server.client().remember(said, once=said)
                        server.client().turn(f"{said} As a turn.", session=f"s{name}", ref=said)
                    except StoreError:
                        if stop.wait(0.05):
                            return
                        continue
                    except NagoriError as refused:
                        raise AssertionError(refused) from refused
                    acknowledged.append(said)
                    break
                n += 1

        writers = [threading.Thread(target=write, args=(name,)) for name in range(3)]
        for writer in writers:
            writer.start()
        for _ in range(KILLS):
            stop.wait(0.7)
            server.kill()
            server.start()
        stop.wait(0.5)
        stop.set()
        for writer in writers:
            writer.join()
        client = server.client()
        client.process()
        kept = {each.text.content: each for each in list_all(client)}
        assert len(acknowledged) > KILLS
        assert [said for said in acknowledged if said not in kept] == []
        assert [said for said in acknowledged if f"{said} As a turn." not in kept] == []
        assert {each.mentions for text, each in kept.items() if not text.endswith("turn.")} == {1}
