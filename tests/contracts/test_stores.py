"""The contract, on both engines."""

from pathlib import Path

import pytest

from nagori.protocols import Store
from nagori.stores import _search, _together
from nagori.stores.memory import MemoryStore
from nagori.stores.sqlite import SqliteStore
from nagori.testing.contract import ME, StoreContract, memory, put, vector


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return SqliteStore(tmp_path / "nagori.db")


class TestSqliteStoreWithShortlist(StoreContract):
    """The same, with the bit shortlist in use from the first vector on."""

    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
        monkeypatch.setattr(_search, "MANY", 1)
        return SqliteStore(tmp_path / "nagori.db")


@pytest.mark.parametrize("first", ["look", "commit"])
def test_a_writer_sees_what_another_wrote_since_he_looked(tmp_path: Path, first: str) -> None:
    mine, other = SqliteStore(tmp_path / "n.db"), SqliteStore(tmp_path / "n.db")
    young = memory(content="young words")
    put(mine, young)
    assert mine.look(ME.space, ["mem_a"]) == {"mem_a": young}
    old = young.but(texts=memory(content="old words").texts)
    put(other, old)
    if first == "look":
        assert mine.look(ME.space, ["mem_a"]) == {"mem_a": old}
    after = old.but(recalls=3)
    put(mine, after)  # what is not written again must be what the other one wrote
    assert mine.look(ME.space, ["mem_a"]) == {"mem_a": after}
    assert SqliteStore(tmp_path / "n.db").look(ME.space, ["mem_a"]) == {"mem_a": after}
    assert [hit.id for hit in mine.match_text(ME, ["old"], 5)] == ["mem_a"]
    assert mine.match_text(ME, ["young"], 5) == []


def test_a_write_that_was_taken_back_was_never_seen(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "n.db")
    kept = memory(content="kept")
    put(store, kept)

    def renew() -> None:
        with store.renewed(ME.space):
            put(store, memory(content="never", version=9))
            assert store.look(ME.space, ["mem_a"])["mem_a"].version == 9
            raise RuntimeError("the light went out")

    with pytest.raises(RuntimeError):
        renew()
    assert store.look(ME.space, ["mem_a"]) == {"mem_a": kept}


def test_words_that_were_edited_away_leave_no_trace_in_the_file(tmp_path: Path) -> None:
    """Nor does what faded before, once the store is compacted."""
    store = SqliteStore(tmp_path / "n.db")
    full = memory("mem_b", content="zanzibar plumcake")
    put(store, memory(content="quokka"), full)
    put(store, memory(content="walrus", version=2))
    short = memory("mem_b", content="plumcake").texts[1]  # type: ignore[index]
    put(store, full.but(level=2, texts=full.texts | {2: short}))
    put(store, memory("mem_b", content="marzipan", version=3))
    store.compact()
    store.close()
    left = (tmp_path / "n.db").read_bytes()
    assert b"walrus" in left
    assert [word for word in (b"quokka", b"zanzibar", b"plumcake") if word in left] == []


def test_without_numpy_many_vectors_go_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_search, "MANY", 1)
    monkeypatch.setattr(_together, "find_spec", lambda name: None)
    monkeypatch.setattr(_together, "nearest_keys", None)
    store = SqliteStore(tmp_path / "n.db")
    put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
    near = store.nearest_many(ME, [vector(1, 0, 0), vector(0, 1, 0)] * 20, "m3", 5, 0.5)
    assert [[hit.id for hit in hits] for hits in near] == [["mem_a"], []] * 20
