"""Decide who may call the server, and in which scope.

Local mode: one random token, and a Host and an Origin of this machine, because a web page in a browser can
reach a local port too. Keys mode: each API key has its own scope (`keys.py`).
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import unquote

from starlette.requests import HTTPConnection

from nagori.core.model import Scope
from nagori.core.value_object import Value
from nagori.errors import NagoriError

VISIBLE = re.compile(r"[!-~]{1,256}")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
UNNAMED_AGENT = "nagori-unnamed-agent"  # "true": an agent without a name asks, not the user
SCOPE_HEADERS = {name: f"nagori-{name}" for name in ("user", "project", "agent", "role")}


class Refused(NagoriError):
    """The server does not carry out this request; `status` is the HTTP status."""

    def __init__(self, status: int, message_id: str, /, **values: object) -> None:
        super().__init__(message_id, **values)
        self.status = status


class Grant(Value):
    """What a caller may reach. A request cannot change a field that is set; `role` goes with `agent`."""

    name: str  # of the key, for logs
    tenant: str
    user: str | None = None
    project: str | None = None
    agent: str | None = None
    role: str | None = None
    default_user: str | None = None  # where neither the grant nor the request names one

    def scope(self, headers: Mapping[str, str]) -> Scope:
        """The scope of a request: what the grant says, narrowed by the request's headers."""
        asked = {name: read_name(headers[key]) for name, key in SCOPE_HEADERS.items() if key in headers}
        fixed = {name: value for name in SCOPE_HEADERS if (value := getattr(self, name)) is not None}
        if self.agent is not None:
            fixed["role"] = self.role  # also None: an agent without a role cannot take one
        for name in asked.keys() & fixed.keys():
            if asked[name] != fixed[name]:
                raise Refused(403, "error.http_scope", field=name)
        found = {"user": self.default_user, **asked, **fixed}
        if found["user"] is None:
            raise Refused(400, "error.http_user")
        if headers.get(UNNAMED_AGENT, "true") != "true":
            raise Refused(400, "error.http_header")
        return Scope(tenant=self.tenant, unnamed_agent=UNNAMED_AGENT in headers, **found)


class Access(Protocol):
    """Who may call."""

    def check_origin(self, request: HTTPConnection) -> None:
        """Refused unless the request may have come from where it says. Checked for every path."""

    def grant(self, request: HTTPConnection) -> Grant:
        """What the caller may reach; Refused without a valid token or key. It may read the store."""


class LocalAccess:
    """One token for the person at this machine."""

    def __init__(self, token: str, scope: Scope) -> None:
        self._token = token.encode()
        self._grant = Grant("local", scope.tenant, default_user=scope.user)

    def check_origin(self, request: HTTPConnection) -> None:
        """The Host must be this machine, and a page may ask only the server that it came from."""
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or host_name(hosts[0]) not in LOOPBACK:
            raise Refused(403, "error.http_host")
        for origin in request.headers.getlist("origin"):
            if origin != f"http://{hosts[0]}":
                raise Refused(403, "error.http_origin")
        if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            raise Refused(403, "error.http_origin")

    def grant(self, request: HTTPConnection) -> Grant:
        if not hmac.compare_digest(bearer(request).encode(), self._token):
            raise Refused(401, "error.http_token")
        return self._grant


def read_name(text: str) -> str:
    """A name in a header: ASCII, with percent signs for anything else, as in an address."""
    if not VISIBLE.fullmatch(text):
        raise Refused(400, "error.http_header")
    name = unquote(text)
    return name if name.strip() and name.isprintable() else text


def bearer(request: HTTPConnection) -> str:
    """The token of a request, empty without one. Two of them are none."""
    given = request.headers.getlist("authorization")
    kind, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    return token.strip() if kind.lower() in ("bearer", "token") else ""


def host_name(host: str) -> str:
    """The name in a Host header, without the port."""
    if host.startswith("["):
        name, bracket, rest = host[1:].partition("]")
        return name if bracket and (not rest or (rest[0] == ":" and _is_port(rest[1:]))) else ""
    name, colon, port = host.partition(":")
    return name if not colon or _is_port(port) else ""


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 5
