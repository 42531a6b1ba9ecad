"""Limit what a caller may cost: size, time and number of requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from nagori.config.sections import ServerSettings
from nagori.core.value_object import Value
from nagori.edges.http.access import Refused


class Limits(Value):
    """What one request may cost, and how many of them one caller may send."""

    body_bytes: int = 4 * 1024 * 1024
    seconds: float = 30.0
    threads: int = 8
    per_minute: int = 6000

    @classmethod
    def of(cls, settings: ServerSettings) -> Limits:
        return cls(
            settings.max_body_bytes,
            settings.timeout_seconds,
            settings.threads,
            settings.requests_per_minute,
        )


class RateLimiter:
    """A bucket for each key: it holds a minute's requests and is filled again as time passes."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = float(per_minute), clock
        self._buckets: dict[str, tuple[float, float]] = {}  # what is left, and when it was
        self._lock = threading.Lock()

    def check(self, name: str) -> None:
        """Take one request from the bucket of `name`; Refused if it is empty."""
        now = self._clock()
        with self._lock:
            left, at = self._buckets.get(name, (self._most, now))
            left = min(self._most, left + (now - at) * self._most / 60)
            self._buckets[name] = (max(0.0, left - 1), now)
        if left < 1:
            raise Refused(429, "error.http_rate", n=int(self._most))
