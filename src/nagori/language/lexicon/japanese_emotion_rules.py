"""Emotion words in Japanese sentences: conjugation, negation, degree, contrast, favours.

There is no dictionary of the whole language. A word is found by its listed forms, longest first. The kana
after it show whether it is negated, desired or supposed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache
from itertools import accumulate

from nagori.language.lexicon import Feeling, FeelingHit, japanese_words, read_feelings

_KANA = "ぁ-んー"
# After which characters a word written in kana may begin.
_OPENERS = frozenset("はがもをにでとのくねやへ")
_NOT = "(?:な(?:い|く|かっ|けれ|さそう|し(?=[。、!]|$))|ませ[んぬ]|ず(?!つ)|ねえ|ねぇ|ぬ(?=[。、]|$))"
# かもしれない, に違いない, てたまらない, じゃないか hold a ない that denies nothing.
_NO_DENIAL = (
    "かもしれ|に違いな|にちがいな|に相違な|たまらな|仕方な|しょうがな|すぎ|ずっと"
    "|じゃないか|ではないか|だけでな|のみなら"
)
# 楽しめ|ません, 満足|とは言え|ない, 快適|では|なかった
_VERB_DENIED = (
    f"(?!.{{0,6}}?(?:{_NO_DENIAL}))[{_KANA}]{{0,2}}?(?:と|って|に)?(?:は|も|が|を|では|じゃ|とは|とも)?"
    "(?:言え|思え|思い|思わ|感じ|感じられ|出来|でき|なり|なら|いえ|し|あり|れ|られ|い|か|く|め|け|せ)?"
    f"[はもが]?{_NOT}"
)
# 不満|な点は特にありません, ストレス|はほとんど感じません, 清潔感|に欠ける
_NOUN_DENIED = (
    "(?:な|の)?(?:点|ところ|所|こと|事|部分|感じ)?[はもがを]?"
    "(?:特に|全く|まったく|一切|全然|別に|何も|ほとんど|殆ど|あまり|そこまで|それほど)?"
    "(?:あり|し|感じ|感じられ|感じること[はも]?|でき|出来)?"
    f"(?:{_NOT}|無[いくかし])|感?[にが](?:欠け|乏し|足り)"
)
_DENIED = re.compile(f"{_VERB_DENIED}|{_NOUN_DENIED}")
# 美味しくなくはない, 嫌いなわけではない: a little of it is left.
_DOUBLE = re.compile(f"[{_KANA}]{{0,4}}?な(?:く(?:は|も)|いわけ(?:では|じゃ)|いこと(?:は|も))な(?:い|かっ)")
_SUPPOSED = re.compile(
    f"[{_KANA}]{{0,3}}?(?:ければ|けりゃ|なら(?!な)|たら|だったら|かと|かどうか|かは|かも"
    "|はず(?:だった|なの)|べき|の(?:では|かな|かも))"
)
# もう少し広ければ|よかった: what would have been good was not.
_WISHED = re.compile(
    "(?:ば|ると|だと|たら|なら|ほうが|方が)"
    "(?:なお|尚|もっと|更に|さらに|より|とても|本当に|一層|もう少し)?、?(?:もっと|更に|さらに)?$"
)
_EVALUATIVE = re.compile("よ|良|い|嬉|うれ|助|最高|あり|有|完|満足|満点|便利|快適|素|す|楽|文句|申し")
_STRONG = re.compile(
    "(?:とても|とっても|すごく|凄く|すっごく|ものすごく|物凄く|非常に|大変|たいへん|本当に|ほんとに"
    "|ほんとうに|めちゃくちゃ|めっちゃ|メチャ|めちゃ|超|極めて|かなり|最も|一番|いちばん|心から|心より"
    "|絶対に?|マジで|まじで|あまりに|あまりにも|ひどく|実に|誠に|まことに|どれも|全て|すべて|死ぬほど"
    "|なんて|なんと|こんなに)[も、]?$"
)
_WEAK = re.compile(
    "(?:少し|すこし|ちょっと|やや|若干|多少|いささか|まあ|まぁ|比較的|割と|わりと|なんとなく"
    "|どちらかといえば)(?:だけ)?$"
)
_CONTRAST = re.compile(
    "(?<=[いたるうくすだでん])(?:が、|が(?=[ぁ-ん一-龠ァ-ヶ])(?<=[すただい]が)|けど|けれど|のに(?!は)|ものの)"
    "|(?:^|[、。])(?:しかし|ただ|でも|だけど|とはいえ|だが|ところが)|にもかかわらず"
)
_TRAILING = re.compile("(?<=[いたるすだ])(?:が|けど|けれど|けれども|のに)(?:ね|な|も)?[。、.…‥・ !]*$")


@cache
def _cues() -> tuple[tuple[Feeling, re.Pattern[str]], ...]:
    return tuple((feeling, re.compile(pattern)) for feeling, pattern in read_feelings("grammar"))


def read(text: str) -> list[FeelingHit]:
    """The emotion words of one sentence, then the emotion in its grammar."""
    hits = [_in_context(text, *found) for found in _words(text)]
    starts = [hit.start for hit in hits]  # in rising order
    reach = list(accumulate((hit.end for hit in hits), max, initial=0))  # of the first so many
    for feeling, pattern in _cues():
        hits += [
            FeelingHit(feeling, feeling.valence, *found.span())
            for found in pattern.finditer(text)
            if reach[bisect_left(starts, found.end())] <= found.start()
        ]
    return _weigh_clauses(text, hits)


def _words(text: str) -> list[tuple[Feeling, str, int, int]]:
    """(feeling, mark, start, end) of every word, the longest at each place."""
    table, lengths = japanese_words()
    found, at = [], 0
    while at < len(text):
        for size in lengths.get(text[at], ()):
            form = text[at : at + size]
            if form in table and _stands(text, form, at, "^" in table[form][1]):
                found.append((*table[form], at, at + len(form)))
                at += size - 1
                break
        at += 1
    return found


def _stands(text: str, form: str, at: int, initial: bool) -> bool:
    """Whether this is a word of its own, not the middle of another one."""
    before, after = text[max(0, at - 1) : at], text[at + len(form) : at + len(form) + 1]
    if _is_katakana(form[0]):
        return not _is_katakana(before)
    if len(form) == 1 and _is_kanji(form):
        return not _is_kanji(before) and not _is_kanji(after)
    return not initial or not ("ぁ" <= before <= "ん") or before in _OPENERS


def _is_katakana(char: str) -> bool:
    return "ァ" <= char <= "ヶ" or char == "ー"


def _is_kanji(char: str) -> bool:
    return "一" <= char <= "龠"


def _in_context(text: str, feeling: Feeling, mark: str, start: int, end: int) -> FeelingHit:
    """One word with degree words before it and negation or supposition after it."""
    before, after = text[max(0, start - 12) : start], text[end : end + 24]
    valence, denial = _apply_negation(feeling.valence * _degree(before), mark, after)
    if valence > 0 and _EVALUATIVE.match(text, start) and _WISHED.search(before):
        valence *= -0.7
    elif _SUPPOSED.match(after) or _SUPPOSED.match(text[end - 1] + after):
        valence *= 0.4
    # A negation is used once: it does not count again as something missing.
    return FeelingHit(feeling, valence, start, end + 8 * bool(denial), denial == "plain")


def _degree(before: str) -> float:
    if _STRONG.search(before):
        return 1.3
    return 0.7 if _WEAK.search(before) else 1.0


def _apply_negation(valence: float, mark: str, after: str) -> tuple[float, str]:
    """The valence after negation, and which negation it was: "not good" is bad, "not bad" tolerable."""
    if _DOUBLE.match(after):
        return valence * 0.4, "double"
    if "!" not in mark and _DENIED.match(after):
        return valence * (-0.7 if valence > 0 else -0.5), "plain"
    return valence, ""


def _weigh_clauses(text: str, hits: list[FeelingHit]) -> list[FeelingHit]:
    """Words before が、 or けど count half; a sentence that ends with them implies a complaint."""
    ends = [found.start() for found in _CONTRAST.finditer(text)]
    trailing = _TRAILING.search(text)
    if trailing:
        ends = [end for end in ends if end < trailing.start()]
        hits = [hit.times(-0.3) if hit.valence > 0 else hit for hit in hits]
    return [hit.times(0.5) if ends and hit.start < ends[-1] else hit for hit in hits]
