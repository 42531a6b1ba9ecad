"""Commands that transfer memories: `export`, `import`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from nagori.app import Nagori
from nagori.edges.cli.context import CommandSession, Json, lines, open_output, print_json, progress
from nagori.errors import InvalidInput
from nagori.runtime import Progress
from nagori.services.transfer import ImportReport


class ExportFormat(StrEnum):
    JSONL = "jsonl"
    MARKDOWN = "markdown"


class ImportSource(StrEnum):
    """Whose memories `import` can read besides our own."""

    CLAUDE_CODE = "claude-code"
    CLAUDE_MEM = "claude-mem"
    MEM0 = "mem0"
    NOTES = "notes"


def export(
    context: typer.Context,
    path: Annotated[Path | None, typer.Argument(help="help.export.path")] = None,
    format: Annotated[ExportFormat, typer.Option(help="help.export.format")] = ExportFormat.JSONL,
    as_json: Json = False,
) -> None:
    """Write out every memory."""
    session = CommandSession.of(context)
    if path is not None and path.exists():
        raise InvalidInput("path", "error.file_exists", path=path)
    count = 0
    with session.memory() as memory, open_output(path) as write:
        for count, line in enumerate(memory.export(_name(format)), 1):  # noqa: B007 - counts
            write(line + "\n")
    if path is not None and as_json:
        print_json({"path": str(path), "lines": count})
    elif path is not None:
        session.say("cli.exported", n=count, path=path)


def import_(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="path",
            help="help.import.paths",
            show_default=False,
        ),
    ] = None,
    origin: Annotated[
        ImportSource | None,
        typer.Option(
            "--from",
            help="help.import.origin",
        ),
    ] = None,
    format: Annotated[ExportFormat | None, typer.Option(help="help.import.format")] = None,
    as_json: Json = False,
) -> None:
    """Take memories in."""
    session = CommandSession.of(context)
    if not paths and origin is not ImportSource.CLAUDE_CODE:
        raise InvalidInput("path", "error.import_path")
    report = _import_all(session, paths or [], origin, format)
    counts = {name: value for name, value in vars(report).items() if name != "faults"}
    if as_json:
        print_json({**counts, "faults": [*map(str, report.faults)]})
    else:
        session.say("cli.transcripts" if origin is ImportSource.CLAUDE_CODE else "cli.imported", **counts)
        for fault in report.faults:
            session.err.print(session.translator("cli.not_imported", fault=fault), style="red", markup=False)
    if report.faults:
        raise typer.Exit(1)


def _import_all(
    session: CommandSession, paths: list[Path], origin: ImportSource | None, format: ExportFormat | None
) -> ImportReport:
    """Everything that is meant, read by whoever knows its format."""
    from nagori.edges.importers import run  # the readers of others; most commands need none

    tally = run.ImportTally()
    with session.memory(tally) as memory, progress(session) as bar:
        if origin is ImportSource.CLAUDE_CODE:
            return run.take_transcripts(memory, tally, run.transcripts(paths), bar)
        if origin is not None:
            return run.take_drafts(memory, origin, paths, bar)
        whole = ImportReport()
        for path in paths:
            _add(whole, _import_own_export(memory, path, format, bar))
        return whole


def _import_own_export(
    memory: Nagori, path: Path, format: ExportFormat | None, bar: Progress
) -> ImportReport:
    """What one of our own exports holds, or a page of notes."""
    markdown = path.suffix.lower() in (".md", ".markdown")
    with lines(path) as read:
        return memory.import_(
            read, _name(format or (ExportFormat.MARKDOWN if markdown else ExportFormat.JSONL)), bar
        )


def _name(format: ExportFormat) -> Literal["jsonl", "markdown"]:
    return "markdown" if format is ExportFormat.MARKDOWN else "jsonl"


def _add(whole: ImportReport, report: ImportReport) -> None:
    for name, value in vars(report).items():
        setattr(whole, name, getattr(whole, name) + value)
