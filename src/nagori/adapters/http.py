"""One question to a server, one answer, within one deadline. Standard library only.

Everything counts towards the deadline: finding the name, connecting, sending, reading, waiting between
tries. A server that trickles a byte a second holds nobody beyond it.

A key is for the host it was meant for: only https (or this machine, or a plain address that somebody
configured on purpose), no redirects, certificates always checked (SSL_CERT_FILE adds one's own), and no
header is ever part of an error. HTTPS_PROXY and NO_PROXY are honoured for https, by a tunnel through a
plain http proxy; other proxies are not.
"""

from __future__ import annotations

import io
import json
import random
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from threading import Thread
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from nagori.core.privacy import fit_to_keep
from nagori.errors import ModelError

LONGEST_ANSWER = 8_000_000
SHOWN = 200  # characters of a server's own message in an error
_PASSING = (408, 429, 500, 502, 503, 504, 529)
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_CREDENTIALS = ("auth", "key", "token", "cookie")


def post_json(
    url: str,
    body: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
    *,
    timeout: float = 30.0,
    tries: int = 3,
    most: int = LONGEST_ANSWER,
    plain: bool = False,
    cancelled: Callable[[], bool] = lambda: False,
    wait: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """The JSON object with which `url` answers `body`, or ModelError.

    What may pass (an overloaded server, a cut connection) is tried again, `tries` times in all, after the
    time the server asks for or a growing one of our own. `plain` allows http to other machines.
    """
    question = _Question(url, body, headers or {}, plain, most, _Deadline(timeout, clock))
    for attempt in range(1, tries + 1):
        if cancelled():
            raise ModelError("the request was cancelled")
        try:
            return question.ask()
        except _TryAgain as trouble:
            pause = _pause(trouble.error, attempt)
            if attempt == tries or pause >= question.deadline.left():
                raise trouble.error from None
        _rest(pause, cancelled, wait)
    raise ValueError("tries: at least 1")


class _TryAgain(Exception):
    """Around an error that may be gone in a moment."""

    def __init__(self, error: ModelError) -> None:
        super().__init__()
        self.error = error


def _pause(error: ModelError, attempt: int) -> float:
    """Seconds until the next try. The jitter keeps a crowd of clients from coming back at one moment."""
    if error.wait is not None:
        return error.wait
    return min(8.0, 0.25 * 2.0**attempt) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


def _rest(seconds: float, cancelled: Callable[[], bool], wait: Callable[[float], None]) -> None:
    """Wait in small pieces, so that whoever cancels is heard."""
    while seconds > 0 and not cancelled():
        wait(min(seconds, 0.2))
        seconds -= 0.2


class _Deadline:
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


class _Question:
    """What is asked, of whom; its repr shows neither body nor headers."""

    def __init__(
        self,
        url: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str],
        plain: bool,
        most: int,
        deadline: _Deadline,
    ) -> None:
        self._at = _address(url, plain)
        self.host = self._at.hostname or ""
        self.body = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        self.headers = _sendable(self.host, headers)
        self.most, self.deadline = most, deadline

    def ask(self) -> dict[str, Any]:
        """One try."""
        line = _Line(self._at, self.deadline)
        try:
            path = (self._at.path or "/") + (f"?{self._at.query}" if self._at.query else "")
            line.request("POST", path, self.body, self.headers)
            response = line.getresponse()
            if response.status // 100 != 2:
                raise self._refused(response)
            return self._object(self._read(response))
        except (OSError, HTTPException) as trouble:
            raise self._told(trouble) from None
        finally:
            line.hang_up()

    def _read(self, response: HTTPResponse) -> bytes:
        too_long = ModelError(
            "the answer of {host} is longer than {most:,} bytes", host=self.host, most=self.most
        )
        if (response.length or 0) > self.most:
            raise too_long
        read = bytearray()
        while piece := response.read(65536):
            read += piece
            if len(read) > self.most:
                raise too_long
        if response.length:
            raise IncompleteRead(b"", response.length)
        return bytes(read)

    def _object(self, answer: bytes) -> dict[str, Any]:
        try:
            value = json.loads(answer)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise ModelError("the answer of {host} is not a JSON object", host=self.host)
        return value

    def _refused(self, response: HTTPResponse) -> Exception:
        """What a status other than 2xx means."""
        status = response.status
        if status // 100 == 3:
            return ModelError(
                "{host} sends us elsewhere ({status}); redirects are not followed",
                host=self.host,
                status=status,
                passing=False,
            )
        error = ModelError(
            _REFUSALS.get(status, "{host} answers {status}: {message}"),
            host=self.host,
            status=status,
            message=self._message(response) or response.reason[:SHOWN],
            passing=status in _PASSING,
            wait=_retry_after(response.headers.get("retry-after")),
        )
        return _TryAgain(error) if error.passing else error

    def _message(self, response: HTTPResponse) -> str:
        """What the server says about it, fit to be shown: short, printable, without keys."""
        try:
            raw = response.read(65536).decode("utf-8", "replace")
        except (OSError, HTTPException):
            return ""
        said = _said(raw)
        for name, value in self.headers.items():
            if any(part in name.lower() for part in _CREDENTIALS):
                for secret in sorted(value.split(), key=len, reverse=True):
                    said = said.replace(secret, "[secret]") if len(secret) > 7 else said
        return " ".join(fit_to_keep(said).split())[:SHOWN]

    def _told(self, trouble: OSError | HTTPException) -> Exception:
        """A fault of the way there, in words."""
        if isinstance(trouble, TimeoutError):
            seconds = self.deadline.seconds
            return ModelError("{host} did not answer within {seconds:g} s", host=self.host, seconds=seconds)
        if isinstance(trouble, ConnectionRefusedError):
            template = "{host} refuses the connection; is the server running?"
            return _TryAgain(ModelError(template, host=self.host))
        if isinstance(trouble, _CUT):
            return _TryAgain(ModelError("{host} broke off the connection", host=self.host))
        if isinstance(trouble, ssl.SSLError):
            reason = getattr(trouble, "verify_message", "") or str(trouble.reason).replace("_", " ").lower()
            template = "no safe connection to {host}: {reason}"
            return ModelError(template, host=self.host, reason=reason, passing=False)
        if isinstance(trouble, socket.gaierror):
            return ModelError("the name {host} cannot be resolved", host=self.host)
        if isinstance(trouble, HTTPException):
            return ModelError("what {host} answers is not HTTP", host=self.host)
        reason = trouble.strerror or type(trouble).__name__
        return ModelError("{host} cannot be reached: {reason}", host=self.host, reason=reason)


_CUT = (ConnectionError, IncompleteRead, ssl.SSLEOFError, ssl.SSLZeroReturnError)
_KEY_REFUSED = "{host} does not accept the key ({status}): {message}"
_REFUSALS = {
    401: _KEY_REFUSED,
    403: _KEY_REFUSED,
    404: "{host} knows no such address or model ({status}): {message}",
    413: "{host} finds the question too long ({status}): {message}",
    429: "{host} asks us to wait ({status}): {message}",
    529: "{host} is overloaded ({status}): {message}",
}


class _Line(HTTPConnection):
    """A connection whose every step is bound by the deadline."""

    sock: Any
    _wire: socket.socket | None = None

    def __init__(self, at: SplitResult, deadline: _Deadline) -> None:
        secure = at.scheme == "https"
        host, port = at.hostname or "", at.port or (443 if secure else 80)
        proxy = _proxy(host) if secure else None
        super().__init__(proxy.hostname or "" if proxy else host, (proxy.port or 80) if proxy else port)
        if proxy:
            self.set_tunnel(host, port, _proxy_key(proxy))
        self._name, self._secure, self._deadline, self._through = host, secure, deadline, proxy is not None

    def connect(self) -> None:
        self._wire = raw = _dial(self.host, self.port, self._deadline)
        self.sock = _Bounded(raw, self._deadline)
        if self._through:
            self._tunnel()  # type: ignore[attr-defined]
        if self._secure:
            self._deadline.bound(raw)
            self._wire = ssl.create_default_context().wrap_socket(raw, server_hostname=self._name)
            self.sock = _Bounded(self._wire, self._deadline)

    def hang_up(self) -> None:
        """The end. `close` is not: http.client calls it before the answer is read."""
        if self._wire is not None:
            self._wire.close()


class _Bounded(io.RawIOBase):
    """The face of a socket that http.client uses; each send and receive may take only what is left."""

    def __init__(self, sock: socket.socket, deadline: _Deadline) -> None:
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


def _dial(host: str, port: int, deadline: _Deadline) -> socket.socket:
    """A connected socket: every address of the name in turn, one deadline for all."""
    trouble: OSError | None = None
    for family, kind, protocol, _, address in _resolved(host, port, deadline):
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


def _resolved(host: str, port: int, deadline: _Deadline) -> list[Any]:
    """The addresses of a name. The system's resolver knows no deadline, so it is left behind in a thread."""
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


def _address(url: str, plain: bool) -> SplitResult:
    """The parts of an address that keys may be sent to."""
    try:
        at = urlsplit(url)
        known = at.scheme in ("https", "http") and bool(at.hostname) and (at.port is None or at.port > 0)
    except ValueError:
        known = False
    if not known or "@" in at.netloc or not url.isprintable() or " " in url:
        raise ModelError("the address of the server is not one: it begins with https://", passing=False)
    if at.scheme == "http" and not plain and at.hostname not in LOOPBACK:
        raise ModelError("{host}: keys and texts travel by https only", host=at.hostname, passing=False)
    return at


def _sendable(host: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Headers as http.client wants them; its own complaint about a bad one would repeat the key."""
    ready = {name: value.strip() for name, value in headers.items()}
    if not all(value.isascii() and value.isprintable() for value in ready.values()):
        raise ModelError("the key for {host} has characters that no key has", host=host, passing=False)
    return {"content-type": "application/json", "user-agent": "nagori", "connection": "close", **ready}


def _said(raw: str) -> str:
    """The message inside the shapes that servers give their errors, or all of it."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    for key in ("error", "message", "detail"):
        if isinstance(value, dict) and key in value:
            value = value[key]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _retry_after(asked: str | None) -> float | None:
    """Seconds, from the header's number or date; None when it says nothing to be used."""
    if not asked:
        return None
    if asked.strip().isascii() and asked.strip().isdigit():
        return float(asked[:9])
    try:
        return max(0.0, parsedate_to_datetime(asked).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _proxy(host: str) -> SplitResult | None:
    """The environment's proxy for https to `host`, if there is one we can use."""
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
