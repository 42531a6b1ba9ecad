"""OpenAI's chat messages, which most others speak too, and plain dicts of `role` and `content`.

    {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", …}]}
    {"role": "tool", "tool_call_id": "call_1", "content": "12 °C"}

`developer` is a system message. The older `function_call` and `function` belong together by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nagori.core.window.messages import ASSISTANT, SYSTEM, TOOL, USER, Message
from nagori.services.window.formats import Count
from nagori.services.window.formats.content import OVERHEAD, as_json, moment, shortened, weigh

ALTERNATES = False
_ROLES = {"developer": SYSTEM, "function": TOOL, "human": USER, "ai": ASSISTANT, "model": ASSISTANT}
_KNOWN = frozenset(("role", "content", "name", "timestamp", "created_at"))


def read(originals: Sequence[Any], count: Count, start: int = 0) -> list[Message]:
    return [_message(original, count) for original in originals[start:]]


def _message(original: Mapping[str, Any], count: Count) -> Message:
    role = str(original.get("role", ""))
    weight = weigh(original.get("content"), count)
    fixed = OVERHEAD + weight.fixed + count(str(original.get("name") or ""))
    others = {name: value for name, value in original.items() if name not in _KNOWN and value}
    fixed += count(as_json(others)) if others else 0
    return Message(
        role=_ROLES.get(role, role),
        text="\n".join(weight.texts),
        tokens=fixed + weight.text + weight.media,
        fixed=fixed,
        calls=tuple(_calls(original)),
        answers=tuple(_answers(original)),
        at=moment(original.get("timestamp") or original.get("created_at")),
        speaker=str(original["name"]) if original.get("name") and role != "function" else None,
    )


def _calls(original: Mapping[str, Any]) -> list[str]:
    calls = original.get("tool_calls")
    found = [str(call.get("id")) for call in calls or () if isinstance(call, Mapping)]
    old = original.get("function_call")
    return [*found, f"function:{old.get('name')}"] if isinstance(old, Mapping) else found


def _answers(original: Mapping[str, Any]) -> list[str]:
    if original.get("role") == "function":
        return [f"function:{original.get('name')}"]
    return [str(original["tool_call_id"])] if original.get("tool_call_id") else []


def cut(original: Any, tokens: int, count: Count) -> Any:
    message = _message(original, count)
    content = original.get("content")
    fixed = message.fixed - weigh(content, count).fixed
    return {**original, "content": shortened(content, tokens - fixed, count)}


def say(role: str, text: str) -> Any:
    return {"role": role, "content": text}
