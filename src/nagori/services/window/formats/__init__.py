"""The formats in which conversations come: one file each, one protocol, one table.

A format reads a conversation into `core.window` messages and makes what is sent from the caller's own
objects: what is kept is the very object that came in, with every field we know nothing about; what is cut
is a copy of it. Libraries are imported when a message of theirs has to be made, so reading needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol

from nagori.core.window.messages import Message
from nagori.errors import InvalidInput

Count = Callable[[str], int]

FORMATS = ("openai", "anthropic", "responses", "langchain", "pydantic_ai")


class Format(Protocol):
    """How one kind of conversation is read and written."""

    ALTERNATES: bool  # whether user and assistant must take turns, beginning with the user

    def read(self, originals: Sequence[Any], count: Count, start: int = 0) -> list[Message]:
        """The messages from `start` on, as the window sees them. The text of one is never more than what it
        says; its tokens are never fewer than those of all that is sent."""
        ...

    def cut(self, original: Any, tokens: int, count: Count) -> Any:
        """A copy of at most so many tokens; not below what its Message calls fixed."""
        ...

    def say(self, role: str, text: str) -> Any:
        """A message of ours, from `user` or `assistant`."""
        ...

    def note(self, original: Any, text: str) -> Any:
        """A copy of a user's message that tells our words beside its own; for formats that alternate."""
        ...


def format_of(messages: Sequence[Any], name: str | None = None) -> Format:
    """The format by its name, or by how the messages look."""
    name = name or _looks_like(messages)
    if name not in FORMATS:
        raise InvalidInput("format", "error.not_choice", value=name, choices=", ".join(FORMATS))
    return import_module(f"nagori.services.window.formats.{name}")


def _looks_like(messages: Sequence[Any]) -> str:
    """The first message that only one format has decides; OpenAI's is that of most others."""
    for message in messages:
        if not isinstance(message, dict):
            return "pydantic_ai" if hasattr(message, "parts") else "langchain"
        if "tool_calls" in message or "tool_call_id" in message or message.get("role") == "developer":
            return "openai"
        if "role" not in message or str(message.get("type")) == "message":
            return "responses"
        kinds = {part.get("type") for part in _parts(message) if isinstance(part, dict)}
        if kinds & {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"}:
            return "anthropic"
        if kinds & {"input_text", "output_text", "input_image", "input_file"}:
            return "responses"
    return "openai"


def _parts(message: dict[str, Any]) -> Sequence[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else ()
