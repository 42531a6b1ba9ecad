"""Compress a text by rules: to its most informative sentences, then to its keywords [ruling 37].

    full     everything that was said
    summary  one or two of its own sentences, at most about LONGEST characters   (`compress_to_summary`)
    trace    its keywords: names, numbers with units, identifiers, emotions; a negation or a direction
             (not 8443; from MySQL to PostgreSQL) keeps its clause              (`compress_to_trace`)

No language model is used, so nothing is rephrased and nothing invented: every word comes from the text.
Trigger and content are compressed by the same rule, but of a reply to a statement fewer keywords are left.
A text that is short enough already stays as it is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from functools import cache
from math import log, pow

from nagori.core.model import Emotion, Kind, Text, Valence
from nagori.core.value_object import Value
from nagori.language.keywords import RETURNS, TALK, VERB, Keyword, find_keywords, sum_weights
from nagori.language.lexicon import Bilingual, cue
from nagori.language.passages import sentences
from nagori.language.statement_or_question import looks_like_statement
from nagori.language.tokenizer import asks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONGEST = 200  # maximum width of a summary; a text within it is a summary already
SHORTEST = 115  # a summary may always be this wide
SHARE = 0.29  # share of the text's width, between these two limits
WIDE = 1.5  # width of a Japanese character, relative to a Latin letter
SENTENCES = 2
KEYWORDS, KEYWORD_CHARACTERS = 11, 120
REPLY_CHARACTERS = 30  # of a reply to a statement: what was stated is what lasts
CLAUSE = 90  # maximum width of the clause that a trace keeps
DECIDES, ASKS, CODE, FIRST = 1.4, 0.7, 0.3, 1.3  # factors on the weight of a sentence
DENSITY = 0.3  # 0 prefers the longest sentence, 1 the densest

_SPACES = re.compile(r"[^\S\n]+")
_MARKUP = re.compile(r"^ ?(?:(?:[#>•*-]+|[0-9]{1,2}[.)]) )+|^`{3}.*$|^[-=_*#|: ]+$", re.MULTILINE)
_BOLD = re.compile(r"(?:(?<=[\s(])|^)\*\*(?=[^\s*])([^*\n]+)(?<=\S)\*\*(?=[:,.;)]?(?:\s|$))", re.MULTILINE)
_NARROW_ENDS = re.compile(r"[.!?][\"'”’)\]]*$")
_WIDE_ENDS = re.compile(r"[。｡．！？][」』）】]*$")
_CLAUSE_END = re.compile(r"[、，；;—–]+\s*|,\s+(?!\d)|:\s+|\s[-/(]\s?|\s(?=\()")
# Words end at spaces; in Japanese after a particle that follows a noun, never inside 引っ越し.
_WORD_END = re.compile(r"\s+|(?<=を)(?=[^ぁ-ん])|(?<=[一-龠ァ-ヶーA-Za-z0-9」』][はがにでと])(?=[^ぁ-ん])")
_SIGNS = re.compile(r"[(){}\[\]=;<>|\\_$\"]")
_LOOSE_START = " 、，,；;—–"
_LOOSE_END = " 、，,；;—–:：-/("
_JOINING = re.compile(r"^(?:and|but|so|or|because|which) ", re.IGNORECASE)


# What a list of keywords cannot tell: which of two values holds, and which was before.
_TURNS = re.compile(
    r"\b(?:not|never|no longer|neither|nor|without|instead of|rather than|except)\b|n['’]t\b|\bfrom \S+ to \b"
    "|ではな[くい]|じゃな[くい]|しないで|しない(?:こと|ように|で)|[てで]はいけな|なくなっ|やめ[たてる]|より(?:も)?[^。、]{0,8}(?:好き|いい|良い)"
    "|から[^。、]{1,16}[にへ](?:変|移|切り替|乗り換|引っ越|なっ)|以外|禁止",
    re.IGNORECASE,
)


class _Part(Value):
    """A sentence and its keywords."""

    place: int
    text: str
    words: list[Keyword]
    cut: bool = False


def compress_to_summary(text: Text, emotion: Emotion) -> Text:
    """Level 2: one or two sentences of trigger and of content [E6]."""
    feeling = _feeling_weight(emotion)
    return Text(_summary(text.trigger, feeling), _summary(text.content, feeling))


def compress_to_trace(text: Text, emotion: Emotion) -> Text:
    """Level 3: the keywords of trigger and content, from the full text or its summary [E6]. An emotion that
    no word expresses is added once, as its tag."""
    feeling = _feeling_weight(emotion)
    tag = emotion.tags[0] if emotion.tags else ""
    trigger = _trace(text.trigger, feeling, "" if text.content.strip() else tag)
    is_reply = bool(text.trigger) and looks_like_statement(text.trigger)
    most = REPLY_CHARACTERS if is_reply else KEYWORD_CHARACTERS
    return Text(trigger, _trace(text.content, feeling, tag, most))


def _feeling_weight(emotion: Emotion) -> float:
    """The weight of emotion words: 0 in a text without emotion."""
    if not emotion.tags and emotion.valence is Valence.NEUTRAL:
        return 0.0
    return emotion.intensity / 100


def _width(text: str) -> float:
    """The visual width of a text."""
    return len(text) if text.isascii() else sum(WIDE if char > "\u2e80" else 1.0 for char in text)


# ── summary ──────────────────────────────────────────────────────────────────────────────────────────


def _summary(text: str, feeling: float) -> str:
    """The summary. It is compressed again until it no longer changes, so a summary of a summary is itself."""
    if not text:
        return text
    short, final = _once(text, feeling)
    while len(short) < len(text) and not final:
        text = short
        short, final = _once(text, feeling)
    return short


def _once(text: str, feeling: float) -> tuple[str, bool]:
    """A shorter text, and whether compressing it again is known to change nothing."""
    plain = _plain(text)
    found = sentences(plain) or [text]
    parts = _select_sentences(found, _width(plain), feeling)
    whole = not any(part.cut for part in parts)
    short = plain if whole and len(parts) == len(found) else _join_sentences([part.text for part in parts])
    short = short.strip() or text
    return short, whole and _plain(short) == short


def _select_sentences(found: Sequence[str], width: float, feeling: float) -> list[_Part]:
    """The sentences that remain of `found`."""
    if len(found) == 1 and width <= LONGEST:
        return [_Part(0, found[0], [])]
    parts = _informative_sentences(found, feeling)
    if len(parts) <= SENTENCES and width <= LONGEST:
        return parts
    return _choose_parts(_sort_by_weight(parts), min(LONGEST, max(SHORTEST, SHARE * width)))


def _plain(text: str) -> str:
    """The text without markup of lists, headings and bold type, unless nothing else is there."""
    plain = _BOLD.sub(r"\1", _MARKUP.sub("", _SPACES.sub(" ", text)))
    return plain if plain.strip() else text


def _informative_sentences(found: Sequence[str], feeling: float) -> list[_Part]:
    """The sentences with content; all of them if none has any."""
    parts = [_Part(place, sentence, find_keywords(sentence, feeling)) for place, sentence in enumerate(found)]
    return [part for part in parts if any(word.weight > TALK for word in part.words)] or parts


def _sort_by_weight(parts: Sequence[_Part]) -> list[_Part]:
    """The parts, most informative first."""
    often = Counter(word.text.casefold() for part in parts for word in part.words)
    return sorted(parts, key=lambda part: (-_worth(part, often), part.place))


def _worth(part: _Part, often: Counter[str]) -> float:
    """The weight of a sentence: its keywords relative to its length; more for decisions and lessons, less for
    questions."""
    distinct = {word.text.casefold(): word.weight for word in part.words}
    total = sum_weights(distinct, often)
    if _decisive().occurs(part.text):
        total *= DECIDES
    if asks(part.text):
        total *= ASKS
    if len(_SIGNS.findall(part.text)) * 10 > len(part.text):
        total *= CODE
    return total * (1.0 if part.place else FIRST) / pow(_width(part.text) + 20, DENSITY)


@cache
def _decisive() -> Bilingual:
    """One pattern for the words of decisions, lessons and facts."""
    cues = [cue(kind) for kind in (Kind.DECISION, Kind.LESSON, Kind.FACT)]
    return Bilingual(
        *("|".join(getattr(each, name).pattern for each in cues) for name in ("english", "japanese"))
    )


def _choose_parts(parts: Sequence[_Part], room: float) -> list[_Part]:
    """The first of `parts`, cut to fit, and the next one that fits beside it, in the order of the text."""
    best = _shorten_sentence(parts[0], room)
    room -= _width(best.text) + 1
    second = next((part for part in parts[1:] if _width(part.text) <= room), None)
    return sorted((best, second), key=lambda part: part.place) if second else [best]


def _join_sentences(kept: Sequence[str]) -> str:
    """Sentences as one text that splits into the same sentences again."""
    if len(kept) == 1:
        return kept[0]
    first = kept[0]
    between = "" if _WIDE_ENDS.search(first) else " " if _NARROW_ENDS.search(first) else "\n"
    text = between.join(kept)
    return text if between == "\n" or sentences(text) == list(kept) else "\n".join(kept)


# ── cutting ──────────────────────────────────────────────────────────────────────────────────────────


def _shorten_sentence(part: _Part, room: float) -> _Part:
    """The sentence cut at clauses, or else between words, around its most informative part."""
    start, end = 0, len(part.text)
    for ends in (_CLAUSE_END, _WORD_END):
        if _width(part.text[start:end]) <= room:
            break
        start, end = _run(part, _bounds(part, ends, start, end), room)
    if end - start == len(part.text):
        return part
    text = part.text[start:end].lstrip(_LOOSE_START).rstrip(_LOOSE_END)
    return _Part(
        part.place, _JOINING.sub("", text, count=1) or part.text[start:end].strip(), part.words, True
    )


def _bounds(part: _Part, ends: re.Pattern[str], start: int, end: int) -> list[int]:
    """The positions where it may be cut: never inside a keyword such as `May 3, 2024`."""
    inside = {at for word in part.words for at in range(word.start + 1, word.end)}
    cuts = (found.end() for found in ends.finditer(part.text, start, end))
    return [start, *(at for at in cuts if start < at < end and at not in inside), end]


def _run(part: _Part, bounds: Sequence[int], room: float) -> tuple[int, int]:
    """The most informative piece and as many neighbours as fit, the more informative first."""
    worth = [0.0] * (len(bounds) - 1)
    for word in part.words:
        if bounds[0] <= word.start < bounds[-1]:  # pragma: no branch - a word is rarely outside
            worth[bisect_right(bounds, word.start) - 1] += word.weight
    worth[0] *= FIRST
    low = worth.index(max(worth))
    high = low + 1
    room -= _width(part.text[bounds[low] : bounds[high]])
    while beside := _beside(worth, low, high):
        taken = beside[0]
        room -= _width(part.text[bounds[taken] : bounds[taken + 1]])
        if room < 0:
            break
        low, high = min(low, taken), max(high, taken + 1)
    return bounds[low], bounds[high]


def _beside(worth: Sequence[float], low: int, high: int) -> list[int]:
    """The pieces next to `low` and `high`, the more informative first."""
    near = [at for at in (high, low - 1) if 0 <= at < len(worth)]
    return sorted(near, key=lambda at: -worth[at])


# ── trace ────────────────────────────────────────────────────────────────────────────────────────────


def _trace(text: str, feeling: float, tag: str, most: int = KEYWORD_CHARACTERS) -> str:
    """Keywords in the order of the text, never longer than the text; a clause may be longer than `most`."""
    if not text:
        return text
    plain = _plain(text)
    words = find_keywords(plain, feeling)
    room = min(most, len(text))
    if clause := _turning_clause(plain, feeling):
        told = clause.casefold()
        others = [word for word in words if word.text.casefold() not in told]
        kept = _fit_keywords(_rank_keywords(others), room - len(clause) - 2) if others else []
        shown = [clause, *(word.text for word in sorted(kept, key=lambda word: word.start))]
        return ", ".join(shown) if sum(map(len, shown)) + 2 * len(shown) - 2 <= len(text) else clause
    tagged = tag and not any(word.felt for word in words) and 5 * len(tag) < len(text)
    kept = _fit_keywords(_rank_keywords(words), room - (len(tag) + 2 if tagged else 0))
    shown = [word.text for word in sorted(kept, key=lambda word: word.start)]
    if not shown:
        whole = _Part(0, " ".join(plain.split()) or text, [])
        return _shorten_sentence(whole, most).text
    return ", ".join([*shown, tag] if tagged else shown)


def _turning_clause(plain: str, feeling: float) -> str:
    """The clause with a negation or a direction of the most informative sentence that has one [ruling 42]."""
    for part in _sort_by_weight(_informative_sentences(sentences(plain) or [plain], feeling)):
        if found := _TURNS.search(part.text):
            return _cut_around(part.text, found.start())
    return ""


def _cut_around(sentence: str, at: int) -> str:
    """The clause around a place, with as many clauses before it, then behind it, as fit."""
    cuts = [0, *(found.end() for found in _CLAUSE_END.finditer(sentence)), len(sentence)]
    bounds = sorted({cut for cut in cuts if 0 <= cut <= len(sentence)})
    low = max(n for n, cut in enumerate(bounds[:-1]) if cut <= at)
    high = low + 1
    while low > 0 and _width(sentence[bounds[low - 1] : bounds[high]]) <= CLAUSE:
        low -= 1
    while high < len(bounds) - 1 and _width(sentence[bounds[low] : bounds[high + 1]]) <= CLAUSE:
        high += 1
    clause = sentence[bounds[low] : bounds[high]].strip(_LOOSE_START + _LOOSE_END + "。.!！")
    if _width(clause) <= CLAUSE:
        return clause
    start = max(0, at - bounds[low] - CLAUSE // 3)
    piece = clause[start : start + int(CLAUSE / (1.0 if clause.isascii() else WIDE))]
    if clause.isascii():  # whole words
        piece = piece.partition(" ")[2] if start else piece
        piece = piece.rpartition(" ")[0] if clause[-len(piece) :] != piece else piece
    return piece.strip()


def _rank_keywords(words: Sequence[Keyword]) -> list[Keyword]:
    """The most informative first; verbs and small talk only if nothing else is there."""
    often = Counter(word.text.casefold() for word in words)
    best = [word for word in words if word.weight > VERB] or words
    return sorted(best, key=lambda word: -word.weight * (1 + RETURNS * log(often[word.text.casefold()])))


def _fit_keywords(words: Iterable[Keyword], room: int) -> list[Keyword]:
    """As many words as fit, each once."""
    kept: list[Keyword] = []
    told, alone = "", set[str]()
    for word in words:
        key = word.text.casefold()
        if len(kept) == KEYWORDS:
            break
        # Skip what another keyword contains: 健診結果 contains 健診, but `2016` does not count as `16`.
        if len(word.text) <= room and not (key in alone if key.isascii() else key in told):
            kept.append(word)
            told = f"{told}\n{key}"
            alone.update((key, *key.split()))
            room -= len(word.text) + 2
    return kept
