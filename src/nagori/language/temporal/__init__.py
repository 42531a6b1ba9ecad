"""Read time expressions in Japanese and English: the time that a question or statement refers to.

    read_time("先週の金曜に話した店", now, zone)   ->  that Friday, from one local midnight to the next
    read_time("the last time we met", now, zone)  ->  no window, but the most recent on the topic

`calendar` computes dates; `japanese` and `english` know the words for dates, `offsets` counted distances,
`vague` words without a date. This module selects the best match: certain before uncertain, then the most
exact. Quotations are ignored.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from itertools import islice

from nagori.core.model import utc
from nagori.core.value_object import Value, replace
from nagori.language.temporal import english, japanese, offsets, vague
from nagori.language.temporal.calendar import DAY, EITHER, FUTURE, PAST, Asker, Rule, Span
from nagori.language.tokenizer import normal_form

LONGEST_READ = 2000  # characters; times occur at the beginning of a text or not at all
MOST_READ = 20  # expressions of one family
OLDEST = 1850  # earlier years are ignored: 2000年前の遺跡 is not the time of a memory
_FOLD = {code: code - 0x60 for code in range(0x30A1, 0x30F7)} | {code: code + 32 for code in range(65, 91)}
_RULES = japanese.RULES + english.RULES + offsets.RULES + vague.RULES
_QUOTED = '「[^「」]*」|『[^『』]*』|“[^“”]*”|"[^"]*"|`[^`]*`'


class TimeExpression(Value):
    """The time that a text refers to: a half-open window in UTC; either end may be missing."""

    since: datetime | None
    until: datetime | None
    latest: bool  # the most recent on this topic
    earliest: bool  # the first on this topic
    phrase: str  # the matched words
    certain: bool  # a date or a counted distance, not "recently" or "before"
    before_last: bool = False  # the occasion before the last one on this topic


class _TimeMatch(Value):
    start: int
    end: int
    span: Span  # its edges in UTC


def read_time(text: str, now: datetime, zone: tzinfo) -> TimeExpression | None:
    """The time that a question refers to, as seen from `now` in the asker's `zone`. Questions refer to the
    past."""
    return _read(text, utc(now, "now"), zone, PAST)


def said_time(text: str, at: datetime, zone: tzinfo) -> TimeExpression | None:
    """The time that a statement made at `at` refers to. Without a tense a date is the nearest one."""
    return _read(text, utc(at, "at"), zone, EITHER)


def _read(text: str, moment: datetime, zone: tzinfo, lean: int) -> TimeExpression | None:
    plain = " ".join(normal_form("NFKC", text[:LONGEST_READ]).split())[:LONGEST_READ]
    folded = plain.translate(_FOLD)
    local = moment.astimezone(zone).replace(tzinfo=None)
    matches = _matches(folded)
    if not matches:  # true for most questions
        return None
    asker = Asker(local, moment, _lean(folded, lean), plain)
    times = [one for rule, match in matches if (one := _match_rule(rule, match, asker, zone))]
    found = _join_ranges(_apart(_drop_quoted(times, folded)), folded, zone)
    return _to_expression(found, plain) if found else None


# ── looking back or ahead ────────────────────────────────────────────────────────────────────────────

_AHEAD = (
    r"予定|つもり|締め?切|〆切|これから|今度|までに"
    r"|\b(?:will|won't|gonna|going to|upcoming|due|deadline|scheduled"
    r"|planned|plans?|planning|shall|let's|remind me|by (?:\w+day|the end|next))\b|'ll\b"
)
_BACK = (
    r"た(?:[。、!?っ のよねか]|$)|ました|でした|だった|っけ"
    r"|\b(?:did|was|were|had|went|met|saw|said|told|ago)\b"
)


def _lean(folded: str, usual: int) -> int:
    """Whether the text is about the past or the future. Only dates without a year need it."""
    if re.search(_BACK, folded, re.ASCII):
        return PAST
    return FUTURE if re.search(_AHEAD, folded, re.ASCII) else usual


# ── finding ──────────────────────────────────────────────────────────────────────────────────────────


@cache
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)  # ASCII, so that Japanese text ends a Latin word


def _matches(folded: str) -> list[tuple[Rule, re.Match[str]]]:
    """The matches of all rules whose triggers occur."""
    spaced = folded.replace(" ", "_")
    rules = [rule for rule, triggers in _split_triggers() if any(map(spaced.__contains__, triggers))]
    return [(rule, match) for rule in rules for match in _matches_of(rule, folded)]


@cache
def _split_triggers() -> list[tuple[Rule, list[str]]]:
    return [(rule, rule.triggers.split()) for rule in _RULES]


def _matches_of(rule: Rule, folded: str) -> list[re.Match[str]]:
    found = (match for match in _compile_pattern(rule.pattern).finditer(folded) if match[0])
    return list(islice(found, MOST_READ))


def _match_rule(rule: Rule, match: re.Match[str], asker: Asker, zone: tzinfo) -> _TimeMatch | None:
    try:
        span = rule.read(match, asker)
        if span is None:
            return None
        span = replace(span, since=_instant(span.since, zone), until=_instant(span.until, zone))
    except (ValueError, OverflowError):  # the 31st of June; before the year 1
        return None
    too_old = span.until and span.until.year < OLDEST
    return None if too_old else _TimeMatch(match.start(), match.end(), span)


def _instant(edge: datetime | None, zone: tzinfo) -> datetime | None:
    """The first instant with this local wall-clock time."""
    if edge is None:
        return None
    return (edge if edge.tzinfo else edge.replace(tzinfo=zone)).astimezone(UTC)


def _drop_quoted(found: list[_TimeMatch], folded: str) -> list[_TimeMatch]:
    """Only matches outside quotation marks, unless the whole text is quoted."""
    quotes = [match.span() for match in re.finditer(_QUOTED, folded)]
    quotes = [(start, end) for start, end in quotes if end - start < len(folded.strip(" 。.?!"))]
    return [one for one in found if not any(start < one.start < end for start, end in quotes)]


def _apart(found: list[_TimeMatch]) -> list[_TimeMatch]:
    """The matches without overlaps: longer ones win; in the order of the text."""
    kept: list[_TimeMatch] = []
    for one in sorted(found, key=lambda one: (one.start - one.end, not one.span.certain, one.start)):
        if all(one.end <= other.start or other.end <= one.start for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: one.start)


# ── from … to, since, before, around ─────────────────────────────────────────────────────────────────

_TO = "(?:から| ?[~〜–-] ?| ?to | ?through | ?until | ?till | ?and )"
_SUFFIXES = (  # after the date in Japanese; English has them before it
    ("since", "(?:以降|以後|以来|から)"),
    ("until", "(?:以前|まで(?!に))"),
    ("before", "(?:よりも?前)"),
    ("around", "(?:頃|ごろ|ころ|前後|あたり|辺り)"),
)
_PREFIXES = (
    ("since", r"\bsince (?:the )?$"),
    ("after", r"\bafter (?:the )?$"),
    ("until", r"\b(?:until|till|up to) (?:the )?$"),
    ("before", r"\b(?:before|prior to) (?:the )?$"),
    ("around", r"\b(?:around|circa|roughly) (?:the )?$"),
)


def _join_ranges(found: list[_TimeMatch], folded: str, zone: tzinfo) -> list[_TimeMatch]:
    """Join two dates to a range where the text says so; then apply words that open an end."""
    ranges: list[_TimeMatch] = []
    for one in found:
        if ranges and (both := _range(ranges[-1], one, folded)):
            ranges[-1] = both
        else:
            ranges.append(one)
    return _apart([_open_edges(one, folded, zone) for one in ranges])


def _range(one: _TimeMatch, other: _TimeMatch, folded: str) -> _TimeMatch | None:
    gap = folded[one.end : other.start]
    if len(gap) > 9 or not _compile_pattern(_TO).fullmatch(gap):
        return None
    if gap.strip() == "and" and not folded[: one.start].endswith("between "):
        return None
    since, until = one.span.since, other.span.until
    if not since or not until or not other.span.since or other.span.since < since:
        return None
    until_word = re.match("まで(?!に)", folded[other.end :])
    return _TimeMatch(one.start, other.end + (2 if until_word else 0), Span(since, until, one.span.certain))


def _open_edges(one: _TimeMatch, folded: str, zone: tzinfo) -> _TimeMatch:
    if one.span.since is None or one.span.until is None:
        return one
    for how, pattern in _SUFFIXES:
        if match := _compile_pattern(pattern).match(folded, one.end):
            return _TimeMatch(one.start, match.end(), _open(one.span, how, zone))
    before = folded[max(0, one.start - 16) : one.start]
    for how, pattern in _PREFIXES:
        if match := _compile_pattern(pattern).search(before):
            return _TimeMatch(one.start - len(match[0]), one.end, _open(one.span, how, zone))
    return one


def _open(span: Span, how: str, zone: tzinfo) -> Span:
    assert span.since
    assert span.until
    if how == "around":  # moved on the local clock, so that midnights stay midnights
        slack = max((span.until - span.since) // DAY // 2 * DAY, 3 * DAY)
        begin, end = (edge.astimezone(zone).replace(tzinfo=None) for edge in (span.since, span.until))
        return replace(span, since=_instant(begin - slack, zone), until=_instant(end + slack, zone))
    if how in ("since", "after"):
        return replace(span, since=span.since if how == "since" else span.until, until=None)
    return replace(span, since=None, until=span.until if how == "until" else span.since)


# ── choosing ─────────────────────────────────────────────────────────────────────────────────────────


def _to_expression(found: list[_TimeMatch], plain: str) -> TimeExpression:
    """The most exact match gives the window. First and last combine with any window, "now" only with none."""
    best = min(found, key=_vagueness)
    marks = [one for one in found if one is best or not (best.span.certain and _idle(one, plain))]
    earliest = any(one.span.earliest for one in marks)
    latest = any(one.span.latest for one in marks) and not earliest
    phrase = plain[best.start : best.end].strip(" の")
    before_last = any(one.span.before_last for one in marks)
    span = best.span
    return TimeExpression(span.since, span.until, latest, earliest, phrase, span.certain, before_last)


def _vagueness(one: _TimeMatch) -> tuple[bool, bool, timedelta, bool]:
    span = one.span
    length = span.until - span.since if span.since and span.until else timedelta.max
    return not span.certain, not (span.since or span.until), length, not (span.latest or span.earliest)


def _idle(one: _TimeMatch, plain: str) -> bool:
    """ "Recently" and "now" add nothing beside a date."""
    return one.span.since is not None or plain[one.start : one.end].lower() in vague.NOW_WORDS
