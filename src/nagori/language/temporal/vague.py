"""Time expressions without a date: lately, once, the last time, at first, now."""

from __future__ import annotations

import re

from nagori.language.temporal import calendar as s
from nagori.language.temporal.calendar import Asker, Rule, Span, kanji, text_after, text_before, word_before

NOW_WORDS = frozenset(("今", "いま", "現在", "now", "currently", "at the moment", "at present", "right now"))


def _latest(found: re.Match[str], asker: Asker) -> Span:
    return s.LATEST


def _before_last(found: re.Match[str], asker: Asker) -> Span:
    return s.BEFORE_LAST


def _earliest(found: re.Match[str], asker: Asker) -> Span:
    return s.EARLIEST


def _once(found: re.Match[str], asker: Asker) -> Span:
    return s.ONCE


def _just_now(found: re.Match[str], asker: Asker) -> Span:
    return s.lately(asker, 1)


def _recently(found: re.Match[str], asker: Asker) -> Span:
    return s.lately(asker, 90)


def _other_day(found: re.Match[str], asker: Asker) -> Span:
    return s.lately(asker, 60, latest=False)


def _ima(found: re.Match[str], asker: Asker) -> Span | None:
    """今 by itself; 今後, 今度, 昨今 and 今井さん are other words."""
    after = text_after(found)
    if kanji(text_before(found)) or (kanji(after) and after not in "何住使読働飼通"):
        return None
    return s.LATEST


def _apart(found: re.Match[str], asker: Asker) -> Span | None:
    """以前, 昔: not behind a kanji or それ, where they belong to another word."""
    before = text_before(found)
    return None if kanji(before) or before == "れ" else s.ONCE


JAPANESE = (
    Rule("前々回 前前回 前の前", "前[々前]回|前の前の(?:回|とき|時|会議|打ち合わせ|週|日)", _before_last),
    Rule(
        "前回 この前 このまえ 最後に 直近 最新 最終",
        "(?<![前々])前回(?!り)|この(?:前(?![後方面提半])|まえ)|最後に(?![、,])|直近"
        "|最新(?![型鋭作刊])|最終的に(?:は|決|な|どう)",
        _latest,
    ),
    Rule(
        "さっき 先ほど 先程 さきほど たった今 今しがた いましがた 今さっき",
        "(?:つい)?さっき|先ほど|先程|さきほど|たった今|今しがた|いましがた|今さっき",
        _just_now,
    ),
    Rule(
        "今 いま",
        "今(?!まで|から|すぐ|さら|ひとつ|いち|ほど|より|にも|にして|し(?:がた|も)|や(?:$|[、,]))"
        "|(?<![ぁ-んー])いま(?=の|は|、|どこ|なに|[^ぁ-んー])",
        _ima,
    ),
    Rule("現在", "現在(?![地進形完])", _latest),
    Rule(
        "最近 近頃 近ごろ このごろ この頃 ちかごろ ところ ここ",
        "最近|近頃|近ごろ|ちかごろ|(?:今日)?この(?:頃|ごろ)|(?:ここの|この)ところ|ここ最近",
        _recently,
    ),
    Rule(
        "最初 初めて はじめて 初回 当初 元々 もともと",
        "最初(?:に|は|の(?=会話|頃|ころ|時|とき|日|出会))|初めて|はじめて|初回|当初|元々|もともと",
        _earliest,
    ),
    Rule(
        "先日 この間 このあいだ こないだ 先般",
        "先日|この(?:間|あいだ)(?!に|ずっと|中)|こないだ|先般",
        _other_day,
    ),
    Rule(
        "以前 昔 かつて むかし 当時 その頃 その時",
        "以前(?!の問題)|(?<![ぁ-ん])むかし|かつて(?!な)|昔(?![話馴気風]|ながら|なつか)|当時|(?:その|あの)(?:頃|ころ|当時)",
        _apart,
    ),
    Rule(
        "前",
        "(?:^|(?<=[はもがてと、。 !?]))前に(?![進出立座置倒向歩])"
        "|(?:ずっと|だいぶ|けっこう|結構|かなり|少し|ちょっと|しばらく|随分|ずいぶん|大分|もっと)前(?!向)",
        _once,
    ),
)
# What stands before decides: the day before, never before, two days earlier, from now on, for the last time.
_NO_ONCE = (
    "day",
    "days",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
    "hour",
    "hours",
    "minutes",
    "night",
)
_NO_NOW = ("from", "until", "till", "for", "every", "just", "by", "to")


def _before(found: re.Match[str], asker: Asker) -> Span | None:
    return None if word_before(found) in (*_NO_ONCE, "never", "as", "like", "an") else s.ONCE


def _now(found: re.Match[str], asker: Asker) -> Span | None:
    return None if word_before(found) in _NO_NOW or text_before(found) in tuple("-._/") else s.LATEST


ENGLISH = (
    Rule(
        "before last but one second",
        r"\btime before last\b|\b(?:last but one|second[- ]to[- ]last|second last|penultimate)\b"
        r"|\b(?:meeting|session|call|chat|visit|conversation) before (?:the )?last\b",
        _before_last,
    ),
    Rule(
        "last recent latest previous",
        r"(?<!for the )\blast time\b(?! but)|\bmost recent(?:ly)?\b|(?<!at the )\blatest\b"
        r"|\bprevious (?:time|session|chat|meeting|call|conversation|visit|discussion)\b"
        r"|\b(?:our|my|the|your) last (?:conversation|chat|session|talk|meeting|call|visit|discussion)\b"
        r"|\b(?:i|we|you|he|she|they|it|was) last (?=[a-z]+)(?!name|long|until|for\b|and\b|a\b|to\b)",
        _latest,
    ),
    Rule("currently moment present", r"\b(?:currently|at the moment|at present)\b", _latest),
    Rule(
        "now",
        r"\b(?:right )?now\b(?![-._/(,=]\w|[(,=]| that\b| and then| on\b| let| and again)",
        _now,
    ),
    Rule(
        "these days nowadays lately recently",
        r"\b(?:these days|nowadays|lately|recently|as of late)\b",
        _recently,
    ),
    Rule(
        "first original initial beginning",
        r"\bfirst time\b|\boriginally\b|\binitially\b|\bat first\b(?! glance| sight)"
        r"|\bin the beginning\b(?! of)|\b(?:i|we|you|he|she|they) first (?=[a-z])|\bthe very first\b",
        _earliest,
    ),
    Rule("just moment", r"\bjust now\b|\ba moment ago\b|\bmoments ago\b", _just_now),
    Rule("other", r"\bthe other (?:day|night|week|evening|morning)\b", _other_day),
    Rule(
        "ago _back",
        r"(?<!\d )\b(?:a (?:long |little |short )?(?:while|time)|some ?time|(?:not )?(?:so |too |that )?long"
        r"|ages|years|months|weeks|days|decades|many (?:years|moons)) (?:ago|back(?! to))\b",
        _once,
    ),
    Rule(
        "before earlier",
        r"\b(?:before|earlier)(?=[?.!,;)]|$)"
        r"|\b(?:mentioned|said|discussed|told you|talked) (?:earlier|before)\b(?! [a-z])",
        _before,
    ),
    Rule(
        "in_the_past previously formerly back_then old_days",
        r"\bin the past\b(?! (?:\w+ )?(?:minute|hour|day|week|month|year|decade)s?\b)"
        r"|\bpreviously\b|\bformerly\b|\bback then\b|\bin the old days\b",
        _once,
    ),
)
RULES = JAPANESE + ENGLISH
