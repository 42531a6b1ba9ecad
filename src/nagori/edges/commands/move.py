"""Leaving and coming: `export`, `import`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nagori.edges.session import Json, Session, lines, print_json, progress, written
from nagori.errors import InvalidInput


class Format(StrEnum):
    JSONL = "jsonl"
    MARKDOWN = "markdown"


def export(
    context: typer.Context,
    path: Annotated[Path | None, typer.Argument(help="File to write; default: standard output.")] = None,
    format: Annotated[
        Format, typer.Option(help="jsonl is complete, markdown is for reading.")
    ] = Format.JSONL,
    as_json: Json = False,
) -> None:
    """Write out every memory."""
    session = Session.of(context)
    if path is not None and path.exists():
        raise InvalidInput("path", "{path} exists already", path=path)
    count = 0
    with session.memory() as memory, written(path) as write:
        for count, line in enumerate(memory.export(format), 1):  # noqa: B007 - counts
            write(line + "\n")
    if path is not None and as_json:
        print_json({"path": str(path), "lines": count})
    elif path is not None:
        session.say("exported", n=count, path=path)


def import_(
    context: typer.Context,
    path: Annotated[
        Path, typer.Argument(help="File that export wrote, or notes in Markdown; - reads standard input.")
    ],
    format: Annotated[Format | None, typer.Option(help="Default: from the file's name.")] = None,
    as_json: Json = False,
) -> None:
    """Take memories in."""
    session = Session.of(context)
    markdown = path.suffix.lower() in (".md", ".markdown")
    chosen = format or (Format.MARKDOWN if markdown else Format.JSONL)
    with session.memory() as memory, lines(path) as read, progress(session) as bar:
        report = memory.import_(read, chosen, bar)
    if as_json:
        counts = {"added": report.added, "known": report.known, "relations": report.relations}
        print_json({**counts, "faults": report.faults})
    else:
        session.say("imported", added=report.added, known=report.known, relations=report.relations)
        for fault in report.faults:
            session.err.print(session.voice("not_taken", fault=fault), style="red", markup=False)
    if report.faults:
        raise typer.Exit(1)
