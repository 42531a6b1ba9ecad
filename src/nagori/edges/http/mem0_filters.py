"""The filters of mem0's platform API, on rows in its form.

`{"AND": [...]}`, `{"OR": [...]}`, `{"NOT": [...]}`, or fields with a value or with comparisons such as
`{"created_at": {"gte": "2026-01-01"}}`. `"*"` is any value that is there, a list is one of its values, and
plain `keywords` are words that the memory has in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from nagori.errors import InvalidInput

TIMES = ("created_at", "updated_at", "expiration_date")
# Other names of fields; the words of a memory have three.
ALIASES = {
    **{"text": "memory", "keywords": "memory", "keywords_search": "memory"},
    **{"timestamp": "created_at", "memory_ids": "id"},
}
DEEPEST = 20
Row = Mapping[str, Any]


def matches(filters: Any, row: Row, depth: int = 0) -> bool:
    """Whether a row fits; InvalidInput for a filter that is none."""
    if not isinstance(filters, Mapping) or depth > DEEPEST:
        raise InvalidInput("filters", "error.not_object")
    return all(_fits(name, wanted, row, depth) for name, wanted in filters.items())


def named_users(filters: Any) -> set[str] | None:
    """The users whose rows can fit; None if a filter leaves that open."""
    if not isinstance(filters, Mapping):
        return None
    some: list[set[str]] = []
    for name, wanted in filters.items():
        users: set[str] | None = None
        if name == "user_id":
            users = _named(wanted)
        elif name == "AND" and isinstance(wanted, list):
            known = [each for part in wanted if (each := named_users(part)) is not None]
            users = set.intersection(*known) if known else None
        elif name == "OR" and isinstance(wanted, list):
            parts = [named_users(part) for part in wanted]
            users = None if None in parts else set[str]().union(*(part for part in parts if part is not None))
        if users is not None:
            some.append(users)
    return set.intersection(*some) if some else None


def _named(wanted: Any) -> set[str] | None:
    if isinstance(wanted, Mapping):
        wanted = wanted.get("in", wanted.get("eq"))
    if isinstance(wanted, str) and wanted != "*":
        return {wanted}
    if isinstance(wanted, list) and "*" not in wanted:
        return {name for name in wanted if isinstance(name, str)}
    return None


def _fits(name: str, wanted: Any, row: Row, depth: int) -> bool:
    if name in ("AND", "OR", "NOT"):
        parts = wanted if isinstance(wanted, list) else [wanted]
        results = [matches(part, row, depth + 1) for part in parts]
        return all(results) if name == "AND" else any(results) if name == "OR" else not any(results)
    if name == "metadata":
        kept = row.get("metadata") or {}
        if not isinstance(wanted, Mapping):
            raise InvalidInput("filters.metadata", "error.not_object")
        return all(_compare(kept.get(key), value, f"metadata.{key}") for key, value in wanted.items())
    field = ALIASES.get(name, name)
    if field not in row:
        raise InvalidInput("filters", "error.mem0_field", name=name)
    if name.startswith("keywords") and isinstance(wanted, str | list):
        parts = [wanted] if isinstance(wanted, str) else wanted
        return all(_compare(row[field], {"icontains": part}, field) for part in parts)
    return _compare(row[field], wanted, field)


def _compare(value: Any, wanted: Any, name: str) -> bool:
    if isinstance(wanted, list):
        return _compare(value, {"in": wanted}, name)
    if not isinstance(wanted, Mapping):
        if isinstance(value, list):
            return wanted in value or (wanted == "*" and bool(value))
        return value is not None and (wanted == "*" or _plain(name, value) == _plain(name, wanted))
    return all(_test(name, comparison)(value, other) for comparison, other in wanted.items())


def _test(name: str, comparison: str) -> Callable[[Any, Any], bool]:
    def ordered(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
        def compare(value: Any, other: Any) -> bool:
            try:
                return value is not None and test(_plain(name, value), _plain(name, other))
            except TypeError:
                return False

        return compare

    tests: dict[str, Callable[[Any, Any], bool]] = {
        "eq": lambda value, other: bool(_plain(name, value) == _plain(name, other)),
        "ne": lambda value, other: bool(_plain(name, value) != _plain(name, other)),
        "in": lambda value, other: isinstance(other, list) and _is_one_of(name, value, other),
        "gt": ordered(lambda value, other: value > other),
        "gte": ordered(lambda value, other: value >= other),
        "lt": ordered(lambda value, other: value < other),
        "lte": ordered(lambda value, other: value <= other),
        "contains": lambda value, other: any(str(other) in text for text in _texts(value)),
        "icontains": lambda value, other: any(str(other).lower() in text.lower() for text in _texts(value)),
    }
    if comparison not in tests:
        raise InvalidInput("filters", "error.mem0_comparison", name=comparison)
    return tests[comparison]


def _is_one_of(name: str, value: Any, others: list[Any]) -> bool:
    """Whether a value, or one of several, is in a list."""
    values = value if isinstance(value, list) else [value]
    wanted = [_plain(name, other) for other in others]
    return any(_plain(name, each) in wanted for each in values if each is not None)


def _texts(value: Any) -> list[str]:
    return [*map(str, value)] if isinstance(value, list) else [str(value or "")]


def _plain(name: str, value: Any) -> Any:
    """A value that can be compared: times are times, whatever zone they are written in."""
    if name not in TIMES or not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise InvalidInput(f"filters.{name}", "error.not_iso_time", value=value) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
