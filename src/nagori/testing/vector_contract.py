"""Contract suite for vector indexes; see `store_contract` for how an engine joins."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from nagori.core.model import Filter, Level
from nagori.core.storage_types import Vector, VectorModels
from nagori.errors import InvalidInput
from nagori.protocols import Store
from nagori.stores.memory import MemoryStore
from nagori.testing.random_memories import (
    ASKERS,
    BIRTH,
    EVERYTHING,
    FILTERS,
    ME,
    OTHER,
    give,
    live,
    memory,
    nearest,
    put,
    random_vector,
    vector,
)


class VectorIndexContract:
    """The promises. Override the fixture `store`: the index is its `vectors`."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        raise NotImplementedError("give your engine's store here")

    # searching

    def test_the_nearest_vector_comes_first_with_its_cosine(self, store: Store) -> None:
        put(
            store,
            memory("mem_a", "a"),
            memory("mem_b", "b"),
            memory("mem_c", "c"),
            vectors={"mem_a": vector(1, 0, 0), "mem_b": vector(2, 2, 0), "mem_c": vector(0, 0, -1)},
        )
        [hits] = store.vectors.nearest(ME, [vector(1, 0, 0)], "m3", 5)
        assert [hit.id for hit in hits] == ["mem_a", "mem_b", "mem_c"]
        assert [hit.score for hit in hits] == pytest.approx([1.0, 0.5**0.5, 0.0], abs=1e-6)

    @pytest.mark.parametrize("questions", [3, 40])
    def test_many_vectors_at_once_find_what_each_finds_alone(self, store: Store, questions: int) -> None:
        dice = random.Random(questions)

        def anywhere() -> bytes:
            return vector(*(dice.gauss(0, 1) for _ in range(8)))

        memories = [memory(f"mem_{n:03}", f"thing {n}", archived_at=None) for n in range(120)]
        memories += [memory("mem_away", "away", level=Level.ARCHIVED, archived_at=BIRTH)]
        put(store, *memories, vectors={m.id: anywhere() for m in memories})
        put(store, memory("mem_z", "not mine"), vectors={"mem_z": anywhere()}, scope=OTHER)
        asked = [anywhere() for _ in range(questions)]
        for k, least, filter in ((4, 0.5, Filter()), (200, 0.6, EVERYTHING), (200, -1.0, Filter())):
            together = store.vectors.nearest(ME, asked, "m3", k, filter, least)
            alone = [store.vectors.nearest(ME, [each], "m3", k, filter)[0] for each in asked]
            for each, hits in zip(together, alone, strict=True):
                true = {hit.id: hit.score for hit in hits if hit.score >= least}
                assert {hit.id: hit.score for hit in each} == pytest.approx(true, abs=1e-5)
                assert [hit.score for hit in each] == sorted((hit.score for hit in each), reverse=True)

    def test_many_vectors_at_once_find_no_more_than_asked_among_many_alike(self, store: Store) -> None:
        memories = [memory(f"mem_{n:03}", f"thing {n}") for n in range(150)]
        put(store, *memories, vectors={m.id: vector(1, 2, 3) for m in memories})
        for hits in store.vectors.nearest(ME, [vector(1, 2, 3)] * 40, "m3", 11, least=0.9):
            assert [hit.score for hit in hits] == pytest.approx([1.0] * 11, abs=1e-5)

    def test_nothing_is_near_where_nothing_is(self, store: Store) -> None:
        forty, index = [vector(1, 0, 0)] * 40, store.vectors
        assert index.nearest(ME, [], "m3", 5) == []
        assert index.nearest(ME, forty, "m3", 5, least=0.5) == [[]] * 40
        put(store, memory("mem_z", "not mine"), vectors={"mem_z": vector(1, 0, 0)}, scope=OTHER)
        assert index.nearest(ME, forty, "m3", 5, least=0.5) == [[]] * 40
        with pytest.raises(InvalidInput, match="dimensions"):
            index.nearest(ME, [vector(1, size=16)], "m3", 5)

    def test_a_filter_narrows_what_is_near(self, store: Store) -> None:
        put(
            store,
            memory("mem_a", "a", protected=True),
            memory("mem_b", "b", forgotten_at=BIRTH),
            memory("mem_c", "c", level=Level.TRACE),
            vectors={f"mem_{x}": vector(1, 0, n) for n, x in enumerate("abc")},
        )
        for filter, ids in (
            (Filter(), ["mem_a", "mem_c"]),
            (EVERYTHING, ["mem_a", "mem_b", "mem_c"]),
            (Filter(protected=True), ["mem_a"]),
            (Filter(levels=frozenset({Level.TRACE})), ["mem_c"]),
            (Filter(prefix="mem_c"), ["mem_c"]),
        ):
            assert nearest(store, vector(1, 0, 0), filter=filter) == ids

    def test_nothing_of_one_user_is_near_for_another(self, store: Store) -> None:
        secret = memory(content="my secret plan")
        put(store, secret, vectors={"mem_a": vector(1, 0, 0)})
        assert nearest(store, vector(1, 0, 0), OTHER, EVERYTHING) == []
        assert store.vectors.put(OTHER.owner, {"mem_a": Vector("m3", secret.digest, vector(0, 1, 0))}) == 0
        assert store.vectors.get(OTHER.owner, "m3", [secret.digest]) == {}
        assert store.vectors.models(OTHER.owner) == VectorModels()

    # keeping

    def test_a_vector_of_former_words_is_gone_with_them(self, store: Store) -> None:
        put(store, memory(content="old"), vectors={"mem_a": vector(1, 0, 0)})
        put(store, memory(content="new", version=2))
        assert nearest(store, vector(1, 0, 0)) == []
        assert [m.id for m in store.find(ME, Filter(unembedded="m3"))] == ["mem_a"]

    def test_a_vector_that_comes_too_late_is_left_alone(self, store: Store) -> None:
        old, new = memory(content="old"), memory(content="new", version=2)
        put(store, old)
        put(store, new)
        assert store.vectors.put(ME.owner, {"mem_a": Vector("m3", old.digest, vector(1, 0, 0))}) == 0
        assert store.vectors.put(ME.owner, {"mem_a": Vector("m3", new.digest, vector(1, 0, 0))}) == 1
        assert nearest(store, vector(1, 0, 0)) == ["mem_a"]

    def test_a_vector_of_nobody_is_left_alone(self, store: Store) -> None:
        put(store, memory())
        assert store.vectors.put(ME.owner, {"nobody": Vector("m3", b"0" * 16, vector(1, 0, 0))}) == 0

    def test_a_known_text_gives_its_vector_back(self, store: Store) -> None:
        put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
        answer = store.vectors.get(ME.owner, "m3", [memory().digest, b"0" * 16])
        assert answer == {memory().digest: vector(1, 0, 0)}
        assert store.vectors.get(ME.owner, "unheard of", [memory().digest]) == {}

    def test_an_erased_memory_has_no_vector(self, store: Store) -> None:
        put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
        put(store, erased=["mem_a"])
        assert nearest(store, vector(1, 0, 0), filter=EVERYTHING) == []
        assert store.vectors.get(ME.owner, "m3", [memory().digest]) == {}
        assert store.vectors.models(ME.owner).counts == {}

    @pytest.mark.parametrize(
        ("bad", "problem"),
        [
            (vector(1, float("nan"), 0), "NaN"),
            (vector(float("inf"), 0, 0), "NaN"),
            (vector(1, size=16), "dimensions"),
            (vector(0, 0, 0), "zero"),
            (b"abc", "float32"),
            (b"", "float32"),
        ],
    )
    def test_a_bad_vector_is_refused_at_the_door(self, store: Store, bad: bytes, problem: str) -> None:
        put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
        with pytest.raises(InvalidInput, match=problem):
            store.vectors.nearest(ME, [bad], "m3", 5)
        with pytest.raises(InvalidInput, match=problem):
            store.vectors.put(ME.owner, {"mem_a": Vector("m3", memory().digest, bad)})

    # models

    def test_models_stand_side_by_side(self, store: Store) -> None:
        put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
        index, other = store.vectors, vector(0, 1, size=16)
        assert index.nearest(ME, [vector(1, size=16)], "other", 5) == [[]]
        index.put(ME.owner, {"mem_a": Vector("other", memory().digest, other)})
        assert index.nearest(ME, [other], "other", 5)[0][0].score == pytest.approx(1.0)
        assert index.nearest(ME, [vector(1, 0, 0)], "m3", 5)[0][0].score == pytest.approx(1.0)

    def test_the_first_vectors_decide_what_a_space_is_searched_with(self, store: Store) -> None:
        assert store.vectors.models(ME.owner) == VectorModels()
        put(store, memory("mem_a", "a"))
        assert store.vectors.active(ME.owner) is None
        give(store, "m3", "mem_a")
        give(store, "m4", "mem_a")
        assert store.vectors.models(ME.owner) == VectorModels("m3", {"m3": 1, "m4": 1})
        assert store.vectors.models(OTHER.owner) == VectorModels()

    def test_a_model_is_active_when_no_memory_is_without_it(self, store: Store) -> None:
        put(store, memory("mem_a", "a"), memory("mem_b", "b"), vectors={"mem_a": vector(1, 0, 0)})
        give(store, "m4", "mem_a")
        assert not store.vectors.activate(ME.owner, "m4")
        assert store.vectors.active(ME.owner) == "m3"
        give(store, "m4", "mem_b")
        assert store.vectors.activate(ME.owner, "m4")
        assert store.vectors.active(ME.owner) == "m4"
        put(store, memory("mem_b", "new words", version=2))
        assert not store.vectors.activate(ME.owner, "m4")
        assert store.vectors.active(ME.owner) == "m4"

    def test_a_space_without_memories_may_use_any_model(self, store: Store) -> None:
        assert store.vectors.activate(ME.owner, "m4")
        assert store.vectors.active(ME.owner) == "m4"

    def test_vectors_that_nobody_searches_with_can_be_dropped(self, store: Store) -> None:
        index, names = store.vectors, [f"mem_{x}" for x in "abc"]
        put(store, *(memory(name, name) for name in names), vectors={n: vector(1, 2, 3) for n in names})
        put(store, memory("mem_z"), vectors={"mem_z": vector(1, 0, 0)}, scope=OTHER)
        for name in names:
            give(store, "m4", name)
        assert index.drop(ME.owner, "m3", 5) == 0
        assert index.activate(ME.owner, "m4")
        assert [index.drop(ME.owner, "m3", 2) for _ in range(3)] == [2, 1, 0]
        assert index.drop(ME.owner, "m4", 5) == 0
        assert index.drop(ME.owner, "unheard of", 5) == 0
        assert index.models(ME.owner) == VectorModels("m4", {"m4": 3})
        assert index.models(OTHER.owner) == VectorModels("m3", {"m3": 1})
        assert len(index.nearest(ME, [vector(1, size=16)], "m4", 5)[0]) == 3
        assert nearest(store, vector(1, 0, 0)) == []
        assert nearest(store, vector(1, 0, 0), OTHER) == ["mem_z"]
        assert store.check() == []

    def test_a_rebuilt_space_is_searched_with_the_same_model(self, store: Store) -> None:
        put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
        give(store, "m4", "mem_a")
        assert store.vectors.activate(ME.owner, "m4")
        with store.rebuilding(ME.owner):
            put(store, memory())
        assert store.vectors.models(ME.owner) == VectorModels("m4", {"m3": 1, "m4": 1})

    def test_vectors_that_come_during_a_rebuild_are_kept_too(self, store: Store) -> None:
        put(store, memory(content="old"), vectors={"mem_a": vector(1, 0, 0)})
        with store.rebuilding(ME.owner):
            put(store, memory(content="new"), vectors={"mem_a": vector(0, 1, size=16)}, model="m4")
        assert store.vectors.models(ME.owner) == VectorModels("m3", {"m4": 1})
        assert store.check() == []

    # everything together

    @pytest.mark.parametrize("seed", range(8))
    def test_neighbours_in_random_histories_agree_with_the_oracle(self, store: Store, seed: int) -> None:
        oracle, dice = MemoryStore(), random.Random(seed)
        live((store, oracle), dice)
        for scope in ASKERS:
            assert store.vectors.models(scope.owner) == oracle.vectors.models(scope.owner)
            for filter in FILTERS:
                query = random_vector(dice)
                [true] = oracle.vectors.nearest(scope, [query], "m3", 50, filter)
                [near] = store.vectors.nearest(scope, [query], "m3", 50, filter)
                [*_, many] = store.vectors.nearest(scope, [query] * 33, "m3", 50, filter, -1.0)
                for hits in (near, many):
                    assert {hit.id: hit.score for hit in hits} == pytest.approx(
                        {hit.id: hit.score for hit in true}, abs=1e-5
                    )
        assert store.check() == []
