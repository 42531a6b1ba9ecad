"""What matters when it is new: the sums of salience [T7] and importance [S6], cell by cell."""

# mypy: disable-error-code="call-arg"
# Because wrong calls are what is tested.

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagori.core import scoring
from nagori.core.scoring import Importance, Salience

BIRTH, WORK = Salience(), Importance()
anything = st.floats(allow_nan=True, allow_infinity=True)


@pytest.mark.parametrize(
    ("emotion", "novelty", "relatedness", "mentions", "expected"),
    [
        (0.0, 0.0, 0.0, 0, 0.0),
        (1.0, 0.0, 0.0, 0, 0.4),
        (-1.0, 0.0, 0.0, 0, 0.4),
        (0.0, 1.0, 0.0, 0, 0.3),
        (0.0, 0.0, 1.0, 0, 0.2),
        (0.0, 0.0, 0.0, 10, 0.1),
        (0.0, 0.0, 0.0, 1, 0.01),
        (0.0, 0.0, 0.0, 99, 0.1),
        (-0.5, 0.8, 0.5, 3, 0.57),
        (1.0, 1.0, 1.0, 10, 1.0),
    ],
)
def test_salience_is_emotion_novelty_relatedness_and_repetition_by_weight(
    emotion: float, novelty: float, relatedness: float, mentions: int, expected: float
) -> None:
    assert scoring.salience(emotion, novelty, relatedness, mentions, BIRTH) == pytest.approx(expected)


@pytest.mark.parametrize(("similar", "expected"), [(0, 1.0), (1, 0.8), (3, 0.4), (5, 0.0), (9, 0.0)])
def test_novelty_shrinks_by_a_fifth_with_each_similar_memory(similar: int, expected: float) -> None:
    assert scoring.novelty(similar, BIRTH) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ((1, 0, 0, 0, 0, 0), 0.25),
        ((0, 1, 0, 0, 0, 0), 0.20),
        ((0, 0, 1, 0, 0, 0), 0.20),
        ((0, 0, 0, 1, 0, 0), 0.15),
        ((0, 0, 0, 0, 1, 0), 0.15),
        ((0, 0, 0, 0, 0, 1), 0.05),
        ((1, 1, 1, 1, 1, 1), 1.0),
        ((0.8, 0.5, 0.25, 1.0, 0.0, 0.4), 0.52),
    ],
)
def test_importance_is_six_parts_by_weight(inputs: tuple[float, ...], expected: float) -> None:
    assert scoring.importance(*inputs, WORK) == pytest.approx(expected)  # type: ignore[arg-type, misc]


@given(anything, anything, anything, st.integers())
def test_salience_stays_within_0_and_1_whatever_comes_in(
    emotion: float, novelty: float, relatedness: float, mentions: int
) -> None:
    assert 0.0 <= scoring.salience(emotion, novelty, relatedness, mentions, BIRTH) <= 1.0


@given(st.tuples(*[anything] * 6))
def test_importance_stays_within_0_and_1_whatever_comes_in(inputs: tuple[float, ...]) -> None:
    assert 0.0 <= scoring.importance(*inputs, WORK) <= 1.0  # type: ignore[arg-type, misc]


def test_weights_that_exceed_one_whole_are_clipped_at_the_end() -> None:
    assert scoring.salience(1, 1, 1, 10, Salience(emotion=1.0)) == 1.0


def test_what_is_not_a_number_counts_as_nothing() -> None:
    assert scoring.clamp_unit(math.nan) == 0.0  # type: ignore[attr-defined]


@pytest.mark.parametrize(("count", "kept"), [(0, 0), (1, 0), (2, 1), (3, 2), (10, 7), (11, 7), (100, 70)])
def test_the_top_seventy_percent_are_consolidated_rounded_down(count: int, kept: int) -> None:
    assert len(scoring.consolidate((n, float(n)) for n in range(count))) == kept


def test_consolidation_keeps_the_best_first_and_equals_in_their_order() -> None:
    scored = [("a", 0.2), ("b", 0.9), ("c", 0.5), ("d", 0.5), ("e", 0.1)]
    assert scoring.consolidate(scored) == ["b", "c", "d"]


def test_the_share_consolidated_can_be_chosen() -> None:
    assert scoring.consolidate([("a", 0.2), ("b", 0.9)], share=1.0) == ["b", "a"]
