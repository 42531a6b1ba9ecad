"""Pydantic AI's history: requests and responses made of parts.

A request may hold the system prompt, the user's words and results of tools at once. One with a system prompt
is pinned whole. Read by fields; the library is imported when something of its kind has to be made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from nagori.core.window.messages import ASSISTANT, SYSTEM, TOOL, USER, Message
from nagori.services.window.formats import Count, refuse
from nagori.services.window.formats.count_and_cut_content import (
    MEDIUM,
    OVERHEAD,
    as_json,
    cut_text,
    moment,
    subject,
)

ALTERNATES = False
_RESULTS = ("tool-return", "retry-prompt")
_CUT = ("user-prompt", "tool-return", "system-prompt", "text")


def read(originals: Sequence[Any], count: Count, start: int = 0) -> list[Message]:
    for at in range(start, len(originals)):
        original = originals[at]
        if getattr(original, "kind", None) not in ("request", "response") or not hasattr(original, "parts"):
            refuse(at, original, "pydantic_ai")
    return [_message(original, count) for original in originals[start:]]


def _message(original: Any, count: Count) -> Message:
    kinds = [part.part_kind for part in original.parts]
    results = [part for part in original.parts if part.part_kind in _RESULTS and part.tool_name]
    texts = [_text(part) for part in original.parts if part.part_kind in _CUT]
    fixed = OVERHEAD + sum(_fixed_tokens(part, count) for part in original.parts)
    return Message(
        role=_role(original, kinds),
        text="\n".join(text for text in texts if text),
        tokens=fixed + sum(count(text) for text in texts),
        fixed=fixed,
        calls=tuple(part.tool_call_id for part in original.parts if part.part_kind == "tool-call"),
        about=tuple(
            subject(part.tool_name, part.args) for part in original.parts if part.part_kind == "tool-call"
        ),
        answers=tuple(part.tool_call_id for part in results),
        failed="retry-prompt" in kinds,
        pinned="system-prompt" in kinds,
        own=_own(original) if results and "user-prompt" in kinds else None,
        at=moment(getattr(original, "timestamp", None)),
    )


def _role(original: Any, kinds: Sequence[str]) -> str:
    if original.kind == "response":
        return ASSISTANT
    if "user-prompt" in kinds:
        return USER
    return TOOL if any(kind in _RESULTS for kind in kinds) else SYSTEM


def _own(original: Any) -> str:
    """The user's own text in a message with tool results."""
    return "\n".join(_text(part) for part in original.parts if part.part_kind == "user-prompt")


def _text(part: Any) -> str:
    """The text of a part that can be cut; empty for a list of texts and pictures."""
    content = part.content
    if isinstance(content, str):
        return content
    return "" if isinstance(content, list | tuple) else as_json(content)


def _fixed_tokens(part: Any, count: Count) -> int:
    """The tokens that cannot be cut: calls, reasoning, and lists of texts and pictures."""
    if part.part_kind == "tool-call":
        return count(as_json(part.args)) + count(part.tool_name) + OVERHEAD
    if part.part_kind not in _CUT:
        return count(as_json(getattr(part, "content", ""))) + OVERHEAD
    if isinstance(part.content, list | tuple):
        return sum(count(each) if isinstance(each, str) else MEDIUM for each in part.content) + OVERHEAD
    return OVERHEAD


def cut(original: Any, tokens: int, count: Count) -> Any:
    """Cut every text by the same share."""
    message = _message(original, count)
    share = max(0, tokens - message.fixed) / max(1, message.tokens - message.fixed)
    parts = [
        replace(part, content=cut_text(_text(part), int(share * count(_text(part))), count))
        if part.part_kind in _CUT and _text(part)
        else part
        for part in original.parts
    ]
    return replace(original, parts=parts)


def say(role: str, text: str, like: Any = None) -> Any:
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

    if role == USER:
        return ModelRequest(parts=[UserPromptPart(content=text)])
    return ModelResponse(parts=[TextPart(content=text)])
