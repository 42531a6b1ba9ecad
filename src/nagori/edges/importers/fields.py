"""Read fields of foreign records: every value is checked."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from nagori.core.value_object import clean_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_NAME = 200
MILLISECONDS = 100_000_000_000  # a larger number is in milliseconds; in seconds it would be the year 5138


def moment(value: object) -> datetime | None:
    """A time in ISO 8601 or as an epoch; without a zone it is UTC."""
    try:
        if isinstance(value, str):
            read = datetime.fromisoformat(value.strip())
            found = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found = datetime.fromtimestamp(value / 1000 if abs(value) > MILLISECONDS else value, UTC)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return found if 1970 < found.year < 3000 else None  # outside, other zones cannot represent it


def name(value: object) -> str | None:
    """A storable id: a short text or a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"{value:x}" if value.bit_length() > 64 else str(value)
    if not isinstance(value, str):
        return None
    return clean_text(value[:LONGEST_NAME]).replace("\n", " ").strip() or None


def text(value: object) -> str:
    """A stripped text; anything else is ""."""
    return clean_text(value).strip() if isinstance(value, str) else ""


def texts(value: object) -> tuple[str, ...]:
    """The texts of a list, which may be JSON inside a text."""
    from json import loads

    if isinstance(value, str):
        try:
            value = loads(value)
        except (ValueError, RecursionError):
            return ()
    return tuple(filter(None, map(text, value))) if isinstance(value, list) else ()


def first(record: dict[str, Any], names: Iterable[str]) -> object:
    """The first field that exists and is not empty: names differ between releases."""
    return next((record[name] for name in names if record.get(name)), None)
