"""Several nodes over one journal in PostgreSQL: what one keeps all have, and nobody sees a foreign tenant."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.postgres import Server

from nagori import Nagori, Scope
from nagori.config import Config
from nagori.core.events import Event
from nagori.errors import InvalidConfig, InvalidInput, JournalError, NagoriError
from nagori.services.redact_journal_and_compact_store import redact_purged
from nagori.testing import FrozenClock, WordEmbedder

Open = Callable[..., Nagori]

WRITER = """
import sys
from nagori import Nagori
from nagori.testing import WordEmbedder
with Nagori.open(sys.argv[1], embedder=WordEmbedder()) as memory:
    for number in range(10_000):
        print(memory.remember(f"{sys.argv[2]} {number}").id, flush=True)
"""


@pytest.fixture
def node(postgres: Server, tmp_path: Path) -> Iterator[Open]:
    """Open nodes, each with a folder of its own; they are closed at the end."""
    opened: list[Nagori] = []

    def open_node(store: str = "sqlite", **more: object) -> Nagori:
        address = postgres.url(store=store, folder=str(tmp_path / f"node-{len(opened)}"))
        opened.append(Nagori.open(address, **{"embedder": WordEmbedder(), **more}))  # type: ignore[arg-type]
        return opened[-1]

    yield open_node
    for each in opened:
        each.close()


def digests(memory: Nagori) -> list[str]:
    return sorted(line for line in memory.export() if line.startswith('{"memory"'))


# --- one truth ------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_what_one_node_keeps_another_recalls(node: Open, store: str) -> None:
    one, other = node(store), node(store)
    kept = one.remember("The staging server moved to port 8443.")
    assert [found.id for found in other.recall("Where is staging?")] == [kept.id]
    other.edit(kept.id, content="The staging server moved to port 9000.")
    assert "9000" in one.show(kept.id).text.content
    other.forget(kept.id)
    assert one.recall("Where is staging?") == []
    assert digests(one) == digests(other)


def test_nodes_of_both_kinds_and_an_empty_one_agree(node: Open) -> None:
    one, other = node("sqlite"), node("postgres")
    for number in range(6):
        (one if number % 2 else other).remember(f"Drawer {number} holds the spare keys of room {number}.")
    one.cycle()
    late = node("sqlite")
    assert len(digests(late)) == 6
    assert digests(one) == digests(other) == digests(late)
    assert [each.verify().sound for each in (one, other, late)] == [True] * 3


def test_nodes_that_write_at_the_same_time_lose_nothing(node: Open) -> None:
    nodes = [node(), node()]

    def write(which: int) -> None:
        for number in range(30):
            nodes[which].remember(f"Node {which} noted number {number}.")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, range(2)))
    assert len(digests(nodes[0])) == 60
    assert digests(nodes[0]) == digests(nodes[1])
    assert nodes[0].verify().sound


def test_more_threads_than_connections_take_turns(node: Open) -> None:
    memory = node("postgres")
    for database in (memory.runtime.journal.database, memory.runtime.store.database):  # type: ignore[attr-defined]
        database._connections = 2
        database._begin()

    def write(number: int) -> None:
        memory.with_scope(user=f"user {number % 3}").remember(f"Thread {number} was here.")

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(write, range(24)))
    assert sum(len(digests(memory.with_scope(user=f"user {n}"))) for n in range(3)) == 24


def test_a_text_is_embedded_once_for_all_nodes(node: Open) -> None:
    class Counting(WordEmbedder):
        texts = 0

        def embed_passages(self, texts: object) -> list[bytes]:
            Counting.texts += len(texts)  # type: ignore[arg-type]
            return super().embed_passages(texts)  # type: ignore[arg-type]

    one, other = node(embedder=Counting()), node(embedder=Counting())
    kept = one.remember("The ferry leaves at seven.")
    other.recall("When does the ferry leave?")
    assert Counting.texts == 1
    vectors = [each.runtime.vectors.get(kept_owner(each), "words-64", [kept.digest]) for each in (one, other)]
    assert vectors[0] == vectors[1] != {}


def kept_owner(memory: Nagori) -> tuple[str, str]:
    return memory.scope.owner


def test_vectors_of_words_that_are_gone_are_gone_from_the_database(node: Open, postgres: Server) -> None:
    one, other = node(), node()
    owner = one.scope.owner
    kept = one.remember("The secret is under the mat.")
    one.edit(kept.id, content="There is nothing under the mat.")
    assert postgres.ask("SELECT count(*) FROM node_vector") == [(1,)]
    one.remember("The spare key hangs in the shed.")
    other.runtime.ledger.write(owner, lambda: [Event("deleted", other.runtime.clock.now(), {}, kept.id)])
    redact_purged(other.runtime, owner)
    assert postgres.ask("SELECT count(*) FROM node_vector") == [(1,)]
    assert postgres.ask("SELECT count(*) FROM journal WHERE line LIKE '%%under the mat%%'") == [(0,)]


def test_one_cycle_is_not_run_by_two_nodes(node: Open) -> None:
    one, other = node(), node()
    owner = one.scope.owner
    assert one.runtime.store.lease(owner, "cycle", "one", 1.0, 100.0) is None
    assert other.runtime.store.lease(owner, "cycle", "other", 2.0, 100.0) == "one"
    assert other.runtime.store.lease(owner, "cycle", "other", 101.0, 200.0) is None


def test_a_killed_node_blocks_nobody_and_loses_nothing(node: Open, postgres: Server, tmp_path: Path) -> None:
    survivor, acknowledged = node(), []
    for round in range(3):
        address = postgres.url(folder=str(tmp_path / f"victim-{round}"))
        command = [sys.executable, "-c", WRITER, address, f"round {round} note"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as victim:
            assert victim.stdout is not None
            acknowledged += [victim.stdout.readline().strip() for _ in range(5 + round)]
            victim.kill()
            acknowledged += [line.strip() for line in victim.stdout if line.endswith("\n")]
        survivor.remember(f"The survivor went on after round {round}.")
    assert all(acknowledged)
    assert [survivor.show(id).id for id in acknowledged] == acknowledged
    assert survivor.verify().sound


def test_a_server_that_is_killed_loses_nothing_and_nodes_go_on(node: Open, postgres: Server) -> None:
    one, other = node("sqlite"), node("postgres")
    kept = [one.remember("Before the crash, the blue valve was shut.").id]
    kept.append(other.remember("Before the crash, the red valve was open.").id)
    postgres.kill()
    for each in (one, other):
        with pytest.raises(NagoriError):
            each.remember("During the crash nobody writes.")
    postgres.start()
    kept.append(one.remember("After the crash, the blue valve was opened.").id)
    kept.append(other.remember("After the crash, the red valve was shut.").id)
    for each in (one, other):
        assert [each.show(id).id for id in kept] == kept
        assert len(digests(each)) == 4


# --- tenants --------------------------------------------------------------------------------------


def test_a_session_without_a_tenant_sees_nothing_and_cannot_write(node: Open, postgres: Server) -> None:
    import psycopg

    node("postgres").remember("The canary sings at dawn.")
    with psycopg.connect(postgres.conninfo, autocommit=True) as db:
        db.execute("SET search_path TO nagori, public")
        assert db.execute("SELECT count(*) FROM journal").fetchall() == [(1,)]  # a superuser sees all
        db.execute("SET ROLE nagori_node")
        for table in ("journal", "journal_owner", "work", "owner", "memory", "text", "embedding", "posting"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchall() == [(0,)], table
        db.execute("SET nagori.tenant = 'elsewhere'")
        assert db.execute("SELECT count(*) FROM journal").fetchall() == [(0,)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("INSERT INTO journal VALUES ('local', 'me', 99, 'forged')")
        db.execute("SET nagori.every_tenant = 'on'")
        assert db.execute("SELECT count(*) FROM journal_owner").fetchall() == [(1,)]
        for table in ("journal", "memory", "text", "embedding", "posting", "turn"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchall() == [(0,)], table


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_no_canary_crosses_tenants(node: Open, store: str) -> None:
    memory = node(store)
    homes = [Scope(tenant=tenant, user=user) for tenant in ("a", "b", "a/b", "%") for user in ("me", "b/me")]
    for number, scope in enumerate(homes):
        memory.with_scope(scope).remember(f"The canary number {number} sings.")
    for number, scope in enumerate(homes):
        there = memory.with_scope(scope)
        assert [found.text for found in there.recall("canary sings", 50)] == [
            f"The canary number {number} sings."
        ]
        assert len(digests(there)) == 1
        assert there.status().counts.total == 1


def test_an_ordinary_login_is_bound_even_if_it_owns_the_tables(postgres: Server, tmp_path: Path) -> None:
    """No superuser and no right to create roles: the policies are forced upon the owner of the tables."""
    postgres.ask("DROP SCHEMA IF EXISTS plain CASCADE")
    if not postgres.ask("SELECT 1 FROM pg_roles WHERE rolname = 'plain_login'"):
        postgres.ask("CREATE ROLE plain_login LOGIN")
    postgres.ask("CREATE SCHEMA plain AUTHORIZATION plain_login")
    address = postgres.url(schema="plain", folder=str(tmp_path / "node")).replace(
        "user=postgres", "user=plain_login"
    )
    with Nagori.open(address, embedder=None) as memory:
        memory.remember("The canary sings at dawn.")
        assert len(memory.recall("canary")) == 1
        with memory.runtime.journal.database.session("elsewhere") as session:  # type: ignore[attr-defined]
            assert session.ask("SELECT current_user") == [("plain_login",)]
            assert session.ask("SELECT count(*) FROM journal") == [(0,)]
    postgres.ask("DROP SCHEMA plain CASCADE")


# --- addresses ------------------------------------------------------------------------------------

SECRET = "hunter2-Zq"


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://me:{SECRET}@127.0.0.1:1/nobody",
        f"postgresql://me:{SECRET}@x@127.0.0.1:1/nobody",
        f"postgresql://me:a/{SECRET}@127.0.0.1:1/nobody",
        f"postgresql://me:{SECRET}#@127.0.0.1:1/nobody",
        f"postgresql://me:{SECRET}?@127.0.0.1:1/nobody",
        f"postgresql://me:{SECRET}@127.0.0.1:port/nobody",
        f"postgresql://127.0.0.1:1/nobody?password={SECRET}",
        f"postgresql://127.0.0.1:1/nobody?passwort={SECRET}",
        f"mysql://me:{SECRET}@127.0.0.1/nobody",
    ],
)
def test_no_error_repeats_a_password(address: str, tmp_path: Path) -> None:
    with pytest.raises((JournalError, InvalidInput)) as caught:
        Nagori.open(address)
    fault: BaseException | None = caught.value
    while fault is not None:  # what a traceback would print
        if isinstance(fault, NagoriError):
            assert SECRET not in f"{fault} {fault.values} {fault.in_language('ja')}"
        if fault.__cause__ is None and fault.__suppress_context__:
            break
        assert SECRET not in str(fault)
        fault = fault.__cause__ or fault.__context__


def test_troubles_are_told_by_what_to_do(postgres: Server, tmp_path: Path) -> None:
    def message_of(address: str) -> str:
        with pytest.raises(NagoriError) as caught:
            Nagori.open(f"{address}&folder={tmp_path}")
        return caught.value.message_id

    assert message_of("postgresql:///nobody?host=/tmp/nowhere") == "error.postgres_away"
    assert message_of(postgres.url().replace("///postgres", "///nobody")) == "error.postgres_database"
    assert message_of(postgres.url().replace("user=postgres", "user=nobody")) == "error.postgres_login"
    assert message_of(postgres.url(store="oracle")) == "error.postgres_store"
    assert message_of(postgres.url(schema="a-b")) == "error.postgres_schema"


def test_a_missing_driver_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InvalidInput, match=r"nagori\[postgres\]"):
        Nagori.open("postgresql://127.0.0.1:1/nobody")


def test_a_configured_database_has_no_password() -> None:
    assert Config().evolve({"general.database": "postgresql://me@host/db"}).general.database
    for bad in (f"postgresql://me:{SECRET}@host/db", f"postgresql://host/db?password={SECRET}", "/srv/data"):
        with pytest.raises(InvalidConfig) as caught:
            Config().evolve({"general.database": bad})
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_database_is_backed_up_to_a_file_and_examined(node: Open, store: str, tmp_path: Path) -> None:
    memory = node(store)
    memory.remember("The kettle is green.")
    memory.backup(tmp_path / "x.tar")
    assert (tmp_path / "x.tar").stat().st_size
    assert {finding.state for finding in memory.doctor()} == {"ok"}


def test_a_newer_schema_is_refused(node: Open, postgres: Server) -> None:
    node()
    postgres.ask("UPDATE nagori_schema SET version = 99 WHERE part = 'journal'")
    try:
        with pytest.raises(NagoriError) as caught:
            node()
        assert caught.value.message_id == "error.schema_too_new"
    finally:
        postgres.ask("UPDATE nagori_schema SET version = 1 WHERE part = 'journal'")


def test_vectors_of_any_dimension_are_kept(node: Open, clock: FrozenClock) -> None:
    class Wide(WordEmbedder):
        def __init__(self, size: int) -> None:
            super().__init__(size)

    for size in (3, 1536, 4100):
        memory = node("postgres", embedder=Wide(size)).with_scope(user=f"with {size}")
        memory.remember_many(["The kettle is green.", "The ferry leaves at seven."])
        assert memory.recall("kettle")[0].text == "The kettle is green."
        assert memory.runtime.vectors.models(memory.scope.owner).counts == {f"words-{size}": 2}
