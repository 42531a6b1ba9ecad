"""Serve MCP on standard input and output, or on a local port behind a token.

A server on a port answers only requests with its token (`Authorization: Bearer …`) and with a Host and an
Origin of this machine: a web page in a browser has neither.
"""

from __future__ import annotations

import hmac
from pathlib import Path
from typing import Any

import anyio
from mcp.server import MCPServer

from nagori.files import read_secret

LOOPBACK = ("127.0.0.1", "localhost", "::1")
LARGEST_BODY = 4 * 1024 * 1024
TOKEN_FILE = "mcp-token"  # noqa: S105 - the name of the file that holds it


def serve_stdio(server: MCPServer[Any]) -> None:
    """Serve one client until it closes the pipe."""
    anyio.run(server.run_stdio_async)


def serve_http(server: MCPServer[Any], host: str, port: int, token: str | None) -> None:
    """Serve on a local port; without a token anybody on this machine may ask."""
    import uvicorn

    app = make_app(server, host, token)
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)


def make_app(server: MCPServer[Any], host: str, token: str | None) -> Any:
    """The ASGI application: `/mcp`, with Host and Origin checked by the SDK."""
    app = server.streamable_http_app(host=host, max_request_body_size=LARGEST_BODY)
    return app if token is None else RequireToken(app, token)


class RequireToken:
    """Answer 401 to every request without the token."""

    def __init__(self, app: Any, token: str) -> None:
        self._app, self._wanted = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._wanted):
                await _refuse(send)
                return
        await self._app(scope, receive, send)


async def _refuse(send: Any) -> None:
    headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": b"This server needs its token.\n"})


def read_token(folder: Path) -> tuple[str, Path]:
    """The token of this memory and the file that holds it; the first call makes it."""
    path = folder / TOKEN_FILE
    return read_secret(path), path
