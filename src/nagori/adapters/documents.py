"""Read documents for a knowledge base: Markdown, plain text, HTML, and PDF with `pypdf`.

A document is data. Nothing in it is executed or fetched: scripts and styles are left out, links are not
followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

from nagori.core.knowledge_base import Document, Section
from nagori.errors import InvalidInput

LARGEST_FILE = 64 * 2**20
MOST_PAGES = 5_000
JOIN = " › "
_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
_FENCE = re.compile(r"\s*(```|~~~)")
_SKIPPED = frozenset({"script", "style", "template", "noscript", "svg", "head", "nav"})
_BLOCKS = frozenset(
    {"p", "div", "section", "article", "li", "ul", "ol", "table", "tr", "td", "th", "br", "hr", "pre"}
    | {"blockquote", "dl", "dt", "dd", "figure", "main", "header", "footer"}
)


def find_documents(path: Path) -> list[tuple[str, Path]]:
    """The documents at a path, by name: a file by its own name, the files of a folder by their path in it.
    Hidden files and links out of the folder are left out."""
    if path.is_file():
        return [(path.name, path)]
    if not path.is_dir():
        raise InvalidInput("path", "error.no_such_file", path=path)
    root = path.resolve()
    found = [
        (file.relative_to(path).as_posix(), file)
        for file in sorted(path.rglob("*"))
        if file.suffix.lower() in READERS and file.is_file() and file.resolve().is_relative_to(root)
    ]
    return [(name, file) for name, file in found if not any(part.startswith(".") for part in name.split("/"))]


def read_document(name: str, path: Path) -> Document:
    """A document; InvalidInput if it cannot be read."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InvalidInput("path", "error.document_kind", path=path.name, known=", ".join(sorted(READERS)))
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InvalidInput("path", "error.document_large", path=path.name, most=LARGEST_FILE // 2**20)
        data = path.read_bytes()
    except OSError as fault:
        raise InvalidInput("path", "error.file", path=path, reason=fault.strerror or str(fault)) from fault
    return Document(name, sha256(data).hexdigest(), tuple(reader(data)))


def digest_of(path: Path) -> str | None:
    """The digest of a file's bytes; None if it cannot be read."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


# --- formats --------------------------------------------------------------------------------------


def read_text(data: bytes) -> Iterator[Section]:
    yield Section("", _decode(data))


def read_markdown(data: bytes) -> Iterator[Section]:
    """A section for each heading; a sign inside a fenced block is no heading."""
    headings: list[str] = []
    lines: list[str] = []
    fence = ""
    for line in _decode(data).splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
        heading = None if fence else _HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        yield from _section(headings, lines)
        level = len(heading[1])
        headings = [*headings[: level - 1], *[""] * (level - 1 - len(headings)), heading[2]]
        lines = []
    yield from _section(headings, lines)


def _section(headings: Sequence[str], lines: Sequence[str]) -> Iterator[Section]:
    text = "\n".join(lines).strip()
    if text:
        yield Section(JOIN.join(filter(None, headings)), text)


def read_html(data: bytes) -> Iterator[Section]:
    parser = _HtmlSections()
    parser.feed(_decode(data))
    parser.close()
    yield from parser.sections()


class _HtmlSections(HTMLParser):
    """The text of a page in sections by heading."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._headings: list[str] = []
        self._text: list[str] = []
        self._found: list[Section] = []
        self._skipped: list[str] = []
        self._level = 0
        self._heading: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SKIPPED:
            self._skipped.append(tag)
        elif re.fullmatch("h[1-6]", tag):
            self._end_section()
            self._level, self._heading = int(tag[1]), []
        elif tag in _BLOCKS:
            self._text.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._skipped:
            while self._skipped.pop() != tag:
                pass
        elif self._level and re.fullmatch("h[1-6]", tag):
            headings = [*self._headings[: self._level - 1]]
            headings += [""] * (self._level - 1 - len(headings))
            self._headings = [*headings, " ".join("".join(self._heading).split())]
            self._level = 0
        elif tag in _BLOCKS:
            self._text.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            (self._heading if self._level else self._text).append(data)

    def _end_section(self) -> None:
        lines = (" ".join(line.split()) for line in "".join(self._text).split("\n"))
        self._found += _section(self._headings, [line for line in lines if line])
        self._text = []

    def sections(self) -> list[Section]:
        if self._level:  # a heading that is never closed
            self._text.append("".join(self._heading))
        self._end_section()
        return self._found


def read_pdf(data: bytes) -> Iterator[Section]:
    """A section for each page with text. Scanned pages have none."""
    try:
        import pypdf
    except ImportError as fault:
        raise InvalidInput("path", "error.no_pypdf") from fault
    from io import BytesIO

    try:
        pages = pypdf.PdfReader(BytesIO(data)).pages
        for number, page in enumerate(pages[:MOST_PAGES], 1):
            text = page.extract_text().strip()
            if text:
                yield Section("", text, number)
    except Exception as fault:  # the library raises many kinds for what is no sound PDF
        reason = type(fault).__name__
        raise InvalidInput("path", "error.document_unreadable", reason=reason) from fault


def _decode(data: bytes) -> str:
    """Text in UTF-8, or in UTF-16 with a mark, or in a Japanese encoding; what fits nowhere is replaced."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    for encoding in ("utf-8-sig", "cp932", "euc_jp"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", "replace")


READERS = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".txt": read_text,
    ".text": read_text,
    ".rst": read_text,
    ".html": read_html,
    ".htm": read_html,
    ".pdf": read_pdf,
}
