"""Split text into passages and sentences, detect small talk, and compare texts for duplicates.

Long texts are searched by passage, and a recall shows the best passage instead of the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from nagori.core.value_object import PICTURE, Value, clean_text
from nagori.language.tokenizer import _HAN, _HIRA, _KATA, _MARKS, normalise, tokens

SIZE = 800  # characters: about the best input length of a small embedder
# Each of these counts as about one token; four other characters make one. Two ranges only: a finer
# set takes a hook 3 ms to compile.
_WIDE = "[\u3000-\u9fff\uac00-\uffef]"


def about_tokens(text: str) -> int:
    """A rough token count, a little too high rather than too low."""
    wide = 0 if text.isascii() else len(text) - len(re.sub(f"{_WIDE}+", "", text))
    return wide + (len(text) - wide + 3) // 4


def pieces(text: str, size: int = SIZE) -> list[str]:
    """`text` in pieces of at most `size` characters, cut at paragraphs, else sentences, else words. A text
    that is only a little too long is not cut."""
    if len(text) <= size * 1.3:
        return [text]
    out: list[str] = []
    room = ""
    for part in _parts(text, size):
        if room and len(room) + len(part) > size:
            out.append(room)
            room = ""
        room += part
    return [piece.strip() for piece in (*out, room) if piece.strip()]


def _parts(text: str, size: int) -> Iterator[str]:
    for paragraph in re.split(r"(?<=\n)", text):
        at = 0
        while len(paragraph) - at > size:
            cut = at + _last_end(paragraph[at : at + size])
            yield paragraph[at:cut]
            at = cut
        yield paragraph[at:]


def _last_end(room: str) -> int:
    """The position to cut: the last sentence end, or else the last space, in the second half of the room."""
    window = room[len(room) // 2 :]
    for end in (r"[。！？]|[.!?]\s", r"[、,;；\s]"):
        found = list(re.finditer(end, window))
        if found:
            return len(room) // 2 + found[-1].end()
    return len(room)


# --- sentences -------------------------------------------------------------------------------------


@cache
def _sentence_end() -> re.Pattern[str]:
    # Possessive, and a run of stops is tried from its first one only: hostile text costs linear time.
    close = "[」』）】)\\]\"'”’]*+"
    return re.compile(
        f"[。｡．！？]+{close}(?!(?<=[」』])[とっはがをのにも])"  # 「行く。」と言った is one sentence
        rf"|(?<![.!?])(?P<dot>[.!?]++){close}(?=\s|$|[{_HIRA}{_KATA}{_HAN}])|\n+"
    )


_ABBREVIATION = (
    r"(?:^|[\s(])(?:[A-HJ-Za-z]|[0-9]{1,3}|(?:[A-Za-z]\.)+[A-Za-z]|Mrs?|Ms|Drs?|Prof|St|Jr|Sr|vs|cf|ca|approx|etc|Inc"
    r"|Ltd|Co|Corp|No|Nos|Fig|Figs|Eq|Sec|Vol|pp|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|al)$"
)


def sentences(text: str) -> list[str]:
    """Sentences without surrounding space; numbers, versions, addresses and abbreviations stay whole."""
    out, start = [], 0
    for end in _sentence_end().finditer(text):
        if end["dot"] == "." and _dot_inside(text, start, end.start(), end.end()):
            continue
        out.append(text[start : end.end()].strip())
        start = end.end()
    return [sentence for sentence in (*out, text[start:].strip()) if sentence]


def _dot_inside(text: str, start: int, dot: int, end: int) -> bool:
    """Whether this full stop belongs to `Mr.`, `e.g.` or the `1.` of a list. At the end of the text it never
    does."""
    found = re.search(_ABBREVIATION, text[max(start, dot - 12) : dot])
    if not found or not text[end : end + 20].strip():
        return False
    word = found[0].strip("\n\t (")
    if word.isdigit():
        return not text[start:dot].strip().rstrip("0123456789")
    return word != "No" or text[end : end + 2].strip().isdigit()


# --- extracts --------------------------------------------------------------------------------------

REDUNDANT = 0.5  # maximum share of a sentence's words that were used before


class ScoredSentence(Value):
    """A sentence of many texts: its place in their order, its words and its score."""

    place: int
    text: str
    words: frozenset[str]
    score: float


def choose_sentences(
    found: Iterable[ScoredSentence], tokens: int, count_tokens: Callable[[str], int]
) -> list[str]:
    """The sentences with the highest scores that fit in `tokens`, without redundant ones, in their order."""
    chosen: list[ScoredSentence] = []
    used: set[str] = set()
    for each in sorted(found, key=lambda each: (-each.score, each.place)):
        cost = count_tokens(each.text)
        if cost <= tokens and len(each.words & used) <= REDUNDANT * len(each.words):
            chosen.append(each)
            used |= each.words
            tokens -= cost
    return [each.text for each in sorted(chosen, key=lambda each: each.place)]


# --- small talk -----------------------------------------------------------------------------------
# Words that only keep a conversation going: "ok, go ahead", はい、続けて。 They are not worth remembering
# and are not used for recall.

_SMALLTALK = """
    thanks|thank you|thank|thx|ty|you|ok|okay|k|yes|yep|yeah|yup|no|nope|sure|hi|hello|hey|bye|good
    great|nice|cool|perfect|awesome|excellent|fine|right|exactly|understood|got it|done|go ahead
    go on|go|ahead|continue|proceed|next|please|so|much|very|morning|evening|night|well|and|then|it
    do it|lgtm|ship it|sounds good|looks good|to me|wow|hmm|oh|ah|all|now|again|try
    ありがとうございました|ありがとうございます|ありがとう|どうも|はい|うん|ええ|いいえ|いや
    了解です|了解しました|了解|りょ|承知しました|承知|わかりました|分かりました|わかった|分かった
    なるほど|いいね|いいです|いいよ|すごい|完璧|オーケー|おけ|お願いします|お願い
    よろしくお願いします|よろしく|続けてください|続けて|続き|次|進めてください|進めて|どうぞ
    すみません|ごめん|おはようございます|おはよう|こんにちは|こんばんは|おやすみ|お疲れ様です
    お疲れさま|お疲れ様|お疲れ|助かりました|助かる|です|ます|ね|よ|な|じゃあ|では|それで|大丈夫です
    大丈夫|そう|ですね|やって|やってください|して|もう一度|を|で
"""

_LONGEST_SMALLTALK = 60  # characters: a longer text is not small talk
_LONGEST_PROMPT = 2000  # characters; recall reads no more


@cache
def _smalltalk_phrases() -> dict[str, list[str]]:
    """The listed words by their first letter, longest first. A pattern of all of them would take milliseconds
    to compile in a hook."""
    words = [word.strip() for line in _SMALLTALK.split("\n") for word in line.split("|")]
    phrases: dict[str, list[str]] = {}
    for word in sorted(filter(None, words), key=len, reverse=True):
        phrases.setdefault(word[0], []).append(word)
    return phrases


def is_chatter(text: str) -> bool:
    """Whether a text consists of small talk alone."""
    rest = text.strip().casefold()
    if len(rest) > _LONGEST_SMALLTALK:
        return False
    while rest:
        if not rest[0].isalnum():
            rest = rest[1:]
            continue
        words = _smalltalk_phrases().get(rest[0], ())
        word = next((word for word in words if _begins(rest, word)), None)
        if word is None:
            return False
        rest = rest[len(word) :]
    return True


def _begins(text: str, word: str) -> bool:
    """Whether the text begins with this word, not with a longer one. Japanese has no word boundaries to
    check."""
    after = text[len(word) : len(word) + 1]
    return text.startswith(word) and not (word.isascii() and after.isascii() and after.isalnum())


def prompt_text(prompt: str) -> str:
    """The question in a prompt; "" if there is none. The name of a slash command is dropped, its arguments
    stay."""
    words = clean_text(prompt).strip()
    if words.startswith("/"):
        from nagori.language.host_commands import is_built_in  # rarely needed

        if is_built_in(words):
            return ""
        name, _, rest = words.partition(" ")
        words = rest.strip() if "/" not in name[1:] else words
    return "" if is_chatter(words) else words[:_LONGEST_PROMPT]


# --- duplicates -----------------------------------------------------------------------------------
# Texts are duplicates if nearly all letters, all numbers and all negations agree.

SAME = 0.9  # minimum resemblance of duplicates
_SHINGLE = 4  # characters


Wording = tuple[str, str, int]  # normalised text, its letters and digits, and the number of negations


def read_wording(text: str) -> Wording:
    """What the shingles of a text are made of; no larger than the text."""
    plain = normalise(text)
    letters = _letters(plain)
    return plain, letters, _negations(plain, letters)


def shingles(text: str) -> frozenset[str]:
    """Overlapping pieces of the letters and digits, with numbers and negations weighted up."""
    return shingles_of(read_wording(text))


def shingles_of(wording: Wording) -> frozenset[str]:
    """The shingles of a text.

    A changed number or a "not" changes the statement while few letters change. Each adds marks for a
    sixteenth of the text's length, enough to bring the resemblance below 0.9.
    """
    plain, bare, negations = wording
    pieces = {bare[at : at + _SHINGLE] for at in range(max(1, len(bare) - _SHINGLE + 1))} if bare else {plain}
    numbers = set(re.findall(r"[0-9]+(?:\.[0-9]+)?", bare))
    copies = len(pieces) // 16 + 1 if len(bare) < 4000 and len(numbers) < 32 else 1
    marks = [*numbers, f"not {negations}"]
    return frozenset(pieces.union(f"{mark} #{copy}" for mark in marks for copy in range(copies)))


_SPELT = {"++": "pp", "#": "sharp"}


def _letters(plain: str) -> str:
    """Normalised text without punctuation and spaces, except inside and before numbers."""
    if "," in plain:
        plain = re.sub("(?<=[0-9]),(?=[0-9]{3}(?![0-9]))", "", plain)
    if "+" in plain or "#" in plain:
        plain = re.sub(r"\b([cf])(\+\+|#)", lambda sign: sign[1] + _SPELT[sign[2]], plain)
    gaps = rf"(?:[^\w{PICTURE}{_MARKS}$€£¥%°]|_)+"
    if not any(map(str.isdigit, plain)):
        return re.sub(gaps, "", plain)

    def keep(gap: re.Match[str]) -> str:
        after = plain[gap.end() : gap.end() + 1].isdigit()
        if after and plain[gap.start() - 1 : gap.start()].isdigit():
            return "." if gap[0] == "." else " "
        return "-" if after and gap[0].endswith((" -", " −")) else ""

    return re.sub(gaps, keep, plain)


def _negations(plain: str, bare: str) -> int:
    verbs = "do|does|did|is|are|was|were|ca|wo|could|should|would|has|have|had|must|need"
    english = rf"\b(?:not|no|never|none|without|cannot|(?:{verbs})n['’]?t)\b"
    japanese = () if bare.isascii() else re.findall("な(?:い|く|かった)|ません|ずに", bare)
    return len(re.findall(english, plain)) + len(japanese)


def resemblance(a: frozenset[str], b: frozenset[str]) -> float:
    """Jaccard index of two sets of shingles, 0 to 1."""
    shared = len(a & b)
    every = len(a) + len(b) - shared
    return shared / every if every else 1.0


def alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two texts, given by their shingles, say the same."""
    # Sets of very different size cannot be alike, so most pairs need no further comparison.
    return len(one) * SAME <= len(other) <= len(one) / SAME and resemblance(one, other) >= SAME


FEW_WORDS, LEAST_SHARED = 3, 2


def shares_own_words(words: str, prompt: str, text: str, least_share: float) -> bool:
    """Whether a text uses what `words` say beyond the prompt: at least two of their own words and this share
    of them, or one of a few. What the prompt says itself would be used anyway."""
    own = set(tokens(words)) - set(tokens(prompt))
    shared = len(own.intersection(tokens(text)))
    return shared >= (1 if len(own) <= FEW_WORDS else LEAST_SHARED) and shared >= least_share * len(own)
