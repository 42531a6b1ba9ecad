"""Measure a user's memories per day and their sizes, as input for cost estimates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from statistics import fmean

from nagori.core.cost_estimate import Usage
from nagori.core.model import Filter, Level, Memory, Scope, Text, days_between
from nagori.language.passages import about_tokens
from nagori.runtime import Runtime

WINDOW = timedelta(days=30)
PAGE = 1000


def usage(runtime: Runtime, scope: Scope) -> Usage | None:
    """Memories per day and their mean sizes over the last 30 days; None without data.

    Forgotten memories count, because forming them cost as much. Sizes that do not occur yet (no memory is
    compressed so far) are the defaults, but never larger than the memory.
    """
    runtime.ledger.catch_up(scope.owner)
    now = runtime.clock.now()
    since = now - WINDOW
    recent = list(_all(runtime, scope, Filter(since=since, archived=True, forgotten=True)))
    if not recent:
        return None
    before = runtime.store.find(scope, Filter(until=since, archived=True, forgotten=True), limit=1)
    days = WINDOW.days if before else max(1.0, days_between(recent[-1].created, now))
    whole = [text.whole for text in _texts(recent, Level.FULL)] or [m.text.whole for m in recent]
    full = fmean(map(len, whole))
    usual = Usage()
    return Usage(
        per_day=len(recent) / days,
        full=full,
        summary=_mean(_texts(recent, Level.SUMMARY), min(usual.summary, full)),
        trace=_mean(_texts(recent, Level.TRACE), min(usual.trace, full)),
        tokens_a_character=sum(map(about_tokens, whole)) / max(1, sum(map(len, whole))),
    )


def _all(runtime: Runtime, scope: Scope, filter: Filter) -> Iterator[Memory]:
    last: Memory | None = None
    while page := runtime.store.find(scope, filter, limit=PAGE, older_than=last):
        yield from page
        last = page[-1]


def _texts(memories: Sequence[Memory], level: Level) -> list[Text]:
    return [memory.texts[level] for memory in memories if level in memory.texts]


def _mean(texts: Sequence[Text], otherwise: float) -> float:
    return fmean(len(text.whole) for text in texts) if texts else otherwise
