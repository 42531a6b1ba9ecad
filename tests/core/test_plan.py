"""The plan of a night: golden cases first, then what must hold for any store."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import examples

from nagori.core.cycle import (
    DAY,
    REARCHIVE_AFTER,
    Census,
    CyclePlan,
    CycleRules,
    CycleStep,
    LifeRow,
    life_row,
    plan_cycle,
)
from nagori.core.decay import Retention
from nagori.core.levels import Archive, Capacity, Compression, level_for
from nagori.core.model import Level, Memory, Text, to_micros

NOW = datetime(2026, 6, 1, 3, tzinfo=UTC)
MOMENT = to_micros(NOW) or 0
RULES = CycleRules()
FEW = CycleRules(compression=Compression(min_population=10))


def row(id: str = "a", **more: object) -> LifeRow:
    fields: dict[str, object] = {
        "id": id,
        "version": 1,
        "level": Level.FULL,
        "created": MOMENT - DAY,
        "anchor": MOMENT - DAY,
        "intensity": 60.0,
        "coefficient": 0.995,
        "recalls": 0,
        "protected": False,
        "recalled_at": None,
        "reinforced_at": None,
        "archived_at": None,
        "keep_until": None,
        "revival_at": None,
        "forgotten_at": None,
        "full": True,
    }
    return LifeRow(**(fields | more))


def census(*rows: LifeRow) -> Census:
    levels = Counter(Level(r.level) for r in rows if not r.protected)
    return Census(dict(levels), sum(r.protected for r in rows))


def planned(*rows: LifeRow, rules: CycleRules = RULES) -> CyclePlan:
    return plan_cycle(rows, census(*rows), rules, NOW)


def one(*rows: LifeRow, rules: CycleRules = RULES) -> CycleStep:
    [step] = planned(*rows, rules=rules).steps
    return step


# --- one memory


@pytest.mark.parametrize(
    ("intensity", "level", "act", "ends"),
    [
        (60.0, Level.FULL, None, None),
        (50.0, Level.FULL, "compress", Level.SUMMARY),
        (20.0, Level.FULL, "compress", Level.TRACE),
        (5.0, Level.FULL, "archive", Level.ARCHIVED),
        (60.0, Level.SUMMARY, None, None),  # nothing rises by waiting
        (20.0, Level.SUMMARY, "compress", Level.TRACE),
        (5.0, Level.TRACE, "archive", Level.ARCHIVED),
        (6.0, Level.TRACE, None, None),
    ],
)
def test_strength_decides_the_level_in_one_move(
    intensity: float, level: Level, act: str | None, ends: Level | None
) -> None:
    steps = planned(row(intensity=intensity, coefficient=1.0, level=level)).steps
    assert [(s.act, s.level, s.reason) for s in steps] == ([(act, ends, "score")] if act else [])


def test_a_recall_strengthens_once_and_is_counted_before_the_level_is_chosen() -> None:
    old = row(intensity=60.0, coefficient=0.98, anchor=MOMENT - 20 * DAY, recalled_at=MOMENT - DAY)
    step = one(old)  # 60 * .98^20 = 40: it would fade; ten days old and slower, it does not
    assert step.act == "reinforce"
    assert step.coefficient == pytest.approx(0.999)
    assert step.anchor == NOW - timedelta(days=10)
    assert planned(old._replace(reinforced_at=MOMENT)).steps[0].act == "compress"


def test_the_protected_never_move_but_are_strengthened() -> None:
    weak = row(intensity=1.0, protected=True)
    assert planned(weak).steps == []
    assert one(weak._replace(recalled_at=MOMENT)).act == "reinforce"


def test_a_lone_memory_survives_its_first_night() -> None:
    assert planned(row(intensity=60.0)).steps == []
    assert one(row(intensity=22.0, coefficient=0.75)).act == "compress"


def test_what_was_just_revived_is_not_archived_again() -> None:
    weak = row(intensity=1.0, level=Level.TRACE, keep_until=MOMENT + DAY)
    assert planned(weak).steps == []
    assert one(weak._replace(keep_until=MOMENT - DAY)).act == "archive"


def test_the_weekly_law_fades_by_weeks() -> None:
    weekly = CycleRules(retention=Retention(law="weekly"))
    assert planned(row(anchor=MOMENT - 63 * DAY), rules=weekly).steps == []  # 31.5: 000 compresses below 30
    assert one(row(anchor=MOMENT - 70 * DAY), rules=weekly).level is Level.SUMMARY  # 29.9, in week 10
    assert one(row(anchor=MOMENT - 140 * DAY), rules=weekly).level is Level.TRACE  # 17.9
    much = row(anchor=MOMENT - 160 * DAY, recalls=3, recalled_at=MOMENT)  # 27.8
    assert [s.act for s in planned(much, rules=weekly).steps] == ["reinforce", "compress"]


# --- the archive


def archived(id: str = "a", days: float = 10, **more: object) -> LifeRow:
    return row(id, level=Level.ARCHIVED, archived_at=MOMENT - int(days * DAY), **more)


def test_a_wish_brings_a_memory_back_as_a_trace_with_its_revival_score() -> None:
    step = one(archived(days=10, intensity=40.0, coefficient=0.9, revival_at=MOMENT))
    assert (step.act, step.level, step.reason) == ("revive", Level.TRACE, "wished")
    assert step.score == pytest.approx(40 * 0.995**10)
    assert step.anchor is not None
    back = row(intensity=40.0, coefficient=0.9, level=Level.TRACE, anchor=to_micros(step.anchor))
    assert planned(back).steps == []


def test_a_wish_without_room_is_put_off() -> None:
    traces = [row(f"t{n}", level=Level.TRACE, intensity=10.0, coefficient=1.0) for n in range(7)]
    others = [row(f"f{n}", level=Level.ARCHIVED, archived_at=MOMENT, full=False) for n in range(13)]
    wish = archived("w", revival_at=MOMENT, full=False)
    steps = planned(*traces, *others, wish, rules=FEW).steps
    assert [(s.id, s.act) for s in steps] == [("w", "defer_revival")]
    assert [(s.id, s.act) for s in planned(*traces[:6], *others, wish, rules=FEW).steps] == [("w", "revive")]


def test_a_wish_for_later_waits() -> None:
    assert planned(archived(revival_at=MOMENT + 1)).steps == []


def test_full_words_go_when_the_grace_is_over_and_only_once() -> None:
    assert planned(archived(days=89)).steps == []
    assert one(archived(days=91)).act == "purge"
    assert planned(archived(days=91, full=False)).steps == []


@pytest.mark.parametrize(
    ("mode", "recalls", "intensity", "days", "goes"),
    [
        ("AND", 0, 10.0, 366, True),
        ("AND", 1, 10.0, 366, False),
        ("AND", 0, 30.0, 366, False),
        ("OR", 1, 10.0, 366, True),
        ("OR", 1, 30.0, 366, False),
        ("OR", 0, 10.0, 364, False),  # the age is always a condition
    ],
)
def test_deletion_needs_age_and_its_conditions(
    mode: str, recalls: int, intensity: float, days: float, goes: bool
) -> None:
    rules = CycleRules(archive=Archive(auto_delete_enabled=True, delete_condition_mode=mode))
    steps = planned(archived(days=days, recalls=recalls, intensity=intensity, full=False), rules=rules).steps
    assert [s.act for s in steps] == (["delete"] if goes else [])


def test_nothing_is_deleted_unless_the_user_asked_for_it() -> None:
    assert planned(archived(days=5000, full=False, intensity=1.0)).steps == []


# --- ratios and capacity


def test_the_weakest_of_a_level_that_is_too_full_go_one_down() -> None:
    rows = [row(f"m{n:02}", intensity=60.0 + n, coefficient=1.0) for n in range(20)]
    steps = planned(*rows, rules=FEW).steps
    where = Counter(s.level for s in steps)
    assert where == {Level.SUMMARY: 6, Level.TRACE: 7, Level.ARCHIVED: 4}  # 15/30/35/20 of 20
    assert {s.reason for s in steps} == {"ratio"}
    stays = {r.id for r in rows} - {s.id for s in steps}
    assert stays == {"m17", "m18", "m19"}


def test_ties_go_by_age_then_by_recalls() -> None:
    same = [row(f"m{n:02}", intensity=60.0, coefficient=1.0, created=MOMENT - n * DAY) for n in range(20)]
    kept = {r.id for r in same} - {s.id for s in planned(*same, rules=FEW).steps}
    assert kept == {"m00", "m01", "m02"}


def test_few_memories_are_not_divided() -> None:
    assert planned(*[row(f"m{n}", coefficient=1.0) for n in range(99)]).steps == []


def test_a_full_store_lets_the_weakest_go_a_tenth_a_night_down_to_the_low_water_mark() -> None:
    capacity = CycleRules(capacity=Capacity(limit=20), compression=Compression(min_population=1000))
    rows = [row(f"m{n:02}", intensity=60.0 + n, coefficient=1.0) for n in range(19)]
    first = planned(*rows, rules=capacity).steps
    assert [(s.id, s.act, s.reason) for s in first] == [
        ("m00", "archive", "capacity"),
        ("m01", "archive", "capacity"),
    ]
    assert planned(*rows[2:], rules=capacity).steps == []  # 17 of 20: below the trigger


def test_a_plan_that_moves_most_of_a_large_store_asks_first() -> None:
    fading = [row(str(n), intensity=10.0) for n in range(1200)]
    assert planned(*fading).asks
    assert not planned(*fading[:900]).asks
    assert planned(*fading[:3]).counts() == {("compress", "score"): 3}


def test_those_left_alone_for_a_week_do_not_hide_the_weakest_that_may_go() -> None:
    rows = [row(f"t{n}", intensity=10.0 + n, level=Level.TRACE, coefficient=1.0) for n in range(9)]
    rows = [r._replace(keep_until=MOMENT + DAY) if n < 4 else r for n, r in enumerate(rows)]
    rows.append(row("full", coefficient=1.0))

    def weakest(level: Level, n: int) -> list[LifeRow]:
        return sorted((r for r in rows if r.level == level), key=lambda r: float(r.intensity))[:n]

    lazily = plan_cycle([], census(*rows), FEW, NOW, weakest)
    assert lazily.steps == planned(*rows, rules=FEW).steps
    assert [step.id for step in lazily.steps if step.act == "archive"] == ["t4", "t5", "t6", "t7", "t8"]


def test_only_the_weakest_are_asked_for() -> None:
    """A store need not show every memory: those that do something by themselves, and n of a level."""
    rows = [row(f"m{n:03}", intensity=51.0 + n / 10, coefficient=1.0) for n in range(200)]
    asked: list[tuple[Level, int]] = []

    def weakest(level: Level, n: int) -> list[LifeRow]:
        asked.append((level, n))
        return sorted((r for r in rows if r.level == level), key=lambda r: r.intensity)[:n]

    lazily = plan_cycle([], census(*rows), RULES, NOW, weakest)
    assert lazily.steps == planned(*rows).steps
    assert asked[0] == (Level.FULL, 170)


def test_rows_that_are_shown_twice_count_once() -> None:
    rows = [row(f"m{n:02}", intensity=60.0 + n, coefficient=1.0) for n in range(20)]
    plan = plan_cycle(rows, census(*rows), FEW, NOW, lambda level, n: [r for r in rows if r.level == level])
    assert plan.steps == planned(*rows, rules=FEW).steps


def test_a_row_is_a_memory_as_the_cycle_sees_it() -> None:
    memory = Memory("m", NOW, NOW - timedelta(days=1), {Level.TRACE: Text("", "x")}, level=Level.TRACE)
    seen = life_row(memory)
    assert (seen.id, seen.anchor, seen.full, seen.level) == ("m", MOMENT - DAY, False, Level.TRACE)


# --- any store


def _ago(least: int, most: int) -> st.SearchStrategy[int]:
    """A moment so many microseconds before now."""
    return st.integers(MOMENT - most, MOMENT - least)


LATELY = st.none() | _ago(0, 5 * DAY)
FIELDS = {
    "level": st.sampled_from(list(Level)),
    "intensity": st.floats(0, 100),
    "coefficient": st.sampled_from([0.7, 0.95, 0.995, 1.0]),
    "anchor": _ago(-DAY, 200 * DAY),
    "created": _ago(0, 300 * DAY),
    "protected": st.booleans(),
    "recalled_at": LATELY,
    "reinforced_at": LATELY,
    "archived_at": _ago(0, 400 * DAY),
    "keep_until": st.none() | _ago(-REARCHIVE_AFTER, DAY),
    "revival_at": st.none() | _ago(-DAY, DAY),
    "full": st.booleans(),
}


def stores() -> st.SearchStrategy[list[LifeRow]]:
    """Up to sixty memories in any state, large stores as often as small ones."""
    fields = st.fixed_dictionaries(FIELDS)
    drawn = st.integers(0, 60).flatmap(lambda count: st.lists(fields, min_size=count, max_size=count))
    return drawn.map(lambda rows: [_any_row(f"m{n}", each) for n, each in enumerate(rows)])


def _any_row(id: str, fields: dict[str, Any]) -> LifeRow:
    if fields["level"] is not Level.ARCHIVED:
        fields = {**fields, "archived_at": None, "revival_at": None}
    return row(id, **fields)


def applied(rows: list[LifeRow], steps: list[CycleStep]) -> list[LifeRow]:
    """The store after these steps."""
    known = {r.id: r for r in rows}
    for step in steps:
        r = known[step.id]
        if step.act == "reinforce":
            r = r._replace(anchor=to_micros(step.anchor), coefficient=step.coefficient, recalls=r.recalls + 1)
            r = r._replace(reinforced_at=MOMENT)
        elif step.act == "compress":
            r = r._replace(level=step.level)
        elif step.act == "archive":
            r = r._replace(level=Level.ARCHIVED, archived_at=MOMENT, revival_at=None, keep_until=None)
        elif step.act == "revive":
            r = r._replace(
                level=Level.TRACE, anchor=to_micros(step.anchor), archived_at=None, revival_at=None
            )
            r = r._replace(keep_until=MOMENT + REARCHIVE_AFTER, reinforced_at=MOMENT)
        elif step.act == "defer_revival":
            r = r._replace(revival_at=MOMENT + DAY)
        elif step.act == "purge":
            r = r._replace(full=False)
        known[step.id] = r
        if step.act == "delete":
            del known[step.id]
    return list(known.values())


SOME = CycleRules(compression=Compression(min_population=10), capacity=Capacity(limit=50))


@examples(300)
@given(stores())
def test_a_plan_holds_what_it_promises(rows: list[LifeRow]) -> None:
    plan = planned(*rows, rules=SOME)
    known = {r.id: r for r in rows}
    moves = [s for s in plan.steps if s.act != "reinforce"]
    assert len({s.id for s in moves}) == len(moves)  # at most one move each
    for step in moves:
        before = known[step.id]
        assert not before.protected or step.act in ("revive", "defer_revival")
        if step.act in ("compress", "archive"):
            assert step.level is not None
            assert step.level > before.level  # nothing rises
            assert step.reason != "score" or level_for(step.score, SOME.levels) >= step.level
        if step.act == "revive":
            assert before.revival_at is not None


@examples(300)
@given(stores())
def test_a_plan_done_twice_changes_nothing_more(rows: list[LifeRow]) -> None:
    after = applied(rows, planned(*rows, rules=FEW).steps)
    again = planned(*after, rules=FEW).steps
    assert [s for s in again if s.act != "defer_revival"] == []


@examples(200)
@given(stores(), st.integers(0, 200))
def test_a_night_that_was_interrupted_ends_like_one_that_was_not(rows: list[LifeRow], at: int) -> None:
    steps = planned(*rows, rules=FEW).steps
    whole = {r.id: r._replace(version=0) for r in applied(rows, steps)}
    part = applied(rows, steps[:at])
    rest = applied(part, planned(*part, rules=FEW).steps)
    assert {r.id: r._replace(version=0) for r in rest} == whole


def test_what_the_user_forgot_is_deleted_after_the_grace_period_and_not_before() -> None:
    forgotten = [
        row("old", forgotten_at=MOMENT - 91 * DAY),
        row("protected", forgotten_at=MOMENT - 91 * DAY, protected=True),
        row("archived", forgotten_at=MOMENT - 91 * DAY, level=Level.ARCHIVED, archived_at=MOMENT - 200 * DAY),
        row("young", forgotten_at=MOMENT - 89 * DAY, intensity=1.0),
    ]
    plan = plan_cycle(forgotten, Census({}), CycleRules(), NOW)
    assert [(step.id, step.act, step.reason) for step in plan.steps] == [
        ("old", "delete", "forgotten"),
        ("protected", "delete", "forgotten"),
        ("archived", "delete", "forgotten"),
    ]
    assert plan.moves == 0  # the user asked for it already
