"""Build the ASGI application: routes, access, limits and errors in one place.

A route of another module gets the caller's memory by `authenticated(request)` and runs a verb in the bounded
thread pool by `run_verb(request, verb)`. Errors that they raise become replies here.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nagori.app import Nagori
from nagori.edges.http.access import Access, Refused
from nagori.edges.http.idempotency import check_key, request_digest, run_once
from nagori.edges.http.limits import Limits, RateLimiter
from nagori.edges.http.metrics import RequestMetrics
from nagori.edges.http.openapi import describe_api
from nagori.edges.http.operations import OPERATIONS, Operation, read_request
from nagori.edges.http.replies import encode, error_reply, json_reply
from nagori.edges.http.streams import STREAMS
from nagori.edges.http.verb_runner import Server, in_thread
from nagori.edges.http.verb_runner import authenticated as authenticated
from nagori.edges.http.verb_runner import run_verb as run_verb
from nagori.errors import NagoriError

Log = Callable[[dict[str, Any]], None]


def no_log(line: dict[str, Any]) -> None:
    """Write nothing."""


def create_app(
    memory: Nagori,
    access: Access,
    *,
    limits: Limits | None = None,
    routes: Sequence[BaseRoute] = (),
    metrics_token: str | None = None,
    log: Log = no_log,
) -> Starlette:
    """The application for an opened memory. `routes` are added to ours; each of them decides with
    `authenticated` whether it needs a caller. Host and Origin are checked before any of them. `log` gets a
    line for each request, without words of memories."""
    limits = limits or Limits()
    metrics = RequestMetrics(metrics_token)
    pool = anyio.CapacityLimiter(limits.threads)
    guard = Middleware(Guard, access=access, limits=limits, metrics=metrics, log=log)
    document = encode(describe_api(OPERATIONS))

    async def openapi(request: Request) -> Response:
        return Response(document, media_type="application/json")

    app = Starlette(
        routes=[
            *_routes(),
            *STREAMS,
            Route("/openapi.json", openapi),
            Route("/health", _health),
            Route("/ready", _ready),
            Route("/metrics", metrics.answer),
            *routes,
        ],
        middleware=[guard],
        exception_handlers={
            NagoriError: error_reply,
            404: lambda request, _: error_reply(request, Refused(404, "error.http_path")),
            405: _wrong_method,
        },
    )
    app.state.server = Server(memory, access, limits, RateLimiter(limits.per_minute), pool)
    return app


def _routes() -> list[Route]:
    """One route for each path, with all its methods."""
    paths: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = operation

    def route(path: str, methods: dict[str, Operation]) -> Route:
        async def answer(request: Request) -> Response:
            return await run_operation(
                methods["GET" if request.method == "HEAD" else request.method], request
            )

        return Route(path, answer, methods=[*methods])

    return [route(path, methods) for path, methods in paths.items()]


async def run_operation(operation: Operation, request: Request) -> Response:
    """Carry out a request: first who asks, then what is asked."""
    body = await request.body()

    def work(own: Nagori) -> object:
        wish = read_request(operation, request, body)
        key = request.headers.get("idempotency-key") if operation.once else None
        if key is None:
            return operation.work(own, wish)
        return run_once(own, operation, wish, check_key(key), request_digest(operation, encode(wish)))

    return json_reply(await run_verb(request, work, whole=operation.whole), operation.status)


def _wrong_method(request: Request, fault: Exception) -> Response:
    reply = error_reply(request, Refused(405, "error.http_method"))
    reply.headers.update(getattr(fault, "headers", None) or {})
    return reply


async def _health(request: Request) -> Response:
    """Whether the process answers; it needs no key."""
    return json_reply({"status": "ok"})


async def _ready(request: Request) -> Response:
    """Whether journal and store can be read; it needs no key and says nothing about what is in them."""
    runtime = request.app.state.server.memory.runtime
    owner = request.app.state.server.memory.scope.owner
    await in_thread(request, lambda: (runtime.journal.last_seq(owner), runtime.store.applied(owner)))
    return json_reply({"status": "ready"})


class Guard:
    """Around every route: check Host and Origin, limit the size of bodies, count, log, answer for bugs."""

    def __init__(
        self, app: ASGIApp, access: Access, limits: Limits, metrics: RequestMetrics, log: Log
    ) -> None:
        self._app, self._access, self._limits = app, access, limits
        self._metrics, self._log = metrics, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        request, started = Request(scope), time.perf_counter()
        status, line = 0, dict[str, Any]()

        async def send_and_note(message: Message) -> None:
            nonlocal status
            status = status or message.get("status", 0)
            await send(message)

        try:
            self._check(request)
            await self._app(scope, self._limited(receive), send_and_note)
        except Exception as fault:
            if not isinstance(fault, NagoriError):  # its message may hold words of a memory
                line = {"error": type(fault).__name__, "where": _where(fault)}
            if status == 0:
                await error_reply(request, fault)(scope, receive, send_and_note)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "")
            self._metrics.count(scope["method"], route, status, seconds)
            key = scope.get("nagori.key")
            told = {"method": scope["method"], "route": route, "status": status, "key": key}
            self._log({**told, "ms": round(seconds * 1000, 2), **line})

    def _check(self, request: Request) -> None:
        self._access.check_origin(request)
        length = request.headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal() and len(length) < 19):
            raise Refused(400, "error.http_body", reason="content-length")
        if int(length) > self._limits.body_bytes:
            raise self._too_large()

    def _limited(self, receive: Receive) -> Receive:
        left = self._limits.body_bytes

        async def receive_limited() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise self._too_large()
            return message

        return receive_limited

    def _too_large(self) -> Refused:
        return Refused(413, "error.http_too_large", most=self._limits.body_bytes)


def _where(fault: Exception) -> str:
    """The place in the source where an error was raised."""
    frames = traceback.extract_tb(fault.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
