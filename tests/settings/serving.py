"""Experiments on the HTTP server: what a caller gets when a limit is reached, and what hooks send to one."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from tests.http.calls import Caller
from tests.settings.lab import Experiment, Lab, from_to

from nagori import Nagori, Scope
from nagori.edges.http.access import LocalAccess
from nagori.edges.http.app import create_app
from nagori.edges.http.limits import Limits
from nagori.journals.file import FileJournal

TOKEN = "t" * 43
SLOW = 0.4  # seconds


def caller(lab: Lab, memory: Nagori | None = None) -> Caller:
    app = create_app(memory or lab.open(), LocalAccess(TOKEN, Scope()), limits=Limits.of(lab.config.server))
    return Caller(app, TOKEN)


def answer_to_a_large_request(lab: Lab) -> int:
    return caller(lab).post("/v1/memories", {"content": "x" * 5000}).status


def answer_to_a_slow_request(lab: Lab) -> int:
    memory, ready = lab.open(), threading.Event()
    lab.patch.setattr(Nagori, "list", lambda *_, **__: ready.wait(SLOW) or [])
    return caller(lab, memory).get("/v1/memories").status


def answer_to_the_third_request(lab: Lab) -> int:
    call = caller(lab)
    return [call.get("/v1/memories").status for _ in range(3)][-1]


def most_at_once(lab: Lab) -> int:
    """How many of four requests are worked on at the same time."""
    memory, lock = lab.open(), threading.Lock()
    present: list[int] = [0, 0]

    def slow(*_: object, **__: object) -> list[Any]:
        with lock:
            present[0] += 1
            present[1] = max(present)
        threading.Event().wait(SLOW)
        with lock:
            present[0] -= 1
        return []

    lab.patch.setattr(Nagori, "list", slow)
    call = caller(lab, memory)

    async def ask_four() -> None:
        await asyncio.gather(*(call._ask("GET", "/v1/memories", b"", call.headers) for _ in range(4)))

    asyncio.run(ask_four())
    return present[1]


# --- hooks that send to a server ------------------------------------------------------------------


def recorded_here(lab: Lab) -> int:
    """How many turns a prompt leaves in the journal of this machine."""
    lab.export(NAGORI_KEY="nagori_x")
    lab.hook("UserPromptSubmit", prompt="Which kettle was a present?")
    return FileJournal(lab.folder / "data" / "journal").last_seq(Scope().owner)


def key_that_is_sent(lab: Lab) -> str | None:
    server = lab.serve()
    lab.export(NAGORI_KEY="nagori_usual", OTHER_KEY="nagori_other", NAGORI_HOOKS__SERVER=server.url)
    lab.hook("UserPromptSubmit", prompt="Which kettle was a present?")
    return server.requests[0].headers.get("authorization")


EXPERIMENTS = [
    Experiment("hooks.server", "http://127.0.0.1:1", recorded_here, from_to(1, 0)),
    Experiment(
        "hooks.server_key_env",
        "OTHER_KEY",
        key_that_is_sent,
        from_to("Bearer nagori_usual", "Bearer nagori_other"),
    ),
    Experiment("server.max_body_bytes", 1024, answer_to_a_large_request, from_to(201, 413)),
    Experiment("server.timeout_seconds", 0.05, answer_to_a_slow_request, from_to(200, 503)),
    Experiment("server.requests_per_minute", 2, answer_to_the_third_request, from_to(200, 429)),
    Experiment("server.threads", 1, most_at_once, from_to(4, 1)),
]
