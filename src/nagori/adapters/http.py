"""HTTP client: one request within one deadline, with retries. Standard library only.

Everything counts towards the deadline: name resolution, connecting, sending, reading, waiting between
attempts. A server that sends a byte per second cannot exceed it.

A key is sent only to the intended host: only https (or this machine, or an http address that was configured
explicitly), no redirects, certificates always checked (SSL_CERT_FILE adds authorities), and no header ever
appears in an error. HTTPS_PROXY and NO_PROXY are honoured for https, by a tunnel through an http proxy; other
proxies are not.
"""

from __future__ import annotations

import json
import random
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Any
from urllib.parse import SplitResult, urlsplit

from nagori.adapters.deadline_connection import LOOPBACK, Deadline, Line
from nagori.errors import ModelError
from nagori.language.redaction import fit_to_keep

LONGEST_ANSWER = 8_000_000
SHOWN = 200  # maximum characters of a server's message in an error
_PASSING = (408, 429, 500, 502, 503, 504, 529)
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
    resend: bool = True,
    cancelled: Callable[[], bool] = lambda: False,
    wait: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """The JSON object with which `url` answers `body`, or ModelError.

    Temporary failures (an overloaded server, a lost connection) are retried, `tries` attempts in all, after
    the time the server asks for or an increasing one. `plain` allows http to other machines. Without
    `resend`, a request whose answer was lost is not repeated: it may have been charged.
    """
    sent = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    question = _Request("POST", url, sent, headers or {}, plain, most, Deadline(timeout, clock), resend)
    return as_object(_try_request(question, tries, cancelled, wait), question.host)


def fetch(
    method: str,
    url: str,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    *,
    timeout: float = 30.0,
    tries: int = 3,
    most: int = LONGEST_ANSWER,
    plain: bool = False,
) -> bytes:
    """The bytes with which `url` answers, or ModelError; with the same retries."""
    question = _Request(method, url, body, headers or {}, plain, most, Deadline(timeout, time.monotonic))
    return _try_request(question, tries, lambda: False, time.sleep)


def as_object(answer: bytes, host: str) -> dict[str, Any]:
    """An answer as a JSON object."""
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ModelError("error.answer_not_object", host=host)
    return value


def _try_request(
    question: _Request, tries: int, cancelled: Callable[[], bool], wait: Callable[[float], None]
) -> bytes:
    for attempt in range(1, tries + 1):
        if cancelled():
            raise ModelError("error.request_cancelled")
        try:
            return question.ask()
        except _TryAgain as trouble:
            pause = _pause(trouble.error, attempt)
            if attempt == tries or pause >= question.deadline.left():
                raise trouble.error from None
        _rest(pause, cancelled, wait)
    raise ValueError("tries: at least 1")


class _TryAgain(Exception):
    """Wraps an error that may be temporary."""

    def __init__(self, error: ModelError) -> None:
        super().__init__()
        self.error = error


def _pause(error: ModelError, attempt: int) -> float:
    """Seconds until the next attempt. The jitter spreads many clients."""
    if error.wait is not None:
        return error.wait
    return min(8.0, 0.25 * 2.0**attempt) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


def _rest(seconds: float, cancelled: Callable[[], bool], wait: Callable[[float], None]) -> None:
    """Wait in small steps, so that a cancellation takes effect."""
    while seconds > 0 and not cancelled():
        wait(min(seconds, 0.2))
        seconds -= 0.2


class _Request:
    """A request; its repr shows neither body nor headers."""

    def __init__(
        self,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
        plain: bool,
        most: int,
        deadline: Deadline,
        resend: bool = True,
    ) -> None:
        self._at = _address(url, plain)
        self.host = self._at.hostname or ""
        self.method, self.body = method, body
        self.headers = _sendable(self.host, headers)
        self.most, self.deadline, self.resend = most, deadline, resend

    def ask(self) -> bytes:
        """One attempt."""
        line = Line(self._at, self.deadline)
        try:
            path = (self._at.path or "/") + (f"?{self._at.query}" if self._at.query else "")
            line.request(self.method, path, self.body, self.headers)
            response = line.getresponse()
            if response.status // 100 != 2:
                raise self._refused(response)
            return self._read(response)
        except (OSError, HTTPException) as trouble:
            raise self._told(trouble) from None
        finally:
            line.hang_up()

    def _read(self, response: HTTPResponse) -> bytes:
        too_long = ModelError("error.answer_too_long", host=self.host, most=self.most)
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

    def _refused(self, response: HTTPResponse) -> Exception:
        """The error for a status other than 2xx."""
        status = response.status
        if status // 100 == 3:
            return ModelError(
                "error.redirected",
                host=self.host,
                status=status,
                passing=False,
            )
        error = ModelError(
            _REFUSALS.get(status, "error.status"),
            host=self.host,
            status=status,
            message=self._message(response) or response.reason[:SHOWN],
            passing=status in _PASSING,
            wait=_retry_after(response.headers.get("retry-after")),
        )
        return _TryAgain(error) if error.passing else error

    def _message(self, response: HTTPResponse) -> str:
        """The server's message: short, printable, without keys."""
        try:
            raw = response.read(65536).decode("utf-8", "replace")
        except (OSError, HTTPException):
            return ""
        said = _error_message(raw)
        for name, value in self.headers.items():
            if any(part in name.lower() for part in _CREDENTIALS):
                for secret in sorted(value.split(), key=len, reverse=True):
                    said = said.replace(secret, "[secret]") if len(secret) > 7 else said
        return " ".join(fit_to_keep(said).split())[:SHOWN]

    def _told(self, trouble: OSError | HTTPException) -> Exception:
        """A connection error as a message."""
        if isinstance(trouble, TimeoutError):
            seconds = self.deadline.seconds
            return ModelError("error.timed_out", host=self.host, seconds=seconds)
        if isinstance(trouble, ConnectionRefusedError):
            return _TryAgain(ModelError("error.connection_refused", host=self.host, unasked=True))
        if isinstance(trouble, _CUT):
            cut = ModelError("error.connection_cut", host=self.host)
            return _TryAgain(cut) if self.resend else cut
        if isinstance(trouble, ssl.SSLError):
            reason = getattr(trouble, "verify_message", "") or str(trouble.reason).replace("_", " ").lower()
            return ModelError("error.connection_unsafe", host=self.host, reason=reason, passing=False)
        if isinstance(trouble, socket.gaierror):
            return ModelError("error.name_unresolved", host=self.host, unasked=True)
        if isinstance(trouble, HTTPException):
            return ModelError("error.answer_not_http", host=self.host)
        reason = trouble.strerror or type(trouble).__name__
        return ModelError("error.unreachable", host=self.host, reason=reason)


_CUT = (ConnectionError, IncompleteRead, ssl.SSLEOFError, ssl.SSLZeroReturnError)
_KEY_REFUSED = "error.key_refused"
_REFUSALS = {
    401: _KEY_REFUSED,
    403: _KEY_REFUSED,
    404: "error.not_found_there",
    413: "error.question_too_long",
    429: "error.asked_to_wait",
    529: "error.overloaded",
}


def _address(url: str, plain: bool) -> SplitResult:
    """The parts of an address to which keys may be sent."""
    try:
        at = urlsplit(url)
        known = at.scheme in ("https", "http") and bool(at.hostname) and (at.port is None or at.port > 0)
    except ValueError:
        known = False
    if not known or "@" in at.netloc or not (url.isascii() and url.isprintable()) or " " in url:
        raise ModelError("error.bad_address", passing=False)
    if at.scheme == "http" and not plain and at.hostname not in LOOPBACK:
        raise ModelError("error.https_only", host=at.hostname, passing=False)
    return at


def _sendable(host: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Headers for http.client; its own error about an invalid one would print the key."""
    ready = {name: value.strip() for name, value in headers.items()}
    if not all(value.isascii() and value.isprintable() for value in ready.values()):
        raise ModelError("error.key_characters", host=host, passing=False)
    return {"content-type": "application/json", "user-agent": "nagori", "connection": "close", **ready}


def _error_message(raw: str) -> str:
    """The message inside common error formats, or the whole body."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    for key in ("error", "message", "detail"):
        if isinstance(value, dict) and key in value:
            value = value[key]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _retry_after(asked: str | None) -> float | None:
    """Seconds, from the header's number or date; None if it is unusable."""
    if not asked:
        return None
    if asked.strip().isascii() and asked.strip().isdigit():
        return float(asked[:9])
    try:
        return max(0.0, parsedate_to_datetime(asked).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
