"""Import notes for agents, such as CLAUDE.md and MEMORY.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nagori.core.model import Source, Trust
from nagori.edges.importers.fields import moment, text
from nagori.errors import Notice
from nagori.services.remember import Draft
from nagori.services.transfer import notes


def drafts(path: Path, faults: list[Notice]) -> Iterator[Draft]:
    """A draft for each bullet and paragraph, with the heading above it."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        written = moment(path.stat().st_mtime)
        source = Source(uri=path.absolute().as_uri()[-4096:])
        for heading, note in notes(file):
            if text(note):
                yield Draft(note, heading, created=written, source=source, trust=Trust.IMPORT)
