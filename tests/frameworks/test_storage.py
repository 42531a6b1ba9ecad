"""Storage for the real frameworks: what they wrote comes back, and what was said becomes memories on request.

The frameworks' own test suites run on the same classes with `make test-suites`.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from nagori import Config, Nagori, Scope
from nagori.edges.integrations import finish_in_thread, open_memory
from nagori.edges.integrations.claude_session_store import NagoriSessionStore
from nagori.services.key_value_items import Items
from nagori.testing.fakes import FrozenClock, WordEmbedder

REASON = "{} is not installed; `make test-frameworks` installs and runs it"
FACT = "The staging server of project Zebra listens on port 8443."
SECRET = "sk-ant-api03-" + "a1B2c3D4" * 8


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Nagori]:
    folder = tmp_path / "memory"
    with Nagori.open(folder, config=Config(), embedder=WordEmbedder(), clock=clock) as opened:
        yield opened


def recalled(memory: Nagori) -> bool:
    return any("8443" in found.memory.text.whole for found in memory.recall("Which port does Zebra use?"))


def on_disk(memory: Nagori, words: str) -> bool:
    files = [path for path in memory.runtime.data_dir.rglob("*") if path.is_file()]
    return any(words.encode() in path.read_bytes() for path in files)


# --- shared ---------------------------------------------------------------------------------------


def test_a_memory_is_opened_beside_a_file_and_a_temporary_one_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    file.write_bytes(b"")
    with open_memory(file) as memory:
        assert memory.runtime.data_dir == tmp_path / "store.db.nagori"
    with open_memory(tmp_path / "later.sqlite3") as memory:  # the program may make it afterwards
        assert memory.runtime.data_dir == tmp_path / "later.sqlite3.nagori"
    (tmp_path / "old.db").mkdir()
    with open_memory(tmp_path / "old.db") as memory:
        assert memory.runtime.data_dir == tmp_path / "old.db"
    with open_memory(":memory:") as memory:
        folder = memory.runtime.data_dir
        memory.items.put(("a",), "k", 1)
    assert not folder.exists()


def test_a_cancelled_caller_learns_it_after_the_write_is_finished() -> None:
    done, may_go_on = threading.Event(), threading.Event()

    def work() -> None:
        may_go_on.wait(10)
        done.set()

    async def run() -> bool:
        task = asyncio.create_task(finish_in_thread(work))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0.01)
        task.cancel()
        assert not task.done()
        may_go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return done.is_set()

    assert asyncio.run(run())


# --- LangGraph ------------------------------------------------------------------------------------


@pytest.fixture
def store(memory: Nagori) -> Any:
    pytest.importorskip("langgraph", reason=REASON.format("langgraph"))
    from nagori.edges.integrations.langgraph_store import NagoriStore

    return NagoriStore(memory)


def test_langgraph_values_come_back_and_are_searched_by_meaning_without_any_setting(store: Any) -> None:
    store.put(("users", "me"), "a", {"text": FACT, "key": SECRET})
    store.put(("users", "me"), "b", {"text": "Tea is served at four."})
    store.put(("users", "you"), "c", {"text": FACT})
    assert store.get(("users", "me"), "a").value == {"text": FACT, "key": SECRET}
    found = store.search(("users", "me"), query="port of the staging server")
    assert [item.key for item in found] == ["a", "b"]
    assert found[0].score > found[1].score


@pytest.mark.parametrize(
    ("distance", "order", "best"),
    [
        ("cosine", ["near", "long", "far"], 1.0),
        ("inner_product", ["long", "near", "far"], 9.0),
        ("l2", ["near", "far", "long"], 0.0),
    ],
)
def test_langgraph_ranks_by_the_distance_of_the_index(
    memory: Nagori, monkeypatch: pytest.MonkeyPatch, distance: str, order: list[str], best: float
) -> None:
    pytest.importorskip("langgraph", reason=REASON.format("langgraph"))
    from nagori.edges.integrations.langgraph_store import NagoriStore

    vectors = {"near": [1.0, 0.0], "far": [0.0, 1.0], "long": [9.0, 1.0], "?": [1.0, 0.0]}

    def embed(texts: Any) -> list[list[float]]:
        return [vectors[text] for text in texts]

    index: Any = {"dims": 2, "embed": embed, "fields": ["text"], "distance_type": distance}
    store = NagoriStore(memory, index=index)
    for name in ("near", "far", "long"):
        store.put(("a",), name, {"text": name})
    found = store.search(("a",), query="?")
    assert [item.key for item in found] == order
    assert found[0].score == pytest.approx(best)
    monkeypatch.setitem(sys.modules, "numpy", None)
    alone = store.search(("a",), query="?")
    assert [item.score for item in alone] == pytest.approx([item.score for item in found])
    with pytest.raises(ValueError, match="hamming"):
        NagoriStore(memory, index={**index, "distance_type": "hamming"})


def test_langgraph_vectors_and_values_survive_a_rebuild(store: Any, memory: Nagori) -> None:
    store.put(("a",), "k", {"text": FACT})
    store.put(("a",), "other", {"text": "tea"})
    before = store.search(("a",), query="staging server port")
    memory.rebuild()
    assert store.search(("a",), query="staging server port") == before


def test_langgraph_stores_and_finds_although_the_embedder_fails(store: Any, memory: Nagori) -> None:
    class Broken(WordEmbedder):
        def embed_query(self, text: str) -> bytes:
            raise RuntimeError("no")

        embed_passages = embed_query  # type: ignore[assignment]

    store.put(("a",), "k", {"text": FACT})
    memory.runtime.__dict__["embedder"] = Broken()
    from nagori.edges.integrations.langgraph_store import NagoriStore

    broken = NagoriStore(memory)
    broken.put(("a",), "l", {"text": "tea"})
    assert {item.key for item in broken.search(("a",), query="staging server")} == {"k", "l"}


def test_langgraph_filters_compare_numbers_texts_and_nested_fields(store: Any) -> None:
    store.put(("a",), "k", {"n": 5, "deep": {"er": "x", "list": [1, {"y": 2}]}, "a.b": 1})
    matching: list[dict[str, Any]] = [
        {"n": 5},
        {"n": {"$gt": 4, "$lte": 5}},
        {"deep.er": "x"},
        {"a.b": 1},
        {"deep": {"er": {"$ne": "z"}}},
        {"deep": {"list": [1, {"y": 2}]}},
        {"deep.er": {"$gte": "w"}},
        {"absent": None},
    ]
    failing: list[dict[str, Any]] = [
        {"n": "five"},
        {"n": {"$lt": 5}},
        {"absent": {"$gt": 0}},
        {"deep.er": {"$gt": 3}},
        {"deep": {"list": [1]}},
        {"n.deeper": 1},
    ]
    assert [bool(store.search(("a",), filter=filter)) for filter in matching] == [True] * len(matching)
    assert [bool(store.search(("a",), filter=filter)) for filter in failing] == [False] * len(failing)
    with pytest.raises(ValueError, match=r"\$like"):
        store.search(("a",), filter={"n": {"$like": 1}})


def test_langgraph_times_and_ids_become_text_and_anything_else_is_refused(store: Any) -> None:
    when, id = datetime(2026, 1, 2, tzinfo=UTC), UUID(int=5)
    store.put(("a",), "k", {"at": when, "id": id})
    assert store.get(("a",), "k").value == {"at": when.isoformat(), "id": str(id)}
    with pytest.raises(TypeError, match="object"):
        store.put(("a",), "l", {"x": object()})
    assert store.get(("a",), "l") is None


def test_langgraph_items_expire_are_renewed_by_reading_and_swept(memory: Nagori, clock: FrozenClock) -> None:
    pytest.importorskip("langgraph", reason=REASON.format("langgraph"))
    from nagori.edges.integrations.langgraph_store import NagoriStore

    store = NagoriStore(memory, index=False, ttl={"default_ttl": 60, "omit_expired": True})
    store.put(("a",), "k", {"x": 1})
    store.put(("a",), "lasting", {"x": 1}, ttl=None)
    clock.forward(minutes=50)
    assert store.get(("a",), "k") is not None
    clock.forward(minutes=50)
    assert store.get(("a",), "k", refresh_ttl=False) is not None
    clock.forward(minutes=20)
    assert store.get(("a",), "k") is None
    assert [item.key for item in store.search(("a",))] == ["lasting"]
    assert store.sweep_ttl() == 1
    assert store.sweep_ttl() == 0


def test_langgraph_calls_at_the_same_time_are_written_together_and_fail_alone(
    store: Any, memory: Nagori, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> list[Any]:
        puts = [store.aput(("a", str(n % 3)), f"k{n}", {"n": n}) for n in range(300)]
        wrong = [store.aput(("a",), "bad", {"x": object()}), store.aput(("a.b",), "bad", {"x": 1})]
        dropped = asyncio.ensure_future(store.aput(("a",), "dropped", {"n": -1}))
        later = asyncio.gather(*puts, *wrong, return_exceptions=True)
        await asyncio.sleep(0)
        dropped.cancel()
        done = await later
        return [
            *done[300:],
            *await asyncio.gather(*(store.aget(("a", str(n % 3)), f"k{n}") for n in range(300))),
        ]

    writes: list[int] = []
    kind = type(memory.runtime.ledger)
    write = kind.write

    def count(*given: Any, **more: Any) -> Any:
        writes.append(1)
        return write(*given, **more)

    monkeypatch.setattr(kind, "write", count)
    typed, named, *items = asyncio.run(run())
    assert len(writes) < 10
    assert isinstance(typed, TypeError)
    assert isinstance(named, ValueError)
    assert [item.value["n"] for item in items] == list(range(300))
    assert store.get(("a",), "dropped").value == {"n": -1}
    assert memory.verify().sound


def test_langgraph_an_embedder_that_fails_for_one_call_fails_no_other(memory: Nagori) -> None:
    pytest.importorskip("langgraph", reason=REASON.format("langgraph"))
    from nagori.edges.integrations.langgraph_store import NagoriStore

    async def embed(texts: Any) -> list[list[float]]:
        if "poison" in texts:
            raise RuntimeError("no vector for this")
        return [[1.0, 0.0] for _ in texts]

    store = NagoriStore(memory, index={"dims": 2, "embed": embed, "fields": ["text"]})

    async def run() -> list[Any]:
        puts = [store.aput(("a",), text, {"text": text}) for text in ("one", "poison", "two")]
        return await asyncio.gather(*puts, return_exceptions=True)

    one, poison, two = asyncio.run(run())
    assert (one, two) == (None, None)
    assert isinstance(poison, RuntimeError)
    assert {item.key for item in store.search(("a",))} == {"one", "two"}


def test_langgraph_deleted_values_leave_the_disk_with_the_cycle(store: Any, memory: Nagori) -> None:
    store.put(("a",), "k", {"text": "purple elephants"})
    store.delete(("a",), "k")
    memory.cycle()
    assert not on_disk(memory, "purple elephants")
    assert store.search(("a",)) == []


def test_langgraph_values_become_memories_on_request(memory: Nagori) -> None:
    pytest.importorskip("langgraph", reason=REASON.format("langgraph"))
    from nagori.edges.integrations.langgraph_store import NagoriStore

    NagoriStore(memory).put(("a",), "k", {"text": FACT})
    assert not recalled(memory)
    NagoriStore(memory, remember="text").put(("a",), "k", {"text": FACT})
    assert recalled(memory)


def test_langgraph_sees_nothing_of_another_user(store: Any, memory: Nagori) -> None:
    from nagori.edges.integrations.langgraph_store import NagoriStore

    store.put(("a",), "k", {"x": 1})
    theirs = NagoriStore(memory.with_scope(Scope(user="you")))
    assert theirs.get(("a",), "k") is None
    assert theirs.search(()) == []
    assert theirs.list_namespaces() == []


# --- OpenAI Agents SDK ----------------------------------------------------------------------------


def session_of(memory: Nagori, name: str = "s", **more: Any) -> Any:
    pytest.importorskip("agents", reason=REASON.format("openai-agents"))
    from nagori.edges.integrations.openai_agents import NagoriSession

    return NagoriSession(name, memory=memory, **more)


def test_a_session_gives_back_popped_and_last_items_unchanged(memory: Nagori) -> None:
    session = session_of(memory)
    items: list[Any] = [
        {"role": "user", "content": FACT},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"key": "' + SECRET + '"}'},
        {"role": "assistant", "content": [{"type": "output_text", "text": "了解です。", "annotations": []}]},
    ]

    async def run() -> None:
        await session.add_items(items)
        assert await session.get_items() == items
        assert await session.get_items(2) == items[1:]
        assert await session.get_items(0) == []
        assert await session_of(memory, "other").get_items() == []
        assert await session.pop_item() == items[2]
        await session.add_items([items[0]])
        assert await session.get_items() == [*items[:2], items[0]]
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None

    asyncio.run(run())
    memory.cycle()
    assert not on_disk(memory, SECRET)
    assert memory.verify().sound


def test_a_closed_session_refuses_and_the_memory_goes_on(memory: Nagori) -> None:
    session = session_of(memory)
    items: list[Any] = [{"role": "user", "content": FACT}]

    async def run() -> None:
        await session.add_items(items)
        session.close()
        session.close()
        for call in (session.get_items, session.pop_item, session.clear_session):
            with pytest.raises(RuntimeError, match="closed"):
                await call()
        for more in ([], items):
            with pytest.raises(RuntimeError, match="closed"):
                await session.add_items(more)
        assert await session_of(memory).get_items() == items

    asyncio.run(run())


def test_what_cannot_be_kept_is_refused_whole_and_holds_up_nobody(memory: Nagori) -> None:
    session, other = session_of(memory), session_of(memory, "other")
    good: Any = {"role": "user", "content": FACT}

    async def run() -> None:
        with pytest.raises(TypeError):
            await session.add_items([good, {"role": "user", "content": object()}])
        await other.add_items([good])
        assert await session.get_items() == []
        await session.add_items([good])
        assert await session.get_items() == await other.get_items() == [good]

    asyncio.run(run())


def test_the_compaction_of_the_sdk_replaces_a_session_in_one_step(
    memory: Nagori, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_of(memory)
    compaction = pytest.importorskip("agents.memory.openai_responses_compaction_session")
    summary = {"type": "compaction", "id": "c", "encrypted_content": "short"}

    class Client:
        """Answers as the API does."""

        output: Any = ()

        @property
        def responses(self) -> Any:
            return self

        async def compact(self, **request: Any) -> Any:
            return SimpleNamespace(output=self.output, usage=None)

    changes, write = [], Items.change

    def count_and_write(items: Items, decide: Any) -> None:
        changes.append(decide)
        write(items, decide)

    async def run() -> None:
        await session.add_items([{"role": "user", "content": f"{FACT} {n}"} for n in range(3)])
        client: Any = Client()
        wrapped = compaction.OpenAIResponsesCompactionSession("s", session, client=client)
        monkeypatch.setattr(Items, "change", count_and_write)
        client.output = [summary, {"type": "compaction", "id": object()}]
        with pytest.raises(TypeError):
            await wrapped.run_compaction({"force": True})
        assert len(await session.get_items()) == 3
        client.output = [summary]
        await wrapped.run_compaction({"force": True})
        assert await session.get_items() == [summary]

    asyncio.run(run())
    assert len(changes) == 2
    memory.cycle()
    assert not on_disk(memory, FACT)


def test_what_was_said_in_a_session_becomes_memories_on_request(memory: Nagori) -> None:
    async def run(session: Any) -> None:
        await session.add_items([{"role": "user", "content": f"{FACT} The key is {SECRET}."}])
        await session.add_items([{"role": "assistant", "content": "I will keep that in mind."}])

    asyncio.run(run(session_of(memory)))
    memory.process()
    assert not recalled(memory)
    asyncio.run(run(session_of(memory, "t", remember=True)))
    memory.process()
    assert recalled(memory)
    assert not any(SECRET in m.text.whole for m in memory.list())


def test_two_writers_of_one_session_lose_nothing(memory: Nagori) -> None:
    async def fill(letter: str) -> None:
        session = session_of(memory)
        for n in range(20):
            await session.add_items([{"role": "user", "content": f"{letter}{n}"}])

    async def run() -> list[str]:
        await asyncio.gather(fill("a"), fill("b"))
        return [item["content"] for item in await session_of(memory).get_items()]

    said = asyncio.run(run())
    for letter in "ab":
        assert [text for text in said if text.startswith(letter)] == [f"{letter}{n}" for n in range(20)]


# --- Anthropic's memory tool ----------------------------------------------------------------------


@pytest.fixture
def tool(memory: Nagori) -> Any:
    pytest.importorskip("anthropic", reason=REASON.format("anthropic"))
    from nagori.edges.integrations.anthropic_memory import NagoriMemoryTool

    return NagoriMemoryTool(memory=memory)


def command(**fields: Any) -> Any:
    return SimpleNamespace(view_range=None, **fields)


def refused(work: Any, **fields: Any) -> str:
    from anthropic.lib.tools import ToolError

    with pytest.raises(ToolError) as error:
        work(command(**fields))
    return str(error.value)


def test_claudes_files_keep_their_line_endings(tool: Any) -> None:
    tool.create(command(path="/memories/a.txt", file_text="one\r\ntwo\r\n"))
    tool.str_replace(command(path="/memories/a.txt", old_str="two", new_str="2"))
    tool.insert(command(path="/memories/a.txt", insert_line=1, insert_text="between\r"))
    assert tool.files.texts() == {"memories/a.txt": "one\r\nbetween\r\n2\r\n"}


def test_claudes_files_and_folders_do_not_mix(tool: Any) -> None:
    tool.create(command(path="/memories/a", file_text="x"))
    assert "not a directory" in refused(tool.create, path="/memories/a/b", file_text="y")
    tool.create(command(path="/memories/dir/sub/c", file_text="日本" * 400))
    assert "already exists" in refused(tool.create, path="/memories/dir", file_text="y")
    assert "not a file" in refused(tool.insert, path="/memories/dir", insert_line=0, insert_text="y")
    assert "into itself" in refused(tool.rename, old_path="/memories/dir", new_path="/memories/dir/sub/e")
    tool.rename(command(old_path="/memories/dir", new_path="/memories/new/place"))
    shown = tool.view(command(path="/memories"))
    assert shown.splitlines()[1:] == [
        *("2.3K\t/memories", "1B\t/memories/a", "2.3K\t/memories/new/", "2.3K\t/memories/new/place/")
    ]
    tool.delete(command(path="/memories/new"))
    assert tool.files.texts() == {"memories/a": "x"}


@pytest.mark.parametrize(
    "path",
    [
        *("/memories/../etc/passwd", "/memoriesx", "memories/a", "/etc/passwd", "", "/memories/a/../../b"),
        *("/memories/\0", "//memories/../x"),
    ],
)
def test_no_path_leaves_the_folder(tool: Any, path: str) -> None:
    assert refused(tool.create, path=path, file_text="x")
    assert tool.files.texts() == {}


def test_notes_in_claudes_files_become_memories_on_request(memory: Nagori) -> None:
    pytest.importorskip("anthropic", reason=REASON.format("anthropic"))
    from nagori.edges.integrations.anthropic_memory import AsyncNagoriMemoryTool

    tool = AsyncNagoriMemoryTool(memory=memory, remember=True)
    asyncio.run(tool.create(command(path="/memories/notes.md", file_text="# Hosts\n\n- Nothing yet\n")))
    edit = command(path="/memories/notes.md", old_str="- Nothing yet", new_str=f"- {FACT}")
    asyncio.run(tool.str_replace(edit))
    assert recalled(memory)


def test_a_text_that_only_overlaps_itself_is_replaced_as_anthropics_own_tool_does_it(tool: Any) -> None:
    tool.create(command(path="/memories/a.txt", file_text="a\n\n\nb"))
    tool.str_replace(command(path="/memories/a.txt", old_str="\n\n", new_str="\n"))
    assert tool.files.texts() == {"memories/a.txt": "a\n\nb"}
    assert refused(tool.str_replace, path="/memories/a.txt", old_str="\n", new_str="")


def test_the_files_of_the_async_tool_can_be_written_on_trio(memory: Nagori) -> None:
    pytest.importorskip("anthropic", reason=REASON.format("anthropic"))
    trio = pytest.importorskip("trio", reason=REASON.format("trio"))
    from nagori.edges.integrations.anthropic_memory import AsyncNagoriMemoryTool

    tool = AsyncNagoriMemoryTool(memory=memory)

    async def run() -> str:
        await tool.create(command(path="/memories/a.txt", file_text=FACT))
        return await tool.view(command(path="/memories/a.txt"))

    assert FACT in trio.run(run)


# --- LangChain and Strands ------------------------------------------------------------------------


def test_a_retriever_gives_what_recall_finds_or_always_k_if_asked(memory: Nagori) -> None:
    pytest.importorskip("langchain_core", reason=REASON.format("langchain-core"))
    from nagori.edges.integrations.langchain_retriever import NagoriRetriever

    memory.remember(FACT)
    for n in range(4):
        memory.remember(f"Tea number {n} is served at four.")
    [found] = NagoriRetriever(memory=memory, k=2).invoke("Which port does the staging server use?")
    assert (found.page_content, found.id) == (FACT, memory.recall("staging server port")[0].id)
    always = NagoriRetriever(memory=memory, k=3, min_confidence=0)
    assert len(always.invoke("Which port does the staging server use?")) == 3
    assert len(always.invoke("xyzzy", k=4)) == 4
    assert len(asyncio.run(always.ainvoke("xyzzy", k=1))) == 1


def test_a_strands_agent_searches_and_fills_the_memory(memory: Nagori) -> None:
    pytest.importorskip(
        "strands", reason="strands-agents is not installed; `make test-strands` installs and runs it"
    )
    from strands.memory import MemoryManager

    from nagori.edges.integrations.strands_memory import NagoriMemoryStore

    store = NagoriMemoryStore(memory, session="talk")
    manager = MemoryManager(stores=[store])

    async def run() -> Any:
        await manager.add(FACT, {"metadata": {"from": "test"}})
        said = [{"role": "user", "content": [{"text": "The harbour kettle is made of brass."}]}]
        await store.add_messages(said)
        return await manager.search("Which port does Zebra use?", {"max_search_results": 3})

    [found] = asyncio.run(run())
    assert (found.content, found.store_name, found.metadata["from"]) == (FACT, "nagori", "test")
    assert memory.process() == 1
    assert memory.recall("What is the harbour kettle made of?")
    closed = NagoriMemoryStore(memory, writable=False)
    with pytest.raises(ValueError, match="not writable"):
        asyncio.run(closed.add("x"))


# --- Claude Agent SDK -----------------------------------------------------------------------------

KEY: dict[str, Any] = {"project_key": "p", "session_id": "s"}


def entry(uuid: str | None, text: str, type: str = "user", **more: Any) -> dict[str, Any]:
    named = {} if uuid is None else {"uuid": uuid}
    return {"type": type, **named, "message": {"role": type, "content": text}, **more}


@pytest.fixture
def agent_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK is 350 MB with the program in it: it is borrowed from where `make test` puts it."""
    borrowed = [str(folder) for folder in Path("out/e2e-venv").absolute().glob("lib/*/site-packages")]
    monkeypatch.setattr(sys, "path", [*sys.path, *borrowed])
    pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is not in out/e2e-venv (make e2e-venv)")


@pytest.mark.usefixtures("agent_sdk")
def test_the_session_store_passes_the_conformance_suite_of_the_sdk() -> None:
    from claude_agent_sdk import testing

    asyncio.run(testing.run_session_store_conformance(NagoriSessionStore))


@pytest.mark.usefixtures("agent_sdk")
def test_the_session_store_passes_it_on_trio_as_the_sdk_runs_there_too() -> None:
    trio = pytest.importorskip("trio", reason=REASON.format("trio"))
    from claude_agent_sdk import testing

    trio.run(testing.run_session_store_conformance, NagoriSessionStore)


def test_an_append_that_is_cancelled_on_trio_is_finished_first(
    memory: Nagori, monkeypatch: pytest.MonkeyPatch
) -> None:
    trio = pytest.importorskip("trio", reason=REASON.format("trio"))
    store = NagoriSessionStore(memory=memory)
    write = Items.change
    sub = {**KEY, "subpath": "subagents/a"}

    async def run() -> None:
        with trio.CancelScope() as scope:

            def cancel_and_write(items: Items, decide: Any) -> None:
                trio.from_thread.run_sync(scope.cancel)
                write(items, decide)

            monkeypatch.setattr(Items, "change", cancel_and_write)
            await store.append(sub, [entry("a", "x")])
            await trio.lowlevel.checkpoint()
        assert scope.cancelled_caught

    trio.run(run)
    assert len(memory.items.list(("claude_sessions",))) == 1


def test_entries_with_a_known_uuid_are_not_added_again_whoever_wrote_them(memory: Nagori) -> None:
    one, two = NagoriSessionStore(memory=memory), NagoriSessionStore(memory=memory)
    sub = {**KEY, "subpath": "subagents/a"}

    async def run() -> Any:
        await one.append(sub, [entry("a", "x"), entry(None, "title")])
        await two.append(sub, [entry("a", "x"), entry("b", "y")])
        await one.append(sub, [entry("b", "y"), entry(None, "title"), entry("c", "z")])
        return [each.get("uuid") for each in await one.load(sub) or []]

    assert asyncio.run(run()) == ["a", None, "b", None, "c"]


@pytest.mark.usefixtures("agent_sdk")
def test_what_was_said_in_a_transcript_becomes_memories_on_request(memory: Nagori) -> None:
    store = NagoriSessionStore(memory=memory, remember=True)
    entries = [
        entry("a", FACT),
        entry("b", "I noted the port.", "assistant"),
        entry("c", "A machine said that the moon is made of cheese.", isMeta=True),
        {"type": "summary", "summary": "cheese"},
    ]
    asyncio.run(store.append(KEY, entries))
    memory.process()
    assert recalled(memory)
    assert not any("cheese" in m.text.whole for m in memory.list())
