"""The laws of forgetting: the documents' own tables first, then what must hold for every memory."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nagori.core import decay
from nagori.core.decay import DecayByCategory, DecayRange, Reinforcement, Retention, Weekly
from nagori.core.levels import Levels, entry_scores
from nagori.core.model import Category, Emotion, Kind, Level, Memory, Text
from nagori.core.value_object import replace
from nagori.errors import InvalidInput

NOW = datetime(2026, 1, 20, 14, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
EMOTIONAL = Retention()
WEEKLY = Retention(law="weekly")
ADDITIVE = Weekly()
MULTIPLICATIVE = Weekly(boost_mode="multiplicative")
RECALL = Reinforcement()
THRESHOLDS = entry_scores(Levels())


def a_memory(*, days: float = 0.0, intensity: float = 60.0, **changes: Any) -> Memory:
    born = NOW - timedelta(days=days)
    memory = Memory("m1", born, born, {Level.FULL: Text("t", "c")}, emotion=Emotion(intensity))
    return replace(memory, **changes)


def strength(
    memory: Memory, now: datetime = NOW, law: Retention = EMOTIONAL, rule: Weekly = ADDITIVE
) -> float:
    return decay.retention(memory, now, law, rule)


ages = st.floats(0, 3650)
intensities = st.floats(0, 100)
coefficients = st.floats(0.7, 0.999)
laws = st.sampled_from([EMOTIONAL, WEEKLY])
rules = st.sampled_from([ADDITIVE, MULTIPLICATIVE])
memories = st.builds(
    a_memory, days=ages, intensity=intensities, coefficient=coefficients, recalls=st.integers(0, 30)
)
living = st.builds(  # strong enough for its score to be a number worth comparing
    a_memory,
    days=st.floats(0, 60),
    intensity=st.floats(1, 100),
    coefficient=coefficients,
    recalls=st.integers(0, 30),
)
shares = st.floats(0.001, 0.999)


# ── golden: emotional law ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("intensity", "printed"),
    [(100, (86, 64, 41, 16)), (50, (43, 32, 20, 8)), (35, (30, 22, 14, 6)), (20, (17, 13, 8, 3))],
)
def test_the_seeds_simulation_table_comes_out_in_every_cell(
    intensity: float, printed: tuple[int, ...]
) -> None:
    """All sixteen cells are exact after rounding."""
    assert tuple(round(decay.emotional(intensity, 0.995, days)) for days in (30, 90, 180, 365)) == printed


def test_an_average_memory_falls_below_the_archive_threshold_after_about_a_year() -> None:
    """Roughly "about a year"; exactly it is 388 days, and 5.6 are left after 365."""
    days = decay.days_until(5, a_memory(intensity=35), NOW, EMOTIONAL, ADDITIVE)
    assert days == pytest.approx(388.2, abs=0.1)


@pytest.mark.parametrize(
    ("category", "at_0", "at_50", "at_100"),
    [
        ("casual", 0.70, 0.75, 0.80),
        ("work", 0.85, 0.885, 0.92),
        ("decision", 0.93, 0.95, 0.97),
        ("emotional", 0.98, 0.9895, 0.999),
    ],
)
def test_intensity_places_the_coefficient_within_its_category(
    category: str, at_0: float, at_50: float, at_100: float
) -> None:
    found = [decay.coefficient_for(Category(category), i, Kind.EPISODE, EMOTIONAL) for i in (0, 50, 100)]
    assert found == pytest.approx([at_0, at_50, at_100])


def test_without_a_category_the_base_coefficient_applies() -> None:
    assert decay.coefficient_for(None, 90, Kind.EPISODE, EMOTIONAL) == 0.995


@pytest.mark.parametrize("category", Category)
def test_a_fact_never_fades_faster_than_the_base_coefficient(category: Category) -> None:
    assert decay.coefficient_for(category, 10, Kind.FACT, EMOTIONAL) >= 0.995


def test_a_fact_that_moved_somebody_keeps_its_higher_coefficient() -> None:
    assert decay.coefficient_for(Category.EMOTIONAL, 100, Kind.FACT, EMOTIONAL) == pytest.approx(0.999)


@pytest.mark.parametrize(("before", "after"), [(10.0, 5.0), (3.0, 1.5)])
def test_recall_halves_the_age(before: float, after: float) -> None:
    stronger = decay.reinforce(a_memory(days=before), NOW, EMOTIONAL, RECALL)
    assert decay.memory_days(stronger, NOW) == pytest.approx(after)


def test_recall_slows_the_decay_counts_itself_and_says_when() -> None:
    stronger = decay.reinforce(a_memory(days=4, coefficient=0.9), NOW, EMOTIONAL, RECALL)
    assert (stronger.coefficient, stronger.recalls, stronger.reinforced_at) == (
        pytest.approx(0.92),
        1,
        NOW,
    )


def test_recall_raises_the_coefficient_no_further_than_the_limit() -> None:
    assert decay.reinforce(a_memory(coefficient=0.99), NOW, EMOTIONAL, RECALL).coefficient == 0.999


def test_a_coefficient_above_the_limit_is_not_lowered_by_a_recall() -> None:
    assert decay.reinforce(a_memory(coefficient=1.0), NOW, EMOTIONAL, RECALL).coefficient == 1.0


def test_a_strengthened_memory_no_longer_waits_for_the_cycle() -> None:
    waiting = a_memory(days=5, recalled_at=NOW - timedelta(hours=3))
    assert waiting.awaits_reinforcement
    assert not decay.reinforce(waiting, NOW, EMOTIONAL, RECALL).awaits_reinforcement


def revival(intensity: float, days: float) -> float:
    return decay.revival_score(
        intensity, days, revival_decay_per_day=0.995, revival_min_margin=3.0, level3_threshold=5.0
    )


def test_revival_starts_from_the_intensity_faded_by_the_days_in_the_archive() -> None:
    assert revival(80, 100) == pytest.approx(80 * 0.995**100)


@pytest.mark.parametrize(("intensity", "days"), [(80, 5000), (3, 0), (0, 10)])
def test_revival_is_never_below_the_threshold_plus_its_margin(intensity: float, days: float) -> None:
    assert revival(intensity, days) == 8.0


def test_a_clock_that_jumped_back_makes_no_revival_stronger_than_the_intensity() -> None:
    assert revival(80, -10) == 80.0


# ── golden: weekly law ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("accesses", "weeks", "additive", "multiplicative"),
    [
        (0, 0, 50.0, 50.0),
        (1, 0, 60.0, 55.0),
        (3, 0, 80.0, 65.0),
        (5, 0, 100.0, 75.0),
        (9, 0, 100.0, 95.0),
        (0, 1, 47.5, 47.5),
        (1, 1, 57.0, 52.25),
        (0, 10, 29.936847, 29.936847),
        (3, 10, 47.898955, 38.917901),
        (20, 4, 100.0, 100.0),
        (8, 10, 77.835802, 53.886325),
    ],
)
def test_the_weekly_law_adds_or_multiplies_accesses_and_loses_five_percent_a_week(
    accesses: int, weeks: float, additive: float, multiplicative: float
) -> None:
    assert decay.weekly(accesses, weeks, ADDITIVE) == pytest.approx(additive)
    assert decay.weekly(accesses, weeks, MULTIPLICATIVE) == pytest.approx(multiplicative)


def test_each_recall_adds_a_tenth() -> None:
    """0.5 → 0.6 → 0.7 → 0.8 without decay; a week later the last one is 0.76."""
    assert [decay.weekly(n, 0, ADDITIVE) for n in range(4)] == pytest.approx([50, 60, 70, 80])
    assert decay.weekly(3, 1, ADDITIVE) == pytest.approx(76)


def test_an_untouched_memory_is_due_for_compression_after_ten_weeks() -> None:
    days = decay.days_until(30, a_memory(), NOW, WEEKLY, ADDITIVE)
    assert days == pytest.approx(7 * math.log(0.6) / math.log(0.95))


def test_the_weekly_law_counts_a_recall_and_leaves_the_age_alone() -> None:
    before = a_memory(days=14)
    after = decay.reinforce(before, NOW, WEEKLY, RECALL)
    assert (after.anchor, after.coefficient, after.recalls) == (before.anchor, before.coefficient, 1)
    assert strength(after, law=WEEKLY) == pytest.approx(60 * 0.95**2)


# ── properties ───────────────────────────────────────────────────────────────────────────────────


@given(memories, laws, rules, ages, ages)
def test_without_recall_no_score_ever_rises(
    memory: Memory, law: Retention, rule: Weekly, one: float, other: float
) -> None:
    sooner, later = sorted((one, other))
    first = strength(memory, NOW + timedelta(days=sooner), law, rule)
    assert strength(memory, NOW + timedelta(days=later), law, rule) <= first
    assert 0 <= first <= 100


@given(memories, laws, rules, ages)
def test_strengthening_never_lowers_a_score_now_or_later(
    memory: Memory, law: Retention, rule: Weekly, later: float
) -> None:
    stronger = decay.reinforce(memory, NOW, law, RECALL)
    for moment in (NOW, NOW + timedelta(days=later)):
        assert strength(stronger, moment, law, rule) >= strength(memory, moment, law, rule)


@given(living, laws, rules, shares)
def test_days_until_is_the_inverse_of_retention(
    memory: Memory, law: Retention, rule: Weekly, share: float
) -> None:
    score = strength(memory, NOW, law, rule) * share
    days = decay.days_until(score, memory, NOW, law, rule)
    assert days is not None
    assert strength(memory, NOW + timedelta(days=days), law, rule) == pytest.approx(score, rel=1e-9)


@given(intensities, coefficients, st.lists(st.floats(0, 100), min_size=1, max_size=6))
def test_a_score_is_the_same_in_one_go_or_after_any_split_of_time(
    intensity: float, coefficient: float, parts: list[float]
) -> None:
    stepwise = intensity
    for days in parts:
        stepwise = decay.emotional(stepwise, coefficient, days)
    assert stepwise == pytest.approx(
        decay.emotional(intensity, coefficient, sum(parts)), rel=1e-9, abs=1e-300
    )


@given(living, laws, rules, shares)
def test_an_anchor_chosen_for_a_score_makes_the_score_hold(
    memory: Memory, law: Retention, rule: Weekly, share: float
) -> None:
    score = strength(memory, NOW, law, rule) * share
    anchored = replace(memory, anchor=decay.anchor_holding(score, memory, NOW, law, rule))
    assert strength(anchored, NOW, law, rule) == pytest.approx(score, rel=1e-9)


@given(
    memories,
    st.sampled_from(
        ["Asia/Tokyo", "Europe/Berlin", "America/New_York", "Pacific/Apia", "Australia/Lord_Howe"]
    ),
    st.sampled_from(["Asia/Tokyo", "Europe/Berlin", "America/St_Johns"]),
)
def test_zones_do_not_matter_only_instants_do(memory: Memory, here: str, there: str) -> None:
    elsewhere = replace(memory, anchor=memory.anchor.astimezone(ZoneInfo(there)))
    assert strength(elsewhere, NOW.astimezone(ZoneInfo(here))) == strength(memory)


@pytest.mark.parametrize(
    ("born", "now", "hours"),
    [
        (datetime(2026, 3, 28, 12, tzinfo=BERLIN), datetime(2026, 3, 29, 12, tzinfo=BERLIN), 23),
        (datetime(2026, 10, 24, 12, tzinfo=BERLIN), datetime(2026, 10, 25, 12, tzinfo=BERLIN), 25),
        (datetime(2028, 2, 28, 12, tzinfo=BERLIN), datetime(2028, 3, 1, 12, tzinfo=BERLIN), 48),
    ],
    ids=["spring forward", "fall back", "leap day"],
)
def test_an_age_is_elapsed_time_not_a_difference_of_wall_clocks(
    born: datetime, now: datetime, hours: float
) -> None:
    assert decay.memory_days(a_memory(anchor=born), now) == pytest.approx(hours / 24)


# ── edges ────────────────────────────────────────────────────────────────────────────────────────


@given(laws, rules)
def test_an_anchor_in_the_future_counts_as_no_age(law: Retention, rule: Weekly) -> None:
    assert decay.memory_days(a_memory(days=-3), NOW) == 0.0
    assert strength(a_memory(days=-3), NOW, law, rule) == strength(a_memory(days=0), NOW, law, rule)


def test_a_recall_does_not_pull_a_future_anchor_back() -> None:
    ahead = a_memory(days=-3)
    assert decay.reinforce(ahead, NOW, EMOTIONAL, RECALL).anchor == ahead.anchor


def test_fading_from_a_future_anchor_begins_there() -> None:
    wait = decay.days_until(30, a_memory(days=-3), NOW, EMOTIONAL, ADDITIVE)
    fade = decay.days_until(30, a_memory(days=0), NOW, EMOTIONAL, ADDITIVE)
    assert fade is not None
    assert wait == pytest.approx(fade + 3)


NAIVE = datetime(2026, 1, 20)  # noqa: DTZ001 - naive on purpose


@pytest.mark.parametrize(
    "call",
    [
        lambda: strength(a_memory(), NAIVE),
        lambda: strength(a_memory(anchor=NAIVE)),
        lambda: strength(a_memory(archived_at=NAIVE)),
        lambda: decay.reinforce(a_memory(), NAIVE, EMOTIONAL, RECALL),
        lambda: decay.anchor_for_score(10, 60, 0.995, NAIVE),
        lambda: decay.anchor_for_score(10, 60, 1.0, NAIVE),
        lambda: decay.days_until(10, a_memory(), NAIVE, EMOTIONAL, ADDITIVE),
        lambda: decay.forecast(a_memory(), NAIVE, THRESHOLDS, EMOTIONAL, ADDITIVE),
    ],
)
def test_a_time_without_a_zone_is_refused(call: Any) -> None:
    with pytest.raises(InvalidInput, match="without a zone"):
        call()


def test_an_archived_memory_stands_still_from_the_moment_it_was_archived() -> None:
    frozen = a_memory(days=100, level=Level.ARCHIVED, archived_at=NOW - timedelta(days=40))
    assert decay.memory_days(frozen, NOW) == 60.0
    assert strength(frozen, NOW + timedelta(days=900)) == strength(frozen)
    assert decay.days_until(1, frozen, NOW, EMOTIONAL, ADDITIVE) is None


def test_a_protected_memory_tells_its_score_but_never_reaches_a_level() -> None:
    kept = a_memory(days=900, protected=True)
    assert strength(kept) == strength(replace(kept, protected=False))
    assert decay.days_until(50, kept, NOW, EMOTIONAL, ADDITIVE) is None
    assert decay.forecast(kept, NOW, THRESHOLDS, EMOTIONAL, ADDITIVE) == []


def test_a_coefficient_of_one_never_fades() -> None:
    assert decay.days_until(50, a_memory(coefficient=1.0), NOW, EMOTIONAL, ADDITIVE) is None


def test_a_coefficient_above_one_does_not_grow() -> None:
    assert decay.emotional(60, 1.2, 30) == 60


def test_a_coefficient_of_zero_is_gone_at_once() -> None:
    assert decay.emotional(60, 0.0, 0) == 60
    assert decay.emotional(60, 0.0, 1) == 0
    assert decay.days_until(50, a_memory(coefficient=0.0), NOW, EMOTIONAL, ADDITIVE) == 0.0


def test_a_score_of_zero_is_approached_but_never_reached() -> None:
    assert decay.days_until(0, a_memory(), NOW, EMOTIONAL, ADDITIVE) is None


@pytest.mark.parametrize("law", [EMOTIONAL, WEEKLY])
def test_a_score_already_reached_takes_no_days(law: Retention) -> None:
    assert decay.days_until(60, a_memory(days=1), NOW, law, ADDITIVE) == 0.0


def test_the_anchor_for_a_score_is_where_the_score_would_have_come_from() -> None:
    anchor = decay.anchor_for_score(8, 80, 0.995, NOW)
    assert decay.emotional(80, 0.995, (NOW - anchor) / timedelta(days=1)) == pytest.approx(8, rel=1e-9)


@pytest.mark.parametrize(
    ("score", "intensity", "coefficient"), [(80, 80, 0.9), (8, 3, 0.9), (8, 0, 0.9), (8, 80, 1.0)]
)
def test_a_score_out_of_reach_gives_an_anchor_of_now(
    score: float, intensity: float, coefficient: float
) -> None:
    assert decay.anchor_for_score(score, intensity, coefficient, NOW) == NOW


@pytest.mark.parametrize("score", [0.0, 1e-300])
def test_an_anchor_before_the_calendar_is_the_calendars_first_day(score: float) -> None:
    assert decay.anchor_for_score(score, 80, 0.9999, NOW) == decay.EARLIEST


def test_a_forecast_names_the_levels_ahead_in_order_and_they_come_true() -> None:
    memory = a_memory(intensity=80)
    ahead = decay.forecast(memory, NOW, THRESHOLDS, EMOTIONAL, ADDITIVE)
    assert [level for level, _ in ahead] == [Level.SUMMARY, Level.TRACE, Level.ARCHIVED]
    assert all(earlier[1] < later[1] for earlier, later in pairwise(ahead))
    assert [strength(memory, when) for _, when in ahead] == pytest.approx([50, 20, 5], rel=1e-9)


def test_a_forecast_leaves_out_the_levels_already_passed() -> None:
    ahead = decay.forecast(a_memory(level=Level.TRACE), NOW, THRESHOLDS, EMOTIONAL, ADDITIVE)
    assert [level for level, _ in ahead] == [Level.ARCHIVED]


def test_a_forecast_says_now_for_a_level_the_cycle_has_yet_to_apply() -> None:
    assert decay.forecast(a_memory(intensity=10), NOW, THRESHOLDS, EMOTIONAL, ADDITIVE)[0] == (
        Level.SUMMARY,
        NOW,
    )


def test_a_forecast_beyond_the_calendar_is_left_out() -> None:
    assert decay.forecast(a_memory(coefficient=1 - 1e-9), NOW, THRESHOLDS, EMOTIONAL, ADDITIVE) == []


def test_a_forecast_is_in_utc_wherever_it_was_asked_for() -> None:
    asked = NOW.astimezone(timezone(timedelta(hours=9)))
    assert decay.forecast(a_memory(), asked, THRESHOLDS, EMOTIONAL, ADDITIVE) == decay.forecast(
        a_memory(), NOW, THRESHOLDS, EMOTIONAL, ADDITIVE
    )


@given(st.floats(-1e6, 1e6))
@example(-5.0)
def test_a_negative_age_is_no_age_for_any_curve(days: float) -> None:
    assert decay.emotional(60, 0.9, days) == decay.emotional(60, 0.9, max(0.0, days))


# ── settings that contradict each other ──────────────────────────────────────────────────────────


def test_the_defaults_of_retention_do_not_contradict_each_other() -> None:
    assert list(Retention().faults()) == []


@pytest.mark.parametrize(
    ("section", "fault"),
    [
        (
            Retention(base_decay_coefficient=0.9995),
            "base_decay_coefficient: 0.9995 is above max_decay_coefficient (0.999)",
        ),
        (
            Retention(decay_by_category=DecayByCategory(work=DecayRange(0.9, 0.8))),
            "decay_by_category.work.min: 0.9 is above max (0.8)",
        ),
        (
            Retention(decay_by_category=DecayByCategory(work=DecayRange(0.9, 1.0))),
            "decay_by_category.work.max: 1.0 is above max_decay_coefficient (0.999)",
        ),
    ],
)
def test_coefficients_that_contradict_each_other_are_told(section: Retention, fault: str) -> None:
    assert [str(each) for each in section.faults()] == [fault]
