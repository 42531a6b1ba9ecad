"""English expressions for dates and parts of the day. Texts come in lower case; `Asker.plain` has the
capitals."""

from __future__ import annotations

import re

from nagori.language.temporal import calendar as s
from nagori.language.temporal.calendar import Asker, Rule, Span, text_after, word_before

_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_ABBREVIATED = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_OWN_NAME = ("january", "february", "july", "september", "october", "november", "december")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY = (
    "mon(?:day)?|tue(?:s|sday)?|wed(?:s|nesday)?|thu(?:r|rs|rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?"
)
_PART = "morning|afternoon|evening|night"
_HOURS = {"morning": s.MORNING, "afternoon": s.AFTERNOON, "evening": s.EVENING, "night": s.NIGHT}
_SEASONS = {
    "spring": s.SPRING, "summer": s.SUMMER, "autumn": s.AUTUMN, "fall": s.AUTUMN, "winter": s.WINTER
}  # fmt: skip
_SIDES = {
    "last": -1, "this past": -1, "past": -1, "previous": -1, "this": 0, "next": 1,
    "this coming": 1, "coming": 1,
}  # fmt: skip
_SIDE = "last|this past|this coming|this|next|past|coming|previous"
_THIRDS = {"early": 0, "start": 0, "beginning": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
_THIRD = "(?:(?P<third>early|mid|late)(?: in)?[ -]|(?P<edge>start|beginning|middle|end) of (?:the )?)"
_BEFORE_YEARS = ("in", "during", "since", "until", "till", "before", "after", "from", "year", "between")
_PREPOSITIONS = (
    *_BEFORE_YEARS, "on", "by", "of", "through", "throughout", "around", "about", "to", "and"
)  # fmt: skip
_YEAR = r"(?P<y>(?:19|20)\d\d)(?![\d/:.-]\d|\d)"


def _capital(found: re.Match[str], asker: Asker, group: str) -> bool:
    return asker.plain[found.start(group)].isupper()


def _narrow(found: re.Match[str], span: Span | None) -> Span | None:
    word = found["third"] or found["edge"]
    return s.part_of(span, _THIRDS[word]) if span and word else span


# ── days ─────────────────────────────────────────────────────────────────────────────────────────────

_DAYS = {
    "day before yesterday": -2, "yesterday": -1, "today": 0, "tomorrow": 1, "day after tomorrow": 2
}  # fmt: skip
_NIGHTS = {
    "night before last": (-2, "night"), "last night": (-1, "night"), "last evening": (-1, "evening"),
    "tonight": (0, "night"),
    "this morning": (0, "morning"), "this afternoon": (0, "afternoon"), "this evening": (0, "evening"),
}  # fmt: skip


def _day(found: re.Match[str], asker: Asker) -> Span | None:
    if re.match("['’]s (?:world|society|age|standards|market|youth)", text_after(found, 24)):
        return None
    if found["night"]:
        offset, part = _NIGHTS[found["night"]]
        return s.hours(s.day(asker, offset), _HOURS[part])
    span = s.day(asker, _DAYS[found["day"]])
    return s.hours(span, _HOURS[found["part"]]) if found["part"] else span


def _weekday(found: re.Match[str], asker: Asker) -> Span | None:
    habit = word_before(found) in ("every", "each", "black", "good", "most", "any", "alternate")
    if habit or not _is_weekday(found, asker):
        return None
    wanted, side = _WEEKDAYS.index(found["wd"][:3]), found["side"] or ""
    week = found["week"] or found["lead"] or (side if side in ("this", "next") else "")
    if week:
        return _with_part(found, s.weekday(asker, wanted, _SIDES[week]))
    if found["far"]:
        return _with_part(found, s.near_weekday(s.earlier(asker, 7), wanted, s.PAST))
    lean = _SIDES[side] if side else asker.lean
    return _with_part(found, s.near_weekday(asker, wanted, lean))


def _is_weekday(found: re.Match[str], asker: Asker) -> bool:
    """ "Sat" and "sun" are words of their own; short forms need a lead, and these two a capital."""
    name = found["wd"]
    if name.endswith("day"):
        return True
    led = bool(found["side"] or found["week"]) or word_before(found) in _PREPOSITIONS
    return led and (name not in ("sat", "sun") or _capital(found, asker, "wd"))


def _with_part(found: re.Match[str], span: Span) -> Span:
    return s.hours(span, _HOURS[found["part"]]) if found["part"] else span


# ── weeks, months, years ─────────────────────────────────────────────────────────────────────────────


def _unit(asker: Asker, unit: str, offset: int) -> Span | None:
    if unit == "quarter":
        year, month = s.month_after(asker, 3 * offset)
        return s.quarter(year, (month - 1) // 3 + 1)
    if unit == "week":
        return s.week(asker, offset)
    if unit == "month":
        return s.months(*s.month_after(asker, offset))
    if unit == "year":
        return s.years(asker.now.year + offset)
    if unit == "decade":
        return s.years((asker.now.year // 10 + offset) * 10, 10)
    return s.weekend(asker, offset)


def _relative(found: re.Match[str], asker: Asker) -> Span | None:
    """Last week; in the past month; early last year; earlier this week; the week before last."""
    if re.match(" (?:of|in) (?!last|this|next)", text_after(found, 24)):  # the last year of school
        return None
    unit = found["unit"] or found["unit2"]
    if found["far"]:
        return _unit(asker, unit, -2 if found["far"] == "before last" else 2)
    if found["side"] == "past" and unit != "weekend":
        return s.count_units(asker, "year" if unit == "decade" else unit, -10 if unit == "decade" else -1)
    span = _unit(asker, unit, _SIDES[found["side"]])
    if span and found["later"]:
        earlier = found["later"] == "earlier"
        return Span(span.since, asker.moment) if earlier else Span(asker.moment, span.until)
    return _narrow(found, span)


def _edge_of(found: re.Match[str], asker: Asker) -> Span | None:
    """The end of the month: of this one, or of the one that has just ended."""
    third = _THIRDS[found["edge"]]
    if found["unit"] == "year":
        return s.yearly(asker, lambda year: s.part_of(s.years(year), third))
    if found["unit"] == "week":
        return s.occurs(asker, lambda at: s.part_of(s.week(asker, at), third), 0)
    return s.monthly(asker, lambda year, month: s.part_of(s.months(year, month), third))


def _weekend(found: re.Match[str], asker: Asker) -> Span | None:
    led = word_before(found) in ("over", "at", "for", *_PREPOSITIONS)
    return s.occurs(asker, lambda at: s.weekend(asker, at), 0) if led else None


# ── dates ────────────────────────────────────────────────────────────────────────────────────────────


def _relative_year(found: re.Match[str], asker: Asker) -> int | None:
    if found["y"]:
        return int(found["y"])
    return asker.now.year + _SIDES[found["ry"]] if found["ry"] else None


def _month_day(found: re.Match[str], asker: Asker) -> Span | None:
    """March 5th, 5 March 2026. "March 5 miles" and "5 may come" are no dates."""
    month, number = _ABBREVIATED.index(found["mo"][:3]) + 1, int(found["d"])
    verb = found["mo"] in ("may", "march") and not (found["ord"] or found["y"] or found["ry"])
    if verb and not _capital(found, asker, "mo") and word_before(found) not in _PREPOSITIONS:
        return None
    if re.match(
        " (?:miles|km|people|times|of (?:us|them)|percent|points|years|hours|days)", text_after(found, 24)
    ):
        return None
    year = _relative_year(found, asker)
    return s.date(year, month, number) if year else s.yearly(asker, lambda at: s.date(at, month, number))


def _month(found: re.Match[str], asker: Asker) -> Span | None:
    if not _is_month(found, asker):
        return None
    month = _ABBREVIATED.index(found["mo"][:3]) + 1
    if year := _relative_year(found, asker):
        return _narrow(found, s.months(year, month))
    return _narrow(found, _again(found, asker, lambda at: s.months(at, month)))


def _again(found: re.Match[str], asker: Asker, make: s.Yearly) -> Span | None:
    """Last, this, next or just any."""
    side = _SIDES[found["side"]] if found["side"] else None
    if side == -1:
        return s.last_finished(asker, make)
    if side == 0:
        return make(asker.now.year)
    return s.next_to_begin(asker, make) if side else s.yearly(asker, make)


def _is_month(found: re.Match[str], asker: Asker) -> bool:
    """May, march, august, mar, dec, Jan and April are other words or people, unless something tells."""
    name, before = found["mo"], word_before(found)
    if found["y"] or found["ry"] or found["third"] or found["edge"]:
        return True
    if found["side"]:
        return name not in ("may", "march") or found["side"] != "this" or _capital(found, asker, "mo")
    if before in _PREPOSITIONS:
        return before != "and" and (
            before not in ("to", "of", "about", "from") or _capital(found, asker, "mo")
        )
    return name in _OWN_NAME and not text_after(found, 24).startswith("s")


def _year(found: re.Match[str], asker: Asker) -> Span | None:
    counted = (
        "words|people|lines|char|users|tokens|steps|pieces|dollars|files|rows|ms|units|cases|ways|m|km|miles"
    )
    told = found["third"] or found["edge"] or found["decade"] or word_before(found) in _BEFORE_YEARS
    if not (told or _in_range(found)) or re.match(f" (?:{counted})", text_after(found, 24)):
        return None
    if found["decade"]:
        return _narrow(found, s.years(int(found["decade"]), 10))
    return _narrow(found, s.years(int(found["y"])))


def _in_range(found: re.Match[str]) -> bool:
    """From 2019 to 2021; "up to 2000" is a number."""
    before = found.string[max(0, found.start() - 24) : found.start()]
    return bool(re.search(r"(?:from|between) (?:19|20)\d\d (?:to|and|through|until) $", before))


def _short_decade(found: re.Match[str], asker: Asker) -> Span | None:
    tens = int(found[1])
    return s.years((1900 if tens > 20 else 2000) + tens, 10)


def _number_day(found: re.Match[str], asker: Asker) -> Span | None:
    return s.monthly(asker, lambda year, month: s.date(year, month, int(found[1])))


def _iso(found: re.Match[str], asker: Asker) -> Span | None:
    year, month = int(found[1]), int(found[3])
    if found[4]:
        return s.date(year, month, int(found[4]))
    return s.months(year, month) if 1 <= month <= 12 and found[2] != "." else None  # 2024.1 is a version


def _slash_date(found: re.Match[str], asker: Asker) -> Span | None:
    """3/25 and 25/3 are clear, 3/5 is not: half of the world reads it the other way round."""
    a, b = int(found[1]), int(found[2])
    if (a <= 12 and b <= 12 and a != b) or not (found[3] or word_before(found) in _PREPOSITIONS):
        return None
    month, number = (a, b) if a <= 12 else (b, a)
    if found[3]:
        return s.date(int(found[3]), month, number)
    return s.yearly(asker, lambda year: s.date(year, month, number))


def _dotted_date(found: re.Match[str], asker: Asker) -> Span | None:
    """10.4.2025 is the tenth of April; a version has no year at its end."""
    return s.date(int(found[3]), int(found[2]), int(found[1]))


_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}


def _quarter(found: re.Match[str], asker: Asker) -> Span | None:
    """Q3, the third quarter of 2025, in the first half of the year."""
    written = found["q"] or found["h"] or ""
    number = int(written) if written else _ORDINALS[found["nth"]]
    make = s.half_year if found["h"] or found["half"] == "half" else s.quarter
    if found["half"] == "half" and (number > 2 or not (found["y"] or found["ry"] or found["of"])):
        return None
    if found["q"] and not found["y"] and not found["ry"] and word_before(found) not in _LEADS_QUARTER:
        return None
    year = _relative_year(found, asker)
    return make(year, number) if year else s.yearly(asker, lambda at: make(at, number))


_LEADS_QUARTER = ("in", "during", "for", "since", "until", "before", "after", "our", "the", "of", "by")


def _fiscal_year(found: re.Match[str], asker: Asker) -> Span | None:
    """FY25, fiscal year 2025: named by the calendar year in which most of it lies."""
    year = int(found["y"])
    return s.years(year + 2000 if year < 100 else year)


def _weekends_ago(found: re.Match[str], asker: Asker) -> Span | None:
    count = {"two": 2, "three": 3, "2": 2, "3": 3, "a couple of": 2}[found[1]]
    past = -1 if asker.now.weekday() < 5 else 0
    return s.weekend(asker, past - count + 1)


def _weekdays_ago(found: re.Match[str], asker: Asker) -> Span:
    """Two Sundays ago: the Sunday before the last one."""
    count = {"two": 2, "three": 3, "2": 2, "3": 3, "a couple of": 2}[found[1]]
    last = s.near_weekday(asker, _WEEKDAYS.index(found[2][:3]), s.PAST)
    assert last.since
    return s.days(last.since - (count - 1) * 7 * s.DAY)


def _week_of_month(found: re.Match[str], asker: Asker) -> Span | None:
    """The second week of May: its 8th to 14th."""
    week = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1}[found["nth"]]
    month = _ABBREVIATED.index(found["mo"][:3]) + 1
    part = (7 * week - 6, 7 * week + 1) if week > 0 else (25, 0)
    if found["y"]:
        return s.of_month(int(found["y"]), month, part)
    return s.yearly(asker, lambda year: s.of_month(year, month, part))


def _year_ago_today(found: re.Match[str], asker: Asker) -> Span | None:
    count = {"a": 1, "one": 1, "two": 2, "three": 3, "1": 1, "2": 2, "3": 3}[found[1]]
    day = s.shift(asker, found[2], -count)
    return s.days(day, 1)


# ── seasons and feasts ───────────────────────────────────────────────────────────────────────────────

_FEASTS = {  # month, day, how many days
    "christmas eve": (12, 24, 1), "christmas day": (12, 25, 1), "christmas": (12, 24, 3), "xmas": (12, 24, 3),
    "boxing day": (12, 26, 1), "new year's eve": (12, 31, 1), "new year's day": (1, 1, 1),
    "new year's": (1, 1, 1), "valentine's day": (2, 14, 1), "valentine's": (2, 14, 1),
    "halloween": (10, 31, 1),
    "independence day": (7, 4, 1), "fourth of july": (7, 4, 1), "4th of july": (7, 4, 1),
    "st patrick's day": (3, 17, 1), "april fools' day": (4, 1, 1), "april fool's day": (4, 1, 1),
}  # fmt: skip


_MOVING: dict[str, tuple[int, int, int]] = {  # month, weekday, which one of the month
    "thanksgiving": (11, 3, 4), "labor day": (9, 0, 1), "memorial day": (5, 0, -1), "mother's day": (5, 6, 2),
    "father's day": (6, 6, 3),
}  # fmt: skip
_BY_EASTER = {"easter": (-2, 4), "easter sunday": (0, 1), "easter monday": (1, 1), "good friday": (-2, 1)}
_BREAKS = {"summer holidays": (7, 1, 62), "summer vacation": (7, 1, 62), "summer break": (7, 1, 62),
    "winter break": (12, 20, 16), "christmas break": (12, 20, 16), "spring break": (3, 1, 45),
    "the holidays": (12, 20, 14), "holiday season": (12, 1, 36)}  # fmt: skip


def _moving_feast(found: re.Match[str], asker: Asker) -> Span | None:
    """Thanksgiving, Easter, the summer holidays: days that move, and times whose edges nobody fixes."""
    if word_before(found) in ("happy", "every", "merry") or re.match(
        " (?:egg|bunny|island|card|turkey|deal|sale|discount)", text_after(found, 12)
    ):
        return None
    name = found["feast"].replace("’", "'")

    def make(at: int) -> Span:
        if name == "black friday":
            thursday = s.nth_weekday(at, *_MOVING["thanksgiving"]).since
            assert thursday
            return s.days(thursday + s.DAY, 1)
        if name in _MOVING:
            return s.nth_weekday(at, *_MOVING[name])
        if name in _BY_EASTER:
            offset, count = _BY_EASTER[name]
            return s.days(s.easter(at) + s.DAY * offset, count)
        month, begins, count = _BREAKS[name]
        return s.days(s.first(at, month) + s.DAY * (begins - 1), count)

    year = _relative_year(found, asker)
    return make(year) if year else _again(found, asker, make)


def _season(found: re.Match[str], asker: Asker) -> Span | None:
    """Fall and spring are verbs and things too: only with last, this, next, in the, early or a year."""
    told = found["side"] or found["third"] or found["edge"] or found["ry"]
    led = word_before(found) in ("in", "during", "over", "since", "until", "before", "after", "by")
    of_something = re.match(
        " (?:of|for|from|in love|asleep|down|apart|out|behind|short|to)", text_after(found, 9)
    )
    if found["y"] or ((told or led) and not of_something):
        return _narrow(found, _which_season(found, asker, _SEASONS[found["season"]]))
    return None


def _which_season(found: re.Match[str], asker: Asker, begins: int) -> Span | None:
    if found["y"]:
        return s.season(int(found["y"]), begins)
    if found["ry"] or found["side"] == "this":
        return s.season_of_relative_year(asker, _SIDES[found["ry"] or "this"], begins)
    return _again(found, asker, lambda year: s.season(year, begins))


def _feast(found: re.Match[str], asker: Asker) -> Span | None:
    if word_before(found) in ("merry", "happy", "every") or re.match(
        " (?:tree|cake|card|carol|song|music|movie|resolution|island)", text_after(found, 24)
    ):
        return None
    month, begins, count = _FEASTS[found["feast"].replace("’", "'").replace("st.", "st")]
    year = _relative_year(found, asker)

    def make(at: int) -> Span:
        return s.days(s.first(at, month) + s.DAY * (begins - 1), count)

    return make(year) if year else _again(found, asker, make)


_RY = "(?P<ry>last|this|next) year"
_OF_YEAR = rf"(?:,? (?:of |in )?(?:{_YEAR}|{_RY}\b))?"
_MOVING_NAMES = "|".join(
    sorted((*_MOVING, "black friday", *_BY_EASTER, *_BREAKS), key=lambda name: -len(name))
).replace("'", "['’]")
_FEAST_NAMES = "|".join(_FEASTS).replace("'", "['’]").replace("st p", "st\\.? p")

RULES = (
    Rule(
        "today tonight yesterday tomorrow morning afternoon evening night",
        rf"\b(?:(?P<night>{'|'.join(_NIGHTS)})|(?P<day>{'|'.join(_DAYS)})(?: (?P<part>{_PART}))?)\b",
        _day,
    ),
    Rule(
        "mon tue wed thu fri sat sun",
        rf"\b(?:(?P<lead>last|this|next) week(?:['’]s)?(?: on)? )?(?:(?P<side>{_SIDE}) )?"
        rf"(?P<wd>{_WEEKDAY})\b\.?(?: (?P<part>{_PART})\b)?"
        r"(?:,? (?:of )?(?P<week>last|this|next) week\b|(?P<far> before last\b))?",
        _weekday,
    ),
    Rule(
        "week month year decade quarter",
        rf"\b(?:{_THIRD}|(?P<later>earlier|later) )?"
        rf"(?:(?P<side>{_SIDE}) (?P<unit>week(?:end)?|month|year|decade|quarter)"
        r"|(?P<unit2>week(?:end)?|month|year|quarter) (?P<far>before last|after next))\b",
        _relative,
    ),
    Rule("of_the_", r"\b(?P<edge>start|beginning|middle|end) of the (?P<unit>week|month|year)\b", _edge_of),
    Rule("weekend", r"\bthe weekend\b", _weekend),
    Rule(
        " ".join(_ABBREVIATED),
        rf"\b(?P<mo>{_MONTHS})\b\.? (?:the )?(?P<d>\d{{1,2}})(?P<ord>st|nd|rd|th)?\b(?![:%]|[./-]\d)"
        rf"{_OF_YEAR}",
        _month_day,
    ),
    Rule(
        " ".join(_ABBREVIATED),
        rf"(?<![\d.:/-])\b(?P<d>\d{{1,2}})(?P<ord>st|nd|rd|th)?(?: of)? (?P<mo>{_MONTHS})\b\.?{_OF_YEAR}",
        _month_day,
    ),
    Rule(
        " ".join(_ABBREVIATED),
        rf"\b{_THIRD}?(?:(?P<side>{_SIDE}) )?(?P<mo>{_MONTHS})\b\.?{_OF_YEAR}",
        _month,
    ),
    Rule(
        "19 20",
        rf"\b{_THIRD}?(?:the )?(?:(?P<decade>(?:19|20)\d0)['’]?s|{_YEAR})\b(?!%|,\d|年)",
        _year,
    ),
    Rule("0s", r"\bthe ['’]([0-9]0)s\b", _short_decade),
    Rule(
        "on_the_",
        r"\bon the (\d{1,2})(?:st|nd|rd|th)\b"
        r"(?=[,.?!;:)]|$| (?:we|i|you|he|she|they|at|and|in|with|about)\b)",
        _number_day,
    ),
    Rule(
        "19 20",
        r"(?<![\d.:/-])((?:19|20)\d\d)([-/.])(\d{1,2})(?:\2(\d{1,2}))?(?!\d|[-/.]\d)",
        _iso,
    ),
    Rule("/", r"(?<![\d/.])(\d{1,2})/(\d{1,2})(?:/((?:19|20)\d\d))?(?![\d/]|\.\d)", _slash_date),
    Rule(
        "20",
        r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.((?:19|20)\d\d)(?![\d.])",
        _dotted_date,
    ),
    Rule(
        "q h1 h2 quarter half",
        r"\b(?:q(?P<q>[1-4])|h(?P<h>[12])(?=[ ]?(?:19|20)\d\d)"
        rf"|(?P<nth>{'|'.join(_ORDINALS)}) (?P<half>quarter|half))\b"
        rf"(?P<of> of (?:the|this) year\b)?(?:,? ?(?:of |in )?(?:{_YEAR}|(?P<ry>last|this|next) year\b))?",
        _quarter,
    ),
    Rule("fy fiscal", r"\b(?:fy ?|fiscal(?: year)? )['’]?(?P<y>(?:19|20)?\d\d)\b", _fiscal_year),
    Rule("weekends ago", r"\b(two|three|2|3|a couple of) weekends ago\b", _weekends_ago),
    Rule(
        "days ago",
        r"\b(two|three|2|3|a couple of) (mon|tues|wednes|thurs|fri|satur|sun)days ago\b",
        _weekdays_ago,
    ),
    Rule(
        "week of",
        rf"\b(?:the )?(?P<nth>first|second|third|fourth|last) week (?:of|in) (?P<mo>{_MONTHS})\b\.?"
        rf"(?:,? (?:of |in )?{_YEAR})?",
        _week_of_month,
    ),
    Rule("ago today", r"\b(a|one|two|three|1|2|3) (week|month|year)s? ago today\b", _year_ago_today),
    Rule(
        "thanks easter friday day break holiday vacation",
        rf"\b(?:(?P<side>{_SIDE}) )?(?P<feast>{_MOVING_NAMES})(?![a-z]){_OF_YEAR}",
        _moving_feast,
    ),
    Rule(
        " ".join(_SEASONS),
        rf"\b{_THIRD}?(?:(?P<side>last|this past|this coming|this|next) |(?P<the>the ))?"
        rf"(?P<season>spring|summer|autumn|fall|winter)\b{_OF_YEAR}",
        _season,
    ),
    Rule(
        "mas new valentine halloween independence july boxing patrick fool",
        rf"\b(?:(?P<side>{_SIDE}) )?(?P<feast>{_FEAST_NAMES})(?![a-z]){_OF_YEAR}",
        _feast,
    ),
)
