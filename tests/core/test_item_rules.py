"""Items of other programs: how they are selected, changed, renewed, checked and redacted."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nagori.core.event_redaction import without_words
from nagori.core.events import TO_REDACT, Event, fold
from nagori.core.in_memory_queries import select_items, update_items
from nagori.core.model import Item, ItemFilter, check_item, item_id
from nagori.core.value_object import replace
from nagori.errors import InvalidInput

NOW = datetime(2026, 4, 1, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)
PLACE: dict[str, Any] = {"namespace": ["users", "aki"], "key": "tea"}
ID = item_id(("users", "aki"), "tea")


def item(key: str = "tea", *, namespace: tuple[str, ...] = ("users", "aki"), **more: Any) -> Item:
    return Item(**{"value": "{}", "created": NOW, "updated": NOW, **more}, namespace=namespace, key=key)


def by_id(*items: Item) -> dict[str, Item]:
    return {each.id: each for each in items}


def put(at: datetime = NOW, **more: Any) -> Event:
    data = {**PLACE, "value": '{"n": 1}', "created": NOW.isoformat(), **more}
    return Event("item_put", at, data)


def renewed(at: datetime, *ids: str) -> Event:
    return Event("items_renewed", at, {"items": list(ids)})


def deleted(*ids: str) -> Event:
    return Event("item_deleted", NOW, {"items": list(ids)})


# --- ids and checks


def test_the_id_of_an_item_tells_its_labels_apart_and_holds_none_of_them() -> None:
    assert item().id == ID == item_id(["users", "aki"], "tea")
    places = [(("a", "b"), "c"), (("a",), "b"), (("ab",), "c"), (("a",), "bc"), (("a\x1f1:b",), "c")]
    assert len({item_id(*place) for place in places}) == len(places)
    assert "tea" not in ID
    assert "aki" not in ID


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": 5},
        {"namespace": ("users", None)},
        {"key": "nul \0"},
        {"namespace": ("half \ud800",)},
        {"value": {"n": 1}},
        {"value": "half \udfff"},
    ],
)
def test_an_item_that_no_store_can_hold_is_refused(wrong: dict[str, Any]) -> None:
    check_item(item())
    with pytest.raises(InvalidInput) as refused:
        check_item(item(**wrong))
    assert refused.value.field == "item"


# --- selection


def keys(items: dict[str, Item], **filter: Any) -> list[str]:
    return [each.key for each in select_items(items, ItemFilter(**filter))]


def test_items_come_in_the_order_that_was_asked_for() -> None:
    items = by_id(
        item("b", updated=NOW + HOUR),
        item("a", updated=NOW),
        item("c", namespace=("apps",), updated=NOW + 2 * HOUR),
    )
    assert keys(items) == ["c", "a", "b"]
    assert keys(items, order="last") == ["b", "a", "c"]
    assert keys(items, order="newest") == ["c", "b", "a"]
    assert keys(items, offset=1, limit=1) == ["a"]


def test_a_filter_selects_by_whole_labels_and_by_id() -> None:
    near, far = item("near"), item("far", namespace=("users", "akiko"))
    items = by_id(near, far)
    assert keys(items, prefix=("users",)) == ["near", "far"]
    assert keys(items, prefix=("users", "aki")) == ["near"]
    assert keys(items, ids=(far.id,)) == ["far"]
    assert keys(items, ids=()) == []


def test_an_item_has_expired_from_the_very_moment_on_and_one_without_an_end_never() -> None:
    items = by_id(item("brief", expires=NOW), item("lasting"))
    before = NOW - timedelta(microseconds=1)
    assert keys(items, valid_at=before) == ["brief", "lasting"]
    assert keys(items, valid_at=NOW) == ["lasting"]
    assert keys(items, expired_at=before) == []
    assert keys(items, expired_at=NOW) == ["brief"]


# --- changes


def test_changes_write_and_delete_items_and_ignore_what_is_not_there() -> None:
    old, gone, new = item("old"), item("gone"), item("new")
    items = by_id(old, gone)
    written = item("old", value="1")
    update_items(items, {old.id: written, gone.id: None, new.id: new, "item_unknown": None}, {})
    assert items == by_id(written, new)


def test_a_renewal_starts_the_time_to_live_again_where_there_is_one() -> None:
    brief, lasting = item("brief", ttl=HOUR, expires=NOW + HOUR), item("lasting")
    items = by_id(brief, lasting)
    later = NOW + timedelta(minutes=30)
    update_items(items, {}, dict.fromkeys((brief.id, lasting.id, "item_unknown"), later))
    assert items == by_id(replace(brief, expires=later + HOUR), lasting)


# --- events


def test_an_event_writes_an_item_that_expires_when_its_time_to_live_is_over() -> None:
    ttl = HOUR // timedelta(microseconds=1)
    later = NOW + 2 * HOUR
    plain = fold([put(later)], {}).items[ID]
    assert plain == item(value='{"n": 1}', updated=later)
    brief = fold([put(later, ttl=ttl)], {}).items[ID]
    assert brief == item(value='{"n": 1}', updated=later, ttl=HOUR, expires=later + HOUR)
    moved = fold([put(later, ttl=ttl, updated=NOW.isoformat(), expires=later.isoformat())], {}).items[ID]
    assert moved == item(value='{"n": 1}', updated=NOW, ttl=HOUR, expires=later)


def test_a_redacted_item_is_written_no_more() -> None:
    bare = without_words(put(), keep_trace=True)
    assert bare.data == {"redacted": True}
    outcome = fold([bare], {})
    assert (outcome.items, outcome.passed_over) == ({}, [])


def test_a_deleted_item_is_gone_and_its_words_are_to_be_redacted() -> None:
    outcome = fold([put(), deleted(ID)], {}, {TO_REDACT: ["m"]})
    assert outcome.items == {ID: None}
    assert outcome.state == {TO_REDACT: ["m", ID]}
    assert fold([deleted()], {}).state == {}


def test_a_renewal_reaches_an_item_written_before_it_or_waits_for_the_store() -> None:
    ttl = HOUR // timedelta(microseconds=1)
    later = NOW + timedelta(minutes=30)
    fresh = fold([put(ttl=ttl), renewed(later, ID)], {})
    written = fresh.items[ID]
    assert written is not None
    assert written.expires == later + HOUR
    assert fresh.renewals == {}
    stored = fold([renewed(later, ID)], {})
    assert (stored.items, stored.renewals) == ({}, {ID: later})


def test_a_renewal_changes_no_item_that_is_deleted_or_lasts_for_ever() -> None:
    later = NOW + HOUR
    lasting = fold([put(), renewed(later, ID)], {})
    assert lasting.items == {ID: item(value='{"n": 1}')}
    gone = fold([deleted(ID), renewed(later, ID)], {})
    assert gone.items == {ID: None}
    assert lasting.renewals == gone.renewals == {}


def test_a_later_write_or_deletion_overtakes_a_renewal() -> None:
    assert fold([renewed(NOW, ID), put()], {}).renewals == {}
    assert fold([renewed(NOW, ID), deleted(ID)], {}).renewals == {}
