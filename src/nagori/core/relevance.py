"""Relevance of candidates for a question: a weighted sum of terms, and a confidence.

A store returns `Candidates`: where the question's words occur, how near memories are in meaning, and light
data about each candidate (speaker, place in its conversation, length, whether it is a question). Besides
words and meaning, these terms count:

  window   the words of a question are often spread over neighbouring turns
  answer   what follows a matching question is likely its answer; the question itself is not
  session  a conversation that answers once is likely to answer again
  speaker  the person named in the question
  told     statements of people count more than long answers of an assistant
  length   a long text matches more by chance
  time     said in the time the question names, or soon after

Most weights were fitted on conversations in two languages; those of `told` and `time` were set by hand (see
docs/why/ranking.md). The score orders the candidates. `confidence` says how likely a candidate is
about the question at all.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import defaultdict, namedtuple
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from heapq import nlargest
from math import exp, log1p
from operator import add, mul

from nagori.core.model import ALIVE, THREAD_ID, Filter, check_vector
from nagori.core.value_object import Value, clamp_unit

K1, B = 1.2, 0.75
NEAR, WIDE = 1, 3  # turns to each side
MIN_DOCUMENTS = 50  # number of memories from which a word's rarity is meaningful
SPREAD, FEW = 0.03, 10  # expected spread of cosines, and the number of memories it counts as
TIME_TOLERANCE = 14 * 86_400_000_000  # microseconds: an event is often told this long after it happened

# A light row. Recall reads hundreds of these and only a few whole memories.
CandidateInfo = namedtuple("CandidateInfo", "id session turn speaker tokens chars asks trust at")
# Log odds, all terms by name, and the cosine: of those without one it is the least of all.
Finalist = tuple[float, dict[str, float], float | None]

WEIGHTS = {
    "meaning": 0.66,
    "words": 1.17,
    "answer_meaning": 0.32,
    "answer_words": 0.92,
    "asks": -1.34,
    "session_meaning": 0.86,
    "session_words": 0.96,
    "speaker": 0.79,
    "told": 2.0,
    "length": -0.14,
    "window_words": 1.07,
    "wide_words": 1.82,
    "window_meaning": 0.59,
    "time": 2.0,
}
WORDS, MEANING, WIDE_WORDS, TIME = (WEIGHTS[name] for name in ("words", "meaning", "wide_words", "time"))
FIRST_HAND = frozenset({"user", "import"})  # statements of people, not of assistants or tools

Place = tuple[str, int]
Window = tuple[int | None, int | None]  # microseconds since 1970, half open; either end may be missing


class OtherLanguage(Value):
    """The vector of a question as if it were asked in another language. `offset` is added to its cosines, so
    that memories in either language are as near as their meaning is."""

    vector: bytes
    offset: float


class Query(Value):
    """The query for candidates: tokens, and a vector if there is a model. With `other`, of both cosines the
    larger one counts."""

    words: Sequence[str] = ()
    vector: bytes | None = None
    model: str | None = None
    nearest: int = 250  # number of nearest vectors
    filter: Filter = ALIVE
    other: OtherLanguage | None = None

    @property
    def search_vector(self) -> bytes:
        """The vector by which a shortlist is made: with `other`, the mean of both."""
        vector = self.vector or b""
        return vector if self.other is None else _sum(vector, self.other.vector)


def cosines_of_nearest(
    query: Query, nearest: Callable[[bytes, int | None], dict[str, float]]
) -> dict[str, float]:
    """The nearest memories of a query with their cosines, by an engine's own search for one vector:
    `nearest(vector, k)`, where None means all."""
    if query.other is None:
        return nearest(query.search_vector, query.nearest)
    one, two = nearest(query.vector or b"", None), nearest(query.other.vector, None)
    larger = {id: max(one[id], two[id] + query.other.offset) for id in one}
    return dict(sorted(larger.items(), key=lambda pair: (-pair[1], pair[0]))[: query.nearest])


def check_query(query: Query, dimension: int | None) -> None:
    """InvalidInput for a vector that cannot be compared."""
    check_vector(query.vector or b"", dimension)
    if query.other is not None:
        check_vector(query.other.vector, dimension)


class Candidates(Value):
    """What a store returns for a query. `places`: word → memory → frequency, without very common words.
    `asked`: the number of words of the question without those. `usual`: mean and spread of the question's
    cosines. `unrelated`: the same for unrelated texts in general, as the embedder reports it."""

    total: int
    asked: int
    mean_tokens: float
    places: Mapping[str, Mapping[str, int]]
    cosines: Mapping[str, float]
    usual: tuple[float, float]
    infos: Mapping[str, CandidateInfo]
    unrelated: tuple[float, float] = (0.0, 1.0)
    own_matter: float = 75.0  # how likely the question is about the user's own matters, 0 to 100

    def likeliest(
        self, named: Iterable[str], window: Window | None, n: int, most: int = 200
    ) -> dict[str, Finalist]:
        """The n best of those that `relevance` tells, best first. Only the terms that count are computed for
        the others."""
        view = _TermView(self, window, named)
        scored = [(-weigh(view.weighed_terms(sketch)), sketch.id) for sketch in view.likely(most)]
        near, least = self.cosines, min(self.cosines.values(), default=None)
        return {
            id: (-odds, view.terms(self.infos[id]), near.get(id, least)) for odds, id in sorted(scored)[:n]
        }

    def speakers(self) -> set[str | None]:
        return {sketch.speaker for sketch in self.infos.values()}

    def has_cosines(self) -> bool:
        return bool(self.cosines)

    def has_thread_summaries(self) -> bool:
        return any(id.startswith(THREAD_ID) for id in self.infos)


def relevance(
    evidence: Candidates, named: Iterable[str] = (), window: Window | None = None, most: int = 200
) -> dict[str, dict[str, float]]:
    """The terms of the `most` likely memories. `named` are the speakers, and `window` is the time, that the
    question names."""
    view = _TermView(evidence, window, named)
    return {sketch.id: view.terms(sketch) for sketch in view.likely(most)}


def length_term(chars: int) -> float:
    """How long a text is, beside a usual one."""
    return math.log(chars + 1) - 4.5


def weigh(values: Sequence[float]) -> float:
    """The weighted sum of terms in the order of their names."""
    return float(sum(map(mul, _WEIGHTS_BY_COUNT[len(values)], values)))


def confidence(
    heard: float, cosine: float | None, unrelated: tuple[float, float], *, same_language: bool = True
) -> float:
    """Confidence, 0 to 1, that a memory is about the question. `heard` is the share of the question's words,
    weighted by rarity, that occur in or around it. `unrelated` are mean and spread of the model's cosines
    between unrelated texts."""
    if cosine is None:
        return _odds(-2.2 + 5.7 * heard)
    nearness = (cosine - unrelated[0]) / unrelated[1]
    usual = -2.6 + 1.35 * nearness + 4.2 * heard
    # Texts in different languages share no words, and their vectors are farther apart.
    return _odds(usual if same_language else max(usual, -1.8 + nearness))


def _odds(logarithm: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, logarithm))))


OWN_TERMS = ("meaning", "words", "asks", "speaker", "told", "length", "time")
# Outside conversations a memory is its own neighbourhood, so that both kinds can be compared.
TERMS_ALONE = (*OWN_TERMS, "window_words", "wide_words", "window_meaning", "session_words", "session_meaning")
TERMS_IN_CONVERSATION = (
    *OWN_TERMS,
    "answer_meaning",
    "answer_words",
    "session_words",
    "session_meaning",
    "window_words",
    "wide_words",
    "window_meaning",
)

_WEIGHTS_BY_COUNT = {
    len(names): tuple(WEIGHTS[name] for name in names) for names in (TERMS_ALONE, TERMS_IN_CONVERSATION)
}


class _TermView:
    """The evidence by conversation, so that neighbouring turns can be looked up."""

    def __init__(self, evidence: Candidates, window: Window | None, named: Iterable[str]) -> None:
        self.window, self.infos, self.places = window, evidence.infos, evidence.places
        speakers = frozenset(named)
        self.named = speakers if len(speakers) == 1 else frozenset()
        self.rarity = {
            word: word_rarity(evidence.total, len(where)) for word, where in evidence.places.items()
        }
        self.asked = sum_of_rarities(evidence, self.rarity.values())
        self.meaning = _standard(evidence)
        self.least = min(self.meaning.values(), default=0.0)
        self.words = _share(_bm25(evidence, self.rarity))
        self.at: dict[Place, list[str]] = defaultdict(list)
        for id, sketch in evidence.infos.items():
            if sketch[1] is not None and sketch[2] is not None:
                self.at[sketch[1], sketch[2]].append(id)
        self.place_words = self._best(self.words, 0.0)
        self.place_meaning = self._best(self.meaning, self.least)
        said = _turns_with(evidence) if self.at else {}
        self.around = {reach: _around(said, reach) for reach in (NEAR, WIDE)}
        self.windows = {
            reach: _share(_window_bm25(around, self.rarity)) for reach, around in self.around.items()
        }
        self.session_words = _best_of_session(self.place_words)
        self.session_meaning = _best_of_session(self.place_meaning)

    def likely(self, most: int) -> Iterable[CandidateInfo]:
        """The `most` likely ones by a first estimate from the strongest terms: own words and meaning,
        neighbouring words, time."""
        infos = self.infos
        if len(infos) <= most:
            return infos.values()
        words, meaning, least = self.words.get, self.meaning.get, self.least
        guesses = {id: WORDS * words(id, 0.0) + MEANING * meaning(id, least) for id in infos}
        for place, share in self.windows[WIDE].items():
            for id in self.at.get(place, ()):
                guesses[id] += WIDE_WORDS * share
        if self.window is not None:
            for id, sketch in infos.items():
                guesses[id] += TIME * self._timely(sketch.at)
        return [infos[id] for id in sorted(infos, key=guesses.__getitem__, reverse=True)[:most]]

    def terms(self, sketch: CandidateInfo) -> dict[str, float]:
        """All terms of a candidate by name."""
        names = TERMS_ALONE if sketch.session is None or sketch.turn is None else TERMS_IN_CONVERSATION
        terms = dict(zip(names, self.weighed_terms(sketch), strict=True))
        terms["heard"] = self._share_heard(sketch)
        return terms

    def weighed_terms(self, sketch: CandidateInfo) -> tuple[float, ...]:
        """The terms that count, in the order of their names."""
        id, session, turn, speaker, _, chars, asks, trust, at = sketch
        meaning, words = self.meaning.get(id, self.least), self.words.get(id, 0.0)
        named, told = float(speaker in self.named), float(trust in FIRST_HAND)
        own = (meaning, words, float(asks), named, told, length_term(chars), self._timely(at))
        if session is None or turn is None:
            return (*own, words, words, meaning, words, meaning)
        place, before = (session, turn), (session, turn - 1)
        answers = any(self.infos[id].asks for id in self.at.get(before, ()))
        return (
            *own,
            self.place_meaning[before] if answers else 0.0,
            self.place_words[before] if answers else 0.0,
            self.session_words[session],
            self.session_meaning[session],
            self.windows[NEAR].get(place, 0.0),
            self.windows[WIDE].get(place, 0.0),
            self._window_meaning(place, meaning),
        )

    def _share_heard(self, sketch: CandidateInfo) -> float:
        """The share of the question's words, weighted by rarity, that occur in or around a candidate."""
        if not self.asked:
            return 0.0
        if sketch.session is None or sketch.turn is None:
            return _sum_of_words(self.places, sketch.id, self.rarity) / self.asked
        return _sum_of_words(self.around[WIDE], (sketch.session, sketch.turn), self.rarity) / self.asked

    def _timely(self, at: int) -> float:
        """1 within the time asked for, 0.5 soon after it, else 0."""
        if self.window is None:
            return 0.0
        since, until = self.window
        if since is not None and at < since:
            return 0.0
        if until is None or at < until:
            return 1.0
        return 0.5 if at < until + TIME_TOLERANCE else 0.0

    def _best(self, scores: Mapping[str, float], least: float) -> dict[Place, float]:
        return {place: max(scores.get(id, least) for id in ids) for place, ids in self.at.items()}

    def _window_meaning(self, place: Place, own: float) -> float:
        """Cosine of a turn together with its neighbours; farther ones count less."""
        session, turn = place
        total, weight = own, 1.0
        for distance in (1, 2):
            for side in (-distance, distance):
                near = self.place_meaning.get((session, turn + side))
                if near is not None:
                    total += near / (distance + 1)
                    weight += 1 / (distance + 1)
        return total / weight


def _standard(evidence: Candidates) -> dict[str, float]:
    mean, spread = standard_scale(evidence)
    return {id: (cosine - mean) / spread for id, cosine in evidence.cosines.items()}


def _sum(one: bytes, other: bytes) -> bytes:
    return array("f", map(add, array("f", one), array("f", other))).tobytes()


def standard_scale(evidence: Candidates) -> tuple[float, float]:
    """Mean and spread of cosines, for standard scores, because models differ in both. With few memories the
    spread is mixed with an expected one."""
    mean, spread = evidence.usual
    trust = evidence.total / (evidence.total + FEW)
    return mean, math.sqrt(trust * spread**2 + (1 - trust) * SPREAD**2)


def bm25(evidence: Candidates) -> dict[str, float]:
    """BM25 of each memory."""
    rarity = {word: word_rarity(evidence.total, len(where)) for word, where in evidence.places.items()}
    return _bm25(evidence, rarity)


def _bm25(evidence: Candidates, rarity: Mapping[str, float]) -> dict[str, float]:
    scores: dict[str, float] = {}
    mean, infos = evidence.mean_tokens or 1.0, evidence.infos
    norms: dict[str, float] = {}  # of the memories that have a word
    for word, where in evidence.places.items():
        rare = rarity[word]
        for id, times in where.items():
            if id in norms:
                scores[id] += rare * times * (K1 + 1) / (times + norms[id])
            elif id in infos:
                norm = norms[id] = K1 * (1 - B + B * infos[id].tokens / mean)
                scores[id] = rare * times * (K1 + 1) / (times + norm)
    return scores


def word_rarity(total: int, having: int) -> float:
    """The rarity of a word. With few memories every word seems common, so a minimum number is assumed."""
    return math.log(1 + (max(total, MIN_DOCUMENTS) - having + 0.5) / (having + 0.5))


def sum_of_rarities(evidence: Candidates, rarities: Collection[float]) -> float:
    """Of all words of the question: those that occur, and those that were never heard."""
    never_heard = max(0, evidence.asked - len(rarities)) * word_rarity(evidence.total, 0)
    return sum(rarities) + never_heard


def _turns_with(evidence: Candidates) -> dict[str, list[tuple[str, int, int]]]:
    """The session and number of the turns with each word, and how often it occurs there."""
    turns = {
        id: (sketch.session, sketch.turn)
        for id, sketch in evidence.infos.items()
        if sketch.session is not None and sketch.turn is not None
    }
    return {
        word: [(*turns[id], count) for id, count in where.items() if id in turns]
        for word, where in evidence.places.items()
    }


def _around(said: Mapping[str, Sequence[tuple[str, int, int]]], reach: int) -> dict[str, dict[Place, int]]:
    """The frequency of each word in a turn and its neighbours."""
    around: dict[str, dict[Place, int]] = {}
    for word, turns in said.items():
        times: dict[Place, int] = defaultdict(int)
        for session, turn, count in turns:
            for neighbour in range(turn - reach, turn + reach + 1):
                times[session, neighbour] += count
        around[word] = times
    return around


def _window_bm25(
    around: Mapping[str, Mapping[Place, int]], rarity: Mapping[str, float]
) -> dict[Place, float]:
    """BM25 of each turn together with its neighbours, as one text of average length."""
    scores: dict[Place, float] = defaultdict(float)
    for word, times in around.items():
        for place, count in times.items():
            scores[place] += rarity[word] * count * (K1 + 1) / (count + K1)
    return scores


def _sum_of_words(where: Mapping[str, Mapping[Key, int]], place: Key, rarity: Mapping[str, float]) -> float:
    """The sum of the rarities of the words that occur at a place, each counted once."""
    total = 0.0
    for word, places in where.items():
        if place in places:
            total += rarity[word]
    return total


def _share(scores: Mapping[Key, float]) -> dict[Key, float]:
    """Scores as shares of the best score."""
    best = max(scores.values(), default=0.0)
    return {key: score / best for key, score in scores.items()} if best > 0 else {}


def _best_of_session(scores: Mapping[Place, float]) -> dict[str, float]:
    best: dict[str, float] = {}
    for (session, _), score in scores.items():
        best[session] = max(score, best.get(session, score))
    return best


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Key = TypeVar("Key", str, Place)


# --- freshness ------------------------------------------------------------------------------------
# A question about the present ("いまの部署は?", "where does she live these days?") matches the old statement
# as well as the new one. The new one mentions a change, and the same person said something about the matter
# before. No texts are compared, so this is cheap. The two weights were fitted (docs/why/ranking.md).

CHANGE, LATER = 0.73, 1.32
SAME_MATTER = 0.6  # log odds below the best within which statements are about one matter
SAME_WORDS, NEAR_MATTER = 0.75, 2.0  # or within so much, if they share as many of the question's words
OCCASION = timedelta(hours=12)  # what was said within this time belongs to one occasion
MOST_STATEMENTS = 30  # maximum number of statements considered, best first

Statement = namedtuple("Statement", "id odds at speaker text words", defaults=(0.0,))

_PRESENT = (
    "今(?![年月週日朝晩夜回度後])|いま|現在|現時点|最新|最近の|最終的|結局|落ち着い|に決ま|ことにな|になった|どこまで"
    r"|\b(?:now|nowadays|current(?:ly)?|latest|these days|final(?:ly)?|end(?:ed)? up|at the moment|at present"
    r"|any ?more|still|most recent(?:ly)?|so far|up to date|as of)\b"
)

_NUMBER = "[0-9一二三四五六七八九十百千万]"
_CHANGE = (
    "結局|やっぱ|やはり|変更|変え[たるてま]|変わ[っりる]|切り?替え|乗り?換え|移行|延期|延長|前倒し|繰り[上下]げ|ずら[すし]"
    "|ずれ[たてまる]|延ば|伸ば|伸び|早め[たるまて]|キャンセル|中止|取りやめ|取り消|撤回|[やな辞止]め[たてるま]|復活|再開"
    "|戻[しすっり]|にな(?:った|りま|って)|ことにし|にした|にしま|に決|今は|今後|これから|じゃなく|ではなく|[上下]げ[たまて]"
    "|[上下]が[っり]|増え|減[っりら]|縮|新し[いく]|訂正|間違|正しくは|改め|直して|更新|替え|最終的|とうとう|ついに|ようやく"
    rf"|やっと|もう.{{0,12}}ない|{_NUMBER}\S{{0,4}}[からが]{{1,2}}{_NUMBER}\S{{0,4}}[にへ]"
    r"|\b(?:actually|instead|no longer|any ?more|chang(?:ed|ing)|switch(?:ed|ing)|moved|reschedul\w+|"
    r"postpon\w+|pushed (?:back|out)|brought forward|cancel\w+|ended up|turn(?:ed|s) out|now|"
    r"from now on|as of|updat\w+|correction|scratch that|make that|rather than|used to|bumped|"
    r"rais(?:ed|ing)|lower(?:ed|ing)|increas\w+|decreas\w+|reduc(?:ed|ing)|extend(?:ed|ing)?|"
    r"upgrad\w+|migrat\w+|replac\w+|dropped|quit|gave up|went with|decided|new|since then|recently|"
    r"finally|improv\w+|grew|grown|reached)\b"
)


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.ASCII)  # Japanese text ends a Latin word


def asks_for_current(question: str) -> bool:
    """Whether the question asks for the present state or for an outcome."""
    return _compile_pattern(_PRESENT).search(question) is not None


def mentions_change(text: str) -> bool:
    """Whether the text mentions a change."""
    return _compile_pattern(_CHANGE).search(text) is not None


def freshness(statements: Sequence[Statement]) -> dict[str, float]:
    """The freshness bonus of each statement: 0, or more the likelier it replaces an earlier one."""
    likeliest = sorted(statements, key=lambda each: (-each.odds, each.id))[:MOST_STATEMENTS]
    return {each.id: _freshness(each, likeliest) for each in likeliest if mentions_change(each.text)}


def order_by_date(
    statements: Sequence[Statement], odds: Mapping[str, float], before_last: bool = False
) -> dict[str, float]:
    """New odds for the statements about the matter that was asked for, so that the newest comes first, or
    with `before_last` the newest of the occasion before [ruling 44]. Those that fit about as well as the best
    are about the matter; they exchange their `odds`, and nothing else moves."""
    if not statements:
        return {}
    best = max(each.odds for each in statements)
    words = SAME_WORDS * max(each.words for each in statements)
    least = {True: best - NEAR_MATTER, False: best - SAME_MATTER}
    matter = [each for each in statements if each.odds >= least[each.words >= words > 0]]
    matter.sort(key=lambda each: (each.at, each.id), reverse=True)
    if before_last:
        last = matter[0].at[0] - OCCASION
        matter = [each for each in matter if each.at[0] < last] + [
            each for each in matter if each.at[0] >= last
        ]
    highest = sorted((odds[each.id] for each in matter), reverse=True)
    return {each.id: new for each, new in zip(matter, highest, strict=True)}


def _freshness(statement: Statement, others: Sequence[Statement]) -> float:
    best = others[0].odds
    earlier = (o for o in others if o.speaker == statement.speaker and o.at < statement.at)
    return CHANGE + LATER * log1p(sum(exp((other.odds - best) / 2) for other in earlier))


def bounded_factor(value: float, low: float, high: float) -> float:
    """A factor between `low` (value 0) and `high` (value 1)."""
    return low + (high - low) * clamp_unit(value)


# --- the candidates of a question -----------------------------------------------------------------
# Engines find words and vectors in their own ways; which words tell most, and of whom, is the same.

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
        weight = math.log(1 + total / len(where))
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
