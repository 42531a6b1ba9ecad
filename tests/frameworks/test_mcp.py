"""The MCP server with the SDK's own client: tools, questions to people, both wires, and a hostile client."""

from __future__ import annotations

import asyncio
import json
import os
import random
import string
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nagori import Config, Memory, Nagori, Privacy, Scope, Source
from nagori.config import load
from nagori.edges.locale import Translator
from nagori.errors import InvalidInput

pytest.importorskip("mcp", reason="mcp is not installed; `make test-frameworks` installs and runs it")

from mcp import Client, MCPError, StdioServerParameters
from mcp_types import ElicitResult, ListRootsResult, Root
from pydantic import ValidationError

from nagori.edges.mcp import Served
from nagori.edges.mcp.dropin import import_graph, make_dropin
from nagori.edges.mcp.serve_stdio_or_http import make_app, read_token
from nagori.edges.mcp.tools import make_server

PORT = "The staging server of project Zebra listens on port 8443."
SISTER = "My sister is called Aki."
THEIRS = "The vault code of somebody else is under the piano."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Nagori]:
    with Nagori.open(tmp_path / "memory", config=Config(), embedder=None) as opened:
        yield opened


def served(memory: Nagori, **more: Any) -> Served:
    return Served(memory, Translator("en"), **more)


def talk(memory: Nagori, work: Callable[[Any], Awaitable[Any]], **more: Any) -> Any:
    """Run `work` with a client of our server; `more` is for the client."""

    async def run() -> Any:
        async with Client(make_server(served(memory)), **more) as client:
            return await work(client)

    return asyncio.run(run())


def call(memory: Nagori, name: str, **arguments: Any) -> Any:
    async def work(client: Any) -> Any:
        return await client.call_tool(name, arguments)

    answer = talk(memory, work)
    assert not answer.is_error, answer.content
    return answer.structured_content


def test_there_are_at_most_ten_tools_and_each_says_what_it_returns(memory: Nagori) -> None:
    async def work(client: Any) -> Any:
        return (await client.list_tools()).tools

    tools = talk(memory, work)
    assert [tool.name for tool in tools] == [
        *("remember", "recall", "context", "why", "correct", "protect", "forget", "list", "know", "profile")
    ]
    assert len(tools) <= 10
    for tool in tools:
        assert 60 < len(tool.description) < 2000
        assert tool.output_schema is not None
        assert tool.annotations is not None
        hidden = {"ctx", "view", "chosen", "user", "tenant", "scope"}
        assert not hidden & set(tool.input_schema["properties"])


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_what_is_remembered_is_recalled_explained_corrected_and_forgotten(memory: Nagori, mode: str) -> None:
    async def work(client: Any) -> list[Any]:
        told = await client.call_tool("remember", {"content": [PORT, SISTER], "said_by": "user"})
        found = await client.call_tool("recall", {"query": "Which port does Zebra use?"})
        id = found.structured_content["memories"][0]["id"]
        reasons = await client.call_tool("why", {"id": id})
        block = await client.call_tool("context", {"prompt": "Which port does staging of Zebra use?"})
        right = await client.call_tool("correct", {"id": id, "content": PORT.replace("8443", "9443")})
        listed = await client.call_tool("list", {"limit": 1})
        gone = await client.call_tool("forget", {"what": id})
        left = await client.call_tool("recall", {"query": "Which port does Zebra use?"})
        return [told, found, reasons, block, right, listed, gone, left]

    answers = talk(memory, work, mode=mode)
    assert [answer.is_error for answer in answers] == [False] * 8
    told, found, reasons, block, right, listed, gone, left = [each.structured_content for each in answers]
    assert [each["text"] for each in told["memories"]] == [PORT, SISTER]
    assert found["memories"][0]["said_by"] == "user"
    assert reasons["retention"] > 50
    assert "8443" in block["text"]
    assert "9443" in right["text"]
    assert len(listed["memories"]) == 1
    assert "9443" in gone["forgotten"]["text"]
    assert left["memories"] == []


def test_words_forget_nothing_until_somebody_chooses(memory: Nagori) -> None:
    memory.remember(SISTER)
    memory.remember("My sister lives in Kyoto.")
    answer = call(memory, "forget", what="my sister")
    assert answer["forgotten"] is None
    assert len(answer["candidates"]) == 2
    asked: list[Any] = []

    async def choose(context: Any, params: Any) -> Any:
        asked.append(params)
        [id] = [id for id in params.requested_schema["properties"]["id"]["enum"] if "Aki" in named(id)]
        return ElicitResult(action="accept", content={"id": id})

    def named(id: str) -> str:
        return memory.show(id).text.content

    async def work(client: Any) -> Any:
        return await client.call_tool("forget", {"what": "my sister"})

    done = talk(memory, work, elicitation_callback=choose)
    assert done.structured_content["forgotten"]["text"] == SISTER
    assert "Which memory shall be forgotten?" in asked[0].message
    assert [each.text.content for each in memory.list()] == ["My sister lives in Kyoto."]


def test_a_person_who_declines_changes_nothing(memory: Nagori) -> None:
    memory.remember(SISTER)

    async def decline(context: Any, params: Any) -> Any:
        return ElicitResult(action="decline")

    async def work(client: Any) -> Any:
        return await client.call_tool("forget", {"what": "my sister"})

    done = talk(memory, work, elicitation_callback=decline)
    assert done.is_error
    assert "nothing was changed" in done.content[0].text
    assert len(memory.list()) == 1


def test_beyond_the_limit_of_protection_a_person_chooses_what_is_released(tmp_path: Path) -> None:
    config = load(overrides={"protection.max_protected_memories": 2}, env={}).config
    with Nagori.open(tmp_path, config=config, embedder=None) as memory:
        old = [memory.remember(f"Fact number {n} is important.", protect=True).id for n in range(2)]
        new = memory.remember(SISTER).id

        async def work(client: Any) -> Any:
            return await client.call_tool("protect", {"id": new})

        refused = talk(memory, work)
        assert refused.is_error
        assert old[0] in refused.content[0].text

        async def choose(context: Any, params: Any) -> Any:
            assert params.requested_schema["properties"]["id"]["enum"] == old
            return ElicitResult(action="accept", content={"id": old[1]})

        done = talk(memory, work, elicitation_callback=choose)
        assert done.structured_content["protected"]
        assert {m.id for m in memory.list() if m.protected} == {old[0], new}


def test_the_first_root_of_a_client_is_its_project(memory: Nagori, tmp_path: Path) -> None:
    (tmp_path / "zebra" / ".git").mkdir(parents=True)
    (tmp_path / "zebra" / "src").mkdir()

    async def roots(context: Any) -> Any:
        return ListRootsResult(roots=[Root(uri=(tmp_path / "zebra" / "src").as_uri())])

    async def work(client: Any) -> Any:
        await client.call_tool("remember", {"content": PORT})
        await client.call_tool("remember", {"content": SISTER, "everywhere": True})
        return await client.call_tool("list", {})

    assert len(talk(memory, work, list_roots_callback=roots).structured_content["memories"]) == 2
    assert {m.text.content: m.project for m in memory.list()} == {
        PORT: str(tmp_path / "zebra"),
        SISTER: None,
    }
    other = memory.with_scope(project="another")
    assert [m.text.content for m in other.list()] == [SISTER]


def test_progress_is_told_while_many_are_remembered(memory: Nagori) -> None:
    told: list[float] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async def work(client: Any) -> Any:
        notes = [f"The machine number {n} stands in room {n}." for n in range(40)]
        return await client.call_tool("remember", {"content": notes}, progress_callback=listen)

    assert not talk(memory, work).is_error
    assert told
    assert told == sorted(told)


def test_a_memory_and_a_session_are_resources_and_a_forgotten_one_is_not(memory: Nagori) -> None:
    id = memory.remember(PORT).id
    memory.turn("We moved the staging server of Zebra to port 8443 today.", session="s1").answer(
        "The staging server of Zebra now listens on port 8443."
    )
    memory.process()

    async def work(client: Any) -> tuple[Any, Any, Any]:
        one = await client.read_resource(f"memory://{id}")
        session = await client.read_resource("session://s1")
        recent = await client.read_resource("memory://recent")
        return one.contents[0].text, session.contents[0].text, recent.contents[0].text

    one, session, recent = talk(memory, work)
    assert json.loads(one)["text"] == PORT
    assert "8443" in session
    assert "8443" in recent
    memory.forget(id)

    async def lost(client: Any) -> list[int]:
        codes = []
        for uri in (f"memory://{id}", "memory://nobody", "session://unknown", "other://x", "memory://a/b"):
            with pytest.raises(Exception) as trouble:
                await client.read_resource(uri)
            codes.append(trouble.value.error.code)  # type: ignore[attr-defined]
        return codes

    assert talk(memory, lost) == [-32602] * 5


def test_a_long_memory_is_cut_in_answers_and_whole_as_a_resource(memory: Nagori) -> None:
    long = "The kettle log: " + "steam " * 2000
    id = memory.remember(long).id

    async def work(client: Any) -> tuple[str, str]:
        listed = await client.call_tool("list", {})
        one = await client.read_resource(f"memory://{id}")
        return listed.structured_content["memories"][0]["text"], json.loads(one.contents[0].text)["text"]

    listed, whole = talk(memory, work)
    assert len(listed) == 2001
    assert listed.endswith("…")
    assert whole == long.strip()


def test_documents_are_searched_with_their_sources_and_without_a_hit_the_bases_are_named(
    memory: Nagori, tmp_path: Path
) -> None:
    page = tmp_path / "setup.md"
    page.write_text("# Staging\n\n## Ports\n\nThe staging server of Zebra listens on port 8443.\n")
    memory.add_knowledge(page, kb="manuals")
    memory.with_scope(tenant="another").add_knowledge(page, kb="secrets")
    found = call(memory, "know", query="Which port does the staging server of Zebra use?")
    assert [each["source"] for each in found["passages"]] == ["manuals: setup.md, Staging › Ports"]
    assert "8443" in found["passages"][0]["text"]
    nothing = call(memory, "know", query="Which port does the staging server use?", kb="other")
    assert nothing == {"passages": [], "bases": ["manuals"]}


def test_a_profile_tells_topics_people_and_what_the_last_sessions_were_about(memory: Nagori) -> None:
    assert call(memory, "profile")["sessions"] == []
    said = "We moved the staging server of Zebra to port 8443 today."
    memory.turn(said, session="s1").answer("The staging server of Zebra now listens on port 8443.")
    memory.turn("The staging server of Zebra needs a new certificate.", session="s2")
    memory.process()
    told = call(memory, "profile")
    assert "Zebra" in told["topics"]
    assert [each["session"] for each in told["sessions"]] == ["s2", "s1"]
    assert "8443" in told["sessions"][1]["about"]
    for each in memory.list():
        memory.forget(each.id)
    forgotten = call(memory, "profile")
    assert forgotten["topics"] == []
    assert [each["about"] for each in forgotten["sessions"]] == ["", ""]


def test_prompts_tell_which_tool_to_use(memory: Nagori) -> None:
    async def work(client: Any) -> list[str]:
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        told = await client.get_prompt("recall", {"topic": "Zebra"})
        return [*names, told.messages[0].content.text]

    *names, told = talk(memory, work)
    assert names == ["recall", "remember", "review"]
    assert "`recall`" in told
    assert "Zebra" in told


# --- who asks -------------------------------------------------------------------------------------


VAULT = "Where does the vault stand, and with which word does it open?"
WORDS = ("marmalade", "quince", "orchid", "saffron")  # what is private


def fill_vault(folder: Path) -> dict[str, Memory]:
    """What is private to the agent `coder`, to its role, and to the user, by id."""
    with Nagori.open(folder, config=Config(), embedder=None) as user:
        coder = user.with_scope(agent="coder", role="dev")
        user.remember("The vault stands in the cellar.", source=Source("s4"), protect=True)
        coder.turn("Saffron is the last word of the vault.", session="s3")
        drafts = [
            (coder, "The vault of the coder opens with the word marmalade.", Privacy.PRIVATE, Source("s1")),
            (user, "The vault of the user opens with the word quince.", Privacy.PRIVATE, Source("s2")),
            (coder, "The vault of the team opens with the word orchid.", Privacy.AGENT_ONLY, Source("s1")),
        ]
        made = [
            view.remember(said, privacy=privacy, source=source, protect=True)
            for view, said, privacy, source in drafts
        ]
        return {memory.id: memory for memory in made}


def start_command(folder: Path, *options: str, agent: str = "") -> StdioServerParameters:
    """The server as a host starts it."""
    env = {"PYTHONPATH": os.pathsep.join(sys.path), "NAGORI_EMBEDDING__PROVIDER": "none"}
    command = ["-m", "nagori", "--data-dir", str(folder), "mcp", *options]
    named = {"NAGORI_AGENT": agent} if agent else {}
    return StdioServerParameters(command=sys.executable, args=command, env={**env, **named})


def list_calls(ids: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Calls of every tool that try to reach memories with these ids."""
    named = [part for id in ids for part in (id, id[:12])]
    sessions = ["s1", "s2", "s3"]
    return {
        "remember": [{"content": "The vault needs new hinges."}],
        "recall": [{"query": VAULT, "k": 50, "archived": True}, {"query": " ".join(WORDS), "k": 50}],
        "context": [{"prompt": VAULT}, *({"prompt": VAULT, "session": name} for name in sessions)],
        "why": [{"id": id, "query": VAULT} for id in named],
        "correct": [{"id": id, "content": "It is empty."} for id in named],
        "protect": [{"id": id} for id in named],
        "forget": [{"what": what} for what in (*named, *WORDS, VAULT)],
        "list": [
            *({"session": name} for name in sessions),
            *({"after": id} for id in named),
            *({"limit": 200}, {"protected": True}, {"kind": "fact"}),
        ],
        "know": [{"query": VAULT}],
        "profile": [{}],
    }


@pytest.mark.parametrize("agent", ["", "writer"])
def test_what_is_private_is_reached_by_no_tool_and_no_resource(tmp_path: Path, agent: str) -> None:
    private = fill_vault(tmp_path)
    uris = [*(f"memory://{id}" for id in private), *(f"session://{name}" for name in ("s1", "s2", "s3"))]

    async def run() -> tuple[list[str], list[str]]:
        answers, refusals = list[str](), list[str]()
        async with Client(start_command(tmp_path, agent=agent)) as client:
            calls = list_calls(private)
            assert set(calls) == {tool.name for tool in (await client.list_tools()).tools}
            for name, given in [(name, given) for name, each in calls.items() for given in each]:
                done = await client.call_tool(name, given)
                assert done.is_error or "id" not in given, (name, given)
                said = json.dumps(done.model_dump(mode="json"), ensure_ascii=False)
                (refusals if done.is_error else answers).append(said)
            answers.append((await client.read_resource("memory://recent")).contents[0].text)
            for uri in uris:
                with pytest.raises(MCPError) as refused:
                    await client.read_resource(uri)
                refusals.append(str(refused.value))
        return answers, refusals

    answers, refusals = asyncio.run(run())
    assert sum("cellar" in said for said in answers) > 5  # what is public is found
    for said in answers:
        assert not any(id in said for id in private), said
    for said in (*answers, *refusals):
        assert not any(word in said.lower() for word in WORDS), said
    with Nagori.open(tmp_path, config=Config(), embedder=None) as user:
        assert [user.show(id) for id in private] == list(private.values())


def test_the_same_words_from_another_agent_are_another_memory(tmp_path: Path) -> None:
    private = fill_vault(tmp_path)

    async def run() -> list[Any]:
        async with Client(start_command(tmp_path)) as client:
            words = [memory.text.content for memory in private.values()]
            return (await client.call_tool("remember", {"content": words})).structured_content["memories"]

    assert not {each["id"] for each in asyncio.run(run())} & set(private)
    with Nagori.open(tmp_path, config=Config(), embedder=None) as user:
        assert [user.show(id) for id in private] == list(private.values())


def test_an_agent_with_a_name_is_given_its_own(tmp_path: Path) -> None:
    fill_vault(tmp_path)

    async def run() -> Any:
        async with Client(start_command(tmp_path, agent="coder")) as client:
            return await client.call_tool("recall", {"query": "With which word does the vault open?"})

    found = " ".join(each["text"] for each in asyncio.run(run()).structured_content["memories"])
    assert "marmalade" in found
    assert "quince" not in found  # the user's own


def test_the_drop_in_server_shows_its_graph_and_no_memory(tmp_path: Path) -> None:
    private = fill_vault(tmp_path)
    entity = {"name": "vault", "entityType": "thing", "observations": ["stands in the cellar"]}

    async def run() -> list[Any]:
        async with Client(start_command(tmp_path, "--dropin")) as client:
            await client.call_tool("create_entities", {"entities": [entity]})
            whole = await client.call_tool("read_graph", {})
            found = [await client.call_tool("search_nodes", {"query": word}) for word in (*WORDS, "vault")]
            opened = await client.call_tool("open_nodes", {"names": [*private, *WORDS]})
            return [each.structured_content for each in (whole, *found, opened)]

    whole, *others = asyncio.run(run())
    empty: dict[str, list[Any]] = {"entities": [], "relations": []}
    assert whole == {**empty, "entities": [entity]}
    assert others == [*[empty] * len(WORDS), whole, empty]


# --- a hostile client -----------------------------------------------------------------------------


def anything(dice: random.Random, depth: int = 0) -> Any:
    """Any JSON: wrong types, odd numbers, control characters, long texts."""
    odd = [
        None,
        True,
        -1,
        0,
        2**63,
        1e308,
        "",
        "\0",
        "'; DROP TABLE memory; --",
        "%_*",
        "😀" * 40,
        "x" * 5000,
    ]
    if depth < 3 and dice.random() < 0.4:
        if dice.random() < 0.5:
            return [anything(dice, depth + 1) for _ in range(dice.randrange(4))]
        return {anything_text(dice): anything(dice, depth + 1) for _ in range(dice.randrange(4))}
    return dice.choice([*odd, anything_text(dice)])


def anything_text(dice: random.Random) -> str:
    names = ["id", "content", "query", "what", "user", "tenant", "scope", "release", "k", "limit", "session"]
    return dice.choice([*names, "".join(dice.choices(string.printable + "名残", k=dice.randrange(12)))])


@pytest.mark.parametrize("calls", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_hostile_client_gets_no_crash_and_nothing_of_another_user(memory: Nagori, calls: int) -> None:
    theirs = memory.with_scope(Scope(user="somebody else"))
    secret = theirs.remember(THEIRS)
    theirs.items.put(("mcp_memory", "", "entities"), "0", {"name": THEIRS})
    mine = memory.remember(PORT)
    dice = random.Random(19)
    tools = [
        "remember",
        "recall",
        "context",
        "why",
        "correct",
        "protect",
        "forget",
        "list",
        "know",
        "profile",
    ]
    fields = [
        "id",
        "content",
        "query",
        "what",
        "prompt",
        "k",
        "limit",
        "after",
        "release",
        "session",
        "user",
        "kb",
    ]

    async def work(client: Any) -> int:
        shown = 0
        for _ in range(calls):
            values = [anything(dice), secret.id, mine.id, "vault code piano", "somebody else"]
            arguments = {field: dice.choice(values) for field in dice.sample(fields, dice.randrange(5))}
            try:
                answer = await client.call_tool(dice.choice([*tools, "unknown"]), arguments)
            except (MCPError, ValidationError):
                continue
            text = json.dumps(answer.model_dump(mode="json"))
            assert "under the" not in text
            if not answer.is_error:
                shown += 1
        assert (await client.call_tool("recall", {"query": "port of Zebra"})).is_error is False
        return shown

    assert talk(memory, work) > 20
    assert [m.text.content for m in theirs.list()] == [THEIRS]
    assert theirs.list()[0].version == secret.version
    assert memory.verify().sound


BODIES = [
    b"",
    b"{",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":' + b"[" * 5000,
    b'{"jsonrpc":"2.0","id":1}',
    b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]',
    b'{"jsonrpc":"2.0","id":{},"method":[]}',
    b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    b"x" * (5 * 1024 * 1024),
]


def statuses(app: Any, headers: dict[str, str], bodies: Iterable[bytes]) -> list[int]:
    """The status of each request to an application, one after the other."""
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope = {
        **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST"},
        **{"path": "/mcp", "raw_path": b"/mcp", "root_path": "", "scheme": "http", "query_string": b""},
        **{"headers": raw, "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 8437)},
    }

    async def ask(body: bytes) -> int:
        sent, status = asyncio.Event(), list[int]()
        parts = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            if parts:
                return parts.pop()
            await sent.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                status.append(message["status"])
            elif not message.get("more_body"):
                sent.set()

        await asyncio.wait_for(app(dict(scope), receive, send), 20)
        return status[0]

    async def run() -> list[int]:
        inner = getattr(app, "_app", app)
        async with inner.router.lifespan_context(inner):
            return [await ask(body) for body in bodies]

    return asyncio.run(run())


GOOD = {
    "host": "127.0.0.1:8437",
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}

HELLO = json.dumps(
    {
        **{"jsonrpc": "2.0", "id": 1, "method": "initialize"},
        "params": {
            **{"protocolVersion": "2025-11-25", "capabilities": {}},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
).encode()


def test_a_port_needs_the_token_and_a_host_and_an_origin_of_this_machine(memory: Nagori) -> None:
    token, path = read_token(memory.runtime.data_dir)
    assert read_token(memory.runtime.data_dir) == (token, path)
    assert path.stat().st_mode & 0o077 == 0

    def status(body: bytes = HELLO, **headers: str) -> int:
        app = make_app(make_server(served(memory)), "127.0.0.1", token)
        return statuses(app, {**GOOD, **headers}, [body])[0]

    bearer = f"Bearer {token}"
    assert status(authorization=bearer) == 200
    for wrong in ("", "Bearer", f"Bearer {token}x", f"bearer {token[:-1]}", token, "Basic " + token):
        assert status(authorization=wrong) == 401
    assert status(authorization=bearer, host="evil.example.com") == 421
    assert status(authorization=bearer, origin="https://evil.example.com") == 403
    assert status(authorization=bearer, origin="http://localhost:5173") == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "example.com", "192.168.0.7", "::"])
def test_a_port_is_never_opened_to_other_machines(tmp_path: Path, host: str) -> None:
    from typer.testing import CliRunner

    from nagori.edges.cli import app

    done = CliRunner().invoke(app, ["--data-dir", str(tmp_path), "mcp", "--http", "--host", host])
    assert isinstance(done.exception, InvalidInput)
    assert done.exception.message_id == "error.mcp_host"


def random_body(dice: random.Random) -> bytes:
    """A request that may be right, wrong, cut off or no JSON at all."""
    methods = ["tools/call", "tools/list", "resources/read", "prompts/get", "initialize", "ping", "x"]
    request = {
        **{"jsonrpc": dice.choice(["2.0", "2.0", "2.0", "1.0"]), "id": dice.choice([1, 2, "a", None, {}])},
        **{"method": dice.choice(methods), "params": anything(dice)},
    }
    if dice.random() < 0.3:
        arguments = {"query": "vault code piano", "id": anything(dice)}
        request["params"] = {"name": dice.choice(["recall", "list", "why"]), "arguments": arguments}
    body = json.dumps(request).encode()
    return body[: dice.randrange(len(body))] if dice.random() < 0.3 else body


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_hostile_bodies_are_refused_and_the_server_goes_on(memory: Nagori, count: int) -> None:
    dice = random.Random(count)
    app = make_app(make_server(served(memory)), "127.0.0.1", None)
    bodies = [*BODIES, *(random_body(dice) for _ in range(count)), HELLO]
    *answers, last = statuses(app, GOOD, bodies)
    assert all(400 <= status < 500 for status in answers[: len(BODIES)])
    assert all(status < 500 for status in answers)
    assert last == 200
    assert memory.verify().sound


# --- the drop-in server ---------------------------------------------------------------------------


def test_the_drop_in_server_keeps_a_graph_and_takes_over_a_file(memory: Nagori, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    rows: list[dict[str, Any]] = [
        {"type": "entity", "name": "Aki", "entityType": "person", "observations": ["likes tea"]},
        {"type": "relation", "from": "Aki", "to": "Zebra", "relationType": "works_on"},
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")

    async def run() -> list[Any]:
        async with Client(make_dropin(served(memory, graph=str(file)))) as client:
            before = await client.call_tool("read_graph", {})
            more = {"entityName": "Aki", "contents": ["likes tea", "卵アレルギー"]}
            added = await client.call_tool("add_observations", {"observations": [more]})
            found = await client.call_tool("search_nodes", {"query": "卵"})
            wrong = await client.call_tool(
                "add_observations", {"observations": [{"entityName": "nobody", "contents": ["x"]}]}
            )
            gone = await client.call_tool("delete_entities", {"entityNames": ["Aki"]})
            after = await client.call_tool("read_graph", {})
            tools = (await client.list_tools()).tools
            return [len(tools), before, added, found, wrong, gone, after]

    count, before, added, found, wrong, gone, after = asyncio.run(run())
    assert count == 9
    [relation] = before.structured_content["relations"]
    assert relation == {"from": "Aki", "to": "Zebra", "relationType": "works_on"}
    assert added.structured_content == {
        "results": [{"entityName": "Aki", "addedObservations": ["卵アレルギー"]}]
    }
    assert found.structured_content["entities"][0]["observations"] == ["likes tea", "卵アレルギー"]
    assert wrong.is_error
    assert gone.structured_content["success"]
    assert after.structured_content == {"entities": [], "relations": []}
    assert import_graph(memory, str(tmp_path / "absent.jsonl")) == 0
    assert memory.verify().sound


@pytest.mark.parametrize(
    ("make", "uri", "name", "arguments"),
    [
        (make_dropin, "memory://knowledge-graph", "delete_entities", {"entityNames": ["Aki"]}),
        (make_server, "memory://recent", "remember", {"content": SISTER}),
    ],
)
def test_a_client_that_listens_is_told_that_a_resource_changed(
    memory: Nagori, make: Any, uri: str, name: str, arguments: dict[str, Any]
) -> None:
    async def run() -> Any:
        async with Client(make(served(memory))) as client, client.listen(resource_subscriptions=[uri]) as sub:
            await client.call_tool(name, arguments)
            return await asyncio.wait_for(anext(aiter(sub)), 30)

    assert asyncio.run(run()).uri == uri


@pytest.mark.parametrize("make", [make_server, make_dropin])
def test_the_server_promises_notices_of_changed_resources_but_not_of_lists_that_never_change(
    memory: Nagori, make: Any
) -> None:
    async def run() -> Any:
        async with Client(make(served(memory))) as client:
            return client.server_capabilities

    told = asyncio.run(run())
    assert told.resources.subscribe
    assert not told.resources.list_changed
    assert not told.tools.list_changed
    assert told.prompts is None or not told.prompts.list_changed


def test_two_drop_in_servers_at_once_lose_nothing(memory: Nagori) -> None:
    async def run() -> int:
        async def fill(letter: str) -> None:
            async with Client(make_dropin(served(memory))) as client:
                for n in range(15):
                    entity = {"name": f"{letter}{n}", "entityType": "t", "observations": []}
                    await client.call_tool("create_entities", {"entities": [entity]})

        await asyncio.gather(fill("a"), fill("b"))
        async with Client(make_dropin(served(memory))) as client:
            return len((await client.call_tool("read_graph", {})).structured_content["entities"])

    assert asyncio.run(run()) == 30
