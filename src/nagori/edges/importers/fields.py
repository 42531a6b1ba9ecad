"""Records that somebody else wrote: nothing in them is promised, so nothing is believed without a look."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from nagori.language.redaction import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_NAME = 200
MILLISECONDS = 100_000_000_000  # a larger number counts milliseconds: in seconds it were the year 5138


def moment(value: object) -> datetime | None:
    """A time written as ISO 8601 or as an epoch; without a zone it is UTC, as programs write it."""
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
    return found if 1970 < found.year < 3000 else None  # beyond, other zones could not even show it


def name(value: object) -> str | None:
    """An id fit to be kept: a short text or a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"{value:x}" if value.bit_length() > 64 else str(value)
    if not isinstance(value, str):
        return None
    return clean(value[:LONGEST_NAME]).replace("\n", " ").strip() or None


def text(value: object) -> str:
    """A text without its margins; anything else is none."""
    return clean(value).strip() if isinstance(value, str) else ""


def texts(value: object) -> tuple[str, ...]:
    """The texts of a list, which may itself be written as JSON in a text."""
    from json import loads

    if isinstance(value, str):
        try:
            value = loads(value)
        except (ValueError, RecursionError):
            return ()
    return tuple(filter(None, map(text, value))) if isinstance(value, list) else ()


def first(record: dict[str, Any], names: Iterable[str]) -> object:
    """The first field that is there and not empty: names change from release to release."""
    return next((record[name] for name in names if record.get(name)), None)
