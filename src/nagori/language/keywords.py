"""Find the keywords of a text and their weights: names, numbers with units, dates, identifiers, terms,
emotions.

It is one pass with one pattern, because a cycle reads tens of thousands of texts.

    Moved the API to port 8080 on May 3  ->  moved · API · port · 8080 · May 3
    莉子ちゃんは11月3日に京都へ行かない      ->  莉子ちゃん · 11月3日 · 京都 · 行かない
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from math import log

from nagori.language.lexicon import Feeling, japanese_words
from nagori.language.lexicon.english_emotion_rules import look_up
from nagori.language.tokenizer import STOP_WORDS, normalise, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Match: TypeAlias = re.Match[str]

NAME, AMOUNT, DAY, NOUN, WORD, VERB, TALK = 2.0, 3.0, 1.6, 1.0, 0.7, 0.5, 0.1
FELT = 0.4  # minimum strength of an emotion word
FEELING = 0.5  # maximum bonus of an emotion word
RETURNS = 0.4  # bonus of a repeated word
LONGEST_NAME = 40  # maximum characters of a joined name; longer ones are headings
_HIRA = "\u3041-\u3096"
_KATA = "\u30a1-\u30fa"
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af々〆〇ヶヵ"
_LATIN = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1effＡ-Ｚａ-ｚ"
_DIGIT = "0-9０-９"
_MONTH = (
    "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?"
)
_UNIT = (
    "(?:[年月日時分秒週歳才円人回個本枚台件点度階匹杯冊泊名割倍組号番代位畳話巻頭着足通食][間目前後半]?"
    f"|[十百千万億兆]|[月火水木金土日]曜日?|[ヶか]月間?|丁目|[{_KATA}][{_KATA}ー]{{1,7}}|[%％℃])"
)
_TIME = "[LlNn](?:ast|ext) (?:week(?:end)?|month|year|night|spring|summer|fall|autumn|winter|[A-Z][a-z]+day)"
_NUMBER = f"[{_DIGIT}]+(?:[.,:/-][{_DIGIT}]+)*"
_YEAR = f"(?:,? [0-9]{{4}})?(?![0-9{_LATIN}])"
_PATTERN = (
    "(?=[^ ,\n、。])(?:"  # no word begins with these, and most of what stands between words is one of them
    rf"(?P<date>(?=[JFMASOND]){_MONTH}\.? [0-9]{{1,2}}(?:st|nd|rd|th)?{_YEAR}"
    rf"|[0-9]{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}{_YEAR})"
    rf"|(?P<day>{_TIME})"
    rf"|(?P<amount>[$€£¥￥#第]?{_NUMBER}"
    rf"(?:{_UNIT}+(?:{_NUMBER}{_UNIT}+)*"
    rf"|[./:-]?[{_LATIN}_][{_LATIN}{_DIGIT}_]*(?:[./:-][{_LATIN}{_DIGIT}_]+)*|%)?"
    rf"(?: ?°[CF]?| [A-Za-z]+(?![{_LATIN}{_DIGIT}_/@:-]|\.[{_LATIN}{_DIGIT}]))?)"
    rf"|(?P<latin>(?:[~.]{{0,2}}/|--?|@)?[{_LATIN}_][{_LATIN}{_DIGIT}_]*"
    rf"(?:(?:[./@'’~&=?%+#-]|:/{{2}}|:+)[{_LATIN}{_DIGIT}_]+)*(?:\+\+|\#|\(\))?)"
    "|(?P<quoted>(?<=[「『])[^「」『』、。！？!?\n]{2,15}(?=[」』]))"
    f"|(?P<kata>[{_KATA}][{_KATA}ー]+(?:[・=][{_KATA}][{_KATA}ー]+)*[{_HAN}]{{0,4}}(?:さん|くん|ちゃん)?)"
    f"|(?P<denied>[{_HAN}]{{1,4}}[{_HIRA}]{{0,3}}?(?:なかった|ない|ません))"
    f"|(?P<han>[{_HAN}]{{2,6}}(?:さん|くん|ちゃん|さま)?|[{_HAN}](?:さん|くん|ちゃん))"
    f"|(?P<one>[{_HAN}](?=[はがをにとのへもで{_KATA}]|\\W|$))"
    f"|(?P<verb>[{_HAN}][{_HIRA}]{{1,3}})"
    f"|(?<![{_HAN}{_HIRA}])(?P<kana>[{_HIRA}][{_HIRA}ー]{{1,7}}?)(?=[はがをにと]|\\W|$)"
    f"|(?P<other>[^\\W\\d_{_HIRA}\u30a0-\u30ff{_HAN}]{{2,}}))"
)
_WEIGHTS = {"date": AMOUNT, "amount": AMOUNT, "quoted": NAME, "kata": NAME, "denied": NAME, "han": NAME}
_WEIGHTS |= {"day": DAY, "one": NOUN, "verb": VERB, "kana": VERB, "other": WORD}

_COMMON = """
    able actually amazing awesome best better big bye check cool course day definitely exactly feel feeling
    find fine first fun go goes going gonna good great guess guys haha happen happened hear hello
    help hey hi idea important interesting keep kind know last let lol long look looking looks lot lots
    made make makes making mean need needs new next nice oh ok okay old one ones part people person
    pretty put right said say says see seen seem seems sound sounds start started stuff super sure take
    taking talk thank thanks think thinking thought time times today took totally try trying use used using
    want wanted wants way well went will wish wonderful wow work working works yeah yep year years yup
    certainly absolutely asking sharing like per another especially incredible following example
    step overview provide ensure include including
"""
_VITAL = """
    allergic allergy allergies asthma diabetes diabetic pregnant medication diagnosed surgery vegetarian vegan
    deadline birthday anniversary married divorced died
"""
_SMALL = """
    本当 今回 場合 自分 一緒 必要 可能 普通 全部 確認 大丈夫 結局 一応 多分 絶対 全然 実際 部分 状態
    以上 以下 感じ 時間 最近 何か 最高 笑 私 僕 俺 君 事 物 時 方 人 何 誰 今 前 後 中 上 下 達
"""
_FILLING = """
    これ それ あれ どれ ここ そこ どこ こと もの ため とき よう そう ほう ところ わけ はず みんな
    まだ もう でも だから そして しかし ちょっと とても すごく やっぱり ほんと なんか ちなみに もっと ずっと
    きっと たぶん ありがとう おめでとう すごい いいね いいな なるほど よかった そっか また まあ あと
    うん ええ はい いいえ おお へえ わあ うわ えっ えー たしかに こんにちは おはよう こんばんは よろしく
    ください です ます
"""
_DAYS = """
    yesterday tomorrow tonight monday tuesday wednesday thursday friday saturday sunday weekend january
    february march april june july august september october november december two three four five six seven
    eight nine ten eleven twelve dozen hundred thousand half twice
    今日 昨日 明日 今朝 今夜 昨夜 一昨日 明後日 今週 先週 来週 再来週 今月 先月 来月 今年 去年
    昨年 来年 週末 月曜 火曜 水曜 木曜 金曜 土曜 日曜 おととい あさって きのう あした
"""
_SAID = dict.fromkeys((*_COMMON.split(), *_SMALL.split(), *_FILLING.split()), TALK)
_SAID |= dict.fromkeys(_DAYS.split(), DAY) | dict.fromkeys(_VITAL.split(), NAME)
_DENIES = frozenset(("not", "never", "no", "without", "cannot"))
_GREETS = re.compile(r"\b(?:hey|hi|hello|thanks|thank you|wow|yeah|congrats|bye),? $", re.IGNORECASE)
_PLAIN = re.compile("[a-z]+(?:[-'’][a-z]+)*")
_OPENS = frozenset('\n.!?:;"“(「。！？•*>')  # after these a capital is normal
_ENDINGS = {
    "か": ("った",),
    "ん": ("でいた", "でいる", "だ", "で"),
    "っ": ("た", "て"),
    "し": ("い", "た", "て"),
}


class Keyword:
    """One word as written; `weight` is the loss without it. Created for every word of every text, so it is
    not a Value, which is five times slower."""

    __slots__ = ("end", "felt", "start", "text", "weight")

    def __init__(self, text: str, start: int, weight: float, felt: bool = False) -> None:
        self.text, self.start, self.end, self.weight, self.felt = text, start, start + len(text), weight, felt


@cache
def _pattern() -> re.Pattern[str]:
    """Compiled on first use, so that a hook that only recalls does not pay for it."""
    return re.compile(_PATTERN)


def find_keywords(text: str, feeling: float = 0.0) -> list[Keyword]:
    """The words with weights, in order. `feeling`, 0 to 1, is the weight of emotion words."""
    found: list[Keyword] = []
    denial = None
    for match in _pattern().finditer(text):
        group = match.lastgroup or ""
        if group == "latin":
            denial = _take_latin(found, match, denial, feeling)
        else:
            word = _parse_amount(match[0]) if group == "amount" else match[0]
            found.append(Keyword(word, match.start(), _SAID.get(word, _WEIGHTS[group])))
    return _with_feelings(found, text, feeling) if feeling and not text.isascii() else found


LEAST_CONCEPT = WORD  # weight from which a keyword is a concept


def find_concepts(text: str) -> dict[str, tuple[float, str]]:
    """The concepts that a text mentions: their names, as the index has them, with a weight and the word as
    written. English words count by their stem, so that books and book are one concept."""
    found: dict[str, tuple[float, str]] = {}
    for keyword in find_keywords(text):
        if keyword.weight < LEAST_CONCEPT:
            continue
        for name, written in _concept_names(keyword.text):
            if len(name) > 1 and keyword.weight > found.get(name, (0.0, ""))[0]:
                found[name] = (keyword.weight, written)
    return found


def _concept_names(word: str) -> list[tuple[str, str]]:
    """(name, as written) of a keyword: its parts in English, the whole in other scripts."""
    if not word.isascii():
        return [(normalise(word)[:LONGEST_NAME], word)]
    return [
        (token, part) for part in word.split() for surface, token in words(part) if surface not in STOP_WORDS
    ]


def sum_weights(weights: Mapping[str, float], often: Mapping[str, int]) -> float:
    """The weight of a sentence: that of its words, more for those that the text `often` repeats."""
    return sum(weight * (1 + RETURNS * log(often[word])) for word, weight in weights.items())


def _parse_amount(amount: str) -> str:
    """A number with its unit: `4 weeks`; the number alone for `29 and`."""
    number, owner, unit = amount.rpartition(" ")
    return number if owner and unit.casefold() in STOP_WORDS else amount


def _take_latin(found: list[Keyword], match: Match, denial: Match | None, feeling: float) -> Match | None:
    """Add one Latin word together with the name or negation before it; returns a negation that is still
    open."""
    word, weight = _latin(match[0])
    if weight <= 0:
        return match if weight else None
    start = match.start()
    if weight == NAME and word.isalpha() and word[1:].islower():  # a name, or the start of a sentence
        if _GREETS.search(match.string, max(0, start - 8), start):
            weight = TALK
        elif _opens(match.string, start):
            weight = _SAID.get(word.casefold(), WORD)
        elif _continues(found, match.string, start):
            found[-1] = Keyword(match.string[found[-1].start : start + len(word)], found[-1].start, NAME)
            return None
    felt = bool(feeling) and TALK < weight < NAME and _is_strong(word.casefold())
    if denial and weight <= WORD and match.string[denial.end() : start] == " ":
        word, start = match.string[denial.start() : start + len(word)], denial.start()
    found.append(Keyword(word, start, weight + FEELING * feeling if felt else weight, felt))
    return None


def _is_strong(word: str) -> bool:
    feeling = look_up(word)
    return feeling is not None and abs(feeling.valence) >= FELT


@lru_cache(1 << 14)  # words repeat
def _latin(word: str) -> tuple[str, float]:
    """A word without surrounding marks, and its weight: 0 for stop words, negative for negations."""
    word = re.sub("['’](?:s|re|ll|ve|d|m)$", "", word)
    low = word.casefold()
    if low in _DENIES or low.endswith(("n't", "n’t")):
        return word, -1.0
    if low in _SAID and not (_SAID[low] == TALK and word.istitle()):  # New York
        return word, _SAID[low]
    if len(word) < 2 or re.sub("['’]", "", low) in STOP_WORDS:
        return word, 0.0
    if _PLAIN.fullmatch(word):
        return word, WORD if len(word) > 2 else TALK
    return word, NAME


def _opens(text: str, start: int) -> bool:
    before = text[max(0, start - 3) : start].rstrip(" ")
    return not before or before[-1] in _OPENS


def _continues(found: list[Keyword], text: str, start: int) -> bool:
    """Whether the name before continues here: `New York`, `Ana Ruiz`."""
    last = found[-1] if found else None
    if last is None or last.end != start - 1 or text[start - 1] != " ":
        return False
    return last.weight == NAME and len(last.text) < LONGEST_NAME and last.text.replace(" ", "").isalpha()


def _with_feelings(found: list[Keyword], text: str, feeling: float) -> list[Keyword]:
    """The list with Japanese emotion words added; words that are part of one are merged into it."""
    felt = [
        Keyword(text[start:end], start, WORD + FEELING * feeling, True) for start, end in _feeling_spans(text)
    ]
    covered = {at for word in felt for at in range(word.start, word.end)}
    kept = [word for word in found if word.start not in covered or word.weight > NAME]
    return sorted((*kept, *felt), key=lambda word: word.start)


def _feeling_spans(text: str) -> Iterator[tuple[int, int]]:
    """The positions of listed emotion words with their endings: 嬉しか(った), 喜ん(で)."""
    table, lengths = japanese_words()
    end = 0
    for at, char in enumerate(text):
        for size in lengths.get(char, ()) if at >= end else ():
            form = text[at : at + size]
            if size > 1 and form in table and _is_feeling(*table[form], text[at - 1 : at]):
                end = at + size
                end += next(
                    (len(more) for more in _ENDINGS.get(form[-1], ()) if text.startswith(more, end)), 0
                )
                yield at, end
                break


def _is_feeling(feeling: Feeling, mark: str, before: str) -> bool:
    """Whether an emotion word is strong enough and not the end of another word."""
    return abs(feeling.valence) >= FELT and not ("^" in mark and "ぁ" <= before <= "ん")
