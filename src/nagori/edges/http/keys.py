"""API keys: random secrets of 256 bits, of which only the hash is stored, each with its own scope.

They are items of an owner that no key can reach, so every node of a server sees the same ones.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Sequence
from datetime import datetime, timedelta

from starlette.requests import HTTPConnection

from nagori.app import Nagori
from nagori.core.model import Scope
from nagori.core.value_object import Value, fields_of, replace
from nagori.edges.http.access import Grant, Refused, bearer
from nagori.errors import InvalidInput, NotFound
from nagori.services import audit_log
from nagori.services.key_value_items import ItemPut, read_value

OWNER = Scope(tenant="nagori:server", user="keys")
PLACE = ("nagori", "api-keys")
PREFIX = "nagori_"
SECRET_BYTES = 32
ID_LENGTH = 12
FRESH_SECONDS = 2.0  # how long a node trusts the list of keys: a revoked key is refused after that everywhere
USE_NOTED = timedelta(hours=1)  # `last_used` is no more exact than this: not every request is a write


class ApiKey(Value):
    """A key as it is stored: everything but its secret."""

    id: str
    name: str
    hash: str
    tenant: str
    user: str | None = None
    project: str | None = None
    agent: str | None = None
    role: str | None = None
    created: str = ""
    last_used: str | None = None
    revoked: str | None = None

    @property
    def grant(self) -> Grant:
        return Grant(self.id, self.tenant, self.user, self.project, self.agent, self.role)


class KeyTable:
    """The keys of a memory."""

    def __init__(self, memory: Nagori) -> None:
        self._items = memory.with_scope(OWNER).items
        self._runtime, self._clock = memory.runtime, memory.runtime.clock
        self._known: dict[str, ApiKey] = {}
        self._read_at = -FRESH_SECONDS
        self._noted: dict[str, datetime] = {}
        self._lock = threading.Lock()

    def add(self, name: str, grant: Grant) -> tuple[str, ApiKey]:
        """A new key and its secret, which is told this one time."""
        if grant.tenant == OWNER.tenant:
            raise InvalidInput("tenant", "error.key_tenant", tenant=grant.tenant)
        Scope(grant.user or "-", grant.tenant, grant.project, grant.agent, grant.role)  # checks the names
        secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        hash = digest(secret)
        limits = {part: getattr(grant, part) for part in ("tenant", "user", "project", "agent", "role")}
        key = ApiKey(hash[:ID_LENGTH], name, hash, created=self._clock.now().isoformat(), **limits)
        self._put(key)
        audit_log.record_or_observe(self._runtime, "keys_changed", change="api key added", id=key.id)
        return secret, key

    def list(self) -> Sequence[ApiKey]:
        """All keys, the revoked ones too, oldest first."""
        found = [ApiKey(**read_value(item)) for item in self._items.list(PLACE)]
        return sorted(found, key=lambda key: (key.created, key.id))

    def revoke(self, id: str) -> ApiKey:
        """End a key; NotFound if there is none with this id."""
        found = next((key for key in self.list() if key.id == id), None)
        if found is None:
            raise NotFound(id)
        if found.revoked is None:
            found = replace(found, revoked=self._clock.now().isoformat())
            self._put(found)
            audit_log.record_or_observe(self._runtime, "keys_changed", change="api key revoked", id=found.id)
        return found

    def find(self, secret: str) -> ApiKey | None:
        """The key with this secret, unless it was revoked."""
        with self._lock:
            if time.monotonic() - self._read_at > FRESH_SECONDS:
                self._known = {key.hash: key for key in self.list() if key.revoked is None}
                self._read_at = time.monotonic()
            key = self._known.get(digest(secret))
        if key is not None:
            self._note_use(key)
        return key

    def _note_use(self, key: ApiKey) -> None:
        now = self._clock.now()
        before = self._noted.get(key.id)
        if before is None and key.last_used:
            before = datetime.fromisoformat(key.last_used)
        if before is None or now - before >= USE_NOTED:
            self._noted[key.id] = now

            def decide() -> Sequence[ItemPut]:  # not over a revocation that came meanwhile
                item = self._items.get(PLACE, key.id)
                if item is None:
                    return []
                stored = ApiKey(**read_value(item))
                return [_as_item(replace(stored, last_used=now.isoformat()))]

            self._items.change(decide)

    def _put(self, key: ApiKey) -> None:
        self._items.change(lambda: [_as_item(key)])
        self._read_at = -FRESH_SECONDS


def _as_item(key: ApiKey) -> ItemPut:
    return ItemPut(PLACE, key.id, {name: getattr(key, name) for name in fields_of(key)})


def digest(secret: str) -> str:
    """The hash of a secret. It is random and long, so it needs no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


class KeyAccess:
    """Each caller has an API key. A browser sends none by itself, so an Origin proves nothing here."""

    def __init__(self, keys: KeyTable) -> None:
        self._keys = keys

    def check_origin(self, request: HTTPConnection) -> None:
        """Any Host: a proxy may stand in front."""

    def grant(self, request: HTTPConnection) -> Grant:
        key = self._keys.find(bearer(request))
        if key is None:
            raise Refused(401, "error.http_key")
        return key.grant
