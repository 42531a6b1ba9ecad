"""How well memories answer a question, from evidence that costs nothing extra to look at.

A store hands over `Candidates`: where the question's words stand, how near memories are in meaning, and a
sketch of each (whose, when in which conversation, how long, a question or not). What counts, besides words
and meaning themselves:

  window   the words of a question are often spread over neighbouring turns
  answer   what follows a question that matches is likely its answer; the question itself is not
  session  a conversation that answers once answers again
  speaker  who is named in the question
  told     what people told counts more than what an assistant answered at length
  length   a long text matches more by chance
  time     said in the time the question names, or soon after: people tell what happened

Each is one term, and the score is their weighted sum. The weights were fitted on conversations in two
languages, all but those of `told` and `time`, which were picked by eye (docs/why/ranking.md says what that
costs). They say which memory comes first. Whether even the first has anything to do with the question is
another matter, and `confidence` answers it.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict, namedtuple
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from heapq import nlargest
from math import exp, log1p

from nagori.core.model import ALIVE, Filter
from nagori.core.values import Value, clamp_unit

K1, B = 1.2, 0.75
NEAR, WIDE = 1, 3  # turns to each side
MIN_DOCUMENTS = 50  # memories among which a word's rarity means something
SPREAD, FEW = 0.03, 10  # the spread of cosines expected before so many memories were seen
TIME_TOLERANCE = 14 * 86_400_000_000  # microseconds: so long after a time people still tell of it

# A light row: a recall looks at hundreds of these and at a handful of whole memories.
CandidateInfo = namedtuple("CandidateInfo", "id session turn speaker tokens chars asks trust at")

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
FIRST_HAND = frozenset({"user", "import"})  # whose own words: not an assistant's pages, not a tool's output

Place = tuple[str, int]
Window = tuple[int | None, int | None]  # microseconds since 1970, half open; an edge may be missing


class Query(Value):
    """What a store is asked for candidates by: tokens, and a vector if there is a model."""

    words: Sequence[str] = ()
    vector: bytes | None = None
    model: str | None = None
    nearest: int = 250  # how many by meaning
    filter: Filter = ALIVE


class Candidates(Value):
    """What a store knows about a question. `places`: word → memory → how often; words that nearly every
    memory has are left out. `asked`: how many words the question has without those. `usual`: mean and
    spread of the question's cosines in general. `unrelated`: those of the model, between any texts that have
    nothing to do with each other; the embedder knows them, not the store."""

    total: int
    asked: int
    mean_tokens: float
    places: Mapping[str, Mapping[str, int]]
    cosines: Mapping[str, float]
    usual: tuple[float, float]
    infos: Mapping[str, CandidateInfo]
    unrelated: tuple[float, float] = (0.0, 1.0)


def relevance(
    evidence: Candidates, named: Iterable[str] = (), window: Window | None = None, most: int = 200
) -> dict[str, dict[str, float]]:
    """The terms of the `most` likeliest memories; `named` are the speakers and `window` is the time that the
    question names."""
    view = _TermView(evidence, window)
    speakers = set(named)
    infos: Iterable[CandidateInfo] = evidence.infos.values()
    if len(evidence.infos) > most:
        infos = nlargest(most, infos, key=view.promise)
    return {sketch.id: view.terms(sketch, speakers) for sketch in infos}


def weigh_terms(terms: Mapping[str, float]) -> float:
    """One number from the terms."""
    return sum([WEIGHTS[name] * value for name, value in terms.items() if name in WEIGHTS])


def confidence(
    heard: float, cosine: float | None, unrelated: tuple[float, float], *, same_language: bool = True
) -> float:
    """How likely a memory is about the matter at all, 0 to 1. `heard` is the share of the question's words,
    by their rarity, that stand in or around it. `unrelated` are mean and spread of the model's cosines
    between texts that have nothing to do with each other."""
    if cosine is None:
        return _odds(-2.2 + 5.7 * heard)
    nearness = (cosine - unrelated[0]) / unrelated[1]
    usual = -2.6 + 1.35 * nearness + 4.2 * heard
    # Across languages no word need be shared, and texts lie farther apart than their meanings.
    return _odds(usual if same_language else max(usual, -1.8 + nearness))


def _odds(logarithm: float) -> float:
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, logarithm))))


class _TermView:
    """Evidence arranged by conversation, so that neighbours can be looked up."""

    def __init__(self, evidence: Candidates, window: Window | None) -> None:
        self.window = window
        self.rarity = {word: _rarity(evidence.total, len(where)) for word, where in evidence.places.items()}
        never_heard = max(0, evidence.asked - len(evidence.places)) * _rarity(evidence.total, 0)
        self.asked = sum(self.rarity.values()) + never_heard
        self.meaning = _standard(evidence)
        self.least = min(self.meaning.values(), default=0.0)
        self.words = _share(_bm25(evidence, self.rarity))
        self.at: dict[Place, list[str]] = defaultdict(list)
        for id, sketch in evidence.infos.items():
            if sketch.session is not None and sketch.turn is not None:
                self.at[sketch.session, sketch.turn].append(id)
        self.asks = {place: any(evidence.infos[id].asks for id in ids) for place, ids in self.at.items()}
        self.place_words = self._best(self.words, 0.0)
        self.place_meaning = self._best(self.meaning, self.least)
        around = {reach: _around(evidence, reach) for reach in (NEAR, WIDE)}
        self.windows = {reach: _share(_window_bm25(around[reach], self.rarity)) for reach in (NEAR, WIDE)}
        self.heard = _sums(around[WIDE], self.rarity)
        self.heard_alone = _sums(evidence.places, self.rarity)
        self.session_words = _best_of_session(self.place_words)
        self.session_meaning = _best_of_session(self.place_meaning)

    def promise(self, sketch: CandidateInfo) -> float:
        """A first guess from what weighs most: own words and meaning, the words around, the time."""
        id = sketch.id
        guess = WORDS * self.words.get(id, 0.0) + MEANING * self.meaning.get(id, self.least)
        if sketch.session is not None:
            guess += WIDE_WORDS * self.windows[WIDE].get((sketch.session, sketch.turn), 0.0)
        return guess + TIME * self._timely(sketch.at) if self.window else guess

    def terms(self, sketch: CandidateInfo, speakers: set[str]) -> dict[str, float]:
        id = sketch.id
        meaning, words = self.meaning.get(id, self.least), self.words.get(id, 0.0)
        terms = {
            "meaning": meaning,
            "words": words,
            "asks": float(sketch.asks),
            "speaker": float(len(speakers) == 1 and sketch.speaker in speakers),
            "told": float(sketch.trust in FIRST_HAND),
            "length": math.log(sketch.chars + 1) - 4.5,
            "time": self._timely(sketch.at),
        }
        if sketch.session is None or sketch.turn is None:
            # Alone: it is its own neighbourhood, so that it can be compared with those that have one.
            alone = {"window_words": words, "wide_words": words, "window_meaning": meaning}
            heard = {"heard": self._share_heard(self.heard_alone.get(id, 0.0))}
            return terms | alone | {"session_words": words, "session_meaning": meaning} | heard
        place = (sketch.session, sketch.turn)
        before = (sketch.session, sketch.turn - 1)
        answers = self.asks.get(before, False)
        return terms | {
            "answer_meaning": self.place_meaning[before] if answers else 0.0,
            "answer_words": self.place_words[before] if answers else 0.0,
            "session_words": self.session_words[sketch.session],
            "session_meaning": self.session_meaning[sketch.session],
            "window_words": self.windows[NEAR].get(place, 0.0),
            "wide_words": self.windows[WIDE].get(place, 0.0),
            "window_meaning": self._window_meaning(place, meaning),
            "heard": self._share_heard(self.heard.get(place, 0.0)),
        }

    def _share_heard(self, weight: float) -> float:
        return weight / self.asked if self.asked else 0.0

    def _timely(self, at: int) -> float:
        """1 within the time that is asked for, half as much soon after it."""
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
        """Nearness of the turn among its neighbours: they count less the farther they are."""
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
    """Cosines as distances from the usual, in units of the usual spread: models differ in both. What a
    handful of memories says about the spread is not believed alone."""
    mean, spread = evidence.usual
    trust = evidence.total / (evidence.total + FEW)
    spread = math.sqrt(trust * spread**2 + (1 - trust) * SPREAD**2)
    return {id: (cosine - mean) / spread for id, cosine in evidence.cosines.items()}


def bm25(evidence: Candidates) -> dict[str, float]:
    """How well each memory matches by its words alone."""
    rarity = {word: _rarity(evidence.total, len(where)) for word, where in evidence.places.items()}
    return _bm25(evidence, rarity)


def _bm25(evidence: Candidates, rarity: Mapping[str, float]) -> dict[str, float]:
    scores: dict[str, float] = defaultdict(float)
    infos, mean = evidence.infos, evidence.mean_tokens or 1.0
    for word, where in evidence.places.items():
        for id, times in where.items():
            if id in infos:
                norm = K1 * (1 - B + B * infos[id].tokens / mean)
                scores[id] += rarity[word] * times * (K1 + 1) / (times + norm)
    return scores


def _rarity(total: int, having: int) -> float:
    """How much a word tells. Among a handful of memories every word seems common, so it is judged as if there
    were more."""
    return math.log(1 + (max(total, MIN_DOCUMENTS) - having + 0.5) / (having + 0.5))


def _around(evidence: Candidates, reach: int) -> dict[str, dict[Place, int]]:
    """How often each word stands in a turn or among its neighbours."""
    around: dict[str, dict[Place, int]] = {}
    for word, where in evidence.places.items():
        times: dict[Place, int] = defaultdict(int)
        for id, count in where.items():
            sketch = evidence.infos.get(id)
            if sketch is not None and sketch.session is not None and sketch.turn is not None:
                for distance in range(-reach, reach + 1):
                    times[sketch.session, sketch.turn + distance] += count
        around[word] = times
    return around


def _window_bm25(
    around: Mapping[str, Mapping[Place, int]], rarity: Mapping[str, float]
) -> dict[Place, float]:
    """BM25 of each turn together with its neighbours, as one text of ordinary length."""
    scores: dict[Place, float] = defaultdict(float)
    for word, times in around.items():
        for place, count in times.items():
            scores[place] += rarity[word] * count * (K1 + 1) / (count + K1)
    return scores


def _sums(where: Mapping[str, Mapping[Key, int]], rarity: Mapping[str, float]) -> dict[Key, float]:
    """The rarities of the words that stand somewhere, each once."""
    sums: dict[Key, float] = defaultdict(float)
    for word, places in where.items():
        for place in places:
            sums[place] += rarity[word]
    return sums


def _share(scores: Mapping[Key, float]) -> dict[Key, float]:
    """Scores as shares of the best."""
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


# --- what holds now -------------------------------------------------------------------------------
# A question for the present ("いまの部署は?", "where does she live these days?") fits the old statement as
# well as the new one: both speak of the matter in the same words. What tells the new one apart is that it
# speaks of a change, and that the same person had said something on the matter before. Nothing is compared
# with anything, so this costs nothing; the two weights were fitted (docs/why/ranking.md).

CHANGE, LATER = 0.73, 1.32
MOST_STATEMENTS = 30  # statements that are looked at: the likeliest

Statement = namedtuple("Statement", "id odds at speaker text")

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
    return re.compile(pattern, re.IGNORECASE | re.ASCII)  # a Latin word ends where Japanese begins


def asks_for_current(question: str) -> bool:
    """Does it ask how things stand, or how they turned out?"""
    return _compile_pattern(_PRESENT).search(question) is not None


def mentions_change(text: str) -> bool:
    """Does it speak of something that is no longer as it was?"""
    return _compile_pattern(_CHANGE).search(text) is not None


def freshness(statements: Sequence[Statement]) -> dict[str, float]:
    """What to add to the odds of each: nothing, or more the likelier it replaces what was said before."""
    likeliest = sorted(statements, key=lambda each: (-each.odds, each.id))[:MOST_STATEMENTS]
    return {each.id: _freshness(each, likeliest) for each in likeliest if mentions_change(each.text)}


def _freshness(statement: Statement, others: Sequence[Statement]) -> float:
    best = others[0].odds
    earlier = (o for o in others if o.speaker == statement.speaker and o.at < statement.at)
    return CHANGE + LATER * log1p(sum(exp((other.odds - best) / 2) for other in earlier))


def bounded_factor(value: float, low: float, high: float) -> float:
    """A factor from `low` (value 0) to `high` (value 1): however loud, it moves a score no further."""
    return low + (high - low) * clamp_unit(value)
