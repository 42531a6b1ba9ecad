"""The life of a memory: levels by score, moves by table, tiers by age."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagori.core import levels
from nagori.core.levels import Capacity, Compression, Levels, Tier, Tiers
from nagori.core.model import Level


@pytest.mark.parametrize(
    ("score", "level"),
    [(100, 1), (50.01, 1), (50, 2), (20.01, 2), (20, 3), (5.01, 3), (5, 4), (0, 4)],
)
def test_a_level_is_kept_above_its_threshold_and_lost_at_it(score: float, level: int) -> None:
    assert levels.level_for(score, Levels()) is Level(level)


@given(st.floats(0, 100), st.floats(0, 100))
def test_a_higher_score_never_has_a_deeper_level(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert levels.level_for(high, Levels()) <= levels.level_for(low, Levels())


def test_a_level_is_entered_at_the_threshold_of_the_one_above() -> None:
    assert levels.entry_scores(Levels()) == {Level.SUMMARY: 50.0, Level.TRACE: 20.0, Level.ARCHIVED: 5.0}


def test_only_a_recall_or_a_hand_lets_a_memory_rise() -> None:
    rising = {
        move.act
        for move in levels.TRANSITIONS
        for level, targets in move.ends.items()
        for target in targets
        if target is not None and target < level
    }
    assert rising == {"revive", "restore"}


def test_every_level_can_be_left_and_the_archive_by_four_doors() -> None:
    leaving = {
        level: {move.act for move in levels.TRANSITIONS if move.moves and level in move.ends}
        for level in Level
    }
    assert leaving[Level.FULL] == {"compress", "archive", "forget"}
    assert leaving[Level.ARCHIVED] == {"revive", "restore", "forget", "delete"}


def test_the_diagram_draws_every_move_of_the_table_and_every_level() -> None:
    drawn = levels.diagram().splitlines()
    assert drawn[:2] == ["stateDiagram-v2", "    [*] --> full: form"]
    assert "    archived --> archived: defer_revival, purge" in drawn
    arrows = [line.partition(": ") for line in drawn if " --> " in line][1:]
    told = {(where.strip(), act) for where, _, acts in arrows for act in acts.split(", ")}
    wanted = {
        (f"{level.name.lower()} --> {'forgotten' if to is None else to.name.lower()}", move.act)
        for move in levels.TRANSITIONS
        for level, targets in move.ends.items()
        for to in targets
    }
    assert told == wanted
    assert sum("note right of" in line for line in drawn) == len(Level)


@pytest.mark.parametrize(
    ("days", "tier"), [(0, "hot"), (6.99, "hot"), (7, "warm"), (29.99, "warm"), (30, "cold"), (9999, "cold")]
)
def test_a_memory_is_hot_for_a_week_warm_for_a_month_then_cold(days: float, tier: str) -> None:
    assert levels.tier_of(days, Tiers()) is Tier(tier)


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
    assert [str(each) for each in section.faults()] == faults
