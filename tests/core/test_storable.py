"""What no store can hold is refused by name, and what an event says is bounded."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nagori.core.events import (
    MOST_OPEN,
    MOST_SESSIONS,
    OPEN_PROMPTS,
    SESSIONS,
    Event,
    RecordedTurn,
    fold,
)
from nagori.core.model import Emotion, Level, Memory, Text, check_memory, check_turn
from nagori.core.value_object import build_unchecked
from nagori.errors import InvalidInput, JournalTooNew

NOW = datetime(2026, 4, 1, 9, tzinfo=UTC)


def memory(**more: Any) -> Memory:
    """A memory whose fields nobody checked."""
    sound = Memory("mem_a", NOW, NOW, {Level.FULL: Text("", "tea")})
    return build_unchecked(Memory, {**vars(sound), **more})


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"protected": 1}, "protected"),
        ({"coefficient": 2.0}, "coefficient"),
        ({"emotion": build_unchecked(Emotion, {**vars(Emotion()), "intensity": "much"})}, "emotion"),
        ({"keywords": (None,)}, "keywords"),
        ({"keywords": (5,)}, "keywords"),
        ({"metadata": {"a": object()}}, "metadata"),
        ({"mentions": 2**70}, "mentions"),
        ({"project": "half \ud800"}, "project"),
        ({"agent": "nul \0"}, "agent"),
        ({"texts": {Level.FULL: Text("", "half \udfff")}}, "content"),
        ({"texts": {Level.FULL: Text("", "tea")}, "level": Level.FULL, "id": 7}, "id"),
    ],
)
def test_a_value_that_no_store_can_hold_is_refused(wrong: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_memory(memory(**wrong))
    assert field in str(refused.value)


def test_what_can_be_held_is_taken() -> None:
    check_memory(memory(metadata={"a": 1}, keywords=("お茶",)))
    check_turn(RecordedTurn("turn_a", 1, NOW, "s", "user", "tea"))
    with pytest.raises(InvalidInput, match="seq"):
        check_turn(RecordedTurn("turn_a", 2**70, NOW, "s", "user", "tea"))


def test_an_unknown_event_is_passed_over_only_where_it_says_so() -> None:
    assert fold([Event("from_the_future", NOW, {}, seq=1, skippable=True)], {}).memories == {}
    with pytest.raises(JournalTooNew):
        fold([Event("from_the_future", NOW, {}, seq=1)], {})


def test_only_the_newest_open_prompts_and_sessions_are_remembered() -> None:
    turns = [
        Event(
            "turn_recorded",
            NOW + timedelta(minutes=n),
            {"session": f"s{n}", "role": "user", "text": "tea?", "transcript": "t"},
            seq=n + 1,
        )
        for n in range(MOST_OPEN + 3)
    ]
    prompts = fold(turns, {}).state[OPEN_PROMPTS]
    assert list(prompts) == [f"s{n}" for n in range(3, MOST_OPEN + 3)]
    shown = [
        Event("session_briefed", NOW, {"session": f"s{n}", "shown": ["mem_a"]}, seq=n + 1)
        for n in range(MOST_SESSIONS + 2)
    ]
    assert len(fold(shown, {}).state[SESSIONS]) == MOST_SESSIONS


def test_what_is_deleted_is_unknown_to_later_events() -> None:
    events = [Event("deleted", NOW, {}, "mem_a", seq=1), Event("protected", NOW, {}, "mem_a", seq=2)]
    outcome = fold(events, {"mem_a": memory()})
    assert outcome.memories == {}
    assert list(outcome.erased) == ["mem_a"]
    assert fold([Event("deleted", NOW, {}, seq=1)], {}).erased == {}


def test_a_relation_to_nobody_makes_nothing_private() -> None:
    data = {"target": "mem_gone", "type": "derived_from"}
    assert fold([Event("linked", NOW, data, "mem_a", seq=1)], {"mem_a": memory()}).memories == {}
