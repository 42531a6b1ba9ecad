"""The benchmark of thread boundaries: its measures, and the labels of our own dialogues."""

import pytest
from bench.threads import Dialogue, kappa, measure, own_dialogues, own_labels, pk

TALK: list[Dialogue] = [(["a", "b", "c", "d", "e"], [2])]


def test_kappa_is_one_where_two_agree_and_zero_where_they_agree_by_chance() -> None:
    assert kappa(TALK, [[2]], [[2]]) == 1.0
    # One of four places each: 10 of 16 agree by chance. Two of four places differ.
    assert kappa(TALK, [[2]], [[3]]) == pytest.approx((0.5 - 0.625) / 0.375)
    assert kappa(TALK, [[1, 2, 3, 4]], [[2]]) == 0.0
    assert kappa(TALK, [[]], [[]]) == 1.0


def test_pk_counts_places_half_a_topic_apart_that_are_told_wrongly() -> None:
    assert pk(5, [2], [2]) == 0.0
    assert pk(5, [2], []) == pytest.approx(2 / 3)
    assert measure(TALK, lambda texts: [2]) == (0.0, 1.0)


def test_readers_labelled_every_dialogue_at_places_that_exist() -> None:
    dialogues = own_dialogues()
    assert len(dialogues) >= 60
    for who, labels in own_labels(dialogues).items():
        assert len(labels) == len(dialogues), who
        for (texts, _), cuts in zip(dialogues, labels, strict=True):
            assert cuts == sorted(set(cuts))
            assert all(0 < cut < len(texts) for cut in cuts), (who, cuts)
