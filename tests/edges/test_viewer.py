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
from nagori.core.values import replace
from nagori.edges.http.access import LocalAccess
from nagori.edges.http.app import create_app
from nagori.edges.viewer.changes import CHANGES
from nagori.edges.viewer.pages import PAGES
from nagori.edges.viewer.routes import make_routes, no_findings, static_files
from nagori.edges.viewer.serve import ActivityWatch, ViewerServer
from nagori.services.doctor import make_finding
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
            for name in (*PAGES, "levels", "health", "costs")
        ),
        *(("POST", f"/view/api/{name}") for name in PAGES),
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
    for name in (*PAGES, "levels", "costs", "health"):
        reply = caller.get(f"/view/api/{name}?id={id}&prompt=x", headers={"origin": "http://127.0.0.1:8438"})
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
    levels = ask(caller, "levels")
    assert levels["groups"]["full"][levels["today"]] == 2
    assert len(levels["days"]) == len(levels["groups"]["trace"]) > 90
    told = caller.get("/view/api/health").json
    assert {one["state"] for one in told["findings"]} <= {"ok", "warn", "fail"}
    assert [one["detail"] for one in told["findings"] if one["name"] == "journal"] == [
        "local/me: 2 events, all sound"
    ]


def test_levels_over_time_are_computed_again_only_when_something_happened(
    memory: Nagori, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("One.")
    first = ask(caller, "levels")
    with monkeypatch.context() as patch:
        patch.setattr(Nagori, "populations", None)  # would fail
        assert ask(caller, "levels") == first
    memory.remember("Two.")
    second = ask(caller, "levels")
    assert second["groups"]["full"][second["today"]] == 2


def test_findings_about_this_machine_are_told_too(memory: Nagori) -> None:
    finding = make_finding("hooks", "fail", "doctor.hooks", hosts="Claude Code")
    app = create_app(memory, LocalAccess(TOKEN, memory.scope), routes=make_routes(lambda: [finding]))
    told = Caller(app, TOKEN).get("/view/api/health").json
    assert told["findings"][0]["detail"] == "Claude Code"  # what is broken comes first


def test_a_server_with_many_users_shows_nothing_about_the_machine(memory: Nagori) -> None:
    app = create_app(memory, LocalAccess(TOKEN, memory.scope), routes=make_routes())
    caller = Caller(app, TOKEN)
    for name in ("health", "costs"):
        assert caller.get(f"/view/api/{name}").status == 404
    assert str(memory.runtime.data_dir) not in caller.get("/view/api/frame").body.decode()
    assert "health" not in ask(caller, "frame")["pages"]


def test_what_concerns_everything_of_a_user_is_refused_to_one_agent(memory: Nagori, caller: Caller) -> None:
    id = memory.remember("The port is 8443.").id
    agent = {**JSON, "nagori-agent": "bot"}
    assert not ask(caller, "frame", {}, **{"nagori-agent": "bot"})["whole"]
    for place in ("plan", "do/cycle", "do/erasure", "do/erase"):
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
    plan = ask(caller, "plan")
    assert plan["steps"] == 12
    assert plan["kinds"][0]["examples"]
    assert do(caller, "cycle")["done"] == 12
    assert ask(caller, "plan")["steps"] == 0


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
