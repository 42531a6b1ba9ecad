"""A node that saw the journal last writes in one round trip; whoever is too late decides again."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.nodes.test_nodes import digests
from tests.postgres import Server

from nagori import Nagori, Scope
from nagori.core.events import Event
from nagori.core.storage_types import Vector
from nagori.errors import Conflict, JournalError, MemoryErased
from nagori.journals.postgres import PostgresJournal
from nagori.postgres import Session
from nagori.stores.sqlite_replica import NodeStore
from nagori.testing import WordEmbedder

Open = Callable[[], Nagori]
ME = Scope().owner


@pytest.fixture
def node(postgres: Server, tmp_path: Path) -> Iterator[Open]:
    opened: list[Nagori] = []

    def open_node() -> Nagori:
        address = postgres.url(folder=str(tmp_path / f"node-{len(opened)}"))
        opened.append(Nagori.open(address, embedder=WordEmbedder()))
        return opened[-1]

    yield open_node
    for each in opened:
        each.close()


def journal_of(memory: Nagori) -> PostgresJournal:
    journal = memory.runtime.journal
    assert isinstance(journal, PostgresJournal)
    return journal


def test_one_node_writes_a_memory_with_one_statement(
    node: Open, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = node()
    memory.remember("The lamp is in the hall.")
    sent, execute = [], Session.execute

    def count(self: Session, sql: str, *values: object) -> object:
        sent.append(sql)
        return execute(self, sql, *values)  # type: ignore[arg-type]

    monkeypatch.setattr(Session, "execute", count)
    kept = memory.remember("The kettle is in the kitchen.")
    assert len(sent) == 1
    monkeypatch.undo()
    assert postgres.ask("SELECT count(*) FROM node_vector") == [(2,)]
    assert [found.id for found in node().recall("Where is the kettle?", 1)] == [kept.id]


def test_what_was_decided_from_an_older_state_does_not_count(node: Open) -> None:
    one, other = node(), node()
    one.remember("The lamp is in the hall.")
    other.remember("The kettle is in the kitchen.")
    new = one.remember("The ladder is in the shed.")  # the other node has not seen it
    assert other.edit(new.id, content="The ladder is in the cellar.").version == 2
    one.forget(new.id)
    other.undo(new.id)
    assert digests(one) == digests(other)


def test_nodes_in_turn_and_at_once_agree_on_every_number(node: Open) -> None:
    nodes = [node(), node()]
    for number in range(6):
        nodes[number % 2].remember(f"Drawer {number} holds the keys of room {number}.")

    def write(which: int) -> None:
        for number in range(15):
            nodes[which % 2].remember(f"Writer {which} put box {number} on shelf {number * 7}.")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert digests(nodes[0]) == digests(nodes[1])
    assert len(digests(nodes[0])) == 66
    verdict = journal_of(nodes[0]).verify(ME)
    assert (verdict.sound, verdict.events) == (True, journal_of(nodes[1]).last_seq(ME))


def test_it_waits_for_whoever_holds_the_lock(node: Open) -> None:
    memory = node()
    memory.remember("The lamp is in the hall.")
    journal = journal_of(memory)
    expected, event = journal.expected_position(ME), Event("state_changed", memory.runtime.clock.now(), {})
    assert expected is not None
    holder = journal_of(node())
    done = threading.Event()

    def write() -> None:
        memory.remember("The kettle is in the kitchen.")
        done.set()

    with holder.locked(ME) as last:
        with pytest.raises(Conflict):
            journal.append_expected(ME, [event], expected)
        writer = threading.Thread(target=write)
        writer.start()
        assert not done.wait(0.3)
        assert holder.last_seq(ME) == last
    writer.join(20)
    assert done.is_set()
    assert holder.last_seq(ME) == last + 1


def test_nothing_is_added_to_an_owner_who_is_erased_meanwhile(node: Open, postgres: Server) -> None:
    one, other = node(), node()
    kept = one.remember("Wendelin repaired the boiler.")
    journal = journal_of(one)
    expected = journal.expected_position(ME)
    assert expected is not None
    other.erase(other.plan_erasure(everything=True))
    event = Event("forgotten", one.runtime.clock.now(), {}, kept.id)
    with pytest.raises(Conflict):
        journal.append_expected(ME, [event], expected)
    store = one.runtime.store
    assert isinstance(store, NodeStore)
    store.shared.put(ME, {kept.id: Vector("a model", kept.digest, b"\0" * 16)})
    with pytest.raises((MemoryErased, JournalError)):
        one.remember("Wendelin came again.")
    assert postgres.ask("SELECT count(*) FROM journal") == [(0,)]
    assert postgres.ask("SELECT count(*) FROM node_vector") == [(0,)]


def test_an_erasure_that_is_under_way_takes_along_what_is_added_beside_it(
    node: Open, postgres: Server
) -> None:
    """Deleting starts with the row of the owner; a writer without the lock waits there and adds nothing."""
    one = node()
    one.remember("Wendelin repaired the boiler.")
    journal = journal_of(one)
    expected = journal.expected_position(ME)
    assert expected is not None
    event = Event("state_changed", one.runtime.clock.now(), {"key": "k", "value": 1})
    results: list[object] = []

    def write() -> None:
        try:
            results.append(journal.append_expected(ME, [event], expected))
        except Conflict as refused:
            results.append(refused)

    eraser = journal_of(node())
    with eraser.database.session(ME[0]) as session:
        with session.raw.transaction():
            session.execute("DELETE FROM journal_owner WHERE tenant = ? AND user_id = ?", ME)
            writer = threading.Thread(target=write)
            writer.start()
            writer.join(0.3)
            assert not results
            session.execute("DELETE FROM journal WHERE tenant = ? AND user_id = ?", ME)
        writer.join(20)
    assert isinstance(results[0], Conflict)
    assert postgres.ask("SELECT count(*) FROM journal") == [(0,)]
