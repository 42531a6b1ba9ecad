"""LangGraph's nodes: working memory as the graph's state, the long term as its memory [T15]."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nagori import Nagori
from nagori.edges.integrations.langgraph import recall_node, record_node
from nagori.testing import FrozenClock, WordEmbedder

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t1"}}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Nagori]:
    with Nagori.open(tmp_path, clock=FrozenClock(), embedder=WordEmbedder(), llm=None) as memory:
        memory.remember("The staging server listens on port 8443.")
        yield memory


def message(kind: str, content: object, id: str | None = None) -> SimpleNamespace:
    return SimpleNamespace(type=kind, content=content, id=id)


def test_T15_working_memory_is_graph_state_in_plain_data(memory: Nagori) -> None:
    recall, record = recall_node(memory), record_node(memory)
    said = [message("human", "Which port does the staging server listen on?", "m1")]
    state = recall({"messages": said}, CONFIG)
    assert "8443" in state["memory_context"]
    said.append(message("ai", [{"type": "text", "text": "It listens on 8443."}], "m2"))
    state |= record({"messages": said}, CONFIG)
    working = state["working_memory"]
    assert working["character_turns"] == {"user": 1, "assistant": 1}
    assert [turn["message"] for turn in working["turns"]] == [said[0].content, "It listens on 8443."]
    assert json.loads(json.dumps(working)) == working
    assert memory.process() == 0


def test_T15_a_node_that_runs_again_records_nothing_new(memory: Nagori) -> None:
    recall = recall_node(memory)
    said = [message("human", "The harp stands in the attic.", "m1")]
    for _ in range(3):
        state = recall({"messages": said}, CONFIG)
    assert len(state["working_memory"]["turns"]) == 1


def test_dictionaries_and_objects_are_states_and_messages_and_others_are_left_alone(memory: Nagori) -> None:
    recall, record = recall_node(memory), record_node(memory)
    told = SimpleNamespace(messages=[{"role": "user", "content": "The harp stands in the attic."}])
    assert recall(told, {})["working_memory"]["turns"][0]["speaker"] == "user"
    for messages in ([], [message("tool", "output")], [message("ai", "  ")]):
        assert recall({"messages": messages}, CONFIG)["memory_context"] == ""
        assert record({"messages": messages}, CONFIG)["working_memory"]["turns"] == []


def test_T15_a_real_graph_keeps_working_memory_in_its_checkpoints(memory: Nagori) -> None:
    pytest.importorskip(
        "langgraph", reason="langgraph is not installed; `make test-frameworks` installs and runs it"
    )
    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, MessagesState, StateGraph

    class State(MessagesState):
        working_memory: dict[str, Any]
        memory_context: str

    def model(state: State) -> dict[str, Any]:
        known = "8443" in state["memory_context"]
        return {"messages": [AIMessage("It is 8443." if known else "I do not know.")]}

    builder = StateGraph(State)
    builder.add_node("recall", recall_node(memory))
    builder.add_node("model", model)
    builder.add_node("record", record_node(memory))
    for one, other in ((START, "recall"), ("recall", "model"), ("model", "record"), ("record", END)):
        builder.add_edge(one, other)
    graph = builder.compile(checkpointer=InMemorySaver())
    asked = {"messages": [HumanMessage("Which port does the staging server listen on?")]}
    answer = graph.invoke(asked, CONFIG)
    assert answer["messages"][-1].content == "It is 8443."
    kept = graph.get_state(CONFIG).values["working_memory"]
    assert kept["character_turns"] == {"user": 1, "assistant": 1}
