"""Rows of mem0's platform API: memories in its form, their ids, and those that fit a request."""

from __future__ import annotations

import hashlib
import json
import uuid
from base64 import b32decode, b32encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nagori.app import Nagori
from nagori.core.model import Filter, Memory
from nagori.core.value_object import read_texts
from nagori.edges.http.access import Grant, Refused
from nagori.edges.http.mem0_filters import matches, named_users
from nagori.errors import InvalidInput, NotFound
from nagori.services import audit_log

ENTITIES = ("user_id", "agent_id", "app_id", "run_id")
OWNER_BITS, ID_BITS = 42, 80
PAGE = 500  # memories that are read at once
MOST_ROWS = 10_000
FIELDS = (*ENTITIES, "id", "memory", "metadata", "categories", "created_at", "updated_at", "expiration_date")
NO_ROW = dict.fromkeys(FIELDS)
NOT_SPECIFIED = "at least one of user_id, agent_id, app_id, run_id"


class Tenant:
    """What one caller may reach: the users of its tenant, or the one user of its key."""

    def __init__(self, memory: Nagori, grant: Grant) -> None:
        if grant.agent is not None or grant.project is not None:
            raise Refused(403, "error.http_whole")
        self._memory, self._grant = memory, grant

    def users(self) -> list[str]:
        if self._grant.user is not None:
            return [self._grant.user]
        owners = self._memory.runtime.journal.owners()
        return [user for tenant, user in owners if tenant == self._grant.tenant]

    def open(self, user: str, **scope: str | None) -> Nagori:
        """The memory of a user."""
        if self._grant.user not in (None, user):
            raise Refused(403, "error.http_scope", field="user")
        cleared: dict[str, Any] = {"project": None, "agent": None, "role": None, **scope}
        return self._memory.with_scope(tenant=self._grant.tenant, user=user, **cleared)

    def note_crossing(self, users: Sequence[str]) -> None:
        """Note in the audit log that memories of several users are read at once."""
        if len(users) > 1:
            runtime, key = self._memory.runtime, self._grant.name
            audit_log.record_or_observe(runtime, "scope_crossed", users=len(users), key=key)

    def find(self, id: str) -> tuple[Nagori, str]:
        """The memory and the id of a row; NotFound if there is none."""
        number, hash = _read_id(id)
        user = next((user for user in self.users() if _user_bits(user) == hash), None)
        if user is None:
            raise NotFound(id)
        own = self.open(user)
        if own.show(number).is_forgotten:
            raise NotFound(id)
        return own, number


# --- rows -----------------------------------------------------------------------------------------


def row_of(own: Nagori, kept: Memory, /, **more: object) -> dict[str, Any]:
    """A memory as mem0's clients know one."""
    user = own.scope.user
    changed = kept.reinforced_at or kept.created
    kind, _, name = user.partition(":")
    alone = kind if f"{kind}_id" in ENTITIES and name else None
    return {
        "id": _write_id(kept.id, user),
        "memory": kept.text.whole,
        "user_id": None if alone else user,
        "agent_id": name if alone == "agent" else kept.agent,
        "app_id": name if alone == "app" else kept.project,
        "run_id": name if alone == "run" else kept.source.session,
        "metadata": dict(kept.metadata) or None,
        "categories": [str(kept.category)] if kept.category else [],
        "created_at": kept.created.isoformat(),
        "updated_at": changed.isoformat(),
        "expiration_date": None,
        **more,
    }


def _write_id(id: str, user: str) -> str:
    """A UUID (version 8) of a memory's id and of its user: ids are unique within a user."""
    digits = int.from_bytes(b32decode(id.removeprefix("mem_").upper()))
    number = digits << OWNER_BITS | _user_bits(user)
    high, middle, low = number >> 74, number >> 62 & 0xFFF, number & (1 << 62) - 1
    return str(uuid.UUID(int=high << 80 | 8 << 76 | middle << 64 | 2 << 62 | low))


def _read_id(id: str) -> tuple[str, int]:
    try:
        whole = uuid.UUID(id)
    except ValueError:
        raise InvalidInput("memory_id", "error.mem0_id") from None
    if whole.version != 8:
        raise NotFound(id)
    number = whole.int >> 80 << 74 | (whole.int >> 64 & 0xFFF) << 62 | whole.int & (1 << 62) - 1
    digits = (number >> OWNER_BITS).to_bytes(ID_BITS // 8)
    return f"mem_{b32encode(digits).decode().lower()}", number & (1 << OWNER_BITS) - 1


def _user_bits(user: str) -> int:
    return int.from_bytes(hashlib.sha256(user.encode()).digest()) >> 256 - OWNER_BITS


def owner_name(entities: Mapping[str, str]) -> str:
    """The user that owns a memory of these entities."""
    for name in ENTITIES:
        if entities.get(name):
            return entities[name] if name == "user_id" else f"{name.removesuffix('_id')}:{entities[name]}"
    raise InvalidInput("user_id", "error.mem0_entity", names=NOT_SPECIFIED)


def read_entities(said: Mapping[str, Any]) -> dict[str, str]:
    found = {name: said[name] for name in ENTITIES if said.get(name) is not None}
    for name, value in found.items():
        if not isinstance(value, str):
            raise InvalidInput(name, "error.type_not_text", type=type(value).__name__)
    return found


def read_filters(said: Mapping[str, Any]) -> Any:
    """The filters of a request, with those that stand beside them: the entities of version 1, and the
    shorthands for categories, metadata, words and days."""
    metadata = said.get("metadata")
    if isinstance(metadata, str):
        try:
            metadata = json.loads(metadata)
        except ValueError:
            raise InvalidInput("metadata", "error.not_object") from None
    beside: dict[str, Any] = {
        "categories": {"in": read_list(said, "categories")} if said.get("categories") else None,
        "keywords": said.get("keywords"),
        "metadata": metadata,
        "created_at": {
            test: said[name]
            for name, test in (("start_date", "gte"), ("end_date", "lte"))
            if said.get(name) is not None
        },
    }
    shorthands = {name: wanted for name, wanted in beside.items() if wanted}
    parts = [part for part in (said.get("filters"), read_entities(said), shorthands) if part]
    filters = {"AND": parts} if parts else {}
    matches(filters, NO_ROW)  # a wrong filter is refused even where there is nothing to filter
    return filters


def read_list(said: Mapping[str, Any], name: str) -> list[str]:
    """A list of names; in a query they stand in one text, with commas between them."""
    value = said.get(name) or ()
    names = read_texts(name, value.split(",") if isinstance(value, str) else value)
    return [each.strip() for each in names if each.strip()]


def choose_fields(rows: Iterable[dict[str, Any]], said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows with the fields that a request asks for, and their ids."""
    wanted = {*read_list(said, "fields"), "id"}
    return [row if len(wanted) == 1 else {name: row[name] for name in row if name in wanted} for row in rows]


def open_owners(tenant: Tenant, filters: Any) -> Iterable[Nagori]:
    """The memories of the users whose rows can fit."""
    known, named = tenant.users(), named_users(filters)
    chosen = [user for user in known if named is None or user in named]
    tenant.note_crossing(chosen)
    return [tenant.open(user) for user in chosen]


def select_rows(tenant: Tenant, filters: Any) -> list[tuple[dict[str, Any], Nagori, Memory]]:
    """All rows that fit, newest first."""
    found = []
    for own in open_owners(tenant, filters):
        last: Memory | None = None
        while page := own.list(Filter(archived=True), limit=PAGE, older_than=last):
            rows = ((row_of(own, memory), own, memory) for memory in page)
            found += [each for each in rows if matches(filters, each[0])]
            last = page[-1]
            if len(found) > MOST_ROWS:
                raise InvalidInput("filters", "error.mem0_too_many", n=MOST_ROWS)
    return sorted(found, key=lambda each: each[2].created, reverse=True)
