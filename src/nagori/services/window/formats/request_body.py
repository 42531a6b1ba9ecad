"""A whole request to a provider: the messages, and the other fields that are billed.

{"model": …, "system": "…", "tools": […], "messages": […]}      Anthropic, OpenAI, Ollama
{"instructions": "…", "input": […]}                             OpenAI's Responses
{"systemInstruction": {…}, "contents": […]}                     Gemini
{"conversations": […]}                                          ShareGPT
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nagori.core.value_object import Value
from nagori.services.window.formats import Count
from nagori.services.window.formats.count_and_cut_content import OVERHEAD, as_json

PLACES = ("messages", "contents", "conversations", "conversation", "input")
BILLED = (
    *("system", "tools", "functions", "instructions", "response_format", "text", "prompt"),
    *("systemInstruction", "system_instruction", "toolConfig", "tool_config", "config"),
)


class Body(Value):
    """A request. The field `place` holds its messages."""

    whole: Mapping[str, Any]
    place: str

    @property
    def messages(self) -> list[Any]:
        found: list[Any] = self.whole[self.place]
        return found

    def beside(self, count: Count) -> int:
        """Tokens that are sent beside the messages."""
        billed = {name: self.whole[name] for name in BILLED if self.whole.get(name)}
        return count(as_json(billed)) + OVERHEAD if billed else 0

    def with_messages(self, messages: list[Any]) -> dict[str, Any]:
        """The same request with other messages."""
        return {**self.whole, self.place: messages}


def body_of(data: Any) -> Body | None:
    """Read `data` as a request; None if it is not one."""
    if not isinstance(data, Mapping) or "role" in data or "from" in data:
        return None
    place = next((name for name in PLACES if isinstance(data.get(name), list)), None)
    return Body(data, place) if place else None
