"""What is erased on one node leaves the others, too: rows, bytes and files, even if nobody asks there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.nodes.test_nodes import Open, node  # noqa: F401 - a fixture

from nagori import Nagori
from nagori.errors import MemoryErased
from nagori.services.follow_remote_erasures import follow_erasures

CANARY = "canary-7731"


def bytes_left(memory: Nagori) -> list[str]:
    """Files of a node that hold the canary."""
    folder = memory.runtime.data_dir
    return [
        path.name for path in folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()
    ]


def fill(one: Nagori, other: Nagori) -> None:
    one.remember(f"The locker has the code {CANARY}.")
    one.turn(f"My locker has the code {CANARY}, too.", session="s")
    one.process()
    assert other.recall("locker code")
    assert bytes_left(other)


def erase_all(memory: Nagori) -> None:
    memory.erase(memory.plan_erasure(everything=True))


def test_an_owner_erased_on_one_node_leaves_the_fold_of_another(node: Open) -> None:  # noqa: F811
    one, other = node(), node()
    fill(one, other)
    other.with_scope(user="neighbour").remember("The neighbour has a kettle.")
    erase_all(one)
    assert follow_erasures(other.runtime) == 1
    assert other.runtime.store.known_owners() == [other.with_scope(user="neighbour").scope.owner]
    assert bytes_left(other) == []
    assert other.with_scope(user="neighbour").recall("kettle")
    with pytest.raises(MemoryErased):
        other.remember("More.")


def test_asking_the_other_node_for_an_erased_owner_removes_its_rows(node: Open) -> None:  # noqa: F811
    one, other = node(), node()
    fill(one, other)
    erase_all(one)
    with pytest.raises(MemoryErased):
        other.recall("locker code")
    assert other.runtime.store.known_owners() == []
    assert follow_erasures(other.runtime) == 0
    assert bytes_left(other) == []


@pytest.mark.parametrize("more", [1, 30])
def test_an_owner_who_was_erased_and_reopened_elsewhere_begins_again(node: Open, more: int) -> None:  # noqa: F811
    """The new journal may be shorter or longer than what the other node has of the old one."""
    one, other = node(), node()
    fill(one, other)
    for _ in range(5):  # so that it has an index in memory, too
        assert CANARY in other.recall("locker code", mark=False)[0].text
    erase_all(one)
    one.reopen()
    new = [one.remember(f"New life number {number}.").id for number in range(more)]
    assert {memory.id for memory in other.list(limit=100)} == set(new)
    assert not any(CANARY in found.text for found in other.recall("locker code", min_confidence=0.0))
    assert other.remember("And the other node writes.").id in {memory.id for memory in one.list(limit=100)}
    follow_erasures(other.runtime)
    assert bytes_left(other) == []
    assert other.verify().sound


def test_an_erased_part_leaves_the_other_node_though_nobody_asks_there(node: Open) -> None:  # noqa: F811
    one, other = node(), node()
    kept = one.remember("The kettle is green.")
    gone = one.remember(f"The locker has the code {CANARY}.")
    assert len(other.list()) == 2
    one.erase(one.plan_erasure(memory=gone.id))
    assert bytes_left(other)
    assert follow_erasures(other.runtime) == 0
    assert [memory.id for memory in other.runtime.store.find(other.scope)] == [kept.id]
    assert bytes_left(other) == []


def test_the_receipt_says_what_other_nodes_hold_for_how_long(node: Open, tmp_path: Path) -> None:  # noqa: F811
    one = node()
    one.remember(f"The locker has the code {CANARY}.")
    receipt = one.erase(one.plan_erasure(everything=True))
    assert "erase.remains_nodes" in [notice.id for notice in receipt.remains]
    with Nagori.open(tmp_path / "files", embedder=None) as files:
        files.remember(f"The locker has the code {CANARY}.")
        receipt = files.erase(files.plan_erasure(everything=True))
        assert "erase.remains_nodes" not in [notice.id for notice in receipt.remains]
