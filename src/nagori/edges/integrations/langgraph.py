"""LangGraph and LangChain: prune messages before the model is called, and remember what graphs say.

    agent = create_react_agent(model, tools, pre_model_hook=pre_model_hook(memory, budget=8000))
    chain = RunnableLambda(pruner(memory, budget=8000)) | model

The state of the graph stays complete: only what the model reads (`llm_input_messages`) is pruned.

    class State(MessagesState):
        working_memory: dict[str, Any]
        memory_context: str

    builder.add_node("recall", recall_node(memory))     # before the model
    builder.add_node("record", record_node(memory))     # after it

Working memory is a part of the graph's state, in plain data that a checkpointer can store; the long term is
the memory, or the store of `langgraph_store`. The graph's `thread_id` is the session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nagori.app import Nagori
from nagori.edges.integrations import Windows
from nagori.services.chat_recorder import words_of

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


def recall_node(memory: Nagori) -> Callable[..., dict[str, Any]]:
    """A node before the model: it records the user's last message, and returns `memory_context`, the text to
    give to the model, and `working_memory`. Run again for the same message, it records nothing new."""

    def recall(state: Any, config: RunnableConfig) -> dict[str, Any]:
        session, said = _session_of(config), _last_message(state, "user", "human")
        if said is None:
            return {"memory_context": "", "working_memory": _describe(memory, session)}
        turn = memory.turn(said[0], session=session, ref=said[1])
        return {"memory_context": turn.context.text, "working_memory": _describe(memory, session)}

    return recall


def record_node(memory: Nagori) -> Callable[..., dict[str, Any]]:
    """A node after the model: it records the answer, forms memories, and returns `working_memory`."""

    def record(state: Any, config: RunnableConfig) -> dict[str, Any]:
        session, said = _session_of(config), _last_message(state, "assistant", "ai")
        if said is not None:
            memory.turn(said[0], session=session, role="assistant", ref=said[1])
        memory.process()
        return {"working_memory": _describe(memory, session)}

    return record


def _session_of(config: Mapping[str, Any]) -> str:
    return str((config.get("configurable") or {}).get("thread_id") or "langgraph")


def _last_message(state: Any, *roles: str) -> tuple[str, str | None] | None:
    """The text and the id of the last message, if somebody in this role said it."""
    said = state["messages"] if isinstance(state, Mapping) else state.messages
    last = said[-1] if said else None
    fields = last if isinstance(last, Mapping) else getattr(last, "__dict__", {})
    role = fields.get("role") or fields.get("type")
    text = words_of(fields.get("content")) if role in roles else ""
    return (text, fields.get("id")) if text.strip() else None


def _describe(memory: Nagori, session: str) -> dict[str, Any]:
    """Working memory as plain data."""
    view = memory.working_memory(session)
    return {
        "thread_id": view.thread,
        "domain": view.domain,
        "turns": [
            {"speaker": turn.speaker or turn.role, "message": turn.text, "timestamp": turn.at.isoformat()}
            for turn in view.turns
        ],
        "character_turns": dict(view.speakers),
        "start_time": view.began.isoformat() if view.began else None,
        "last_update": view.latest.isoformat() if view.latest else None,
    }
