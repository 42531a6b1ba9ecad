"""LangGraph and LangChain: prune messages before the model is called.

    agent = create_react_agent(model, tools, pre_model_hook=pre_model_hook(memory, budget=8000))
    chain = RunnableLambda(pruner(memory, budget=8000)) | model

The state of the graph stays complete: only what the model reads (`llm_input_messages`) is pruned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nagori.app import Nagori
from nagori.edges.integrations import Windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    # LangGraph passes its configuration only to a parameter with this name.
    RunnableConfig = dict[str, Any]


def pre_model_hook(memory: Nagori, **more: Any) -> Callable[..., dict[str, list[Any]]]:
    """A hook for `create_react_agent`, or a node before the model; `more` as for `Nagori.prune`."""
    windows = Windows(memory, format="langchain", **more)

    def prune(state: Any, config: RunnableConfig) -> dict[str, list[Any]]:
        said = state["messages"] if isinstance(state, dict) else state.messages
        thread = (config.get("configurable") or {}).get("thread_id")
        session = {"session": str(thread)} if thread and "session" not in more else {}
        return {"llm_input_messages": windows.prune(said, **session).messages}

    return prune


def pruner(memory: Nagori, **more: Any) -> Callable[[Sequence[Any]], list[Any]]:
    """A function from messages to messages, in place of LangChain's `trim_messages`."""
    windows = Windows(memory, format="langchain", **more)
    return lambda messages: windows.prune(messages).messages
