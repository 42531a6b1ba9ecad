"""Export and import memories as JSONL and Markdown.

JSONL is complete: each memory with its levels, counters and retention data, one per line, then the relations,
then the items of other programs, unchanged.
The order depends on the memories alone, so equal stores export equal bytes. Markdown is for reading and for
handwritten notes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from nagori.core.events import Event
from nagori.core.model import (
    Filter,
    ItemFilter,
    Level,
    Memory,
    Relation,
    Scope,
    Text,
    Trust,
    check_memory,
    item_id,
)
from nagori.core.serialize import from_record, relation_of, relation_record, to_record
from nagori.core.value_object import (
    Value,
    check_kind,
    check_list,
    check_text,
    default_factory,
    replace,
    split_batches,
)
from nagori.errors import InvalidInput, Notice
from nagori.event_ledger import read_memories
from nagori.runtime import Progress, Runtime, no_progress
from nagori.services.key_value_items import check_item_record, item_record
from nagori.services.remember import (
    AT_ONCE,
    Draft,
    compose,
    embed,
    ensure_room,
    remember_many,
    safe_metadata,
    safe_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HEADER = {"nagori": "export", "version": 1}
EVERYTHING = Filter(archived=True, forgotten=True)
PAGE = 1000


class ImportReport(Value, frozen=False):
    """The result of an import. `faults` lists the lines that were refused."""

    added: int = 0
    known: int = 0
    relations: int = 0
    faults: list[Notice] = default_factory(list)


def memories(runtime: Runtime, scope: Scope, filter: Filter = EVERYTHING) -> Iterator[Memory]:
    """All memories of the scope, oldest first."""
    runtime.ensure_open()  # a generator starts late and may still run after `close`
    runtime.ledger.catch_up(scope.owner)
    pages: list[list[str]] = []
    last = None
    while page := runtime.store.find(scope, filter, limit=PAGE, older_than=last):
        pages.append([memory.id for memory in page])
        last = page[-1]
    for ids in reversed(pages):
        runtime.ensure_open()
        yield from reversed(runtime.store.get(scope, ids))


def to_jsonl(runtime: Runtime, scope: Scope) -> Iterator[str]:
    """The lines of a complete export."""
    yield _line(HEADER)
    ids = []
    for memory in memories(runtime, scope):
        ids.append(memory.id)
        yield _line({"memory": to_record(memory)})
    seen = set()
    for start in range(0, len(ids), PAGE):
        for relation in runtime.store.relations(scope, ids[start : start + PAGE]):
            if relation not in seen:
                seen.add(relation)
                yield _line({"relation": relation_record(relation)})
    if scope.is_whole:  # items are the owner's own
        start = 0
        while items := runtime.store.items(scope.owner, ItemFilter(limit=PAGE, offset=start)):
            start += len(items)
            yield from (_line({"item": item_record(item)}) for item in items)


def to_markdown(runtime: Runtime, scope: Scope) -> Iterator[str]:
    """The lines of a readable page: one section per day, one bullet per memory."""
    yield "# nagori"
    day = None
    for memory in memories(runtime, scope, Filter()):
        local = memory.created.astimezone(runtime.clock.zone)
        if local.date() != day:
            day = local.date()
            yield from ("", f"## {day.isoformat()}", "")
        text = memory.text
        said = " → ".join(half.replace("\n", " ") for half in (text.trigger, text.content) if half)
        yield f"- {said} <!-- {memory.id} {memory.kind} -->"


def from_jsonl(
    runtime: Runtime, scope: Scope, lines: Iterable[str], progress: Progress = no_progress
) -> ImportReport:
    """Import an export. Existing memories stay as they are; bad lines are reported, and the others are
    imported."""
    report, links = ImportReport(), []
    for bundle in split_batches(enumerate(check_list("lines", lines), 1), AT_ONCE):
        newcomers: list[Memory] = []
        rows: list[dict[str, Any]] = []
        for number, line in bundle:
            try:
                item = _item(line)
                if "memory" in item:
                    memory = _safe(runtime, from_record(item["memory"]))
                    check_memory(memory)
                    newcomers.append(memory)
                elif "relation" in item:
                    links.append(_relation(item["relation"]))
                elif "item" in item:
                    rows.append(check_item_record(item["item"]))
            except InvalidInput as fault:
                report.faults.append(Notice("import.line", n=number, fault=fault.notice))
        _take_in(runtime, scope, newcomers, report)
        _take_items(runtime, scope, rows, report)
        progress(bundle[-1][0], 0)
    _link(runtime, scope, links, report)
    return report


def from_markdown(runtime: Runtime, scope: Scope, lines: Iterable[str]) -> ImportReport:
    """Import notes: every bullet and every paragraph becomes a memory. Headings are left out."""
    told = (check_text("lines", line) for line in check_list("lines", lines))
    drafts = [Draft(content=text, trust=Trust.IMPORT) for _, text in notes(told)]
    kept = remember_many(runtime, scope, drafts) if drafts else []
    fresh = sum(1 for memory in kept if memory.mentions == 1)
    return ImportReport(added=fresh, known=len(kept) - fresh)


def from_drafts(
    runtime: Runtime, scope: Scope, drafts: Iterable[Draft], progress: Progress = no_progress
) -> ImportReport:
    """Import memories of another program. Unlike `remember`, importing again does not count as a
    repetition."""
    report, done = ImportReport(), 0
    for bundle in split_batches(check_list("drafts", drafts), AT_ONCE):
        newcomers: list[Memory] = []
        for draft in bundle:
            check_kind("drafts", draft, Draft)
            try:
                newcomers.append(compose(runtime, scope, draft))
            except InvalidInput as fault:
                name = draft.source.uri or "draft"
                report.faults.append(Notice("import.item", name=name, fault=fault.notice))
        _take_in(runtime, scope, newcomers, report)
        done += len(bundle)
        progress(done, 0)
    return report


def notes(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The notes of a Markdown page, bullets and paragraphs, each with the heading above it."""
    paragraph: list[str] = []
    heading = ""
    for raw in chain(lines, [""]):
        line = _without_comments(raw).rstrip()
        bullet = re.match(r"\s*(?:[-*+]|\d+[.)])\s+(.+)", line)
        if bullet or not line or line.startswith("#"):
            if paragraph:
                yield heading, " ".join(paragraph)
            paragraph = [bullet[1]] if bullet else []
            heading = line.lstrip("#").strip() if line.startswith("#") else heading
        else:
            paragraph.append(line.strip())


def _without_comments(line: str) -> str:
    """Without `<!-- … -->`; an unclosed one counts as text."""
    out, at = [], 0
    while (begin := line.find("<!--", at)) >= 0 and (end := line.find("-->", begin + 4)) >= 0:
        out.append(line[at:begin])
        at = end + 3
    return "".join((*out, line[at:]))


def _take_in(runtime: Runtime, scope: Scope, newcomers: list[Memory], report: ImportReport) -> None:
    vectors = embed(runtime, scope, newcomers)

    def decide() -> list[Event]:
        known = read_memories(runtime.store, scope.owner, [m.id for m in newcomers])
        fresh = {m.id: m for m in newcomers if m.id not in known}
        ensure_room(runtime, scope, sum(m.protected for m in fresh.values()))
        now = runtime.clock.now()
        return [Event("imported", now, {"memory": to_record(m)}, m.id, by="import") for m in fresh.values()]

    added = len(runtime.ledger.write(scope.owner, decide, vectors).events)
    report.added += added
    report.known += len(newcomers) - added


def _take_items(runtime: Runtime, scope: Scope, rows: list[dict[str, Any]], report: ImportReport) -> None:
    ids = [item_id(row["namespace"], row["key"]) for row in rows]

    def decide() -> list[Event]:
        known = {item.id for item in runtime.store.items(scope.owner, ItemFilter(ids=tuple(ids)))}
        now, fresh = runtime.clock.now(), dict(zip(ids, rows, strict=True))
        return [Event("item_put", now, row, by="import") for id, row in fresh.items() if id not in known]

    added = len(runtime.ledger.write(scope.owner, decide).events) if rows else 0
    report.added += added
    report.known += len(rows) - added


def _link(runtime: Runtime, scope: Scope, links: list[Any], report: ImportReport) -> None:
    def decide() -> list[Event]:
        now = runtime.clock.now()
        known = {m.id for m in runtime.store.get(scope, [end for r in links for end in (r.source, r.target)])}
        whole = [r for r in links if {r.source, r.target} <= known]
        return [
            Event("linked", now, {"target": r.target, "type": str(r.type)}, r.source, by="import")
            for r in whole
        ]

    if links:
        report.relations = len(runtime.ledger.write(scope.owner, decide).events)


def _safe(runtime: Runtime, memory: Memory) -> Memory:
    """Clean and redact an imported memory like any other text."""
    texts = {
        Level(level): Text(safe_text(runtime, t.trigger, "trigger"), safe_text(runtime, t.content, "content"))
        for level, t in memory.texts.items()
    }
    if not any(text.whole for text in texts.values()):
        raise InvalidInput("memory.texts", "error.empty")
    return replace(memory, texts=texts, metadata=safe_metadata(runtime, memory.metadata))


def _relation(record: Any) -> Relation:
    if not isinstance(record, dict):
        raise InvalidInput("relation", "error.not_object")
    return relation_of(str(record.get("source")), record)


def _item(line: str) -> dict[str, Any]:
    if not isinstance(line, str):
        raise InvalidInput("line", "error.type_not_text", type=type(line).__name__)
    try:
        item = json.loads(line) if line.strip() else {}
    except (ValueError, RecursionError) as fault:
        raise InvalidInput("line", "error.not_json", reason=str(fault)) from None
    if not isinstance(item, dict):
        raise InvalidInput("line", "error.not_object")
    if item and not {"memory", "relation", "item", "nagori"} & set(item):
        raise InvalidInput("line", "error.line_not_known")
    if item.get("nagori") == "export" and item.get("version", 0) > HEADER["version"]:
        raise InvalidInput("line", "error.export_too_new", version=item["version"])
    return item


def _line(item: dict[str, Any]) -> str:
    return json.dumps(item, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
