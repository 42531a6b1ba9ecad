"""Tenants are apart: no answer, count, error or log of one shows anything of another.

NAGORI_TEST_TENANTS, NAGORI_TEST_CANARIES and NAGORI_TEST_CALLS give the full counts (50, 200 and 100,000).
"""

from __future__ import annotations

import http.client
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from tests.http.calls import Caller, Reply
from tests.http.served import free_port

from nagori.app import Nagori
from nagori.core.model import Filter
from nagori.core.outcomes_lessons_and_credit import ToolResult
from nagori.edges.http.access import Grant
from nagori.edges.http.app import create_app
from nagori.edges.http.keys import KeyAccess, KeyTable
from nagori.edges.http.limits import Limits
from nagori.edges.http.mem0 import mem0_routes
from nagori.edges.http.replies import encode
from nagori.errors import NagoriError

TENANTS = int(os.environ.get("NAGORI_TEST_TENANTS", "6"))
CANARIES = int(os.environ.get("NAGORI_TEST_CANARIES", "10"))
CALLS = int(os.environ.get("NAGORI_TEST_CALLS", "1500"))


Ask = Callable[[int, str, str, Any, dict[str, str]], str]


def canary(tenant: int, n: int) -> str:
    return f"canary{tenant:03d}x{n:03d}z"


class Isolation:
    """Many tenants in one folder, each with a key, a user of the same name and canaries of its own."""

    def __init__(self, memory: Nagori, folder: Path) -> None:
        self.memory, self.lines = memory, list[str]()
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
            own.record_tools([ToolResult("Bash", canary(n, 0), ok=False)], session=f"session{n}")
            own.with_scope(agent="helper").share([f"The lesson is {canary(n, 0)}."])
            own.process()
            (page := folder / f"page{n}.md").write_text(f"# Plant\n\nThe code word is {canary(n, 2)}.\n")
            own.add_knowledge(page, kb=f"base{n}")
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
        return checked((method, path, body), reply)

    @contextmanager
    def served(self) -> Iterator[Ask]:
        """The same application behind a socket, as a client on the network reaches it."""
        port = free_port()
        server = uvicorn.Server(uvicorn.Config(self.app, port=port, log_level="error", access_log=False))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

        def ask(tenant: int, method: str, path: str, body: Any, headers: dict[str, str]) -> str:
            given = {"authorization": f"Bearer {self.secrets[tenant]}", **headers}
            connection.request(method, path, None if body is None else json.dumps(body), given)
            response = connection.getresponse()
            return checked(
                (method, path, body), Reply(response.status, dict(response.getheaders()), response.read())
            )

        try:
            yield ask
        finally:
            connection.close()
            server.should_exit = True
            thread.join()


def checked(request: tuple[str, str, Any], reply: Reply) -> str:
    """All that was answered; no answer is a server error."""
    assert reply.status < 500 or reply.status == 501, (request, reply.body)
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
        ("POST", "/v1/associations", {"query": text, "k": 100}),
        ("POST", "/v1/full-context", {"prompt": text, "session": f"session{other}", "mark": False}),
        ("POST", "/v1/full-context", {"prompt": text, "knowledge": [f"base{other}"], "mark": False}),
        ("POST", "/v1/conversations", {"turns": [], "session": f"session{other}"}),
        ("GET", f"/v1/threads?session=session{other}", None),
        ("GET", f"/v1/working-memory?session=session{other}", None),
        *(("GET", f"/v1/{place}", None) for place in ("sessions", "threads", "profile", "measures")),
        *(("GET", f"/v1/{place}", None) for place in ("usage", "cycle", "appraisals", "policy")),
        ("POST", "/v1/turns/process", {}),
        ("POST", "/v1/policy/back", {}),
        ("POST", "/v1/vectors", {}),
        ("POST", "/v1/reopen", {}),
    ]
    method, path, body = drawn.choice(paths)
    return method, path, body, headers


def library_call(drawn: random.Random, world: Isolation, tenant: int) -> tuple[str, str]:
    """What one tenant asks the library for that is another's, and the answer or the error."""
    other = drawn.choice([n for n in range(TENANTS) if n != tenant])
    id, word = drawn.choice(world.ids[other]), canary(other, drawn.randrange(CANARIES))
    name = drawn.choice(["taro", "taro", f"../tenant{other}/taro", f"tenant{other}", "%", "taro' OR 1=1 --"])
    session, text = f"session{other}", drawn.choice([word, f"{word}*", "code word", f'" OR "{word}'])
    own = world.memory.with_scope(tenant=f"tenant{tenant}", user=name)
    everything = Filter(archived=True, forgotten=True)
    calls: list[Callable[[], object]] = [
        lambda: own.show(id),
        lambda: own.why(id, text),
        lambda: own.forget(id),
        lambda: own.edit(id, content="mine now"),
        lambda: own.undo(id),
        lambda: own.link(id, drawn.choice(world.ids[other])),
        lambda: own.find_related(id),
        lambda: own.recall(text, 100, filter=everything, min_confidence=0.0, mark=False),
        lambda: own.associate(text, 100),
        lambda: own.context(text, session=session, mark=False),
        lambda: own.explain_context(text, session=session),
        lambda: own.full_context(text, session=session, mark=False),
        lambda: own.session_start(session, mark=False),
        lambda: own.summary(session),
        lambda: [*own.threads(session), *own.threads()],
        lambda: own.working_memory(session),
        own.sessions,
        own.profile,
        own.policy,
        own.preview,
        own.measure,
        own.populations,
        own.status,
        lambda: own.list(everything, limit=1000),
        lambda: own.as_of(datetime(2030, 1, 1, tzinfo=UTC), Filter(session=session)),
        lambda: own.log(limit=1000),
        lambda: own.log(id),
        lambda: [*own.export()],
        lambda: own.plan_erasure(memory=id),
        lambda: own.plan_erasure(session=session),
        lambda: own.items.list(()),
        lambda: own.items.get(("rows",), word),
        lambda: own.search_knowledge(text),
        lambda: own.search_knowledge(text, kb=f"base{other}"),
        lambda: own.list_knowledge(kb=f"base{other}"),
    ]
    call = drawn.choice(calls)
    try:
        answer = encode(call()).decode()
    except NagoriError as error:
        answer = f"{error!r} {error} {error.values}"
    return f"{id} {text} {session}", answer


def leaks(tenant: int, answer: str, asked: str) -> Iterable[str]:
    """Canaries of other tenants in an answer that the question did not name."""
    foreign = (f"canary{n:03d}" for n in range(TENANTS) if n != tenant)
    return [word for word in foreign if is_told(word, answer, asked)]


@pytest.mark.skipif(TENANTS < 2, reason="isolation needs two tenants")
@pytest.mark.parametrize(
    ("way", "place"),
    [
        ("library and application", "files"),
        ("socket", "files"),
        ("library and application", "fold"),
        ("library and application", "postgres"),
    ],
)
def test_no_foreign_canary_is_in_any_answer_or_log(tmp_path, request, way, place):
    drawn = random.Random(7)
    address = tmp_path / "memory"
    if place != "files":
        store = "sqlite" if place == "fold" else "postgres"
        address = request.getfixturevalue("postgres").url(store=store, folder=str(tmp_path / "node"))
    with Nagori.open(address, embedder=None, llm=None) as memory:
        world = Isolation(memory, tmp_path)
        owners = [memory.with_scope(tenant=f"tenant{n}", user="taro") for n in range(TENANTS)]
        before = [[each.text for each in own.list(limit=1000)] for own in owners]
        requests = 0
        with world.served() if way == "socket" else nullcontext(world.ask) as ask:
            for _ in range(CALLS):
                tenant = drawn.randrange(TENANTS)
                if way != "socket" and drawn.random() < 0.3:
                    asked, answer = library_call(drawn, world, tenant)
                    assert leaks(tenant, answer, asked) == [], asked
                else:
                    method, path, body, headers = hostile_call(drawn, world, tenant)
                    answer = ask(tenant, method, path, body, headers)
                    asked = f"{path}{json.dumps(body)}"
                    assert leaks(tenant, answer, asked) == [], (method, path, body, headers)
                    requests += 1
        assert [[each.text for each in own.list(limit=1000)] for own in owners] == before
        assert not any("canary" in line for line in world.lines)
        assert len(world.lines) == requests
