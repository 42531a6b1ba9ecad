"""Choose the candidates of a question from what an engine found: which words tell most, and of whom.

Engines find words and vectors in their own ways; what is made of them is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import nlargest
from math import log

from nagori.core.relevance import CandidateInfo, Candidates

COMMON = 500  # a word in more memories than this, and in a tenth of all, is ignored
SAMPLE = 200  # sample size for the usual cosine
MOST_SKETCHES = 500  # maximum number of candidates by words
MOST_PLACES = 4_000  # maximum over all words; the rarest words come first


def common_count(total: int) -> int:
    """The number of memories from which a word is common."""
    return max(COMMON, total // 10)


def choose_words(counts: Mapping[str, int], total: int) -> tuple[list[str], int]:
    """The words that discriminate, by how often each was found, and the number of ignored words: very common
    ones cost most. At most twice the common number of places of each word is counted."""
    chosen: list[str] = []
    room, left_out, common = MOST_PLACES, 0, common_count(total)
    for word, times in sorted(counts.items(), key=lambda item: item[1]):
        room -= times
        if not times:
            continue
        if (times < 2 * common and room > 0) or not chosen:
            chosen.append(word)
        else:
            left_out += 1
    return chosen, left_out


def most_telling(places: Mapping[str, Mapping[int, int]], total: int) -> set[int]:
    """The memories with the rarest words: common words match thousands."""
    every = {key for where in places.values() for key in where}
    if len(every) <= MOST_SKETCHES:
        return every
    rarity: dict[int, float] = dict.fromkeys(every, 0.0)
    for where in places.values():
        weight = log(1 + total / len(where))
        for key in where:
            rarity[key] += weight
    return set(nlargest(MOST_SKETCHES, rarity, key=lambda key: (rarity[key], key)))


def sample_numbers(last: int) -> range:
    """Numbers of memories at even distances, up to the last."""
    return range(1, last + 1, max(1, last // SAMPLE))


def usual_cosine(mean: float | None, square: float | None) -> tuple[float, float]:
    """Mean and spread from the mean cosine and the mean of its square; (0, 1) without any."""
    if mean is None or square is None:
        return (0.0, 1.0)
    return (mean, max(square - mean * mean, 1e-12) ** 0.5)


def join_candidates(
    words: Sequence[str],
    size: tuple[int, float],
    places: Mapping[str, Mapping[int, int]],
    left_out: int,
    near: Mapping[int, float],
    usual: tuple[float, float],
    infos: Mapping[int, CandidateInfo],
) -> Candidates:
    """All of it, by id instead of by key; `size` is the count of memories and their mean length in tokens."""
    by_word = {
        word: {infos[key].id: times for key, times in where.items() if key in infos}
        for word, where in places.items()
    }
    return Candidates(
        total=size[0],
        asked=len({word for word in words if word}) - left_out,
        mean_tokens=size[1],
        places={word: where for word, where in by_word.items() if where},
        cosines={infos[key].id: cosine for key, cosine in near.items() if key in infos},
        usual=usual,
        infos={info.id: info for info in infos.values()},
    )
