"""Calendar arithmetic for time expressions: days, weeks, months and seasons as spans of local time.

Ends without a zone are local wall-clock times, because a day runs from one local midnight to the next, be it
23, 24 or 25 hours long. Ends with a zone are instants, for what is counted in hours.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from nagori.core.value_object import Value, replace

PAST, EITHER, FUTURE = -1, 0, 1
DAY = timedelta(days=1)


class Asker(Value):
    """The time and zone of a question, and whether a date without a year refers to past or future."""

    now: datetime  # local, without a zone
    moment: datetime  # the same instant in UTC
    lean: int  # PAST, EITHER (the nearest) or FUTURE
    plain: str  # the text with its capitals: May is a month, may is a verb

    @property
    def today(self) -> datetime:
        return self.now.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


def earlier(asker: Asker, days: int) -> Asker:
    return replace(asker, now=asker.now - timedelta(days=days))


class Span(Value):
    """The meaning of one expression: a half-open span of time, or only the first or the latest of
    something."""

    since: datetime | None = None
    until: datetime | None = None
    certain: bool = True
    latest: bool = False
    earliest: bool = False
    before_last: bool = False


Yearly = Callable[[int], Span]


class Rule(Value):
    """One family of expressions. The pattern is compiled only for texts with one of its triggers."""

    triggers: str  # separated by spaces; "_" is a space within one
    pattern: str
    read: Callable[[re.Match[str], Asker], Span | None]


def kanji(char: str) -> bool:
    return "一" <= char <= "龥" or char == "々"


def text_before(found: re.Match[str], count: int = 1) -> str:
    return found.string[max(0, found.start() - count) : found.start()]


def text_after(found: re.Match[str], count: int = 1) -> str:
    return found.string[found.end() : found.end() + count]


def word_before(found: re.Match[str]) -> str:
    return text_before(found, 16).rstrip(" -").rpartition(" ")[2]


# ── the calendar ─────────────────────────────────────────────────────────────────────────────────────


def days(start: datetime, count: int = 1) -> Span:
    return Span(start, start + timedelta(days=count))


def day(asker: Asker, offset: int) -> Span:
    return days(asker.today + timedelta(days=offset))


def week(asker: Asker, offset: int) -> Span:
    """Weeks begin on Monday."""
    return days(asker.today + timedelta(days=7 * offset - asker.today.weekday()), 7)


def weekday(asker: Asker, wanted: int, weeks: int) -> Span:
    start = asker.today + timedelta(days=7 * weeks - asker.today.weekday())
    return days(start + timedelta(days=wanted))


def weekend(asker: Asker, weeks: int) -> Span:
    return days(asker.today + timedelta(days=7 * weeks + 5 - asker.today.weekday()), 2)


def near_weekday(asker: Asker, wanted: int, lean: int) -> Span:
    """The last, nearest or next such weekday. Today is excluded from last and next."""
    offset = (wanted - asker.today.weekday()) % 7
    if lean == PAST:
        offset -= 7
    elif lean == FUTURE:
        offset = offset or 7
    elif offset > 3:
        offset -= 7
    return day(asker, offset)


def first(year: int, month: int) -> datetime:
    return datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 1)  # noqa: DTZ001 - local wall clock


def months(year: int, month: int, count: int = 1) -> Span:
    return Span(first(year, month), first(year, month + count))


def years(year: int, count: int = 1) -> Span:
    return months(year, 1, 12 * count)


def date(year: int, month: int, number: int) -> Span:
    return days(datetime(year, month, number))  # noqa: DTZ001 - local wall clock


def of_month(year: int, month: int, part: tuple[int, int]) -> Span:
    """From one day of a month to before another; an end of 0 is the end of the month."""
    start = first(year, month)
    until = start + timedelta(days=part[1] - 1) if part[1] else first(year, month + 1)
    return Span(start + timedelta(days=part[0] - 1), until)


def of_year(year: int, part: tuple[int, int]) -> Span:
    """From one month of a year to before another; 13 is the January after."""
    return Span(first(year, part[0]), first(year, part[1]))


EARLY_MONTH, MID_MONTH, LATE_MONTH = (1, 11), (11, 21), (21, 0)
MID_YEAR = (5, 9)


def part_of(span: Span, part: int) -> Span:
    """The early, middle or late third (0, 1, 2) of a month, a year, a season or a decade."""
    assert span.since
    assert span.until
    third = (span.until - span.since) / 3
    start = (span.since + part * third).replace(hour=0, minute=0, second=0, microsecond=0)
    end = span.until if part == 2 else span.since + (part + 1) * third
    return Span(start, end.replace(hour=0, minute=0, second=0, microsecond=0), span.certain)


def hours(span: Span, part: tuple[int, int]) -> Span:
    """A part of the day; an hour over 24 belongs to the night that began on that day."""
    assert span.since
    return Span(span.since + timedelta(hours=part[0]), span.since + timedelta(hours=part[1]), span.certain)


MORNING, AFTERNOON, EVENING, NIGHT = (4, 12), (12, 18), (17, 24), (18, 30)
SPRING, SUMMER, AUTUMN, WINTER = 3, 6, 9, 12


def quarter(year: int, number: int, begins: int = 1) -> Span:
    """Three months; the first quarter of a year begins in month `begins`."""
    return months(year, begins + 3 * (number - 1), 3)


def half_year(year: int, number: int, begins: int = 1) -> Span:
    """Six months; the first half of a year begins in month `begins`."""
    return months(year, begins + 6 * (number - 1), 6)


def nth_weekday(year: int, month: int, weekday: int, number: int) -> Span:
    """The second Monday of a month, or the last one (-1)."""
    if number > 0:
        start = first(year, month)
        return days(start + DAY * ((weekday - start.weekday()) % 7 + 7 * (number - 1)), 1)
    end = first(year, month + 1) - DAY
    return days(end - DAY * ((end.weekday() - weekday) % 7), 1)


def easter(year: int) -> datetime:
    """Easter Sunday (the anonymous Gregorian algorithm)."""
    golden, century = year % 19, year // 100
    skipped = century - century // 4 - (8 * century + 13) // 25
    moon = (skipped + 19 * golden + 15) % 30
    moon -= moon // 28 * (1 - moon // 28 * (29 // (moon + 1)) * ((21 - golden) // 11))
    weekday = (year + year // 4 + moon + 2 - century + century // 4) % 7
    offset = moon - weekday
    month = 3 + (offset + 40) // 44
    return datetime(year, month, offset + 28 - 31 * (month // 4))  # noqa: DTZ001 - local wall clock


def season(year: int, begins: int) -> Span:
    """Three months; the winter of a year is the one that begins in it."""
    return months(year, begins, 3)


def season_of_relative_year(asker: Asker, offset: int, begins: int) -> Span:
    """ "Last year's winter", said while it lasts, is the one before; "this year's" is the one at hand."""
    year = asker.now.year + offset
    if begins == WINTER and asker.now.month <= 3 and offset in (-1, 0):
        year -= 1
    return season(year, begins)


def month_after(asker: Asker, offset: int) -> tuple[int, int]:
    """Year and month so many months away."""
    index = asker.now.year * 12 + asker.now.month - 1 + offset
    return index // 12, index % 12 + 1


def occurs(asker: Asker, make: Yearly, at: int, lean: int | None = None) -> Span | None:
    """The best match among yearly occurrences: `make(at)` is this year's, `make(at - 1)` last year's."""
    lean = asker.lean if lean is None else lean
    made = [
        span for number in range(at - 8, at + 9) if (span := _make_span(make, number))
    ]  # leap days are rare
    if lean == PAST:
        made = [span for span in made if span.since and span.since <= asker.now][-1:]
    elif lean == FUTURE:
        made = [span for span in made if span.until and span.until > asker.now][:1]
    return min(made, key=lambda span: _distance(asker, span), default=None)


def yearly(asker: Asker, make: Yearly, lean: int | None = None) -> Span | None:
    return occurs(asker, make, asker.now.year, lean)


def monthly(asker: Asker, make: Callable[[int, int], Span]) -> Span | None:
    index = asker.now.year * 12 + asker.now.month - 1
    return occurs(asker, lambda at: make(at // 12, at % 12 + 1), index)


def last_finished(asker: Asker, make: Yearly) -> Span | None:
    """The last one that is over: "last summer", said in July, is not this one."""
    spans = [make(asker.now.year + offset) for offset in (-2, -1, 0)]
    return next((span for span in reversed(spans) if span.until and span.until <= asker.now), None)


def next_to_begin(asker: Asker, make: Yearly) -> Span | None:
    """The next one to begin."""
    spans = [make(asker.now.year + offset) for offset in (-1, 0, 1)]
    return next((span for span in spans if span.since and span.since > asker.now), None)


def _make_span(make: Yearly, number: int) -> Span | None:
    try:
        return make(number)
    except ValueError:  # the 31st of a short month, the 29th of February
        return None


def _distance(asker: Asker, span: Span) -> timedelta:
    assert span.since
    assert span.until
    if span.since <= asker.now < span.until:
        return timedelta(0)
    return min(abs(span.since - asker.now), abs(span.until - asker.now))


# ── counted from now ─────────────────────────────────────────────────────────────────────────────────

_MARGIN = {"day": (0, 1), "week": (3, 4), "month": (15, 16), "year": (183, 183)}  # days before and after
_CLOCK = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1)}
_MONTHS = {"month": 1, "year": 12}


def shift(asker: Asker, unit: str, count: int) -> datetime:
    """The moment or the local day so many units away; the 31st becomes the last day of a shorter month."""
    if unit in _CLOCK:
        return asker.moment + count * _CLOCK[unit]
    if unit not in _MONTHS:
        return asker.today + timedelta(days=count * (7 if unit == "week" else 1))
    year, month = month_after(asker, count * _MONTHS[unit])
    last = (first(year, month + 1) - timedelta(days=1)).day
    return datetime(year, month, min(asker.now.day, last))  # noqa: DTZ001 - local wall clock


def away(asker: Asker, unit: str, count: int, slack_days: int = 0) -> Span:
    """A number of units before (negative) or after now, with the usual precision."""
    middle = shift(asker, unit, count)
    if unit in _CLOCK:
        slack = max(_CLOCK[unit], abs(count) * _CLOCK[unit] / 4)
        return Span(middle - slack, middle + slack)
    before, after = (slack_days, slack_days + 1) if slack_days else _MARGIN[unit]
    return Span(middle - timedelta(days=before), middle + timedelta(days=after))


def between(asker: Asker, unit: str, low: int, high: int) -> Span:
    """A range of counts (a few, several, 数); never certain."""
    ends = sorted((shift(asker, unit, low), shift(asker, unit, high)))
    return Span(ends[0], ends[1] + timedelta(days=unit not in _CLOCK), certain=False)


def count_units(asker: Asker, unit: str, count: int) -> Span:
    """The last (negative) or next number of units, up to or from now."""
    edge = shift(asker, unit, count)
    return Span(edge, asker.moment) if count < 0 else Span(asker.moment, edge + timedelta(days=1))


def lately(asker: Asker, span_days: int, *, latest: bool = True) -> Span:
    """A vague recent past, with some margin."""
    return Span(asker.today - timedelta(days=span_days), asker.moment, certain=False, latest=latest)


LATEST = Span(certain=False, latest=True)
EARLIEST = Span(certain=False, earliest=True)
BEFORE_LAST = Span(certain=False, before_last=True)
ONCE = Span(certain=False)  # at some time in the past
