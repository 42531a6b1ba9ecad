"""Run the viewer on this machine until nobody looks at it any more."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlencode

import uvicorn

from nagori.app import Nagori
from nagori.edges.http.access import LocalAccess
from nagori.edges.http.app import create_app
from nagori.edges.http.limits import Limits
from nagori.edges.viewer.routes import Findings, make_routes, no_findings

HOST = "127.0.0.1"
TOKEN_BYTES = 32
LIMITS = Limits(seconds=600.0)  # the only caller waits for a cycle or a large journal rather than for nothing


class ActivityWatch:
    """An application that notes when it was asked last. An open page keeps one request open."""

    def __init__(self, app: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._clock = app, clock
        self._open, self._last = 0, clock()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._open += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open -= 1
            self._last = self._clock()

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last request ended; 0 while one is open."""
        return 0.0 if self._open else self._clock() - self._last


class ViewerServer:
    """A viewer on a port of this machine. The address holds the token in its fragment, which a browser never
    sends."""

    def __init__(
        self, memory: Nagori, *, port: int = 0, language: str = "", findings: Findings = no_findings
    ) -> None:
        self.token = token_urlsafe(TOKEN_BYTES)
        self._socket = socket.create_server((HOST, port))
        self.origin = f"http://{HOST}:{self._socket.getsockname()[1]}"
        said = {"token": self.token, **({"lang": language} if language else {})}
        self.url = f"{self.origin}/view/#{urlencode(said)}"
        access = LocalAccess(self.token, memory.scope)
        self.watch = ActivityWatch(create_app(memory, access, limits=LIMITS, routes=make_routes(findings)))
        config = uvicorn.Config(
            self.watch, log_level="critical", access_log=False, timeout_graceful_shutdown=1
        )
        self.server = uvicorn.Server(config)

    def run(self, idle: float | None = None) -> None:
        """Serve until it is stopped, or until nobody asked for `idle` seconds."""
        with self._socket:
            asyncio.run(self._serve(idle))

    def stop(self) -> None:
        """End it, also while pages are open."""
        self.server.should_exit = True

    async def _serve(self, idle: float | None) -> None:
        watching = asyncio.create_task(self._stop_when_idle(idle)) if idle else None
        try:
            await self.server.serve([self._socket])
        finally:
            if watching is not None:
                watching.cancel()

    async def _stop_when_idle(self, idle: float) -> None:
        while self.watch.idle_seconds < idle:
            await asyncio.sleep(min(1.0, idle / 4))
        self.stop()
