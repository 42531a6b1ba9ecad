"""Import from claude-mem: its SQLite database, or the JSON of its export script.

Columns differ between its releases, so each is optional. Observations keep their type; session summaries
become summaries. Its projects are bare folder names, which do not identify projects here; they become
keywords.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from nagori.core.model import Kind, Source, Trust
from nagori.edges.importers.fields import first, moment, name, text, texts
from nagori.errors import InvalidInput, Notice
from nagori.services.remember import Draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KINDS = {"decision": Kind.DECISION, "discovery": Kind.LESSON, "bugfix": Kind.LESSON}
TABLES = {"observations": "observations", "session_summaries": "summaries"}  # and their names in an export
TOLD = ("learned", "completed", "investigated", "next_steps", "notes")


def drafts(path: Path, faults: list[Notice]) -> Iterator[Draft]:
    """A draft for each observation and summary; invalid records are added to `faults`."""
    with path.open("rb") as file:
        database = file.read(16) == b"SQLite format 3\0"
    for table, record in _rows(path, faults) if database else _read_export(path):
        try:
            if not isinstance(record, dict):
                raise InvalidInput("record", "error.not_object")
            yield _observation(record) if table == "observations" else _summary(record)
        except InvalidInput as fault:
            id = name(record.get("id")) if isinstance(record, dict) else None
            where = {"name": path.name, "table": table, "id": id or "?"}
            faults.append(Notice("import.row", **where, fault=fault.notice))


def _observation(record: dict[str, Any]) -> Draft:
    title = text(record.get("title"))
    facts = [f"- {fact}" for fact in texts(record.get("facts"))]
    story = text(first(record, ("narrative", "text", "subtitle")))
    content = "\n".join(filter(None, (story, *facts)))
    kind = KINDS.get(text(record.get("type")), Kind.EPISODE)
    return _draft(record, title if content else "", content or title, kind, "")


def _summary(record: dict[str, Any]) -> Draft:
    told = [f"{field.replace('_', ' ')}: {said}" for field in TOLD if (said := text(record.get(field)))]
    return _draft(record, text(record.get("request")), "\n".join(told), Kind.SUMMARY, "summary/")


def _draft(record: dict[str, Any], trigger: str, content: str, kind: Kind, prefix: str) -> Draft:
    if not content:
        raise InvalidInput("content", "error.text_empty")
    session = name(first(record, ("memory_session_id", "sdk_session_id")))
    project = name(record.get("project"))
    return Draft(
        content,
        trigger,
        kind=kind,
        keywords=(*([project] if project else []), *texts(record.get("concepts"))),
        created=moment(record.get("created_at_epoch")) or moment(record.get("created_at")),
        source=Source(session=session, uri=f"claude-mem:{prefix}{name(record.get('id')) or '?'}"),
        trust=Trust.IMPORT,
    )


def _rows(path: Path, faults: list[Notice]) -> Iterator[tuple[str, Any]]:
    """The rows of the database, opened read-only."""
    try:
        with closing(_open_readonly(path)) as database:
            there = {row["name"] for row in database.execute("SELECT name FROM sqlite_master")}
            for table in TABLES:
                if table in there:
                    for row in database.execute(f"SELECT * FROM {table}"):  # noqa: S608 - a constant
                        yield table, dict(row)
    except sqlite3.Error as fault:  # rows read before the error are kept
        faults.append(Notice("import.item", name=path.name, fault=str(fault)))


def _open_readonly(path: Path) -> sqlite3.Connection:
    """A read-only connection. An unused database is opened with `immutable`, which leaves no side files but
    ignores a write-ahead log."""
    log = path.with_name(f"{path.name}-wal")
    mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    database = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True)
    database.row_factory = sqlite3.Row
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return database


def _read_export(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        item = json.loads(path.read_text(encoding="utf-8-sig", errors="replace"))
    except (ValueError, RecursionError) as fault:
        raise InvalidInput("path", "error.not_json", reason=str(fault)) from None
    if not isinstance(item, dict):
        raise InvalidInput("path", "error.not_object")
    for table, key in TABLES.items():
        for record in item[key] if isinstance(item.get(key), list) else ():
            yield table, record
