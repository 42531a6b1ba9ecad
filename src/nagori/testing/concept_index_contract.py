"""Contract suite for concept indexes; see `store_contract` for how an engine joins."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from nagori.core.model import Filter, Level, Memory, Privacy, Scope, Text
from nagori.core.spreading_activation import MemoryConcepts
from nagori.core.storage_types import Owner
from nagori.errors import InvalidInput
from nagori.protocols import Store
from nagori.stores.memory import MemoryStore
from nagori.testing.random_memories import (
    ASKERS,
    FILTERS,
    ME,
    OTHER,
    live,
    memory,
    put,
    random_vector,
    vector,
)

MOST, ANY_HUB = 100, 10_000


def index(store: Store, owner: Owner = ME.owner) -> int:
    """Every word of a memory is a concept; the first counts most."""
    waiting = store.concepts.missing(owner, 1_000)
    return store.concepts.put(owner, {each.id: concepts_of(each) for each in waiting})


def concepts_of(memory: Memory) -> MemoryConcepts:
    words = list(dict.fromkeys(memory.searchable.split()))
    return MemoryConcepts(memory.digest, {word: 1 / (1 + place) for place, word in enumerate(words)})


def names(store: Store, id: str = "mem_a", scope: Scope = ME) -> list[str]:
    return sorted(each.name for each in store.concepts.concepts_of(scope, {id: 1.0}, MOST, ANY_HUB))


class ConceptIndexContract:
    """The promises. Override the fixture `store`: the index is its `concepts`."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        raise NotImplementedError("give your engine's store here")

    # filling

    def test_every_memory_is_missing_until_its_concepts_are_put(self, store: Store) -> None:
        put(store, memory("mem_b", "blue kettle"), memory("mem_a", "green kettle"))
        assert [each.id for each in store.concepts.missing(ME.owner, 9)] == ["mem_a", "mem_b"]
        assert [each.id for each in store.concepts.missing(ME.owner, 1)] == ["mem_a"]
        assert store.concepts.missing(OTHER.owner, 9) == []
        assert index(store) == 2
        assert store.concepts.missing(ME.owner, 9) == []
        assert store.concepts.count(ME.owner) == 3
        assert store.concepts.count(OTHER.owner) == 0
        assert store.concepts.counts(ME.owner, ["kettle", "blue", "red"]) == {"kettle": 2, "blue": 1}

    def test_concepts_of_a_text_that_changed_meanwhile_are_skipped(self, store: Store) -> None:
        before = memory("mem_a", "green kettle")
        put(store, before)
        put(store, memory("mem_a", "blue kettle"))
        assert (
            store.concepts.put(ME.owner, {"mem_a": concepts_of(before), "nobody": concepts_of(before)}) == 0
        )
        assert store.concepts.count(ME.owner) == 0

    def test_putting_again_replaces_what_was_put(self, store: Store) -> None:
        one = memory("mem_a", "green kettle")
        put(store, one)
        index(store)
        assert store.concepts.put(ME.owner, {"mem_a": MemoryConcepts(one.digest, {"teapot": 2.0})}) == 1
        assert names(store) == ["teapot"]
        assert store.concepts.count(ME.owner) == 1

    def test_new_words_make_a_memory_missing_again(self, store: Store) -> None:
        put(store, memory("mem_a", "green kettle"), memory("mem_b", "green tea"))
        index(store)
        put(store, memory("mem_a", "blue kettle"))
        assert names(store) == []
        assert [each.id for each in store.concepts.missing(ME.owner, 9)] == ["mem_a"]
        [(name, count, _)] = store.concepts.concepts_of(ME, {"mem_b": 1.0}, 1, ANY_HUB)
        assert (name, count) == ("green", 1)

    def test_a_change_without_other_words_keeps_the_concepts(self, store: Store) -> None:
        one = memory("mem_a", "green kettle")
        put(store, one)
        index(store)
        put(store, one.evolve(recalls=3))
        assert store.concepts.missing(ME.owner, 9) == []

    def test_a_rebuild_starts_with_an_empty_index(self, store: Store) -> None:
        put(store, memory("mem_a", "green kettle"))
        index(store)
        with store.rebuilding(ME.owner):
            put(store, memory("mem_a", "green kettle"))
        assert [each.id for each in store.concepts.missing(ME.owner, 9)] == ["mem_a"]
        assert store.concepts.count(ME.owner) == 0

    # spreading

    def test_activation_passes_over_shared_concepts(self, store: Store) -> None:
        put(store, memory("mem_a", "kettle green"), memory("mem_b", "kettle tea"), memory("mem_c", "bread"))
        index(store)
        active = store.concepts.concepts_of(ME, {"mem_a": 1.0, "mem_b": 0.5}, MOST, ANY_HUB)
        assert {each.name: (each.memories, each.activation) for each in active} == {
            "kettle": (2, 1.0),
            "green": (1, 0.5),
            "tea": (1, 0.25),
        }
        assert [each.name for each in active] == ["green", "kettle", "tea"]  # for their number of memories
        found = store.concepts.memories_of(ME, {"kettle": 2.0, "tea": 1.0, "nothing": 9.0}, MOST)
        assert list(found.items()) == [("mem_b", 3.0), ("mem_a", 2.0)]
        assert list(store.concepts.memories_of(ME, {"kettle": 2.0, "tea": 1.0}, 1)) == ["mem_b"]
        assert store.concepts.memories_of(ME, {}, MOST) == {}
        assert store.concepts.concepts_of(ME, {}, MOST, ANY_HUB) == []

    def test_a_hub_is_left_out(self, store: Store) -> None:
        put(store, *(memory(f"mem_{n}", f"kettle thing{n}") for n in range(4)))
        index(store)
        assert [each.name for each in store.concepts.concepts_of(ME, {"mem_1": 1.0}, MOST, 3)] == ["thing1"]
        assert len(store.concepts.concepts_of(ME, {"mem_1": 1.0}, MOST, 4)) == 2

    def test_nobody_else_is_reached(self, store: Store) -> None:
        put(store, memory("mem_a", "green kettle"))
        put(store, memory("mem_b", "green kettle"), scope=OTHER)
        index(store)
        index(store, OTHER.owner)
        assert list(store.concepts.memories_of(ME, {"kettle": 1.0}, MOST)) == ["mem_a"]
        assert store.concepts.concepts_of(ME, {"mem_b": 1.0}, MOST, ANY_HUB) == []

    def test_what_a_scope_may_not_see_neither_passes_nor_receives(self, store: Store) -> None:
        private = memory("mem_b", "green tea", privacy=Privacy.PRIVATE, agent="b")
        put(store, memory("mem_a", "green kettle"), private, memory("mem_c", "green cup", project="q"))
        index(store)
        agent = Scope(user="me", agent="a", project="p")
        assert list(store.concepts.memories_of(agent, {"green": 1.0}, MOST)) == ["mem_a"]
        assert names(store, "mem_b", agent) == []
        assert names(store, "mem_c", agent) == []

    def test_a_filter_narrows_what_is_reached(self, store: Store) -> None:
        texts = {Level.FULL: Text("", "green tea"), Level.ARCHIVED: Text("", "green tea")}
        put(store, memory("mem_a", "green kettle"), memory("mem_b", level=Level.ARCHIVED, texts=texts))
        index(store)
        assert list(store.concepts.memories_of(ME, {"green": 1.0}, MOST)) == ["mem_a"]
        archived = store.concepts.memories_of(ME, {"green": 1.0}, MOST, Filter(archived=True))
        assert list(archived) == ["mem_a", "mem_b"]

    def test_mentions_are_paged_by_memory(self, store: Store) -> None:
        put(store, memory("mem_a", "kettle green"), memory("mem_b", "tea"), memory("mem_c", "bread"))
        index(store)
        assert store.concepts.mentions(ME.owner, "", 2) == [
            ("mem_a", "green", 0.5),
            ("mem_a", "kettle", 1.0),
            ("mem_b", "tea", 1.0),
        ]
        assert store.concepts.mentions(ME.owner, "mem_b", 9) == [("mem_c", "bread", 1.0)]

    # vectors

    def test_the_nearest_concepts_come_first(self, store: Store) -> None:
        put(store, memory("mem_a", "kettle tea"), memory("mem_b", "tea bread"))
        index(store)
        assert store.concepts.without_vector(ME.owner, "m", 9) == ["tea", "bread", "kettle"]
        given = {"tea": vector(1, 0), "kettle": vector(1, 1), "bread": vector(0, 1), "unknown": vector(1, 0)}
        assert store.concepts.put_vectors(ME.owner, "m", given) == 3
        assert store.concepts.without_vector(ME.owner, "m", 9) == []
        assert store.concepts.without_vector(ME.owner, "another", 1) == ["tea"]
        near = store.concepts.nearest(ME.owner, vector(1, 0), "m", 2)
        assert list(near.cosines) == ["tea", "kettle"]
        assert near.cosines["kettle"] == pytest.approx(0.5**0.5, abs=1e-6)
        assert near.usual == pytest.approx(((1 + 0.5**0.5) / 3, 0.4197), abs=1e-3)
        assert store.concepts.vectors(ME.owner, "m", ["tea", "nothing"]) == {"tea": vector(1, 0)}
        assert store.concepts.nearest(ME.owner, vector(1, 0), "another", 2).cosines == {}
        assert store.concepts.nearest(OTHER.owner, vector(1, 0), "m", 2).cosines == {}

    def test_a_vector_that_is_none_is_refused(self, store: Store) -> None:
        put(store, memory("mem_a", "kettle"))
        index(store)
        with pytest.raises(InvalidInput):
            store.concepts.put_vectors(ME.owner, "m", {"kettle": b"odd"})

    # removing

    def test_erased_memories_leave_no_concept(self, store: Store) -> None:
        put(store, memory("mem_a", "green kettle"), memory("mem_b", "green tea"))
        index(store)
        put(store, erased=["mem_a"])
        assert store.concepts.count(ME.owner) == 2
        assert list(store.concepts.memories_of(ME, {"kettle": 1.0, "green": 1.0}, MOST)) == ["mem_b"]

    def test_an_erased_owner_leaves_no_concept(self, store: Store) -> None:
        put(store, memory("mem_a", "green kettle"))
        put(store, memory("mem_b", "green tea"), scope=OTHER)
        index(store)
        index(store, OTHER.owner)
        while store.erase(ME.owner, 1):
            pass
        assert store.concepts.count(ME.owner) == 0
        assert store.concepts.count(OTHER.owner) == 2

    @pytest.mark.parametrize("seed", range(4))
    def test_concepts_in_random_histories_agree_with_the_reference(self, store: Store, seed: int) -> None:
        dice, reference = random.Random(seed), MemoryStore()
        for _ in range(6):
            live([store, reference], dice, 8)
            for owner in (ME.owner, OTHER.owner):
                assert index(store, owner) == index(reference, owner)
                self._agree(store, reference, dice, owner)

    def _agree(self, store: Store, reference: Store, dice: random.Random, owner: Owner) -> None:
        assert store.concepts.count(owner) == reference.concepts.count(owner)
        assert store.concepts.mentions(owner, "", 99) == reference.concepts.mentions(owner, "", 99)
        vectors = {name: random_vector(dice) for name in reference.concepts.without_vector(owner, "m", 5)}
        assert store.concepts.without_vector(owner, "m", 5) == list(vectors)
        assert store.concepts.put_vectors(owner, "m", vectors) == reference.concepts.put_vectors(
            owner, "m", vectors
        )
        start = {f"mem_{dice.randrange(12)}": dice.random() for _ in range(3)}
        for asker in ASKERS:
            active = reference.concepts.concepts_of(asker, start, 5, 6)
            found = store.concepts.concepts_of(asker, start, 5, 6)
            assert [tuple(each) for each in found] == [
                (name, count, pytest.approx(a)) for name, count, a in active
            ]
            passed = {each.name: each.activation for each in active}
            for filter in FILTERS:
                reached = reference.concepts.memories_of(asker, passed, MOST, filter)
                assert store.concepts.memories_of(asker, passed, MOST, filter) == pytest.approx(reached)
