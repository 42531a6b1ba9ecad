"""Render results: JSON for programs, tables and sentences for people."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text as Styled

from nagori.core.cost_estimate import STAGES, Bill
from nagori.core.events import Event
from nagori.core.knowledge_base import DocumentInfo, KnowledgePassage
from nagori.core.memory_scores import importance
from nagori.core.model import Level, Memory, Recollection, Text
from nagori.core.serialize import relation_record, to_record
from nagori.core.spreading_activation import Topic
from nagori.edges.locale import Translator
from nagori.services.doctor import Finding
from nagori.services.why_log_as_of_and_status import ArchiveEntry, Explanation, LifeEvent, Status
from nagori.spend import SpendDay

COLOURS = {Level.FULL: "bold", Level.SUMMARY: "cyan", Level.TRACE: "blue", Level.ARCHIVED: "bright_black"}
MARKS = {"ok": "[green]✓[/]", "warn": "[yellow]![/]", "fail": "[red]✗[/]"}
BAR = "▏▎▍▌▋▊▉█"


def one_line(memory: Memory, width: int = 200, text: Text | None = None) -> str:
    """Trigger and content on one line [E22], cut where it gets too long; of `text` instead of the words that
    the memory's level shows."""
    shown = text or memory.text
    halves = (" ".join(half.split()) for half in (shown.trigger, shown.content) if half)
    said = " → ".join(halves)
    if memory.source.speaker:
        said = f"{memory.source.speaker}: {said}"
    return said if len(said) <= width else said[: width - 1] + "…"


def day(moment: datetime, zone: tzinfo) -> str:
    return moment.astimezone(zone).strftime("%Y-%m-%d")


def bar(value: float, width: int = 10) -> str:
    """A bar of `value` in 0–100, in eighths of a character."""
    eighths = round(max(0.0, min(100.0, value)) / 100 * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (BAR[rest - 1] if rest else "")


def badges(memory: Memory) -> str:
    signs = {"🔒": memory.protected, "⊘": memory.superseded_by is not None, "✗": memory.is_forgotten}
    return "".join(sign for sign, shown in signs.items() if shown)


def topic_table(topics: Sequence[Topic], translator: Translator) -> Table:
    """Topics with their strength, and how many memories mention each."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("topic", "strength", "steps", "mentions"):
        table.add_column(translator(f"column.{heading}"), no_wrap=True)
    for topic in topics:
        strength = 100 * topic.strength
        table.add_row(
            escape(topic.name), f"{bar(strength)} {strength:.0f}", str(topic.steps), str(len(topic.memories))
        )
    return table


def passage_view(passage: KnowledgePassage) -> RenderableType:
    """A passage under its source."""
    source = Styled(f"{passage.source} (v{passage.version}, {passage.confidence:.0%})", style="cyan")
    return Group(source, Styled(passage.text), Styled(""))


def passage_json(passage: KnowledgePassage) -> dict[str, Any]:
    return {name: getattr(passage, name) for name in PASSAGE_FIELDS}


PASSAGE_FIELDS = ("base", "document", "version", "heading", "page", "source", "text", "score", "confidence")


def document_table(documents: Sequence[DocumentInfo], translator: Translator, zone: tzinfo) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("base", "document", "version", "passages", "when"):
        table.add_column(translator(f"column.{heading}"), overflow="fold")
    for each in documents:
        counts = (str(each.version), str(each.passages))
        table.add_row(escape(each.base), escape(each.name), *counts, day(each.added, zone))
    return table


def document_json(document: DocumentInfo) -> dict[str, Any]:
    fields = {name: getattr(document, name) for name in ("base", "name", "version", "passages", "digest")}
    return {**fields, "added": document.added.isoformat()}


Row = tuple[Memory, float, float | None]
InFull = Collection[str]  # ids of memories of which the fullest words are told
NARROW = 72  # columns


def memory_table(
    rows: Sequence[Row],
    translator: Translator,
    zone: tzinfo,
    *,
    answers: bool = False,
    in_full: InFull = (),
) -> Table:
    """Memories with their strength and, for answers to a question, the confidence in each. The project is a
    column of its own where there is more than one."""
    projects = len({memory.project for memory, _, _ in rows}) > 1
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("id", *(translator(f"column.{name}") for name in ("when", "level", "strength"))):
        table.add_column(heading, no_wrap=True)
    if answers:
        table.add_column(translator("column.confidence"), justify="right")
    if projects:
        table.add_column(translator("column.project"), overflow="ellipsis", max_width=16, no_wrap=True)
    table.add_column(translator("column.memory"), overflow="fold")
    for memory, strength, confidence in rows:
        table.add_row(
            *_cells(memory, strength, translator, zone),
            *([_percent(confidence)] if answers else []),
            *([escape(memory.project or "")] if projects else []),
            _told(memory, in_full),
        )
    return table


def _told(memory: Memory, in_full: InFull) -> str:
    text = memory.fullest if memory.id in in_full else memory.text
    return f"{escape(one_line(memory, text=text))} {badges(memory)}"


def _cells(memory: Memory, strength: float, translator: Translator, zone: tzinfo) -> list[str]:
    style = COLOURS[memory.level]
    return [
        f"[dim]{memory.id}[/]",
        day(memory.created, zone),
        f"[{style}]{translator(f'level.name{int(memory.level)}')}[/]",
        f"[green]{bar(strength)}[/] {strength:.0f}",
    ]


def _percent(share: float | None) -> str:
    """A confidence as people read it; what was found by a relation alone has none."""
    return "–" if share is None else f"{share:.0%}"


def memory_list(
    rows: Sequence[Row],
    translator: Translator,
    zone: tzinfo,
    width: int,
    *,
    answers: bool = False,
    in_full: InFull = (),
) -> RenderableType:
    """A table; in a narrow terminal some lines for each memory, because a column for its text has no room."""
    if width >= NARROW:
        return memory_table(rows, translator, zone, answers=answers, in_full=in_full)
    lines: list[RenderableType] = []
    for memory, strength, confidence in rows:
        id, when, level, _ = _cells(memory, strength, translator, zone)
        shares = [f"{strength:.0f}", *([_percent(confidence)] if answers else [])]
        lines.append(Styled.from_markup(" ".join([id, when])))
        lines.append(
            Styled.from_markup(f"  {level} {' '.join(shares)} {escape(memory.project or '')}".rstrip())
        )
        lines.append(Styled.from_markup(f"  {_told(memory, in_full)}"))
    return Group(*lines)


def recollection_json(found: Recollection) -> dict[str, Any]:
    sure = found.confidence
    return {
        "score": round(found.score, 6),
        "confidence": None if sure is None else round(sure, 6),
        "retention": round(found.retention, 3),
        "terms": {name: round(value, 6) for name, value in found.terms.items()},
        "text": found.text,
        "memory": to_record(found.memory),
    }


def memory_view(
    memory: Memory, strength: float, translator: Translator, zone: tzinfo, width: int
) -> RenderableType:
    """One memory, whole."""
    head = memory_list([(memory, strength, None)], translator, zone, width)
    parts: list[RenderableType] = [head]
    for level, text in sorted(memory.texts.items()):
        label = Styled(f"\n{translator(f'level.name{int(level)}')}", style=COLOURS[level])
        parts += [label, Styled(f"{text.trigger}\n→ {text.content}" if text.trigger else text.content)]
    if memory.metadata:
        table = "\n".join(f"{key}: {value}" for key, value in memory.metadata.items())
        parts.append(Styled(f"\n{table}", style="dim"))
    return Group(*parts)


def explanation_json(why: Explanation) -> dict[str, Any]:
    return {
        "memory": to_record(why.memory),
        "retention": round(why.retention, 3),
        "days": round(why.days, 6),
        "tier": str(why.tier),
        "forecast": [{"level": int(level), "at": at.isoformat()} for level, at in why.forecast],
        "history": [event_json(event) for event in why.history],
        "relations": [relation_record(relation) for relation in why.relations],
        "recollection": recollection_json(why.recollection) if why.recollection else None,
        "rank": why.rank,
        "decided": [str(notice) for notice in why.decided],
        "archive": _archive_json(why.archive) if why.archive else None,
        "importance": {
            "score": round(importance(why.importance), 4),
            **{name: round(value, 4) for name, value in vars(why.importance).items()},
        },
    }


def _archive_json(entry: ArchiveEntry) -> dict[str, Any]:
    until = entry.retention_until
    return {
        "at": entry.at.isoformat(),
        "reason": entry.reason,
        "final_score": round(entry.score, 3),
        "original_bytes": entry.original_bytes,
        "compressed_bytes": entry.compressed_bytes,
        "compression_ratio": round(entry.ratio, 4),
        "retention_until": until.isoformat() if until else None,
    }


# What an event says beside its words: numbers, times and reasons.
DETAILS = (
    *("score_before", "score_after", "score", "before", "after", "level", "reason", "coefficient", "recalls"),
    *("anchor", "keep_until", "until", "feedback", "target", "type", "by"),
)
REASONED = frozenset({"compressed", "archived", "revived", "revival_deferred", "purged", "deleted"})
REASONS = frozenset(
    {"score", "ratio", "tier", "capacity", "manual", "wished", "no_room", "grace_over", "expired"}
)
MOST_IDS = 3  # memories that are named for one event of the log


def event_json(event: Event) -> dict[str, Any]:
    plain = {"seq": event.seq, "type": event.type, "at": event.at.isoformat(), "by": event.by}
    details = {name: event.data[name] for name in DETAILS if name in event.data}
    return {**plain, "details": details} if details else plain


def event_line(event: Event, translator: Translator, zone: tzinfo) -> str:
    """When, what, and the numbers before and after."""
    data = event.data
    told = [f"{event.at.astimezone(zone):%Y-%m-%d %H:%M}  {translator.event(_event_name(event))}"]
    if "score_before" in data and "score_after" in data:
        values = {"before": data["score_before"], "after": data["score_after"]}
        told.append(translator("log.score_change", **values))
    elif "score" in data:
        told.append(translator("log.score", score=data["score"]))
    if isinstance(data.get("before"), int) and isinstance(data.get("after"), int):
        told.append(translator("log.bytes", before=data["before"], after=data["after"]))
    if event.type in REASONED and data.get("reason") in REASONS:
        told.append(translator(f"cause.{data['reason']}"))
    return "  ".join(told)


def log_view(found: Iterable[LifeEvent], translator: Translator, zone: tzinfo) -> RenderableType:
    """The life-cycle log, a line for each event."""
    lines = (
        f"{event_line(each.event, translator, zone)}  {' '.join(each.memories[:MOST_IDS])}"
        + (f" +{len(each.memories) - MOST_IDS}" if len(each.memories) > MOST_IDS else "")
        for each in found
    )
    return Group(*(Styled(line) for line in lines))


def _event_name(event: Event) -> str:
    """A judgement is kept as an edit, but nobody's words were corrected."""
    judgement = event.data.get("feedback")
    return f"thumb_{judgement}" if judgement in ("up", "down") else event.type


def explanation_view(
    why: Explanation, translator: Translator, zone: tzinfo, asked: bool, width: int
) -> RenderableType:
    """Why a memory is as strong as it is, when it will fade, what happened to it."""
    memory = why.memory
    category = translator.category(memory.category) if memory.category else translator.kind(memory.kind)
    parts: list[RenderableType] = [
        memory_list([(memory, why.retention, None)], translator, zone, width),
        Styled(f"\n{translator('cli.intensity', intensity=memory.emotion.intensity, category=category)}"),
        Styled(translator.say(why.formula)),
        Styled(
            translator("cli.importance", importance=importance(why.importance), **vars(why.importance)),
            style="dim",
        ),
    ]
    if memory.protected:
        parts.append(Styled(translator("cli.never_fades"), style="green"))
    parts += [
        Styled(f"{translator(f'level.fades{int(level)}')}: {day(at, zone)}", style=COLOURS[level])
        for level, at in why.forecast
    ]
    if why.archive:
        parts += _archive_lines(why.archive, translator, zone)
    if asked:
        parts += _explain_place(why, translator)
    parts.append(Styled(f"\n{translator('cli.history')}", style="dim"))
    parts += [Styled(f"  {event_line(event, translator, zone)}") for event in why.history]
    parts += [Styled(f"  {r.source} —{r.type}→ {r.target}", style="dim") for r in why.relations]
    return Group(*parts)


def _archive_lines(entry: ArchiveEntry, translator: Translator, zone: tzinfo) -> Sequence[RenderableType]:
    style = COLOURS[Level.ARCHIVED]
    values = {"day": day(entry.at, zone), "reason": translator(f"archive.{entry.reason}")}
    told = [translator("archive.since", **values, score=entry.score)]
    sizes = {"before": entry.original_bytes, "after": entry.compressed_bytes, "ratio": entry.ratio}
    told.append(translator("archive.sizes", **sizes))
    if entry.retention_until:
        told.append(translator("archive.until", day=day(entry.retention_until, zone)))
    return [Styled(line, style=style) for line in told]


def _explain_place(why: Explanation, translator: Translator) -> Sequence[RenderableType]:
    """What decided the place of a memory among the answers, in words; `--json` has the numbers."""
    found = why.recollection
    if found is None:
        return [Styled(f"\n{translator('cli.not_found_by')}", style="yellow")]
    place = translator("why.place", rank=why.rank, confidence=_percent(found.confidence))
    return [Styled(f"\n{place}"), *(Styled(f"  {translator.say(notice)}") for notice in why.decided)]


def status_json(status: Status) -> dict[str, Any]:
    counts = status.counts
    return {
        "data_dir": str(status.data_dir),
        "memories": counts.total,
        "levels": {str(level): n for level, n in counts.levels.items()},
        "protected": counts.protected,
        "forgotten": counts.forgotten,
        "superseded": counts.superseded,
        "unembedded": counts.unembedded,
        "events": status.events,
        "last_event": status.last_event.isoformat() if status.last_event else None,
        "store_bytes": status.store_bytes,
        "journal_bytes": status.journal_bytes,
        "embedder": status.embedder,
        "law": status.law,
        "llm": status.llm,
        "unjudged": status.unjudged,
        "spent_today_usd": status.spent,
        "model_trouble": str(status.trouble) if status.trouble else None,
        "active": status.active,
        "capacity": status.capacity,
        "capacity_usage": round(status.usage, 6),
        "waiting_wishes": status.waiting_wishes,
        "stopped_moves": status.stopped_moves,
    }


def status_line(status: Status, translator: Translator) -> str:
    """The counts that matter at a glance; those that are 0 are left out."""
    counts = status.counts
    parts = [
        ("status.line_protected", counts.protected),
        ("status.line_waiting", counts.unembedded),
    ]
    total = "status.line_memory" if counts.total == 1 else "status.line_memories"
    told = [translator(total, n=f"{counts.total:,}")]
    told += [translator(name, n=f"{n:,}") for name, n in parts if n]
    if status.llm:
        told.append(
            translator("status.line_llm", usd=dollars(status.spent), trouble=" !" if status.trouble else "")
        )
    return f"nagori {' · '.join(told)}"


def status_view(status: Status, translator: Translator, zone: tzinfo) -> RenderableType:
    counts = status.counts
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    levels = "  ".join(
        f"[{COLOURS[Level(level)]}]{translator(f'level.name{level}')} {n:,}[/]"
        for level, n in counts.levels.items()
    )
    table.add_row(translator("status.total"), f"{counts.total:,}   {levels}")
    used = translator("status.of_capacity", n=status.active, limit=status.capacity, share=status.usage)
    table.add_row(translator("status.capacity"), used)
    for name, n in (
        ("status.wishes", status.waiting_wishes),
        ("status.stopped", status.stopped_moves),
        ("status.protected", counts.protected),
        ("status.forgotten", counts.forgotten),
        ("status.superseded", counts.superseded),
        ("status.waiting", counts.unembedded),
    ):
        if n:
            table.add_row(translator(name), f"{n:,}")
    last = f"  ({status.last_event.astimezone(zone):%Y-%m-%d %H:%M})" if status.last_event else ""
    table.add_row(translator("status.events"), f"{status.events:,}{last}")
    table.add_row(translator("status.sizes"), f"{size(status.store_bytes)} / {size(status.journal_bytes)}")
    table.add_row(translator("status.embedder"), status.embedder or translator("status.none"))
    if status.llm:
        told = translator(
            "status.llm_today", model=status.llm, usd=dollars(status.spent), n=f"{status.unjudged:,}"
        )
        table.add_row(translator("status.llm"), escape(told))
    if status.trouble:
        table.add_row(translator("status.llm_trouble"), f"[red]{escape(translator.say(status.trouble))}[/]")
    table.add_row(translator("status.folder"), escape(str(status.data_dir)))
    return table


def spend_table(days: Iterable[SpendDay], translator: Translator) -> RenderableType:
    """Each day's questions by stage and model, and what they cost."""
    table = Table(box=None)
    for name in ("day", "stage", "model", "questions", "faults", "tokens_in", "tokens_out", "usd"):
        left = name in ("day", "stage", "model")
        table.add_column(translator(f"column.{name}"), justify="left" if left else "right")
    for day in days:
        for (stage, model), each in sorted(day.sums.items()):
            numbers = (each.questions, each.faults, each.input_tokens, each.output_tokens)
            told = (f"{n:,}" for n in numbers)
            table.add_row(
                day.day.isoformat(), translator(f"stage.{stage}"), escape(model), *told, dollars(each.usd)
            )
    return table


def settings_view(rows: Iterable[tuple[str, object, str]], translator: Translator) -> RenderableType:
    """Every setting with where its value came from; those that somebody chose stand out."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("key", "value", "origin"):
        table.add_column(translator(f"column.{name}"), overflow="fold")
    for key, value, origin in rows:
        style = "" if origin == "default" else "bold"
        table.add_row(key, str(value), f"[dim]{origin}[/]", style=style)
    return table


def size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def dollars(amount: float) -> str:
    """US dollars, with as many places as it takes to see anything."""
    if 0 < amount < 0.0001:
        return "<$0.0001"
    return cents(amount) if amount == 0 or amount >= 1 else f"${amount:.4f}"


def cents(amount: float) -> str:
    """US dollars for a narrow column."""
    if amount == 0:
        return "$0"
    if amount < 0.005:
        return "<1¢"
    return f"${amount:,.2f}" if amount < 100 else f"${amount:,.0f}"


def bill_json(bill: Bill) -> dict[str, Any]:
    price = bill.price
    return {
        "model": price.model,
        "does": price.does,
        "input": price.input,
        "output": price.output,
        "priced": price.date,
        "source": price.source,
        "stages": {name: round(value, 6) for name, value in bill.stages.items()},
        "memory": round(bill.memory, 9),
        "month": round(bill.month, 6),
        "year": round(bill.year, 6),
    }


def cost_table(bills: Iterable[Bill], chosen: Collection[str], translator: Translator) -> Table:
    """A line for each model; what is configured stands out. Stages are dollars a year."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column(translator("column.cost_model"), no_wrap=True)
    for name in ("month", "year", *STAGES):
        table.add_column(translator(f"column.cost_{name}"), justify="right", no_wrap=True)
    table.add_column(translator("column.cost_priced"), style="dim", no_wrap=True)
    for bill in bills:
        spent = [cents(bill.stages[name]) if name in bill.stages else "–" for name in STAGES]
        cells = [bill.price.model, cents(bill.month), cents(bill.year), *spent, bill.price.date[:7]]
        table.add_row(*cells, style="bold green" if bill.price.model in chosen else "")
    return table


def findings_view(findings: Iterable[Finding], translator: Translator, width: int) -> RenderableType:
    """A line for each finding; in a narrow terminal its name stands above it."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for _ in range(2 if width >= NARROW else 1):
        table.add_column()
    table.add_column(overflow="fold")  # Japanese has no spaces to break at
    for finding in findings:
        name = translator(f"doctor.name_{finding.name.replace(' ', '_')}")
        todo = f"\n[dim]→ {escape(translator.say(finding.remedy))}[/]" if finding.remedy else ""
        said = escape(translator.say(finding.seen)) + todo
        table.add_row(MARKS[finding.state], *([name, said] if width >= NARROW else [f"{name}\n{said}"]))
    return table
