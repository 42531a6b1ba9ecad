"""What counts when a question is answered: one term at a time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagori.core.model import THREAD_ID
from nagori.core.relevance import (
    TIME_TOLERANCE,
    WEIGHTS,
    CandidateInfo,
    Candidates,
    confidence,
    relevance,
)


def sketch(id: str, turn: int | None = None, *, session: str | None = "s", **more: object) -> CandidateInfo:
    fields = {"speaker": None, "tokens": 10, "chars": 89, "asks": 0, "trust": "user", "at": 0} | more
    return CandidateInfo(id, session if turn is not None else None, turn, **fields)


def evidence(*infos: CandidateInfo, **more: object) -> Candidates:
    fields: dict[str, object] = {
        "total": 100,
        "asked": 0,
        "mean_tokens": 10.0,
        "places": {},
        "cosines": {},
        "usual": (0.8, 0.03),
    }
    return Candidates(infos={s.id: s for s in infos}, **(fields | more))  # type: ignore[arg-type]


def odds_of(terms: dict[str, float]) -> float:
    return float(sum(WEIGHTS.get(name, 0.0) * value for name, value in terms.items()))


def test_the_best_match_by_words_has_the_whole_share() -> None:
    found = relevance(
        evidence(sketch("a"), sketch("b"), places={"heron": {"a": 1}, "server": {"a": 1, "b": 1}})
    )
    assert found["a"]["words"] == 1.0
    assert 0 < found["b"]["words"] < 0.5


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    everywhere = {str(n): 1 for n in range(60)}
    found = relevance(
        evidence(*(sketch(str(n)) for n in range(61)), places={"common": everywhere, "rare": {"60": 1}})
    )
    assert found["60"]["words"] > found["0"]["words"]


def test_a_long_memory_needs_more_mentions_for_the_same_share() -> None:
    found = relevance(
        evidence(sketch("short", tokens=5), sketch("long", tokens=50), places={"w": {"short": 1, "long": 1}})
    )
    assert found["short"]["words"] > found["long"]["words"]


def test_meaning_is_told_in_units_of_the_usual_spread() -> None:
    found = relevance(evidence(sketch("a"), cosines={"a": 0.86}))
    assert found["a"]["meaning"] == pytest.approx(2.0, rel=0.01)


def test_a_handful_of_memories_says_little_about_the_spread() -> None:
    tiny = evidence(sketch("a"), cosines={"a": 0.81}, usual=(0.8, 0.0001), total=2)
    assert relevance(tiny)["a"]["meaning"] < 1


def test_without_vectors_meaning_is_silent() -> None:
    assert relevance(evidence(sketch("a"), places={"w": {"a": 1}}))["a"]["meaning"] == 0.0


def test_words_spread_over_neighbours_count_for_each_of_them() -> None:
    turns = [sketch(f"t{n}", n) for n in range(8)]
    found = relevance(evidence(*turns, places={"trip": {"t3": 1}, "kyoto": {"t4": 1}}))
    assert found["t3"]["window_words"] == found["t4"]["window_words"] == 1.0
    assert found["t1"]["window_words"] == 0.0
    assert found["t1"]["wide_words"] > 0.0
    assert found["t7"]["wide_words"] > 0.0
    assert found["t0"]["wide_words"] < found["t1"]["wide_words"]


def test_neighbours_in_another_session_are_strangers() -> None:
    found = relevance(
        evidence(sketch("a", 1), sketch("b", 2, session="other"), places={"w": {"a": 1}}, cosines={"a": 0.9})
    )
    assert found["b"]["window_words"] == 0.0
    assert found["b"]["session_words"] == 0.0


def test_the_turn_after_a_matching_question_is_its_answer() -> None:
    found = relevance(
        evidence(
            sketch("question", 1, asks=1),
            sketch("answer", 2),
            sketch("later", 3),
            places={"kettle": {"question": 1}},
            cosines={"question": 0.89},
        )
    )
    assert found["answer"]["answer_words"] == 1.0
    assert found["answer"]["answer_meaning"] == pytest.approx(3.0, rel=0.01)
    assert found["later"]["answer_words"] == 0.0
    assert found["question"]["asks"] == 1.0
    assert odds_of(found["answer"]) > odds_of(found["later"])


def test_a_session_that_answers_lifts_all_its_turns() -> None:
    found = relevance(
        evidence(sketch("hit", 1), sketch("far", 40), places={"w": {"hit": 1}}, cosines={"hit": 0.9})
    )
    assert found["far"]["session_words"] == 1.0
    assert found["far"]["session_meaning"] == found["hit"]["meaning"]


def test_the_one_speaker_named_is_preferred_and_two_are_not() -> None:
    both = evidence(sketch("a", speaker="Aki"), sketch("b", speaker="Ben"))
    assert [relevance(both, ["Aki"])[id]["speaker"] for id in "ab"] == [1.0, 0.0]
    assert [relevance(both, ["Aki", "Ben"])[id]["speaker"] for id in "ab"] == [0.0, 0.0]


def test_length_is_told_from_that_of_a_usual_sentence() -> None:
    found = relevance(evidence(sketch("short", chars=10), sketch("long", chars=300)))
    assert found["long"]["length"] > 0 > found["short"]["length"]


def test_what_people_told_counts_more_than_an_assistants_pages() -> None:
    both = evidence(sketch("u", trust="user"), sketch("a", trust="assistant"), places={"w": {"u": 1, "a": 1}})
    found = relevance(both)
    assert odds_of(found["u"]) > odds_of(found["a"])


def test_a_memory_outside_conversations_is_its_own_neighbourhood() -> None:
    terms = relevance(evidence(sketch("a"), places={"w": {"a": 1}}, cosines={"a": 0.86}))["a"]
    assert terms["wide_words"] == terms["session_words"] == terms["words"]
    assert terms["window_meaning"] == terms["meaning"]


def test_neighbours_near_in_meaning_lift_a_turn_the_closer_the_more() -> None:
    turns = [sketch(f"t{n}", n) for n in range(5)]
    found = relevance(evidence(*turns, cosines={f"t{n}": 0.9 if n == 2 else 0.8 for n in range(5)}))
    lifted = [found[f"t{n}"]["window_meaning"] for n in range(5)]
    assert lifted[2] > lifted[1] == pytest.approx(lifted[3])
    assert lifted[1] > lifted[0]


def test_pieces_of_one_message_share_a_place() -> None:
    found = relevance(evidence(sketch("p1", 1), sketch("p2", 1), sketch("next", 2), places={"w": {"p1": 1}}))
    assert found["p2"]["window_words"] == found["p1"]["window_words"] == 1.0


def test_of_very_many_only_the_likeliest_are_weighed() -> None:
    many = [sketch(str(n), n) for n in range(50)]
    found = relevance(evidence(*many, places={"w": {"40": 1}}, cosines={"10": 0.95, "20": 0.7}), most=12)
    assert len(found) == 12
    assert {"10", "40", "41", "43"} <= set(found)


def test_words_of_unseen_memories_are_passed_over() -> None:
    found = relevance(evidence(sketch("a", 1), places={"w": {"a": 1, "not visible": 9}}))
    assert set(found) == {"a"}


@given(
    st.lists(st.tuples(st.integers(0, 20), st.sampled_from("xyz"), st.booleans()), max_size=15),
    st.dictionaries(st.sampled_from(["w1", "w2"]), st.dictionaries(st.integers(0, 15), st.integers(1, 5))),
    st.dictionaries(st.integers(0, 15), st.floats(-1, 1)),
)
def test_any_evidence_gives_finite_terms_that_all_have_a_weight(
    turns: list[tuple[int, str, bool]],
    places: dict[str, dict[int, int]],
    cosines: dict[int, float],
) -> None:
    infos = [sketch(str(n), t, session=s, asks=int(a)) for n, (t, s, a) in enumerate(turns)]
    found = relevance(
        evidence(
            *infos,
            places={word: {str(n): c for n, c in where.items()} for word, where in places.items()},
            cosines={str(n): c for n, c in cosines.items()},
        )
    )
    assert set(found) == {s.id for s in infos}
    for terms in found.values():
        assert set(terms) <= set(WEIGHTS) | {"heard"}
        assert 0 <= terms["heard"] <= 1


@given(
    st.lists(st.tuples(st.none() | st.integers(0, 40), st.sampled_from("st"), st.booleans()), max_size=30),
    st.dictionaries(st.sampled_from(["w1", "w2"]), st.dictionaries(st.integers(0, 29), st.integers(1, 5))),
    st.dictionaries(st.integers(0, 29), st.floats(-1, 1)),
    st.none() | st.tuples(st.none() | st.integers(0, 20), st.none() | st.integers(0, 40)),
    st.integers(0, 40),
    st.integers(1, 40),
)
def test_the_likeliest_are_those_with_the_largest_weighted_sum_of_their_terms(
    turns: list[tuple[int | None, str, bool]],
    places: dict[str, dict[int, int]],
    cosines: dict[int, float],
    window: tuple[int | None, int | None] | None,
    n: int,
    most: int,
) -> None:
    infos = [sketch(str(i), t, session=s, asks=int(a), at=i) for i, (t, s, a) in enumerate(turns)]
    given = evidence(
        *infos,
        places={word: {str(i): c for i, c in where.items()} for word, where in places.items()},
        cosines={str(i): c for i, c in cosines.items()},
        asked=2,
    )
    every = relevance(given, window=window, most=most)
    odds = {id: odds_of(terms) for id, terms in every.items()}
    best = sorted(every, key=lambda id: (-odds[id], id))[:n]
    found = given.likeliest((), window, n, most)
    least = min(given.cosines.values(), default=None)
    assert list(found) == best
    assert found == {id: (odds[id], every[id], given.cosines.get(id, least)) for id in best}


@pytest.mark.parametrize(
    ("at", "window", "worth"),
    [
        (50, (10, 100), 1.0),
        (10, (10, 100), 1.0),
        (100, (10, 100), 0.5),
        (99 + TIME_TOLERANCE, (10, 100), 0.5),
        (100 + TIME_TOLERANCE, (10, 100), 0.0),
        (9, (10, 100), 0.0),
        (50, (None, 100), 1.0),
        (10**18, (10, None), 1.0),
        (50, None, 0.0),
    ],
)
def test_what_was_said_in_the_time_asked_for_or_soon_after_counts(
    at: int, window: object, worth: float
) -> None:
    found = relevance(evidence(sketch("a", at=at)), window=window)  # type: ignore[arg-type]
    assert found["a"]["time"] == worth


def test_a_word_never_heard_makes_the_share_that_was_heard_smaller() -> None:
    places = {"heron": {"a": 1}}
    whole = relevance(evidence(sketch("a"), places=places, asked=1))["a"]["heard"]
    half = relevance(evidence(sketch("a"), places=places, asked=2))["a"]["heard"]
    assert whole == 1.0
    assert 0 < half < 0.5


def test_words_around_a_turn_are_heard_too() -> None:
    found = relevance(evidence(sketch("a", 1), sketch("b", 3), places={"heron": {"a": 1}}, asked=1))
    assert found["b"]["heard"] == 1.0


@given(st.floats(0, 1), st.floats(-1, 1), st.floats(0, 1))
def test_more_words_and_a_nearer_meaning_never_lower_the_certainty(
    heard: float, cosine: float, more: float
) -> None:
    usual = (0.8, 0.1)
    sure = confidence(heard, cosine, usual)
    assert 0 <= sure <= 1
    assert confidence(min(1.0, heard + more), cosine, usual) >= sure
    assert confidence(heard, min(1.0, cosine + more), usual) >= sure
    assert confidence(min(1.0, heard + more), None, usual) >= confidence(heard, None, usual)
    assert confidence(heard, cosine, usual, same_language=False) >= sure


def test_of_very_many_only_the_likeliest_are_weighed_alone_or_in_talks() -> None:
    alone = [sketch(f"a{n}") for n in range(150)]
    talking = [sketch(f"t{n}", n) for n in range(150)]
    found = relevance(evidence(*alone, *talking, places={"w": {"a7": 1, "t9": 1}}, asked=1))
    assert len(found) == 200
    assert {"a7", "t9"} <= set(found)


def test_candidates_tell_who_spoke_whether_meaning_was_compared_and_of_summaries() -> None:
    given = evidence(sketch("a", 1, speaker="Ada"), sketch("b"), cosines={})
    assert given.speakers() == {"Ada", None}
    assert not given.has_cosines()
    assert not given.has_thread_summaries()
    others = evidence(sketch(f"{THREAD_ID}x"), cosines={f"{THREAD_ID}x": 0.5})
    assert others.has_cosines()
    assert others.has_thread_summaries()


def test_of_many_candidates_the_one_of_the_asked_time_is_among_the_likely_ones() -> None:
    day = 86_400
    infos = [sketch(str(n), at=n * 100 * day) for n in range(10)]
    given = evidence(*infos, places={"tea": {str(n): 1 for n in range(10)}})
    assert "7" in relevance(given, window=(700 * day, 701 * day), most=2)
    assert "7" not in relevance(given, most=2)
