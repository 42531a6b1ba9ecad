"""Call an ASGI application without a socket: what a test sends and what it gets back."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import unquote_to_bytes


class Reply:
    """Status, headers and body of an answer."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Caller:
    """A client of an application, with a token."""

    def __init__(self, app: Any, token: str, host: str = "127.0.0.1:8438") -> None:
        self.app = app
        self.headers = {"host": host, "authorization": f"Bearer {token}"}

    def get(self, path: str, **more: Any) -> Reply:
        return self.request("GET", path, **more)

    def post(self, path: str, body: object = None, **more: Any) -> Reply:
        return self.request("POST", path, body, **more)

    def delete(self, path: str, **more: Any) -> Reply:
        return self.request("DELETE", path, **more)

    def request(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> Reply:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {**self.headers, **(headers or {})}
        if data:
            given.setdefault("content-length", str(len(data)))
        return asyncio.run(self._ask(method, path, data, given))

    async def _ask(self, method: str, path: str, data: bytes, headers: dict[str, str]) -> Reply:
        where, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote_to_bytes(where).decode("utf-8", "replace"),
            "raw_path": where.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items() if value],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8438),
        }
        sent: list[Any] = []
        waiting = [{"type": "http.request", "body": data, "more_body": False}]

        async def receive() -> Any:
            if waiting:
                return waiting.pop()
            return await asyncio.sleep(3600)

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        status = sent[0]["status"]
        got = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Reply(status, got, b"".join(message.get("body", b"") for message in sent[1:]))
