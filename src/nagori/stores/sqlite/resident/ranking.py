"""`core.relevance` for candidates that are arrays: the same terms, sums and order, down to the last bit.

Every operation is the one that `core.relevance` does, in the same order, for all candidates at once. Only the
finalists become rows of terms by name; whoever needs the other candidates by name asks for the dictionaries,
which are built then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy

from nagori.core.relevance import (
    K1,
    MEANING,
    NEAR,
    TERMS_ALONE,
    TERMS_IN_CONVERSATION,
    TIME,
    TIME_TOLERANCE,
    WEIGHTS,
    WIDE,
    WIDE_WORDS,
    WORDS,
    B,
    Candidates,
    Finalist,
    Window,
    standard_scale,
    sum_of_rarities,
    weigh,
    word_rarity,
)
from nagori.core.value_object import build_unchecked
from nagori.stores.sqlite.resident.candidate_columns import Sketch, session_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DICTIONARIES = ("places", "cosines", "infos")
_WEIGHTS: dict[tuple[str, ...], Any] = {
    names: numpy.array([WEIGHTS[name] for name in names]) for names in (TERMS_ALONE, TERMS_IN_CONVERSATION)
}
ROUNDING = 1e-9  # far more than sums of terms differ by


class ResidentCandidates(Candidates):
    """Candidates from the arrays of an index, which does not change them any more."""

    @property
    def arrays(self) -> CandidateArrays | None:
        return self.__dict__.get("_arrays")

    def likeliest(
        self, named: Iterable[str], window: Window | None, n: int, most: int = 200
    ) -> dict[str, Finalist]:
        if self.arrays is None:
            return super().likeliest(named, window, n, most)
        return Ranking(self, self.arrays, window, named).best(n, most)

    def speakers(self) -> set[str | None]:
        return super().speakers() if self.arrays is None else self.arrays.sketch.speakers()

    def has_cosines(self) -> bool:
        return super().has_cosines() if self.arrays is None else bool(len(self.arrays.near))

    def has_thread_summaries(self) -> bool:
        if self.arrays is None:
            return super().has_thread_summaries()
        return bool(self.arrays.sketch.summary.any())

    def __getattr__(self, name: str) -> Any:
        if name not in DICTIONARIES or self.arrays is None:
            raise AttributeError(name)
        self.__dict__.update(self.arrays.dictionaries())
        return self.__dict__[name]

    def __post_init__(self) -> None:
        """A copy whose dictionaries may have been replaced is ranked by them."""
        fields = self.__dict__
        if "_arrays" in fields and any(name in fields for name in DICTIONARIES):
            self.__dict__.update(fields.pop("_arrays").dictionaries() | fields)

    def plain(self) -> Candidates:
        """The same without arrays."""
        return build_unchecked(Candidates, {name: getattr(self, name) for name in self._names})

    def __iter__(self) -> Iterator[Any]:
        return iter(self.plain())

    def __eq__(self, other: object) -> bool:
        return self.plain() == (other.plain() if isinstance(other, ResidentCandidates) else other)

    __hash__ = Candidates.__hash__


class CandidateArrays:
    """Candidates in the order of their memories, and of what belongs to each by its position there."""

    def __init__(
        self,
        sketch: Sketch,
        words: Sequence[tuple[str, Any, Any]],
        near: Any,
        cosines: Any,
    ) -> None:
        self.sketch = sketch
        self.words = words  # each with the candidates that have it, and how often
        self.near, self.cosines = near, cosines  # the nearest, best first

    def dictionaries(self) -> dict[str, Any]:
        infos = self.sketch.rows.tolist()
        ids = [info.id for info in infos]
        return {
            "places": {
                word: dict(zip(map(ids.__getitem__, at.tolist()), counts.tolist(), strict=True))
                for word, at, counts in self.words
            },
            "cosines": dict(
                zip(map(ids.__getitem__, self.near.tolist()), self.cosines.tolist(), strict=True)
            ),
            "infos": dict(zip(ids, infos, strict=True)),
        }


def build_candidates(
    size: tuple[int, float], asked: int, usual: tuple[float, float], arrays: CandidateArrays
) -> ResidentCandidates:
    fields = Candidates._defaults | {"total": size[0], "asked": asked, "mean_tokens": size[1], "usual": usual}
    return build_unchecked(ResidentCandidates, fields | {"_arrays": arrays})


class Ranking:
    """`core.relevance._TermView` over arrays."""

    def __init__(
        self, evidence: Candidates, arrays: CandidateArrays, window: Window | None, named: Iterable[str]
    ) -> None:
        sketch = arrays.sketch
        self.sketch, self.arrays, self.window = sketch, arrays, window
        self.speaker = sketch.code_of_only(frozenset(named))
        self.rarity = [word_rarity(evidence.total, len(at)) for _, at, _ in arrays.words]
        self.asked = sum_of_rarities(evidence, self.rarity)
        self.count = len(sketch.rows)
        mean, spread = standard_scale(evidence)
        near = (arrays.cosines - mean) / spread
        self.least = float(near.min()) if len(near) else 0.0
        self.meaning = numpy.full(self.count, self.least)
        self.meaning[arrays.near] = near
        self.least_cosine = float(arrays.cosines.min()) if len(near) else None
        self.words = self._share_of_words(evidence.mean_tokens or 1.0)
        self.talks = _Conversations(self) if sketch.place.max(initial=-1) >= 0 else None

    def _share_of_words(self, mean: float) -> Any:
        norms = K1 * ((1 - B) + B * self.sketch.tokens / mean)
        scores = numpy.zeros(self.count)
        for rare, (_, at, counts) in zip(self.rarity, self.arrays.words, strict=True):
            scores[at] += rare * counts * (K1 + 1) / (counts + norms[at])
        return share(scores)

    def best(self, n: int, most: int) -> dict[str, Finalist]:
        """The n with the best log odds, best first."""
        if not self.count:
            return {}
        groups = self._terms(self._likely(most))
        sums = [_WEIGHTS[names] @ terms for names, _, terms in groups]
        least = _nth_largest(numpy.concatenate(sums), n) - ROUNDING
        rows: list[tuple[float, str, int, tuple[str, ...], list[float]]] = []
        # The sum that counts is that of the file: Python adds more exactly than an array does.
        for (names, which, terms), odds in zip(groups, sums, strict=True):
            enough = odds >= least
            spots = which[enough]
            ids = [row.id for row in self.sketch.rows[spots].tolist()]
            values = terms.T[enough].tolist()
            rows += [
                (-weigh(each), id, at, names, each)
                for id, at, each in zip(ids, spots.tolist(), values, strict=True)
            ]
        rows = sorted(rows)[:n]
        spots = [at for _, _, at, _, _ in rows]
        heard, cosines = self._heard(spots), self._cosines(spots)
        return {
            id: (-below, {**dict(zip(names, values, strict=True)), "heard": share_heard}, cosine)
            for (below, id, _, names, values), share_heard, cosine in zip(rows, heard, cosines, strict=True)
        }

    def _likely(self, most: int) -> Any:
        """`_TermView.likely`, as places."""
        if self.count <= most:
            return numpy.arange(self.count)
        guesses = WORDS * self.words + MEANING * self.meaning
        if self.talks is not None:
            guesses[self.talks.which] += WIDE_WORDS * self.talks.wide
        if self.window is not None:
            guesses += TIME * self._timely(self.sketch.at)
        return numpy.argsort(-guesses, kind="stable")[:most]

    def _terms(self, likely: Any) -> list[tuple[tuple[str, ...], Any, Any]]:
        """The names of terms, the places of candidates and a row for each term: alone, and in
        conversations."""
        groups: list[tuple[tuple[str, ...], Any, Any]] = []
        talking = self.sketch.place[likely] >= 0
        if not talking.all():
            alone = likely[~talking]
            meaning, words = self.meaning[alone], self.words[alone]
            columns = [*self._own(alone, meaning, words), words, words, meaning, words, meaning]
            groups.append((TERMS_ALONE, alone, numpy.array(columns)))
        if self.talks is not None and talking.any():
            which = likely[talking]
            own = self._own(which, self.meaning[which], self.words[which])
            groups.append((TERMS_IN_CONVERSATION, which, numpy.array([*own, *self.talks.terms(which)])))
        return groups

    def _own(self, which: Any, meaning: Any, words: Any) -> list[Any]:
        sketch = self.sketch
        named = (sketch.speaker[which] == self.speaker).astype(float)
        timely = self._timely(sketch.at[which])
        return [meaning, words, sketch.asks[which], named, sketch.told[which], sketch.length[which], timely]

    def _timely(self, at: Any) -> Any:
        timely = numpy.zeros(len(at))
        if self.window is None:
            return timely
        since, until = self.window
        if until is None:
            timely[:] = 1.0
        else:
            timely[at < until + TIME_TOLERANCE] = 0.5
            timely[at < until] = 1.0
        if since is not None:
            timely[at < since] = 0.0
        return timely

    def _heard(self, spots: Sequence[int]) -> Any:
        """`_TermView._share_heard` of these candidates."""
        total = numpy.zeros(len(spots))
        if not self.asked:
            return total.tolist()
        talking = self.sketch.place[spots] >= 0
        around = self.talks.around(spots) if self.talks is not None else None
        for n, (rare, (_, at, _)) in enumerate(zip(self.rarity, self.arrays.words, strict=True)):
            has = numpy.zeros(self.count)
            has[at] = rare
            here = has[spots]
            total += here if around is None else numpy.where(talking, numpy.where(around[n], rare, 0.0), here)
        return (total / self.asked).tolist()

    def _cosines(self, spots: Sequence[int]) -> Any:
        if self.least_cosine is None:
            return [None] * len(spots)
        cosines = numpy.full(self.count, self.least_cosine)
        cosines[self.arrays.near] = self.arrays.cosines
        return cosines[spots].tolist()


class _Conversations:
    """Turns, their neighbours and their conversations."""

    def __init__(self, ranking: Ranking) -> None:
        self._ranking = ranking
        place = ranking.sketch.place
        self.which = numpy.flatnonzero(place >= 0)
        self._places, self._at = numpy.unique(place[self.which], return_inverse=True)
        self._words = self._highest(self._at, len(self._places), ranking.words[self.which])
        self._meaning = self._highest(self._at, len(self._places), ranking.meaning[self.which])
        self._asks = self._highest(self._at, len(self._places), ranking.sketch.asks[self.which])
        sessions, self._session = numpy.unique(session_of(self._places), return_inverse=True)
        self._session_words = self._highest(self._session, len(sessions), self._words)
        self._session_meaning = self._highest(self._session, len(sessions), self._meaning)
        self._index = numpy.full(ranking.count, -1)  # of its place
        self._index[self.which] = self._at
        self._neighbours, self._counts = self._count_words()
        self._near = self._window_shares(NEAR)
        self._wide = self._window_shares(WIDE)
        self.wide = self._wide[self._spots(self._places)][self._at]

    @staticmethod
    def _highest(groups: Any, count: int, values: Any) -> Any:
        highest = numpy.full(count, -numpy.inf)
        numpy.maximum.at(highest, groups, values)
        return highest

    def _count_words(self) -> tuple[Any, dict[int, list[Any]]]:
        """All places that have a word of the question in them or near them, and how often each word is near
        each place, by distance. The last count is of no place and 0."""
        place = self._ranking.sketch.place
        said = []
        for _, at, counts in self._ranking.arrays.words:
            turns = place[at]
            said.append((turns[turns >= 0], counts[turns >= 0]))
        offsets = {reach: numpy.arange(-reach, reach + 1) for reach in (NEAR, WIDE)}
        every = [(turns[:, None] + offsets[WIDE]).ravel() for turns, _ in said]
        neighbours = numpy.unique(numpy.concatenate(every)) if every else numpy.zeros(0, int)
        found: dict[int, list[Any]] = {}
        for reach, around in offsets.items():
            found[reach] = []
            for turns, counts in said:
                spots = numpy.searchsorted(neighbours, (turns[:, None] + around).ravel())
                weights = numpy.repeat(counts, len(around))
                found[reach].append(numpy.bincount(spots, weights, len(neighbours) + 1))
        return neighbours, found

    def _window_shares(self, reach: int) -> Any:
        scores = numpy.zeros(len(self._neighbours) + 1)
        for rare, counts in zip(self._ranking.rarity, self._counts[reach], strict=True):
            scores += rare * counts * (K1 + 1) / (counts + K1)
        return share(scores)

    def _spots(self, places: Any) -> Any:
        """Where these are among the places near words; the last where they are not."""
        return _find(self._neighbours, places, len(self._neighbours))

    def around(self, spots: Sequence[int]) -> list[Any]:
        """Whether each word occurs in or around these candidates, if they are turns."""
        at = self._spots(self._ranking.sketch.place[spots])
        return [counts[at] > 0 for counts in self._counts[WIDE]]

    def terms(self, which: Any) -> list[Any]:
        index = self._index[which]
        places, none = self._places[index], len(self._places)
        before = _find(self._places, places - 1, none)
        answers = numpy.append(self._asks, 0.0)[before] > 0
        spots, session = self._spots(places), self._session[index]
        return [
            numpy.where(answers, numpy.append(self._meaning, 0.0)[before], 0.0),
            numpy.where(answers, numpy.append(self._words, 0.0)[before], 0.0),
            self._session_words[session],
            self._session_meaning[session],
            self._near[spots],
            self._wide[spots],
            self._window_meaning(places, self._ranking.meaning[which]),
        ]

    def _window_meaning(self, places: Any, own: Any) -> Any:
        none = len(self._places)
        meaning = numpy.append(self._meaning, 0.0)
        total, weight = own.copy(), numpy.ones(len(own))
        for distance in (1, 2):
            for side in (-distance, distance):
                at = _find(self._places, places + side, none)
                there = at < none
                total = numpy.where(there, total + meaning[at] / (distance + 1), total)
                weight = numpy.where(there, weight + 1 / (distance + 1), weight)
        return total / weight


def share(scores: Any) -> Any:
    """`core.relevance._share`: scores as shares of the best."""
    best = scores.max(initial=0.0)
    return scores / best if best > 0 else scores


def _find(sorted_places: Any, places: Any, none: int) -> Any:
    """The index of each place; `none` of those that are not there."""
    if not len(sorted_places):
        return numpy.full(len(places), none)
    at = numpy.minimum(numpy.searchsorted(sorted_places, places), len(sorted_places) - 1)
    return numpy.where(sorted_places[at] == places, at, none)


def _nth_largest(values: Any, n: int) -> Any:
    return numpy.partition(values, len(values) - n)[len(values) - n] if 0 < n < len(values) else -numpy.inf
