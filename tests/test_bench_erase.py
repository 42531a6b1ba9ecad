"""The benchmark of an erasure: the store that it makes, and how it tells who waited for whom."""

from pathlib import Path

import apsw
import pytest
from bench import erase

from nagori import Filter, Nagori, Scope
from nagori.stores.sqlite import SqliteStore


def test_a_store_with_copied_users_is_sound_and_one_of_them_is_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "FILLED", 20)
    folder = tmp_path / "data"
    erase.prepare(folder, 10, 70)
    store = SqliteStore(folder / "nagori.db")
    assert store.check() == []
    everything = Filter(archived=True, forgotten=True)
    sizes = {
        owner[1]: len(store.find(Scope(user=owner[1]), everything, limit=100))
        for owner in store.known_owners()
    }
    store.close()
    assert sizes == {"gone": 10, "rest": 20, "rest1": 20, "rest2": 20}
    watch = erase.Watch()
    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, watch.attach])
    steps, begin, end = erase.erase(folder)
    assert [name for name, _ in steps][-1] == "search"
    assert {hold.work for hold in watch.holds} == {"transaction", "merge", "checkpoint"}
    assert all(begin <= hold.begin <= hold.end <= end for hold in watch.holds[1:])
    with Nagori.open(folder, scope=Scope(user="rest"), embedder=None, llm=None) as memory:
        assert len(memory.list(everything, limit=100)) == 20


def test_only_the_time_in_which_the_erasure_held_the_database_counts() -> None:
    holds = [erase.Hold("transaction", at, at + 1.0, 0.5) for at in (10.0, 12.0, 14.0)]
    assert erase.held_within(holds, 10.5, 12.25) == 0.75
    assert erase.held_within(holds, 11.25, 11.75) == 0.0
    assert erase.held_within(holds, 0.0, 20.0) == 3.0
    assert erase.held_within([], 0.0, 20.0) == 0.0
