"""The life of a memory: levels by score, moves by table, tiers by age."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagori.core import life
from nagori.core.life import Capacity, Compression, Levels, Tier, Tiers
from nagori.core.model import Level
from nagori.errors import InvalidInput

MOVES = list(product(Level, life.EVENTS))


@pytest.mark.parametrize(
    ("score", "level"),
    [(100, 1), (50.01, 1), (50, 2), (20.01, 2), (20, 3), (5.01, 3), (5, 4), (0, 4)],
)
def test_a_level_is_kept_above_its_threshold_and_lost_at_it(score: float, level: int) -> None:
    assert life.level_for(score, Levels()) is Level(level)


@given(st.floats(0, 100), st.floats(0, 100))
def test_a_higher_score_never_has_a_deeper_level(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert life.level_for(high, Levels()) <= life.level_for(low, Levels())


def test_a_level_is_entered_at_the_threshold_of_the_one_above() -> None:
    assert life.entered_at(Levels()) == {Level.SUMMARY: 50.0, Level.TRACE: 20.0, Level.ARCHIVED: 5.0}


@pytest.mark.parametrize(("level", "event"), MOVES)
def test_every_move_is_in_the_table_or_refused_by_name(level: Level, event: str) -> None:
    if (level, event) in life.TRANSITIONS:
        assert life.step(level, event) is life.TRANSITIONS[level, event]
    else:
        with pytest.raises(InvalidInput, match=f"'{event}' does not exist at {level.name.lower()}"):
            life.step(level, event)


def test_fading_goes_down_one_level_at_a_time_into_the_archive() -> None:
    path = [life.BIRTH]
    while (path[-1], "fade") in life.TRANSITIONS:
        path.append(life.step(path[-1], "fade"))
    assert path == list(Level)


def test_a_revived_memory_comes_back_as_a_trace_and_a_restored_one_whole() -> None:
    assert life.step(Level.ARCHIVED, "revive") is Level.TRACE
    assert life.step(Level.ARCHIVED, "restore") is Level.FULL


def test_an_unknown_event_names_the_ones_that_exist() -> None:
    with pytest.raises(InvalidInput, match="revive, restore do"):
        life.step(Level.ARCHIVED, "explode")


def test_every_move_uses_a_declared_event() -> None:
    assert {event for _, event in life.TRANSITIONS} == set(life.EVENTS)


def test_the_diagram_draws_every_move_of_the_table_and_every_level() -> None:
    drawn = life.diagram().splitlines()
    assert drawn[:2] == ["stateDiagram-v2", "    [*] --> full: form"]
    assert "    archived --> trace: revive" in drawn
    assert len(drawn) == 2 + len(life.TRANSITIONS) + len(Level)


@pytest.mark.parametrize(
    ("days", "tier"), [(0, "hot"), (6.99, "hot"), (7, "warm"), (29.99, "warm"), (30, "cold"), (9999, "cold")]
)
def test_a_memory_is_hot_for_a_week_warm_for_a_month_then_cold(days: float, tier: str) -> None:
    assert life.tier_of(days, Tiers()) is Tier(tier)


@pytest.mark.parametrize("section", [Levels(), Compression(), Capacity(), Tiers()])
def test_the_defaults_do_not_contradict_each_other(
    section: Levels | Compression | Capacity | Tiers,
) -> None:
    assert list(section.faults()) == []


@pytest.mark.parametrize(
    ("section", "faults"),
    [
        (Levels(level2_threshold=60), ["level2_threshold: 60 is not below level1_threshold (50.0)"]),
        (Levels(level3_threshold=20), ["level3_threshold: 20 is not below level2_threshold (20.0)"]),
        (
            Levels(level1_threshold=1, level2_threshold=2, level3_threshold=3),
            [
                "level2_threshold: 2 is not below level1_threshold (1)",
                "level3_threshold: 3 is not below level2_threshold (2)",
            ],
        ),
        (
            Compression(level1_ratio=0.5),
            ["level1_ratio, level2_ratio, level3_ratio, delete_ratio: the sum is 1.35, not 1"],
        ),
        (Capacity(low_water=0.95), ["low_water: 0.95 is above trigger (0.9)"]),
        (Tiers(warm_days=3), ["warm_days: 3 is below hot_days (7.0)"]),
    ],
)
def test_settings_that_contradict_each_other_are_told(
    section: Levels | Compression | Capacity | Tiers, faults: list[str]
) -> None:
    assert list(section.faults()) == faults
