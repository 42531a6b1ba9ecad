"""What each page of the viewer shows, as plain data for JSON.

A page is a function of the caller's memory, the translator of the caller's language and the fields of the
request. Texts of memories go out as they are: the page writes them as text, never as HTML.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from nagori.app import Nagori
from nagori.config import Config
from nagori.core.decay import retention
from nagori.core.events import Event
from nagori.core.levels import entry_scores, levels_under
from nagori.core.model import (
    Filter,
    Kind,
    Level,
    Memory,
    Scope,
    Text,
    TurnFilter,
    parse_choice,
)
from nagori.core.value_object import replace
from nagori.edges.charts import DAY, life_series
from nagori.edges.cli.render import event_line, one_line, size
from nagori.edges.locale import Translator
from nagori.errors import InvalidInput
from nagori.services import audit_log
from nagori.services.cycle import compress_memories
from nagori.services.doctor import Finding
from nagori.services.edit_feedback_protect_link_forget_undo import UNDOABLE
from nagori.services.why_log_as_of_and_status import Explanation

Fields = Mapping[str, Any]  # of a request

ROW_LETTERS = 280  # characters of a memory in a list
PAGE_ROWS, MOST_ROWS = 100, 500
CURVE_AHEAD = 90  # days
MOST_EVENTS = 200  # of a history
ACTS_SHOWN = 20  # of the audit log
COPIES = ("backed_up", "restored", "exported")


# --- rows -----------------------------------------------------------------------------------------


def memory_row(memory: Memory, now: datetime, config: Config, zone: Any) -> dict[str, Any]:
    """A memory as a line of a list."""
    at = memory.created.astimezone(zone)
    return {
        "id": memory.id,
        "day": at.date().isoformat(),
        "time": f"{at:%H:%M}",
        "text": one_line(memory, ROW_LETTERS),
        "level": int(memory.level),
        "strength": round(retention(memory, now, config.retention, config.weekly)),
        "kind": str(memory.kind),
        "category": str(memory.category) if memory.category else None,
        "project": memory.project,
        "agent": memory.agent,
        "protected": memory.protected,
        "forgotten": memory.is_forgotten,
        "superseded": memory.superseded_by,
    }


def memory_rows(memory: Nagori, found: Sequence[Memory]) -> list[dict[str, Any]]:
    clock = memory.runtime.clock
    return [memory_row(each, clock.now(), memory.config, clock.zone) for each in found]


# --- the timeline ---------------------------------------------------------------------------------


def show_timeline(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """A page of memories, newest first; `after` is the place where the page before it ended."""
    limit = read_whole(fields, "limit", PAGE_ROWS, MOST_ROWS)
    seq = memory.runtime.journal.last_seq(memory.scope.owner)  # first: what comes meanwhile is told later
    found = memory.list(_filter(memory, fields), limit=limit, older_than=_place(fields.get("after")))
    last = found[-1] if len(found) == limit else None
    return {
        "rows": memory_rows(memory, found),
        "next": f"{last.created.isoformat()} {last.id}" if last else None,
        "seq": seq,
    }


def _filter(memory: Nagori, fields: Fields) -> Filter:
    """The filter that a request names. The archive is a level like others here."""
    level, kind = fields.get("level"), fields.get("kind")
    until = fields.get("until")
    return Filter(
        kinds=frozenset({parse_choice(Kind, kind, "kind")}) if kind else None,
        levels=frozenset({Level(read_whole(fields, "level", 1, 4))}) if level else None,
        protected=True if fields.get("protected") else None,
        until=_end_of_day(memory, until) if until else None,
        archived=True,
        forgotten=bool(fields.get("forgotten")),
    )


def _end_of_day(memory: Nagori, day: str) -> datetime:
    try:
        start = datetime.fromisoformat(f"{day}T00:00:00").replace(tzinfo=memory.runtime.clock.zone)
        return start + timedelta(days=1)
    except (ValueError, OverflowError):
        raise InvalidInput("until", "error.not_iso_time", value=day) from None


def _place(after: str | None) -> Memory | None:
    """Where a page starts, as a memory that need not exist any more: only its time and id are compared."""
    if not after:
        return None
    time, _, id = after.partition(" ")
    try:
        created = datetime.fromisoformat(time)
    except ValueError:
        raise InvalidInput("after", "error.not_iso_time", value=time) from None
    return Memory(id, created, created, {Level.FULL: Text("", "")})


def read_whole(fields: Fields, name: str, default: int, most: int) -> int:
    given = fields.get(name, default)
    try:
        number = int(given)
    except (TypeError, ValueError):
        raise InvalidInput(name, "error.not_whole", value=given) from None
    if not 1 <= number <= most:
        raise InvalidInput(name, "error.out_of_range", value=number)
    return number


# --- what a prompt is given -----------------------------------------------------------------------


def _as_hook(memory: Nagori) -> Nagori:
    """The memory as the agent sees it whose hooks ask."""
    scope, hooks = memory.scope, memory.config.hooks
    if not scope.is_user:
        return memory
    agent, role = hooks.agent or None, hooks.role or None
    return memory.with_scope(replace(scope, agent=agent, role=role, unnamed_agent=not (agent or role)))


def show_context(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """What the hook would give for a prompt, and why."""
    told = _as_hook(memory).explain_context(
        str(fields.get("prompt", "")),
        session=str(fields.get("session") or ""),
        project=fields.get("project") or None,
    )
    zone, time = memory.runtime.clock.zone, told.time
    rows = memory_rows(memory, [each.memory for each in told.candidates])
    return {
        "text": told.context.text,
        "silent": told.silent,
        "confidence": round(told.confidence, 4),
        "required": round(told.required, 4),
        "tokens": told.tokens,
        "budget": memory.config.retrieval.token_budget,
        "time": {
            "phrase": time.phrase,
            "since": minute(time.since, zone),
            "until": minute(time.until, zone),
            "certain": time.certain,
        }
        if time and (time.since or time.until)
        else None,
        "candidates": [
            {
                **row,
                "outcome": each.outcome,
                "confidence": None if each.confidence is None else round(each.confidence, 4),
                "tokens": each.tokens,
                "reasons": [translator.say(reason) for reason in each.reasons],
            }
            for row, each in zip(rows, told.candidates, strict=True)
        ],
    }


def minute(moment: datetime | None, zone: Any) -> str | None:
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M}" if moment else None


# --- one memory -----------------------------------------------------------------------------------


def show_memory(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """Everything about one memory."""
    why = memory.why(str(fields.get("id", "")))
    found, clock, config = why.memory, memory.runtime.clock, memory.config
    category = translator.category(found.category) if found.category else translator.kind(found.kind)
    forecast = [{"level": int(level), "day": _day(at, clock.zone)} for level, at in why.forecast]
    return {
        **memory_rows(memory, [found])[0],
        "version": found.version,
        "trigger": found.fullest.trigger,
        "content": found.fullest.content,
        "levels": list(_levels(found)),
        "facts": [
            translator("cli.intensity", intensity=found.emotion.intensity, category=category),
            translator.say(why.formula),
            translator("view.counted", mentions=found.mentions, recalls=found.recalls),
            *([translator("cli.never_fades")] if found.protected else []),
            *(_describe_archive(why, translator, clock.zone)),
        ],
        "forecast": forecast,
        "curve": _curve(memory, why),
        "history": list(_history(why, translator, clock.zone)),
        "links": [
            {
                "type": str(each.relation.type),
                "outward": each.relation.source == found.id,
                "row": memory_row(each.memory, clock.now(), config, clock.zone),
            }
            for each in memory.find_related(found.id)
        ],
        "sources": _sources(memory, found),
        "session": found.source.session,
        "speaker": found.source.speaker,
        "uri": found.source.uri,
        "trust": str(found.trust),
        "privacy": str(found.privacy),
        "role": found.role,
        "metadata": {str(key): str(value) for key, value in found.metadata.items()},
    }


def _day(moment: datetime, zone: Any) -> str:
    return moment.astimezone(zone).date().isoformat()


def _levels(found: Memory) -> Iterator[dict[str, Any]]:
    """The words at every level: those that are kept, and how rules would write the others."""
    for level in (Level.FULL, Level.SUMMARY, Level.TRACE):
        kept = found.texts.get(level)
        if kept is not None:
            words, state = kept, "kept"
        elif Level.FULL in found.texts:
            words, state = compress_memories(found, level), "planned"
        else:
            yield {"level": int(level), "state": "gone", "trigger": "", "content": ""}
            continue
        yield {"level": int(level), "state": state, "trigger": words.trigger, "content": words.content}


def _describe_archive(why: Explanation, translator: Translator, zone: Any) -> Iterator[str]:
    if entry := why.archive:
        reason = translator(f"archive.{entry.reason}")
        yield translator("archive.since", day=_day(entry.at, zone), reason=reason, score=entry.score)
        if entry.retention_until:
            yield translator("archive.until", day=_day(entry.retention_until, zone))


def _curve(memory: Nagori, why: Explanation) -> dict[str, Any] | None:
    """The strength from the beginning to some time from now, with recalls; times in seconds."""
    if not why.history:
        return None
    found, now = why.memory, memory.runtime.clock.now()
    start = min(found.created, now)
    days = max((now - start) / DAY, 0.0) + CURVE_AHEAD
    series = life_series(found.id, why.history, memory.config, start, days, max(days / 300, 0.05))
    levels = entry_scores(levels_under(memory.config.retention.law, memory.config.levels))
    begins = start.timestamp()
    return {
        "times": [round(begins + point.day * 86_400) for point in series.points],
        "scores": [round(point.score, 2) for point in series.points],
        "recalls": [[round(begins + point.day * 86_400), round(point.score, 2)] for point in series.marks],
        "now": round(now.timestamp()),
        "levels": [[int(level), score] for level, score in levels.items()],
    }


def standing_changes(history: Sequence[Event]) -> list[Event]:
    """The changes that `undo` can take back one after the other, last first."""
    undone = {event.data["seq"] for event in history if event.type == "undone"}
    return [e for e in reversed(history[1:]) if e.type in UNDOABLE and e.seq not in undone]


def _history(why: Explanation, translator: Translator, zone: Any) -> Iterator[dict[str, Any]]:
    """What happened, newest first. `undo` is the number of changes to take back to be before a step."""
    undone = {event.data["seq"] for event in why.history if event.type == "undone"}
    steps = {event.seq: n for n, event in enumerate(standing_changes(why.history), 1)}
    for event in list(reversed(why.history))[:MOST_EVENTS]:
        yield {
            "seq": event.seq,
            "type": event.type,
            "words": event_line(event, translator, zone),
            "by": event.by,
            "undo": steps.get(event.seq, 0),
            "undone": event.seq in undone,
        }


def _sources(memory: Nagori, found: Memory) -> list[dict[str, Any]]:
    """The recorded turns that it was formed from. They are the user's own; an agent is not shown them."""
    scope = memory.scope
    if not scope.is_user:
        return []
    store, zone = memory.runtime.store, memory.runtime.clock.zone
    seqs = sorted({seq for id, seq in store.origins(scope.owner, [found.id]) if id == found.id})
    turns = store.turns(scope.owner, TurnFilter(seqs=tuple(seqs))) if seqs else []
    return [
        {
            "at": minute(turn.at, zone),
            "role": turn.role,
            "speaker": turn.speaker,
            "session": turn.session,
            "host": turn.host,
            "text": turn.text,
        }
        for turn in turns
    ]


# --- health ---------------------------------------------------------------------------------------


def show_health(memory: Nagori, translator: Translator, more: Sequence[Finding]) -> dict[str, Any]:
    """What the doctor finds, and which copies were made. `more` are findings about this machine."""
    status, zone = memory.status(), memory.runtime.clock.zone
    findings = [*memory.doctor(), *more]
    order = ("fail", "warn", "ok")
    acts = [entry for entry in audit_log.read(memory.runtime.data_dir) if entry.act in COPIES]
    return {
        "findings": [
            {
                "name": translator(f"doctor.name_{each.name.replace(' ', '_')}"),
                "state": each.state,
                "detail": translator.say(each.seen),
                "advice": translator.say(each.remedy) if each.remedy else None,
            }
            for each in sorted(findings, key=lambda each: order.index(each.state))
        ],
        "copies": [
            {
                "at": minute(datetime.fromisoformat(entry.at), zone),
                "act": translator(f"audit.{entry.act}"),
                "size": size(entry.detail["bytes"]) if "bytes" in entry.detail else None,
            }
            for entry in reversed(acts[-ACTS_SHOWN:])
        ],
        "trouble": translator.say(status.trouble) if status.trouble else None,
        "folder": str(status.data_dir),
        "store": size(status.store_bytes),
        "journal": size(status.journal_bytes),
        "events": status.events,
        "embedder": status.embedder,
        "llm": status.llm,
    }


# --- the frame ------------------------------------------------------------------------------------


def show_frame(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """What the frame around every page needs; nothing is counted for it."""
    scope: Scope = memory.scope
    return {
        "user": scope.user,
        "tenant": scope.tenant,
        "kinds": [str(kind) for kind in Kind],
        "whole": scope.is_whole,
    }
