"""LangChain's message objects, and LangGraph's, which are the same.

They are read by their fields, so LangChain need not be installed to read them; it is imported when a
message of ours has to be made, and then it is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nagori.core.window.messages import ASSISTANT, SYSTEM, TOOL, USER, Message
from nagori.services.window.formats import Count
from nagori.services.window.formats.content import OVERHEAD, as_json, moment, shortened, weigh

ALTERNATES = False
_ROLES = {"human": USER, "ai": ASSISTANT, "system": SYSTEM, "tool": TOOL, "function": TOOL}


def read(originals: Sequence[Any], count: Count, start: int = 0) -> list[Message]:
    return [_message(original, count) for original in originals[start:]]


def _message(original: Any, count: Count) -> Message:
    kind = str(getattr(original, "type", "")).removesuffix("MessageChunk").lower()
    weight = weigh(original.content, count)
    calls = [*_calls(original)]
    answered = getattr(original, "tool_call_id", None)
    fixed = OVERHEAD + weight.fixed + (count(as_json(calls)) if calls else 0)
    fixed += count(str(answered)) if answered else 0
    role = getattr(original, "role", None) if kind == "chat" else None
    return Message(
        role=str(role or _ROLES.get(kind, kind)),
        text="\n".join(weight.texts),
        tokens=fixed + weight.text + weight.media,
        fixed=fixed,
        calls=tuple(str(call.get("id")) for call in calls),
        answers=(str(answered),) if answered else (),
        failed=getattr(original, "status", None) == "error",
        at=moment(_extras(original).get("timestamp")),
        speaker=str(name) if (name := getattr(original, "name", None)) and not answered else None,
    )


def _calls(original: Any) -> list[dict[str, Any]]:
    wrong = getattr(original, "invalid_tool_calls", None) or []
    return [*(getattr(original, "tool_calls", None) or []), *(call for call in wrong if call.get("id"))]


def _extras(original: Any) -> dict[str, Any]:
    extras = getattr(original, "additional_kwargs", None)
    return extras if isinstance(extras, dict) else {}


def cut(original: Any, tokens: int, count: Count) -> Any:
    fixed = _message(original, count).fixed - weigh(original.content, count).fixed
    return original.model_copy(update={"content": shortened(original.content, tokens - fixed, count)})


def say(role: str, text: str) -> Any:
    from langchain_core.messages import AIMessage, HumanMessage

    return (HumanMessage if role == USER else AIMessage)(content=text)
