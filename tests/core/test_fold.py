"""The same events always give the same memories."""

# mypy: disable-error-code="arg-type"
# Because words stand for members of enums, or options are passed on as a dict.

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagori.core.event_redaction import redaction_for
from nagori.core.events import (
    EFFECTS,
    OPEN_PROMPTS,
    OPEN_SINCE,
    SESSIONS,
    TO_COMPACT,
    TO_ERASE,
    Event,
    fold,
)
from nagori.core.model import (
    Emotion,
    Kind,
    Level,
    Memory,
    Relation,
    RelationType,
    Scope,
    Source,
    Text,
    Turn,
    utc,
)
from nagori.core.serialize import from_record, relation_of, to_record
from nagori.errors import InvalidInput, JournalTooNew

NOW = datetime(2026, 4, 1, tzinfo=UTC)
LATER = NOW + timedelta(days=1)


def newborn(**more: object) -> Memory:
    fields: dict[str, object] = {"created": NOW, "anchor": NOW, "texts": {Level.FULL: Text("t", "c")}}
    return Memory(id="m", **(fields | more))  # type: ignore[arg-type]


def told(*events: Event, on: Memory | None = None) -> Memory:
    known = {on.id: on} if on else {}
    return fold(events, known).memories["m"]


def formed(memory: Memory) -> Event:
    return Event("formed", NOW, {"memory": to_record(memory)}, memory.id)


def test_a_newborn_is_as_its_record_says() -> None:
    assert told(formed(newborn())) == newborn()


def test_being_formed_again_is_being_mentioned() -> None:
    again = told(formed(newborn()), formed(newborn()))
    assert (again.mentions, again.recalled_at) == (2, NOW)
    assert told(formed(newborn()), Event("repeated", LATER, {}, "m")).recalled_at == LATER


def test_a_recall_marks_without_making_a_new_version() -> None:
    marked = told(Event("recalled", LATER, {"memories": ["m", "unknown"]}), on=newborn())
    assert (marked.recalled_at, marked.version, marked.revival_at) == (LATER, 1, None)


def test_a_recall_of_an_archived_memory_is_a_wish_to_revive_it() -> None:
    marked = told(Event("recalled", LATER, {"memories": ["m"]}), on=newborn(level=Level.ARCHIVED))
    assert marked.revival_at == LATER


def test_an_edit_replaces_the_words_of_every_level() -> None:
    faded = newborn(
        level=Level.SUMMARY, texts={Level.FULL: Text("", "long"), Level.SUMMARY: Text("", "short")}
    )
    edited = told(
        Event(
            "edited",
            LATER,
            {
                "text": {"trigger": "", "content": "new"},
                "kind": "lesson",
                "category": None,
                "privacy": "private",
                "emotion": {"intensity": 5},
                "keywords": ["k"],
                "coefficient": 0.5,
                "project": "p",
            },
            "m",
        ),
        on=faded,
    )
    assert edited.texts == {Level.FULL: Text("", "new")}
    assert (edited.level, edited.kind, edited.emotion.intensity) == (Level.FULL, Kind.LESSON, 5)
    assert (edited.keywords, edited.coefficient, edited.project) == (("k",), 0.5, "p")


@pytest.mark.parametrize(
    ("type", "data", "field", "value"),
    [
        ("protected", {}, "protected", True),
        ("forgotten", {}, "forgotten_at", LATER),
        ("superseded", {"by": "n"}, "superseded_by", "n"),
        ("consolidated", {"coefficient": 0.9925}, "coefficient", 0.9925),
    ],
)
def test_an_event_changes_its_one_field_and_the_version(
    type: str, data: dict[str, str], field: str, value: object
) -> None:
    after = told(Event(type, LATER, data, "m"), on=newborn())
    assert getattr(after, field) == value
    assert after.version == 2


WHEN = LATER.isoformat()
TRACE = {"trigger": "", "content": "trace"}


def test_the_life_of_a_memory_event_by_event() -> None:
    strong = told(Event("reinforced", LATER, {"anchor": WHEN, "coefficient": 0.999}, "m"), on=newborn())
    assert (strong.anchor, strong.coefficient, strong.recalls, strong.reinforced_at) == (
        LATER,
        0.999,
        1,
        LATER,
    )
    faded = told(Event("compressed", LATER, {"level": 3, "text": TRACE}, "m"), on=strong)
    assert (faded.level, faded.text.content, Level.FULL in faded.texts) == (Level.TRACE, "trace", True)
    away = told(Event("archived", LATER, {"reason": "score"}, "m"), on=faded)
    assert (away.level, away.archived_at, away.archive_reason) == (
        Level.ARCHIVED,
        LATER,
        "low_importance",
    )
    put_off = told(Event("revival_deferred", LATER, {"until": WHEN}, "m"), on=away)
    assert put_off.revival_at == LATER
    data = {"anchor": WHEN, "keep_until": WHEN}
    back = told(Event("revived", LATER, data, "m"), on=put_off)
    assert (back.level, back.archived_at, back.revival_at, back.keep_until) == (
        Level.TRACE,
        None,
        None,
        LATER,
    )
    whole = told(Event("restored", LATER, data, "m"), on=away)
    assert (whole.level, set(whole.texts)) == (Level.FULL, {Level.FULL})
    left = told(Event("purged", LATER, {}, "m"), on=away)
    assert set(left.texts) == {Level.TRACE}
    assert told(Event("restored", LATER, data, "m"), on=left).texts == left.texts


def test_what_is_archived_whole_gets_its_trace_and_what_has_no_trace_keeps_its_words() -> None:
    away = told(Event("archived", LATER, {"text": TRACE}, "m"), on=newborn())
    assert set(away.texts) == {Level.FULL, Level.TRACE}
    assert told(Event("purged", LATER, {}, "m"), on=newborn()).texts == newborn().texts


@pytest.mark.parametrize(
    "type",
    [
        "reinforced",
        "compressed",
        "archived",
        "revived",
        "revival_deferred",
        "restored",
        "purged",
        "heard",
        "protected",
    ],
)
def test_an_event_about_nobody_changes_nothing(type: str) -> None:
    assert fold([Event(type, LATER, {}, "unknown")], {}).memories == {}


def test_a_turn_that_only_repeats_is_named_in_the_log() -> None:
    outcome = fold([Event("repeated", LATER, {"turn": "mem_turn"}, "m")], {"m": newborn()})
    assert [touched for _, touched in outcome.touched] == [("m", "mem_turn")]


def test_protection_can_be_taken_away() -> None:
    assert not told(Event("unprotected", LATER, {}, "m"), on=newborn(protected=True)).protected


def test_links_come_and_go() -> None:
    data = {"target": "n", "type": "continues"}
    relation = Relation("m", "n", RelationType.CONTINUES)
    assert fold([Event("linked", NOW, data, "m")], {}).links == {relation: True}
    both = [Event("linked", NOW, data, "m"), Event("unlinked", NOW, data, "m")]
    assert fold(both, {}).links == {relation: False}
    assert fold([Event("linked", NOW, data), Event("unlinked", NOW, data)], {}).links == {}


def test_undoing_puts_a_memory_back_one_version_later() -> None:
    before = newborn()
    after = told(Event("undone", LATER, {"memory": to_record(before)}, "m"), on=newborn(version=7))
    assert after == newborn(version=8)
    assert told(Event("imported", LATER, {"memory": to_record(before)}, "m")) == before


@pytest.mark.parametrize("type", sorted(EFFECTS.keys() - {"formed", "undone", "imported"}))
def test_an_event_about_an_unknown_memory_changes_nothing(type: str) -> None:
    outcome = fold([Event(type, NOW, {"target": "n", "type": "continues"}, "nobody")], {})
    assert outcome.memories == {}


def test_an_event_of_the_future_stops_the_fold() -> None:
    with pytest.raises(JournalTooNew, match="teleported"):
        fold([Event("teleported", NOW)], {})


simple = st.sampled_from(["repeated", "protected", "unprotected", "forgotten", "recalled"])


@given(st.lists(simple, max_size=20), st.integers(0, 20))
def test_folding_in_two_runs_is_folding_in_one(types: list[str], cut: int) -> None:
    events = [formed(newborn())] + [
        Event(type, NOW + timedelta(hours=n), {"memories": ["m"]}, "m") for n, type in enumerate(types)
    ]
    first = fold(events[: cut + 1], {}).memories
    second = fold(events[cut + 1 :], first).memories
    assert (first | second)["m"] == told(*events)


times = st.datetimes(timezones=st.just(UTC))
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
memories = st.builds(
    Memory,
    id=words.filter(bool),
    created=times,
    anchor=times,
    texts=st.dictionaries(st.sampled_from(list(Level)), st.builds(Text, words, words), min_size=1),
    kind=st.sampled_from(list(Kind)),
    level=st.sampled_from(list(Level)),
    emotion=st.builds(Emotion, st.floats(0, 100), tags=st.just(("joy",))),
    coefficient=st.floats(0.01, 1),
    keywords=st.lists(words, max_size=3).map(tuple),
    source=st.builds(Source, words, st.integers(-(10**12), 10**12), words, st.none()),
    protected=st.booleans(),
    mentions=st.integers(0, 99),
    recalled_at=st.none() | times,
    superseded_by=st.none() | words.filter(bool),
)


@given(memories)
def test_a_memory_survives_being_written_down(memory: Memory) -> None:
    assert from_record(to_record(memory)) == memory


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_any_json_is_a_memory_or_an_error_with_a_name(record: object) -> None:
    with pytest.raises(InvalidInput):
        from_record(record)


def test_a_relation_needs_a_known_type() -> None:
    with pytest.raises(InvalidInput, match="type"):
        relation_of("m", {"target": "n", "type": "likes"})


def test_an_archived_memory_shows_its_deepest_trace() -> None:
    texts = {Level.FULL: Text("", "long"), Level.TRACE: Text("", "word")}
    assert newborn(level=Level.ARCHIVED, texts=texts).text.content == "word"
    assert newborn(level=Level.SUMMARY, texts=texts).text.content == "long"
    with pytest.raises(InvalidInput, match="no text"):
        _ = newborn(texts={}).text


def test_a_memory_awaits_reinforcement_until_the_cycle_has_seen_it() -> None:
    assert not newborn().awaits_reinforcement
    assert newborn(recalled_at=LATER).awaits_reinforcement
    assert newborn(recalled_at=LATER, reinforced_at=NOW).awaits_reinforcement
    assert not newborn(recalled_at=LATER, reinforced_at=LATER).awaits_reinforcement


def test_a_time_must_be_an_aware_datetime() -> None:
    with pytest.raises(InvalidInput, match="without a zone"):
        newborn(created=datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(InvalidInput, match="not a datetime"):
        utc("2026-01-01")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Emotion(tags=("hungry",)), "emotion.tags"),
        (lambda: Emotion(valence="mixed"), "emotion.valence"),
        (lambda: Source(session=5), "source.session"),
        (lambda: Source(uri="x" * 5000), "source.uri"),
        (lambda: Source(turn=True), "source.turn"),
        (lambda: Scope(project=""), "scope.project"),
    ],
)
def test_a_wrong_part_is_refused_by_its_name(make: object, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        make()  # type: ignore[operator]
    assert caught.value.field == field


def test_a_turn_has_an_aware_time_and_a_known_role() -> None:
    turn = Turn("hello", NOW, role="assistant")  # type: ignore[arg-type]
    assert (turn.at, turn.role) == (NOW, "assistant")
    with pytest.raises(InvalidInput, match=r"turn\.role"):
        Turn("hello", NOW, role="ghost")  # type: ignore[arg-type]


@pytest.mark.parametrize("missing", ["id", "created"])
def test_a_record_needs_an_id_and_a_birth(missing: str) -> None:
    record = {name: value for name, value in to_record(newborn()).items() if name != missing}
    with pytest.raises(InvalidInput, match=missing):
        from_record(record)


# --- erasure

ERASURE = Event("erased", LATER, {"memories": ["m"], "turns": [2], "sessions": ["s"]}, seq=9)


def test_an_erasure_removes_what_it_names_and_stands_until_the_journal_is_redacted() -> None:
    state = {
        SESSIONS: {"s": {"shown": ["m"]}, "t": {"shown": []}},
        OPEN_PROMPTS: {"s": {"at": "2026-04-01"}, "t": {"at": "2026-04-02"}},
    }
    outcome = fold([ERASURE], {"m": newborn(protected=True)}, state)
    assert list(outcome.erased) == ["m"]
    assert outcome.redacted_turns == [2]
    assert outcome.state == {
        SESSIONS: {"t": {"shown": []}},
        OPEN_PROMPTS: {"t": {"at": "2026-04-02"}},
        OPEN_SINCE: "2026-04-02",
        TO_ERASE: [9],
        TO_COMPACT: True,
    }
    assert fold([Event("erased", LATER, seq=3)], {}).state == {TO_ERASE: [3], TO_COMPACT: True}
    done = Event("redacted", LATER, {"erasures": [9]})
    assert fold([done], {}, {TO_ERASE: [9, 12]}).state[TO_ERASE] == [12]
    assert fold([done], {}, {TO_ERASE: [9]}).state[TO_ERASE] is None


def test_nothing_but_number_time_and_type_is_left_of_an_erased_event() -> None:
    redact = redaction_for(ERASURE)
    gone = [
        Event("formed", NOW, {"memory": to_record(newborn())}, "m", seq=1),
        Event("turn_recorded", NOW, {"session": "s", "role": "user", "text": "tea"}, seq=2),
        Event("session_briefed", NOW, {"session": "s", "shown": ["m"]}, seq=3),
        Event("session_compacted", NOW, {"session": "s"}, seq=4),
    ]
    left = [redact(event) for event in gone]
    assert [event.data for event in left] == [{"redacted": True}] * 4
    assert [(e.seq, e.at, e.type, e.memory) for e in left] == [(e.seq, e.at, e.type, e.memory) for e in gone]
    outcome = fold([*left, ERASURE], {})
    assert (outcome.memories, outcome.turns, outcome.passed_over) == ({}, [], [])


def test_an_erasure_leaves_other_events_and_later_ones_alone() -> None:
    redact = redaction_for(ERASURE)
    kept = [
        Event("formed", NOW, {"memory": {}}, "n", seq=1),
        Event("turn_recorded", NOW, {"session": "t", "text": "tea"}, seq=3),
        Event("session_briefed", NOW, {"session": "t", "shown": ["m"]}, seq=4),
        Event("recalled", NOW, {"memories": ["m", "n"], "session": "t"}, seq=5),
        Event("formed", LATER, {"memory": to_record(newborn())}, "m", seq=10),  # it was said again
    ]
    assert [redact(event) for event in kept] == kept
    shown = Event("recalled", NOW, {"memories": ["m", "n"], "session": "s"}, seq=5)
    assert redact(shown).data == {"memories": ["m", "n"]}
    assert redact(ERASURE).data == {**ERASURE.data, "sessions": []}
    bare = Event("erased", LATER, {"memories": ["m"]}, seq=9)
    assert redaction_for(bare)(bare) == bare
