"""A connection with one deadline for everything: name resolution, sockets, TLS, proxy tunnel.

http.client uses it like any other connection; the socket timeout is set again before each operation.
"""

from __future__ import annotations

import io
import socket
import ssl
from base64 import b64encode
from collections.abc import Callable
from http.client import HTTPConnection
from threading import Thread
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Deadline:
    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self.seconds, self._clock, self._end = seconds, clock, clock() + seconds

    def left(self) -> float:
        return self._end - self._clock()

    def bound(self, sock: socket.socket) -> None:
        """Let the next operation of `sock` take what is left, and no more."""
        left = self.left()
        if left <= 0:
            raise TimeoutError
        sock.settimeout(left)


class Line(HTTPConnection):
    """A connection bound by the deadline."""

    sock: Any
    _wire: socket.socket | None = None

    def __init__(self, at: SplitResult, deadline: Deadline) -> None:
        secure = at.scheme == "https"
        host, port = at.hostname or "", at.port or (443 if secure else 80)
        proxy = _proxy(host) if secure else None
        super().__init__(proxy.hostname or "" if proxy else host, (proxy.port or 80) if proxy else port)
        if proxy:
            self.set_tunnel(host, port, _proxy_key(proxy))
        self._name, self._secure, self._deadline, self._through = host, secure, deadline, proxy is not None

    def connect(self) -> None:
        self._wire = raw = _dial(self.host, self.port, self._deadline)
        self.sock = _DeadlineSocket(raw, self._deadline)
        if self._through:
            self._tunnel()  # type: ignore[attr-defined]
        if self._secure:
            self._deadline.bound(raw)
            self._wire = ssl.create_default_context().wrap_socket(raw, server_hostname=self._name)
            self.sock = _DeadlineSocket(self._wire, self._deadline)

    def hang_up(self) -> None:
        """The end. `close` is not: http.client calls it before the answer is read."""
        if self._wire is not None:
            self._wire.close()


class _DeadlineSocket(io.RawIOBase):
    """The socket interface that http.client uses; each send and receive gets only the remaining time."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock, self._deadline = sock, deadline

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self._deadline.bound(self._sock)
            rest = rest[self._sock.send(rest[:65536]) :]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._deadline.bound(self._sock)
        return self._sock.recv_into(buffer)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def close(self) -> None:
        """Left to `hang_up`: the reader made here outlives it."""


def _dial(host: str, port: int, deadline: Deadline) -> socket.socket:
    """A connected socket: tries every address of the name, within one deadline."""
    trouble: OSError | None = None
    for family, kind, protocol, _, address in _resolve(host, port, deadline):
        sock = socket.socket(family, kind, protocol)
        try:
            deadline.bound(sock)
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
        except OSError as fault:
            sock.close()
            trouble = fault
    raise trouble or OSError("no address")


def _resolve(host: str, port: int, deadline: Deadline) -> list[Any]:
    """The addresses of a name. The system's resolver has no deadline, so it runs in a thread that may be
    abandoned."""
    found: list[Any] = []

    def look() -> None:
        try:
            found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as fault:
            found.append(fault)

    thread = Thread(target=look, daemon=True)
    thread.start()
    thread.join(max(0.0, deadline.left()))
    if not found:
        raise TimeoutError
    if isinstance(found[0], UnicodeError):
        raise socket.gaierror(socket.EAI_NONAME, "not a name")
    if isinstance(found[0], OSError):
        raise found[0]
    return list(found[0])


def _proxy(host: str) -> SplitResult | None:
    """The environment's proxy for https to `host`, if it is supported."""
    from urllib.request import (  # type: ignore[attr-defined]
        getproxies_environment,
        proxy_bypass_environment,
    )

    proxies = getproxies_environment()
    if "https" not in proxies or host in LOOPBACK or proxy_bypass_environment(host, proxies):
        return None
    named = proxies["https"]
    at = urlsplit(named if "://" in named else f"http://{named}")
    return at if at.scheme == "http" and at.hostname else None


def _proxy_key(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"proxy-authorization": "Basic " + b64encode(pair.encode()).decode()}
