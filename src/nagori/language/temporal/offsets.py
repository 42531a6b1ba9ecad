"""Time distances from now in both languages: 三日前, two weeks ago, in 3 days, ここ一年."""

from __future__ import annotations

import re

from nagori.language.temporal import calendar as s
from nagori.language.temporal.calendar import Asker, Rule, Span, kanji, text_after, text_before, word_before

# ── Japanese ─────────────────────────────────────────────────────────────────────────────────────────

JA_NUMBER = "(?:[0-9]{1,4}|[〇一二三四五六七八九十百千]{1,7})"
_DIGITS = {char: value for value, char in enumerate("〇一二三四五六七八九")}
_TENS = {"十": 10, "百": 100, "千": 1000}
_JA_UNITS = {"日": "day", "週": "week", "週間": "week", "年": "year", "時間": "hour", "分": "minute"}
_JA_UNIT = "日|週間?|[かがけゕゖ箇個]月|年|時間|分"  # ヶ and カ are folded
_JA_FEW = {"数": (2, 6), "数十": (20, 90), "十数": (11, 19)}
_LOW = "[1-9](?=[、,~-])|[一二三四五六七八九](?=[、,~一二三四五六七八九])"  # 2、3日前, 二三日前
_ABOUT = "(?:ほど|くらい|ぐらい|程度?|ちょい|(?P<too>も))?"
_ADVERBS = ("多分", "大体", "約", "概ね", "最近", "結構", "大分", "実際", "結局", "確", "昔", "計", "既")


def number(written: str) -> int:
    """12, 十二, 百二十, 二〇二六."""
    if written.isdecimal():
        return int(written)
    if not any(char in _TENS for char in written):
        return int("".join(str(_DIGITS[char]) for char in written))
    total = digit = 0
    for char in written:
        if char in _TENS:
            total, digit = total + (digit or 1) * _TENS[char], 0
        else:
            digit = _DIGITS[char]
    return total + digit


def _ja_from_now(found: re.Match[str], asker: Asker) -> Span | None:
    if found["n"] == "何":  # 何年前 asks, 何年も前 tells
        return s.ONCE if found["too"] and found["way"] in ("前", "まえ") else None
    if _of_an_event(found):
        return None
    sign = -1 if found["way"] in ("前", "まえ") else 1
    unit = _JA_UNITS.get(found["u"], "month")
    if found["n"] in _JA_FEW:
        low, high = _JA_FEW[found["n"]]
        return s.between(asker, unit, sign * low, sign * high)
    span = _ja_counted(asker, unit, sign * number(found["n"]), half=bool(found["half"]))
    if found["low"]:
        return _or(span, _ja_counted(asker, unit, sign * number(found["low"]), half=False))
    return Span(None, span.until) if found["over"] and sign < 0 else span


def _ja_counted(asker: Asker, unit: str, count: int, *, half: bool) -> Span:
    if half:
        return _and_a_half(asker, unit, count)
    if unit == "year":  # 三年前 is a year of the calendar
        return s.years(asker.now.year + count)
    return s.away(asker, unit, count)


def _of_an_event(found: re.Match[str]) -> bool:
    """締切の3日前, 試験二日前, 出発から三日後 are counted from something else than now."""
    before = text_before(found, 3)
    if kanji(before[-1:]):
        return not before.endswith(_ADVERBS)
    return before[-1:] in tuple("の0123456789.,-/") or (before.endswith("から") and before != "今から")


def _ja_half(found: re.Match[str], asker: Asker) -> Span | None:
    """半年前, and ひと月前, which has no numeral either."""
    if _of_an_event(found):
        return None
    sign = 1 if found[2] == "後" else -1
    if months := {"ひと月": 1, "ふた月": 2}.get(found[1]):
        return s.away(asker, "month", sign * months)
    return _half_of(asker, {"年": "year", "月": "month", "日": "day"}[found[1][1]], sign)


def _same_day(found: re.Match[str], asker: Asker) -> Span:
    """去年の今日, this time last month: the day itself, or the weeks around it."""
    unit = {"年": "year", "月": "month"}.get(found["u"], found["u"])
    day = s.shift(asker, unit, -1)
    slack = {"year": 15, "month": 5}[unit] * (found["when"] not in ("今日", "day"))
    return Span(day - slack * s.DAY, day + (slack + 1) * s.DAY)


def _ja_up_to_now(found: re.Match[str], asker: Asker) -> Span | None:
    """ここ三日, 過去1年."""
    unit = _JA_UNITS.get(found["u"], "month")
    return _duration(asker, unit, -6 if found["n"] == "数" else -number(found["n"]), few=found["n"] == "数")


# ── English ──────────────────────────────────────────────────────────────────────────────────────────

_ONES = "one|two|three|four|five|six|seven|eight|nine"
_TEENS = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_TIES = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_NUMBERS = (
    {word: value for value, word in enumerate(f"zero|{_ONES}|{_TEENS}".split("|"))}
    | {word: value * 10 for value, word in enumerate(_TIES.split("|"), 2)}
    | {"a": 1, "an": 1, "a couple": 2, "couple": 2, "a dozen": 12, "a hundred": 100, "one hundred": 100}
)
_EN_FEW = ("a few", "few", "several")
_N = (
    rf"\d{{1,4}}|(?:{_TIES})(?:[- ](?:{_ONES}))?|(?:a|one) hundred|{_TEENS}|{_ONES}"
    "|(?:a )?(?:couple(?: of)?|few)|a dozen|several|an?"
)
_UNITS = "minute|min|hour|day|week|fortnight|month|year|decade"
_SCALE = {"fortnight": ("week", 2), "decade": ("year", 10), "min": ("minute", 1)}


def _amount(found: re.Match[str]) -> tuple[str, int]:
    """The unit and how many."""
    unit, scale = _SCALE.get(found["u"], (found["u"], 1))
    written = found["n"].removesuffix(" of")
    if written.isdecimal():
        return unit, int(written) * scale
    if written in _NUMBERS:
        return unit, _NUMBERS[written] * scale
    return unit, sum(_NUMBERS.get(word, 0) for word in re.split("[- ]", written)) * scale


def _en_from_now(found: re.Match[str], asker: Asker) -> Span | None:
    """Two weeks ago, three days from now, a year and a half ago."""
    (unit, count), sign = _amount(found), -1 if found["way"] in ("ago", "back") else 1
    if found["n"] in _EN_FEW:
        return s.between(asker, unit, 2 * sign, 6 * sign)
    if not count or word_before(found)[-1:] in (".", ",", "/"):  # 1.5 years ago
        return None
    if found["half"] or found["half2"]:
        return _and_a_half(asker, unit, sign * count)
    span = s.away(asker, unit, sign * count, 1826 if found["u"] == "decade" else 0)
    if found["low"]:
        low = found["low"]
        return _or(span, s.away(asker, unit, sign * (int(low) if low.isdecimal() else _NUMBERS[low])))
    return Span(None, span.until) if sign < 0 and found["over"] else span


def _fortnight(found: re.Match[str], asker: Asker) -> Span:
    return s.away(asker, "week", -2)


def _en_or_two(found: re.Match[str], asker: Asker) -> Span:
    return _or(s.away(asker, found[1], -1), s.away(asker, found[1], -2))


def _en_half(found: re.Match[str], asker: Asker) -> Span | None:
    return _half_of(asker, found[1], -1 if found[2] == "ago" else 1)


def _en_ahead(found: re.Match[str], asker: Asker) -> Span | None:
    """In three days; but "finished in three days" is how long it took."""
    unit, count = _amount(found)
    duration = asker.lean != s.FUTURE and not found["time"]
    if duration or not count or text_after(found, 4) == " of ":
        return None
    return s.away(asker, unit, count)


def _en_up_to_now(found: re.Match[str], asker: Asker) -> Span | None:
    """The last three days, the next two weeks; not "the last three days of May"."""
    sign = 1 if found["side"] in ("next", "coming") else -1
    unit, count = _amount(found)
    few = found["n"] in _EN_FEW
    return (
        None
        if text_after(found, 4) == " of "
        else _duration(asker, unit, sign * (6 if few else count), few=few)
    )


# ── both ─────────────────────────────────────────────────────────────────────────────────────────────

_SMALLER = {
    "year": ("month", 12), "month": ("day", 30), "week": ("day", 7), "day": ("hour", 24),
    "hour": ("minute", 60), "minute": ("minute", 1),
}  # fmt: skip
_HALVES = {  # unit, how many, how many days around it
    "year": ("month", 6, 45), "month": ("day", 15, 5), "day": ("hour", 12, 0), "hour": ("minute", 30, 0)
}  # fmt: skip


def _and_a_half(asker: Asker, unit: str, count: int) -> Span:
    smaller, each = _SMALLER[unit]
    half = each // 2 if count > 0 else -(each // 2)
    return s.away(asker, smaller, count * each + half, 3 if unit == "month" else 0)


def _or(one: Span, other: Span) -> Span:
    """Two or three days ago: both and what is between."""
    edges = [edge for span in (one, other) for edge in (span.since, span.until) if edge]
    return Span(min(edges), max(edges))


def _half_of(asker: Asker, unit: str, sign: int) -> Span:
    smaller, count, slack = _HALVES[unit]
    return s.away(asker, smaller, sign * count, slack)


def _duration(asker: Asker, unit: str, count: int, *, few: bool) -> Span | None:
    span = s.count_units(asker, unit, count)
    return Span(span.since, span.until, certain=not few) if count else None


RULES = (
    Rule(
        "前 後 まえ のち",
        f"(?:(?P<low>{_LOW})[、,~-]?)?(?P<n>数十?|十数|何|{JA_NUMBER})(?P<u>{_JA_UNIT})(?P<half>半)?(?P<over>以上)?{_ABOUT}"
        "(?P<way>前(?!半)|まえ|後(?![ろ半])|のち)",
        _ja_from_now,
    ),
    Rule(
        "半年 半月 半日 ひと月 ふた月",
        "(半[年月日]|ひと月|ふた月)(?:ほど|くらい|ぐらい|程度?)?(前(?!半)|まえ|後(?![ろ半]))",
        _ja_half,
    ),
    Rule(
        "ここ この 過去 直近",
        f"(?:ここ|この|過去|直近)の?(?P<n>数|{JA_NUMBER})(?P<u>{_JA_UNIT})間?(?![前後目])",
        _ja_up_to_now,
    ),
    Rule(
        "ago _back from_now from_today",
        rf"\b(?P<over>over |more than )?(?:(?P<low>{_ONES}|\d)(?: or | to |-))?"
        rf"(?P<n>{_N})(?P<half> and a half)? (?P<u>{_UNITS})s?"
        r"(?P<half2> and a half)? (?P<way>ago|back(?! to)|from (?:now|today))\b",
        _en_from_now,
    ),
    Rule("fortnight", r"(?<!a )(?<!one )\bfortnight ago\b", _fortnight),
    Rule("or_two or_so", r"\ban? (minute|hour|day|week|month|year) or (?:two|so) ago\b", _en_or_two),
    Rule("今日 今頃", "[去昨先](?P<u>[年月])の(?P<when>今日|今頃)", _same_day),
    Rule("this", r"\bthis (?P<when>time|day) last (?P<u>year|month)\b", _same_day),
    Rule("half", r"\bhalf an? (year|month|day|hour) (ago|from now)\b", _en_half),
    Rule("in_", rf"\bin (?P<n>{_N}) (?P<u>{_UNITS})s?\b(?P<time>['’]? time\b)?", _en_ahead),
    Rule(
        "last past next coming",
        rf"\b(?P<side>last|past|next|coming) (?P<n>{_N}) (?P<u>{_UNITS})s?\b",
        _en_up_to_now,
    ),
)
