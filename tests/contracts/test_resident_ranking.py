"""Candidates as arrays are ranked exactly as candidates by name."""

from __future__ import annotations

import random

import numpy
import pytest

from nagori.core.model import LARGEST_COUNT, THREAD_ID
from nagori.core.relevance import TIME_TOLERANCE, CandidateInfo, Candidates, Window
from nagori.core.value_object import replace
from nagori.stores.sqlite.resident.candidate_columns import Sketches
from nagori.stores.sqlite.resident.ranking import CandidateArrays, ResidentCandidates, build_candidates

SPEAKERS = (None, "Ada", "Bea")
WORDS = ("tea", "boat", "lamp", "roof")
FIRST_TURNS = (-LARGEST_COUNT, -3, 0, LARGEST_COUNT - 40)


def draw(dice: random.Random) -> tuple[ResidentCandidates, Candidates]:
    """The same candidates in both forms."""
    count = dice.choice([0, 1, 5, 40, 260])
    first, talking = dice.choice(FIRST_TURNS), dice.choice([0.0, 0.5, 1.0])
    infos = [info(dice, n, first, talking) for n in range(count)]
    dice.shuffle(infos)
    sizes = {word: dice.randrange(count + 1) for word in dice.sample(WORDS, dice.randrange(5))}
    places = {
        word: {at: dice.randrange(1, 4) for at in sorted(dice.sample(range(count), size))}
        for word, size in sizes.items()
        if size
    }
    near = dice.sample(range(count), dice.choice([0, count // 2, count]))
    cosines = sorted((dice.choice([0.25, dice.random()]) for _ in near), reverse=True)
    size, usual = (count + dice.randrange(1000), dice.choice([0.0, 7.3])), (dice.random() / 2, dice.random())
    plain = Candidates(
        total=size[0],
        asked=len(places) + dice.randrange(2),
        mean_tokens=size[1],
        places={word: {infos[at].id: n for at, n in where.items()} for word, where in places.items()},
        cosines={infos[at].id: cosine for at, cosine in zip(near, cosines, strict=True)},
        usual=usual,
        infos={each.id: each for each in infos},
    )
    sketches = Sketches(4)
    sketches.reserve(count + 10)
    sketches.put(range(count), infos)
    sketches.reserve(2 * count + 20)
    words = [(word, numpy.array(list(at)), numpy.array(list(at.values()))) for word, at in places.items()]
    spots = numpy.arange(count)
    assert sketches.missing(spots) == []
    arrays = CandidateArrays(
        sketches.select(spots), words, numpy.array(near, numpy.int64), numpy.array(cosines, float)
    )
    return build_candidates(size, plain.asked, usual, arrays), plain


def info(dice: random.Random, n: int, first: int, talking: float) -> CandidateInfo:
    session = dice.choice("abc") if dice.random() < talking else None
    turn = first + dice.randrange(40) if dice.random() < 0.95 else None
    prefix = THREAD_ID if dice.random() < 0.01 else "mem_"
    said = (dice.randrange(40), dice.randrange(200), int(dice.random() < 0.3))
    trust = dice.choice(["user", "assistant", "import", "tool"])
    at = dice.choice([n, n + TIME_TOLERANCE])
    return CandidateInfo(f"{prefix}{n}", session, turn, dice.choice(SPEAKERS), *said, trust, at)


def draw_window(dice: random.Random) -> Window | None:
    ends = [dice.choice([None, dice.randrange(300)]) for _ in range(2)]
    return dice.choice([None, (ends[0], ends[1])])


@pytest.mark.parametrize("seed", range(300))
def test_they_are_ranked_as_by_name_down_to_the_last_bit(seed: int) -> None:
    dice = random.Random(seed)
    arrays, plain = draw(dice)
    window, n, most = draw_window(dice), dice.choice([0, 1, 10, 300]), dice.choice([3, 30, 200])
    named = [each for each in SPEAKERS if each and dice.random() < 0.4]
    ours, theirs = (each.likeliest(named, window, n, most) for each in (arrays, plain))
    assert list(ours) == list(theirs)
    assert ours == theirs
    assert [list(each[1]) for each in ours.values()] == [list(each[1]) for each in theirs.values()]
    assert arrays.speakers() == plain.speakers()
    assert arrays.has_cosines() == plain.has_cosines()
    assert arrays.has_thread_summaries() == plain.has_thread_summaries()
    assert "infos" not in arrays.__dict__
    assert arrays == plain
    assert Candidates(*arrays) == plain


def test_a_copy_with_other_dictionaries_is_ranked_by_them() -> None:
    arrays, plain = next(
        pair for seed in range(99) if len((pair := draw(random.Random(seed)))[1].infos) == 40
    )
    sure = replace(arrays, own_matter=3.0)
    assert "infos" not in sure.__dict__
    assert sure.likeliest([], None, 10) == plain.likeliest([], None, 10)
    few = dict(list(plain.infos.items())[:7])
    for whole in (arrays, plain):
        ranked = replace(whole, infos={id: whole.infos[id] for id in few}).likeliest([], None, 10)
        assert set(ranked) == set(few)
        assert ranked == replace(plain, infos=few).likeliest([], None, 10)
    with pytest.raises(AttributeError):
        _ = arrays.unheard_of  # type: ignore[attr-defined]
