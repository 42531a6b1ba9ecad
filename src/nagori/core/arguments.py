"""Check the arguments of callers, and refuse a wrong type by the argument's name.

Python accepts a string as a list of characters, True as 1 and 0 as False. Such mistakes go unnoticed for
weeks, so they are refused at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

from nagori.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    Wanted = TypeVar("Wanted")
    Scalar = str | int | float | bool | None
    Metadata = dict[str, Scalar]

MOST_KEYS, LONGEST_KEY, LONGEST_VALUE = 32, 64, 1000  # of the metadata of one memory
MOST = 2**31  # of anything that a caller may ask for
LARGEST = 2**63  # of a whole number that every store and every reader of JSON can hold


def check_text(name: str, value: object) -> str:
    """The value, which is a text that can be written."""
    if not isinstance(value, str):
        raise InvalidInput(name, "error.type_not_text", type=type(value).__name__)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidInput(name, "error.lone_surrogate") from None
    return value


def check_bool(name: str, value: object) -> None:
    """InvalidInput unless it is True or False."""
    if value is not True and value is not False:
        raise InvalidInput(name, "error.not_bool", value=value)


def check_whole(name: str, value: object, least: int = 0, most: int = MOST) -> int:
    """The value, which is a whole number within bounds."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput(name, "error.not_whole", value=value)
    if value < least:
        raise InvalidInput(name, "error.below_least", n=value, least=least)
    if value > most:
        raise InvalidInput(name, "error.above_most", n=value, most=most)
    return value


def check_number(name: str, value: object) -> float:
    """The value, which is a number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise InvalidInput(name, "error.not_number", value=value)
    return value


def check_kind(name: str, value: object, kind: type[Wanted]) -> Wanted:
    """The value, which is a `kind`."""
    if not isinstance(value, kind):
        values = {"type": type(value).__name__, "wanted": kind.__name__}
        raise InvalidInput(name, "error.type_not_kind", **values)
    return value


def check_list(name: str, value: Any) -> Iterable[Any]:
    """The value, which is several things; one text, or one table, is refused."""
    if isinstance(value, str | bytes | bytearray | Mapping) or not isinstance(value, Iterable):
        raise InvalidInput(name, "error.type_not_list", type=type(value).__name__)
    return value


def read_texts(name: str, value: Any) -> tuple[str, ...]:
    """The texts of a list."""
    check_list(name, value)
    texts = tuple(value)
    for text in texts:
        check_text(name, text)
    return texts


def read_metadata(value: object, name: str = "metadata") -> Metadata:
    """A table of a caller's own, as it may be kept: small, plain, in the order of its keys."""
    if not isinstance(value, Mapping):
        raise InvalidInput(name, "error.type_not_table", type=type(value).__name__)
    if len(value) > MOST_KEYS:
        raise InvalidInput(name, "error.too_many_keys", n=len(value), most=MOST_KEYS)
    for key, one in value.items():
        _check_key(name, key)
        _check_scalar(f"{name}.{key}", one)
    return {key: value[key] for key in sorted(value)}


def _check_key(name: str, key: object) -> None:
    check_text(f"{name}.{key!r}", key)
    text = str(key)
    if not text.strip() or len(text) > LONGEST_KEY or not text.isprintable():
        raise InvalidInput(name, "error.key_name", key=text, most=LONGEST_KEY)


def _check_scalar(name: str, value: object) -> None:
    if isinstance(value, str):
        if len(value) > LONGEST_VALUE:
            raise InvalidInput(name, "error.value_too_long", n=len(value), most=LONGEST_VALUE)
        if "\0" in value or not _is_writable(value):
            raise InvalidInput(name, "error.unwritable", value=value)
    elif isinstance(value, float):
        if not isfinite(value):
            raise InvalidInput(name, "error.not_number", value=value)
    elif isinstance(value, int):
        if not -LARGEST <= value < LARGEST:
            raise InvalidInput(name, "error.whole_too_large")
    elif value is not None:
        raise InvalidInput(name, "error.type_not_scalar", type=type(value).__name__)


def _is_writable(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)
