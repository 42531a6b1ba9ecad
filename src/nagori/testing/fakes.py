"""Fakes that behave like the real parts and can be controlled by a test."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zlib import crc32

from nagori.language.tokenizer import tokens


class FrozenClock:
    """Stands still until it is moved."""

    def __init__(self, now: datetime | None = None, zone: tzinfo = UTC) -> None:
        self._now = now or datetime(2026, 4, 1, 9, 0, tzinfo=UTC)
        self._zone = zone

    def now(self) -> datetime:
        return self._now

    @property
    def zone(self) -> tzinfo:
        return self._zone

    def forward(self, **by: float) -> datetime:
        """Move by `days=…, hours=…`; negative is a clock that jumped back."""
        self._now += timedelta(**by)
        return self._now

    def set(self, now: datetime) -> None:
        self._now = now


class WordEmbedder:
    """Texts that share words are near each other. Deterministic, quick, needs no model."""

    unrelated = (0.1, 0.15)

    def __init__(self, dimension: int = 64, model: str = "words") -> None:
        self.dimension = dimension
        self.model = f"{model}-{dimension}"
        self.calls = 0

    def embed_passages(self, texts: Sequence[str]) -> list[bytes]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        self.calls += 1
        numbers = [0.01] * self.dimension  # a common direction, as real models have, and never zero
        for token in tokens(text):
            spot = crc32(token.encode())
            numbers[spot % self.dimension] += 1.0 if spot & 0x10000 else -1.0
        norm = math.sqrt(sum(n * n for n in numbers))
        return array("f", (n / norm for n in numbers)).tobytes()


class FailingPart:
    """Any part, with its Nth call of `method` failing: SQLite's way of testing. `at` = 0 never fails. A
    method of a part's part is named with a dot: "vectors.put"."""

    def __init__(self, part: object, method: str, at: int, error: Callable[[], BaseException]) -> None:
        self._part, self._at, self._error = part, at, error
        self._method, _, self._rest = method.partition(".")
        self._inner: FailingPart | None = None
        self._calls = 0

    @property
    def called(self) -> int:
        return self._inner.called if self._inner else self._calls

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._part, name)
        if name != self._method:
            return real
        if self._rest:
            self._inner = self._inner or FailingPart(real, self._rest, self._at, self._error)
            return self._inner

        def call(*args: Any, **more: Any) -> Any:
            self._calls += 1
            if self._calls == self._at:
                raise self._error()
            return real(*args, **more)

        return call
