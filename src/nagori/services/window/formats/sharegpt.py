"""ShareGPT's turns, as collections of conversations have them.

    {"from": "human", "value": "…"}, {"from": "gpt", "value": "…"}
    {"from": "function_call", "value": "{…}"}, {"from": "observation", "value": "…"}

Calls and results have no ids: a result belongs to the call before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nagori.core.window.messages import ASSISTANT, SYSTEM, TOOL, USER, Message
from nagori.services.window.formats import Count, copy_with, field, plain, refuse
from nagori.services.window.formats.count_and_cut_content import (
    OVERHEAD,
    Pairs,
    as_json,
    cut_text,
    first_of_turn,
    moment,
)

ALTERNATES = False
_CALLS = ("function_call", "tool_call")
_ROLES = {
    **dict.fromkeys(("human", "user"), USER),
    **dict.fromkeys(("gpt", "chatgpt", "assistant", "bot", "model", *_CALLS), ASSISTANT),
    **dict.fromkeys(("tool", "observation", "function_response", "tool_response"), TOOL),
    "system": SYSTEM,
}
_KNOWN = frozenset(("from", "value", "timestamp"))


def read(originals: Sequence[Any], count: Count, start: int = 0) -> list[Message]:
    first, pairs = first_of_turn(originals, start, _is_result), Pairs()
    found = [_message(plain(originals[at]), count, pairs, at) for at in range(first, len(originals))]
    return found[start - first :]


def _is_result(original: Any) -> bool:
    return _ROLES.get(str(field(original, "from"))) == TOOL


def _message(said: Any, count: Count, pairs: Pairs, at: int) -> Message:
    who = str(said.get("from")) if isinstance(said, Mapping) else ""
    if who not in _ROLES or not isinstance(said.get("value"), str):
        refuse(at, said, "sharegpt")
    others = {name: value for name, value in said.items() if name not in _KNOWN and value}
    fixed = OVERHEAD + (count(as_json(others)) if others else 0)
    fixed += count(said["value"]) if who in _CALLS else 0  # half a call is none
    return Message(
        role=_ROLES[who],
        text="" if who in _CALLS else said["value"],
        tokens=fixed + (0 if who in _CALLS else count(said["value"])),
        fixed=fixed,
        answers=pairs.answers(at, [(None, "")]) if _ROLES[who] == TOOL else (),
        calls=pairs.calls(at, [(None, "")] * (who in _CALLS)) if _ROLES[who] != TOOL else (),
        at=moment(said.get("timestamp")),
    )


def cut(original: Any, tokens: int, count: Count) -> Any:
    fixed = _message(plain(original), count, Pairs(), 0).fixed
    return copy_with(original, value=cut_text(original["value"], max(0, tokens - fixed), count))


def say(role: str, text: str, like: Any = None) -> Any:
    return {"from": "human" if role == USER else "gpt", "value": text}
