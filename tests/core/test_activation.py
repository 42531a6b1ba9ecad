"""Activation: rare concepts tell more, common ones nothing, and it is divided among the memories."""

import pytest

from nagori.core.spreading_activation import MOST_MENTIONS, ActiveConcept, hub_size, pass_on, rarity, shares


@pytest.mark.parametrize(("total", "hub"), [(0, 20), (199, 20), (300, 30), (5_000, 100)])
def test_a_concept_is_common_from_a_tenth_of_all_memories_within_bounds(total: int, hub: int) -> None:
    assert hub_size(total) == hub


def test_a_rarer_concept_tells_more() -> None:
    assert rarity(100, 1) > rarity(100, 2) > rarity(100, 50) > 0


def test_a_concept_divides_what_it_received() -> None:
    concepts = [ActiveConcept("a", 1, 1.0), ActiveConcept("b", 4, 1.0), ActiveConcept("c", 1, 0.5)]
    passed = pass_on(concepts, 100)
    assert passed["a"] == pytest.approx(rarity(100, 1))
    assert passed["b"] == pytest.approx(rarity(100, 4) / 4)
    assert passed["c"] == pytest.approx(passed["a"] / 2)


def test_a_step_follows_a_bounded_number_of_mentions_of_the_most_telling_concepts() -> None:
    sizes = {f"c{n}": 100 for n in range(10)} | {"rare": 1, "large": MOST_MENTIONS}
    passed = pass_on([ActiveConcept(name, size, 1.0) for name, size in sizes.items()], 5_000)
    assert list(passed) == [f"c{n}" for n in range(MOST_MENTIONS // 100)]
    passed = pass_on([ActiveConcept("rare", 1, 1.0), ActiveConcept("large", MOST_MENTIONS, 1.0)], 5_000)
    assert list(passed) == ["rare"]


def test_shares_are_relative_to_the_highest() -> None:
    assert shares({"a": 4.0, "b": 1.0}) == {"a": 1.0, "b": 0.25}
    assert shares({}) == shares({"a": 0.0}) == {}
