"""Knowledge bases: documents, their passages, and the owners `kb:name` that hold them.

A knowledge base is an owner of its own, so it is searched, backed up and erased like one. No cycle visits it:
what a manual says does not fade.
"""

from __future__ import annotations

import re
from datetime import datetime

from nagori.core.model import Scope
from nagori.core.value_object import Value
from nagori.errors import InvalidInput

PREFIX = "kb:"
LONGEST_NAME = 64
BASE_NAME = rf"[\w.-]{{1,{LONGEST_NAME}}}"


class Section(Value):
    """A part of a document: its headings, from the outermost, its text, and the page it begins on."""

    heading: str
    text: str
    page: int | None = None


class Document(Value):
    """A document as it was read. `name` identifies it in its knowledge base; `digest` its bytes."""

    name: str
    digest: str
    sections: tuple[Section, ...]


class DocumentInfo(Value):
    """A document in a knowledge base: its version, counted from 1, and the number of its passages."""

    base: str
    name: str
    version: int
    digest: str
    passages: int
    added: datetime


class KnowledgePassage(Value):
    """A passage that answers a query, with its source."""

    base: str
    document: str
    version: int
    heading: str
    page: int | None
    text: str
    score: float
    confidence: float

    @property
    def source(self) -> str:
        """The source in one line: `manuals: setup.pdf, p. 3, Network › Ports`."""
        page = "" if self.page is None else f", p. {self.page}"
        return f"{self.base}: {self.document}{page}" + (f", {self.heading}" if self.heading else "")


class KnowledgeReport(Value):
    """What adding documents did, by name: new ones, changed ones, unchanged ones, and those that could not be
    read with the reason."""

    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()


def knowledge_scope(tenant: str, base: str) -> Scope:
    """The scope of a knowledge base; InvalidInput for a name that is none."""
    if not isinstance(base, str) or not re.fullmatch(BASE_NAME, base):
        raise InvalidInput("kb", "error.kb_name", value=base, most=LONGEST_NAME)
    return Scope(user=PREFIX + base, tenant=tenant)


def is_knowledge(owner: tuple[str, str]) -> bool:
    """Whether this owner is a knowledge base."""
    return owner[1].startswith(PREFIX)
