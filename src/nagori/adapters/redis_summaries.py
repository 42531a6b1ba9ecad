"""The summaries of the last day in Redis or Valkey, for programs that read them there.

A copy: it is written when a thread ends, lives 48 hours, and is never read to answer. Keys are exact and
carry a digest of the owner: `nagori:session:<owner>:<thread>`, with one set per owner that lists them, so
that nothing is ever searched by pattern.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

from nagori.core.storage_types import Owner
from nagori.errors import StoreError

PREFIX = "nagori:session:"
SECONDS = 48 * 3600
TIMEOUT = 2.0


class SessionCache:
    """A connection to one server."""

    def __init__(self, url: str, password: str | None = None) -> None:
        try:
            import valkey
        except ImportError:
            raise StoreError("error.valkey_missing") from None
        self._fault: type[Exception] = valkey.ValkeyError
        address = url.replace("redis://", "valkey://", 1).replace("rediss://", "valkeys://", 1)
        self._server: Any = valkey.Valkey.from_url(
            address,
            **({"password": password} if password else {}),
            socket_timeout=TIMEOUT,
            socket_connect_timeout=TIMEOUT,
        )

    def replace(self, owner: Owner, records: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep exactly these records of an owner, by thread, for 48 hours."""
        listing = self._listing(owner)
        new = {self._key(owner, thread): record for thread, record in records.items()}
        with self._reported():
            old = {bytes(key).decode() for key in self._server.smembers(listing)}
            pipe = self._server.pipeline(transaction=True)
            pipe.delete(listing, *(old - new.keys()))
            for key, record in new.items():
                pipe.set(key, json.dumps(record, ensure_ascii=False), ex=SECONDS)
                pipe.sadd(listing, key)
            pipe.expire(listing, SECONDS)
            pipe.execute()

    def threads(self, owner: Owner) -> list[dict[str, Any]]:
        """The records of an owner, oldest first."""
        with self._reported():
            keys = sorted(self._server.smembers(self._listing(owner)))
            found = [json.loads(value) for value in self._server.mget(keys) if value] if keys else []
        return sorted(found, key=lambda record: str(record["created_at"]))

    def erase(self, owner: Owner) -> int:
        """Remove everything of an owner; returns the number of records."""
        with self._reported():
            keys = list(self._server.smembers(self._listing(owner)))
            self._server.delete(*keys, self._listing(owner))
        return len(keys)

    def close(self) -> None:
        """End the connection."""
        self._server.close()

    def _key(self, owner: Owner, thread: str) -> str:
        return f"{self._listing(owner)}:{sha256(thread.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"

    def _listing(self, owner: Owner) -> str:
        return PREFIX + sha256("\x1f".join(owner).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """A fault of the server as an error without its address, which may hold a password."""
        try:
            yield
        except self._fault as fault:
            raise StoreError("error.cache_failed", reason=type(fault).__name__) from None
