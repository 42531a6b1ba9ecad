"""Which words of a question tell most, and of whom."""

from __future__ import annotations

from array import array

import pytest

from nagori.core import relevance
from nagori.core.relevance import (
    COMMON,
    CandidateInfo,
    OtherLanguage,
    Query,
    check_query,
    choose_words,
    common_count,
    cosines_of_nearest,
    join_candidates,
    most_telling,
    sample_numbers,
    usual_cosine,
)
from nagori.errors import InvalidInput

ONE, OTHER = array("f", [1.0, 0.0]).tobytes(), array("f", [0.0, 1.0]).tobytes()


def info(id: str) -> CandidateInfo:
    return CandidateInfo(id, None, None, None, 3, 20, 0, "user", 0)


def test_a_word_is_common_in_a_tenth_of_many_memories() -> None:
    assert common_count(10) == COMMON
    assert common_count(100_000) == 10_000


def test_rare_words_are_chosen_before_common_ones() -> None:
    counts = {"the": 2 * COMMON, "staging": 3, "port": 5, "zebra": 0}
    assert choose_words(counts, 1_000) == (["staging", "port"], 1)
    assert choose_words({"the": 2 * COMMON}, 1_000) == (["the"], 0)  # better than none


def test_places_are_bounded_over_all_words() -> None:
    counts = {f"w{n}": 900 for n in range(6)}
    chosen, left_out = choose_words(counts, 9_000)
    assert (len(chosen), left_out) == (4, 2)


def test_of_too_many_memories_those_with_the_rarest_words_stay() -> None:
    few = {"a": {1: 1, 2: 1}, "b": {2: 3}}
    assert most_telling(few, 10) == {1, 2}
    many = {"common": dict.fromkeys(range(relevance.MOST_SKETCHES + 100), 1), "rare": {7: 1, 9: 1}}
    kept = most_telling(many, 10_000)
    assert len(kept) == relevance.MOST_SKETCHES
    assert {7, 9} <= kept


def test_a_sample_is_spread_evenly() -> None:
    assert list(sample_numbers(3)) == [1, 2, 3]
    assert len(sample_numbers(100_000)) <= 2 * relevance.SAMPLE
    assert list(sample_numbers(0)) == []


def test_the_usual_cosine_has_a_spread() -> None:
    assert usual_cosine(None, None) == (0.0, 1.0)
    mean, spread = usual_cosine(0.5, 0.29)
    assert (mean, round(spread, 9)) == (0.5, 0.2)
    assert usual_cosine(0.5, 0.25)[1] > 0.0


def test_candidates_are_joined_by_id() -> None:
    places = {"port": {1: 2, 5: 1}, "gone": {5: 1}}
    joined = join_candidates(
        ["port", "gone", "the", ""], (10, 4.0), places, 1, {1: 0.9, 5: 0.8}, (0.1, 0.2), {1: info("m1")}
    )
    assert joined.places == {"port": {"m1": 2}}  # 5 may not be seen
    assert joined.cosines == {"m1": 0.9}
    assert (joined.total, joined.asked, joined.mean_tokens, joined.usual) == (10, 2, 4.0, (0.1, 0.2))
    assert joined.infos == {"m1": info("m1")}


def test_a_question_in_two_languages_is_searched_by_the_mean_of_both_and_measured_by_the_nearer() -> None:
    near = {ONE: {"a": 0.9, "b": 0.2, "c": 0.1}, OTHER: {"a": 0.3, "b": 0.8, "c": 0.4}}
    both = Query(vector=ONE, nearest=2, other=OtherLanguage(OTHER, -0.1))
    assert array("f", both.search_vector).tolist() == [1.0, 1.0]
    asked: list[int | None] = []

    def nearest(vector: bytes, k: int | None) -> dict[str, float]:
        asked.append(k)
        return near[vector]

    found = cosines_of_nearest(both, nearest)
    assert (list(found), found) == (["a", "b"], pytest.approx({"a": 0.9, "b": 0.7}))
    assert asked == [None, None]
    assert cosines_of_nearest(Query(vector=ONE, nearest=3), nearest) == near[ONE]


def test_each_vector_of_a_question_is_checked() -> None:
    check_query(Query(vector=ONE, other=OtherLanguage(OTHER, 0.0)), 2)
    for bad in (Query(vector=ONE[:4]), Query(vector=ONE, other=OtherLanguage(OTHER[:4], 0.0))):
        with pytest.raises(InvalidInput, match="dimensions"):
            check_query(bad, 2)
