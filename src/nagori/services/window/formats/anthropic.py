"""Anthropic's messages: content blocks, calls and results of tools among them.

    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": …, "input": …}]}
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "12 °C"}]}

Turns alternate and begin with the user; results stand first in their message. Thoughts are signed, so a
message that holds any is never cut inside them. The system prompt is not among the messages: its tokens are
taken off the budget (`beside=`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nagori.core.window.messages import TOOL, USER, Message
from nagori.services.window.formats import Count
from nagori.services.window.formats.content import OVERHEAD, moment, shortened, weigh

ALTERNATES = True


def read(originals: Sequence[Any], count: Count, start: int = 0) -> list[Message]:
    return [_message(original, count) for original in originals[start:]]


def _message(original: Mapping[str, Any], count: Count) -> Message:
    content = original.get("content")
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    results = [block for block in blocks if block.get("type") == "tool_result"]
    weight = weigh(content, count)
    role = str(original.get("role", ""))
    only_results = bool(results) and all(block.get("type") == "tool_result" for block in blocks)
    return Message(
        role=TOOL if role == USER and only_results else role,
        text="\n".join(weight.texts),
        tokens=OVERHEAD + weight.whole,
        fixed=OVERHEAD + weight.fixed,
        calls=tuple(str(block.get("id")) for block in blocks if block.get("type") == "tool_use"),
        answers=tuple(str(block.get("tool_use_id")) for block in results),
        failed=any(block.get("is_error") is True for block in results),
        at=moment(original.get("timestamp") or original.get("created_at")),
    )


def cut(original: Any, tokens: int, count: Count) -> Any:
    return {**original, "content": shortened(original.get("content"), tokens - OVERHEAD, count)}


def say(role: str, text: str) -> Any:
    return {"role": role, "content": text}


def note(original: Any, text: str) -> Any:
    """Our words before the user's own, but after the results of tools, which must be first."""
    content = original.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": str(content)}]
    at = sum(isinstance(block, Mapping) and block.get("type") == "tool_result" for block in blocks)
    return {**original, "content": [*blocks[:at], {"type": "text", "text": text}, *blocks[at:]]}
