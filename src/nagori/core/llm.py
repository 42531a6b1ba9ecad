"""What is said to a language model, and what comes back.

The task and the data are apart from the beginning: a memory may hold any words, and none of them is an
instruction.
"""

from __future__ import annotations

from collections.abc import Mapping

from nagori.core.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Prompt(Value):
    """`task` is ours, from a file in `services/llm/prompts`; `data` is somebody's words, and only that."""

    task: str
    data: str


class CompletionRequest(Value):
    """A prompt, the shape of the answer, and its longest length in tokens."""

    prompt: Prompt
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 1024


class Reply(Value):
    """An answer as it came: nothing about it has been checked but that it is complete."""

    text: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
