"""Gemini's contents: parts of text, calls and results; dicts as REST has them or as Python has them, or the
objects of `google-genai`.

    {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]}
    {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"result": "12 °C"}}}]}

Calls may have no ids: then they belong to their results by name and order. Turns alternate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nagori.core.window.messages import ASSISTANT, SYSTEM, TOOL, USER, Message
from nagori.services.window.formats import Count, copy_with, field, plain, refuse
from nagori.services.window.formats.count_and_cut_content import (
    OVERHEAD,
    Named,
    Pairs,
    as_json,
    first_of_turn,
    moment,
    shorten_content,
    subject,
    weigh,
)

ALTERNATES = True
_ROLES = {"user": USER, "model": ASSISTANT, "system": SYSTEM, "function": TOOL, "tool": TOOL}
_KNOWN = frozenset(("role", "parts", "timestamp"))
_CALL, _RESULT = ("function_call", "functionCall"), ("function_response", "functionResponse")


def read(originals: Sequence[Any], count: Count, start: int = 0) -> list[Message]:
    first, pairs = first_of_turn(originals, start, _is_result), Pairs()
    found = [_message(plain(originals[at]), count, pairs, at) for at in range(first, len(originals))]
    return found[start - first :]


def _is_result(original: Any) -> bool:
    parts = field(original, "parts")
    return any(field(part, name) is not None for part in parts or () for name in _RESULT)


def _message(said: Any, count: Count, pairs: Pairs, at: int) -> Message:
    parts = said.get("parts") if isinstance(said, Mapping) else None
    if not isinstance(parts, list) or said.get("role", "user") not in _ROLES:
        refuse(at, said, "gemini")
    results, calls = _ids_and_names(parts, _RESULT), _ids_and_names(parts, _CALL)
    weight = weigh(parts, count)
    others = {name: value for name, value in said.items() if name not in _KNOWN and value}
    fixed = OVERHEAD + weight.fixed + (count(as_json(others)) if others else 0)
    return Message(
        role=TOOL if results else _ROLES[said.get("role", "user")],
        text="\n".join(weight.texts),
        tokens=fixed + weight.text + weight.media,
        fixed=fixed,
        answers=pairs.answers(at, results) if results else (),
        calls=pairs.calls(at, calls) if calls or not results else (),
        about=tuple(subject(call.get("name"), call.get("args")) for call in _fields(parts, _CALL)),
        failed=any("error" in (found.get("response") or ()) for found in _fields(parts, _RESULT)),
        at=moment(said.get("timestamp")),
    )


def _fields(parts: Sequence[Any], names: Sequence[str]) -> list[Mapping[str, Any]]:
    parts = [part for part in parts if isinstance(part, Mapping)]
    return [part[name] for part in parts for name in names if isinstance(part.get(name), Mapping)]


def _ids_and_names(parts: Sequence[Any], names: Sequence[str]) -> list[Named]:
    found = _fields(parts, names)
    return [(str(each["id"]) if each.get("id") else None, str(each.get("name") or "")) for each in found]


def cut(original: Any, tokens: int, count: Count) -> Any:
    said = plain(original)
    fixed = _message(said, count, Pairs(), 0).fixed - weigh(said["parts"], count).fixed
    return copy_with(original, parts=shorten_content(field(original, "parts"), tokens - fixed, count))


def say(role: str, text: str, like: Any = None) -> Any:
    said = {"role": "user" if role == USER else "model", "parts": [{"text": text}]}
    return said if like is None or isinstance(like, Mapping) else type(like)(**said)


def note(original: Any, text: str, after: bool) -> Any:
    """Add our text before or after the user's own, but after tool results, which must come first."""
    parts = list(field(original, "parts"))
    at = len(parts) if after else sum(_is_result({"parts": [part]}) for part in parts)
    ours: Any = {"text": text}
    if not isinstance(original, Mapping):
        ours = field(say(USER, text, original), "parts")[0]
    return copy_with(original, parts=[*parts[:at], ours, *parts[at:]])
