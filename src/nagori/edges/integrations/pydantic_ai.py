"""Pydantic AI: a history processor.

    agent = Agent(model, capabilities=[ProcessHistory(history_processor(memory, budget=8000))])

Pydantic AI continues with the processed history, so pruned messages are only in the memory: `recall` finds
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nagori.app import Nagori
from nagori.edges.integrations import Windows


def history_processor(memory: Nagori, **more: Any) -> Callable[[list[Any]], list[Any]]:
    """A processor for `ProcessHistory`; `more` as for `Nagori.prune`."""
    windows = Windows(memory, format="pydantic_ai", **more)

    def process(messages: list[Any]) -> list[Any]:
        name = None if "session" in more else _conversation(messages)
        return windows.prune(messages, **({"session": name} if name else {})).messages

    return process


def _conversation(messages: Sequence[Any]) -> str | None:
    """The conversation id of the newest message, if it has one."""
    names = (getattr(message, "conversation_id", None) for message in reversed(messages))
    return next((str(name) for name in names if name), None)
