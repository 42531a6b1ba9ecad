"""Build the ASGI application: routes, access, limits and errors in one place.

A route of another module gets the caller's memory by `authenticated(request)` and runs a verb in the bounded
thread pool by `run_verb(request, verb)`. Errors that they raise become replies here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nagori.app import Nagori
from nagori.core.values import Value
from nagori.edges.http.access import Access, Refused
from nagori.edges.http.operations import OPERATIONS, Operation, read_request
from nagori.edges.http.replies import error_reply, json_reply
from nagori.errors import NagoriError

Result = TypeVar("Result")


class Limits(Value):
    """What one request may cost."""

    body_bytes: int = 4 * 1024 * 1024
    seconds: float = 30.0
    threads: int = 8


class Server(Value):
    """What the routes of one server share."""

    memory: Nagori
    access: Access
    limits: Limits
    pool: anyio.CapacityLimiter


def create_app(
    memory: Nagori, access: Access, *, limits: Limits | None = None, routes: Sequence[BaseRoute] = ()
) -> Starlette:
    """The application for an opened memory. `routes` are added to ours; each of them decides with
    `authenticated` whether it needs a caller. Host and Origin are checked before any of them."""
    limits = limits or Limits()
    app = Starlette(
        routes=[*(_route(operation) for operation in OPERATIONS), Route("/health", _health), *routes],
        middleware=[Middleware(Guard, access=access, limits=limits)],
        exception_handlers={
            NagoriError: error_reply,
            Exception: error_reply,
            404: lambda request, _: error_reply(request, Refused(404, "error.http_path")),
            405: lambda request, _: error_reply(request, Refused(405, "error.http_method")),
        },
    )
    app.state.server = Server(memory, access, limits, anyio.CapacityLimiter(limits.threads))
    return app


async def authenticated(request: Request) -> Nagori:
    """The memory in the scope of the caller; Refused without a valid token or key."""
    server: Server = request.app.state.server
    grant = await _in_thread(server, server.access.grant, request)
    return server.memory.with_scope(grant.scope(request.headers))


async def run_verb(request: Request, verb: Callable[[Nagori], Result]) -> Result:
    """Run a verb of the caller's memory in a thread, within the server's limits."""
    memory = await authenticated(request)
    return await _in_thread(request.app.state.server, verb, memory)


async def _in_thread(server: Server, work: Callable[..., Result], *arguments: Any) -> Result:
    with anyio.move_on_after(server.limits.seconds):
        return await anyio.to_thread.run_sync(work, *arguments, abandon_on_cancel=True, limiter=server.pool)
    raise Refused(503, "error.http_timeout", seconds=server.limits.seconds)


def _route(operation: Operation) -> Route:
    async def answer(request: Request) -> Response:
        wish = await read_request(operation, request)
        result = await run_verb(request, lambda memory: operation.work(memory, wish))
        return json_reply(result, operation.status)

    return Route(operation.path, answer, methods=[operation.method], name=operation.name)


async def _health(request: Request) -> Response:
    """Whether the process answers; it needs no key."""
    return json_reply({"status": "ok"})


class Guard:
    """Check Host and Origin and limit the size of bodies, before any route."""

    def __init__(self, app: ASGIApp, access: Access, limits: Limits) -> None:
        self._app, self._access, self._limits = app, access, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        try:
            self._access.check_origin(request)
            length = request.headers.get("content-length", "0")
            if not length.isdecimal() or int(length) > self._limits.body_bytes:
                raise self._too_large()
        except Refused as refused:
            await error_reply(request, refused)(scope, receive, send)
            return
        left = self._limits.body_bytes

        async def receive_limited() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise self._too_large()
            return message

        await self._app(scope, receive_limited, send)

    def _too_large(self) -> Refused:
        return Refused(413, "error.http_too_large", most=self._limits.body_bytes)
