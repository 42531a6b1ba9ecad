"""The routes of mem0's platform API (v1, v2 and v3), so that mem0's own clients work with this server.

A `user_id` is a user, an `agent_id` an agent, an `app_id` a project and a `run_id` a session. Without a
`user_id` the agent, app or run owns the memory itself. Their ids are UUIDs that name the user and the memory,
because the clients send nothing else with one. What has no meaning here is refused, not ignored.
"""

from __future__ import annotations

import hashlib
import uuid
from base64 import b32decode, b32encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from nagori.app import Nagori
from nagori.core.model import Filter, Kind, Memory, Source, Turn
from nagori.core.values import replace
from nagori.edges.http.access import Grant, Refused
from nagori.edges.http.callers import in_thread, read_grant
from nagori.edges.http.mem0_filters import matches, named_users
from nagori.edges.http.replies import error_record, json_reply, language_of, status_of
from nagori.errors import InvalidInput, NagoriError, NotFound
from nagori.services import audit_log
from nagori.services.remember import Draft
from nagori.services.turns import read_turns

ENTITIES = ("user_id", "agent_id", "app_id", "run_id")
OWNER_BITS, ID_BITS = 42, 80
PAGE = 500  # memories that are read at once
MOST_ROWS = 10_000
MOST_PAGE = 1000
# What changes the meaning of a request and cannot be done here.
REFUSED = (
    *("expiration_date", "immutable", "custom_categories", "custom_instructions", "delete_linked"),
    *("agent_custom_instructions", "structured_data_schema", "includes", "excludes", "enable_graph"),
)
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


def row_of(own: Nagori, memory: Memory, **more: object) -> dict[str, Any]:
    """A memory as mem0's clients know one."""
    user = own.scope.user
    changed = memory.reinforced_at or memory.created
    kind, _, name = user.partition(":")
    alone = kind if f"{kind}_id" in ENTITIES and name else None
    return {
        "id": _write_id(memory.id, user),
        "memory": memory.text.whole,
        "user_id": None if alone else user,
        "agent_id": name if alone == "agent" else memory.agent,
        "app_id": name if alone == "app" else memory.project,
        "run_id": name if alone == "run" else memory.source.session,
        "metadata": dict(memory.metadata) or None,
        "categories": [str(memory.category)] if memory.category else [],
        "created_at": memory.created.isoformat(),
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


def _owner_name(entities: Mapping[str, str]) -> str:
    """The user that owns a memory of these entities."""
    for name in ENTITIES:
        if entities.get(name):
            return entities[name] if name == "user_id" else f"{name.removesuffix('_id')}:{entities[name]}"
    raise InvalidInput("user_id", "error.mem0_entity", names=NOT_SPECIFIED)


def _entities(said: Mapping[str, Any]) -> dict[str, str]:
    found = {name: said[name] for name in ENTITIES if said.get(name) is not None}
    for name, value in found.items():
        if not isinstance(value, str):
            raise InvalidInput(name, "error.type_not_text", type=type(value).__name__)
    return found


def _filters(said: Mapping[str, Any]) -> Any:
    """The filters of a request. Version 1 has the entities beside them."""
    parts = [part for part in (said.get("filters"), _entities(said)) if part]
    filters = {"AND": parts} if parts else {}
    matches(filters, NO_ROW)  # a wrong filter is refused even where there is nothing to filter
    return filters


def _owners(tenant: Tenant, filters: Any) -> Iterable[Nagori]:
    """The memories of the users whose rows can fit."""
    known, named = tenant.users(), named_users(filters)
    chosen = [user for user in known if named is None or user in named]
    tenant.note_crossing(chosen)
    return [tenant.open(user) for user in chosen]


def _select(tenant: Tenant, filters: Any) -> list[tuple[dict[str, Any], Nagori, Memory]]:
    """All rows that fit, newest first."""
    found = []
    for own in _owners(tenant, filters):
        last: Memory | None = None
        while page := own.list(Filter(archived=True), limit=PAGE, older_than=last):
            rows = ((row_of(own, memory), own, memory) for memory in page)
            found += [each for each in rows if matches(filters, each[0])]
            last = page[-1]
            if len(found) > MOST_ROWS:
                raise InvalidInput("filters", "error.mem0_too_many", n=MOST_ROWS)
    return sorted(found, key=lambda each: each[2].created, reverse=True)


# --- what the routes do ---------------------------------------------------------------------------


def add(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, Any]:
    """Form memories of what was said; with `infer: false` each message is one memory."""
    entities, messages = _entities(said), said.get("messages")
    messages = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    messages = [messages] if isinstance(messages, Mapping) else messages
    if not isinstance(messages, list) or not messages:
        raise InvalidInput("messages", "error.missing")
    named = {"agent": entities.get("agent_id"), "project": entities.get("app_id")}
    own = tenant.open(_owner_name(entities), **named)
    turns = _turns(own, messages, entities.get("run_id"), said.get("timestamp"))
    metadata = said.get("metadata") or {}
    if said.get("infer", True) is False:
        drafts = [_draft(turn, metadata) for turn in turns]
        made = own.remember_many(drafts)
    else:
        made = own.form(turns)
        made = [own.edit(memory.id, metadata=metadata) for memory in made] if metadata else made
    rows = [row_of(own, memory, event="ADD") for memory in made]
    event = rows[0]["id"] if rows else str(uuid.uuid4())
    return {"message": "done", "status": "SUCCEEDED", "event_id": event, "results": rows}


def _turns(own: Nagori, messages: list[Any], session: str | None, timestamp: object) -> list[Turn]:
    at = own.runtime.clock.now() if timestamp is None else _moment(timestamp)
    return [replace(turn, session=session, at=at) for turn in read_turns(own.runtime, messages)]


def _draft(turn: Turn, metadata: dict[str, Any]) -> Draft:
    source = Source(turn.session, speaker=turn.speaker)
    return Draft(
        turn.text, kind=Kind.EPISODE, created=turn.at, source=source, trust=turn.role, metadata=metadata
    )


def _moment(timestamp: object) -> datetime:
    try:
        if isinstance(timestamp, bool) or not isinstance(timestamp, int | float):
            raise TypeError
        return datetime.fromtimestamp(timestamp, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        raise InvalidInput("timestamp", "error.not_number", value=timestamp) from None


def search(tenant: Tenant, said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The best rows for a question. A threshold belongs to another scale of scores, so none is applied."""
    query, filters = said.get("query"), _filters(said)
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput("query", "error.query_empty")
    if not filters:
        raise InvalidInput("filters", "error.mem0_entity", names=NOT_SPECIFIED)
    count = said.get("top_k") or said.get("limit") or 10
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_PAGE:
        raise InvalidInput("top_k", "error.out_of_range", value=count)
    rows: list[dict[str, Any]] = []
    for own in _owners(tenant, filters):
        found = own.recall(query, max(count, 50), min_confidence=0.0, filter=Filter(archived=True))
        scored = ((each, each.score if each.confidence is None else each.confidence) for each in found)
        rows += [row_of(own, each.memory, score=round(score, 6)) for each, score in scored]
    fitting = [row for row in rows if matches(filters, row)]
    return sorted(fitting, key=lambda row: -row["score"])[:count]


def get_all(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, Any]:
    """All rows that fit, page by page."""
    filters = _filters(said)
    if not filters:
        raise InvalidInput("filters", "error.mem0_entity", names=NOT_SPECIFIED)
    page, size = _natural(said, "page", 1), _natural(said, "page_size", 100)
    rows = [row for row, _, _ in _select(tenant, filters)]
    start = (page - 1) * size
    return {
        "count": len(rows),
        "next": f"?page={page + 1}&page_size={size}" if start + size < len(rows) else None,
        "previous": f"?page={page - 1}&page_size={size}" if page > 1 else None,
        "results": rows[start : start + size],
    }


def _natural(said: Mapping[str, Any], name: str, default: int) -> int:
    try:
        number = int(said.get(name) or default)
    except (TypeError, ValueError):
        number = 0
    if not 1 <= number <= MOST_PAGE:
        raise InvalidInput(name, "error.out_of_range", value=said.get(name))
    return number


def get(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, Any]:
    own, id = tenant.find(said["memory_id"])
    return row_of(own, own.show(id))


def update(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, Any]:
    own, id = tenant.find(said["memory_id"])
    text, metadata = said.get("text") or said.get("data"), said.get("metadata")
    if text is None and metadata is None:
        raise InvalidInput("text", "error.missing")
    return row_of(own, own.edit(id, content=text, trigger=None if text is None else "", metadata=metadata))


def delete(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, str]:
    own, id = tenant.find(said["memory_id"])
    own.forget(id)
    return {"message": "Memory deleted successfully!"}


def delete_all(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, str]:
    entities = _entities(said)
    if not entities:
        raise InvalidInput("user_id", "error.mem0_entity", names=NOT_SPECIFIED)
    for _, own, memory in _select(tenant, entities):
        own.forget(memory.id)
    return {"message": "Memories deleted successfully!"}


def history(tenant: Tenant, said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What happened to a row: it was added, its words changed, it was deleted."""
    own, id = tenant.find(said["memory_id"])
    told: list[dict[str, Any]] = []
    now: str | None = None
    for event in own.why(id).history:
        what, text = _change(event.type, event.data)
        if what is None or (what == "ADD" and told):
            continue
        told.append(
            {
                "id": f"{said['memory_id']}-{event.seq}",
                "memory_id": said["memory_id"],
                "old_memory": now,
                "new_memory": text,
                "event": what,
                "created_at": event.at.isoformat(),
                "updated_at": event.at.isoformat(),
            }
        )
        now = text
    return told


def _change(type: str, data: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """What an event is called there, and the words after it."""
    text = data.get("text") or data.get("memory", {}).get("texts", {}).get("1")
    words = None
    if isinstance(text, Mapping):
        words = f"{text.get('trigger', '')}\n{text.get('content', '')}".strip()
    if type in ("imported", "formed"):
        return "ADD", words
    if type == "edited" and words is not None:
        return "UPDATE", words
    return ("DELETE", None) if type == "forgotten" else (None, None)


def entities(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, Any]:
    """Users with their number of memories, and the agents, apps and runs of these."""
    counts: dict[tuple[str, str], int] = {}
    for row, _, _ in _select(tenant, {}):
        for name in ENTITIES:
            if row[name]:
                key = (name.removesuffix("_id"), row[name])
                counts[key] = counts.get(key, 0) + 1
    rows = [
        {"id": name, "name": name, "type": type, "total_memories": n} for (type, name), n in counts.items()
    ]
    return {"count": len(rows), "next": None, "previous": None, "results": rows}


def delete_entity(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, str]:
    name = f"{said['entity_type']}_id"
    if name not in ENTITIES:
        raise InvalidInput(
            "entity_type", "error.not_choice", value=said["entity_type"], choices=", ".join(ENTITIES)
        )
    return delete_all(tenant, {name: said["entity_id"]})


def change_batch(work: Callable[[Tenant, Mapping[str, Any]], object]) -> Callable[..., dict[str, str]]:
    """The same for several rows."""

    def each(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, str]:
        rows = said.get("memories")
        if not isinstance(rows, list) or not all(
            isinstance(row, dict) and isinstance(row.get("memory_id"), str) for row in rows
        ):
            raise InvalidInput("memories", "error.missing")
        for row in rows:
            work(tenant, row)
        return {"message": f"{len(rows)} memories changed."}

    return each


def feedback(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, str]:
    own, id = tenant.find(str(said.get("memory_id", "")))
    if said.get("feedback") not in ("POSITIVE", "NEGATIVE", "VERY_NEGATIVE"):
        raise InvalidInput("feedback", "error.missing")
    own.feedback(id, said["feedback"] == "POSITIVE")
    return {"message": "Feedback recorded."}


def read_event(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, Any]:
    """Adding is finished when it is answered: an event is known by the first memory that it made."""
    row = get(tenant, {"memory_id": said["event_id"]})
    return {"id": said["event_id"], "status": "SUCCEEDED", "results": [row]}


def ping(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, Any]:
    """The clients want an organisation and a project; here there is one of each."""
    return {"status": "ok", "org_id": "nagori", "project_id": "nagori", "user_email": None}


def refuse(tenant: Tenant, said: Mapping[str, Any]) -> None:
    raise Refused(501, "error.mem0_route")


# --- routes ---------------------------------------------------------------------------------------

Work = Callable[[Tenant, Mapping[str, Any]], object]


def _rows_only(work: Work) -> Work:
    """Versions 1 and 2 answer with the rows themselves."""

    def answer(tenant: Tenant, said: Mapping[str, Any]) -> object:
        found: Any = work(tenant, said)
        paged = "page" in said or "page_size" in said
        return found if paged or not isinstance(found, dict) else found["results"]

    return answer


def _with_results(work: Work) -> Work:
    return lambda tenant, said: {"results": work(tenant, said)}


ONE = "/v1/memories/{memory_id}/"
TABLE: tuple[tuple[str, str, Work], ...] = (
    ("GET", "/v1/ping/", ping),
    ("POST", "/v1/memories/", add),
    ("POST", "/v3/memories/add/", add),
    ("GET", "/v1/memories/", _rows_only(get_all)),
    ("POST", "/v2/memories/", _rows_only(get_all)),
    ("POST", "/v3/memories/", get_all),
    ("POST", "/v1/memories/search/", search),
    ("POST", "/v2/memories/search/", search),
    ("POST", "/v3/memories/search/", _with_results(search)),
    ("DELETE", "/v1/memories/", delete_all),
    ("GET", f"{ONE}history/", history),
    ("GET", ONE, get),
    ("PUT", ONE, update),
    ("DELETE", ONE, delete),
    ("PUT", "/v1/batch/", change_batch(update)),
    ("DELETE", "/v1/batch/", change_batch(delete)),
    ("GET", "/v1/entities/", entities),
    ("DELETE", "/v1/entities/{entity_type}/{entity_id}/", delete_entity),
    ("DELETE", "/v2/entities/{entity_type}/{entity_id}/", delete_entity),
    ("POST", "/v1/feedback/", feedback),
    ("GET", "/v1/event/{event_id}/", read_event),
)


def mem0_routes() -> list[Route]:
    """Routes for `create_app`. Everything else of that API is refused with a sentence."""
    paths: dict[str, dict[str, Work]] = {}
    for method, path, work in TABLE:
        paths.setdefault(path, {})[method] = work
    rest = [f"/{part}/{{rest:path}}" for part in ("v1", "v2", "v3", "api/v1")]
    refused: dict[str, Work] = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), refuse)
    paths |= dict.fromkeys(rest, refused)
    return [_route(path, works) for path, works in paths.items()]


def _route(path: str, works: Mapping[str, Work]) -> Route:
    async def answer(request: Request) -> Response:
        try:
            body = await request.body()
            work = works["GET" if request.method == "HEAD" else request.method]
            result = await in_thread(request, lambda: work(_tenant(request), _read(request, body)))
        except NagoriError as error:
            record = error_record(error, language_of(request))
            return json_reply({"detail": record["message"], "error": record}, status_of(error))
        return json_reply(result)

    return Route(path, answer, methods=[*works])


def _tenant(request: Request) -> Tenant:
    return Tenant(request.app.state.server.memory, read_grant(request))


def _read(request: Request, raw: bytes) -> dict[str, Any]:
    """Query, body and path of a request; InvalidInput for what cannot be meant here."""
    try:
        body = msgspec.json.decode(raw) if raw else {}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        raise InvalidInput("body", "error.http_body", reason=str(fault)) from None
    if not isinstance(body, dict):
        raise InvalidInput("body", "error.not_object")
    said = {**request.query_params, **body, **request.path_params}
    for name in REFUSED:
        if said.get(name):
            raise InvalidInput(name, "error.mem0_refused", name=name)
    return said
