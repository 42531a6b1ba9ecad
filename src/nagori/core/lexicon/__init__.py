"""The words of feeling in two languages, as tables beside this file.

A line of a table is one group of words that feel alike: valence, arousal, tags, words. The tables are
read once, when the first sentence is appraised, and never by a hook that only recalls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from unicodedata import normalize

from nagori.core.values import Value

# The forms a Japanese word takes after its stem: 狭い 狭く 狭かった, 喜ばない 喜びます 喜んだ.
_ROWS = {
    "い": "いくかさけすそめみ",
    "う": "わいうえおっ",
    "え": "えぇ",
    "く": "かきくけこい",
    "ぐ": "がぎぐげごい",
    "す": "さしすせそ",
    "つ": "たちつてとっ",
    "ぶ": "ばびぶべぼん",
    "む": "まみむめもん",
    "る": "らりるれろっん",
}


LETTERS = re.compile("[A-Za-z]{2}")
JAPANESE = re.compile("[ぁ-んァ-ヶ一-龠]")


class Feeling(Value):
    """How a word feels by itself: valence -1 to 1, arousal 0 to 100, names."""

    valence: float
    arousal: float
    tags: tuple[str, ...] = ()


class Hit(Value):
    """A word of feeling found in a sentence, with the weight its surroundings leave it."""

    feeling: Feeling
    valence: float  # after negation, intensifiers and the like
    start: int
    end: int
    negated: bool = False

    def times(self, factor: float) -> Hit:
        """The same word, felt more or less."""
        return Hit(self.feeling, self.valence * factor, self.start, self.end, self.negated)


class Bilingual:
    """A pattern for each language; the one whose letters do not occur in a text is not even tried."""

    def __init__(self, english: str, japanese: str) -> None:
        self.english = re.compile(english or "(?!)", re.IGNORECASE | re.MULTILINE)
        self.japanese = re.compile(japanese or "(?!)")

    def found(self, text: str) -> Iterator[re.Match[str]]:
        if LETTERS.search(text):
            yield from self.english.finditer(text)
        if JAPANESE.search(text):
            yield from self.japanese.finditer(text)

    def occurs(self, text: str) -> bool:
        return any(True for _ in self.found(text))


def rows(name: str) -> Iterator[list[str]]:
    """The rows of one table, cut at tabs; lines with # are remarks."""
    from importlib.resources import files  # costs more than everything else here, and only a reader needs it

    for line in files(__name__).joinpath(f"{name}.tsv").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


def felt(name: str) -> Iterator[tuple[Feeling, str]]:
    """The rows of a table of feelings: how it feels, and what feels so."""
    for valence, arousal, tags, words in rows(name):
        named = () if tags == "-" else tuple(tags.split(","))
        yield Feeling(int(valence) / 100, float(arousal), named), words


@cache
def cue(name: str) -> Bilingual:
    """All rows of a cue as one pattern."""
    patterns = [pattern for cue, pattern in rows("cues") if cue == name]
    native = [pattern for pattern in patterns if JAPANESE.search(pattern)]
    foreign = [pattern for pattern in patterns if not JAPANESE.search(pattern)]
    return Bilingual("|".join(foreign), "|".join(native))


@cache
def english_words() -> dict[str, Feeling]:
    """Words and phrases (with spaces) in base form. The first group that names a word has it."""
    table: dict[str, Feeling] = {}
    for feeling, words in felt("english"):
        for word in words.split(" "):
            table.setdefault(word.replace("_", " "), feeling)
    return table


@cache
def phrase_lengths() -> dict[str, tuple[int, ...]]:
    """First word of the English phrases -> how many words they may have, longest first."""
    found: dict[str, set[int]] = {}
    for phrase in english_words():
        if " " in phrase:
            head, *rest = phrase.split(" ")
            found.setdefault(head, set()).add(1 + len(rest))
    return {head: tuple(sorted(sizes, reverse=True)) for head, sizes in found.items()}


@cache
def japanese_words() -> tuple[dict[str, tuple[Feeling, str]], dict[str, tuple[int, ...]]]:
    """All forms of all words, each with its mark; lengths of forms by first character, longest first."""
    table: dict[str, tuple[Feeling, str]] = {}
    lengths: dict[str, set[int]] = {}
    for feeling, words in felt("japanese"):
        for word in normalize("NFKC", words).split(" "):
            bare = word.rstrip("^!")
            for form in _forms(bare):
                table.setdefault(form, (feeling, word[len(bare) :]))
                lengths.setdefault(form[0], set()).add(len(form))
    return table, {first: tuple(sorted(sizes, reverse=True)) for first, sizes in lengths.items()}


def _forms(word: str) -> list[str]:
    stem, slash, ending = word.partition("/")
    if not slash:
        return [word]
    if len(ending) > 1:
        return [stem + ending]
    return [stem + kana for kana in _ROWS.get(ending, ending)]


@cache
def signs() -> tuple[re.Pattern[str], dict[str, Feeling]]:
    """Emoji, emoticons and kaomoji: where they are, and how they feel."""
    table = {sign: feeling for feeling, group in felt("emoji") for sign in group.split(" ")}
    longest_first = sorted(table, key=len, reverse=True)
    return re.compile("|".join(map(_bounded, longest_first))), table


def _bounded(sign: str) -> str:
    """A sign made of letters is one only between spaces, and :/ is none inside an address."""
    before = "(?<![A-Za-z0-9])" if sign[0].isalnum() and sign.isascii() else ""
    after = "(?![A-Za-z0-9/])" if sign[-1] in "/\\" or (sign[-1].isalnum() and sign.isascii()) else ""
    return before + re.escape(sign) + after
