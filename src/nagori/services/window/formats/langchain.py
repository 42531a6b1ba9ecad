"""LangChain's messages, and LangGraph's, which are the same, in every way LangChain takes them: its objects,
tuples `("human", "…")`, texts, dicts, and both kinds of serialised messages, also mixed in one list.

They are read by their fields, so LangChain need not be installed to read them; it is imported when a
message of ours has to be made, and then it is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nagori.core.window.messages import ASSISTANT, SYSTEM, TOOL, USER, Message
from nagori.services.window.formats import Count, copy_with, plain, refuse
from nagori.services.window.formats.count_and_cut_content import (
    OVERHEAD,
    as_json,
    moment,
    shorten_content,
    subject,
    weigh,
)

ALTERNATES = False
_ROLES = {
    **dict.fromkeys(("human", "user"), USER),
    **dict.fromkeys(("ai", "assistant"), ASSISTANT),
    **dict.fromkeys(("system", "developer"), SYSTEM),
    **dict.fromkeys(("tool", "function"), TOOL),
}
_FIELDS = (
    *("type", "content", "role", "name", "status", "tool_call_id", "tool_calls", "invalid_tool_calls"),
    "additional_kwargs",
)
_NOT_SENT = frozenset(("timestamp", "tool_calls"))  # the calls stand in a field of their own


def read(originals: Sequence[Any], count: Count, start: int = 0) -> list[Message]:
    return [_message(originals[at], count, at) for at in range(start, len(originals))]


def _message(original: Any, count: Count, at: int) -> Message:
    said = _fields(original)
    role = _role(said)
    if role is None or ("content" not in said and not said.get("tool_calls")):
        refuse(at, original, "langchain")
    weight = weigh(said.get("content"), count)
    answered = said.get("tool_call_id")
    fixed = weight.fixed + _beside(said, count)
    return Message(
        role=role,
        text="\n".join(weight.texts),
        tokens=fixed + weight.text + weight.media,
        fixed=fixed,
        calls=tuple(str(call.get("id")) for call in _calls(said)),
        about=tuple(
            subject(call.get("name"), call.get("args") or call.get("function")) for call in _calls(said)
        ),
        answers=(str(answered),) if answered else (),
        failed=said.get("status") == "error",
        at=moment(_extras(said).get("timestamp") or said.get("timestamp")),
        speaker=str(said["name"]) if said.get("name") and not answered else None,
    )


def _fields(original: Any) -> dict[str, Any]:
    """The fields of a message in any of LangChain's forms."""
    if isinstance(original, str):
        return {"type": USER, "content": original}
    if isinstance(original, tuple | list):
        pair = plain(original)
        return {"type": pair[0], "content": pair[1]} if len(pair) == 2 else {}
    if isinstance(original, Mapping):
        inner = _inner(original)
        return {**plain(original[inner] if inner else original), **_kind(original)}
    found = {name: getattr(original, name, None) for name in _FIELDS}
    return {name: plain(value) for name, value in found.items() if value is not None}


def _inner(original: Mapping[str, Any]) -> str:
    """The key under which a serialised message has its fields."""
    return next((name for name in ("kwargs", "data") if isinstance(original.get(name), Mapping)), "")


def _kind(original: Mapping[str, Any]) -> dict[str, Any]:
    """The type of a serialised message: `messages_to_dict` has a field, `dumpd` the name of the class."""
    if original.get("lc"):
        return {"type": str(list(original.get("id") or [""])[-1]).removesuffix("Message").lower()}
    return {"type": str(plain(original["type"]))} if original.get("type") else {}


def _role(said: Mapping[str, Any]) -> str | None:
    kind = str(said.get("type") or "").removesuffix("MessageChunk").lower()
    if kind not in _ROLES and said.get("role"):
        kind = str(said["role"])
        return _ROLES.get(kind, kind)
    return _ROLES.get(kind)


def _calls(said: Mapping[str, Any]) -> list[dict[str, Any]]:
    wrong = said.get("invalid_tool_calls") or []
    return [*(said.get("tool_calls") or []), *(call for call in wrong if call.get("id"))]


def _extras(said: Mapping[str, Any]) -> dict[str, Any]:
    extras = said.get("additional_kwargs")
    return extras if isinstance(extras, dict) else {}


def _beside(said: Mapping[str, Any], count: Count) -> int:
    """Tokens of the fields beside the content."""
    calls, extras = (
        _calls(said),
        {name: v for name, v in _extras(said).items() if name not in _NOT_SENT and v},
    )
    fixed = OVERHEAD + sum(count(as_json(each)) for each in (calls, extras) if each)
    return fixed + sum(count(str(said[name])) for name in ("tool_call_id", "name") if said.get(name))


def cut(original: Any, tokens: int, count: Count) -> Any:
    said = _fields(original)
    content = getattr(original, "content", said.get("content"))
    return _with_content(original, shorten_content(content, tokens - _beside(said, count), count))


def _with_content(original: Any, content: Any) -> Any:
    if isinstance(original, str):
        return content
    if isinstance(original, tuple | list):
        return type(original)((original[0], content))
    inner = _inner(original) if isinstance(original, Mapping) else ""
    if inner:
        return {**original, inner: {**original[inner], "content": content}}
    return copy_with(original, content=content)


def say(role: str, text: str, like: Any = None) -> Any:
    """A new message in the same form as `like`."""
    kind = "human" if role == USER else "ai"
    if isinstance(like, str | tuple | list):
        return (kind, text)
    if isinstance(like, Mapping):
        return _serialise(kind, text, like) if _inner(like) else {"role": role, "content": text}
    from langchain_core.messages import AIMessage, HumanMessage

    return (HumanMessage if role == USER else AIMessage)(content=text)


def _serialise(kind: str, text: str, like: Mapping[str, Any]) -> dict[str, Any]:
    data = {"type": kind, "content": text}
    if not like.get("lc"):
        return {"type": kind, "data": data}
    name = "HumanMessage" if kind == "human" else "AIMessage"
    return {**like, "id": [*list(like.get("id") or ())[:-1], name], "kwargs": data}
