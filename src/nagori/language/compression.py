"""What is left of a memory when it fades: its most telling sentences, then its keywords [E6, ruling 37].

    full     everything that was said
    summary  one or two of its own sentences, at most about LONGEST characters   (`compress_to_summary`)
    trace    its keywords: names, numbers with units, identifiers, feelings      (`compress_to_trace`)

No language model is asked, so nothing is put in other words and nothing is invented: every word was there.
Trigger and content fade by the same rule. What is a summary already stays as it is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from functools import cache
from math import log, pow

from nagori.core.model import Emotion, Kind, Text, Valence
from nagori.core.values import Value
from nagori.language.keywords import TALK, VERB, Keyword, find_keywords
from nagori.language.lexicon import Bilingual, cue
from nagori.language.passages import sentences
from nagori.language.tokenizer import asks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONGEST = 200  # width of a summary; a text of so few sentences and so much width is one already
SHORTEST = 115  # a summary may be as wide as this, however short the text
SHARE = 0.29  # of the text's width, between the two
WIDE = 1.5  # width of a Japanese character: it says more than a Latin letter
SENTENCES = 2
KEYWORDS, KEYWORD_CHARACTERS = 11, 120
DECIDES, ASKS, CODE, FIRST = 1.4, 0.7, 0.3, 1.3  # what a sentence's worth is multiplied with
RETURNS = 0.4  # a word that comes up again tells more
DENSITY = 0.3  # 0: the longest sentence tells most, 1: the densest

_SPACES = re.compile(r"[^\S\n]+")
_MARKUP = re.compile(r"^ ?(?:(?:[#>•*-]+|[0-9]{1,2}[.)]) )+|^`{3}.*$|^[-=_*#|: ]+$", re.MULTILINE)
_BOLD = re.compile(r"(?:(?<=[\s(])|^)\*\*(?=[^\s*])([^*\n]+)(?<=\S)\*\*(?=[:,.;)]?(?:\s|$))", re.MULTILINE)
_NARROW_ENDS = re.compile(r"[.!?][\"'”’)\]]*$")
_WIDE_ENDS = re.compile(r"[。｡．！？][」』）】]*$")
_CLAUSE_END = re.compile(r"[、，；;—–]+\s*|,\s+(?!\d)|:\s+|\s[-/(]\s?|\s(?=\()")
# Words end at spaces; in Japanese, at a particle after a noun, never inside 引っ越し.
_WORD_END = re.compile(r"\s+|(?<=を)(?=[^ぁ-ん])|(?<=[一-龠ァ-ヶーA-Za-z0-9」』][はがにでと])(?=[^ぁ-ん])")
_SIGNS = re.compile(r"[(){}\[\]=;<>|\\_$\"]")
_LOOSE_START = " 、，,；;—–"
_LOOSE_END = " 、，,；;—–:：-/("
_JOINING = re.compile(r"^(?:and|but|so|or|because|which) ", re.IGNORECASE)


class _Part(Value):
    """A sentence and its telling words."""

    place: int
    text: str
    words: list[Keyword]
    cut: bool = False


def compress_to_summary(text: Text, emotion: Emotion) -> Text:
    """Level 2: one or two sentences of each half [E6]."""
    feeling = _feeling_weight(emotion)
    return Text(_summary(text.trigger, feeling), _summary(text.content, feeling))


def compress_to_trace(text: Text, emotion: Emotion) -> Text:
    """Level 3: the keywords of each half, from the full text or from its summary [E6]. A feeling that no
    word tells is named by its tag, once."""
    feeling = _feeling_weight(emotion)
    tag = emotion.tags[0] if emotion.tags else ""
    trigger = _trace(text.trigger, feeling, "" if text.content.strip() else tag)
    return Text(trigger, _trace(text.content, feeling, tag))


def _feeling_weight(emotion: Emotion) -> float:
    """How much words of feeling weigh: nothing in a text that was not felt."""
    if not emotion.tags and emotion.valence is Valence.NEUTRAL:
        return 0.0
    return emotion.intensity / 100


def _width(text: str) -> float:
    """About how much room a text takes in a reader's head."""
    return len(text) if text.isascii() else sum(WIDE if char > "\u2e80" else 1.0 for char in text)


# ── summary ──────────────────────────────────────────────────────────────────────────────────────────


def _summary(text: str, feeling: float) -> str:
    """What was cut is looked at once more, so that a summary of a summary is the summary itself."""
    if not text:
        return text
    short, final = _once(text, feeling)
    while len(short) < len(text) and not final:
        text = short
        short, final = _once(text, feeling)
    return short


def _once(text: str, feeling: float) -> tuple[str, bool]:
    """A shorter text, and whether looking at it again is known to change nothing."""
    plain = _plain(text)
    found = sentences(plain) or [text]
    parts = _select_sentences(found, _width(plain), feeling)
    whole = not any(part.cut for part in parts)
    short = plain if whole and len(parts) == len(found) else _join_sentences([part.text for part in parts])
    short = short.strip() or text
    return short, whole and _plain(short) == short


def _select_sentences(found: Sequence[str], width: float, feeling: float) -> list[_Part]:
    """The sentences that are left of `found`."""
    if len(found) == 1 and width <= LONGEST:
        return [_Part(0, found[0], [])]
    parts = _informative_sentences(found, feeling)
    if len(parts) <= SENTENCES and width <= LONGEST:
        return parts
    return _choose_parts(_sort_by_weight(parts), min(LONGEST, max(SHORTEST, SHARE * width)))


def _plain(text: str) -> str:
    """Without marks of lists, headings and bold letters, unless there is nothing else."""
    plain = _BOLD.sub(r"\1", _MARKUP.sub("", _SPACES.sub(" ", text)))
    return plain if plain.strip() else text


def _informative_sentences(found: Sequence[str], feeling: float) -> list[_Part]:
    """The sentences that say something, or all if none does."""
    parts = [_Part(place, sentence, find_keywords(sentence, feeling)) for place, sentence in enumerate(found)]
    return [part for part in parts if any(word.weight > TALK for word in part.words)] or parts


def _sort_by_weight(parts: Sequence[_Part]) -> list[_Part]:
    """The most telling first."""
    often = Counter(word.text.casefold() for part in parts for word in part.words)
    return sorted(parts, key=lambda part: (-_worth(part, often), part.place))


def _worth(part: _Part, often: Counter[str]) -> float:
    """How much its words tell, for its length; what decides or teaches tells more, a question less."""
    distinct = {word.text.casefold(): word.weight for word in part.words}
    total = sum(weight * (1 + RETURNS * log(often[word])) for word, weight in distinct.items())
    if _decisive().occurs(part.text):
        total *= DECIDES
    if asks(part.text):
        total *= ASKS
    if len(_SIGNS.findall(part.text)) * 10 > len(part.text):
        total *= CODE
    return total * (1.0 if part.place else FIRST) / pow(_width(part.text) + 20, DENSITY)


@cache
def _decisive() -> Bilingual:
    """Words of decisions, lessons and facts as one pattern."""
    cues = [cue(kind) for kind in (Kind.DECISION, Kind.LESSON, Kind.FACT)]
    return Bilingual(
        *("|".join(getattr(each, name).pattern for each in cues) for name in ("english", "japanese"))
    )


def _choose_parts(parts: Sequence[_Part], room: float) -> list[_Part]:
    """The first of `parts`, cut to fit, and the next that has room beside it, in the order of the text."""
    best = _shorten_sentence(parts[0], room)
    room -= _width(best.text) + 1
    second = next((part for part in parts[1:] if _width(part.text) <= room), None)
    return sorted((best, second), key=lambda part: part.place) if second else [best]


def _join_sentences(kept: Sequence[str]) -> str:
    """Sentences as one text that can be cut into the same sentences again."""
    if len(kept) == 1:
        return kept[0]
    first = kept[0]
    between = "" if _WIDE_ENDS.search(first) else " " if _NARROW_ENDS.search(first) else "\n"
    text = between.join(kept)
    return text if between == "\n" or sentences(text) == list(kept) else "\n".join(kept)


# ── cutting ──────────────────────────────────────────────────────────────────────────────────────────


def _shorten_sentence(part: _Part, room: float) -> _Part:
    """The sentence cut at clauses, else between words, around its most telling place."""
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
    """Where it may be cut: never inside a telling word, be it `May 3, 2024`."""
    inside = {at for word in part.words for at in range(word.start + 1, word.end)}
    cuts = (found.end() for found in ends.finditer(part.text, start, end))
    return [start, *(at for at in cuts if start < at < end and at not in inside), end]


def _run(part: _Part, bounds: Sequence[int], room: float) -> tuple[int, int]:
    """The most telling piece and as many of its neighbours as there is room for, the more telling first."""
    worth = [0.0] * (len(bounds) - 1)
    for word in part.words:
        if bounds[0] <= word.start < bounds[-1]:  # pragma: no branch - rarely a word stands outside
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
    """The pieces just outside `low` to `high`, the more telling first."""
    near = [at for at in (high, low - 1) if 0 <= at < len(worth)]
    return sorted(near, key=lambda at: -worth[at])


# ── trace ────────────────────────────────────────────────────────────────────────────────────────────


def _trace(text: str, feeling: float, tag: str) -> str:
    """Keywords in the order in which they were said, never longer than what they stand for."""
    if not text:
        return text
    plain = _plain(text)
    words = find_keywords(plain, feeling)
    room = min(KEYWORD_CHARACTERS, len(text))
    tagged = tag and not any(word.felt for word in words) and 5 * len(tag) < room
    kept = _fit_keywords(_rank_keywords(words), room - (len(tag) + 2 if tagged else 0))
    shown = [word.text for word in sorted(kept, key=lambda word: word.start)]
    if not shown:
        whole = _Part(0, " ".join(plain.split()) or text, [])
        return _shorten_sentence(whole, KEYWORD_CHARACTERS).text
    return ", ".join([*shown, tag] if tagged else shown)


def _rank_keywords(words: Sequence[Keyword]) -> list[Keyword]:
    """The most telling first; verbs and small talk only when there is nothing else."""
    often = Counter(word.text.casefold() for word in words)
    best = [word for word in words if word.weight > VERB] or words
    return sorted(best, key=lambda word: -word.weight * (1 + RETURNS * log(often[word.text.casefold()])))


def _fit_keywords(words: Iterable[Keyword], room: int) -> list[Keyword]:
    """As many as there is room for, each told once."""
    kept: list[Keyword] = []
    told, alone = "", set[str]()
    for word in words:
        key = word.text.casefold()
        if len(kept) == KEYWORDS:
            break
        # Is it part of another keyword? `16` is not told by `2016`, but 健診 is by 健診結果.
        if len(word.text) <= room and not (key in alone if key.isascii() else key in told):
            kept.append(word)
            told = f"{told}\n{key}"
            alone.update((key, *key.split()))
            room -= len(word.text) + 2
    return kept
