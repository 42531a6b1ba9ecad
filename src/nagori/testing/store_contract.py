"""Contract suite for stores. An engine joins in three lines:

    class TestMyStore(StoreContract, VectorIndexContract):
        @pytest.fixture
        def store(self, tmp_path): return MyStore(tmp_path)

Each engine is also compared with the reference (`stores.memory`) over random histories.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from nagori.core.cycle import CycleRules, plan_cycle
from nagori.core.decay import Retention, Weekly
from nagori.core.events import RecordedTurn
from nagori.core.levels import Archive, Capacity, Compression, Tiers
from nagori.core.model import (
    Category,
    Emotion,
    Filter,
    Item,
    ItemFilter,
    Kind,
    Level,
    Memory,
    Privacy,
    Relation,
    RelationType,
    Scope,
    Source,
    Text,
    TurnFilter,
)
from nagori.core.relevance import OtherLanguage, Query
from nagori.core.storage_types import AppliedPosition, Batch, LogEntry, Owner
from nagori.errors import Conflict, InvalidInput
from nagori.language.tokenizer import query_tokens
from nagori.protocols import Store
from nagori.stores.memory import MemoryStore
from nagori.testing.random_memories import (
    ASKERS,
    BIRTH,
    EVERYTHING,
    FILTERS,
    ME,
    OTHER,
    WORDS,
    another_day,
    ids_with_words,
    live,
    memory,
    nearest,
    put,
    random_vector,
    turn,
    vector,
)

RULES = (
    CycleRules(),
    CycleRules(compression=Compression(min_population=3)),
    CycleRules(retention=Retention(law="weekly"), capacity=Capacity(limit=5)),
    CycleRules(weekly=Weekly(boost_mode="multiplicative"), retention=Retention(law="weekly")),
    CycleRules(archive=Archive(auto_delete_enabled=True, retention_days=1, grace_days=0)),
)
TURN_FILTERS = (
    TurnFilter(),
    TurnFilter(session="s1"),
    TurnFilter(pending=True, first=3),
    TurnFilter(pending=True, last=3),
    TurnFilter(after=10, session="s2", last=5),
    TurnFilter(seqs=tuple(range(0, 60, 3)), pending=True),
    TurnFilter(last=0),
)


ITEM_FILTERS = (
    ItemFilter(),
    ItemFilter(("a",), order="last"),
    ItemFilter(("a", "b"), order="newest", limit=2, offset=1),
    ItemFilter(valid_at=BIRTH + timedelta(hours=50)),
    ItemFilter(expired_at=BIRTH + timedelta(hours=50)),
)


class StoreContract:
    """The promises. Override the fixture `store`."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        raise NotImplementedError("give your engine's store here")

    # committing

    def test_a_new_space_starts_at_the_beginning(self, store: Store) -> None:
        assert store.applied(ME.owner) == AppliedPosition()

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
            appraised_by="a model",
            keep_until=BIRTH + timedelta(days=90),
        )
        put(store, rich)
        assert store.get(ME, ["mem_a", "nobody"]) == [rich]
        assert store.get(Scope(user="me", agent="a"), ["mem_a"]) == [rich]
        assert store.find(ME) == [rich]

    def test_a_commit_moves_the_position(self, store: Store) -> None:
        at = AppliedPosition(3, 0xFFFFFFFF, "the journal's name")
        store.commit(ME.owner, Batch(before=0, after=at, memories=[memory()]))
        assert store.applied(ME.owner) == at
        assert store.applied(OTHER.owner) == AppliedPosition()

    def test_a_commit_on_top_of_something_else_is_refused_whole(self, store: Store) -> None:
        put(store, memory())
        stale = Batch(before=0, after=AppliedPosition(9), memories=[memory("mem_b")], turns=[turn(9)])
        with pytest.raises(Conflict):
            store.commit(ME.owner, stale)
        assert store.get(ME, ["mem_b"]) == []
        assert store.turns(ME.owner, TurnFilter()) == []
        assert store.applied(ME.owner) == AppliedPosition(1)

    def test_a_commit_with_one_bad_vector_changes_nothing(self, store: Store) -> None:
        put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
        with pytest.raises(InvalidInput, match="dimensions"):
            put(store, memory("mem_b", "words of their own"), vectors={"mem_b": vector(1, size=16)})
        assert store.get(ME, ["mem_b"]) == []
        assert ids_with_words(store, query_tokens("words of their own")) == set()
        assert store.applied(ME.owner).seq == 1

    def test_a_later_commit_replaces_a_memory(self, store: Store) -> None:
        put(store, memory())
        put(store, memory(content="The kettle is broken.", version=2))
        [present] = store.get(ME, ["mem_a"])
        assert present.text.content == "The kettle is broken."
        assert present.version == 2

    # finding

    def test_get_keeps_the_order_asked_for_and_leaves_out_the_unknown(self, store: Store) -> None:
        put(store, memory("mem_a"), memory("mem_b", forgotten_at=BIRTH))
        assert [m.id for m in store.get(ME, ["mem_b", "nobody", "mem_a"])] == ["mem_b", "mem_a"]

    @pytest.mark.parametrize("oldest_first", [False, True])
    def test_find_goes_by_age_and_pages_without_gaps(self, store: Store, oldest_first: bool) -> None:
        put(store, *(memory(f"mem_{n}", created=BIRTH + timedelta(hours=n // 2)) for n in range(7)))
        seen: list[Memory] = []
        last = None
        while page := store.find(ME, limit=3, older_than=last, oldest_first=oldest_first):
            seen += page
            last = page[-1]
        newest_first = [f"mem_{n}" for n in range(6, -1, -1)]
        assert [m.id for m in seen] == (newest_first[::-1] if oldest_first else newest_first)

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
        for prefix, ids in (("mem_ab", {"mem_abc", "mem_abd"}), ("%", set()), ("mem_x", {"mem_x"})):
            assert {m.id for m in store.find(ME, Filter(prefix=prefix))} == ids

    def test_those_without_a_vector_are_found_by_the_model(self, store: Store) -> None:
        put(store, memory("mem_a", "a"), memory("mem_b", "b"), vectors={"mem_a": vector(1, 0, 0)})
        assert [m.id for m in store.find(ME, Filter(unembedded="m3"))] == ["mem_b"]
        assert len(store.find(ME, Filter(unembedded="unheard of"))) == 2

    def test_turns_that_only_rules_have_appraised_wait_oldest_first(self, store: Store) -> None:
        said, day = Source(session="s", turn=1), timedelta(days=1)
        put(
            store,
            memory("mem_new", source=said, created=BIRTH + day),
            memory("mem_a", source=said),
            memory("mem_b", source=said),
            memory("mem_old", source=said, created=BIRTH - day),
            memory("mem_by_hand"),
            memory("mem_judged", source=said, appraised_by="a model"),
            memory("mem_faded", source=said, level=Level.SUMMARY),
            memory("mem_forgotten", source=said, forgotten_at=BIRTH),
            memory("mem_corrected", source=said, superseded_by="mem_a"),
        )
        put(store, memory("mem_theirs", source=said), scope=OTHER)

        def waiting(limit: int) -> list[str]:
            filter = Filter(unappraised=True, since=BIRTH)
            return [m.id for m in store.find(ME, filter, limit=limit, oldest_first=True)]

        assert waiting(10) == ["mem_a", "mem_b", "mem_new"]
        assert waiting(1) == ["mem_a"]

    def test_a_filter_narrows_every_way_of_finding(self, store: Store) -> None:
        put(
            store,
            memory("mem_a", "tea in spring", kind=Kind.FACT, source=Source(session="s1")),
            memory("mem_b", "tea in autumn", created=BIRTH + timedelta(days=200), protected=True),
            memory("mem_c", "tea in winter", category=Category.WORK, level=Level.TRACE),
            vectors={f"mem_{x}": vector(1, 0, n) for n, x in enumerate("abc")},
        )
        trace, work = frozenset({Level.TRACE}), frozenset({Category.WORK})
        narrow = {
            "mem_a": [Filter(kinds=frozenset({Kind.FACT})), Filter(session="s1"), Filter(prefix="mem_a")],
            "mem_b": [Filter(since=BIRTH + timedelta(days=1)), Filter(protected=True)],
            "mem_c": [Filter(levels=trace), Filter(categories=work)],
        }
        for id, filters in narrow.items():
            for filter in filters:
                assert [m.id for m in store.find(ME, filter)] == [id]
                assert ids_with_words(store, "tea", filter=filter) == {id}
                assert nearest(store, vector(1, 0, 0), filter=filter) == [id]
        assert {m.id for m in store.find(ME, Filter(until=BIRTH + timedelta(days=1)))} == {"mem_a", "mem_c"}

    # candidates

    def test_words_find_the_memory_that_says_them(self, store: Store) -> None:
        put(store, memory("mem_a", "The staging server is called Heron."), memory("mem_b", "Lunch was good."))
        assert ids_with_words(store, query_tokens("which server is staging?")) == {"mem_a"}

    def test_two_character_japanese_words_are_found(self, store: Store) -> None:
        assert {"京都", "会議"} <= set(query_tokens("京都の会議"))
        put(store, memory("mem_a", "来週は京都へ出張です。"), memory("mem_b", "昨日は東京で会議でした。"))
        assert ids_with_words(store, "京都") == {"mem_a"}
        assert ids_with_words(store, "会議") == {"mem_b"}

    def test_a_speaker_and_keywords_are_words_too(self, store: Store) -> None:
        put(store, memory("mem_a", "Yes.", source=Source(speaker="Haruka"), keywords=("budget",)))
        assert ids_with_words(store, query_tokens("Haruka")) == {"mem_a"}
        assert ids_with_words(store, query_tokens("budget")) == {"mem_a"}

    def test_old_words_no_longer_find_a_changed_memory(self, store: Store) -> None:
        put(store, memory(content="alpha"))
        put(store, memory(content="omega", version=2))
        assert ids_with_words(store, "alpha") == set()
        assert ids_with_words(store, "omega") == {"mem_a"}

    def test_hostile_words_are_only_words(self, store: Store) -> None:
        put(store, memory())
        for words in (['"'], ["NEAR("], ["a* OR b"], ["'; DROP TABLE memory; --"], [""], []):
            assert ids_with_words(store, words) == set()

    def test_candidates_say_where_words_stand_and_sketch_what_they_name(self, store: Store) -> None:
        source = Source("s1", 3, "Aki")
        put(
            store,
            memory("mem_a", "tea tea kettle?", source=source),
            memory("mem_b", "tea in autumn", forgotten_at=BIRTH),
            memory("mem_c", "nothing of the kind"),
            vectors={"mem_c": vector(1, 0, 0)},
        )
        query = Query(["tea", "kettl", "absent", ""], vector(1, 0, 0), "m3", 5)
        evidence = store.candidates(ME, query)
        assert {word: dict(where) for word, where in evidence.places.items()} == {
            "tea": {"mem_a": 2},
            "kettl": {"mem_a": 1},
        }
        assert dict(evidence.cosines) == pytest.approx({"mem_c": 1.0}, abs=1e-6)
        assert set(evidence.infos) == {"mem_a", "mem_c"}
        sketch = evidence.infos["mem_a"]
        assert (sketch.session, sketch.turn, sketch.speaker, bool(sketch.asks)) == ("s1", 3, "Aki", True)
        assert (evidence.total, evidence.asked) == (3, 3)

    def test_candidates_need_no_vectors_and_no_memories(self, store: Store) -> None:
        assert store.candidates(ME, Query(["tea"])).infos == {}
        put(store, memory("mem_a", "tea"))
        stranger = Query(["tea"], vector(1, size=16), "unknown model", 5)
        assert set(store.candidates(ME, stranger).infos) == {"mem_a"}

    def test_of_a_question_in_two_languages_the_nearer_vector_counts(self, store: Store) -> None:
        memories = [memory(f"mem_{name}", f"tea {name}") for name in "abc"]
        vectors = {"mem_a": vector(1, 0, 0), "mem_b": vector(0, 1, 0), "mem_c": vector(0, 0, 1)}
        put(store, *memories, vectors=vectors)
        other = OtherLanguage(vector(0, 1, 0), -0.25)
        evidence = store.candidates(ME, Query([], vector(1, 0, 0), "m3", 2, other=other))
        assert dict(evidence.cosines) == pytest.approx({"mem_a": 1.0, "mem_b": 0.75}, abs=1e-6)

    def test_a_bad_vector_of_a_question_is_refused(self, store: Store) -> None:
        put(store, memory(), vectors={"mem_a": vector(1, 0, 0)})
        bad = vector(1, size=16)
        for query in (
            Query(["tea"], bad, "m3"),
            Query(["tea"], vector(1, 0, 0), "m3", other=OtherLanguage(bad, 0.0)),
        ):
            with pytest.raises(InvalidInput, match="dimensions"):
                store.candidates(ME, query)

    # relations and history

    def test_relations_are_read_from_both_ends(self, store: Store) -> None:
        relation = Relation("mem_a", "mem_b", RelationType.CONTINUES)
        put(store, memory("mem_a"), memory("mem_b"), links={relation: True})
        assert store.relations(ME, ["mem_a"]) == store.relations(ME, ["mem_b"]) == [relation]
        put(store, links={relation: False})
        assert store.relations(ME, ["mem_a"]) == []

    def test_the_log_says_what_touched_a_memory(self, store: Store) -> None:
        put(store, memory("mem_a"), memory("mem_b"))
        put(store, memory("mem_a", version=2))
        assert [entry.seq for entry in store.history(ME.owner, "mem_a")] == [1, 2]
        assert [entry.seq for entry in store.history(ME.owner, "mem_a", limit=1)] == [2]
        assert store.history(ME.owner, "mem_b") == [LogEntry(1, BIRTH, "formed", ("mem_a", "mem_b"))]
        assert [entry.seq for entry in store.history(ME.owner)] == [2, 1]
        assert [entry.seq for entry in store.history(ME.owner, limit=1)] == [2]
        assert store.history(OTHER.owner) == []

    def test_an_event_that_touched_nothing_is_not_in_the_log(self, store: Store) -> None:
        put(store, log=[LogEntry(1, BIRTH, "state_changed", ())])
        assert store.history(ME.owner) == []

    # turns

    def test_turns_come_back_unchanged_in_the_order_of_their_events(self, store: Store) -> None:
        rich = RecordedTurn(
            *("turn_x", 7, BIRTH, "s1", "assistant", "会議は３時です 🍵", 12, "Aki", "p", "a", "coder"),
            *("host", "ref-1", "/tmp/log.jsonl", "file:///x", True),  # noqa: S108 - only a name
        )
        put(store, turns=[rich, turn(3, index=0)])
        assert store.turns(ME.owner, TurnFilter()) == [turn(3, index=0), rich]
        assert store.turns(OTHER.owner, TurnFilter()) == []

    def test_a_turn_without_an_index_gets_the_next_one_of_its_session(self, store: Store) -> None:
        put(store, turns=[turn(1), turn(2, session="s2"), turn(3), turn(4, index=9)])
        put(store, turns=[turn(6), turn(7, session="s2"), turn(8, index=2), turn(9)])
        places = [(t.session, t.index) for t in store.turns(ME.owner, TurnFilter())]
        first = [("s1", 0), ("s2", 0), ("s1", 1), ("s1", 9)]
        assert places == [*first, ("s1", 10), ("s2", 1), ("s1", 2), ("s1", 11)]

    def test_a_turn_whose_id_is_known_is_left_out(self, store: Store) -> None:
        put(store, turns=[turn(1, "first", id="turn_x"), turn(2, "again", id="turn_x"), turn(3)])
        put(store, turns=[turn(4, "and again", id="turn_x")])
        put(store, turns=[turn(1, "theirs", id="turn_x")], scope=OTHER)
        assert [t.text for t in store.turns(ME.owner, TurnFilter())] == ["first", "said"]
        assert [t.index for t in store.turns(ME.owner, TurnFilter())] == [0, 1]
        assert [t.text for t in store.turns(OTHER.owner, TurnFilter())] == ["theirs"]

    def test_turns_wait_until_they_are_processed(self, store: Store) -> None:
        put(store, turns=[turn(1), turn(2), turn(3, processed=True), turn(4), turn(5)])
        put(store, processed=[(2, 3), (5, 5)])

        def seqs(**filter: Any) -> list[int]:
            return [t.seq for t in store.turns(ME.owner, TurnFilter(**filter))]

        assert seqs(pending=True) == [1, 4]
        assert seqs() == [1, 2, 3, 4, 5]
        assert [t.processed for t in store.turns(ME.owner, TurnFilter())] == [False, True, True, False, True]
        put(store, turns=[turn(7)], processed=[(6, 7)])
        assert seqs(pending=True) == [1, 4]

    def test_turns_are_found_by_session_event_and_number(self, store: Store) -> None:
        put(store, turns=[turn(1), turn(2, session="s2"), turn(3), turn(4), turn(5, session="s2")])

        def seqs(**filter: Any) -> list[int]:
            return [t.seq for t in store.turns(ME.owner, TurnFilter(**filter))]

        assert seqs(session="s2") == [2, 5]
        assert seqs(after=3) == [4, 5]
        assert seqs(last=2) == [4, 5]
        assert seqs(first=2) == [1, 2]
        assert seqs(session="s1", last=2) == [3, 4]
        assert seqs(session="s1", first=2) == [1, 3]
        assert seqs(seqs=(5, 1, 99)) == [1, 5]
        assert seqs(ids=("turn_4", "turn_99", "turn_2")) == [2, 4]
        assert seqs(seqs=()) == seqs(last=0) == seqs(first=0) == seqs(ids=()) == []

    def test_a_redacted_turn_is_gone(self, store: Store) -> None:
        put(store, turns=[turn(1, "a secret"), turn(2, "no secret")])
        put(store, redacted_turns=[1, 99])
        assert [t.text for t in store.turns(ME.owner, TurnFilter())] == ["no secret"]

    def test_origins_tell_which_memories_share_turns(self, store: Store) -> None:
        pairs = [("mem_a", 1), ("mem_a", 2), ("mem_b", 2), ("mem_b", 3), ("mem_c", 4)]
        put(store, origins=[*pairs, ("mem_a", 1)])
        put(store, origins=[("mem_z", 1)], scope=OTHER)
        assert store.origins(ME.owner, ["mem_a"]) == pairs[:4]
        assert store.origins(ME.owner, ["mem_c", "nobody"]) == [("mem_c", 4)]
        assert store.origins(ME.owner, []) == []

    # state

    @pytest.mark.parametrize("value", ["text", 7, 0.5, True, False, [], {}, {"deep": [1, None, "京"]}, ""])
    def test_state_is_plain_data(self, store: Store, value: object) -> None:
        put(store, state={"key": value, "other": 1})
        assert store.state(ME.owner, "key") == value
        assert store.state(ME.owner, "other") == 1
        assert store.state(OTHER.owner, "key") is None

    def test_state_is_replaced_and_removed(self, store: Store) -> None:
        put(store, state={"key": {"a": 1}})
        store.state(ME.owner, "key")["a"] = 2  # what is given out is a copy
        assert store.state(ME.owner, "key") == {"a": 1}
        put(store, state={"key": "new"})
        assert store.state(ME.owner, "key") == "new"
        put(store, state={"key": None, "never there": None})
        assert store.state(ME.owner, "key") is None

    def test_everybody_of_whom_something_was_applied_is_known(self, store: Store) -> None:
        assert store.known_owners() == []
        for user in ("b", "a"):
            put(store, memory(), scope=Scope(user=user))
        store.lease(("local", "c"), "cycle", "me", 0.0, 1.0)
        assert store.known_owners() == [("local", "a"), ("local", "b")]

    def test_spaces_are_due_by_a_text_in_their_state(self, store: Store) -> None:
        for user, value in (("a", "2026-01-05"), ("b", "2026-01"), ("c", 7), ("d", "2027"), ("e", 'q"')):
            put(store, state={"due": value, "other": "2020"}, scope=Scope(user=user))
        put(store, memory(), scope=Scope(user="f"))
        assert store.owners_due("due", "2026-01-05") == [("local", "b")]
        assert store.owners_due("due", "2026-02") == [("local", "a"), ("local", "b")]
        assert store.owners_due("due", "q") == [("local", "a"), ("local", "b"), ("local", "d")]
        assert store.owners_due("nothing", "9") == []
        put(store, state={"due": None}, scope=Scope(user="b"))
        assert store.owners_due("due", "2026-02") == [("local", "a")]

    # items

    def test_an_item_comes_back_unchanged_until_it_is_deleted(self, store: Store) -> None:
        item = Item(("a", "名残"), "k", '{"x":"\\u0000 🍵"}', BIRTH, BIRTH + timedelta(microseconds=1))
        put(store, items={item.id: item})
        assert store.items(ME.owner, ItemFilter(ids=(item.id, "unknown"))) == [item]
        other = Item(item.namespace, item.key, "[]", BIRTH, BIRTH + timedelta(days=1))
        put(store, items={item.id: other})
        assert store.items(ME.owner, ItemFilter()) == [other]
        assert store.items(OTHER.owner, ItemFilter()) == []
        put(store, items={item.id: None})
        assert store.items(ME.owner, ItemFilter()) == []

    def test_items_are_listed_by_labels_not_by_letters(self, store: Store) -> None:
        places = [("a",), ("a", "b"), ("ab",), ("a", "b", "c"), ("b", "a"), ("a%",), ("\x01", "\x02"), ()]
        items = [Item(labels, "k", "1", BIRTH, BIRTH) for labels in places]
        put(store, items={item.id: item for item in items})
        for prefix in (*places, ("nobody",), ("a", "")):
            meant = sorted(labels for labels in places if labels[: len(prefix)] == prefix)
            assert [item.namespace for item in store.items(ME.owner, ItemFilter(prefix))] == meant
            assert store.item_namespaces(ME.owner, prefix) == meant
        assert store.item_namespaces(OTHER.owner) == []

    def test_items_come_in_the_order_and_the_portion_asked_for(self, store: Store) -> None:
        times = [BIRTH + timedelta(hours=hour) for hour in (2, 9, 5)]
        items = [Item(("s",), f"{n}", "1", BIRTH, time) for n, time in enumerate(times)]
        put(store, items={item.id: item for item in items})

        def keys(**filter: Any) -> str:
            return "".join(item.key for item in store.items(ME.owner, ItemFilter(**filter)))

        assert (keys(), keys(order="last"), keys(order="newest")) == ("012", "210", "120")
        assert (keys(limit=2), keys(offset=2), keys(limit=1, offset=1, order="last")) == ("01", "2", "1")
        assert keys(limit=0) == keys(offset=9) == ""

    def test_an_item_expires_and_is_renewed(self, store: Store) -> None:
        hour = timedelta(hours=1)
        lasting = Item(("s",), "lasting", "1", BIRTH, BIRTH)
        brief = Item(("s",), "brief", "1", BIRTH, BIRTH, hour, BIRTH + hour)
        put(store, items={item.id: item for item in (lasting, brief)})

        def keys(**filter: Any) -> list[str]:
            return [item.key for item in store.items(ME.owner, ItemFilter(**filter))]

        assert keys(valid_at=BIRTH) == ["brief", "lasting"]
        assert keys(valid_at=BIRTH + hour) == ["lasting"]
        assert keys(expired_at=BIRTH + hour) == ["brief"]
        put(store, renewals={item.id: BIRTH + hour for item in (lasting, brief)})
        assert keys(expired_at=BIRTH + hour) == []
        assert keys(expired_at=BIRTH + 2 * hour) == ["brief"]

    # leases

    def test_a_lease_is_one_holders_until_it_ends(self, store: Store) -> None:
        assert store.lease(ME.owner, "cycle", "me", 100.0, 160.0) is None
        assert store.lease(ME.owner, "cycle", "you", 159.9, 200.0) == "me"
        assert store.lease(ME.owner, "other work", "you", 120.0, 200.0) is None
        assert store.lease(OTHER.owner, "cycle", "you", 120.0, 200.0) is None
        assert store.lease(ME.owner, "cycle", "you", 160.0, 200.0) is None
        assert store.lease(ME.owner, "cycle", "me", 170.0, 300.0) == "you"

    def test_a_lease_is_renewed_by_its_holder_and_given_back(self, store: Store) -> None:
        assert store.lease(ME.owner, "cycle", "me", 100.0, 160.0) is None
        assert store.lease(ME.owner, "cycle", "me", 150.0, 220.0) is None
        assert store.lease(ME.owner, "cycle", "you", 200.0, 300.0) == "me"
        assert store.lease(ME.owner, "cycle", "you", 200.0, 0.0) == "me"
        assert store.lease(ME.owner, "cycle", "me", 201.0, 201.0) is None
        assert store.lease(ME.owner, "cycle", "you", 201.0, 300.0) is None

    def test_a_lease_outlives_a_rebuild_and_needs_no_memories(self, store: Store) -> None:
        assert store.lease(ME.owner, "cycle", "me", 100.0, 160.0) is None
        assert store.applied(ME.owner) == AppliedPosition()
        with store.rebuilding(ME.owner):
            put(store, memory())
        assert store.lease(ME.owner, "cycle", "you", 120.0, 200.0) == "me"

    def test_of_many_at_once_one_gets_the_lease(self, store: Store) -> None:
        answers: list[str | None] = []
        _in_threads(8, lambda n: answers.append(store.lease(ME.owner, "cycle", f"w{n}", 1.0, 2.0)))
        assert answers.count(None) == 1
        assert len(set(answers)) == 2

    # erasing

    def test_nothing_is_left_of_an_erased_memory_but_its_log_and_origins(self, store: Store) -> None:
        link, other = (
            Relation(*ends, RelationType.REFERENCES) for ends in (("mem_a", "mem_b"), ("mem_b", "mem_a"))
        )
        put(
            store,
            memory("mem_a", "a secret", protected=True),
            memory("mem_b", "no secret"),
            links={link: True, other: True},
            vectors={"mem_a": vector(1, 0, 0)},
            origins=[("mem_a", 1), ("mem_b", 1)],
        )
        put(store, log=[LogEntry(2, BIRTH, "deleted", ("mem_a",))], erased=["mem_a", "nobody"])
        assert store.get(ME, ["mem_a"]) == []
        assert [m.id for m in store.find(ME, EVERYTHING)] == ["mem_b"]
        assert ids_with_words(store, "secret", filter=EVERYTHING) == {"mem_b"}
        assert store.candidates(ME, Query(["secret"])).total == 1
        assert nearest(store, vector(1, 0, 0), filter=EVERYTHING) == []
        assert store.relations(ME, ["mem_a", "mem_b"]) == []
        assert [entry.type for entry in store.history(ME.owner, "mem_a")] == ["formed", "deleted"]
        assert store.origins(ME.owner, ["mem_a"]) == [("mem_a", 1), ("mem_b", 1)]
        assert store.count(ME).total == 1
        assert store.check() == []

    def test_of_a_memory_that_was_erased_on_demand_the_log_keeps_the_erasure_alone(
        self, store: Store
    ) -> None:
        put(store, memory("mem_a"), memory("mem_b"), origins=[("mem_a", 1), ("mem_b", 1)])
        erasure = LogEntry(2, BIRTH, "erased", ("mem_a",))
        put(store, log=[erasure], erased=["mem_a"], erasures=[("mem_a", 2)])
        assert store.history(ME.owner, "mem_a") == [erasure]
        assert store.history(ME.owner) == [erasure, LogEntry(1, BIRTH, "formed", ("mem_b",))]
        assert store.origins(ME.owner, ["mem_a", "mem_b"]) == [("mem_b", 1)]
        put(store, memory("mem_a"), origins=[("mem_a", 3)])
        assert [entry.seq for entry in store.history(ME.owner, "mem_a")] == [2, 3]
        assert store.origins(ME.owner, ["mem_a"]) == [("mem_a", 3)]

    def test_an_erased_memory_can_come_again(self, store: Store) -> None:
        put(store, memory(content="old"))
        put(store, erased=["mem_a"])
        put(store, memory(content="new"))
        assert ids_with_words(store, "new") == {"mem_a"}
        assert ids_with_words(store, "old") == set()
        assert store.check() == []

    @pytest.mark.parametrize("alone", [False, True])
    def test_nothing_is_left_of_an_erased_owner(self, store: Store, alone: bool) -> None:
        link = Relation("mem_a", "mem_b", RelationType.REFERENCES)
        for scope in (ME,) if alone else (ME, OTHER):
            put(
                store,
                memory("mem_a", "a secret", protected=True),
                memory("mem_b", "no secret"),
                scope=scope,
                links={link: True},
                vectors={"mem_a": vector(1, 0, 0), "mem_b": vector(0, 1, 0)},
                turns=[turn(1)],
                origins=[("mem_a", 1), ("mem_b", 1)],
                state={"cycle": "2026"},
            )
            store.lease(scope.owner, "cycle", "somebody", 1.0, 9e9)
        while store.erase(ME.owner, 1):
            pass
        _compare_owners(store, MemoryStore(), ME.owner)
        assert store.known_owners() == ([] if alone else [OTHER.owner])
        assert store.owners_due("cycle", "9") == ([] if alone else [OTHER.owner])
        assert store.lease(ME.owner, "cycle", "me", 2.0, 3.0) is None
        assert store.vectors.models(ME.owner).counts == {}
        assert store.vectors.active(ME.owner) is None
        assert store.check() == []
        if not alone:
            assert ids_with_words(store, "secret", OTHER) == {"mem_a", "mem_b"}
            assert [t.seq for t in store.turns(OTHER.owner, TurnFilter())] == [1]
            assert store.lease(OTHER.owner, "cycle", "me", 2.0, 3.0) == "somebody"

    def test_an_erased_owner_can_start_again(self, store: Store) -> None:
        put(store, memory(content="old"), vectors={"mem_a": vector(1, 0, 0)})
        put(store, memory(content="theirs"), scope=OTHER)
        while store.erase(ME.owner, 100):
            pass
        assert store.erase(("local", "nobody"), 100) == 0
        put(store, memory(content="new"), vectors={"mem_a": vector(0, 1, 0)})
        assert ids_with_words(store, "new") == {"mem_a"}
        assert ids_with_words(store, "old") == set()
        assert nearest(store, vector(0, 1, 0)) == ["mem_a"]
        assert store.check() == []

    # counting

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
        link = Relation("mem_a", "mem_b", RelationType.REFERENCES)
        put(
            store,
            memory("mem_a", "my secret plan"),
            memory("mem_b"),
            links={link: True},
            vectors={"mem_a": vector(1, 0, 0)},
            turns=[turn(1)],
            origins=[("mem_a", 1)],
            state={"key": 1},
        )
        for stranger in (OTHER, Scope(user="me", tenant="elsewhere")):
            assert store.get(stranger, ["mem_a"]) == []
            assert store.find(stranger, EVERYTHING) == []
            assert store.find(stranger, Filter(prefix="mem", unembedded="m3")) == []
            assert ids_with_words(store, "secret", stranger) == set()
            assert nearest(store, vector(1, 0, 0), stranger) == []
            assert store.candidates(stranger, Query(["secret"], vector(1, 0, 0), "m3")).cosines == {}
            assert store.relations(stranger, ["mem_a"]) == []
            assert store.history(stranger.owner) == store.history(stranger.owner, "mem_a") == []
            assert store.turns(stranger.owner, TurnFilter()) == []
            assert store.origins(stranger.owner, ["mem_a"]) == []
            assert store.state(stranger.owner, "key") is None
            assert store.count(stranger, "m3").total == 0
            assert store.measure(stranger, BIRTH, Tiers()).kinds == {}
            assert store.cycle_rows(stranger.owner, CycleRules(), BIRTH).due == []

    def test_the_same_id_in_two_spaces_is_two_memories(self, store: Store) -> None:
        put(store, memory(content="mine"))
        put(store, memory(content="theirs"), scope=OTHER)
        assert store.get(ME, ["mem_a"])[0].text.content == "mine"
        assert store.get(OTHER, ["mem_a"])[0].text.content == "theirs"
        put(store, erased=["mem_a"])
        assert store.get(OTHER, ["mem_a"])[0].text.content == "theirs"

    def test_a_project_sees_its_own_and_what_belongs_to_all(self, store: Store) -> None:
        put(store, memory("mem_a"), memory("mem_p", project="p"), memory("mem_q", project="q"))
        project = Scope(user="me", project="p")
        assert {m.id for m in store.find(project)} == {"mem_a", "mem_p"}
        assert [m.id for m in store.get(project, ["mem_q", "mem_p"])] == ["mem_p"]
        assert {m.id for m in store.find(ME)} == {"mem_a", "mem_p", "mem_q"}

    def test_agents_see_by_privacy_and_the_user_sees_all(self, store: Store) -> None:
        mine = {"agent": "a1", "role": "coder"}
        put(
            store,
            memory("mem_private", privacy=Privacy.PRIVATE, **mine),
            memory("mem_role", privacy=Privacy.AGENT_ONLY, **mine),
            memory("mem_public", privacy=Privacy.PUBLIC, **mine),
            memory("mem_own", privacy=Privacy.PRIVATE),
        )

        def seen(**who: Any) -> set[str]:
            scope = Scope(user="me", **who)
            ids = [f"mem_{name}" for name in ("private", "role", "public", "own")]
            found = {m.id.removeprefix("mem_") for m in store.find(scope)}
            assert found == {m.id.removeprefix("mem_") for m in store.get(scope, ids)}
            return found

        assert seen() == {"private", "role", "public", "own"}
        assert seen(unnamed_agent=True) == {"public"}
        assert seen(agent="a1", role="coder") == {"private", "role", "public"}
        assert seen(agent="a2", role="coder") == {"role", "public"}
        assert seen(agent="a3", role="critic") == {"public"}

    # upkeep

    def test_a_sound_store_has_no_faults(self, store: Store) -> None:
        put(store, memory(), vectors={"mem_a": vector(1, 0, 0)}, turns=[turn(1)])
        assert store.check() == []

    def test_a_rebuilt_space_holds_what_was_put_in_and_the_vectors_of_its_texts(self, store: Store) -> None:
        put(
            store,
            memory("mem_a", "stays"),
            memory("mem_b", "goes"),
            vectors={"mem_a": vector(1, 0, 0)},
            turns=[turn(1)],
            origins=[("mem_b", 1)],
            state={"key": 1},
        )
        with store.rebuilding(ME.owner):
            assert store.applied(ME.owner) == AppliedPosition()
            assert store.find(ME, EVERYTHING) == []
            put(store, memory("mem_a", "stays"), turns=[turn(1, "anew")])
        assert [m.id for m in store.find(ME)] == ["mem_a"]
        assert ids_with_words(store, ["goe", "goes"]) == set()
        assert nearest(store, vector(1, 0, 0)) == ["mem_a"]
        assert [t.text for t in store.turns(ME.owner, TurnFilter())] == ["anew"]
        assert store.origins(ME.owner, ["mem_b"]) == []
        assert store.state(ME.owner, "key") is None
        assert store.applied(ME.owner) == AppliedPosition(1)
        assert store.check() == []

    def test_a_rebuild_leaves_other_spaces_alone(self, store: Store) -> None:
        theirs: dict[str, Any] = {"turns": [turn(1)], "origins": [("mem_a", 1)], "state": {"key": 1}}
        put(store, memory(content="mine"))
        put(store, memory(content="theirs"), scope=OTHER, vectors={"mem_a": vector(1, 0, 0)}, **theirs)
        with store.rebuilding(ME.owner):
            pass
        assert store.find(ME) == []
        assert ids_with_words(store, "their", OTHER) == {"mem_a"}
        assert nearest(store, vector(1, 0, 0), OTHER) == ["mem_a"]
        assert len(store.turns(OTHER.owner, TurnFilter())) == 1
        assert store.origins(OTHER.owner, ["mem_a"]) == [("mem_a", 1)]
        assert store.state(OTHER.owner, "key") == 1
        assert store.history(OTHER.owner) != []

    def test_others_see_the_old_state_until_a_rebuild_ends(self, store: Store) -> None:
        put(store, memory(content="old"), state={"key": 1})
        answers: list[object] = []

        def look(n: int) -> None:
            answers.append([m.text.content for m in store.find(ME)])
            answers.append((store.state(ME.owner, "key"), store.applied(ME.owner).seq))

        with store.rebuilding(ME.owner):
            put(store, memory(content="new"))
            put(store, memory("mem_b"))
            _in_threads(1, look)
        look(2)
        assert answers == [["old"], (1, 1), ["The kettle whistles at noon.", "new"], (None, 2)]

    def test_a_rebuild_that_fails_leaves_everything_as_it_was(self, store: Store) -> None:
        put(store, memory(content="precious"), vectors={"mem_a": vector(1, 0, 0)}, turns=[turn(1)])
        for error in (RuntimeError, OSError, OverflowError, ValueError):  # and it is told as it is
            with pytest.raises(error, match="the light went out"):
                _rebuild_half(store, error)
        assert ids_with_words(store, query_tokens("precious")) == {"mem_a"}
        assert nearest(store, vector(1, 0, 0)) == ["mem_a"]
        assert len(store.turns(ME.owner, TurnFilter())) == 1
        assert store.applied(ME.owner).seq == 1

    # everything together

    @pytest.mark.parametrize("seed", range(4))
    def test_words_that_come_and_go_are_found_while_they_are_there(self, store: Store, seed: int) -> None:
        """Memories fade, are edited and come back, over and over; only what is left of them is found."""
        oracle, dice = MemoryStore(), random.Random(seed)
        words = [f"word{n}" for n in range(25)]
        lives = {f"mem_{n:02}": memory(f"mem_{n:02}", " ".join(dice.sample(words, 9))) for n in range(30)}
        put(store, *lives.values())
        put(oracle, *lives.values())
        for _ in range(60):
            few = [another_day(lives[id], words, dice) for id in dice.sample(sorted(lives), 7)]
            lives |= {m.id: m for m in few}
            put(store, *few)
            put(oracle, *few)
        assert store.get(ME, list(lives)) == list(lives.values())
        for word in words:
            ours, true = (each.candidates(ME, Query([word], filter=EVERYTHING)) for each in (store, oracle))
            assert ours.places == true.places
            assert ours.infos == true.infos
            assert ours.mean_tokens == pytest.approx(true.mean_tokens)
        assert store.check() == []

    @pytest.mark.parametrize("seed", range(8))
    def test_random_histories_agree_with_the_oracle(self, store: Store, seed: int) -> None:
        oracle, dice = MemoryStore(), random.Random(seed)
        live((store, oracle), dice)
        for scope in ASKERS:
            for filter in FILTERS:
                other = OtherLanguage(random_vector(dice), dice.uniform(-0.1, 0.1))
                query = Query(
                    WORDS, random_vector(dice), "m3", 99, filter, other if dice.random() < 0.5 else None
                )
                assert store.find(scope, filter) == oracle.find(scope, filter)
                ours, true = (each.candidates(scope, query) for each in (store, oracle))
                assert (ours.places, ours.infos) == (true.places, true.infos)
                assert (ours.total, ours.asked) == (true.total, true.asked)
                assert dict(ours.cosines) == pytest.approx(dict(true.cosines), abs=1e-5)
            ids = [f"mem_{n}" for n in range(12)]
            assert store.get(scope, ids) == oracle.get(scope, ids)
            assert store.relations(scope, ids) == oracle.relations(scope, ids)
            assert store.count(scope, "m3") == oracle.count(scope, "m3")
            _compare_owners(store, oracle, scope.owner)
            for day in (0, 7, 30):
                then = BIRTH + timedelta(days=day)
                assert store.measure(scope, then, Tiers()) == oracle.measure(scope, then, Tiers())
        assert store.owners_due("a", "2027") == oracle.owners_due("a", "2027")
        assert store.known_owners() == oracle.known_owners()
        assert store.check() == []


def _compare_owners(store: Store, oracle: Store, owner: Owner) -> None:
    """Everything that a space has beside its memories."""
    ids = [f"mem_{n}" for n in range(12)]
    assert store.applied(owner) == oracle.applied(owner)
    for filter in TURN_FILTERS:
        assert store.turns(owner, filter) == oracle.turns(owner, filter)
    for id in ids:
        assert store.origins(owner, [id]) == oracle.origins(owner, [id])
        assert store.history(owner, id, 3) == oracle.history(owner, id, 3)
    for items in ITEM_FILTERS:
        assert store.items(owner, items) == oracle.items(owner, items)
        assert store.item_namespaces(owner, items.prefix) == oracle.item_namespaces(owner, items.prefix)
    assert store.history(owner) == oracle.history(owner)
    assert store.history(owner, limit=5) == oracle.history(owner, limit=5)
    assert [store.state(owner, key) for key in "abc"] == [oracle.state(owner, key) for key in "abc"]
    for rules in RULES:
        assert _plan(store, owner, rules) == _plan(oracle, owner, rules)


def _plan(store: Store, owner: Owner, rules: CycleRules) -> tuple[object, list[tuple[str, str, str]]]:
    """What a night would do, as an engine shows it: the same, however little it shows."""
    now = BIRTH + timedelta(days=9)
    rows = store.cycle_rows(owner, rules, now)
    plan = plan_cycle(rows.due, rows.census, rules, now, rows.weakest)
    return rows.census, sorted((step.id, step.act, step.reason) for step in plan.steps)


def _rebuild_half(store: Store, error: type[Exception]) -> None:
    with store.rebuilding(ME.owner):
        put(store, memory(content="half"))
        raise error("the light went out")


def _in_threads(count: int, work: Callable[[int], object]) -> None:
    threads = [threading.Thread(target=work, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
