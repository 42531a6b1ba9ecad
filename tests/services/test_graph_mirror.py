"""The mirror in a real graph server: what it holds, that losing it changes no answer, and that what is erased
leaves it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import arcadedb

from nagori import Nagori
from nagori.adapters.bolt_graph import parse_graph
from nagori.config import load
from nagori.edges.cli import main
from nagori.errors import Conflict, InvalidInput, MemoryErased, StoreError
from nagori.files import ENCRYPTION_NOTE
from nagori.leases import lease
from nagori.services import graph_mirror
from nagori.testing import FrozenClock, WordEmbedder

TOLD = [
    "The harp from Ms Mori stands in the attic.",
    "Ms Mori tunes every harp in Vienna.",
    "The night train to Vienna leaves at 21:40.",
]
COUNT = "MATCH (n) RETURN count(n)"
NAMES = "MATCH (m:NagoriMemory)-[:MENTIONS]->(c:NagoriConcept) RETURN DISTINCT c.name ORDER BY c.name"


class Graph:
    """The server, asked as another program would."""

    def __init__(self, server: arcadedb.GraphServer) -> None:
        import neo4j

        self.url = server.url
        address = f"bolt://127.0.0.1:{server.port}"
        self._driver = neo4j.GraphDatabase.driver(address, auth=("root", arcadedb.PASSWORD))

    def ask(self, statement: Any, **values: Any) -> list[Any]:
        found = self._driver.execute_query(statement, values, database_=arcadedb.DATABASE).records
        return [tuple(record.values()) if len(record) > 1 else record[0] for record in found]

    def words(self) -> str:
        """Everything that the nodes say."""
        return json.dumps(self.ask("MATCH (n) RETURN properties(n)"), ensure_ascii=False)

    def close(self) -> None:
        self._driver.close()


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> Iterator[Graph]:
    pytest.importorskip("neo4j", reason="neo4j is not installed (requirements/dev.txt)")
    server = arcadedb.start_server()
    if isinstance(server, str):
        pytest.skip(server)
    monkeypatch.setenv("NEO4J_PASSWORD", arcadedb.PASSWORD)
    graph = Graph(server)
    graph.ask("MATCH (n) DETACH DELETE n")
    yield graph
    graph.close()


class Opener:
    def __init__(self, folder: Path) -> None:
        self.folder, self.clock, self.heard = folder, FrozenClock(), list[str]()

    def __call__(self, url: str = "") -> Nagori:
        return Nagori.open(
            self.folder,
            clock=self.clock,
            config=load(overrides={"graph.mirror": url}).config,
            embedder=WordEmbedder(),
            llm=None,
            observe=lambda name, **_: self.heard.append(name),
        )


@pytest.fixture
def opened(tmp_path: Path) -> Opener:
    return Opener(tmp_path / "data")


def fill(memory: Nagori) -> list[str]:
    return [memory.remember(text).id for text in TOLD]


def answers(memory: Nagori) -> list[object]:
    found = memory.recall("Where is the harp of Ms Mori?", spread=2, mark=False)
    led = memory.associate("Vienna")
    return [[(r.memory.id, r.score) for r in found], led.topics, [r.memory.id for r in led.memories]]


def test_T8_memories_concepts_and_relations_are_in_the_graph(graph: Graph, opened: Opener) -> None:
    with opened(graph.url) as memory:
        ids = fill(memory)
        memory.link(ids[1], ids[0], "continues")
        done = memory.mirror_graph()
        assert (done.memories, done.written, done.removed) == (3, 3, 0)
        shared = """MATCH (a:NagoriMemory {id: $id})-[:MENTIONS]->(c)<-[:MENTIONS]-(b:NagoriMemory)
                    RETURN DISTINCT b.text ORDER BY b.text"""
        assert graph.ask(shared, id=ids[0]) == [TOLD[1]]
        assert graph.ask(shared, id=ids[1]) == [TOLD[0], TOLD[2]]
        links = "MATCH (a:NagoriMemory)-[:CONTINUES]->(b:NagoriMemory) RETURN a.id, b.id"
        assert graph.ask(links) == [(ids[1], ids[0])]
        [fields] = graph.ask("MATCH (m:NagoriMemory {id: $id}) RETURN properties(m)", id=ids[2])
        assert fields["privacy"] == "public"
        assert fields["created"] == memory.show(ids[2]).created.isoformat()
        assert memory.scope.user not in fields["owner"]


def test_T12_the_mirror_is_written_over_tls_and_only_to_a_server_with_a_known_certificate(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("neo4j", reason="neo4j is not installed (requirements/dev.txt)")
    server = arcadedb.start_tls_server()
    if isinstance(server, str):
        pytest.skip(server)
    monkeypatch.setenv("NEO4J_PASSWORD", arcadedb.PASSWORD)
    place = f"root@localhost:{server.port}/{arcadedb.DATABASE}"
    with opened() as memory:
        fill(memory)
    for refused in (f"bolt://{place}", f"bolt+s://{place}"):  # no TLS; an authority that nobody knows
        with opened(refused) as memory, pytest.raises(StoreError):
            memory.mirror_graph()
    monkeypatch.setenv("SSL_CERT_FILE", str(server.folder / "ca.pem"))
    with opened(f"bolt+s://{place}") as memory:
        assert memory.mirror_graph().written == len(TOLD)
        assert memory.mirror_graph().written == 0


def test_a_run_writes_only_what_changed(graph: Graph, opened: Opener) -> None:
    with opened(graph.url) as memory:
        ids = fill(memory)
        memory.mirror_graph()
        assert memory.mirror_graph().written == 0
        memory.recall("harp")
        assert memory.mirror_graph().written == 0
        memory.edit(ids[2], content="The night train to Graz leaves at 22:10.")
        assert memory.mirror_graph().written == 1
        assert "Vienna leaves" not in graph.words()
        assert "graz" in graph.ask(NAMES)
        memory.link(ids[2], ids[0], "references")
        assert memory.mirror_graph().written == 1
        memory.unlink(ids[2], ids[0], "references")
        assert memory.mirror_graph().written == 1
        assert graph.ask("MATCH ()-[r:REFERENCES]->() RETURN count(r)") == [0]
        memory.forget(ids[2])
        done = memory.mirror_graph()
        assert (done.memories, done.written, done.removed) == (2, 0, 1)
        assert "graz" not in graph.words().lower()
        memory.undo(ids[2])
        assert memory.mirror_graph().written == 1


def test_T8_an_emptied_graph_changes_no_answer_and_is_filled_again(graph: Graph, opened: Opener) -> None:
    with opened(graph.url) as memory:
        fill(memory)
        memory.mirror_graph()
        usual, full = answers(memory), graph.ask(COUNT)
        assert any(usual)
        graph.ask("MATCH (n) DETACH DELETE n")
        assert answers(memory) == usual
        memory.cycle()
        assert graph.ask(COUNT) == full
        graph.ask("MATCH (n:NagoriMemory) WITH n LIMIT 1 DETACH DELETE n")
        assert answers(memory) == usual
        assert memory.mirror_graph().written == 1
        assert memory.mirror_graph(rebuild=True).written == 3
        assert graph.ask(COUNT) == full
    with opened() as memory:  # without any server
        assert answers(memory) == usual


def test_a_kill_between_two_pages_is_completed(
    graph: Graph, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    with opened(graph.url) as memory:
        ids = fill(memory)
        memory.link(ids[2], ids[0], "references")  # the newest is written first, its other end is not there
        monkeypatch.setattr(graph_mirror, "PAGE", 1)
        mirror = memory.runtime.graph
        assert mirror is not None
        real, calls = mirror.put, list[int]()

        def put(*given: Any) -> None:
            if calls:
                raise Killed
            calls.append(1)
            real(*given)

        monkeypatch.setattr(mirror, "put", put)
        with pytest.raises(Killed):
            memory.mirror_graph()
        monkeypatch.setattr(mirror, "put", real)
        assert memory.mirror_graph().written == 2
        assert graph.ask("MATCH (:NagoriMemory)-[r:REFERENCES]->(b) RETURN b.text") == [TOLD[0]]
        assert len(graph.ask("MATCH (m:NagoriMemory) RETURN m.id")) == 3


def test_what_is_erased_leaves_the_graph_and_the_receipt_says_so(graph: Graph, opened: Opener) -> None:
    with opened(graph.url) as memory:
        ids = fill(memory)
        other = memory.with_scope(user="somebody")
        other.remember("The cello of Ms Sato is red.")
        memory.mirror_graph()
        other.mirror_graph()
        receipt = memory.erase(memory.plan_erasure(memory=ids[2]))
        assert [(s.removed, s.left) for s in receipt.steps if s.part == "graph"] == [(1, 0)]
        assert any(each.id == "erase.remains_graph" for each in receipt.remains)
        assert "train" not in graph.words()
        assert "harp" in graph.words()
        receipt = memory.erase(memory.plan_erasure(everything=True))
        [step] = [each for each in receipt.steps if each.part == "graph"]
        assert step.removed > 2
        assert step.left == 0
        assert "harp" not in graph.words()
        assert "cello" in graph.words()


def test_an_erasure_stands_while_the_graph_cannot_be_reached(graph: Graph, opened: Opener) -> None:
    with opened(graph.url) as memory:
        ids = fill(memory)
        memory.mirror_graph()
    with opened("bolt://root@127.0.0.1:1/memories") as memory:
        with pytest.raises(StoreError) as caught:
            memory.erase(memory.plan_erasure(memory=ids[2]))
        assert caught.value.message_id == "error.graph_failed"
        assert arcadedb.PASSWORD not in str(caught.value)
    assert "train" in graph.words()
    with opened(graph.url) as memory:
        [receipt] = memory.resume_erasures()
        assert [(s.removed, s.left) for s in receipt.steps if s.part == "graph"] == [(1, 0)]
    assert "train" not in graph.words()


def test_an_erasure_waits_for_a_run_of_somebody_else(
    graph: Graph, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_mirror, "PATIENCE", 0.0)
    with opened(graph.url) as memory:
        ids = fill(memory)
        memory.mirror_graph()
        owner, held = memory.scope.owner, lease(memory.runtime, memory.scope.owner, "graph")
        with held, pytest.raises(Conflict):
            graph_mirror.clean_graph(memory.runtime, owner)
        memory.forget(ids[0])
        assert graph_mirror.clean_graph(memory.runtime, owner) == 1


def test_what_was_read_before_an_owner_was_erased_does_not_stay(
    graph: Graph, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(graph.url) as memory:
        fill(memory)
        monkeypatch.setattr(memory.runtime.journal, "is_erased", lambda owner: bool(graph.ask(COUNT)[0]))
        with pytest.raises(MemoryErased):
            memory.mirror_graph()
        assert graph.ask(COUNT) == [0]


def test_an_encrypted_memory_has_no_graph(graph: Graph, opened: Opener) -> None:
    with opened(graph.url) as memory:
        fill(memory)
        memory.mirror_graph()
        owner = memory.scope.owner
        (opened.folder / ENCRYPTION_NOTE).write_text("{}")
        with pytest.raises(InvalidInput, match="encrypted"):
            memory.mirror_graph()
        graph_mirror.copy_graph(memory.runtime, owner)
        assert graph.ask(COUNT) == [0]
        assert "graph.refused" in opened.heard
        (opened.folder / ENCRYPTION_NOTE).unlink()


def test_a_server_that_is_away_costs_only_the_copy(opened: Opener) -> None:
    pytest.importorskip("neo4j", reason="neo4j is not installed (requirements/dev.txt)")
    with opened("bolt://root@127.0.0.1:1/memories") as memory:
        fill(memory)
        with pytest.raises(StoreError, match="graph server"):
            memory.mirror_graph()
        memory.cycle()
        assert "graph.copy_failed" in opened.heard
        assert memory.recall("harp")


def test_only_the_user_may_mirror_and_only_where_a_server_is_named(opened: Opener) -> None:
    with opened() as memory:
        with pytest.raises(InvalidInput, match=r"graph\.mirror"):
            memory.mirror_graph()
        with pytest.raises(InvalidInput, match="agent"):
            memory.with_scope(agent="nox").mirror_graph()


def test_strange_texts_are_mirrored(graph: Graph, opened: Opener) -> None:
    with opened(graph.url) as memory:
        texts = ["'}) DETACH DELETE m //", "名残の鐘 🔔 and \\u0000 “quotes”", "$rows {key: 1} `MENTIONS`"]
        for text in texts:
            memory.remember(text)
        memory.mirror_graph()
        assert sorted(graph.ask("MATCH (m:NagoriMemory) RETURN m.text")) == sorted(texts)


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("bolt://host", ("bolt://host", "", None)),
        ("neo4j+s://ann%40x@host:7688/mem", ("neo4j+s://host:7688", "ann@x", "mem")),
        ("bolt+s://a@[::1]:7687/", ("bolt+s://[::1]:7687", "a", None)),
    ],
)
def test_an_address_has_a_user_and_a_database(address: str, parts: tuple[str, str, str | None]) -> None:
    at = parse_graph(address)
    assert (at.uri, at.user, at.database) == parts


@pytest.mark.parametrize(
    "address",
    [
        "http://host",
        "bolt://",
        "bolt://a:secret@host",
        "bolt://h/a/b",
        "bolt://h?x=1",
        "bolt://h:x",
        "bolt://h#a",
    ],
)
def test_what_is_no_address_of_a_graph_server_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_graph(address)
    assert "secret" not in str(caught.value)


def test_the_command_mirrors(
    graph: Graph, opened: Opener, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("NAGORI_GRAPH__MIRROR", graph.url)
    monkeypatch.setenv("NAGORI_DATA_DIR", str(opened.folder))
    monkeypatch.setenv("NAGORI_EMBEDDING__PROVIDER", "none")
    with opened() as memory:
        fill(memory)

    def run(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["nagori", *words])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        return str(capsys.readouterr().out)

    assert json.loads(run("graph", "--json")) == {"memories": 3, "written": 3, "removed": 0}
    assert "3" in run("graph", "--rebuild")
