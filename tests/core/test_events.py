"""What events about turns, state, feedback, privacy and redaction change."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nagori.core.event_redaction import without_words
from nagori.core.events import (
    CYCLE,
    CYCLE_STOPPED,
    LINKED,
    OPEN_PROMPTS,
    OPEN_SINCE,
    PASSED_OVER,
    RELATIONS_CHECKED,
    SESSIONS,
    TO_COMPACT,
    TO_REDACT,
    Event,
    Outcome,
    checksum_of,
    fold,
    memories_named_in,
    prove,
    state_keys_named_in,
    turn_id,
)
from nagori.core.model import Kind, Level, Memory, Privacy, Text
from nagori.core.serialize import to_record
from nagori.errors import InvalidInput, Notice

NOW = datetime(2026, 4, 1, 9, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def memory(id: str = "m", **more: Any) -> Memory:
    return Memory(id, NOW, NOW, {Level.FULL: Text("", f"words of {id}")}, **more)


def turn(role: str, at: datetime = NOW, **more: Any) -> Event:
    return Event("turn_recorded", at, {"session": "s", "role": role, "text": "tea", **more}, seq=7)


def state_after(*events: Event, **state: Any) -> dict[str, Any]:
    return dict(fold(events, {}, state).state)


# --- turns


def test_a_turn_is_recorded_under_its_own_id_or_one_made_of_what_it_says() -> None:
    named, unnamed = fold([turn("user", turn="turn_a"), turn("user")], {}).turns
    assert named.id == "turn_a"
    assert unnamed.id == turn_id(turn("user").data, NOW)
    assert turn_id({"ref": "r", "text": "a"}, NOW) == turn_id({"ref": "r", "text": "a"}, LATER)
    assert turn_id({"text": "a"}, NOW) != turn_id({"text": "a"}, LATER)
    assert (unnamed.seq, unnamed.session, unnamed.role, unnamed.text) == (7, "s", "user", "tea")


def test_a_redacted_turn_and_one_of_version_0_1_add_nothing() -> None:
    assert fold([turn("user", redacted=True), Event("heard", NOW, {"text": "tea"})], {}).turns == []


def test_a_prompt_is_open_until_it_is_answered() -> None:
    asked = turn("user", transcript="/t")
    opened = state_after(asked)
    assert opened[OPEN_PROMPTS]["s"]["text"] == ""
    assert opened[OPEN_SINCE] == NOW.isoformat()
    assert state_after(asked, turn("assistant", LATER)) == {OPEN_PROMPTS: None, OPEN_SINCE: None}
    assert state_after(asked, turn("assistant", LATER, speaker="helper")) == opened
    assert state_after(turn("assistant")) == {}


def test_processed_turns_and_origins_are_collected() -> None:
    events = [
        Event("turns_processed", NOW, {"turns": [[1, 3]]}),
        Event("formed", NOW, {"memory": to_record(memory()), "turns": [2]}, "m"),
        Event("repeated", NOW, {"turns": [5], "turn": "turn_b"}, "m"),
    ]
    outcome = fold(events, {})
    assert outcome.processed == [(1, 3)]
    assert outcome.origins == [("m", 2), ("m", 5)]
    assert [ids for _, ids in outcome.touched] == [(), ("m",), ("m", "turn_b")]


# --- state


def test_a_value_of_its_owner_is_kept_and_one_of_the_fold_is_not() -> None:
    assert state_after(Event("state_changed", NOW, {"key": "mine", "value": 1})) == {"mine": 1}
    assert state_after(Event("state_changed", NOW, {"key": LINKED, "value": 9})) == {LINKED: 9}
    for key in (5, CYCLE, PASSED_OVER):
        with pytest.raises(InvalidInput, match="state_changed"):
            prove([Event("state_changed", NOW, {"key": key, "value": 1})], {}, {})


def test_a_finished_cycle_notes_its_time_and_what_it_did() -> None:
    assert state_after(Event("cycle_finished", NOW)) == {CYCLE: NOW.isoformat(), CYCLE_STOPPED: None}
    done = state_after(Event("cycle_finished", NOW, {"compacted": True, "linked": 4}))
    assert done == {CYCLE: NOW.isoformat(), CYCLE_STOPPED: None, TO_COMPACT: None, LINKED: 4}
    checked = state_after(Event("cycle_finished", NOW, {"relations_checked": 9}))
    assert checked == {CYCLE: NOW.isoformat(), CYCLE_STOPPED: None, RELATIONS_CHECKED: 9}
    for wrong in ({"linked": -1}, {"relations_checked": "nine"}):
        assert len(fold([Event("cycle_finished", NOW, wrong)], {}).passed_over) == 1


def test_a_session_knows_what_it_was_shown_until_it_is_compacted() -> None:
    briefed = Event("session_briefed", NOW, {"session": "s", "shown": ["a"]})
    recalled = Event("recalled", NOW, {"session": "s", "memories": ["m"]})
    shown = fold([briefed, recalled], {"m": memory()}, {})
    assert shown.state[SESSIONS] == {"s": {"shown": ["a", "m"], "compacted": False}}
    compacted = state_after(briefed, Event("session_compacted", LATER, {"session": "s"}))
    assert compacted[SESSIONS] == {"s": {"shown": [], "compacted": True}}


def test_an_event_names_what_must_be_known_to_fold_it() -> None:
    events = [Event("recalled", NOW, {"memories": ["a", 5]}), Event("linked", NOW, {"target": "b"}, "c")]
    assert memories_named_in(events) == {"a", "b", "c"}
    assert memories_named_in([Event("recalled", NOW, {"memories": 7})]) == set()
    assert state_keys_named_in(events) == {SESSIONS}


def test_a_checksum_leaves_out_the_words() -> None:
    told, redacted = (Event("edited", NOW, {"text": words}, "m", seq=3) for words in ("tea", ""))
    assert checksum_of(told) == checksum_of(redacted) != checksum_of(Event("edited", NOW, {}, "m", seq=4))


# --- memories


def test_a_second_appraisal_changes_what_it_found() -> None:
    found = {"kind": "fact", "category": "work", "keywords": ["tea"], "coefficient": 0.9, "by": "model"}
    felt = {"intensity": 70.0, "valence": "positive", "arousal": 20.0, "tags": ["joy"]}
    appraised = fold([Event("appraised", NOW, {**found, "emotion": felt}, "m")], {"m": memory()}).memories[
        "m"
    ]
    assert (appraised.kind, appraised.keywords, appraised.coefficient) == (Kind.FACT, ("tea",), 0.9)
    assert (appraised.emotion.intensity, appraised.appraised_by) == (70.0, "model")
    alone = fold([Event("appraised", NOW, {"by": "model"}, "m")], {"m": memory()}).memories["m"]
    assert (alone.kind, alone.appraised_by) == (memory().kind, "model")
    assert fold([Event("appraised", NOW, {"by": "model"}, "gone")], {}).memories == {}


def derive(derived: Memory, origin: Memory) -> Memory:
    link = Event("linked", NOW, {"target": origin.id, "type": "derived_from"}, derived.id)
    outcome = fold([link], {derived.id: derived, origin.id: origin})
    return outcome.memories.get(derived.id, derived)


def test_what_is_derived_is_as_private_as_its_source() -> None:
    secret = memory("secret", privacy=Privacy.PRIVATE, agent="ana", role="nurse")
    shared = derive(memory("m"), secret)
    assert (shared.privacy, shared.agent, shared.role) == (Privacy.PRIVATE, "ana", "nurse")
    other = memory("m", privacy=Privacy.PRIVATE, agent="ben", role="nurse")
    assert (derive(other, secret).agent, derive(other, secret).role) == (None, "nurse")
    assert derive(memory("m"), memory("open")) == memory("m")


def test_words_wait_for_redaction_until_they_are_redacted() -> None:
    deleted = Event("deleted", NOW, {}, "m")
    assert state_after(deleted) == {TO_REDACT: ["m"]}
    assert state_after(deleted, **{TO_REDACT: ["m"]}) == {TO_REDACT: ["m"]}
    redacted = Event("redacted", NOW, {"memories": ["m"], "turns": [4]})
    outcome = fold([deleted, redacted], {"m": memory()})
    assert outcome.state == {TO_REDACT: None, TO_COMPACT: True}
    assert (outcome.redacted_turns, list(outcome.erased)) == ([4], ["m"])
    assert isinstance(outcome, Outcome)


def test_an_event_that_cannot_be_applied_is_listed_or_refused() -> None:
    [(seq, reason)] = fold([Event("formed", NOW, {}, "m", seq=2)], {}).passed_over
    assert (seq, isinstance(reason, Notice)) == (2, True)
    with pytest.raises(InvalidInput, match="formed"):
        prove([Event("formed", NOW, {}, "m")], {}, {})


# --- redaction


def test_a_redacted_event_keeps_no_words() -> None:
    said = without_words(turn("user", speaker="Ana"), keep_trace=False)
    assert said.data == {"session": "s", "role": "user", "text": "", "redacted": True}
    record = to_record(memory(keywords=("tea",), metadata={"a": 1}))
    formed = without_words(Event("formed", NOW, {"memory": record}, "m"), keep_trace=False)
    assert formed.data["memory"]["texts"] == {"1": {"trigger": "", "content": ""}}
    assert (formed.data["memory"]["keywords"], "metadata" in formed.data["memory"]) == ([], False)
    edited = {"text": {"trigger": "", "content": "tea"}, "keywords": ["tea"], "metadata": {"a": 1}}
    blank = without_words(Event("edited", NOW, edited, "m"), keep_trace=False)
    assert blank.data == {"text": {"trigger": "", "content": ""}, "keywords": [], "metadata": {}}


def test_a_trace_stays_while_the_full_words_go() -> None:
    texts = {"1": {"trigger": "", "content": "all words"}, "3": {"trigger": "", "content": "words"}}
    event = Event("undone", NOW, {"memory": {**to_record(memory(keywords=("tea",))), "texts": texts}}, "m")
    kept = without_words(event, keep_trace=True).data["memory"]
    assert kept["texts"] == {"1": {"trigger": "", "content": ""}, "3": texts["3"]}
    assert kept["keywords"] == ["tea"]
    trace = Event("compressed", NOW, {"level": 3, "text": texts["3"]}, "m")
    assert without_words(trace, keep_trace=True) == trace
    summary = Event("compressed", NOW, {"level": 2, "text": texts["3"]}, "m")
    assert without_words(summary, keep_trace=True).data["text"] == {"trigger": "", "content": ""}
