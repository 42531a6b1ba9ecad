"""Run an import: transcripts into their projects, in batches, each turn once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from nagori.app import Nagori
from nagori.core.model import Filter, Memory, Turn
from nagori.core.value_object import replace
from nagori.edges.hooks.handlers import project_of
from nagori.edges.importers import claude_code, claude_mem, markdown, mem0
from nagori.errors import InvalidInput, Notice
from nagori.runtime import Progress, no_progress
from nagori.services.remember import AT_ONCE, Draft
from nagori.services.transfer import ImportReport

LIVE = "-live"  # marks the source of turns recorded by hooks
MOST_OF_A_SESSION = 100_000
BUNDLE = 1_000_000  # characters of turns per batch

# Importers of other programs: a function from a file to drafts, which reports what it refuses.
OTHERS: dict[str, Callable[[Path, list[Notice]], Iterator[Draft]]] = {
    "claude-mem": claude_mem.drafts,
    "mem0": mem0.drafts,
    "notes": markdown.drafts,
}


class TranscriptImport(ImportReport, frozen=False):
    """The result of importing transcripts. Unreadable lines are counted in `skipped`: they are not faults,
    because a running session often ends in half a line."""

    transcripts: int = 0
    skipped: int = 0


class ImportTally:
    """An observer that counts new memories: `form` returns known ones as well."""

    def __init__(self) -> None:
        self.formed = 0

    def __call__(self, name: str, **_: object) -> None:
        self.formed += name == "memory.formed"


def take_drafts(memory: Nagori, origin: str, paths: Iterable[Path], progress: Progress) -> ImportReport:
    """Import all exports of another program. An unreadable file is the caller's error."""
    whole = ImportReport()
    for path in paths:
        faults: list[Notice] = []
        try:
            report = memory.import_drafts(OTHERS[origin](path, faults), progress)
        except OSError as fault:
            raise InvalidInput("path", "error.file", path=path, reason=fault.strerror) from fault
        whole.added += report.added
        whole.known += report.known
        whole.faults += [*faults, *report.faults]
    return whole


def transcripts(paths: Sequence[Path]) -> list[Path]:
    """The transcripts to import: those of Claude Code's own folder, or the given files and folders."""
    if not paths:
        return claude_code.find(claude_code.home())
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise InvalidInput("path", "error.not_file", path=path)
        inside = path / "projects" if (path / "projects").is_dir() else path
        found += claude_code.below(inside) if path.is_dir() else [path]
    return found


def take_transcripts(
    memory: Nagori, tally: ImportTally, paths: Sequence[Path], progress: Progress = no_progress
) -> TranscriptImport:
    """Import all of them. A turn that a resumed session copied is imported once."""
    report, heard = TranscriptImport(), set[int]()
    for number, path in enumerate(paths, 1):
        try:
            _take_one(memory, tally, path, heard, report)
            report.transcripts += 1
        except OSError as fault:
            report.faults.append(Notice("import.item", name=str(path), fault=fault.strerror))
        progress(number, len(paths))
    return report


def _take_one(
    memory: Nagori, tally: ImportTally, path: Path, heard: set[int], report: TranscriptImport
) -> None:
    about = claude_code.about(path)
    project = memory.scope.project or project_of(about.cwd)
    there = memory.with_scope(replace(memory.scope, project=project))
    skipped = claude_code.SkippedLines()
    begun = _live_since(there, about.session)
    turns = (turn for turn in claude_code.read(path, skipped=skipped) if begun is None or turn.at < begun)
    for bundle in _bundles(_unheard(turns, heard)):
        before = tally.formed
        ids = {kept.id for kept in _form(there, bundle, report)}
        report.added += tally.formed - before
        report.known += len(ids) - (tally.formed - before)
    report.skipped += skipped.total


def _live_since(memory: Nagori, session: str) -> datetime | None:
    """The time from which hooks recorded this session; later turns are not read from the file."""
    known = memory.list(Filter(session=session, forgotten=True, archived=True), limit=MOST_OF_A_SESSION)
    live = [each.created for each in known if LIVE in (each.source.uri or "").partition(":")[0]]
    return min(live, default=None)


def _unheard(turns: Iterable[Turn], heard: set[int]) -> Iterator[Turn]:
    """Turns that did not occur in another file: a resumed session copies lines with their ids, and may change
    their session."""
    for turn in turns:
        uuid = (turn.uri or "").partition("#")[2]
        mark = hash((uuid, turn.text))
        if not uuid or mark not in heard:
            heard.add(mark)
            yield turn


def _bundles(turns: Iterable[Turn]) -> Iterator[list[Turn]]:
    bundle: list[Turn] = []
    size = 0
    for turn in turns:
        bundle.append(turn)
        size += len(turn.text)
        if size > BUNDLE or len(bundle) >= AT_ONCE:
            yield bundle
            bundle, size = [], 0
    if bundle:
        yield bundle


def _form(memory: Nagori, bundle: list[Turn], report: TranscriptImport) -> list[Memory]:
    """The memories of a batch. A turn that is refused is reported, and the others are imported."""
    try:
        return memory.form(bundle)
    except InvalidInput as fault:
        if len(bundle) == 1:
            report.faults.append(Notice("import.item", name=bundle[0].uri, fault=fault.notice))
            return []
        return [kept for turn in bundle for kept in _form(memory, [turn], report)]
