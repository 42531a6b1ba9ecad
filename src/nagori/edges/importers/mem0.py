"""Import from mem0: JSON or JSONL of memories, bare or inside `results`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from nagori.core.model import Source, Trust
from nagori.edges.importers.fields import first, moment, name, text, texts
from nagori.errors import InvalidInput, Notice
from nagori.services.remember import Draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INSIDE = ("results", "memories")  # possible places of the list in an object


def drafts(path: Path, faults: list[Notice]) -> Iterator[Draft]:
    """A draft for each memory; invalid records are added to `faults`."""
    for number, record in enumerate(_records(path), 1):
        try:
            yield _draft(record)
        except InvalidInput as fault:
            faults.append(Notice("import.record", name=path.name, n=number, fault=fault.notice))


def _draft(record: object) -> Draft:
    if not isinstance(record, dict):
        raise InvalidInput("record", "error.not_object")
    said = text(first(record, ("memory", "text", "data")))
    if not said:
        raise InvalidInput("memory", "error.missing")
    id = name(record.get("id"))
    return Draft(
        said,
        keywords=texts(record.get("categories")),
        created=moment(first(record, ("created_at", "updated_at"))),
        source=Source(session=name(record.get("run_id")), uri=f"mem0:{id}" if id else "mem0"),
        trust=Trust.IMPORT,
    )


def _records(path: Path) -> Iterator[Any]:
    """The records of the file; a line that is not JSON gives None and is reported like a bad record."""
    whole = path.read_text(encoding="utf-8", errors="replace").lstrip("\ufeff")
    item = _item(whole)
    if isinstance(item, dict):
        inside = next((item[key] for key in INSIDE if isinstance(item.get(key), list)), None)
        yield from [item] if inside is None else inside
    elif isinstance(item, list):
        yield from item
    else:
        yield from (_item(line) for line in whole.split("\n") if line.strip())


def _item(written: str) -> Any:
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        return None
