"""Tell how likely a turn opens another topic, from the words around it; no model is asked.

The features are cheap: words in common with what was said before, questions and answers, words that point
back, what is said next. Their weights are learned for each language by `bench/threads.py`. A cue such as "by
the way" or 「ところで」 is told apart: it says so itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from math import exp, log1p

from nagori.language.speech_acts import is_question
from nagori.language.tokenizer import asks, is_japanese, query_tokens

NEAR, FAR = 3, 6  # turns of the thread that are compared with a new one
READ = 1500  # characters of a turn that are read
CUE_WITHIN = 60  # characters from the start of a turn in which a cue counts

FEATURES = (
    *("repeats_near", "repeats_far", "next_goes_back", "next_goes_on", "asks", "answers", "asked_before"),
    *("is_asked", "replies", "points_back", "asks_person", "words", "words_before", "asks_freely"),
)
WEIGHTS: dict[str, tuple[float, ...]] = {  # the first one is the bias
    "english": (-2.8, -1.7, -1.0, -1.3, 0.5, 1.2, -1.2, -0.3, 0.2, -0.2, -0.3, 1.6, 0.6, 0.3, -0.4),
    "japanese": (-4.8, -1.2, -1.2, -0.7, 0.6, 1.8, -1.7, -0.9, 1.1, -1.3, 0.2, 0.0, 1.6, -0.3, 0.2),
}


def topic_shift(before: Sequence[str], text: str, after: str | None = None) -> float:
    """The probability that `text` opens another topic than `before`, the turns of the thread so far. `after`
    is the turn that follows, if it is known."""
    bias, *weights = WEIGHTS["japanese" if is_japanese(text) else "english"]
    values = shift_features(before, text, after)
    return 1 / (1 + exp(-bias - sum(weight * value for weight, value in zip(weights, values, strict=True))))


def shift_features(before: Sequence[str], text: str, after: str | None = None) -> tuple[float, ...]:
    """The values of FEATURES."""
    words, last = _words(text), before[-1]
    near = frozenset[str]().union(*map(_words, before[-NEAR:]))
    far = frozenset[str]().union(*map(_words, before[-FAR:]))
    follows = _words(after) if after is not None else frozenset()
    question, asked = _asks(text), _asks(last)
    replies = _matches("replies", text)
    return (
        _share(words, near),
        _share(words, far),
        _share(follows, near),
        float(bool(follows & words)),
        question,
        asked,
        _asks(before[-2]) if len(before) > 1 else 0.0,
        _asks(after) if after is not None else 0.0,
        replies,
        _matches("points_back", text),
        _matches("asks_person", text),
        log1p(min(len(words), 40)),
        log1p(min(len(_words(last)), 40)),
        question * (1 - replies) * (1 - asked),
    )


def has_topic_cue(text: str) -> bool:
    """Whether a turn begins by saying that it changes the subject."""
    return _pattern("cue").search(text[:CUE_WITHIN]) is not None


def _share(words: frozenset[str], known: frozenset[str]) -> float:
    """The share of words that are known."""
    return len(words & known) / len(words) if words else 0.0


@lru_cache(maxsize=256)
def _words(text: str) -> frozenset[str]:
    return frozenset(query_tokens(text[:READ]))


@lru_cache(maxsize=256)
def _asks(text: str) -> float:
    said = text[:READ]
    return float(asks(said) or is_question(said) or "?" in said or "？" in said)


def _matches(name: str, text: str) -> float:
    return float(_pattern(name).search(text[:READ]) is not None)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_PATTERNS[name], re.IGNORECASE)


_PATTERNS = {
    "cue": (
        r"^\W*(?:(?:oh|ok|okay|and|so|well|thanks|hey|すみません|すいません|あっ?|ねえ|えっと)\W+)*+"
        r"(?:(?:by the way|btw|anyways?|speaking of which|on another note|on a different note|to change the"
        r" subject|changing the subject|moving on|unrelated|one more thing)\b"
        r"|ところで|そういえば|そうそう、|話は変わ|話変わ|話が変わ|それはそうと|ちなみに別|別件|さて、|余談"
        r"|全然関係ない|関係ないけど|関係ないんですが)"
    ),
    "replies": (
        r"^\W*(?:yes|yeah|yep|yup|no|nope|nah|sure|of course|definitely|absolutely|same|me too|me neither|lol"
        r"|haha|wow|oh|ah|aww?|true|right|exactly|really|thats?|it|they|i agree|i see|nice|cool|great|awesome"
        r"|sounds|thanks?|ok|okay|well|maybe|not|and|but|because|so|mine|both|neither|either|who|where|why"
        r"|which)\b"
        r"|^\W*(?:はい|いいえ|いや|うん|ええ|そう|それ|その|では|じゃあ|なるほど|確かに|たしかに|本当|ほんと"
        r"|へえ|えっ|わあ|ありがと|わかり|分かり|了解|でも|だから|なので|いいですね|いいね|もちろん|まだ|もう"
        r"|どんな|どの|どう|どれ|なぜ|そんな|こちら|私も|僕も)"
    ),
    "points_back": (
        r"\b(?:it|its|thats?|they|them|those|this|these|he|she|him|her|there|then|ones?|too|also|either"
        r"|else)\b|それ|その|そこ|そう|そんな|これ|この|あの|彼|も"
    ),
    "asks_person": (
        r"\b(?:do you|did you|are you|have you|what do|what(?: is|'?s|(?: a|')?re) your|you like|where are"
        r" you|where do you|how are|any hobbies|for fun|for a living)\b|あなた|ご趣味|は好き|お好き"
    ),
}
