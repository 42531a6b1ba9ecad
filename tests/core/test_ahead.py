"""The nights to come: the same as planning every row every night, and days counted in one pass."""

# mypy: disable-error-code="return-value"
# Because results of a library that has two of them.

from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import examples

from nagori.core.cycle import DAY, Census, CycleRules, LifeRow, life_row, plan_cycle
from nagori.core.decay import Retention
from nagori.core.events import Event, fold
from nagori.core.levels import Archive, Capacity, Compression
from nagori.core.model import Emotion, Level, Memory, Privacy, Scope, Text, to_micros
from nagori.core.serialize import from_record, to_record
from nagori.core.simulate_future_cycles import (
    GROUPS,
    PopulationTally,
    apply_step,
    group_of,
    read_life,
    simulate_cycles,
)
from nagori.core.value_object import replace
from nagori.core.visibility import can_see

NOW = datetime(2026, 6, 1, 3, tzinfo=UTC)
MOMENT = to_micros(NOW) or 0
TIGHT = CycleRules(
    compression=Compression(min_population=4),
    archive=Archive(auto_delete_enabled=True, retention_days=30, grace_days=5),
    capacity=Capacity(limit=20),
)
LAWS = [
    CycleRules(),
    TIGHT,
    CycleRules(retention=Retention(law="weekly"), compression=Compression(min_population=4)),
]


@st.composite
def rows(draw: st.DrawFn) -> list[LifeRow]:
    ago = st.integers(0, 200 * DAY).map(lambda n: MOMENT - n)
    maybe = st.none() | ago
    made = []
    for number in range(draw(st.integers(0, 24))):
        level = draw(st.sampled_from(list(Level)))
        archived = level is Level.ARCHIVED
        fields = {
            "id": f"m{number}",
            "version": 1,
            "level": level,
            "created": draw(ago),
            "anchor": draw(ago),
            "intensity": draw(st.floats(0, 100)),
            "coefficient": draw(st.floats(0.7, 1.0)),
            "recalls": draw(st.integers(0, 3)),
            "protected": draw(st.booleans()),
            "recalled_at": draw(maybe),
            "reinforced_at": draw(maybe),
            "archived_at": draw(ago) if archived else None,
            "keep_until": draw(st.none() | st.integers(0, 9).map(lambda n: MOMENT + n * DAY)),
            "revival_at": draw(maybe) if archived else None,
            "forgotten_at": None,
            "full": draw(st.booleans()),
        }
        made.append(LifeRow(**fields))
    return made


def plainly(rows: list[LifeRow], rules: CycleRules, nights: int) -> list[list[tuple[str, str]]]:
    """Every row is looked at every night."""
    here = {row.id: row for row in rows}
    told = []
    for number in range(1, nights + 1):
        now = NOW + timedelta(days=number)
        levels = Counter(Level(row.level) for row in here.values() if not row.protected)
        census = Census(dict(levels), sum(row.protected for row in here.values()))
        before = {id: GROUPS[row.level - 1] for id, row in here.items()}
        for step in plan_cycle(list(here.values()), census, rules, now).steps:
            new = apply_step(here.pop(step.id), step, now)
            here |= {new.id: new} if new else {}
        stands = {id: GROUPS[here[id].level - 1] if id in here else None for id in before}
        told.append(sorted((id, place) for id, place in stands.items() if place != before[id]))
    return told


@pytest.mark.parametrize("rules", LAWS)
@examples(50)
@given(rows())
def test_looking_only_at_who_wakes_gives_the_same_nights(rules: CycleRules, some: list[LifeRow]) -> None:
    ahead = [sorted(moves) for moves in simulate_cycles(some, rules, NOW, 45)]
    assert ahead == plainly(some, rules, 45)


def memory() -> Memory:
    texts = {Level.FULL: Text("", "tea"), Level.TRACE: Text("", "tea")}
    return Memory("m", NOW, NOW, texts, emotion=Emotion(40), coefficient=0.9)


LATER = NOW + timedelta(hours=5)
LIVES: list[dict[str, object]] = [
    {},
    {"level": Level.TRACE, "protected": True, "recalls": 3, "recalled_at": LATER, "reinforced_at": NOW},
    {"level": Level.ARCHIVED, "archived_at": NOW, "revival_at": LATER, "archive_reason": "manual"},
    {"forgotten_at": NOW, "keep_until": LATER, "version": 7, "coefficient": 0.5, "mentions": 4},
    {"privacy": Privacy.PRIVATE, "agent": "baker", "role": "cook", "project": "shop"},
    {"emotion": Emotion(12.5, tags=("joy",)), "keywords": ("tea",), "metadata": {"n": 1}},
]


@pytest.mark.parametrize("life", LIVES)
def test_a_life_without_words_is_the_same_life(life: dict[str, object]) -> None:
    """Counting needs no word, so `read_life` leaves them out; all that decides is as it was."""
    whole = replace(memory(), **life)
    record = to_record(whole)
    light = read_life(record)
    assert life_row(light) == life_row(whole)
    assert group_of(light) == group_of(whole)
    assert (light.texts.keys(), light.version) == (whole.texts.keys(), whole.version)
    for scope in (Scope(), Scope(project="books"), Scope(agent="spy"), Scope(agent="baker", project="shop")):
        assert can_see(scope, light) == can_see(scope, whole)
    assert "tea" not in repr(vars(light))


def test_a_life_of_an_old_or_bare_record_is_read_and_one_of_none_is_passed_over() -> None:
    bare = {"id": "m", "created": NOW.isoformat(), "texts": {"1": {"content": "tea"}}}
    assert life_row(read_life(bare)) == life_row(from_record(bare))
    old = {**bare, "strengthened_at": NOW.isoformat(), "judged_by": "user", "emotion": {}}
    assert life_row(read_life(old)) == life_row(from_record(old))
    for missing in ("id", "created", "texts"):
        event = Event("formed", NOW, {"memory": {k: v for k, v in bare.items() if k != missing}}, "m", seq=1)
        for outcome in (fold([event], {}), fold([event], {}, read=read_life)):
            assert not outcome.memories
            assert len(outcome.passed_over) == 1


@pytest.mark.parametrize(
    ("act", "type", "data"),
    [
        ("reinforce", "reinforced", {"anchor": NOW.isoformat(), "coefficient": 0.95}),
        ("compress", "compressed", {"level": 2, "text": {"trigger": "", "content": "t"}}),
        ("archive", "archived", {"reason": "score"}),
        ("revive", "revived", {"anchor": NOW.isoformat()}),
        ("defer_revival", "revival_deferred", {}),
        ("purge", "purged", {}),
        ("delete", "deleted", {}),
    ],
)
def test_a_row_changes_as_its_memory_does(act: str, type: str, data: dict[str, object]) -> None:
    from nagori.core.cycle import REARCHIVE_AFTER, REVIVAL_RETRY, CycleStep

    later = NOW + timedelta(days=9)
    data |= {
        "until": (later + timedelta(microseconds=REVIVAL_RETRY)).isoformat(),
        "keep_until": (later + timedelta(microseconds=REARCHIVE_AFTER)).isoformat(),
    }
    level = {"compress": Level.SUMMARY, "archive": Level.ARCHIVED, "revive": Level.TRACE}.get(act)
    step = CycleStep("m", 1, act, "why", level=level, anchor=NOW, coefficient=0.95)
    one = replace(memory(), level=Level.ARCHIVED, archived_at=NOW) if act == "purge" else memory()
    told = fold([Event(type, later, data, "m")], {"m": one}).memories.get("m")
    assert apply_step(life_row(one), step, later) == (life_row(told) if told else None)


# --- counting


def day(n: int) -> date:
    return date(2026, 6, n)


def counted(tally: PopulationTally, first: date) -> list[tuple[int, dict[str, int]]]:
    return [(on.day, {name: n for name, n in counts.items() if n}) for on, counts in tally.days(first)]


def test_every_day_is_told_also_those_on_which_nothing_happened() -> None:
    tally = PopulationTally(day(5))
    tally.take([(day(1), "a", "full"), (day(1), "b", "full"), (day(3), "a", "trace"), (day(4), "a", "trace")])
    assert counted(tally, tally.first) == [
        (1, {"full": 2}),
        (2, {"full": 2}),
        (3, {"full": 1, "trace": 1}),
        (4, {"full": 1, "trace": 1}),
        (5, {"full": 1, "trace": 1}),
    ]
    assert counted(tally, day(4))[0] == (4, {"full": 1, "trace": 1})


def test_a_clock_that_ran_ahead_hides_nothing_and_counts_nobody_twice() -> None:
    tally = PopulationTally(day(5))
    tally.take([(day(4), "a", "full"), (day(2), "a", "summary"), (day(2), "b", "full"), (day(9), "b", None)])
    assert counted(tally, day(2)) == [
        (2, {"full": 1}),
        (3, {"full": 1}),
        (4, {"summary": 1, "full": 1}),
        (5, {"summary": 1}),
    ]


def test_nothing_yet_is_one_empty_day() -> None:
    assert counted(PopulationTally(day(5)), PopulationTally(day(5)).first) == [(5, {})]


def test_a_memory_stands_at_its_level_until_it_is_forgotten() -> None:
    assert group_of(replace(memory(), level=Level.ARCHIVED)) == "archived"
    assert group_of(replace(memory(), forgotten_at=NOW)) == "forgotten"
