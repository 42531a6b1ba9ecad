"""OpenAI Agents SDK: a filter of the model's input.

    config = RunConfig(call_model_input_filter=input_filter(memory, budget=8000))
    Runner.run(agent, "…", session=session, run_config=config)

It runs right before the model, so the session keeps every item. A filter of the session's own input would
save our notices as if somebody had said them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nagori.app import Nagori
from nagori.edges.integrations import Windows
from nagori.services.window.formats.content import OVERHEAD


def input_filter(memory: Nagori, **more: Any) -> Callable[[Any], Any]:
    """A `call_model_input_filter`; `more` as for `Nagori.prune`. The budget includes the instructions."""
    from nagori.adapters.tokens import open_counter

    count = more.get("count") or open_counter(more.get("model") or memory.runtime.config.window.model)
    windows = Windows(memory, format="responses", **more)

    def filter(data: Any) -> Any:
        from agents.run import ModelInputData

        told = data.model_data.instructions
        beside = more.get("beside", 0) + (count(told) + OVERHEAD if told else 0)
        done = windows.prune(data.model_data.input, **{"beside": beside})
        return ModelInputData(input=done.messages, instructions=told)

    return filter
