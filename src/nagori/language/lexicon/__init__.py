"""Word lists for appraisal in two languages: emotion words, cues, wishes and topics, as tables beside this
file.

A line of an emotion table is one group of similar words: valence, arousal, tags, words. The tables are read
once, for the first appraisal; a hook that only recalls does not read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from unicodedata import normalize

from nagori.core.model import Kind, RelationType
from nagori.core.value_object import Value

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
    """The emotion of a word by itself: valence -1 to 1, arousal 0 to 100, tags."""

    valence: float
    arousal: float
    tags: tuple[str, ...] = ()


class FeelingHit(Value):
    """An emotion word found in a sentence, with its value in context."""

    feeling: Feeling
    valence: float  # after negation, intensifiers and the like
    start: int
    end: int
    negated: bool = False

    def times(self, factor: float) -> FeelingHit:
        """The same word with its emotion scaled."""
        return FeelingHit(self.feeling, self.valence * factor, self.start, self.end, self.negated)


class Bilingual:
    """One pattern for each language; a pattern is skipped if its letters do not occur."""

    def __init__(self, english: str, japanese: str) -> None:
        self.english = re.compile(english or "(?!)", re.IGNORECASE | re.MULTILINE)
        self.japanese = re.compile(japanese or "(?!)")

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        if LETTERS.search(text):
            yield from self.english.finditer(text)
        if JAPANESE.search(text):
            yield from self.japanese.finditer(text)

    def occurs(self, text: str) -> bool:
        return bool(
            (LETTERS.search(text) and self.english.search(text))
            or (JAPANESE.search(text) and self.japanese.search(text))
        )


def rows(name: str) -> Iterator[list[str]]:
    """The rows of one table, cut at tabs; lines with # are remarks."""
    from importlib.resources import files  # imported late: it is slow, and only reading a table needs it

    for line in files(__name__).joinpath(f"{name}.tsv").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line.split("\t")


def read_feelings(name: str) -> Iterator[tuple[Feeling, str]]:
    """The rows of an emotion table: the emotion, and the words."""
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
    """Words and phrases (with spaces) in base form. The first group that lists a word wins."""
    table: dict[str, Feeling] = {}
    for feeling, words in read_feelings("english"):
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
    for feeling, words in read_feelings("japanese"):
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
    """Emoji, emoticons and kaomoji: a pattern that finds them, and their emotions."""
    table = {sign: feeling for feeling, group in read_feelings("emoji") for sign in group.split(" ")}
    longest_first = sorted(table, key=len, reverse=True)
    return re.compile("|".join(map(_bound_sign, longest_first))), table


def _bound_sign(sign: str) -> str:
    """A sign made of letters counts only between spaces, and :/ does not count inside an address."""
    before = "(?<![A-Za-z0-9])" if sign[0].isalnum() and sign.isascii() else ""
    after = "(?![A-Za-z0-9/])" if sign[-1] in "/\\" or (sign[-1].isalnum() and sign.isascii()) else ""
    return before + re.escape(sign) + after


# --- wishes and corrections -----------------------------------------------------------------------
# Requests to keep or correct something, and references to earlier turns. All have effects, so precision
# comes first: a wish is the speaker's own imperative, not a report, a question, an earlier wish or a
# quotation.

# An opening mark, or a whole quotation between marks that look the same on both sides.
_QUOTE = re.compile("[「『“]|\"[^\"\n]*\"|(?<![A-Za-z])'[^'\n]{3,}'(?![A-Za-z])")
_CLOSING = {"「": "」", "『": "』", "“": "”"}
_WHOLLY_QUOTED = re.compile('\\s*[「『“"]([^」』”"]*)[」』”"]\\s*')
_SAID = (
    r"(?:said|says|say|told (?:me|us|him|her|them)|tells me|asked|wrote|shouted|whispered|yelled|sang|goes)"
    r"[,:]?$"
)

_SAID_LENGTH = 16  # characters, at least the length of the longest one

# Where an English imperative can stand: at the start, after a stop, a comma, "please", or a request.
_IMPERATIVE = (
    r"(?:(?:^|[.!?;:,\n—–-]\s{0,2})"
    r"(?:(?:and|so|but|also|ok|okay|oh|hey|just|always|pls|btw|now)[, ]{1,2}){0,3}"
    r"(?:please,? )?(?:always |do |just )?"
    r"|\bplease,? (?:always )?|\b(?:i (?:want|need)|i'd like) you to "
    r"|\byou (?:must|should|have to|need to|'d better) (?:always )?"
    r"|\b(?:make|be) sure (?:to|you|that you) |\b(?:can|could|will|would) you (?:please )?(?:just )?)"
)

# What may follow a Japanese wish: a request, soft particles, the end. 覚えてる？ and 忘れないでいた fail.
_REQUEST = (
    "くれると(?=嬉し|うれし|助か|あり)|く(?:ださい|れ(?:る|ない|ます|ません)?か?)|下さい|(?:ほ|欲)しい(?!と(?:言|い))"
    "|もら(?:いたい|える|えます|えない)|いただ(?:けますか|きたい|けると)|頂け|お願い|頼む"
)

_SOFT = "[ねよなわー〜ぁぇさっ]|のです|です|んだ|けど|が|か"
_ENDING = rf"(?:{_REQUEST})?(?:{_SOFT})*(?:[。.!、,?:\s♪…]|$|お願い|頼|嬉し|うれし|助か|あり)"
_NOT_MEANT = re.compile(
    "忘れないで(?:いて?くれ(?:た|て)|くれてあり)|(?:ほしか|欲しか)った|(?:と|って)(?:言|い[わっう]|頼|伝え|書)"
)

_TIES = {
    "corrected": RelationType.CONTRADICTS,
    "continued": RelationType.CONTINUES,
    "referred": RelationType.REFERENCES,
}


@cache
def _keep() -> Bilingual:
    verbs = cue("keep")
    return Bilingual(
        f"(?P<head>{_IMPERATIVE})(?:{verbs.english.pattern})", f"(?:{verbs.japanese.pattern})(?={_ENDING})"
    )


def strip_outer_quotes(text: str) -> str:
    """A text that is entirely one quotation counts as the speaker's own: its marks are removed."""
    whole = _WHOLLY_QUOTED.fullmatch(text)
    return whole[1] if whole else text


def own_words(text: str) -> str:
    """The text without quotations of others."""
    last = {mark: text.rfind(closing) for mark, closing in _CLOSING.items()}  # stop at the last one
    out, done, at = [], 0, 0
    while found := _QUOTE.search(text, at):
        mark, at = found[0], found.end()
        if mark in _CLOSING:
            if last[mark] < at:
                continue
            at = text.index(_CLOSING[mark], at) + 1
        out += [text[done : found.start()], " … "]
        done = at
    return "".join((*out, text[done:]))


def wants_kept(text: str) -> bool:
    """Whether the speaker asks to remember this [E19]."""
    spoken = own_words(text)
    if cue("kept").occurs(spoken):
        return True
    asked = _Questions(spoken)
    return any(_is_meant(spoken, found, asked) for found in _keep().matches(spoken))


def _is_meant(spoken: str, found: re.Match[str], asked: _Questions) -> bool:
    """Whether it is the speaker's own imperative, not a report and not a question about the past."""
    if "head" not in found.groupdict():
        return not _NOT_MEANT.match(spoken, found.start())
    end = found.start() + 1
    while end and spoken[end - 1].isspace():
        end -= 1
    if re.search(_SAID, spoken[max(0, end - _SAID_LENGTH) : end], re.IGNORECASE):
        return False
    asks = re.search("(?:can|could|will|would) you", found["head"], re.IGNORECASE)
    return bool(asks) or found.end() not in asked


class _Questions:
    """Whether the English sentence around a position ends in a question mark. Positions come in rising order,
    so no sentence is read twice."""

    def __init__(self, text: str) -> None:
        self._ends = re.compile(r"[.!?\n]|\Z").finditer(text)
        self._end = next(self._ends)

    def __contains__(self, place: object) -> bool:
        assert isinstance(place, int)
        while self._end.start() < place:
            self._end = next(self._ends)
        return self._end[0] == "?"


def speaks_of(text: str) -> RelationType | None:
    """The relation of a text to an earlier one: it corrects, continues or mentions it."""
    spoken = own_words(text)
    return next((tie for name, tie in _TIES.items() if cue(name).occurs(spoken)), None)


def corrects(text: str) -> bool:
    """Whether the speaker corrects an earlier statement."""
    return cue("corrected").occurs(own_words(text))


# --- topics and kinds -----------------------------------------------------------------------------
# The topic and the kind of a text, by rules over words and phrases. `kind_of` separates
# facts, decisions and lessons from episodes; questions are always episodes. `count` counts the words of
# a topic.


class _Topic(Value):
    words: frozenset[str]  # English
    phrases: tuple[str, ...]  # English, between spaces
    japanese: re.Pattern[str]


@cache
def _topic(name: str) -> _Topic:
    listed = {language: named.split(" ") for topic, language, named in rows("topics") if topic == name}
    english = [word.replace("_", " ") for word in listed["en"]]
    return _Topic(
        frozenset(word for word in english if " " not in word),
        tuple(f" {phrase} " for phrase in english if " " in phrase),
        re.compile("|".join(map(re.escape, listed["ja"]))),
    )


@lru_cache(8)  # all topics of one text are counted in a row
def _english_forms(text: str) -> tuple[frozenset[str], str]:
    """The English words of a text with and without a plural s, and all of them in order."""
    words = re.findall("[a-z'-]+", text.lower())
    return frozenset((*words, *(word[:-1] for word in words if word.endswith("s")))), f" {' '.join(words)} "


def count(name: str, text: str) -> int:
    """The number of different words of the topic in the text."""
    topic = _topic(name)
    words, joined = _english_forms(text)
    english = len(topic.words & words) + sum(phrase in joined for phrase in topic.phrases)
    if not JAPANESE.search(text):
        return english
    return english + len(set(topic.japanese.findall(text)))


def kind_of(statements: str) -> Kind:
    """The kind of memory for these statements; questions must have been removed."""
    order = (Kind.LESSON, Kind.DECISION, Kind.FACT)  # "I learned we chose X" teaches; "we chose X" decides
    return next((kind for kind in order if cue(kind).occurs(statements)), Kind.EPISODE)
