"""Describe the routes as an OpenAPI 3.1 document, made from the table of operations."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import msgspec

from nagori import __version__
from nagori.core.model import Memory, Recollection, Source
from nagori.core.value_object import Value
from nagori.edges.http.access import SCOPE_HEADERS, UNNAMED_AGENT, VISIBLE
from nagori.edges.http.operations import QUERY_METHODS, Operation
from nagori.edges.http.wire import LISTS, TABLES, field_types
from nagori.errors import Notice

REFUSALS = {
    "400": "The request is wrong.",
    "401": "No valid token or key.",
    "403": "Not allowed for this caller.",
    "404": "There is no such memory.",
    "409": "It changed meanwhile, a limit is reached, or somebody must confirm it.",
    "410": "The memory of this user was erased.",
    "413": "The request is too large.",
    "429": "Too many requests.",
    "502": "A model did not answer.",
    "503": "The store or the server cannot do it now.",
}
HEADER = {"type": "string", "pattern": f"^{VISIBLE.pattern}$"}
PREFIX = "#/components/schemas/"


class ErrorRecord(msgspec.Struct):
    type: str
    id: str
    message: str
    field: str | None = None
    values: dict[str, Any] = {}
    candidates: list[str] | None = None


class ErrorReply(msgspec.Struct):
    error: ErrorRecord


class NoticeRecord(msgspec.Struct):
    id: str
    values: dict[str, Any] = {}


def describe_api(operations: Sequence[Operation]) -> dict[str, Any]:
    """The document."""
    results = {operation.name: json_type(operation.result) for operation in operations}
    bodies = [operation.body for operation in operations]
    kinds = [*bodies, *results.values(), ErrorReply]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=f"{PREFIX}{{name}}")
    shapes = dict(zip(results, schemas[len(bodies) :], strict=False))
    paths: dict[str, Any] = {}
    for operation in operations:
        body = components[operation.body.__name__]
        place = paths.setdefault(operation.path, {})
        place[operation.method.lower()] = _describe(operation, body, shapes[operation.name])
    direct = {operation.body.__name__ for operation in operations if _in_body(operation)}
    used = {operation.body.__name__ for operation in operations} - direct
    return {
        "openapi": "3.1.0",
        "info": {"title": "nagori", "version": __version__, "summary": "Long-term memory for LLM agents."},
        "paths": paths,
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {name: schema for name, schema in components.items() if name not in used},
        },
    }


def _in_body(operation: Operation) -> bool:
    """Whether the struct of a request is the body as it stands."""
    return operation.method not in QUERY_METHODS and not operation.in_path


def _describe(operation: Operation, body: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    properties, required = body.get("properties", {}), body.get("required", [])
    in_query = operation.method in QUERY_METHODS
    parameters = [*_parameters(operation, properties, required, in_query), *_headers()]
    told: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.name.replace("_", " ").strip(),
        "parameters": parameters,
        "responses": {
            str(operation.status): {
                "description": "Done.",
                "content": {"application/json": {"schema": result}},
            },
            **{
                status: {
                    "description": words,
                    "content": {"application/json": {"schema": _ref("ErrorReply")}},
                }
                for status, words in REFUSALS.items()
            },
        },
    }
    if in_query:
        return told
    rest = {name: shape for name, shape in properties.items() if name not in operation.in_path}
    needed = [name for name in required if name not in operation.in_path]
    schema = _ref(operation.body.__name__) if not operation.in_path else _object(rest, needed)
    content = {"application/json": {"schema": schema}}
    return {**told, "requestBody": {"required": bool(needed), "content": content}}


def _parameters(
    operation: Operation, properties: dict[str, Any], required: Sequence[str], in_query: bool
) -> Iterator[dict[str, Any]]:
    for name, shape in properties.items():
        if name in operation.in_path:
            yield {"name": name, "in": "path", "required": True, "schema": shape}
        elif in_query:
            yield {"name": name, "in": "query", "required": name in required, "schema": _without_null(shape)}


def _headers() -> Iterator[dict[str, Any]]:
    for name in SCOPE_HEADERS.values():
        yield {"name": name, "in": "header", "required": False, "schema": HEADER}
    yield {"name": UNNAMED_AGENT, "in": "header", "required": False, "schema": {"enum": ["true"]}}


def _without_null(shape: dict[str, Any]) -> dict[str, Any]:
    """A query has no null: what is not there is left out."""
    if "anyOf" not in shape:
        return {name: value for name, value in shape.items() if name != "default"}
    kinds = [kind for kind in shape["anyOf"] if kind != {"type": "null"}]
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


def _object(properties: dict[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "additionalProperties": False,
    }


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"{PREFIX}{name}"}


# --- types of results -----------------------------------------------------------------------------


def json_type(kind: Any) -> Any:
    """A type whose schema msgspec can write, for the JSON form of `kind`."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(map(json_type, inside))]  # noqa: UP007 - of types that are computed
    if origin in TABLES or (isinstance(origin, type) and issubclass(origin, dict)):
        return dict[str, json_type((*inside, int)[1])]  # type: ignore[misc]
    if origin is tuple and inside[-1:] != (...,):
        return tuple[tuple(map(json_type, inside))]  # type: ignore[misc]
    if origin in (tuple, frozenset) or origin in LISTS:
        return list[json_type(inside[0])]  # type: ignore[misc]
    if isinstance(kind, type):
        return _one_type(kind)
    return Any


def _one_type(kind: type) -> Any:
    if issubclass(kind, Notice):
        return NoticeRecord
    if issubclass(kind, Value):
        return _mirror(kind)  # type: ignore[arg-type] # a class is hashable, too
    if issubclass(kind, msgspec.Struct):
        return _mirror_struct(kind)
    if kind.__module__ == "pathlib":
        return str
    return kind


@cache
def _mirror(kind: Any) -> Any:
    """A struct with the fields of a value. Those that may be left out of its record are optional."""
    fields = []
    for name, each in field_types(kind).items():
        optional = kind is Source or (kind is Memory and name not in ("id", "created", "texts"))
        fields.append((name, json_type(each), None) if optional else (name, json_type(each)))
    if kind is Recollection:
        fields += [("confidence", float | None), ("text", str)]
    return msgspec.defstruct(kind.__name__, fields, kw_only=True)


@cache
def _mirror_struct(kind: Any) -> Any:
    hints = typing.get_type_hints(kind)
    if not any(isinstance(each, type) and issubclass(each, Value) for each in hints.values()):
        return kind
    return msgspec.defstruct(kind.__name__, [(name, json_type(each)) for name, each in hints.items()])
