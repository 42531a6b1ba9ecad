"""Anthropic's messages: content blocks, calls and results of tools among them; dicts or the SDK's objects.

    messages.append({"role": "assistant", "content": response.content})
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "12 °C"}]}

Turns alternate and begin with the user; results stand first in their message. A message that brings results
is a tool's, also where words stand beside them: agents put reminders there. Thoughts are signed, so a message
that holds any is never cut inside them. The system prompt is not among the messages: its tokens are taken off
the budget (`beside=`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nagori.core.window.messages import TOOL, USER, Message
from nagori.services.window.formats import Count, copy_with, field, plain, refuse
from nagori.services.window.formats.count_and_cut_content import (
    OVERHEAD,
    as_json,
    moment,
    shorten_content,
    subject,
    weigh,
)

ALTERNATES = True
_KNOWN = frozenset(("role", "content", "timestamp", "created_at"))


def read(originals: Sequence[Any], count: Count, start: int = 0) -> list[Message]:
    return [_message(plain(originals[at]), count, at) for at in range(start, len(originals))]


def _message(said: Any, count: Count, at: int) -> Message:
    role = said.get("role") if isinstance(said, Mapping) else None
    if not isinstance(role, str) or said.get("tool_calls") or said.get("tool_call_id"):
        refuse(at, said, "anthropic")
    content = said.get("content")
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    results = [block for block in blocks if block.get("type") == "tool_result"]
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    weight = weigh(content, count)
    fixed = OVERHEAD + weight.fixed + _beside(said, count)
    return Message(
        role=TOOL if role == USER and results else role,
        text="\n".join(weight.texts),
        tokens=fixed + weight.text + weight.media,
        fixed=fixed,
        calls=tuple(str(block.get("id")) for block in calls),
        about=tuple(subject(block.get("name"), block.get("input")) for block in calls),
        answers=tuple(str(block.get("tool_use_id")) for block in results),
        failed=any(block.get("is_error") is True for block in results),
        at=moment(said.get("timestamp") or said.get("created_at")),
    )


def _beside(said: Mapping[str, Any], count: Count) -> int:
    others = {name: value for name, value in said.items() if name not in _KNOWN and value}
    return count(as_json(others)) if others else 0


def cut(original: Any, tokens: int, count: Count) -> Any:
    fixed = OVERHEAD + _beside(plain(original), count)
    return copy_with(original, content=shorten_content(field(original, "content"), tokens - fixed, count))


def say(role: str, text: str, like: Any = None) -> Any:
    return {"role": role, "content": text}


def note(original: Any, text: str, after: bool) -> Any:
    """Add our text before or after the user's own, but after tool results, which must come first."""
    content = field(original, "content")
    blocks = list(content) if isinstance(content, list | tuple) else [{"type": "text", "text": str(content)}]
    at = len(blocks) if after else sum(field(block, "type") == "tool_result" for block in blocks)
    return copy_with(original, content=[*blocks[:at], {"type": "text", "text": text}, *blocks[at:]])
