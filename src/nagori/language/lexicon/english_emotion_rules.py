"""Emotion words in English sentences: inflection, negation, degree, contrast, conditions."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import accumulate, repeat
from operator import mul

from nagori.language.lexicon import Feeling, FeelingHit, english_words, phrase_lengths

_TOKEN = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*|[.,;:!?()\"“”—–]")
_NEGATING = """
    not no never none nobody nothing neither nor without cannot hardly barely scarcely rarely seldom
    cant dont doesnt didnt isnt wasnt wont wouldnt shouldnt couldnt aint arent werent hasnt havent
"""
_STRONGER = """
    very really so extremely incredibly absolutely totally completely utterly truly deeply such too insanely
    super highly especially particularly exceptionally immensely entirely fucking damn most unbelievably
    profoundly terribly awfully hugely genuinely always ever much
"""
_WEAKER = """
    slightly somewhat fairly rather kinda sorta mildly partly partially relatively little bit almost nearly
    less least quite mostly maybe perhaps
"""
_NEGATORS = frozenset(_NEGATING.split())
_DEGREE = dict.fromkeys(_STRONGER.split(), 1.3) | dict.fromkeys(_WEAKER.split(), 0.7)
_SUFFIXES = ("iness", "ness", "ies", "ied", "ier", "iest", "ily", "es", "s", "ed", "ing", "er", "est", "ly")
_SCOPE = 4  # words: how far "not" reaches
_CONTRAST = frozenset(("but", "however", "yet", "although", "though", "nevertheless", "except"))
_TURNS = frozenset(("but", "however"))
_CONDITION = frozenset(("if", "unless", "whether"))
_BREAKS = frozenset(".,;:!?()—–")
_NOT_NEGATING = frozenset(("only", "just", "merely", "necessarily", "doubt", "wonder", "matter", "mention"))


def read(text: str) -> list[FeelingHit]:
    """The emotion words of one sentence."""
    found = list(_TOKEN.finditer(text))
    words = [match[0].replace("’", "'").lower() for match in found]
    weights = _clause_weights(words)
    hits, at = [], 0
    while at < len(words):
        feeling, size = _longest(words, at)
        if feeling:
            valence, negated = _in_context(feeling, words, at, size)
            if size == 1 and len(words[at]) > 2 and found[at][0].isupper() and not text.isupper():
                valence *= 1.25
            span = found[at].start(), found[at + size - 1].end()
            hits.append(FeelingHit(feeling, valence * weights[at], *span, negated))
        at += size
    return hits


def _longest(words: list[str], at: int) -> tuple[Feeling | None, int]:
    table = english_words()
    for size in phrase_lengths().get(words[at], ()):
        feeling = table.get(" ".join(words[at : at + size]))
        if feeling:
            return feeling, min(size, len(words) - at)
    return look_up(words[at]), 1


@lru_cache(1 << 14)
def look_up(word: str) -> Feeling | None:
    """The emotion of a word in any of its regular forms."""
    table = english_words()
    if word in table:
        return table[word]
    return next((table[base] for base in _bases(word) if base in table), None)


def _bases(word: str) -> list[str]:
    """What the word may be a form of: tried -> try, hoping -> hope, sadder -> sad, sorely -> sore."""
    word = word.removesuffix("'s").removesuffix("n't")
    found = [word]
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) > 2:
            stem = word[: -len(suffix)]
            found += [stem + "y"] if suffix[0] == "i" and suffix != "ing" else [stem, stem + "e"]
            if stem[-1] == stem[-2]:
                found.append(stem[:-1])
    return found


def _in_context(feeling: Feeling, words: list[str], at: int, size: int) -> tuple[float, bool]:
    """The valence of a word after negation and degree words before it."""
    valence, negated = feeling.valence, False
    for back in range(at - 1, max(-1, at - 1 - _SCOPE), -1):
        word = words[back]
        if word in _BREAKS or word in _CONTRAST:
            break
        if back >= at - 2:
            valence *= _DEGREE.get(word, 1.0)
        if (word in _NEGATORS or word.endswith("n't")) and words[back + 1] not in _NOT_NEGATING:
            negated = not negated
    if negated:  # "not good" is bad; "not bad" is only tolerable
        valence *= -0.7 if valence > 0 else -0.35
    return valence, negated


def _clause_weights(words: list[str]) -> list[float]:
    """Words after "but" count more than words before; an "if" clause counts less, because it has not
    happened."""
    conditions, contrasts = 0, sum(word in _TURNS for word in words)
    powers = list(accumulate(repeat(0.6, len(words)), mul, initial=1.0))
    weights = []
    for word in words:
        contrasts -= word in _TURNS
        conditions = 0 if word in _BREAKS else conditions + (word in _CONDITION)
        weights.append(powers[contrasts + conditions])
    return weights
