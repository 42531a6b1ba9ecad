"""The viewer's server: who may ask, what its files may do, what its pages say and its buttons do."""

import asyncio
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.http.calls import Caller

from nagori import Nagori
from nagori.core.events import Event
from nagori.core.model import Source
from nagori.core.outcomes_lessons_and_credit import Evidence
from nagori.core.value_object import replace
from nagori.edges.http.access import LocalAccess
from nagori.edges.http.app import create_app
from nagori.edges.locale import Translator
from nagori.edges.viewer.actions import CHANGES
from nagori.edges.viewer.routes import (
    LONG_PAGES,
    MACHINE_PAGES,
    PAGES,
    make_routes,
    no_findings,
    static_files,
)
from nagori.edges.viewer.serve import ActivityWatch, ViewerServer
from nagori.edges.viewer.slow_page_cache import BackgroundPage
from nagori.errors import StoreError
from nagori.services.doctor import make_finding
from nagori.services.remember import Draft
from nagori.testing import FrozenClock, WordEmbedder

TOKEN = "a-token-that-nobody-else-knows"
JSON = {"content-type": "application/json"}
ROOT = Path(__file__).parents[2]


@pytest.fixture
def caller(memory: Nagori) -> Caller:
    app = create_app(memory, LocalAccess(TOKEN, memory.scope), routes=make_routes(no_findings))
    return Caller(app, TOKEN)


def ask(caller: Caller, name: str, fields: dict[str, Any] | None = None, **more: Any) -> Any:
    reply = caller.post(f"/view/api/{name}", fields or {}, headers={**JSON, **more})
    assert reply.status == 200, reply.json
    return reply.json


def do(caller: Caller, name: str, **fields: Any) -> Any:
    return ask(caller, f"do/{name}", fields)


# ── who may ask ──────────────────────────────────────────────────────────────────────────────────

OWN = {"host": "127.0.0.1:8438", "authorization": f"Bearer {TOKEN}"}
ATTACKS: list[dict[str, str]] = [
    # no token, a wrong one, or one in another place
    *(
        {"authorization": given}
        for given in ("", "Bearer", "Bearer ", "Bearer x", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", TOKEN)
    ),
    *({"authorization": f"{kind} {TOKEN}"} for kind in ("Basic", "Negotiate", "Bearer,")),
    {"authorization": "", "cookie": f"token={TOKEN}; nagori-token={TOKEN}"},
    {"authorization": "", "x-api-key": TOKEN},
    {"authorization": "", "origin": "http://127.0.0.1:8438"},
    {"authorization": "", "proxy-authorization": f"Bearer {TOKEN}"},
    {"authorization": "", "referer": f"http://127.0.0.1:8438/view/#token={TOKEN}"},
    {"authorization": "", "nagori-user": "me", "nagori-agent": "me"},
    {"host": "evil.example", "x-forwarded-host": "127.0.0.1:8438", "forwarded": "host=127.0.0.1:8438"},
    {"host": "nagori"},
    {"host": "evil.example", "origin": "http://evil.example"},
    {"host": "evil.example", "origin": "http://127.0.0.1:8438", "sec-fetch-site": "same-origin"},
    # a name that leads here but is not ours (DNS rebinding)
    *(
        {"host": host}
        for host in (
            *("evil.example", "evil.example:8438", "127.0.0.1.evil.example", "localhost.evil.example:8438"),
            *("127.0.0.1@evil.example", "127.0.0.1:8438@evil.example", "[::1].evil.example", "0.0.0.0:8438"),
            *(
                "127.1:8438",
                "2130706433:8438",
                "10.0.0.1:8438",
                "localhost:84x38",
                "[::1]x",
                "LOCALHOST.",
                "",
            ),
        )
    ),
    # a page of somebody else
    *(
        {"origin": origin}
        for origin in (
            *(
                "http://evil.example",
                "https://evil.example",
                "null",
                "http://127.0.0.1",
                "http://127.0.0.1:1",
            ),
            *("https://127.0.0.1:8438", "http://localhost:8438", "http://127.0.0.1:8438.evil.example"),
            *("file://", "chrome-extension://abcdef", "http://127.0.0.1:84380"),
        )
    ),
    *({"sec-fetch-site": site} for site in ("cross-site", "same-site", "evil")),
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"},
    {"origin": "http://evil.example", "content-type": "text/plain"},
    {"origin": "http://evil.example", "content-type": "application/x-www-form-urlencoded"},
    {"origin": "http://evil.example", "content-type": "multipart/form-data; boundary=x"},
]


def test_no_request_without_token_host_and_origin_is_accepted(memory: Nagori, caller: Caller) -> None:
    id = memory.remember("Nobody else may read or change this.").id
    before = memory.status().events
    places = [
        *(
            ("GET", f"/view/api/{name}?id={id}&token={TOKEN}")
            for name in (*PAGES, *LONG_PAGES, *MACHINE_PAGES, "health")
        ),
        *(("POST", f"/view/api/{name}") for name in (*PAGES, *LONG_PAGES, *MACHINE_PAGES)),
        *(("POST", f"/view/api/do/{name}") for name in CHANGES),
        *(("POST", f"/view/api/do/{name}?token={TOKEN}&access_token={TOKEN}") for name in CHANGES),
        *(("GET", "/v1/memories"), ("GET", "/v1/events"), ("DELETE", f"/v1/memories/{id}")),
    ]
    body = f'{{"id": "{id}", "token": "{TOKEN}", "prompt": "x", "content": "changed"}}'.encode()

    async def attack() -> list[int]:
        return [
            (
                await caller._ask(method, path, body if method == "POST" else b"", {**OWN, **JSON, **headers})
            ).status
            for (method, path), headers in product(places, ATTACKS)
        ]

    statuses = asyncio.run(attack())
    assert len(statuses) >= 2_000
    assert sum(status < 400 for status in statuses) == 0
    assert set(statuses) <= {401, 403}
    assert memory.status().events == before


def test_the_same_requests_with_token_host_and_origin_are_accepted(memory: Nagori, caller: Caller) -> None:
    """Else the test above would prove nothing."""
    id = memory.remember("I may.").id
    for name in (*PAGES, *LONG_PAGES, *MACHINE_PAGES, "health"):
        reply = caller.get(
            f"/view/api/{name}?id={id}&prompt=x&session=s&wait=1", headers={"origin": "http://127.0.0.1:8438"}
        )
        assert reply.status == 200, (name, reply.json)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_form_cannot_change_anything_even_with_the_token(caller: Caller, kind: str) -> None:
    reply = caller.post("/view/api/do/forget", b'{"id": "mem_1"}', headers={"content-type": kind})
    assert reply.status == 400


@pytest.mark.parametrize("body", [b"[]", b"1", b"{", b"\xff", b'{"id": 1}'])
def test_a_wrong_body_is_refused_in_words(caller: Caller, body: bytes) -> None:
    reply = caller.post("/view/api/do/forget", body, headers=JSON)
    assert reply.status in (400, 404)
    assert reply.json["error"]["message"]


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def test_every_file_forbids_everything_but_itself(caller: Caller) -> None:
    for name in ("", *static_files()):
        reply = caller.get(f"/view/{name}", headers={"authorization": ""})
        assert reply.status == 200
        policy = reply.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "http" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "name",
    ["../pages.py", "..%2fpages.py", "%2e%2e/pages.py", "vendor/../../pages.py", "/etc/passwd", "vendor"],
)
def test_only_its_files_are_served(caller: Caller, name: str) -> None:
    assert caller.get(f"/view/{name}").status == 404


def test_no_file_of_ours_has_inline_code_or_another_address() -> None:
    for name, content in static_files().items():
        if not name.startswith("vendor/"):
            text = content.decode()
            assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), name
            assert not re.search(r"innerHTML|dangerouslySet|eval\(|new Function|document\.write", text), name
    page = static_files()["index.html"].decode()
    assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", page)


@pytest.mark.parametrize("folder", ["src/nagori/edges/viewer/static/vendor", "tests/browser/vendor"])
def test_vendored_files_are_those_that_were_published(folder: str) -> None:
    lines = [line.split() for line in (ROOT / folder / "SHA256SUMS.txt").read_text().splitlines()]
    listed = {name: digest for digest, name in lines}
    present = {path.name for path in (ROOT / folder).iterdir()} - {"SHA256SUMS.txt"}
    assert {name for name in present if not name.startswith("LICENSE")} == set(listed)
    assert any(name.startswith("LICENSE") for name in present)
    for name, digest in listed.items():
        assert sha256((ROOT / folder / name).read_bytes()).hexdigest() == digest


def test_words_come_in_both_languages_without_a_token(caller: Caller) -> None:
    for language, word in (("en", "Timeline"), ("ja", "タイムライン")):
        headers = {"authorization": "", "accept-language": language}
        told = caller.get("/view/api/words", headers=headers).json
        assert told["language"] == language
        assert told["words"]["view.page_timeline"] == word
        assert told["languages"] == {"en": "English", "ja": "日本語"}


# ── pages ────────────────────────────────────────────────────────────────────────────────────────


def test_pages_of_the_timeline_hold_every_memory_once_newest_first(
    memory: Nagori, caller: Caller, clock: FrozenClock
) -> None:
    made = []
    for n in range(25):
        made.append(memory.remember(f"Fact number {n}.").id)
        clock.forward(hours=7)
    seen, after = [], ""
    for _ in range(9):
        told = ask(caller, "timeline", {"limit": 3, "after": after})
        seen += [row["id"] for row in told["rows"]]
        after = told["next"]
    assert after is None
    assert seen == made[::-1]


def test_a_page_goes_on_where_it_was_although_that_memory_is_gone(
    memory: Nagori, caller: Caller, clock: FrozenClock
) -> None:
    for n in range(4):
        memory.remember(f"Fact number {n}.")
        clock.forward(hours=1)
    first = ask(caller, "timeline", {"limit": 2})
    plan = memory.plan_erasure(memory=first["rows"][-1]["id"])
    memory.erase(plan)
    rest = ask(caller, "timeline", {"limit": 2, "after": first["next"]})
    assert [row["text"] for row in rest["rows"]] == ["Fact number 1.", "Fact number 0."]


def test_filters_narrow_the_timeline(memory: Nagori, caller: Caller) -> None:
    memory.remember("A decision.", kind="decision")
    memory.with_scope(project="shop").remember("Of the shop.", protect=True)
    memory.with_scope(project="books").remember("Of the books.")
    memory.forget(memory.remember("Forgotten.").id)
    archived = memory.archive(memory.remember("Archived.").id)

    def texts(headers: dict[str, str] | None = None, **fields: Any) -> set[str]:
        return {row["text"] for row in ask(caller, "timeline", fields, **(headers or {}))["rows"]}

    assert texts(kind="decision") == {"A decision."}
    assert texts(protected="1") == {"Of the shop."}
    assert texts(level="4") == {archived.text.whole}
    assert "Forgotten." not in texts()
    assert "Forgotten." in texts(forgotten="1")
    assert "Of the books." not in texts({"nagori-project": "shop"})
    assert texts(until="2020-01-01") == set()


@pytest.mark.parametrize(
    "fields",
    [{"limit": 0}, {"limit": "x"}, {"level": 9}, {"kind": "?"}, {"after": "?"}, {"until": "tomorrow"}],
)
def test_a_wrong_filter_is_refused_in_words(caller: Caller, fields: dict[str, Any]) -> None:
    reply = caller.post("/view/api/timeline", fields, headers=JSON)
    assert reply.status == 400
    assert reply.json["error"]["message"]


def test_the_search_shows_what_the_hook_gives(memory: Nagori, caller: Caller) -> None:
    memory.remember("The staging server listens on port 8443.")
    memory.remember("Lunch was curry.")
    prompt = "Which port does the staging server use?"
    told = ask(caller, "context", {"prompt": prompt})
    assert told["text"] == memory.context(prompt, mark=False).text
    assert "8443" in told["candidates"][0]["text"]
    assert told["candidates"][0]["reasons"]
    memory.with_scope(agent="baker").remember("The staging server has port 9001.", privacy="private")
    told = ask(caller, "context", {"prompt": prompt})
    assert "8443" in told["text"]
    assert "9001" not in str(told)  # no hook gives what a named agent keeps to itself
    japanese = ask(caller, "context", {"prompt": prompt}, **{"accept-language": "ja"})
    assert "質問" in "".join(japanese["candidates"][0]["reasons"])


def test_one_memory_shows_its_words_its_future_and_its_turns(memory: Nagori, caller: Caller) -> None:
    [formed] = memory.form([{"role": "user", "content": "The ovens are serviced every Monday."}], session="s")
    told = ask(caller, "memory", {"id": formed.id})
    assert [one["state"] for one in told["levels"]] == ["kept", "planned", "planned"]
    assert told["sources"][0]["text"] == "The ovens are serviced every Monday."
    assert [each["level"] for each in told["forecast"]] == [2, 3, 4]
    assert len(told["curve"]["times"]) == len(told["curve"]["scores"])
    assert caller.post("/view/api/memory", {"id": "mem_none"}, headers=JSON).status == 404


def test_an_agent_is_not_shown_the_users_turns(memory: Nagori, caller: Caller) -> None:
    [formed] = memory.form([{"role": "user", "content": "The ovens are serviced every Monday."}], session="s")
    assert ask(caller, "memory", {"id": formed.id}, **{"nagori-agent": "bot"})["sources"] == []


def test_life_and_health_say_what_status_and_doctor_say(memory: Nagori, caller: Caller) -> None:
    memory.remember("One.")
    memory.remember("Two.", protect=True)
    life = ask(caller, "life")
    assert (life["total"], life["protected"], life["active"]) == (2, 1, 2)
    levels = ask(caller, "levels", {"wait": True})
    assert levels["groups"]["full"][levels["today"]] == 2
    assert len(levels["days"]) == len(levels["groups"]["trace"]) > 90
    told = caller.get("/view/api/health").json
    assert {one["state"] for one in told["findings"]} <= {"ok", "warn", "fail"}
    assert [one["detail"] for one in told["findings"] if one["name"] == "journal"] == [
        "local/me: 2 events, all sound"
    ]


def test_what_takes_long_is_computed_again_only_when_something_happened(
    memory: Nagori, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("One.")
    first = ask(caller, "levels", {"wait": True})
    with monkeypatch.context() as patch:
        patch.setattr(Nagori, "populations", None)  # would fail
        assert ask(caller, "levels", {"wait": True}) == first
    memory.remember("Two.")
    second = ask(caller, "levels", {"wait": True})
    assert second["groups"]["full"][second["today"]] == 2


def test_no_request_waits_for_a_long_page_and_the_last_answer_is_shown_meanwhile(
    memory: Nagori, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go, real = threading.Event(), Nagori.populations

    def slow(self: Nagori, past: Any, ahead: Any, progress: Any) -> Any:
        progress(1, 4)
        assert may_go.wait(60)
        return real(self, past, ahead, progress)

    monkeypatch.setattr(Nagori, "populations", slow)
    memory.remember("One.")
    assert ask(caller, "levels") == {"fresh": False, "share": 0.25}  # nothing to show yet
    may_go.set()
    first = ask(caller, "levels", {"wait": True})
    assert first["fresh"]
    assert first["groups"]["full"][first["today"]] == 1

    may_go.clear()
    memory.remember("Two.")
    monkeypatch.setattr("nagori.edges.viewer.slow_page_cache.REST", 0)
    stale = BackgroundPage(LONG_PAGES["levels"])  # its answers do not rest
    may_go.set()
    stale(memory, Translator("en"), {"wait": True})
    may_go.clear()
    memory.remember("Three.")
    shown = stale(memory, Translator("en"), {})
    assert not shown["fresh"]
    assert shown["groups"]["full"][shown["today"]] == 2  # as it was
    may_go.set()
    assert stale(memory, Translator("en"), {"wait": True})["groups"]["full"][shown["today"]] == 3


def test_a_fault_of_a_long_page_is_told_and_the_next_request_tries_again(
    memory: Nagori, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("One.")

    def fail(*_: object) -> Any:
        raise StoreError("error.store_row", reason="broken")

    with monkeypatch.context() as patch:
        patch.setattr(Nagori, "populations", fail)
        reply = caller.post("/view/api/levels", {"wait": True}, headers=JSON)
        assert reply.status >= 500
        assert "broken" in reply.json["error"]["message"]
    assert ask(caller, "levels", {"wait": True})["fresh"]


@pytest.mark.parametrize("act", ["erase", "forget", "edit", "privacy"])
def test_what_is_gone_is_in_no_answer_that_was_computed_before(
    memory: Nagori, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    """An old answer is shown until the new one is ready, but never with words that were taken away."""
    may_go, real = threading.Event(), Nagori.associate
    one = memory.remember("The Karlsruhe depot stores the spare ovens.")
    other = memory.remember("Marit hides the Karlsruhe depot's key in the flour.")
    page, agent = BackgroundPage(LONG_PAGES["connections"]), memory.with_scope(agent="baker")
    asked, english = {"id": one.id}, Translator("en")
    before = page(agent, english, {**asked, "wait": True})
    assert "flour" in str(before)

    def slow(*given: Any, **more: Any) -> Any:
        assert may_go.wait(60)
        return real(*given, **more)

    monkeypatch.setattr(Nagori, "associate", slow)
    if act == "erase":
        memory.erase(memory.plan_erasure(memory=other.id))
    elif act == "forget":
        memory.forget(other.id)
    elif act == "edit":
        memory.edit(other.id, content="Marit has the key of the Karlsruhe depot.")
    else:
        memory.edit(other.id, privacy="private")
    shown = page(agent, english, asked)
    assert shown == {"fresh": False, "share": 0.0}
    may_go.set()
    assert "flour" not in str(page(agent, english, {**asked, "wait": True}))


def test_long_answers_of_one_caller_are_not_shown_to_another(memory: Nagori, caller: Caller) -> None:
    memory.with_scope(project="shop").remember("Of the shop.")
    memory.with_scope(project="books").remember("Of the books.")
    everything = ask(caller, "levels", {"wait": True})
    shop = ask(caller, "levels", {"wait": True}, **{"nagori-project": "shop"})
    assert everything["groups"]["full"][everything["today"]] == 2
    assert shop["groups"]["full"][shop["today"]] == 1


def test_the_answers_that_are_kept_are_few(memory: Nagori, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nagori.edges.viewer.slow_page_cache.MOST_KEPT", 3)
    page = BackgroundPage(lambda memory, translator, fields, progress: dict(fields))
    for n in range(9):
        assert page(memory, Translator("en"), {"n": n, "wait": True})["n"] == n
    assert len(page._tasks) == 3


def talk(memory: Nagori, session: str = "bakery") -> None:
    said = [
        ("The ovens are serviced every first Monday by Aune and Sons.", "Noted: every first Monday."),
        ("They need the key of the back door for that.", "I will remind you of the key."),
        ("By the way, the label printer jams when it rains.", "Dry paper may help."),
    ]
    for user, assistant in said:
        memory.turn(user, session=session).answer(assistant)
    memory.process()


def test_sessions_and_threads_are_those_of_the_library(
    memory: Nagori, caller: Caller, clock: FrozenClock
) -> None:
    talk(memory)
    clock.forward(hours=3)
    [session] = ask(caller, "sessions")["sessions"]
    [known] = memory.sessions()
    assert (session["session"], session["turns"], session["threads"]) == ("bakery", 6, known.threads)
    threads = ask(caller, "threads", {"session": "bakery"})["threads"]
    expected = memory.threads("bakery")[::-1]
    assert [each["id"] for each in threads] == [each.thread.id for each in expected]
    assert [each["summary"] and each["summary"]["id"] for each in threads] == [e.memory for e in expected]
    assert threads[-1]["turns"][0]["text"].startswith("The ovens are serviced")
    assert not threads[0]["open"]
    assert ask(caller, "threads")["threads"] == []  # of no session
    assert ask(caller, "threads", {"session": "none"})["threads"] == []


def test_a_thread_of_many_long_turns_is_cut(memory: Nagori, caller: Caller) -> None:
    for n in range(60):
        memory.turn(f"Oven {n} needs service. " + "x" * 5_000, session="long")
    [thread] = ask(caller, "threads", {"session": "long"})["threads"][:1]
    assert thread["left_out"] == thread["count"] - len(thread["turns"])
    assert len(thread["turns"]) <= 40
    assert all(len(turn["text"]) <= 2_001 for turn in thread["turns"])


def test_an_agent_is_not_shown_conversations_of_another(memory: Nagori, caller: Caller) -> None:
    talk(memory.with_scope(agent="baker"))
    assert ask(caller, "sessions")["sessions"]
    assert ask(caller, "sessions", {}, **{"nagori-agent": "spy"})["sessions"] == []
    told = ask(caller, "threads", {"session": "bakery"}, **{"nagori-agent": "spy"})
    assert told["threads"] == []


def test_the_profile_is_that_of_the_library(memory: Nagori, caller: Caller) -> None:
    assert ask(caller, "profile", {"wait": True})["since"] is None
    for n in range(3):
        memory.remember(f"The ovens of the bakery were serviced, visit {n}.", source=Source(speaker="Ida"))
    told, known = ask(caller, "profile", {"wait": True}), memory.profile()
    assert [each["name"] for each in told["topics"]] == [each.name for each in known.topics] != []
    assert told["speakers"] == [{"name": "Ida", "spoke": 3, "mentions": 0}]
    assert told["memories"] == 3


def test_connections_of_a_memory_are_its_links_and_shared_topics(memory: Nagori, caller: Caller) -> None:
    one = memory.remember("The Karlsruhe depot stores the spare ovens.")
    other = memory.remember("Marit drives to the Karlsruhe depot on Friday.")
    third = memory.remember("The van is blue.")
    memory.link(one.id, third.id, "same_topic")
    hidden = memory.forget(memory.remember("The Karlsruhe depot has a dog.").id)
    told = ask(caller, "connections", {"id": one.id, "wait": True})
    assert told["centre"]["id"] == one.id
    rows = {row["id"] for row in told["memories"]}
    assert {other.id, third.id} <= rows
    assert not {one.id, hidden.id} & rows
    assert {"topic": None, "memory": third.id, "link": "same_topic"} in told["edges"]
    shared = [told["topics"][e["topic"]]["name"] for e in told["edges"] if e["memory"] == other.id]
    assert "karlsruhe" in " ".join(shared).lower()
    ends = {edge["memory"] for edge in told["edges"]}
    assert ends <= rows | {""}
    asked = ask(caller, "connections", {"text": "Karlsruhe", "wait": True})
    assert asked["centre"] is None
    assert {one.id, other.id} <= {row["id"] for row in asked["memories"]}
    assert ask(caller, "connections", {"wait": True})["memories"] == []  # nothing was asked
    assert caller.post("/view/api/connections", {"id": "mem_x", "wait": True}, headers=JSON).status == 404


def test_connections_are_bounded_and_hide_what_a_scope_may_not_see(memory: Nagori, caller: Caller) -> None:
    memory.remember_many([Draft(f"Depot Karlsruhe, shelf {n}, holds part {n}.") for n in range(80)])
    private = memory.with_scope(agent="baker").remember("Karlsruhe secret plan.", privacy="private")
    told = ask(caller, "connections", {"text": "depot Karlsruhe", "wait": True})
    assert len(told["memories"]) <= 24
    assert len(told["topics"]) <= 12
    spied = ask(caller, "connections", {"text": "Karlsruhe", "wait": True}, **{"nagori-agent": "spy"})
    assert private.id not in {row["id"] for row in spied["memories"]}


def test_knowledge_bases_are_listed_and_searched(memory: Nagori, caller: Caller, tmp_path: Path) -> None:
    assert ask(caller, "knowledge")["count"] == 0
    (tmp_path / "ovens.md").write_text("# Service\n\nThe ovens are serviced on the first Monday.")
    memory.add_knowledge(tmp_path / "ovens.md", kb="manuals")
    told = ask(caller, "knowledge")
    assert (told["bases"], told["documents"][0]["name"]) == (["manuals"], "ovens.md")
    assert told["passages"] == []
    found = ask(caller, "knowledge", {"query": "When are the ovens serviced?"})["passages"]
    assert "first Monday" in found[0]["text"]
    assert found[0]["document"] == "ovens.md"
    wrong = caller.post("/view/api/knowledge", {"query": "x", "kb": "../other"}, headers=JSON)
    assert wrong.status == 400


def learn(memory: Nagori, clock: FrozenClock) -> None:
    """Two changes of a learned setting, as nights write them."""
    for n, value in enumerate((3, 4), 1):
        data = {
            "values": {"hooks.max_memories": value},
            "setting": "hooks.max_memories",
            "before": value - 1,
            "value": value,
            "reason": "use",
            "gain": 0.02,
            "evidence": [0.0] * len(Evidence._names),
            "parent": memory.policy().versions[-1].seq if n > 1 else None,
        }
        event = Event("policy_changed", clock.now(), data, by="cycle")
        memory.runtime.ledger.write(memory.scope.owner, lambda event=event: [event])  # type: ignore[misc]


def test_learned_settings_are_shown_taken_back_and_switched_off(
    memory: Nagori, caller: Caller, clock: FrozenClock
) -> None:
    told = ask(caller, "policy")
    assert not told["versions"]
    assert not told["can_go_back"]
    assert {each["origin"] for each in told["settings"]} == {"default"}
    assert caller.post("/view/api/do/policy_back", {}, headers=JSON).status == 409  # there is nothing
    learn(memory, clock)
    told = ask(caller, "policy")
    assert len(told["versions"]) == 2
    assert "hooks.max_memories" in told["versions"][0]["words"][0]
    stale = caller.post("/view/api/do/policy_back", {"seq": told["versions"][1]["seq"]}, headers=JSON)
    assert stale.status == 409
    back = do(caller, "policy_back", seq=told["versions"][0]["seq"])
    assert dict(memory.policy().values) == {"hooks.max_memories": 3}
    assert back["can_go_back"]
    assert do(caller, "policy_off")["off"]
    assert memory.policy().off
    assert not do(caller, "policy_back")["off"]


def test_findings_about_this_machine_are_told_too(memory: Nagori) -> None:
    finding = make_finding("hooks", "fail", "doctor.hooks", hosts="Claude Code")
    app = create_app(memory, LocalAccess(TOKEN, memory.scope), routes=make_routes(lambda: [finding]))
    told = Caller(app, TOKEN).get("/view/api/health").json
    assert told["findings"][0]["detail"] == "Claude Code"  # what is broken comes first


def test_a_server_with_many_users_shows_nothing_about_the_machine(memory: Nagori) -> None:
    app = create_app(memory, LocalAccess(TOKEN, memory.scope), routes=make_routes())
    caller = Caller(app, TOKEN)
    for name in ("health", *MACHINE_PAGES):
        assert caller.get(f"/view/api/{name}").status == 404
    assert str(memory.runtime.data_dir) not in caller.get("/view/api/frame").body.decode()
    assert "health" not in ask(caller, "frame")["pages"]


def test_what_concerns_everything_of_a_user_is_refused_to_one_agent(memory: Nagori, caller: Caller) -> None:
    id = memory.remember("The port is 8443.").id
    agent = {**JSON, "nagori-agent": "bot"}
    assert not ask(caller, "frame", {}, **{"nagori-agent": "bot"})["whole"]
    for place in (
        *("plan", "policy", "do/policy_back", "do/policy_off"),
        *("do/cycle", "do/erasure", "do/erase"),
    ):
        assert caller.post(f"/view/api/{place}", {"id": id}, headers=agent).status == 403


# ── changes ──────────────────────────────────────────────────────────────────────────────────────


def test_a_memory_is_corrected_protected_and_both_are_undone(memory: Nagori, caller: Caller) -> None:
    id = memory.remember("The port is 8443.").id
    do(caller, "edit", id=id, content="The port is 9443.", version=1)
    do(caller, "protect", id=id)
    history = ask(caller, "memory", {"id": id})["history"]
    assert [(step["type"], step["undo"]) for step in history] == [
        ("protected", 1),
        ("edited", 2),
        ("formed", 0),
    ]
    answer = do(caller, "undo", id=id, seq=history[1]["seq"], steps=2)
    assert answer["undone"] == ["protected", "edited"]
    after = memory.show(id)
    assert (after.text.content, after.protected) == ("The port is 8443.", False)
    assert all(step["undo"] == 0 for step in ask(caller, "memory", {"id": id})["history"])


def test_undo_of_something_else_than_the_page_showed_is_refused(memory: Nagori, caller: Caller) -> None:
    id = memory.remember("The port is 8443.").id
    memory.edit(id, content="The port is 9443.")
    seq = ask(caller, "memory", {"id": id})["history"][0]["seq"]
    memory.protect(id)
    reply = caller.post("/view/api/do/undo", {"id": id, "seq": seq, "steps": 1}, headers=JSON)
    assert reply.status == 409
    assert memory.show(id).protected
    reply = caller.post("/view/api/do/undo", {"id": id, "steps": 9}, headers=JSON)
    assert reply.json["error"]["id"] == "error.nothing_to_undo"


def test_a_stale_correction_is_refused(memory: Nagori, caller: Caller) -> None:
    id = memory.remember("The port is 8443.").id
    memory.edit(id, content="The port is 9443.")
    reply = caller.post("/view/api/do/edit", {"id": id, "content": "x", "version": 1}, headers=JSON)
    assert reply.status == 409
    assert memory.show(id).text.content == "The port is 9443."


def test_the_limit_of_protection_offers_what_may_go(tmp_path: Path, clock: FrozenClock) -> None:
    from nagori.config import load

    config = load().config
    config = replace(config, protection=replace(config.protection, max_protected_memories=1))
    with Nagori.open(tmp_path / "small", clock=clock, embedder=WordEmbedder(), config=config) as memory:
        caller = Caller(
            create_app(memory, LocalAccess(TOKEN, memory.scope), routes=make_routes(no_findings)), TOKEN
        )
        old, new = memory.remember("Old.", protect=True), memory.remember("New.")
        full = do(caller, "protect", id=new.id)
        assert (full["limit"], [row["id"] for row in full["candidates"]]) == (1, [old.id])
        do(caller, "protect", id=new.id, release=[old.id])
        assert (memory.show(old.id).protected, memory.show(new.id).protected) == (False, True)


def test_archive_revive_forget_and_feedback(memory: Nagori, caller: Caller) -> None:
    id = memory.remember("The port is 8443.").id
    assert do(caller, "archive", id=id)["row"]["level"] == 4
    assert do(caller, "unarchive", id=id)["row"]["level"] == 1
    assert do(caller, "forget", id=id)["row"]["forgotten"]
    assert not do(caller, "undo", id=id)["row"]["forgotten"]
    assert do(caller, "feedback", id=id, good=True)["row"]["strength"] > 80
    assert not do(caller, "unprotect", id=id)["row"]["protected"]


def test_moving_a_memory_to_a_project_and_back(memory: Nagori, caller: Caller) -> None:
    id = memory.remember("The port is 8443.").id
    do(caller, "edit", id=id, project="shop", kind="decision", privacy="private", version=1)
    assert (memory.show(id).project, str(memory.show(id).kind)) == ("shop", "decision")
    do(caller, "edit", id=id, project="")
    assert memory.show(id).project is None


def test_erasing_needs_the_typed_token_and_gives_a_receipt(memory: Nagori, caller: Caller) -> None:
    id = memory.remember("My old address is Elm Street 5.").id
    plan = do(caller, "erasure", id=id)
    assert plan["parts"]
    for typed in ("", "x", plan["token"][:-1]):
        reply = caller.post("/view/api/do/erase", {"id": id, "token": typed}, headers=JSON)
        assert reply.status == 409
    done = do(caller, "erase", id=id, token=f" {plan['token'].upper()} ")
    assert done["clean"]
    assert done["receipt"]["signature"]
    assert caller.post("/view/api/memory", {"id": id}, headers=JSON).status == 404


def test_tonights_plan_is_run_from_the_page(memory: Nagori, caller: Caller, clock: FrozenClock) -> None:
    for n in range(12):
        memory.remember(f"Something small happened on day {n}.", kind="episode")
    clock.forward(days=400)
    plan = ask(caller, "plan", {"wait": True})
    assert plan["steps"] == 12
    assert plan["kinds"][0]["examples"]
    assert do(caller, "cycle")["done"] == 12
    assert ask(caller, "plan", {"wait": True})["steps"] == 0


def test_a_night_that_moves_most_of_a_large_store_asks_first(
    memory: Nagori, caller: Caller, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nagori.core.cycle.CONFIRM_FROM", 10)
    for n in range(12):
        memory.remember(f"Something small happened on day {n}.", kind="episode")
    memory.cycle()
    clock.forward(days=400)
    assert do(caller, "cycle") == {"asks": True, "moves": 12, "total": 12}
    assert memory.status().stopped_moves == 12
    assert do(caller, "cycle", confirmed=True)["done"] == 12


# ── the server of `nagori view` ──────────────────────────────────────────────────────────────────


@pytest.fixture
def running(memory: Nagori) -> Iterator[ViewerServer]:
    viewer = ViewerServer(memory, language="ja")
    thread = threading.Thread(target=viewer.run)
    thread.start()
    yield viewer
    viewer.stop()
    thread.join()


def test_the_address_has_the_token_in_its_fragment_only(running: ViewerServer) -> None:
    address, _, fragment = running.url.partition("#")
    assert running.token not in address
    assert fragment == f"token={running.token}&lang=ja"
    assert address.startswith("http://127.0.0.1:")


def test_two_viewers_have_two_tokens(memory: Nagori) -> None:
    tokens = set()
    for _ in range(2):
        viewer = ViewerServer(memory)
        tokens.add(viewer.token)
        viewer._socket.close()
    assert len(tokens) == 2


def test_it_ends_when_nobody_asks_any_more(memory: Nagori) -> None:
    viewer = ViewerServer(memory)
    started = time.monotonic()
    viewer.run(idle=0.4)  # returns
    assert time.monotonic() - started >= 0.4


def test_an_open_page_keeps_it_running() -> None:
    now = [0.0]

    async def application(scope: Any, receive: Any, send: Any) -> None:
        assert watch.idle_seconds == 0.0  # while it is open, however long
        now[0] += 1000

    watch = ActivityWatch(application, lambda: now[0])
    asyncio.run(watch({"type": "http"}, None, None))
    assert watch.idle_seconds == 0.0
    now[0] += 7
    assert watch.idle_seconds == 7.0


def test_the_stream_tells_when_something_was_remembered(memory: Nagori, running: ViewerServer) -> None:
    import http.client

    connection = http.client.HTTPConnection(running.origin.removeprefix("http://"), timeout=20)
    connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {running.token}"})
    stream = connection.getresponse()
    assert stream.getheader("content-type", "").startswith("text/event-stream")
    assert stream.readline().startswith(b":")
    memory.remember("Something new.")
    assert any(line == b"id: 1\n" for line in (stream.readline() for _ in range(20)))
    connection.close()


@pytest.mark.parametrize(
    ("language", "word"), [("en", "The viewer runs."), ("ja", "ビューアーを起動しました")]
)
def test_the_command_prints_the_address_and_ends_by_itself(tmp_path: Path, language: str, word: str) -> None:
    command = [sys.executable, "-m", "nagori", "--data-dir", str(tmp_path / "data"), "--lang", language]
    done = subprocess.run(
        [*command, "view", "--no-open", "--idle", "0.005"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert re.fullmatch(
        rf"http://127\.0\.0\.1:\d+/view/#token=[\w-]{{43}}&lang={language}", done.stdout.strip()
    )
    assert word in done.stderr
    assert "token" not in done.stderr


def test_a_port_that_is_taken_is_told(tmp_path: Path, running: ViewerServer) -> None:
    port = running.origin.rpartition(":")[2]
    command = [sys.executable, "-m", "nagori", "--data-dir", str(tmp_path / "other"), "view", "--no-open"]
    done = subprocess.run([*command, "--port", port], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"Port {port} cannot be used" in done.stderr
