"""Inspect memories and stores: explanation, history, status and statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

from nagori.core import decay
from nagori.core.events import CYCLE_STOPPED, EFFECTS, WAITING_WISHES, Event, fold
from nagori.core.levels import ACTIVE, Archive, Tier, entry_scores, levels_under, tier_of
from nagori.core.memory_scores import ImportanceTerms, importance
from nagori.core.model import ALIVE, Filter, Level, Memory, Recollection, Relation, Scope, utc
from nagori.core.storage_types import Counts, LogEntry, Measures
from nagori.core.value_object import Value, check_kind, check_whole, replace, split_batches
from nagori.core.visibility import can_see, matches_filter
from nagori.errors import InvalidInput, Notice
from nagori.messages import ENGLISH, find, render
from nagori.runtime import Runtime
from nagori.services.edit_feedback_protect_link_forget_undo import describe_change, read_version
from nagori.services.explain_ranking_and_context import explain_ranking
from nagori.services.importance_factors import terms_of
from nagori.services.recall import RecallRequest, recall
from nagori.services.redact_journal_and_compact_store import store_bytes
from nagori.services.related_memories_and_stale_links import find_related

FOLD_AT_ONCE = 1000  # events
MOST_DAYS = 36_525  # a century
LOG_AT_ONCE = 500  # lines of the log that are read first

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ArchiveEntry(Value):
    """Why and since when a memory is archived, what was saved, and how long its full words are kept [L4]."""

    at: datetime
    reason: str  # low_importance, capacity_limit or manual
    score: float  # its retention when it was archived
    original_bytes: int
    compressed_bytes: int
    retention_until: datetime | None  # the full words are kept until then; None: for ever, or gone already

    @property
    def ratio(self) -> float:
        """The share of bytes that is saved."""
        return 1 - self.compressed_bytes / self.original_bytes if self.original_bytes else 0.0


class LifeEvent(Value):
    """One line of the life-cycle log: an event, and the memories that it touched."""

    event: Event
    memories: Sequence[str]


class Explanation(Value):
    """The retention of a memory, its history and its forecast."""

    memory: Memory
    retention: float
    days: float
    tier: Tier
    forecast: list[tuple[Level, datetime]]
    history: list[Event]
    relations: list[Relation]
    recollection: Recollection | None = None
    rank: int | None = None  # its place among all answers to the question, however unsure
    decided: Sequence[Notice] = ()  # what decided its place, in words
    archive: ArchiveEntry | None = None
    importance: ImportanceTerms = ImportanceTerms()
    curve: decay.Curve = decay.Curve(0.0, 1.0)  # what `retention` is read from, at `days`

    @property
    def formula(self) -> Notice:
        """How the retention comes from the age, by the law in force."""
        daily = min(1.0, self.curve.rate) ** (1 / self.curve.period)
        values = {"start": self.curve.start, "rate": daily, "days": self.days}
        return Notice("cli.formula", retention=self.retention, **values)

    def __str__(self) -> str:
        """Its strength, its forecast and its history in English, with times in UTC."""
        memory = self.memory
        category = _word("category", memory.category) if memory.category else _word("kind", memory.kind)
        lines = [
            repr(memory),
            f"{_say('column.strength')} {self.retention:.0f}, {_say(f'level.name{int(memory.level)}')}",
            _say("cli.intensity", intensity=memory.emotion.intensity, category=category),
            str(self.formula),
            _say("cli.importance", importance=importance(self.importance), **vars(self.importance)),
            *([_say("cli.never_fades")] if memory.protected else []),
            *(f"{_say(f'level.fades{int(level)}')}: {at:%Y-%m-%d}" for level, at in self.forecast),
            f"{_say('cli.history')}:",
            *(f"  {event.at:%Y-%m-%d %H:%M}  {_word('event', event.type)}" for event in self.history),
        ]
        return "\n".join(lines)


class Status(Value):
    """Counts, sizes and health of an owner's memory."""

    data_dir: Path
    counts: Counts
    store_bytes: int
    journal_bytes: int
    events: int
    last_event: datetime | None
    embedder: str | None
    law: str
    llm: str | None = None  # the language model in use, if any
    unjudged: int = 0  # memories that wait for its appraisal
    spent: float = 0.0  # dollars, today
    trouble: Notice | None = None  # its last failure, until it answers again
    capacity: int = 0  # the number of active memories that the owner may have
    waiting_wishes: int = 0  # wishes of the user that could not be granted yet
    stopped_moves: int = 0  # memories that the next cycle would move, if somebody confirms it

    @property
    def active(self) -> int:
        """The number of memories that count towards the capacity: all but the archive."""
        return sum(self.counts.levels.get(int(level), 0) for level in ACTIVE)

    @property
    def usage(self) -> float:
        """The share of the capacity that is used [L6]."""
        return self.active / self.capacity if self.capacity else 0.0

    def __str__(self) -> str:
        """The counts and the parts in use, in English; counts of 0 are left out."""
        counts = self.counts
        levels = ", ".join(f"{_say(f'level.name{int(level)}')} {n:,}" for level, n in counts.levels.items())
        rows = {
            "status.total": f"{counts.total:,}" + (f" ({levels})" if levels else ""),
            "status.protected": counts.protected,
            "status.forgotten": counts.forgotten,
            "status.superseded": counts.superseded,
            "status.waiting": counts.unembedded,
            "status.events": f"{self.events:,}",
            "status.embedder": self.embedder or _say("status.none"),
            "status.llm": self.llm,
            "status.llm_trouble": self.trouble,
            "status.folder": self.data_dir,
        }
        return "\n".join(f"{_say(id).strip()}: {value}" for id, value in rows.items() if value)


def _say(id: str, **values: object) -> str:
    return render(id, values)


def _word(table: str, name: str) -> str:
    """The word for a name; one without an entry in the catalogue is its own word."""
    return find(f"{table}.{name}", ENGLISH) or name


def why(runtime: Runtime, scope: Scope, id: str, query: str | None = None) -> Explanation:
    """The explanation of a memory; with `query`, also its ranking for that query."""
    runtime.ledger.catch_up(scope.owner)
    memory, now = read_version(runtime, scope, id), runtime.clock.now()
    config = runtime.config
    recollection, rank = None, None
    if query is not None:
        answers = recall(runtime, scope, RecallRequest(query, k=50, min_confidence=0.0, mark=False))
        rank = next((n for n, found in enumerate(answers, 1) if found.memory.id == memory.id), None)
        recollection = answers[rank - 1] if rank else None
    days = decay.memory_days(memory, now)
    levels = levels_under(config.retention.law, config.levels)
    strength = decay.retention(memory, now, config.retention, config.weekly)
    history = describe_change(runtime, scope, memory.id)
    return Explanation(
        memory=memory,
        retention=strength,
        curve=decay.LAWS[config.retention.law].curve(memory, config.weekly),
        days=days,
        tier=tier_of(days, config.tiers),
        forecast=decay.forecast(memory, now, entry_scores(levels), config.retention, config.weekly),
        history=history,
        relations=[each.relation for each in find_related(runtime, scope, [memory.id])],
        recollection=recollection,
        rank=rank,
        decided=explain_ranking(recollection) if recollection else [],
        archive=_archive_entry(memory, strength, history, config.archive),
        importance=terms_of(runtime, scope, [memory])[memory.id],
    )


def _archive_entry(
    memory: Memory, score: float, history: Sequence[Event], rules: Archive
) -> ArchiveEntry | None:
    """The entry of an archived memory; None for others."""
    if memory.archived_at is None:
        return None
    sizes = [int(event.data["before"]) for event in history if isinstance(event.data.get("before"), int)]
    whole = Level.FULL in memory.texts
    kept = len(memory.text.whole.encode())
    return ArchiveEntry(
        at=memory.archived_at,
        reason=memory.archive_reason or "manual",
        score=score,
        original_bytes=len(memory.fullest.whole.encode()) if whole else max([*sizes, kept]),
        compressed_bytes=kept,
        retention_until=retention_until(memory, rules),
    )


def retention_until(memory: Memory, rules: Archive) -> datetime | None:
    """Until when the full words of an archived memory are kept; None if no time is set for them."""
    if memory.archived_at is None or memory.protected or Level.FULL not in memory.texts:
        return None
    return memory.archived_at + timedelta(days=rules.grace_days)


def log(
    runtime: Runtime,
    scope: Scope,
    types: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    id: str | None = None,
    limit: int = 50,
) -> list[LifeEvent]:
    """The life-cycle log, newest first: the events of these types and of this time [L7]."""
    check_whole("limit", limit, 1)
    unknown = next((type for type in types if type not in EFFECTS), None)
    if unknown is not None:
        raise InvalidInput("type", "error.not_choice", value=unknown, choices=", ".join(sorted(EFFECTS)))
    runtime.ledger.catch_up(scope.owner)
    one = read_version(runtime, scope, id).id if id is not None else None
    found: list[LifeEvent] = []
    looked, entries = 0, LOG_AT_ONCE
    while len(found) < limit:
        page = runtime.store.history(scope.owner, one, entries)
        newest = sorted(page, key=lambda entry: -entry.seq)[looked:]
        wanted = (entry for entry in newest if not types or entry.type in types)
        within = (entry for entry in wanted if _is_within(entry.at, since, until))
        seen = ((entry.seq, ids) for entry in within if (ids := _visible_memories(runtime, scope, entry)))
        found += _read_log(runtime, scope, dict(islice(seen, limit - len(found))))
        looked += len(newest)
        if len(page) < entries or (since is not None and newest and newest[-1].at < since):
            break
        entries *= 4
    return found[:limit]


def _is_within(at: datetime, since: datetime | None, until: datetime | None) -> bool:
    return (since is None or at >= since) and (until is None or at < until)


def _visible_memories(runtime: Runtime, scope: Scope, entry: LogEntry) -> Sequence[str]:
    """The memories in a line of the log that the scope may see. What was deleted belongs to the owner
    alone."""
    if scope.is_whole:
        return [id for id in entry.memories if not id.startswith("turn_")]
    return [memory.id for memory in runtime.store.get(scope, entry.memories)]


def _read_log(runtime: Runtime, scope: Scope, seen: Mapping[int, Sequence[str]]) -> list[LifeEvent]:
    """The events with these numbers, newest first, and the memories in each."""
    events = [*runtime.ledger.read_events(scope.owner, [*seen])]
    return [LifeEvent(event, seen[event.seq]) for event in reversed(events)]


def as_of(runtime: Runtime, scope: Scope, moment: datetime, filter: Filter = ALIVE) -> list[Memory]:
    """The memories as they were at a past moment, newest first, from the journal."""
    then = utc(moment, "as_of")
    check_kind("filter", filter, Filter)
    runtime.ledger.catch_up(scope.owner)
    known: dict[str, Memory] = {}
    # Read to the end: an event with a clock that was ahead must not hide later ones.
    past = (event for event in runtime.journal.read(scope.owner) if event.at <= then)
    for bundle in split_batches(past, FOLD_AT_ONCE):
        outcome = fold(bundle, known)
        known |= outcome.memories
        for id in outcome.erased:
            known.pop(id, None)
    seen = [memory for memory in known.values() if can_see(scope, memory) and matches_filter(filter, memory)]
    shown = _as_visible_today(runtime, scope, seen)
    return sorted(shown, key=lambda memory: (memory.created, memory.id), reverse=True)


def _as_visible_today(runtime: Runtime, scope: Scope, memories: list[Memory]) -> Iterator[Memory]:
    """The memories that the scope may see today: what was made private or deleted since stays hidden in the
    past, and purged words are replaced by what is left."""
    for bundle in split_batches(memories, FOLD_AT_ONCE):
        today = {memory.id: memory for memory in runtime.store.get(scope, [memory.id for memory in bundle])}
        for memory in bundle:
            if memory.id in today:
                left = today[memory.id].text
                texts = {level: text if text.whole else left for level, text in memory.texts.items()}
                yield memory if texts == memory.texts else replace(memory, texts=texts)


def status(runtime: Runtime, scope: Scope) -> Status:
    """The status of an owner's memory."""
    runtime.ledger.catch_up(scope.owner)
    embedder = runtime.embedder_for(scope.owner)
    newest = runtime.store.history(scope.owner, limit=1)
    return Status(
        data_dir=runtime.data_dir,
        counts=runtime.store.count(scope, embedder.model if embedder else None),
        store_bytes=store_bytes(runtime),
        journal_bytes=runtime.journal.size(scope.owner),
        events=runtime.journal.last_seq(scope.owner),
        last_event=newest[0].at if newest else None,
        embedder=embedder.model if embedder else None,
        law=runtime.config.retention.law,
        capacity=runtime.config.capacity.limit,
        waiting_wishes=len(runtime.store.state(scope.owner, WAITING_WISHES) or ()),
        stopped_moves=int((runtime.store.state(scope.owner, CYCLE_STOPPED) or {}).get("moves", 0)),
        **_model(runtime, scope),
    )


def _model(runtime: Runtime, scope: Scope) -> dict[str, Any]:
    """Status of the language model; empty if none is configured."""
    if runtime.llm is None:
        return {}
    from nagori.services.llm.appraise import estimate
    from nagori.services.llm.failure_counts_and_batch_size import ModelHealth

    today = runtime.clock.now().date()
    return {
        "llm": runtime.llm.model,
        "unjudged": estimate(runtime, scope.owner).memories if runtime.config.llm.appraise else 0,
        "spent": sum(asked.usd for asked in runtime.spend.asked(today)),
        "trouble": ModelHealth.of(runtime, scope.owner).trouble,
    }


def measure(runtime: Runtime, scope: Scope) -> Measures:
    """Statistics that need a pass over all memories; for monitors, not for status bars."""
    runtime.ledger.catch_up(scope.owner)
    return runtime.store.measure(scope, runtime.clock.now(), runtime.config.tiers)
