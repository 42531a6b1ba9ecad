"""What every store promises, as tests. An engine joins in three lines:

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self, tmp_path): return MyStore(tmp_path)

Each engine is also compared with the oracle (`stores.memory`) over random histories.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from nagori.core.bookkeeping import Batch, Cursor, LogEntry, Space, Vector
from nagori.core.cycle import Rules, plan_cycle
from nagori.core.decay import Retention, Weekly
from nagori.core.life import Archive, Capacity, Compression, Tiers
from nagori.core.model import (
    Category,
    Emotion,
    Filter,
    Kind,
    Level,
    Memory,
    Privacy,
    Relation,
    RelationType,
    Scope,
    Source,
    Text,
)
from nagori.core.text import query_tokens
from nagori.errors import Conflict, InvalidInput
from nagori.protocols import Store
from nagori.stores.memory import MemoryStore

ME = Scope(user="me")
OTHER = Scope(user="somebody else")
BIRTH = datetime(2026, 4, 1, 9, 0, tzinfo=UTC)
EVERYTHING = Filter(archived=True, forgotten=True)


def memory(id: str = "mem_a", content: str = "The kettle whistles at noon.", **more: object) -> Memory:
    """A memory with only what matters said."""
    level = more.pop("level", Level.FULL)
    texts = more.pop("texts", {Level.FULL: Text("", content)})
    fields: dict[str, object] = {"created": BIRTH, "anchor": BIRTH, "level": level, "texts": texts, **more}
    return Memory(id=id, **fields)  # type: ignore[arg-type]


def vector(*numbers: float, size: int = 8) -> bytes:
    """A vector that begins with `numbers` and goes on with zeros."""
    return array("f", [*numbers, *[0.0] * (size - len(numbers))]).tobytes()


def put(
    store: Store,
    *memories: Memory,
    scope: Scope = ME,
    links: dict[Relation, bool] | None = None,
    vectors: dict[str, bytes] | None = None,
    model: str = "m3",
) -> None:
    """Commit memories the way the ledger does, one log line for all."""
    before = store.cursor(scope.space)
    after = Cursor(1, before.offset + 100, before.seq + 1)
    by_id = {m.id: m for m in memories}
    batch = Batch(
        before=before,
        after=after,
        memories=memories,
        links=links or {},
        log=[LogEntry(after.seq, BIRTH, "formed", tuple(by_id), before)],
        vectors={id: Vector(model, by_id[id].digest, v) for id, v in (vectors or {}).items()},
    )
    store.commit(scope.space, batch)


def give(store: Store, model: str, id: str, size: int = 16) -> int:
    """Give a memory of ours its vector of `model`."""
    [known] = store.get(ME, [id])
    return store.add_vectors(ME.space, {id: Vector(model, known.digest, vector(1, 1, size=size))})


class StoreContract:
    """The promises. Override the fixture `store`."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        raise NotImplementedError("give your engine's store here")

    # keeping

    def test_a_new_space_starts_at_the_beginning(self, store: Store) -> None:
        assert store.cursor(ME.space) == Cursor()

    def test_what_is_committed_is_read_back_unchanged(self, store: Store) -> None:
        rich = memory(
            content="会議は３時です 🍵\nsecond line",
            kind=Kind.DECISION,
            category=Category.WORK,
            emotion=Emotion(71.5, "positive", 40, ("joy", "pride")),  # type: ignore[arg-type]
            coefficient=0.9371,
            keywords=("会議", "3時"),
            project="p",
            agent="a",
            role="r",
            privacy=Privacy.AGENT_ONLY,
            source=Source("s1", 4, "Aki", "file:///x"),
            protected=True,
            mentions=3,
            recalls=2,
            recalled_at=BIRTH + timedelta(microseconds=1),
            texts={Level.FULL: Text("t", "long"), Level.SUMMARY: Text("t", "short")},
            level=Level.SUMMARY,
            superseded_by="mem_b",
            keep_until=BIRTH + timedelta(days=90),
        )
        put(store, rich)
        assert store.get(ME, ["mem_a"]) == [rich]
        assert store.look(ME.space, ["mem_a", "nobody"]) == {"mem_a": rich}

    def test_a_commit_moves_the_cursor(self, store: Store) -> None:
        put(store, memory())
        assert store.cursor(ME.space) == Cursor(1, 100, 1)

    def test_a_commit_on_top_of_something_else_is_refused_whole(self, store: Store) -> None:
        put(store, memory())
        stale = Batch(before=Cursor(), after=Cursor(1, 500, 9), memories=[memory("mem_b")])
        with pytest.raises(Conflict):
            store.commit(ME.space, stale)
        assert store.get(ME, ["mem_b"]) == []
        assert store.cursor(ME.space) == Cursor(1, 100, 1)

    def test_a_commit_with_one_bad_vector_changes_nothing(self, store: Store) -> None:
        put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
        with pytest.raises(InvalidInput, match="dimensions"):
            put(store, memory("mem_b", "words of their own"), vectors={"mem_b": vector(1, size=16)})
        assert store.get(ME, ["mem_b"]) == []
        assert store.match_text(ME, query_tokens("words of their own"), 5) == []
        assert store.cursor(ME.space).seq == 1

    def test_a_later_commit_replaces_a_memory(self, store: Store) -> None:
        put(store, memory())
        put(store, memory(content="The kettle is broken.", version=2))
        [kept] = store.get(ME, ["mem_a"])
        assert kept.text.content == "The kettle is broken."
        assert kept.version == 2

    # finding

    def test_get_keeps_the_order_asked_for_and_leaves_out_the_unknown(self, store: Store) -> None:
        put(store, memory("mem_a"), memory("mem_b"))
        assert [m.id for m in store.get(ME, ["mem_b", "nobody", "mem_a"])] == ["mem_b", "mem_a"]

    def test_find_gives_the_newest_first_and_pages_without_gaps(self, store: Store) -> None:
        put(store, *(memory(f"mem_{n}", created=BIRTH + timedelta(hours=n // 2)) for n in range(7)))
        seen: list[Memory] = []
        while page := store.find(ME, limit=3, older_than=seen[-1] if seen else None):
            seen += page
        assert [m.id for m in seen] == ["mem_6", "mem_5", "mem_4", "mem_3", "mem_2", "mem_1", "mem_0"]

    def test_forgotten_and_archived_memories_are_found_only_on_request(self, store: Store) -> None:
        put(
            store,
            memory("mem_a"),
            memory("mem_b", forgotten_at=BIRTH),
            memory("mem_c", level=Level.ARCHIVED, archived_at=BIRTH),
        )
        assert [m.id for m in store.find(ME)] == ["mem_a"]
        assert {m.id for m in store.find(ME, Filter(archived=True))} == {"mem_a", "mem_c"}
        assert {m.id for m in store.find(ME, Filter(forgotten=True))} == {"mem_a", "mem_b"}

    def test_an_id_is_found_by_its_beginning(self, store: Store) -> None:
        put(store, memory("mem_abc"), memory("mem_abd"), memory("mem_x"))
        assert store.with_prefix(ME, "mem_ab") == ["mem_abc", "mem_abd"]
        assert store.with_prefix(ME, "%") == []

    def test_words_find_the_memory_that_says_them(self, store: Store) -> None:
        put(store, memory("mem_a", "The staging server is called Heron."), memory("mem_b", "Lunch was good."))
        hits = store.match_text(ME, query_tokens("which server is staging?"), 5)
        assert [hit.id for hit in hits] == ["mem_a"]
        assert hits[0].score > 0

    def test_two_character_japanese_words_are_found(self, store: Store) -> None:
        put(store, memory("mem_a", "来週は京都へ出張です。"), memory("mem_b", "昨日は東京で会議でした。"))
        assert store.match_text(ME, query_tokens("京都"), 5)[0].id == "mem_a"
        assert store.match_text(ME, query_tokens("会議"), 5)[0].id == "mem_b"

    def test_a_speaker_and_keywords_are_words_too(self, store: Store) -> None:
        put(store, memory("mem_a", "Yes.", source=Source(speaker="Haruka"), keywords=("budget",)))
        assert store.match_text(ME, query_tokens("Haruka"), 5)
        assert store.match_text(ME, query_tokens("budget"), 5)

    def test_old_words_no_longer_find_a_changed_memory(self, store: Store) -> None:
        put(store, memory(content="alpha"))
        put(store, memory(content="omega", version=2))
        assert store.match_text(ME, ["alpha"], 5) == []
        assert [hit.id for hit in store.match_text(ME, ["omega"], 5)] == ["mem_a"]

    def test_hostile_words_are_only_words(self, store: Store) -> None:
        put(store, memory())
        for words in (['"'], ["NEAR("], ["a* OR b"], ["'; DROP TABLE memory; --"], [""], []):
            assert store.match_text(ME, words, 5) == []

    def test_the_nearest_vector_comes_first_with_its_cosine(self, store: Store) -> None:
        put(
            store,
            memory("mem_a", "a"),
            memory("mem_b", "b"),
            memory("mem_c", "c"),
            vectors={"mem_a": vector(1, 0, 0), "mem_b": vector(2, 2, 0), "mem_c": vector(0, 0, -1)},
        )
        hits = store.nearest(ME, vector(1, 0, 0), "m3", 5)
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
            together = store.nearest_many(ME, asked, "m3", k, least, filter)
            alone = [store.nearest(ME, each, "m3", k, filter) for each in asked]
            for found, hits in zip(together, alone, strict=True):
                true = {hit.id: hit.score for hit in hits if hit.score >= least}
                assert {hit.id: hit.score for hit in found} == pytest.approx(true, abs=1e-5)
                assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)

    def test_many_vectors_at_once_find_no_more_than_asked_among_many_alike(self, store: Store) -> None:
        memories = [memory(f"mem_{n:03}", f"thing {n}") for n in range(150)]
        put(store, *memories, vectors={m.id: vector(1, 2, 3) for m in memories})
        for hits in store.nearest_many(ME, [vector(1, 2, 3)] * 40, "m3", 11, 0.9):
            assert [hit.score for hit in hits] == pytest.approx([1.0] * 11, abs=1e-5)

    def test_nothing_is_near_where_nothing_is(self, store: Store) -> None:
        assert store.nearest_many(ME, [], "m3", 5, 0.5) == []
        assert store.nearest_many(ME, [vector(1, 0, 0)] * 40, "m3", 5, 0.5) == [[]] * 40
        put(store, memory("mem_z", "not mine"), vectors={"mem_z": vector(1, 0, 0)}, scope=OTHER)
        assert store.nearest_many(ME, [vector(1, 0, 0)] * 40, "m3", 5, 0.5) == [[]] * 40
        with pytest.raises(InvalidInput, match="dimensions"):
            store.nearest_many(ME, [vector(1, size=16)], "m3", 5, 0.5)

    def test_a_vector_of_former_words_is_gone_with_them(self, store: Store) -> None:
        put(store, memory(content="old"), vectors={"mem_a": vector(1, 0, 0)})
        put(store, memory(content="new", version=2))
        assert store.nearest(ME, vector(1, 0, 0), "m3", 5) == []
        assert [m.id for m in store.unembedded(ME.space, "m3", 5)] == ["mem_a"]

    def test_a_vector_that_comes_too_late_is_left_alone(self, store: Store) -> None:
        old, new = memory(content="old"), memory(content="new", version=2)
        put(store, old)
        put(store, new)
        assert store.add_vectors(ME.space, {"mem_a": Vector("m3", old.digest, vector(1, 0, 0))}) == 0
        assert store.add_vectors(ME.space, {"mem_a": Vector("m3", new.digest, vector(1, 0, 0))}) == 1
        assert store.nearest(ME, vector(1, 0, 0), "m3", 5)[0].id == "mem_a"

    def test_turns_that_nobody_but_rules_has_judged_wait_oldest_first(self, store: Store) -> None:
        said, day = Source(session="s", turn=1), timedelta(days=1)
        put(
            store,
            memory("mem_new", source=said, created=BIRTH + day),
            memory("mem_a", source=said),
            memory("mem_b", source=said),
            memory("mem_old", source=said, created=BIRTH - day),
            memory("mem_by_hand"),
            memory("mem_judged", source=said, judged_by="a model"),
            memory("mem_faded", source=said, level=Level.SUMMARY),
            memory("mem_forgotten", source=said, forgotten_at=BIRTH),
            memory("mem_corrected", source=said, superseded_by="mem_a"),
        )
        put(store, memory("mem_theirs", source=said), scope=OTHER)
        waiting = [m.id for m in store.unjudged(ME.space, BIRTH, 10)]
        assert waiting == ["mem_a", "mem_b", "mem_new"]
        assert [m.id for m in store.unjudged(ME.space, BIRTH, 1)] == ["mem_a"]
        assert store.look(ME.space, ["mem_judged"])["mem_judged"].judged_by == "a model"

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
            store.nearest(ME, bad, "m3", 5)
        with pytest.raises(InvalidInput, match=problem):
            store.add_vectors(ME.space, {"mem_a": Vector("m3", memory().digest, bad)})

    def test_models_stand_side_by_side(self, store: Store) -> None:
        put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
        assert store.nearest(ME, vector(1, size=16), "other", 5) == []
        store.add_vectors(ME.space, {"mem_a": Vector("other", memory().digest, vector(0, 1, size=16))})
        assert store.nearest(ME, vector(0, 1, size=16), "other", 5)[0].score == pytest.approx(1.0)
        assert store.nearest(ME, vector(1, 0, 0), "m3", 5)[0].score == pytest.approx(1.0)

    def test_the_first_vectors_decide_what_a_space_is_searched_with(self, store: Store) -> None:
        assert store.model_in_use(ME.space) is None
        put(store, memory("mem_a", "a"))
        assert store.model_in_use(ME.space) is None
        give(store, "m3", "mem_a")
        give(store, "m4", "mem_a")
        assert store.model_in_use(ME.space) == "m3"
        assert store.models(ME.space) == {"m3": 1, "m4": 1}
        assert store.model_in_use(OTHER.space) is None
        assert store.models(OTHER.space) == {}

    def test_a_model_is_used_when_no_memory_is_without_it(self, store: Store) -> None:
        put(store, memory("mem_a", "a"), memory("mem_b", "b"), vectors={"mem_a": vector(1, 0, 0)})
        give(store, "m4", "mem_a")
        assert not store.use_model(ME.space, "m4")
        assert store.model_in_use(ME.space) == "m3"
        give(store, "m4", "mem_b")
        assert store.use_model(ME.space, "m4")
        assert store.model_in_use(ME.space) == "m4"
        put(store, memory("mem_b", "new words", version=2))
        assert not store.use_model(ME.space, "m4")
        assert store.model_in_use(ME.space) == "m4"

    def test_a_space_without_memories_may_use_any_model(self, store: Store) -> None:
        assert store.use_model(ME.space, "m4")
        assert store.model_in_use(ME.space) == "m4"

    def test_vectors_that_nobody_searches_with_can_be_dropped(self, store: Store) -> None:
        names = [f"mem_{x}" for x in "abc"]
        put(store, *(memory(name, name) for name in names), vectors={n: vector(1, 2, 3) for n in names})
        put(store, memory("mem_z"), vectors={"mem_z": vector(1, 0, 0)}, scope=OTHER)
        for name in names:
            give(store, "m4", name)
        assert store.drop_vectors(ME.space, "m3", 5) == 0
        assert store.use_model(ME.space, "m4")
        assert [store.drop_vectors(ME.space, "m3", 2) for _ in range(3)] == [2, 1, 0]
        assert store.drop_vectors(ME.space, "m4", 5) == 0
        assert store.drop_vectors(ME.space, "unheard of", 5) == 0
        assert store.models(ME.space) == {"m4": 3}
        assert store.models(OTHER.space) == {"m3": 1}
        assert len(store.nearest(ME, vector(1, size=16), "m4", 5)) == 3
        assert store.nearest(ME, vector(1, 0, 0), "m3", 5) == []
        assert store.nearest(OTHER, vector(1, 0, 0), "m3", 5)[0].id == "mem_z"
        assert store.check() == []

    def test_a_renewed_space_is_searched_with_the_same_model(self, store: Store) -> None:
        put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
        give(store, "m4", "mem_a")
        assert store.use_model(ME.space, "m4")
        with store.renewed(ME.space):
            put(store, memory())
        assert store.model_in_use(ME.space) == "m4"
        assert store.models(ME.space) == {"m3": 1, "m4": 1}

    def test_a_known_text_gives_its_vector_back(self, store: Store) -> None:
        put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
        found = store.vectors_of(ME.space, "m3", [memory().digest, b"0" * 16])
        assert found == {memory().digest: vector(1, 0, 0)}
        assert store.vectors_of(OTHER.space, "m3", [memory().digest]) == {}

    def test_a_filter_narrows_every_way_of_finding(self, store: Store) -> None:
        put(
            store,
            memory("mem_a", "tea in spring", kind=Kind.FACT, source=Source(session="s1")),
            memory("mem_b", "tea in autumn", created=BIRTH + timedelta(days=200), protected=True),
            memory("mem_c", "tea in winter", category=Category.WORK, level=Level.TRACE),
            vectors={f"mem_{x}": vector(1, 0, n) for n, x in enumerate("abc")},
        )
        narrow = {
            "mem_a": [Filter(kinds=frozenset({Kind.FACT})), Filter(session="s1")],
            "mem_b": [Filter(since=BIRTH + timedelta(days=1)), Filter(protected=True)],
            "mem_c": [
                Filter(levels=frozenset({Level.TRACE})),
                Filter(categories=frozenset({Category.WORK})),
            ],
        }
        for id, filters in narrow.items():
            for filter in filters:
                assert [m.id for m in store.find(ME, filter)] == [id]
                assert [hit.id for hit in store.match_text(ME, ["tea"], 5, filter)] == [id]
                assert [hit.id for hit in store.nearest(ME, vector(1, 0, 0), "m3", 5, filter)] == [id]
        assert {m.id for m in store.find(ME, Filter(until=BIRTH + timedelta(days=1)))} == {"mem_a", "mem_c"}

    def test_evidence_tells_where_words_stand_and_sketches_what_it_names(self, store: Store) -> None:
        source = Source("s1", 3, "Aki")
        put(
            store,
            memory("mem_a", "tea tea kettle?", source=source),
            memory("mem_b", "tea in autumn", forgotten_at=BIRTH),
            memory("mem_c", "nothing of the kind"),
            vectors={"mem_c": vector(1, 0, 0)},
        )
        found = store.evidence(ME, ["tea", "kettl", "absent", ""], vector(1, 0, 0), "m3", 5)
        assert {word: dict(where) for word, where in found.places.items()} == {
            "tea": {"mem_a": 2},
            "kettl": {"mem_a": 1},
        }
        assert dict(found.cosines) == pytest.approx({"mem_c": 1.0}, abs=1e-6)
        assert set(found.sketches) == {"mem_a", "mem_c"}
        sketch = found.sketches["mem_a"]
        assert (sketch.session, sketch.turn, sketch.speaker, bool(sketch.asks)) == ("s1", 3, "Aki", True)
        assert found.total == 3

    def test_evidence_needs_no_vectors_and_no_memories(self, store: Store) -> None:
        assert store.evidence(ME, ["tea"], None, None, 5).sketches == {}
        put(store, memory("mem_a", "tea"))
        assert set(store.evidence(ME, ["tea"], vector(1, size=16), "unknown model", 5).sketches) == {"mem_a"}

    # relations and history

    def test_relations_are_read_from_both_ends(self, store: Store) -> None:
        relation = Relation("mem_a", "mem_b", RelationType.CONTINUES)
        put(store, memory("mem_a"), memory("mem_b"), links={relation: True})
        assert store.relations(ME, ["mem_a"]) == store.relations(ME, ["mem_b"]) == [relation]
        put(store, links={relation: False})
        assert store.relations(ME, ["mem_a"]) == []

    def test_the_log_tells_what_touched_a_memory(self, store: Store) -> None:
        put(store, memory("mem_a"), memory("mem_b"))
        put(store, memory("mem_a", version=2))
        assert [entry.seq for entry in store.history(ME.space, "mem_a")] == [1, 2]
        assert store.history(ME.space, "mem_b")[0].memories == ("mem_a", "mem_b")
        assert [entry.seq for entry in store.last_log(ME.space, 1)] == [2]
        assert store.last_log(OTHER.space, 5) == []

    def test_counts_tell_what_is_there(self, store: Store) -> None:
        put(
            store,
            memory("mem_a", protected=True),
            memory("mem_b", level=Level.TRACE, superseded_by="mem_a"),
            memory("mem_c", forgotten_at=BIRTH),
            memory("mem_d", level=Level.ARCHIVED),
            vectors={"mem_a": vector(1, 0, 0)},
        )
        counts = store.count(ME, "m3")
        assert dict(counts.levels) == {1: 1, 3: 1, 4: 1}
        assert (counts.total, counts.protected, counts.forgotten, counts.superseded) == (3, 1, 1, 1)
        assert counts.unembedded == 2

    def test_measures_tell_kinds_tiers_and_how_far_it_is_compressed(self, store: Store) -> None:
        full, short, trace = Text("雨", "The kettle whistles."), Text("", "kettle"), Text("", "k")
        texts = {Level.FULL: full, Level.SUMMARY: short, Level.TRACE: trace}
        long_ago = BIRTH - timedelta(days=60)
        put(
            store,
            memory("mem_a", kind=Kind.FACT, texts=texts),  # whole: not counted
            memory("mem_b", level=Level.SUMMARY, texts=texts, anchor=BIRTH - timedelta(days=7)),
            memory("mem_c", level=Level.ARCHIVED, texts=texts, anchor=long_ago, archived_at=long_ago),
            memory("mem_d", level=Level.TRACE, texts={Level.TRACE: trace}, anchor=long_ago),
            memory("mem_e", level=Level.TRACE, texts=texts, forgotten_at=BIRTH),
            memory("mem_f", level=Level.ARCHIVED, texts={Level.FULL: full}, anchor=BIRTH + timedelta(days=1)),
        )
        measures = store.measure(ME, BIRTH, Tiers())
        assert dict(measures.kinds) == {"episode": 4, "fact": 1}
        assert dict(measures.tiers) == {"hot": 3, "warm": 1, "cold": 1}
        assert (measures.shown, measures.whole) == (6 + 1 + 21, 3 * 21)
        assert measures.compression == pytest.approx(1 - 28 / 63)
        nothing = store.measure(Scope(user="nobody"), BIRTH, Tiers())
        assert (dict(nothing.kinds), nothing.compression) == ({}, 0.0)

    # nothing crosses a scope

    def test_nothing_of_one_user_is_seen_by_another(self, store: Store) -> None:
        secret = memory("mem_a", "my secret plan")
        link = Relation("mem_a", "mem_b", RelationType.REFERENCES)
        put(store, secret, memory("mem_b"), links={link: True}, vectors={"mem_a": vector(1, 0, 0)})
        for stranger in (OTHER, Scope(user="me", tenant="elsewhere")):
            assert store.get(stranger, ["mem_a"]) == []
            assert store.look(stranger.space, ["mem_a"]) == {}
            assert store.find(stranger, EVERYTHING) == []
            assert store.with_prefix(stranger, "mem") == []
            assert store.match_text(stranger, ["secret"], 5) == []
            assert store.nearest(stranger, vector(1, 0, 0), "m3", 5) == []
            assert store.relations(stranger, ["mem_a"]) == []
            assert store.history(stranger.space, "mem_a") == []
            assert store.unembedded(stranger.space, "m3", 5) == []
            assert store.count(stranger, "m3").total == 0
            assert store.measure(stranger, BIRTH, Tiers()).kinds == {}
            assert (
                store.add_vectors(stranger.space, {"mem_a": Vector("m3", secret.digest, vector(0, 1, 0))})
                == 0
            )

    def test_the_same_id_in_two_spaces_is_two_memories(self, store: Store) -> None:
        put(store, memory(content="mine"))
        put(store, memory(content="theirs"), scope=OTHER)
        assert store.get(ME, ["mem_a"])[0].text.content == "mine"
        assert store.get(OTHER, ["mem_a"])[0].text.content == "theirs"

    def test_a_project_sees_its_own_and_what_belongs_to_all(self, store: Store) -> None:
        put(store, memory("mem_a"), memory("mem_p", project="p"), memory("mem_q", project="q"))
        assert {m.id for m in store.find(Scope(user="me", project="p"))} == {"mem_a", "mem_p"}
        assert {m.id for m in store.find(ME)} == {"mem_a", "mem_p", "mem_q"}

    def test_agents_see_by_privacy_and_the_user_sees_all(self, store: Store) -> None:
        mine = {"agent": "a1", "role": "coder"}
        put(
            store,
            memory("mem_private", privacy=Privacy.PRIVATE, **mine),
            memory("mem_role", privacy=Privacy.AGENT_ONLY, **mine),
            memory("mem_public", privacy=Privacy.PUBLIC, **mine),
        )

        def seen(**who: str) -> set[str]:
            return {m.id.removeprefix("mem_") for m in store.find(Scope(user="me", **who))}

        assert seen() == {"private", "role", "public"}
        assert seen(agent="a1", role="coder") == {"private", "role", "public"}
        assert seen(agent="a2", role="coder") == {"role", "public"}
        assert seen(agent="a3", role="critic") == {"public"}

    # upkeep

    def test_a_sound_store_has_no_faults(self, store: Store) -> None:
        put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
        assert store.check() == []

    def test_a_renewed_space_keeps_the_vectors_of_texts_that_come_back(self, store: Store) -> None:
        put(store, memory("mem_a", "stays"), memory("mem_b", "goes"), vectors={"mem_a": vector(1, 0, 0)})
        put(store, memory("mem_z", "not mine"), scope=OTHER)
        with store.renewed(ME.space):
            assert store.cursor(ME.space) == Cursor()
            put(store, memory("mem_a", "stays"))
        assert [m.id for m in store.find(ME)] == ["mem_a"]
        assert store.match_text(ME, ["goe", "goes"], 5) == []
        assert store.nearest(ME, vector(1, 0, 0), "m3", 5)[0].id == "mem_a"
        assert [m.id for m in store.find(OTHER)] == ["mem_z"]
        assert store.check() == []

    def test_a_renewal_that_fails_leaves_everything_as_it_was(self, store: Store) -> None:
        put(store, memory(content="precious"), vectors={"mem_a": vector(1, 0, 0)})
        with pytest.raises(RuntimeError), store.renewed(ME.space):
            raise RuntimeError("the light went out")
        assert store.match_text(ME, query_tokens("precious"), 5)[0].id == "mem_a"
        assert store.nearest(ME, vector(1, 0, 0), "m3", 5)[0].id == "mem_a"
        assert store.cursor(ME.space).seq == 1

    @pytest.mark.parametrize("seed", range(4))
    def test_words_that_come_and_go_are_found_while_they_are_there(self, store: Store, seed: int) -> None:
        """Memories fade, are edited and come back, over and over; only what is left of them is found."""
        oracle, dice = MemoryStore(), random.Random(seed)
        words = [f"word{n}" for n in range(25)]
        lives = {f"mem_{n:02}": memory(f"mem_{n:02}", " ".join(dice.sample(words, 9))) for n in range(30)}
        put(store, *lives.values())
        put(oracle, *lives.values())
        for _ in range(60):
            few = [_another_day(lives[id], words, dice) for id in dice.sample(sorted(lives), 7)]
            lives |= {m.id: m for m in few}
            put(store, *few)
            put(oracle, *few)
        assert store.look(ME.space, lives) == lives
        for word in words:
            found = {hit.id: hit.score for hit in store.match_text(ME, [word], 50, EVERYTHING)}
            true = {hit.id: hit.score for hit in oracle.match_text(ME, [word], 50, EVERYTHING)}
            assert found == pytest.approx(true, rel=1e-6)
        assert store.check() == []

    @pytest.mark.parametrize("seed", range(8))
    def test_random_histories_agree_with_the_oracle(self, store: Store, seed: int) -> None:
        oracle, dice = MemoryStore(), random.Random(seed)
        for _ in range(40):
            changes = _random_changes(dice)
            for engine in (store, oracle):
                put(engine, *changes[0], links=changes[1], vectors=changes[2], scope=changes[3])
        for scope in _ASKERS:
            for filter in _FILTERS:
                assert store.find(scope, filter) == oracle.find(scope, filter)
                for word in _WORDS:
                    found = {hit.id for hit in store.match_text(scope, [word], 50, filter)}
                    assert found == {hit.id for hit in oracle.match_text(scope, [word], 50, filter)}
                query = vector(*(dice.uniform(-1, 1) for _ in range(3)))
                told, known = (
                    engine.evidence(scope, _WORDS, query, "m3", 99, filter) for engine in (store, oracle)
                )
                assert told.places == known.places
                assert told.sketches == known.sketches
                near, true = (engine.nearest(scope, query, "m3", 50, filter) for engine in (store, oracle))
                assert {hit.id: hit.score for hit in near} == pytest.approx(
                    {hit.id: hit.score for hit in true}, abs=1e-5
                )
                [*_, many] = store.nearest_many(scope, [query] * 33, "m3", 50, -1.0, filter)
                assert {hit.id: hit.score for hit in many} == pytest.approx(
                    {hit.id: hit.score for hit in true}, abs=1e-5
                )
            ids = [f"mem_{n}" for n in range(12)]
            assert store.relations(scope, ids) == oracle.relations(scope, ids)
            assert store.count(scope, "m3") == oracle.count(scope, "m3")
            assert store.census(scope.space) == oracle.census(scope.space)
            for rules in _RULES:
                assert _plan(store, scope.space, rules) == _plan(oracle, scope.space, rules)
            for day in (0, 7, 30):
                then = BIRTH + timedelta(days=day)
                assert store.measure(scope, then, Tiers()) == oracle.measure(scope, then, Tiers())
        assert store.check() == []


_RULES = (
    Rules(),
    Rules(compression=Compression(min_population=3)),
    Rules(retention=Retention(law="weekly"), capacity=Capacity(limit=5)),
    Rules(weekly=Weekly(boost_mode="multiplicative"), retention=Retention(law="weekly")),
    Rules(archive=Archive(auto_delete_enabled=True, retention_days=1, grace_days=0)),
)


def _plan(store: Store, space: Space, rules: Rules) -> list[tuple[str, str, str]]:
    """What a night would do, as an engine tells it: the same, however little it shows."""
    now = BIRTH + timedelta(days=9)
    weakest = partial(store.weakest, space, rules=rules, now=now)
    plan = plan_cycle(store.due(space, rules, now), store.census(space), rules, now, weakest)
    return sorted((step.id, step.act, step.reason) for step in plan.steps)


def _another_day(life: Memory, words: list[str], dice: random.Random) -> Memory:
    """One step up or down, other words, or nothing but a mark."""
    said = life.text.content.split()
    step = dice.choice(("fade", "fade", "edit", "restore", "recall"))
    if step == "fade" and life.level < Level.ARCHIVED:
        level = Level(life.level + 1)
        shorter = Text("", " ".join(dice.sample(said, max(1, len(said) // 2))))
        return life.but(level=level, texts=life.texts | {level: shorter})
    if step == "edit":
        return life.but(level=Level.FULL, texts={Level.FULL: Text("", " ".join(dice.sample(words, 9)))})
    if step == "restore":
        return life.but(level=Level.FULL, texts={Level.FULL: life.texts[Level.FULL]})
    return life.but(recalled_at=BIRTH + timedelta(days=life.version))


_WORDS = ("lantern", "river", "copper", "月", "京都")
_SPACES = (ME, OTHER)
_ASKERS = (
    *_SPACES,
    Scope(user="me", project="p"),
    Scope(user="me", agent="a1", role="coder"),
    Scope(user="me", agent="a2", role="coder", project="q"),
    Scope(user="nobody"),
)
_FILTERS = (Filter(), EVERYTHING, Filter(kinds=frozenset({Kind.FACT}), archived=True), Filter(protected=True))


def _random_changes(
    dice: random.Random,
) -> tuple[list[Memory], dict[Relation, bool], dict[str, bytes], Scope]:
    memories = {}
    for _ in range(dice.randint(0, 3)):
        id, level = f"mem_{dice.randrange(12)}", dice.choice(list(Level))
        memories[id] = memory(
            id,
            " ".join(dice.choices(_WORDS, k=3)),
            version=dice.randrange(1, 99),
            created=BIRTH + timedelta(minutes=dice.randrange(1000)),
            kind=dice.choice(list(Kind)),
            level=level,
            archived_at=BIRTH + timedelta(days=dice.randrange(5)) if level is Level.ARCHIVED else None,
            privacy=dice.choice(list(Privacy)),
            project=dice.choice([None, "p", "q"]),
            agent=dice.choice([None, "a1", "a2"]),
            role=dice.choice([None, "coder", "critic"]),
            protected=dice.random() < 0.2,
            forgotten_at=BIRTH if dice.random() < 0.2 else None,
            recalled_at=BIRTH + timedelta(days=dice.randrange(9)) if dice.random() < 0.3 else None,
            revival_at=BIRTH + timedelta(days=dice.randrange(15)) if dice.random() < 0.3 else None,
            emotion=Emotion(dice.randrange(100)),
            coefficient=dice.choice([0.7, 0.95, 1.0]),
            recalls=dice.randrange(4),
        )
    ends = (f"mem_{dice.randrange(12)}", f"mem_{dice.randrange(12)}")
    links = {Relation(*ends, dice.choice(list(RelationType))): dice.random() < 0.8}
    vectors = {id: vector(*(dice.uniform(-1, 1) for _ in range(3))) for id in memories if dice.random() < 0.7}
    return list(memories.values()), links, vectors, dice.choice(_SPACES)
