"""Salience [T7]: the formula of the requirement, and the choice of the most salient."""

import pytest

from nagori.core.consolidation_salience import consolidated_coefficient, most_salient, salience


def test_t7_salience_weighs_emotion_novelty_relatedness_and_repetition() -> None:
    assert salience(100, 0, 0, 0) == pytest.approx(0.4)
    assert salience(0, 5, 0, 0) == pytest.approx(0.3)
    assert salience(0, 0, 5, 0) == pytest.approx(0.2)
    assert salience(0, 0, 0, 10) == pytest.approx(0.1)
    assert salience(100, 99, 99, 99) == pytest.approx(1.0)
    assert salience(50, 2, 1, 1) == pytest.approx(0.2 + 0.12 + 0.04 + 0.01)


def test_t7_the_top_70_per_cent_are_chosen() -> None:
    scores = {f"m{n}": n / 10 for n in range(10)}
    assert most_salient(scores, 0.7) == ["m9", "m8", "m7", "m6", "m5", "m4", "m3"]
    assert most_salient({"b": 1.0, "a": 1.0}, 0.5) == ["a"]
    assert most_salient({}, 0.7) == []


def test_consolidation_slows_decay_and_never_stops_it() -> None:
    assert consolidated_coefficient(0.9) == pytest.approx(0.925)
    assert 0.99 < consolidated_coefficient(0.99) < 1
