"""Arguments of the wrong kind are refused by their names; memories show themselves in few words."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from nagori.core.event_redaction import without_words
from nagori.core.events import Event, fold
from nagori.core.model import (
    THREAD_ID,
    Emotion,
    Filter,
    Kind,
    Level,
    Memory,
    Recollection,
    Scope,
    Text,
    Turn,
    check_memory,
    is_thread_summary,
)
from nagori.core.serialize import from_record, to_record
from nagori.core.value_object import (
    check_bool,
    check_kind,
    check_list,
    check_text,
    check_whole,
    read_metadata,
    read_texts,
)
from nagori.errors import InvalidInput

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAIVE = datetime(2026, 3, 1)  # noqa: DTZ001


def memory(content: str = "tea", **more: object) -> Memory:
    return Memory("mem_a", NOON, NOON, {Level.FULL: Text("", content)}, **more)  # type: ignore[arg-type]


# --- arguments


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: check_text("a", 7), "a: int is not a text"),
        (lambda: check_bool("a", 1), "a: 1 is not true or false"),
        (lambda: check_bool("a", None), "a: None is not true or false"),
        (lambda: check_whole("a", True, 0), "a: True is not a whole number"),
        (lambda: check_whole("a", 1.5, 0), "a: 1.5 is not a whole number"),
        (lambda: check_whole("a", 0, 1), "a: It must be at least 1, not 0"),
        (lambda: check_kind("a", "x", Emotion), "a: str is not a Emotion"),
        (lambda: check_list("a", "x"), "a: str is not a list"),
        (lambda: check_list("a", {}), "a: dict is not a list"),
        (lambda: check_list("a", 7), "a: int is not a list"),
        (lambda: read_texts("a", "abc"), "a: str is not a list"),
        (lambda: read_texts("a", ["b", 7]), "a: int is not a text"),
        (lambda: Emotion(tags="joy"), "emotion.tags: str is not a list"),  # type: ignore[arg-type]
        (lambda: Filter(kinds="fact"), "filter.kinds: str is not a list"),  # type: ignore[arg-type]
        (lambda: Filter(kinds=frozenset({"rumour"})), "is not one of episode, fact"),  # type: ignore[arg-type]
        (lambda: Filter(levels=frozenset({9})), "It must be at most 4, not 9"),  # type: ignore[arg-type]
        (lambda: Filter(since=NAIVE), "filter.since: This is a time without a zone"),
        (lambda: Turn(7, NOON), "turn.text: int is not a text"),  # type: ignore[arg-type]
        (lambda: Scope(unnamed_agent=1), "scope.unnamed_agent: 1 is not true or false"),  # type: ignore[arg-type]
    ],
)
def test_what_is_of_the_wrong_kind_is_refused_by_its_name(call: object, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()  # type: ignore[operator]
    assert said in str(caught.value)


def test_what_is_right_is_taken() -> None:
    check_bool("a", False)
    check_whole("a", 1, 1)
    assert read_texts("a", ["b", "c"]) == ("b", "c")
    filter = Filter(kinds={"fact"}, levels={3}, until=NOON)  # type: ignore[arg-type]
    assert filter == Filter(kinds=frozenset({Kind.FACT}), levels=frozenset({Level.TRACE}), until=NOON)


# --- metadata

GOOD = {"b": 1, "a": "x", "c": 0.5, "d": True, "e": None, "キー": "値", "big": 2**63 - 1}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("a=1", "metadata: str is not a table"),
        ({str(n): n for n in range(33)}, "metadata: There are 33 keys. At most 32"),
        ({7: "x"}, "metadata.7: int is not a text"),
        ({"": "x"}, "'' is not a name of at most 64 characters"),
        ({"k" * 65: "x"}, "is not a name of at most 64 characters"),
        ({"a\nb": "x"}, "is not a name of at most 64 characters"),
        ({"a": "x" * 1001}, "metadata.a: The value has 1001 characters. At most 1000"),
        ({"a": "\0"}, "metadata.a: '\\x00' contains characters that cannot be written"),
        ({"a": "\ud800"}, "cannot be written"),
        ({"a": math.nan}, "metadata.a: nan is not a number"),
        ({"a": 2**63}, "metadata.a: The whole number has more than 64 bits"),
        ({"a": ["x"]}, "metadata.a: list is not a text, a number, true, false or None"),
    ],
)
def test_metadata_is_small_and_plain(given: object, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_metadata(given)
    assert said in str(caught.value)


def test_metadata_is_kept_as_it_was_given_in_the_order_of_its_keys() -> None:
    assert read_metadata(GOOD) == GOOD
    assert list(read_metadata(GOOD)) == sorted(GOOD)
    whole = memory(metadata=GOOD)
    check_memory(whole)
    assert from_record(to_record(whole)) == whole
    with pytest.raises(InvalidInput, match=r"memory\.metadata"):
        from_record(to_record(whole) | {"metadata": "x"})


def test_a_record_without_metadata_has_no_such_key() -> None:
    assert "metadata" not in to_record(memory())
    assert from_record(to_record(memory())).metadata == {}


def test_an_edit_replaces_metadata_and_erasure_takes_it_away() -> None:
    formed = Event("formed", NOON, {"memory": to_record(memory(metadata={"a": 1}))}, "mem_a")
    edited = Event("edited", NOON, {"metadata": {"b": 2}}, "mem_a")
    assert fold([formed, edited], {}).memories["mem_a"].metadata == {"b": 2}
    assert "metadata" not in without_words(formed, keep_trace=False).data["memory"]
    assert without_words(edited, keep_trace=False).data == {"metadata": {}}
    assert without_words(formed, keep_trace=True).data["memory"]["metadata"] == {"a": 1}
    assert without_words(edited, keep_trace=True).data == {"metadata": {"b": 2}}


# --- shown


def test_a_memory_shows_itself_in_one_short_line() -> None:
    assert repr(memory()) == "<Memory mem_a 2026-03-01 'tea'>"
    long = repr(memory("word\n" * 100))
    assert long.endswith("…'>")
    assert len(long) < 110
    assert "\n" not in long
    assert repr(Memory("mem_b", NOON, NOON, {})) == "<Memory mem_b 2026-03-01 ''>"


def test_a_recollection_says_what_a_caller_wants_to_know() -> None:
    found = Recollection(memory(), 0.5, 60.0, {"confidence": 0.9})
    assert (found.id, found.text, found.created, found.confidence) == ("mem_a", "tea", NOON, 0.9)
    assert repr(found) == "<Recollection 0.50 mem_a 2026-03-01 'tea'>"
    assert found.to_dict() == {
        "memory": to_record(found.memory),
        "score": 0.5,
        "confidence": 0.9,
        "retention": 60.0,
        "terms": {"confidence": 0.9},
        "in_full": False,
        "text": "tea",
    }
    assert found.memory.to_dict() == to_record(found.memory)
    assert Recollection(memory(), 0.5, 60.0).confidence is None
    assert str(memory().text) == "tea"


def test_a_notebook_shows_words_and_never_takes_them_for_html() -> None:
    bad = memory("<script>alert(1)</script>\nsecond line")
    for shown in (bad._repr_html_(), Recollection(bad, 0.5, 60.0, {"confidence": 0.9})._repr_html_()):
        assert "<script>" not in shown
        assert "&lt;script&gt;alert(1)&lt;/script&gt;<br>second line" in shown
        assert "mem_a · 2026-03-01 · episode · full" in shown
    assert "score 0.50 · confidence 0.90" in shown
    assert "confidence" not in Recollection(bad, 0.5, 60.0)._repr_html_()


# --- who asks


@pytest.mark.parametrize(
    ("scope", "is_user", "is_whole"),
    [
        (Scope(), True, True),
        (Scope(project="p"), True, False),
        (Scope(agent="a"), False, False),
        (Scope(role="reviewer"), False, False),
        (Scope(unnamed_agent=True), False, False),
    ],
)
def test_a_scope_knows_whether_the_user_asks_for_everything(
    scope: Scope, is_user: bool, is_whole: bool
) -> None:
    assert (scope.is_user, scope.is_whole) == (is_user, is_whole)


def test_the_summary_of_a_thread_is_known_by_its_id() -> None:
    assert is_thread_summary(memory().evolve(id=f"{THREAD_ID}1"))
    assert not is_thread_summary(memory())
