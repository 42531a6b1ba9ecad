"""Items: rows of other programs come back as they were given, are deleted whole, and are never touched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import examples

from nagori import Config, Nagori, Scope
from nagori.core.events import Event, fold
from nagori.core.in_memory_queries import update_items
from nagori.core.model import Item, item_id
from nagori.errors import InvalidInput
from nagori.services.key_value_items import ItemDelete, ItemPut, read_value, to_json
from nagori.testing.fakes import FrozenClock

SECRET = "sk-ant-api03-" + "a1B2c3D4" * 8
HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Nagori]:
    with Nagori.open(tmp_path, config=Config(), embedder=None, clock=clock) as opened:
        yield opened


def words_on_disk(memory: Nagori, words: str) -> bool:
    files = [path for path in memory.runtime.data_dir.rglob("*") if path.is_file()]
    return any(words.encode() in path.read_bytes() for path in files)


def test_a_value_comes_back_as_it_was_given_secrets_and_private_words_too(memory: Nagori) -> None:
    value = {"key": SECRET, "said": "<private>mine</private>", "deep": [None, True, 10**30, 0.1, {"": "\0"}]}
    memory.items.put(("a",), "k", value)
    item = memory.items.get(("a",), "k")
    assert item is not None
    assert read_value(item) == value
    assert list(read_value(item)) == list(value)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_any_json_survives(value: object) -> None:
    text = to_json(value)
    assert json.loads(text.encode()) == value
    assert "\0" not in text


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", {"x": object()}])
def test_what_json_cannot_hold_is_refused_and_nothing_is_written(memory: Nagori, value: object) -> None:
    with pytest.raises(InvalidInput, match="JSON"):
        memory.items.change(lambda: [ItemPut(("a",), "k", 1), ItemPut(("a",), "l", value)])
    assert memory.items.list() == []


@pytest.mark.parametrize("labels", ["ab", ("a", 1), ("\ud800",), None, {"a": 1}])
def test_a_wrong_namespace_is_refused_by_its_name(memory: Nagori, labels: object) -> None:
    with pytest.raises(InvalidInput, match="namespace"):
        memory.items.put(labels, "k", 1)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="namespace"):
        memory.items.list(labels)  # type: ignore[arg-type]


def test_a_written_item_keeps_the_time_of_its_first_writing(memory: Nagori, clock: FrozenClock) -> None:
    memory.items.put(("a",), "k", 1)
    first = clock.now()
    clock.forward(hours=1)
    memory.items.put(("a",), "k", 2)
    [item] = memory.items.list(("a",))
    assert (item.created, item.updated, read_value(item)) == (first, first + HOUR, 2)
    memory.items.delete(("a",), "k")
    memory.items.put(("a",), "k", 3)
    [item] = memory.items.list(("a",))
    assert item.created == first + HOUR


def test_changes_are_applied_in_their_order_and_together(memory: Nagori) -> None:
    memory.items.put(("a",), "k", 1)
    memory.items.change(
        lambda: [
            ItemDelete(("a",), "k"),
            ItemDelete(("a",), "unknown"),
            ItemPut(("a",), "k", 2),
            ItemPut(("a",), "l", 3),
            ItemDelete(("a",), "l"),
        ]
    )
    assert [(item.key, read_value(item)) for item in memory.items.list()] == [("k", 2)]
    assert memory.verify().sound


def test_an_expired_item_is_not_read_and_the_cycle_deletes_it(memory: Nagori, clock: FrozenClock) -> None:
    memory.items.put(("a",), "brief", "gone soon", ttl=HOUR)
    memory.items.put(("a",), "lasting", 1)
    clock.forward(hours=0.5)
    memory.items.renew(memory.items.list())
    clock.forward(hours=0.9)
    assert len(memory.items.list()) == 2
    clock.forward(hours=1)
    assert [item.key for item in memory.items.list()] == ["lasting"]
    assert memory.items.get(("a",), "brief") is None
    assert memory.items.get(("a",), "brief", expired=True) is not None
    memory.cycle()
    assert memory.items.get(("a",), "brief", expired=True) is None
    assert not words_on_disk(memory, "gone soon")


def test_reading_an_item_many_times_at_once_writes_nothing(memory: Nagori, clock: FrozenClock) -> None:
    memory.items.put(("a",), "k", 1, ttl=HOUR)
    before = memory.runtime.journal.last_seq(memory.scope.owner)
    clock.forward(seconds=35)
    memory.items.renew(memory.items.list())
    assert memory.runtime.journal.last_seq(memory.scope.owner) == before
    clock.forward(seconds=5)
    memory.items.renew(memory.items.list())
    assert memory.runtime.journal.last_seq(memory.scope.owner) == before + 1


def test_no_byte_of_a_deleted_item_is_left_after_the_cycle_and_a_later_one_stays(memory: Nagori) -> None:
    memory.items.put(("who@example.org",), "blue-key", {"said": "purple elephants"})
    memory.items.put(("who@example.org",), "blue-key", {"said": "green elephants"})
    memory.items.delete(("who@example.org",), "blue-key")
    memory.items.put(("a",), "k", {"said": "old tea"})
    memory.items.delete(("a",), "k")
    memory.items.put(("a",), "k", {"said": "new tea"})
    memory.cycle()
    for words in ("purple", "green elephants", "blue-key", "who@example.org", "old tea"):
        assert not words_on_disk(memory, words), words
    memory.rebuild()
    assert [read_value(item) for item in memory.items.list()] == [{"said": "new tea"}]
    assert memory.verify().sound


def test_nights_of_decay_and_another_user_change_nothing(memory: Nagori, clock: FrozenClock) -> None:
    memory.items.put(("a",), "k", {"said": "tea " * 500})
    before = memory.items.list()
    theirs = memory.with_scope(Scope(user="somebody else")).items
    assert theirs.list() == []
    theirs.put(("a",), "k", "mine")
    theirs.delete(("a",), "k")
    for _ in range(5):
        clock.forward(days=100)
        memory.cycle()
    assert memory.items.list() == before


def test_an_export_carries_items_and_importing_it_twice_adds_nothing(memory: Nagori, tmp_path: Path) -> None:
    memory.items.put(("a", "b"), "k", {"said": SECRET}, ttl=HOUR)
    memory.items.put(("a",), "l", None)
    lines = list(memory.export())
    with Nagori.open(tmp_path / "other", config=Config(), embedder=None, clock=memory.runtime.clock) as other:
        assert other.import_(lines).added == 2
        report = other.import_(lines)
        assert (report.added, report.known, report.faults) == (0, 2, [])
        assert other.items.list() == memory.items.list()
        assert list(other.export()) == lines


@pytest.mark.parametrize(
    "record",
    [
        "[]",
        "{}",
        '{"namespace":"ab","key":"k","value":"1","created":"2026-01-01T00:00:00Z"}',
        '{"namespace":["a"],"key":5,"value":"1","created":"2026-01-01T00:00:00Z"}',
        '{"namespace":["a"],"key":"k","value":1,"created":"2026-01-01T00:00:00Z"}',
        '{"namespace":["a"],"key":"k","value":"{","created":"2026-01-01T00:00:00Z"}',
        '{"namespace":["a"],"key":"k","value":"1","created":"2026-01-01"}',
        '{"namespace":["a"],"key":"k","value":"1","created":"2026-01-01T00:00:00Z","ttl":1e30}',
    ],
)
def test_a_bad_item_of_an_import_is_reported_and_left_out(memory: Nagori, record: str) -> None:
    report = memory.import_([f'{{"item":{record}}}'])
    assert (report.added, len(report.faults)) == (0, 1)
    assert memory.items.list() == []


def test_the_owner_alone_exports_items(memory: Nagori) -> None:
    memory.items.put(("a",), "k", 1)
    assert not any('"item"' in line for line in memory.with_scope(project="p").export())


def test_a_store_that_lost_an_item_is_not_sound_and_a_rebuild_brings_it_back(memory: Nagori) -> None:
    import apsw

    memory.items.put(("a",), "k", 1)
    db = apsw.Connection(str(memory.runtime.data_dir / "nagori.db"))
    db.execute("DELETE FROM item")
    db.close()
    assert not memory.verify().sound
    memory.rebuild()
    assert memory.verify().sound
    assert len(memory.items.list()) == 1


def test_two_places_never_share_an_id() -> None:
    places = [
        (("a", "b"), "c"),
        (("a",), "b\x1fc"),
        (("ab",), "c"),
        (("a",), "bc"),
        ((), "abc"),
        (("a:1",), "b"),
    ]
    assert len({item_id(*place) for place in places}) == len(places)


@examples(200)
@given(st.lists(st.tuples(st.sampled_from("pdr"), st.sampled_from("xyz")), max_size=12), st.integers(0, 12))
def test_folding_items_in_two_runs_is_folding_in_one(acts: list[tuple[str, str]], cut: int) -> None:
    start = FrozenClock().now()

    def event(n: int, act: str, key: str) -> Event:
        at, data = start + n * HOUR, {"items": [item_id(("s",), key)]}
        if act == "p":
            put = {"namespace": ["s"], "key": key, "value": str(n), "created": at.isoformat(), "ttl": 10**9}
            return Event("item_put", at, put)
        return Event("item_deleted" if act == "d" else "items_renewed", at, data)

    events = [event(n, *act) for n, act in enumerate(acts)]
    states: list[dict[str, Item]] = [{}, {}]
    for state, runs in zip(states, ([events], [events[:cut], events[cut:]]), strict=True):
        for run in runs:
            outcome = fold(run, {})
            update_items(state, outcome.items, outcome.renewals)
    assert states[0] == states[1]
