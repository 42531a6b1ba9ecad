"""The real frameworks, each with a model of its own that only counts what it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nagori import Config, Nagori
from nagori.edges.integrations import MOST, Windows
from nagori.edges.integrations.langgraph import pre_model_hook, pruner
from nagori.edges.integrations.openai_agents import input_filter
from nagori.edges.integrations.pydantic_ai import history_processor

REASON = "{} is not installed; `make test-frameworks` installs and runs it"
FACT = "The staging server of project Zebra listens on port 8443."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Nagori]:
    with Nagori.open(tmp_path / "memory", config=Config(), embedder=None) as opened:
        yield opened


def asked(n: int) -> str:
    return FACT if n == 1 else f"Question {n}: tell me about item {n}, please, in some detail and at length."


def recalled(memory: Nagori) -> bool:
    return any("8443" in found.memory.text.content for found in memory.recall("Which port does Zebra use?"))


def test_a_window_goes_on_from_its_last_plan_and_forgets_the_oldest_conversations(memory: Nagori) -> None:
    windows = Windows(memory, budget=1000)
    talk = [{"role": "user", "content": asked(n)} for n in range(100)]
    whole = memory.prune(talk, budget=1000, remember=False).messages
    windows.prune(talk[:-10], "a")
    assert windows.prune(talk, "a").messages == whole
    for n in range(MOST):
        windows.prune(talk[:1], f"other-{n}")
    assert windows.prune(talk, "a").messages == whole
    assert recalled(memory)


def test_langgraph_sends_the_pruned_view_and_keeps_its_state(memory: Nagori) -> None:
    pytest.importorskip("langgraph", reason=REASON.format("langgraph"))
    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, MessagesState, StateGraph

    class State(MessagesState):
        llm_input_messages: list[Any]

    sent: list[int] = []

    def model(state: State) -> dict[str, Any]:
        sent.append(len(state["llm_input_messages"]))
        return {"messages": [AIMessage(f"Answer {len(state['messages'])}, done.")]}

    graph = StateGraph(State)
    graph.add_node("prune", pre_model_hook(memory, budget=1000))
    graph.add_node("model", model)
    graph.add_edge(START, "prune")
    graph.add_edge("prune", "model")
    graph.add_edge("model", END)
    app = graph.compile(checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t-1"}}
    for n in range(40):
        state = app.invoke({"messages": [HumanMessage(asked(n))]}, thread)
    assert len(state["messages"]) == 80
    assert max(sent) < 60
    assert recalled(memory)
    assert memory.list(limit=1)[0].source.session == "t-1"


def test_langgraphs_own_agent_takes_the_hook(memory: Nagori) -> None:
    pytest.importorskip("langgraph", reason=REASON.format("langgraph"))
    import warnings

    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has moved to another package, where hooks have another name
        from langgraph.prebuilt import create_react_agent

        model = GenericFakeChatModel(messages=iter([AIMessage("fine")]))
        agent = create_react_agent(model, [], pre_model_hook=pre_model_hook(memory, budget=1000))
        state = agent.invoke({"messages": [HumanMessage(asked(n)) for n in range(60)]})
    assert state["messages"][-1].content == "fine"
    assert recalled(memory)


def test_a_langchain_pipe_prunes(memory: Nagori) -> None:
    pytest.importorskip("langchain_core", reason=REASON.format("langchain-core"))
    from langchain_core.messages import HumanMessage, SystemMessage
    from langchain_core.runnables import RunnableLambda

    talk = [SystemMessage("Be kind."), *(HumanMessage(asked(n)) for n in range(60))]
    view = RunnableLambda(pruner(memory, budget=1000)).invoke(talk)
    assert (view[0], view[-1]) == (talk[0], talk[-1])
    assert len(view) < 50


def test_pydantic_ai_reads_a_history_within_its_budget(memory: Nagori) -> None:
    pytest.importorskip("pydantic_ai", reason=REASON.format("pydantic-ai"))
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import ProcessHistory
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    seen: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(list(messages))
        asked = any(part.part_kind == "user-prompt" for part in messages[-1].parts)
        return ModelResponse(parts=[ToolCallPart("look", {}) if asked else TextPart("Here it is.")])

    processor = history_processor(memory, budget=1200)
    agent = Agent(
        FunctionModel(answer), capabilities=[ProcessHistory(processor)], system_prompt="Be kind to all."
    )

    @agent.tool_plain
    def look() -> str:
        return "The shelf holds twelve red boxes and a lamp. " * 3

    async def talk() -> None:
        history: list[ModelMessage] = []
        for n in range(30):
            history = (await agent.run(asked(n), message_history=history)).all_messages()

    asyncio.run(talk())
    assert max(map(len, seen)) < 60
    assert all(any(part.part_kind == "system-prompt" for part in each[0].parts) for each in seen)
    assert recalled(memory)


def test_openai_agents_are_sent_a_filtered_input_and_their_session_stays_whole(memory: Nagori) -> None:
    pytest.importorskip("agents", reason=REASON.format("openai-agents"))
    from agents import Agent, Model, ModelResponse, RunConfig, Runner, SQLiteSession, Usage
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    sent: list[int] = []

    class Counting(Model):
        async def get_response(
            self, system_instructions: Any, input: Any, *rest: Any, **more: Any
        ) -> ModelResponse:
            sent.append(len(input))
            text = ResponseOutputText(type="output_text", text="It is so, done.", annotations=[])
            said = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
            return ModelResponse(output=[said], usage=Usage(), response_id=None)

        def stream_response(self, *rest: Any, **more: Any) -> Any:
            raise NotImplementedError

    agent = Agent(name="a", instructions="Be kind.", model=Counting())
    config = RunConfig(
        call_model_input_filter=input_filter(memory, budget=2000, session="s"), tracing_disabled=True
    )
    session = SQLiteSession("s")

    async def talk() -> int:
        for n in range(40):
            await Runner.run(agent, asked(n), session=session, run_config=config)
        kept = len(await session.get_items())
        session.close()
        return kept

    assert asyncio.run(talk()) == 80
    assert max(sent) < 79
    assert recalled(memory)
