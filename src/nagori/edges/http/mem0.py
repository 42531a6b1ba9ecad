"""The routes of mem0's platform API (v1, v2 and v3), so that mem0's own clients work with this server.

A `user_id` is a user, an `agent_id` an agent, an `app_id` a project and a `run_id` a session. Without a
`user_id` the agent, app or run owns the memory itself. Their ids are UUIDs that name the user and the memory,
because the clients send nothing else with one. What has no meaning here is refused, not ignored.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from nagori.app import Nagori
from nagori.core.model import Filter, Kind, Memory, Source, Turn
from nagori.core.value_object import replace
from nagori.edges.http.access import Refused
from nagori.edges.http.mem0_filters import matches
from nagori.edges.http.mem0_rows import (
    ENTITIES,
    NOT_SPECIFIED,
    Tenant,
    choose_fields,
    open_owners,
    owner_name,
    read_entities,
    read_filters,
    row_of,
    select_rows,
)
from nagori.edges.http.replies import error_record, json_reply, language_of, status_of
from nagori.edges.http.verb_runner import in_thread, read_grant
from nagori.errors import InvalidInput, NagoriError
from nagori.services.chat_recorder import read_turns
from nagori.services.recall import STRENGTHENS, mark_recalled
from nagori.services.remember import Draft

MOST_PAGE = 1000
MOST_RANKED = 12_800  # memories of one user that are ranked before they are filtered
MOST_EVENTS = 100
# What changes the meaning of a request and cannot be done here.
REFUSED = (
    *("expiration_date", "immutable", "custom_categories", "custom_instructions", "delete_linked"),
    *("agent_custom_instructions", "structured_data_schema", "includes", "excludes", "enable_graph"),
)
PROJECT = "nagori"  # the one organisation and the one project that the clients want to know


# --- what the routes do ---------------------------------------------------------------------------


def add(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, Any]:
    """Form memories of what was said; with `infer: false` each message is one memory."""
    entities, messages = read_entities(said), said.get("messages")
    messages = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
    messages = [messages] if isinstance(messages, Mapping) else messages
    if not isinstance(messages, list) or not messages:
        raise InvalidInput("messages", "error.missing")
    named = {"agent": entities.get("agent_id"), "project": entities.get("app_id")}
    own = tenant.open(owner_name(entities), **named)
    turns = _turns(own, messages, entities.get("run_id"), said.get("timestamp"))
    metadata = said.get("metadata") or {}
    if said.get("infer", True) is False:
        drafts = [_draft(turn, metadata) for turn in turns]
        made = own.remember_many(drafts)
    else:
        made = [_complete(own, memory, metadata) for memory in own.form(turns)]
    rows = [row_of(own, memory, event="ADD") for memory in made]
    event = rows[0]["id"] if rows else str(uuid.uuid4())
    return {"message": "done", "status": "SUCCEEDED", "event_id": event, "results": rows}


def _complete(own: Nagori, memory: Memory, metadata: dict[str, Any]) -> Memory:
    """A memory with the metadata and the app of the request. What a person says of themselves is formed for
    every project; there it belongs to the app that was named."""
    changes: dict[str, Any] = {"metadata": metadata} if metadata else {}
    if own.scope.project is not None and memory.project != own.scope.project:
        changes["project"] = own.scope.project
    return own.edit(memory.id, **changes) if changes else memory


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
    query, filters = said.get("query"), read_filters(said)
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput("query", "error.query_empty")
    if not filters:
        raise InvalidInput("filters", "error.mem0_entity", names=NOT_SPECIFIED)
    count = said.get("top_k") or said.get("limit") or 10
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_PAGE:
        raise InvalidInput("top_k", "error.out_of_range", value=count)
    found = [each for own in open_owners(tenant, filters) for each in _rank(own, query, filters, count)]
    best = sorted(found, key=lambda each: -each[0]["score"])[:count]
    for own in {id(own): own for _, own, _ in best}.values():
        sure = [memory.id for row, its, memory in best if its is own and row["score"] >= STRENGTHENS]
        if sure:
            mark_recalled(own.runtime, own.scope, sure)
    return choose_fields((row for row, _, _ in best), {"fields": said.get("fields")})


def _rank(own: Nagori, query: str, filters: Any, count: int) -> list[tuple[dict[str, Any], Nagori, Memory]]:
    """The best rows of one user that fit. More are ranked until there are enough."""
    k = max(count, 50)
    while True:
        found = own.recall(query, k, min_confidence=0.0, filter=Filter(archived=True), mark=False)
        rows = [
            (
                row_of(
                    own,
                    each.memory,
                    memory=each.text,
                    score=round(each.score if each.confidence is None else each.confidence, 6),
                ),
                own,
                each.memory,
            )
            for each in found
        ]
        fitting = [each for each in rows if matches(filters, each[0])]
        if len(fitting) >= count or len(found) < k or k >= MOST_RANKED:
            return fitting
        k *= 4


def get_all(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, Any]:
    """All rows that fit, page by page."""
    filters = read_filters(said)
    if not filters:
        raise InvalidInput("filters", "error.mem0_entity", names=NOT_SPECIFIED)
    paged = _page([row for row, _, _ in select_rows(tenant, filters)], said)
    return {**paged, "results": choose_fields(paged["results"], said)}


def _page(rows: list[dict[str, Any]], said: Mapping[str, Any], size: int = 100) -> dict[str, Any]:
    page, size = _natural(said, "page", 1), _natural(said, "page_size", size)
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
    if said.get("timestamp") is not None:
        raise InvalidInput("timestamp", "error.mem0_refused", name="timestamp")
    if text is None and metadata is None:
        raise InvalidInput("text", "error.missing")
    return row_of(own, own.edit(id, content=text, trigger=None if text is None else "", metadata=metadata))


def delete(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, str]:
    own, id = tenant.find(said["memory_id"])
    own.forget(id)
    return {"message": "Memory deleted successfully!"}


def delete_all(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, str]:
    """Delete what fits. `*` means all rows that have this entity, so four of them mean everything."""
    entities = read_entities(said)
    if not entities:
        raise InvalidInput("user_id", "error.mem0_entity", names=NOT_SPECIFIED)
    named = {name: value for name, value in entities.items() if value != "*"}
    some = [{name: value} for name, value in entities.items() if value == "*"]
    beside = {"metadata": said["metadata"]} if said.get("metadata") else {}
    filters = {**named, **({"OR": some} if some else {}), **read_filters(beside)}
    for _, own, memory in select_rows(tenant, filters):
        own.forget(memory.id)
    return {"message": "Memories deleted successfully!"}


def history(tenant: Tenant, said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What happened to a row: it was added, its words changed, it was deleted."""
    own, id = tenant.find(said["memory_id"])
    told: list[dict[str, Any]] = []
    row = row_of(own, own.show(id))
    now: str | None = None
    for event in own.why(id).history:
        what, text = _change(event.type, event.data)
        if what is None or (what == "ADD" and told):
            continue
        told.append(
            {
                "id": str(uuid.uuid5(uuid.UUID(said["memory_id"]), str(event.seq))),
                "memory_id": said["memory_id"],
                "user_id": row["user_id"],
                "metadata": row["metadata"],
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
    """Users with their number of memories, and the agents, apps and runs of these, newest first."""
    return _page(_find_entities(tenant), said)


def _find_entities(tenant: Tenant) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row, _, _ in select_rows(tenant, {}):  # newest first
        for name in ENTITIES:
            if row[name]:
                type = name.removesuffix("_id")
                known = {"id": row[name], "name": row[name], "type": type, "metadata": None}
                times = {"updated_at": row["updated_at"], "total_memories": 0}
                each = found.setdefault((type, row[name]), {**known, **times})
                each["created_at"] = row["created_at"]
                each["updated_at"] = max(each["updated_at"], row["updated_at"])
                each["total_memories"] += 1
    return [*found.values()]


def entity(tenant: Tenant, said: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One user, agent, app or run; none if it has no memories."""
    _entity_field(said)
    wanted = (said["entity_type"], said["entity_id"])
    return [each for each in _find_entities(tenant) if (each["type"], each["name"]) == wanted]


def entity_rows(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, Any]:
    """The memories of a user, agent, app or run, page by page."""
    return get_all(tenant, {**said, _entity_field(said): said["entity_id"]})


def _entity_field(said: Mapping[str, Any]) -> str:
    name = f"{said['entity_type']}_id"
    if name not in ENTITIES:
        choices = ", ".join(each.removesuffix("_id") for each in ENTITIES)
        raise InvalidInput("entity_type", "error.not_choice", value=said["entity_type"], choices=choices)
    return name


def delete_entity(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, str]:
    return delete_all(tenant, {_entity_field(said): said["entity_id"]})


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
    return _event(get(tenant, {"memory_id": said["event_id"]}))


def list_events(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, Any]:
    """What was added, newest first."""
    return _page([_event(row) for row, _, _ in select_rows(tenant, {})], said, MOST_EVENTS)


def _event(row: Mapping[str, Any]) -> dict[str, Any]:
    times = dict.fromkeys(("created_at", "updated_at"), row["created_at"])
    known = {"id": row["id"], "event_type": "ADD", "status": "SUCCEEDED", "payload": {}, "metadata": None}
    return {**known, **times, "results": [row]}


def ping(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, Any]:
    """The clients want an organisation and a project; here there is one of each."""
    return {"status": "ok", "org_id": PROJECT, "project_id": PROJECT, "user_email": None}


def read_project(tenant: Tenant, said: Mapping[str, Any]) -> dict[str, Any]:
    """What can be set for a project there is not set here, and cannot be."""
    unset = dict.fromkeys(("custom_instructions", "agent_custom_instructions", "custom_categories"))
    return {"org_id": PROJECT, "project_id": PROJECT, "name": PROJECT, **unset, "enable_graph": False}


def list_none(tenant: Tenant, said: Mapping[str, Any]) -> list[object]:
    """There are no webhooks: this server calls nobody."""
    return []


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
ONE_PROJECT = "/api/v1/orgs/organizations/{org_id}/projects/{project_id}/"
WEBHOOKS = "/api/v1/webhooks/projects/{project_id}/"
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
    ("GET", "/v1/events/", list_events),
    ("GET", "/v2/entities/{entity_type}/{entity_id}/", entity),
    ("GET", "/v1/memories/{entity_type}/{entity_id}/", entity_rows),
    ("GET", ONE_PROJECT, read_project),
    *((method, ONE_PROJECT, refuse) for method in ("PATCH", "DELETE")),
    ("GET", WEBHOOKS, list_none),
    ("POST", WEBHOOKS, refuse),
)


def mem0_routes() -> list[Route]:
    """Routes for `create_app`. Everything else of that API is refused with a sentence."""
    paths: dict[str, dict[str, Work]] = {}
    for method, path, work in TABLE:
        paths.setdefault(path, {})[method] = work
    rest = [f"/{part}/{{rest:path}}" for part in ("v1", "v2", "v3", "api/v1")]
    refused: dict[str, Work] = dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), refuse)
    others = [_route(path, refused, OtherPaths) for path in rest]
    return [*(_route(path, {**refused, **works}) for path, works in paths.items()), *others]


class OtherPaths(Route):
    """What no other route has: a path that one of ours has with another method is left to it."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return (Match.PARTIAL if match is Match.FULL else match), found


def _route(path: str, works: Mapping[str, Work], kind: type[Route] = Route) -> Route:
    async def answer(request: Request) -> Response:
        try:
            body = await request.body()
            work = works["GET" if request.method == "HEAD" else request.method]
            result = await in_thread(request, lambda: work(_tenant(request), _read(request, body)))
        except NagoriError as error:
            record = error_record(error, language_of(request))
            return json_reply({"detail": record["message"], "error": record}, status_of(error))
        return json_reply(result)

    return kind(path, answer, methods=[*works])


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
