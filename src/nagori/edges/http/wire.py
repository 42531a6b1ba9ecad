"""The form of values in JSON, for the server and its client: one rule for all of them.

A value is an object with its fields; a memory is its record, as in an export. `from_plain` reads by the type
annotations of the same classes, so a new field needs no code here. Standard library only.
"""

from __future__ import annotations

import collections.abc
import sys
import types
import typing
from collections import Counter
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from enum import Enum
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from nagori.core.model import Memory, Recollection
from nagori.core.serialize import from_record
from nagori.core.value_object import Value, fields_of
from nagori.errors import InvalidInput, NagoriError, Notice

NAMES = {"Any": Any, "Metadata": dict[str, Any], "Owner": tuple[str, str]}  # imported for type checkers only
LISTS = (list, collections.abc.Sequence, collections.abc.Iterable)
TABLES = (dict, collections.abc.Mapping)


def to_plain(value: object) -> Any:
    """A value as data of JSON; what is inside it is converted in its turn."""
    if isinstance(value, Memory | Recollection):
        return value.to_dict()
    if isinstance(value, Value):
        return {name: getattr(value, name) for name in fields_of(value)}
    if isinstance(value, NagoriError):
        return value.notice.to_record()
    if isinstance(value, Notice):
        return value.to_record()
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, collections.abc.Iterable):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def from_plain(kind: Any, data: Any) -> Any:
    """The value of a type that JSON data stand for; InvalidInput if they do not fit."""
    try:
        return _read(kind, data)
    except (TypeError, ValueError, KeyError, AttributeError) as fault:
        raise InvalidInput(
            "answer", "error.http_answer", type=str(getattr(kind, "__name__", kind))
        ) from fault


@cache
def field_types(kind: Any) -> dict[str, Any]:
    """The types of a value's fields; what only a type checker can find is Any."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        space = {**NAMES, **vars(sys.modules[base.__module__])}
        for name, text in vars(base).get("__annotations__", {}).items():
            if name in fields_of(kind):
                found[name] = _resolve(text, space)
    return found


def _resolve(annotation: Any, space: dict[str, Any]) -> Any:
    try:
        return typing.get_type_hints(types.SimpleNamespace(__annotations__={"it": annotation}), space)["it"]
    except NameError:
        return Any


def _read(kind: Any, data: Any) -> Any:
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or isinstance(kind, str | typing.TypeVar):
        return data
    if origin in (typing.Union, types.UnionType):
        return _read_union(inside, data)
    if origin in TABLES or origin is Counter:
        keys, values = (*inside, int)[:2]
        table = {_read_key(keys, key): _read(values, value) for key, value in data.items()}
        return Counter(table) if origin is Counter else table
    if origin is tuple and inside[-1:] != (...,):
        return tuple(_read(each, value) for each, value in zip(inside, data, strict=True))
    if origin in (tuple, frozenset) or origin in LISTS:
        several = [_read(inside[0], value) for value in data]
        return several if origin in LISTS else origin(several)
    return _read_one(kind, data)


def _read_one(kind: Any, data: Any) -> Any:
    if not isinstance(kind, type) or kind in (str, int, float, bool, dict, list, object):
        return data
    if issubclass(kind, Memory):
        return from_record(data)
    if issubclass(kind, Notice):
        return Notice.from_record(data)
    if issubclass(kind, Value):
        known = field_types(kind)  # type: ignore[arg-type] # a class is hashable, too
        return kind(**{name: _read(each, data[name]) for name, each in known.items() if name in data})
    if issubclass(kind, datetime | date):
        return kind.fromisoformat(data)
    if issubclass(kind, timedelta):
        return timedelta(seconds=data)
    if issubclass(kind, PurePath):
        return Path(data)
    return kind(data) if issubclass(kind, Enum) else data


def _read_union(kinds: tuple[Any, ...], data: Any) -> Any:
    if data is None:
        return None
    for kind in kinds:
        if kind is not type(None):
            try:
                return _read(kind, data)
            except (TypeError, ValueError, KeyError, AttributeError):
                continue
    raise ValueError


def _read_key(kind: Any, key: str) -> Any:
    """A key of a table: JSON knows only text."""
    number = isinstance(kind, type) and issubclass(kind, int)
    return _read(kind, int(key) if number else key)
