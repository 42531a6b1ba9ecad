"""The table of routes: each is one verb, with the struct of what a request may say.

Routing, the OpenAPI document and the client are made from this table. A request's path, query and body are
one struct; unknown fields are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

import msgspec
from starlette.requests import Request

from nagori.app import Nagori
from nagori.core.model import Category, Emotion, Filter, Kind, Memory, Privacy, Recollection, Trust
from nagori.core.values import Value
from nagori.errors import InvalidInput


class RequestBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a request may say."""


class EmotionBody(RequestBody):
    intensity: float = 35.0
    valence: Literal["positive", "negative", "neutral"] = "neutral"
    arousal: float = 30.0
    tags: list[str] = []

    def read(self) -> Emotion:
        return Emotion(**msgspec.structs.asdict(self))


class FilterBody(RequestBody):
    kinds: list[Kind] | None = None
    levels: list[int] | None = None
    categories: list[Category] | None = None
    since: datetime | None = None
    until: datetime | None = None
    session: str | None = None
    protected: bool | None = None
    archived: bool = False
    forgotten: bool = False
    prefix: str | None = None

    def read(self) -> Filter:
        return Filter(**{name: getattr(self, name) for name in FilterBody.__struct_fields__})


class Remember(RequestBody):
    content: str
    trigger: str = ""
    kind: Kind = Kind.FACT
    category: Category | None = None
    emotion: EmotionBody | None = None
    keywords: list[str] = []
    created: datetime | None = None
    trust: Trust = Trust.USER
    privacy: Privacy = Privacy.PUBLIC
    protect: bool = False
    metadata: dict[str, str | int | float | bool | None] | None = None


class Recall(RequestBody):
    query: str
    k: int | None = None
    filter: FilterBody | None = None
    ranking: Literal["fused", "priority", "score"] | None = None
    mood: EmotionBody | None = None
    session: str | None = None
    tokens: int | None = None
    min_confidence: float | None = None
    mark: bool = True
    category: Category | None = None


class ListMemories(FilterBody):
    limit: int = 100
    older_than: str | None = None


class ById(RequestBody):
    id: str


class Operation(Value):
    """A route: what it is called, what a request may say, what it does and what it returns."""

    name: str  # of the verb
    method: str
    path: str
    body: type[RequestBody]
    work: Callable[[Nagori, Any], object]
    result: Any
    status: int = 200

    @property
    def in_path(self) -> tuple[str, ...]:
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))


def arguments(body: RequestBody) -> dict[str, Any]:
    """What a request said, as arguments of a verb. What it left out is left to the verb."""
    given = {name: getattr(body, name) for name in body.__struct_fields__}
    return {name: _argument(value) for name, value in given.items() if value is not None}


def _argument(value: Any) -> Any:
    return value.read() if hasattr(value, "read") else value


def list_memories(memory: Nagori, body: ListMemories) -> list[Memory]:
    last = memory.show(body.older_than) if body.older_than else None
    return memory.list(body.read(), limit=body.limit, older_than=last)


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "remember", "POST", "/v1/memories", Remember, lambda m, b: m.remember(**arguments(b)), Memory, 201
    ),
    Operation("list", "GET", "/v1/memories", ListMemories, list_memories, list[Memory]),
    Operation("show", "GET", "/v1/memories/{id}", ById, lambda m, b: m.show(b.id), Memory),
    Operation("forget", "DELETE", "/v1/memories/{id}", ById, lambda m, b: m.forget(b.id), Memory),
    Operation(
        "recall", "POST", "/v1/recall", Recall, lambda m, b: m.recall(**arguments(b)), list[Recollection]
    ),
)


async def read_request(operation: Operation, request: Request) -> RequestBody:
    """Path, query and body of a request as one struct; InvalidInput if they do not fit."""
    said: dict[str, Any] = {}
    try:
        if operation.method == "GET":
            said = {name: _query_value(operation.body, name, request) for name in request.query_params}
        elif body := await request.body():
            decoded = msgspec.json.decode(body)
            if not isinstance(decoded, dict):
                raise InvalidInput("body", "error.not_object")
            said = decoded
        said.update(request.path_params)
        return msgspec.convert(said, operation.body, strict=operation.method != "GET")
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as fault:
        raise InvalidInput("body", "error.http_body", reason=str(fault)) from None


def _query_value(body: type[RequestBody], name: str, request: Request) -> Any:
    several = name in LISTS.get(body, ())
    return request.query_params.getlist(name) if several else request.query_params[name]


LISTS: dict[type[RequestBody], tuple[str, ...]] = {ListMemories: ("kinds", "levels", "categories")}
