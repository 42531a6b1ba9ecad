"""Prompt, question and reply of a language model.

Task and data are separate from the start: a memory may hold any words, and none of them is an instruction.
"""

from __future__ import annotations

from collections.abc import Mapping

from nagori.core.value_object import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Prompt(Value):
    """`task` is ours, from a file in `services/llm/prompts`. `data` is a user's text and nothing else."""

    task: str
    data: str


class CompletionRequest(Value):
    """A prompt, the schema of the answer, and its maximum length in tokens."""

    prompt: Prompt
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 1024


class Reply(Value):
    """An answer as received. Only its completeness has been checked."""

    text: str
    model: str
    input_tokens: int = 0
    output_tokens: int = 0
