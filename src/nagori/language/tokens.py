"""About how many tokens a text takes, for models whose vocabulary is not at hand [ruling 36].

Each script and kind of character has its own price. The prices solve a linear programme: as low as they can
be while none of 110 kinds of text is counted at less than 1.05 of what any of four vocabularies takes for it
(cl100k, o200k, Llama 3, DeepSeek 3). Words in Latin letters cost more in prose where English function words
are missing, for no vocabulary has as many whole words of other languages; a little more where those of other
large languages stand in their place. `python -m bench.estimate` measures the estimate on other texts, and
`docs/why/window.md` has its table.
"""

from __future__ import annotations

import re
from functools import cache
from math import ceil

_LATIN = "A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_CONSONANTS = "BCDFGHJKLMNPQRSTVWXZbcdfghjklmnpqrstvwxz"
_LENGTHS = {1: 1.02, 8: 1.69, 12: 1.63}  # for each word of at least so many letters
_LONG, _LONG_LETTER = 20, 0.5  # … and for each letter beyond so many: long compounds are cut into bits
_LARGE = {1: 0.1, 3: 0.18, 7: 0.36, 14: 1.37}  # … besides in prose of other large languages of Europe
_SMALL = {1: 1.08}  # … and of all others
_VOWELS = 0.34  # for each pair of vowels in those
_REACH, _LARGE_REACH = 5, 4  # words of prose that one function word stands for
_ENGLISH_WORDS = """
    the of and to a in is it you that for on with as are this be at have from or not we can if i your my was
    so but an by will what do
"""
_LARGE_WORDS = """
    der die das und ist nicht ein eine zu den mit von für sie werden auf wird im le la les des et est que un
    une pas dans pour vous ce du au el los las en y del por se con para al una no es su o da di il che per non
    è sono della i e em um uma os não het een van niet op te dat zijn och att det som är på inte med av til er
    ikke og
"""
_ASCII = {  # for each that is found
    rf"[{_CONSONANTS}]{{4,}}": 1.54,  # no word, or a long one
    rf"[{_CONSONANTS}]{{5,}}": 5.02,
    r"(?<=[A-Z])[A-Z]": 0.16,
    r"(?<=[a-z])[A-Z]": 0.14,
    r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]": 0.05,  # hashes
    r"[0-9]{1,3}": 1.11,
    r"[ \t\u00a0](?=[0-9])": 0.99,  # a number does not take the blank before it along, as a word does
    r"[!-/:-@\[-`{-~]+": 1.01,
    r"(?<=[!-/:-@\[-`{-~])[!-/:-@\[-`{-~]": 0.15,
    r"\n\s*": 0.4,
    r"[ \t]{2,}|\t": 0.81,
    r" {17,}": 0.72,
    r"(?<=\t)\t": 0.13,
    r"[\x00-\x08\x0b-\x1f\x7f]": 1.3,
}
_OTHERS = {  # for each character, or each word where it says so
    "[\u0080-\u024f\u1e00-\u1eff]": 0.96,
    "[\u0080-\u009f\u0180-\u019f\u01a2-\u01ae\u01b1-\u024f]": 1.1,  # besides: no large language has them
    "[\u1e00-\u1e9f]": 1.5,
    "[\u0250-\u036f\u0500-\u058f\u0700-\u08ff\u0f00-\u1dff\u1f00-\u1fff]": 2.34,
    "[\u07c0-\u08ff\u0f00-\u109f\u1200-\u1dff\u1f00-\u1fff]": 0.9,  # besides: cut into bytes
    "[\u0370-\u03ff]": 1.09,
    "[\u0370-\u0385\u03cf-\u03ff]": 1.2,  # besides: letters of other times
    "[\u0400-\u04ff]": 0.32,
    "[\u0400-\u04ff]+": 1.63,
    "(?<=[\u0400-\u04ff]{14})[\u0400-\u04ff]": 0.28,  # long compounds
    "[\u0404-\u040f\u0450-\u04ff]": 2.16,  # letters that Russian has not
    "[\u0590-\u05ff]": 1.3,
    "[\u0600-\u06ff]": 0.9,
    "[\u0670-\u06ff]": 0.43,  # letters that Arabic has not
    "[\u0600-\u061e\u063b-\u063f\u0653-\u065f\u066a-\u066f]": 1.1,  # besides: rare signs
    "[\u0671-\u067d\u067f-\u0685\u0687-\u0697\u069a-\u06a8\u06aa-\u06ae\u06b0-\u06b9\u06bb-\u06bd]": 0.9,
    "[\u06bf\u06c0\u06c2-\u06cb\u06cd-\u06d1\u06d5-\u06ef\u06fa-\u06ff]": 0.9,
    "[\u0900-\u0dff]": 1.61,
    "[\u0b00-\u0b7f]": 1.1,  # besides
    "[\u0e00-\u0eff]": 1.23,
    "[\u0e80-\u0eff]": 1.4,  # besides
    "[\u2000-\u218f]": 1.42,
    "[\u2000-\u200c\u200e\u200f\u2028-\u202f\u2040-\u218f]": 1.2,  # besides: all but dashes and quotes
    "[\u2190-\u2e7f\ua000-\uabff\ud7b0-\uf8ff\ufb00-\ufdff\ufe10-\ufeff]": 1.9,
    "[\u2200-\u24ff\u27c0-\u2e7f\ua000-\uabff\ud7b0-\uf8ff\ufb00-\ufdff\ufe10-\ufefe]": 1.3,  # besides
    "[\u2194-\u21ff\u2600-\u27bf]": 0.5,  # besides
    "[\u2e80-\u2fff\u3000-\u303f\uff00-\uff60]": 1.1,
    "[\u2e80-\u2fff]": 2.0,  # besides
    "[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]": 1.0,  # besides: wide letters and digits
    "(?<=[ \t])[\u2e80-\u9fff\uff00-\uffff]": 1.31,  # … nor do these
    "[\u3040-\u309f]": 1.3,
    "[\u30a0-\u33ff]": 1.06,
    "[\u3100-\u33ff]": 2.0,  # besides
    "[\u3400-\u9fff\uf900-\ufaff]": 1.27,
    "[\u3400-\u4dbf\uf900-\ufaff]": 1.8,  # besides: rare characters
    "[\u1100-\u11ff\uac00-\ud7af]": 1.3,
    "[\uff61-\uffff]": 2.1,  # half-width kana
    "[\U00010000-\U0010ffff\ufe00-\ufe0f\u200d]": 2.6,
    "[\U0001d400-\U0001d7ff]": 0.5,  # besides: letters of mathematics
    "[\U0001d800-\U0001faff]": 0.4,  # besides
    "[\U00010000-\U0001d3ff\U0001fb00-\U0010ffff]": 1.65,  # besides: a token for each byte
}

_RARE = 1.7  # besides for each Chinese or Korean character that the usual set of its language has not


def estimate_tokens(text: str) -> int:
    """Tokens of `text`, rather too many than too few."""
    tokens = _price_words(text) + _price(_patterns("ascii"), text)
    if not text.isascii():
        tokens += _price(_patterns("others"), text) + _price_rare(text)
    return ceil(tokens)


def _price(patterns: list[tuple[re.Pattern[str], float]], text: str) -> float:
    return sum(price * len(pattern.findall(text)) for pattern, price in patterns)


def _price_rare(text: str) -> float:
    """What rare characters cost besides. The usual set of a language is that of its old encoding, which takes
    two bytes for each; Korean's takes eight for a syllable that is not in it. Traditional Chinese is measured
    by the set of simplified, because no vocabulary has as many of its characters."""
    han, hangul = ("".join(_rare_patterns()[name].findall(text)) for name in ("han", "hangul"))
    tokens = 0.0
    if han:
        usual = han.encode("shift_jis" if _rare_patterns()["kana"].search(text) else "gb2312", "ignore")
        tokens += _RARE * (len(han) - len(usual) / 2)
    if hangul:
        tokens += _RARE * (len(hangul.encode("euc_kr", "ignore")) / 2 - len(hangul)) / 3
    return tokens


@cache
def _rare_patterns() -> dict[str, re.Pattern[str]]:
    ranges = {"han": "\u4e00-\u9fff", "hangul": "\uac00-\ud7a3", "kana": "\u3040-\u30ff"}
    return {name: re.compile(f"[{chars}]+") for name, chars in ranges.items()}


def _price_words(text: str) -> float:
    """The price of the words in Latin letters, in whatever language they are."""
    word, prose, vowels = _word_patterns()
    lengths = list(map(len, word.findall(text)))
    tokens = _price_lengths(lengths, _LENGTHS)
    tokens += _LONG_LETTER * sum(size - _LONG for size in lengths if size > _LONG)
    english, large = _function_words()
    words = prose.findall(text.lower())
    foreign = max(0, len(words) - _REACH * sum(map(english.__contains__, words)))
    if foreign:
        small = max(0, foreign - _LARGE_REACH * sum(map(large.__contains__, words)))
        tokens += (foreign - small) / len(lengths) * _price_lengths(lengths, _LARGE)
        pairs = _VOWELS * len(vowels.findall(text)) if small else 0.0
        tokens += small / len(lengths) * (_price_lengths(lengths, _SMALL) + pairs)
    return tokens


def _price_lengths(lengths: list[int], prices: dict[int, float]) -> float:
    return sum(price * sum(size >= least for size in lengths) for least, price in prices.items())


@cache
def _word_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """A word, a word of prose, a pair of vowels."""
    return (
        re.compile(rf"[{_LATIN}]+"),
        re.compile(rf"(?<=[{_LATIN},.;] )[{_LATIN}]+"),
        re.compile("[aeiouyäöüå]{2}", re.IGNORECASE),
    )


@cache
def _function_words() -> tuple[frozenset[str], frozenset[str]]:
    """Words by which English is known, and other large languages."""
    return frozenset(_ENGLISH_WORDS.split()), frozenset(_LARGE_WORDS.split())


@cache
def _patterns(which: str) -> list[tuple[re.Pattern[str], float]]:
    table = {"ascii": _ASCII, "others": _OTHERS}[which]
    return [(re.compile(pattern), price) for pattern, price in table.items()]
