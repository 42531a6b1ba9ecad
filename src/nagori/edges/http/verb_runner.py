"""Open the caller's memory for a route, and run verbs in the bounded thread pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread
from starlette.requests import Request

from nagori.app import Nagori
from nagori.core.value_object import Value
from nagori.edges.http.access import Access, Grant, Refused
from nagori.edges.http.limits import Limits, RateLimiter

Result = TypeVar("Result")


class Server(Value):
    """What the routes of one server share."""

    memory: Nagori
    access: Access
    limits: Limits
    rates: RateLimiter
    pool: anyio.CapacityLimiter


async def authenticated(request: Request) -> Nagori:
    """The memory in the scope of the caller; Refused without a valid token or key."""
    return await in_thread(request, lambda: open_scope(request))


async def run_verb(request: Request, verb: Callable[[Nagori], Result], *, whole: bool = False) -> Result:
    """Run a verb of the caller's memory in a thread, within the server's limits. `whole`: it concerns
    everything of the user, so a scope of one agent or project is refused."""
    return await in_thread(request, lambda: verb(open_scope(request, whole=whole)))


def open_scope(request: Request, *, whole: bool = False) -> Nagori:
    """The same as `authenticated`, for code that is in a thread already."""
    scope = read_grant(request).scope(request.headers)
    if whole and not scope.is_whole:
        raise Refused(403, "error.http_whole")
    memory: Nagori = request.app.state.server.memory
    return memory.with_scope(scope)


def read_grant(request: Request) -> Grant:
    """What the caller may reach; Refused without a valid token or key, and beyond its number of requests."""
    server: Server = request.app.state.server
    grant = server.access.grant(request)
    request.scope["nagori.key"] = grant.name
    server.rates.check(grant.name)
    return grant


async def in_thread(request: Request, work: Callable[[], Result]) -> Result:
    """The result of work that blocks. If it takes too long, the caller gets an error; the work goes on."""
    server: Server = request.app.state.server
    with anyio.move_on_after(server.limits.seconds):
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=server.pool)
    raise Refused(503, "error.http_timeout", seconds=server.limits.seconds)
