"""OpenAI's Responses items, as the Agents SDK keeps them in its sessions.

    {"type": "function_call", "call_id": "call_1", "name": …, "arguments": …}
    {"type": "function_call_output", "call_id": "call_1", "output": "12 °C"}

Dicts or the SDK's objects (`messages += response.output`). A `reasoning` item must be followed by what came
of it, so both are one unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nagori.core.value_object import replace
from nagori.core.window.messages import ASSISTANT, SYSTEM, TOOL, Message
from nagori.services.window.formats import Count, copy_with, field, plain, refuse
from nagori.services.window.formats.count_and_cut_content import (
    OVERHEAD,
    as_json,
    moment,
    shorten_content,
    subject,
    weigh,
)

ALTERNATES = False
_CONTENT = ("content", "output")
_KINDS = frozenset(
    (
        *("message", "reasoning", "item_reference", "compaction", "compaction_summary"),
        *("mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
    )
)
_ENDS = ("_call", "_output")  # calls and their results have many names


def read(originals: Sequence[Any], count: Count, start: int = 0) -> list[Message]:
    """Read the items from `start` on. Items that a model writes after its reasoning belong to it."""
    thought = _find_reasoning(originals, start)
    messages = []
    for at in range(start, len(originals)):
        original = plain(originals[at])
        _check(at, original)
        message = _message(original, count)
        if original.get("type") == "reasoning":
            thought = _name(original)
            message = replace(message, calls=(*message.calls, thought))
        elif message.role != ASSISTANT:
            thought = None
        elif thought:
            message = replace(message, answers=(*message.answers, thought))
        messages.append(message)
    return messages


def _check(at: int, said: Any) -> None:
    kind = str(said.get("type") or "message") if isinstance(said, Mapping) else ""
    if not (kind in _KINDS or kind.endswith(_ENDS)) or (kind == "message" and not said.get("role")):
        refuse(at, said, "responses")


def _find_reasoning(originals: Sequence[Any], start: int) -> str | None:
    """The id of the reasoning that item `start` belongs to, if there is any."""
    for at in range(start - 1, -1, -1):
        original = plain(originals[at])
        if original.get("type") == "reasoning":
            return _name(original)
        if _role(original) != ASSISTANT:
            break
    return None


def _name(original: Mapping[str, Any]) -> str:
    return f"thought:{original.get('id')}"


def _role(original: Mapping[str, Any]) -> str:
    kind = str(original.get("type") or "message")
    if kind.endswith("_output"):
        return TOOL
    if kind != "message" and "role" not in original:
        return ASSISTANT
    role = str(original.get("role", ""))
    return SYSTEM if role == "developer" else role


def _message(original: Mapping[str, Any], count: Count) -> Message:
    kind = str(original.get("type") or "message")
    place = _place(original)
    weight = weigh(original.get(place), count)
    others = {name: value for name, value in original.items() if name not in (place, "role") and value}
    fixed = OVERHEAD + weight.fixed + (count(as_json(others)) if others else 0)
    called = original.get("call_id")
    return Message(
        role=_role(original),
        text="\n".join(weight.texts),
        tokens=fixed + weight.text + weight.media,
        fixed=fixed,
        calls=(str(called),) if called and kind.endswith("_call") else (),
        about=(subject(original.get("name"), original.get("arguments")),),
        answers=(str(called),) if called and kind.endswith("_output") else (),
        failed=original.get("status") == "failed",
        at=moment(original.get("timestamp") or original.get("created_at")),
    )


def _place(original: Mapping[str, Any]) -> str:
    """The field with the text that can be cut; empty for reasoning, which must stay whole."""
    if original.get("type") == "reasoning":
        return ""
    return next((name for name in _CONTENT if name in original), "content")


def cut(original: Any, tokens: int, count: Count) -> Any:
    said = plain(original)
    place = _place(said)
    fixed = _message(said, count).fixed - weigh(said.get(place), count).fixed
    return copy_with(original, **{place: shorten_content(field(original, place), tokens - fixed, count)})


def say(role: str, text: str, like: Any = None) -> Any:
    return {"role": role, "content": text}
