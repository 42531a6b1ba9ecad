"""What the user wishes of the memory, by rules and by what was learned from examples.

The rules of `speech_acts` know the usual ways to say it. People have many more ("tuck this away for me",
「流してほしいんだけど」), so a linear model weighs runs of words, what the rules say and, where there is an
embedder, the vector of the text. `bench/train_wishes.py` learned it from utterances written for it; its table
is `lexicon/wishes.tsv`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from math import exp, sqrt
from operator import mul
from struct import unpack

from nagori.core.value_object import Value
from nagori.language.lexicon import rows
from nagori.language.speech_acts import (
    Wish,
    WishKind,
    classify_wish,
    is_withheld,
    spoken_words,
)
from nagori.language.tokenizer import normal_form, query_tokens

KINDS = (WishKind.KEEP, WishKind.NOT_KEEP, WishKind.FORGET)
LONGEST = 600  # characters that are read: who says more is at work, and a wish stands at one end
WORD_RUN, LETTER_RUNS = 3, (2, 4)  # longest run of words; shortest and longest run of Japanese letters
SCALE = 3.0  # of all runs of a text together
LEAST_BY_WORDS = 0.2  # probability by its words alone: below that no vector makes it a wish
# Least probability of each kind of wish that no rule knows.
LEAST = {WishKind.KEEP: 0.5, WishKind.NOT_KEEP: 0.55, WishKind.FORGET: 0.55}
LEAST_ALONE = {WishKind.KEEP: 0.6, WishKind.NOT_KEEP: 0.7, WishKind.FORGET: 0.7}  # without a vector
TELLING = 0.3  # weight from which a word belongs to the wish and not to what it is about
OTHER = "_"  # any word that is not known from several examples

Embed = Callable[[str], tuple[str | None, bytes | None]]  # the model of a text's vector, and the vector
Three = tuple[float, float, float]
Shares = Mapping[WishKind, float]

_JAPANESE = re.compile("[ぁ-んァ-ヶ一-鿿々ー]")
_APOSTROPHE = re.compile("(?<=[a-z])'(?=[a-z])")
# Who only reports a talk wishes nothing: "we talked about wiping the old phone", 破棄の話をした。
_REPORT = re.compile(
    r"(?i:we|they|he|she) (?i:talked|spoke|chatted|discussed|argued)\b[^.!?\n]*[.!]?"
    r"|[^。！？\n]*(?:話|相談)を?し(?:た|ました|てた|ていた)(?:よ|ね)?[。！]?"
)
_PARTS = re.compile(r"[.!?。\n;:…—]+| - ")
_WORD = re.compile("[a-z0-9]+")
_NUMBER = re.compile("[0-9]+")


class WishModel(Value):
    """The weights: of each run of words, of the rules' verdict and of the vector, for each kind of wish."""

    embedder: str
    known: frozenset[str]
    runs: dict[str, tuple[Three, Three]]  # without and with a vector
    rules: dict[str, tuple[Three, Three]]
    vector: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]


def understand_wish(text: str, embed: Embed | None = None) -> Wish:
    """The wish that a text expresses; `embed` is only called where its words may be one."""
    ruled = classify_wish(text)
    spoken = spoken_words(text)
    if is_withheld(text) or not spoken.strip() or _REPORT.fullmatch(spoken.strip()):
        return ruled
    model, runs = wish_model(), list(wish_runs(spoken))
    shares = by_words = wish_shares(model, runs, ruled.kind, None)
    if ruled.kind is WishKind.NONE and max(by_words.values()) < LEAST_BY_WORDS:
        return ruled
    embedder, vector = embed(spoken) if embed is not None else (None, None)
    if vector is not None and embedder == model.embedder and len(vector) == 4 * len(model.vector[0]):
        shares = wish_shares(model, runs, ruled.kind, vector)
    kind = decide_wish(ruled.kind, by_words, None if shares is by_words else shares)
    if kind is ruled.kind:
        return ruled
    return Wish(kind, _matter(spoken, model) if kind is WishKind.FORGET else "", learned=True)


def decide_wish(ruled: WishKind, by_words: Shares, with_vector: Shares | None) -> WishKind:
    """The kind of a wish. What a rule says stands, but whether this or something earlier is to go."""
    shares, least = (by_words, LEAST_ALONE) if with_vector is None else (with_vector, LEAST)
    kind = max(KINDS, key=shares.__getitem__)
    may_be = ruled is WishKind.NONE or {ruled, kind} == {WishKind.NOT_KEEP, WishKind.FORGET}
    sure = shares[kind] >= least[kind] and by_words[kind] >= LEAST_BY_WORDS
    return kind if may_be and sure else ruled


def wish_shares(
    model: WishModel, runs: list[str], ruled: WishKind, vector: bytes | None
) -> dict[WishKind, float]:
    """How probable each kind of wish is."""
    which = int(vector is not None)
    odds = list(model.rules[ruled][which])
    found = [model.runs[run][which] for run in runs if run in model.runs]
    scale = SCALE / sqrt(len(found) or 1)
    for weights in found:
        for place, weight in enumerate(weights):
            odds[place] += scale * weight
    if vector is not None:
        numbers = unpack(f"<{len(model.vector[0])}f", vector)
        odds = [each + sum(map(mul, w, numbers)) for each, w in zip(odds, model.vector, strict=True)]
    factors = [exp(min(50.0, each)) for each in odds]
    return {kind: each / (1 + sum(factors)) for kind, each in zip(KINDS, factors, strict=True)}


def wish_runs(text: str, known: frozenset[str] | None = None) -> Iterator[str]:
    """The runs of words or Japanese letters in each part of a text, each once."""
    known = wish_model().known if known is None else known
    seen: set[str] = set()
    for part in _PARTS.split(_plain(text)):
        if part := part.strip():
            seen.update(_letter_runs(part) if _JAPANESE.search(part) else _word_runs(part, known))
    yield from sorted(seen)


def known_words(text: str) -> list[str]:
    """The words of a text, as runs are made of them."""
    return _WORD.findall(_plain(text))


def _plain(text: str) -> str:
    read = text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"
    return _APOSTROPHE.sub("", normal_form("NFKC", read).casefold().replace("’", "'"))


def _letter_runs(part: str) -> Iterator[str]:
    whole = f"^{_NUMBER.sub('0', part)}$"
    shortest, longest = LETTER_RUNS
    for length in range(shortest, longest + 1):
        for start in range(len(whole) - length + 1):
            yield whole[start : start + length]


def _word_runs(part: str, known: frozenset[str]) -> Iterator[str]:
    words = ["^", *(word if word in known else OTHER for word in _WORD.findall(part)), "$"]
    for length in range(1, WORD_RUN + 1):
        for start in range(len(words) - length + 1):
            yield " ".join(words[start : start + length])


def _matter(text: str, model: WishModel) -> str:
    """What is to be forgotten: the words that do not belong to the wish itself."""
    words = [word for word in query_tokens(text) if not _is_telling(word, model)]
    return " ".join(dict.fromkeys(words)) or text


def _is_telling(word: str, model: WishModel) -> bool:
    return max(map(abs, model.runs.get(word, ((0.0,), ()))[0]), default=0.0) >= TELLING


@cache
def wish_model() -> WishModel:
    """The weights, read from their table once."""
    runs: dict[str, tuple[Three, Three]] = {}
    rules: dict[str, tuple[Three, Three]] = {}
    vectors: list[tuple[float, ...]] = []
    embedder, known = "", frozenset[str]()
    for what, name, *numbers in rows("wishes"):
        if what == "embedder":
            embedder = name
        elif what == "known":
            known = frozenset(name.split(" "))
        elif what == "vector":
            vectors.append(_hundredths(numbers[0]))
        else:
            a, b, c, d, e, f = _hundredths(numbers[0])
            (rules if what == "rule" else runs)[name] = ((a, b, c), (d, e, f))
    keep, not_keep, forget = vectors
    return WishModel(embedder, known, runs, rules, (keep, not_keep, forget))


def _hundredths(numbers: str) -> tuple[float, ...]:
    return tuple(int(number) / 100 for number in numbers.split(" "))
