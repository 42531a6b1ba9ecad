"""OpenAI's chat messages, which most others speak too, and plain dicts of `role` and `content`; as dicts or
as the objects of a library (`ChatCompletionMessage`, Ollama's `Message`).

    {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", …}]}
    {"role": "tool", "tool_call_id": "call_1", "content": "12 °C"}

`developer` is a system message. The older `function_call` and `function` belong together by name, Ollama's
calls, which have no ids, by their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nagori.core.window.messages import ASSISTANT, SYSTEM, TOOL, USER, Message
from nagori.services.window.formats import Count, copy_with, field, plain, refuse
from nagori.services.window.formats.count_and_cut_content import (
    MEDIUM,
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

ALTERNATES = False
_ROLES = {
    **{name: name for name in (SYSTEM, USER, ASSISTANT, TOOL)},
    **{"developer": SYSTEM, "function": TOOL, "human": USER, "ai": ASSISTANT, "model": ASSISTANT},
}
_KNOWN = frozenset(("role", "content", "name", "timestamp", "created_at", "images"))
_FOREIGN = frozenset(("tool_use", "tool_result", "function_call", "function_call_output"))  # others' calls


def read(originals: Sequence[Any], count: Count, start: int = 0) -> list[Message]:
    first, pairs = first_of_turn(originals, start, _is_result), Pairs()
    found = [_message(plain(originals[at]), count, pairs, at) for at in range(first, len(originals))]
    return found[start - first :]


def _is_result(original: Any) -> bool:
    return plain(field(original, "role")) in ("tool", "function")


def _message(said: Any, count: Count, pairs: Pairs, at: int) -> Message:
    role = said.get("role") if isinstance(said, Mapping) else None
    if not isinstance(role, str):
        refuse(at, said, "openai")
    _check(at, said)
    weight = weigh(said.get("content"), count)
    fixed = OVERHEAD + weight.fixed + _beside(said, count)
    return Message(
        role=_ROLES.get(role, role),
        text="\n".join(weight.texts),
        tokens=fixed + weight.text + weight.media,
        fixed=fixed,
        calls=_calls(said, pairs, at),
        about=tuple(map(_about, said.get("tool_calls") or ())),
        answers=_answers(said, pairs, at),
        at=moment(said.get("timestamp") or said.get("created_at")),
        speaker=str(said["name"]) if said.get("name") and _ROLES.get(role) != TOOL else None,
    )


def _check(at: int, said: Mapping[str, Any]) -> None:
    """Refuse tool calls of other formats: this format cannot keep them with their results."""
    content = said.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and part.get("type") in _FOREIGN:
            refuse(at, part, "openai")


def _beside(said: Mapping[str, Any], count: Count) -> int:
    """Tokens of the fields beside the content: a name, calls, pictures, and unknown fields."""
    others = {name: value for name, value in said.items() if name not in _KNOWN and value}
    pictures = MEDIUM * len(said.get("images") or ())
    return count(str(said.get("name") or "")) + pictures + (count(as_json(others)) if others else 0)


def _calls(said: Mapping[str, Any], pairs: Pairs, at: int) -> tuple[str, ...]:
    found: list[Named] = [
        (str(call["id"]) if call.get("id") else None, _name(call)) for call in said.get("tool_calls") or ()
    ]
    old = said.get("function_call")
    if isinstance(old, Mapping):
        found.append((f"function:{old.get('name')}", str(old.get("name"))))
    return pairs.calls(at, found) if found or said["role"] != "tool" else ()


def _name(call: Mapping[str, Any]) -> str:
    of = call.get("function")
    return str(of.get("name") if isinstance(of, Mapping) else call.get("name") or "")


def _about(call: Mapping[str, Any]) -> str:
    of = call.get("function")
    return subject(_name(call), of.get("arguments") if isinstance(of, Mapping) else call.get("args"))


def _answers(said: Mapping[str, Any], pairs: Pairs, at: int) -> tuple[str, ...]:
    if said["role"] == "function":
        return (f"function:{said.get('name')}",)
    called = said.get("tool_call_id")
    if said["role"] != "tool" and not called:
        return ()
    name = str(said.get("tool_name") or said.get("name") or "")
    return pairs.answers(at, [(str(called) if called else None, name)])


def cut(original: Any, tokens: int, count: Count) -> Any:
    content = field(original, "content")
    fixed = OVERHEAD + _beside(plain(original), count)
    return copy_with(original, content=shorten_content(content, tokens - fixed, count))


def say(role: str, text: str, like: Any = None) -> Any:
    return {"role": role, "content": text}
