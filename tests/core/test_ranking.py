"""Scores: the documents' formulas exactly, and fusion that keeps relevance first."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nagori.core import memory_scores
from nagori.core.decay import Reinforcement
from nagori.core.memory_scores import Resonance, SelfRecall
from nagori.core.model import TAGS, Emotion, Level, Memory, Text, Valence
from nagori.core.relevance import bounded_factor
from nagori.errors import InvalidInput

FEELING, RECALL, SELF = Resonance(), Reinforcement(), SelfRecall()
emotions = st.builds(
    Emotion,
    intensity=st.floats(0, 100),
    valence=st.sampled_from(Valence),
    arousal=st.floats(0, 100),
    tags=st.lists(st.sampled_from(sorted(TAGS)), max_size=5).map(tuple),
)
vectors = st.lists(st.floats(-1e150, 1e150), min_size=1, max_size=8)
scores = st.dictionaries(st.text(max_size=3), st.floats(allow_nan=False, allow_infinity=False), max_size=8)


# ── nearness ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ((1, 0), (1, 0), 1.0),
        ((1, 0), (0, 1), 0.0),
        ((1, 0), (-2, 0), -1.0),
        ((1, 1), (1, 0), math.sqrt(0.5)),
        ((3, 4), (4, 3), 0.96),
        ((0, 0), (1, 2), 0.0),
        ((1, 2), (0, 0), 0.0),
        ((), (), 0.0),
    ],
)
def test_cosine_is_the_angle_and_the_zero_vector_is_like_nothing(
    a: tuple[float, ...], b: tuple[float, ...], expected: float
) -> None:
    assert memory_scores.cosine(a, b) == pytest.approx(expected)


def test_vectors_of_two_models_are_never_compared() -> None:
    with pytest.raises(InvalidInput, match="384 dimensions cannot be compared with one of 1536"):
        memory_scores.cosine([0.1] * 384, [0.1] * 1536)


@given(vectors, st.data())
def test_cosine_is_symmetric_and_within_one(a: list[float], data: st.DataObject) -> None:
    b = data.draw(st.lists(st.floats(-1e150, 1e150), min_size=len(a), max_size=len(a)))
    assert -1.0 <= memory_scores.cosine(a, b) == memory_scores.cosine(b, a) <= 1.0


@given(vectors)
def test_a_vector_is_like_itself(a: list[float]) -> None:
    assume(any(a))
    assert memory_scores.cosine(a, a) == pytest.approx(1.0)


def test_the_example_resonates_at_0_74() -> None:
    current = Emotion(valence=Valence.NEGATIVE, arousal=85, tags=("frustration", "anger"))
    memory = Emotion(valence=Valence.NEGATIVE, arousal=90, tags=("frustration",))
    assert memory_scores.resonance(current, memory, FEELING) == pytest.approx(0.3 + 0.19 + 0.25)


def test_opposite_feelings_do_not_resonate() -> None:
    current = Emotion(valence=Valence.POSITIVE, arousal=100, tags=("joy",))
    memory = Emotion(valence=Valence.NEGATIVE, arousal=0, tags=("anger",))
    assert memory_scores.resonance(current, memory, FEELING) == 0.0


@given(emotions, emotions)
def test_resonance_is_symmetric_and_within_0_and_1(one: Emotion, other: Emotion) -> None:
    assert 0.0 <= memory_scores.resonance(one, other, FEELING) <= 1.0
    assert memory_scores.resonance(one, other, FEELING) == memory_scores.resonance(other, one, FEELING)


@given(emotions, emotions)
def test_neutral_or_unknown_feelings_neither_help_nor_hurt(one: Emotion, other: Emotion) -> None:
    felt = memory_scores.felt_resonance(one, other, FEELING)
    if Valence.NEUTRAL in (one.valence, other.valence):
        assert felt == 0.0
    else:
        assert felt == memory_scores.resonance(one, other, FEELING)
    assert memory_scores.felt_resonance(None, other, FEELING) == 0.0
    assert memory_scores.felt_resonance(one, None, FEELING) == 0.0


def test_a_sad_memory_comes_no_easier_than_a_glad_one() -> None:
    """No negativity bias [ruling 19]."""
    sad, glad = Emotion(valence=Valence.NEGATIVE), Emotion(valence=Valence.POSITIVE)
    assert memory_scores.felt_resonance(sad, sad, FEELING) == memory_scores.felt_resonance(
        glad, glad, FEELING
    )


# ── the documents' own scores ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("retention", "match", "recalls", "resonance", "expected"),
    [
        (60, 0.8, 0, 0.0, 48.0),
        (60, 0.8, 5, 0.0, 72.0),
        (60, 0.8, 0, 0.74, 48.0 + 0.3 * 0.74 * 60),
        (60, -0.5, 5, 0.0, 0.0),
        (0, 1.0, 9, 1.0, 0.0),
    ],
)
def test_priority_follows_its_formula(
    retention: float, match: float, recalls: int, resonance: float, expected: float
) -> None:
    found = memory_scores.priority(retention, match, recalls, resonance, RECALL, FEELING)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ((1, 0, 0, 0), 0.4),
        ((0, 1, 0, 0), 0.3),
        ((0, 0, 1, 0), 0.2),
        ((0, 0, 0, 1), 0.1),
        ((0.5, 0.5, 1.0, 0.5), 0.6),
        ((9, -9, 1, 9), 0.7),
    ],
)
def test_recall_score_follows_its_formula(inputs: tuple[float, float, float, float], expected: float) -> None:
    """[S5]"""
    assert memory_scores.recall_score(*inputs, SELF) == pytest.approx(expected)


# ── joining arms ─────────────────────────────────────────────────────────────────────────────────


@given(st.floats(), st.floats(0, 0.3))
def test_a_bounded_factor_stays_in_its_bounds_however_loud_the_value(value: float, swing: float) -> None:
    assert 1 - swing - 1e-12 <= bounded_factor(value, 1 - swing, 1 + swing) <= 1 + swing + 1e-12


def test_a_bounded_factor_is_neutral_in_the_middle() -> None:
    assert bounded_factor(0.5, 0.7, 1.3) == pytest.approx(1.0)


# ── order by strength ────────────────────────────────────────────────────────────────────────────


def ranked(strength: float, id: str, day: int) -> tuple[float, Memory]:
    born = datetime(2026, 4, 1, tzinfo=UTC) + timedelta(days=day)
    return strength, Memory(id, born, born, {Level.FULL: Text("", id)})


def ids_by_strength(*items: tuple[float, Memory], near: float = 5.0) -> list[str]:
    return [memory.id for _, memory in memory_scores.order_by_strength(items, near)]


def test_of_about_equally_strong_memories_the_newest_comes_first() -> None:
    old, new, weak = ranked(90, "old", 0), ranked(86, "new", 2), ranked(60, "weak", 9)
    assert ids_by_strength(weak, old, new) == ["new", "old", "weak"]
    assert ids_by_strength(weak, old, new, near=4.0) == ["old", "new", "weak"]
    assert ids_by_strength() == []


def test_a_group_is_measured_from_its_strongest_memory_so_it_does_not_drift() -> None:
    steps = [ranked(90, "a", 0), ranked(87, "b", 1), ranked(84, "c", 2)]
    assert ids_by_strength(*steps) == ["b", "a", "c"]


def test_memories_of_one_moment_keep_one_order() -> None:
    twins = [ranked(50, "a", 0), ranked(50, "b", 0)]
    assert ids_by_strength(*twins) == ids_by_strength(*reversed(twins)) == ["b", "a"]
