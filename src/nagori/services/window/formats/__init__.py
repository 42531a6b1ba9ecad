"""The formats of conversations: one module for each, with one protocol.

A format reads messages of a vendor into messages of `core.window`, and writes what is sent. A kept message is
the caller's own object with all its fields; a cut message is a copy. Messages are dicts or objects of a
vendor's library (`plain`). A library is imported only to make a new message, so reading needs none. An
unknown message is refused by name.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from dataclasses import replace as replace_fields
from datetime import date
from decimal import Decimal
from enum import Enum
from importlib import import_module
from pathlib import PurePath
from types import SimpleNamespace
from typing import Any, NoReturn, Protocol
from uuid import UUID

from nagori.core.window.messages import Message
from nagori.errors import InvalidInput

Count = Callable[[str], int]

FORMATS = ("openai", "anthropic", "responses", "gemini", "sharegpt", "langchain", "pydantic_ai")


class Format(Protocol):
    """Reads and writes the messages of one vendor."""

    ALTERNATES: bool  # whether user and assistant must take turns, beginning with the user

    def read(self, originals: Sequence[Any], count: Count, start: int = 0) -> list[Message]:
        """Read the messages from `start` on. A text holds only words of the message. The tokens cover all
        that is sent of it."""
        ...

    def cut(self, original: Any, tokens: int, count: Count) -> Any:
        """A copy of at most `tokens` tokens. The fixed tokens of the message always remain."""
        ...

    def say(self, role: str, text: str, like: Any = None) -> Any:
        """A new message of the role `user` or `assistant`, of the same type as the message `like`."""
        ...

    def note(self, original: Any, text: str, after: bool) -> Any:
        """A copy of a user message with our text before or after its own, for formats whose turns
        alternate."""
        ...


def refuse(at: int, what: Any, format: str) -> NoReturn:
    """Raise InvalidInput with the place and the type of a message that a format does not know."""
    name = type(what).__name__
    if isinstance(what, Mapping):
        kind = what.get("type") or what.get("role") or what.get("from")
        name = repr(kind) if kind else f"{{{', '.join(map(str, what))}}}"
    raise InvalidInput("messages", "error.unknown_in_format", n=at, what=name, format=format)


def format_of(messages: Sequence[Any], name: str | None = None) -> Format:
    """The format with this name, or the one that the messages have."""
    name = name or detect_format(messages) or "openai"
    if name not in FORMATS:
        raise InvalidInput("format", "error.not_choice", value=name, choices=", ".join(FORMATS))
    return import_module(f"nagori.services.window.formats.{name}")


def detect_format(messages: Sequence[Any], first: str = "") -> str:
    """The name of the format of messages, or an empty text if no message shows it. The first message that
    only one format has decides. `first` is the format of earlier messages. One LangChain message is enough,
    because LangChain also takes dicts of other formats."""
    if first == "langchain":
        return first
    for message in messages:
        name = _message_format(message)
        if name == "langchain":
            return name
        first = first or name
    return first


_LANGCHAIN = ("human", "ai", "system", "tool", "function", "chat", "constructor", "aimessagechunk")
_BLOCKS = {
    **dict.fromkeys(("tool_use", "tool_result", "thinking", "redacted_thinking", "image"), "anthropic"),
    **dict.fromkeys(("document", "server_tool_use", "web_search_tool_result"), "anthropic"),
    **dict.fromkeys(("input_text", "output_text", "input_image", "input_file", "refusal"), "responses"),
}
_FIELDS = {  # the first that a message has
    **dict.fromkeys(("tool_calls", "tool_call_id", "tool_name", "function_call"), "openai"),
    **{"lc": "langchain", "parts": "gemini", "from": "sharegpt"},
}


def _message_format(message: Any) -> str:
    """The name of the only format that has such a message; empty if several have."""
    if isinstance(message, tuple):
        return "langchain"
    if isinstance(message, Mapping):
        return _dict_format(message)
    if hasattr(message, "parts"):
        return "pydantic_ai" if hasattr(message, "kind") else "gemini"
    if str(field(message, "type")).lower() in _LANGCHAIN:
        return "langchain"
    fields = plain(message)
    return _dict_format(fields) if isinstance(fields, Mapping) else ""


def _dict_format(message: Mapping[str, Any]) -> str:
    kind = str(plain(message.get("type")) or "").lower()
    if kind in _LANGCHAIN and not message.get("role"):
        return "langchain"
    blocks = (_BLOCKS.get(str(field(part, "type"))) for part in _parts(message))
    found = next((name for name in blocks if name), "")
    found = found or next((name for sign, name in _FIELDS.items() if sign in message), "")
    if found:
        return found
    if plain(message.get("role")) == "developer":
        return "openai"
    return "responses" if "role" not in message or kind == "message" else ""


def _parts(message: Mapping[str, Any]) -> Sequence[Any]:
    content = message.get("content")
    return content if isinstance(content, list | tuple) else ()


# --- objects of vendors' libraries ----------------------------------------------------------------
# An object is asked for its fields in the way its kind offers them (`model_dump`, `to_dict`, a dataclass).
# What offers none is refused by the name of its type: half a message is worse.

_AS_IS = frozenset((str, int, float, bool, type(None)))


def plain(value: Any) -> Any:
    """Convert a value to plain JSON data. InvalidInput names a type that cannot be converted."""
    if type(value) in _AS_IS:
        return value
    for kinds, make in _MADE:
        if isinstance(value, kinds):
            return make(value)
    return plain(_fields(value))


_MADE: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (Enum, lambda value: plain(value.value)),  # before `str`: a role may be both
    (str, str.__str__),
    ((int, float), lambda value: value),
    (Mapping, lambda value: {str(plain(name)): plain(each) for name, each in value.items()}),
    ((list, tuple), lambda value: [plain(each) for each in value]),
    ((bytes, bytearray, memoryview), lambda value: b64encode(value).decode()),
    (date, lambda value: value.isoformat()),
    ((UUID, Decimal, PurePath), str),
)


def _fields(value: Any) -> Mapping[str, Any]:
    for offers, give in _GIVEN:
        if offers(value):
            found: Mapping[str, Any] = give(value)
            return found
    raise InvalidInput("messages", "error.type_not_message", type=type(value).__name__)


def _dump(value: Any) -> Any:
    try:
        return value.model_dump(exclude_none=True, warnings=False)
    except TypeError:  # not pydantic's own
        return value.model_dump()


_GIVEN: tuple[tuple[Callable[[Any], bool], Callable[[Any], Any]], ...] = (
    (lambda value: callable(getattr(value, "model_dump", None)), _dump),
    (lambda value: callable(getattr(value, "to_dict", None)), lambda value: value.to_dict()),
    (
        lambda value: is_dataclass(value) and not isinstance(value, type),
        lambda value: {field.name: getattr(value, field.name) for field in fields(value)},
    ),
    (lambda value: isinstance(value, SimpleNamespace), vars),
)


def copy_with(original: Any, **changes: Any) -> Any:
    """A copy of a caller's object, of the same type, with changed fields."""
    if isinstance(original, Mapping):
        return {**original, **changes}
    if callable(getattr(original, "model_copy", None)):
        return original.model_copy(update=changes)
    if is_dataclass(original) and not isinstance(original, type):
        return replace_fields(original, **changes)
    made = copy(original)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def field(value: Any, name: str) -> Any:
    """A field of a dict or of an object; None where it has none."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
