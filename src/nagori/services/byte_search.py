"""Search every file of a folder for passages of what was erased, however they are encoded.

A passage is some words as they were said, or one rare word. Each is looked for as UTF-8, as JSON writes it
with and without escapes, as UTF-16, as base64 at all three offsets, and inside gzip. Words in a text index
are stored one by one and shortened, so the index is judged by its rare words; what the engine itself promises
is tested by its contract suite.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

BLOCK = 1 << 20  # bytes: an erasure in a process that goes on should not make it large
MOST_PASSAGES = 16
SHORTEST, LONGEST = 8, 48  # characters of a passage
RARE = 9  # letters of a word that is searched for by itself
ENCODINGS = ("utf-8", "json", "utf-16", "base64", "gzip")
GZIP = b"\x1f\x8b\x08"


def choose_passages(texts: Sequence[str]) -> list[str]:
    """Passages of these texts: of as many texts as the limit allows, each from another place; and their
    longest words."""
    usable = [flat for text in texts if len(flat := " ".join(text.split())) >= SHORTEST]
    chosen = usable[:: -(-len(usable) // MOST_PASSAGES)] if usable else []
    passages = []
    for flat in chosen:
        longest = max(re.findall(r"[^\W_]+", flat), key=len, default="")
        passages += [_cut(flat), longest[:LONGEST] if len(longest) >= RARE else ""]
    return [passage for passage in dict.fromkeys(passages) if len(passage) >= SHORTEST]


def _cut(text: str) -> str:
    """A passage of a text. Its place depends on the text, so that not only beginnings are searched for."""
    begin = zlib.crc32(text.encode("utf-8", "surrogatepass")) % max(1, len(text) - LONGEST + 1)
    return text[begin : begin + LONGEST].strip()


def needles_of(passage: str) -> set[bytes]:
    """All the ways in which a passage may stand in a file."""
    plain = passage.encode("utf-8", "surrogatepass")
    needles = {plain}
    for ascii in (True, False):
        needles.add(json.dumps(passage, ensure_ascii=ascii)[1:-1].encode("utf-8", "surrogatepass"))
    for name in ("utf-16-le", "utf-16-be"):
        needles.add(passage.encode(name, "surrogatepass"))
    for lead in range(3):
        # The first and the last letters depend on what stands around the passage.
        coded = b64encode(b"\0" * lead + plain).rstrip(b"=")
        begin = (lead * 8 + 5) // 6
        end = (lead + len(plain)) * 8 // 6
        needles.add(coded[begin:end])
    return {needle for needle in needles if len(needle) >= SHORTEST}


def search_files(paths: Iterable[Path], passages: Sequence[str]) -> tuple[dict[Path, set[str]], int, int]:
    """The passages found in each file, the number of files and of bytes. A file that disappears meanwhile is
    searched as far as it was there."""
    needles = {passage: sorted(needles_of(passage)) for passage in passages}
    longest = max((len(each) for many in needles.values() for each in many), default=1)
    found: dict[Path, set[str]] = {}
    files = size = 0
    for path in paths:
        files += 1
        for block in _blocks(path, longest):
            size += len(block)
            hits = {passage for passage, many in needles.items() if any(each in block for each in many)}
            if hits:
                found.setdefault(path, set()).update(hits)
    return found, files, size


def _blocks(path: Path, overlap: int) -> Iterator[bytes]:
    """The content of a file in overlapping blocks, and what is packed in it."""
    try:
        with path.open("rb") as file:
            rest = b""
            while block := file.read(BLOCK):
                yield rest + block
                rest = (rest + block)[-overlap:]
    except OSError:
        return
    yield from _unpack(path, overlap)


def _unpack(path: Path, overlap: int) -> Iterator[bytes]:
    """The content of gzip streams that begin anywhere in a file."""
    try:
        with path.open("rb") as file:
            for begin in list(_starts(file)):
                file.seek(begin)
                yield from _inflate(iter(lambda: file.read(1 << 20), b""), overlap)
    except OSError:
        return


def _starts(file: BinaryIO) -> Iterator[int]:
    """Where gzip streams may begin."""
    place, rest = 0, b""
    while block := file.read(BLOCK):
        whole = rest + block
        yield from (place - len(rest) + found.start() for found in re.finditer(re.escape(GZIP), whole))
        rest = whole[1 - len(GZIP) :]
        place += len(block)


def _inflate(blocks: Iterator[bytes], overlap: int) -> Iterator[bytes]:
    unpack, rest = zlib.decompressobj(wbits=31), b""
    try:
        for block in blocks:
            while block:
                out = unpack.decompress(block, BLOCK)
                yield rest + out
                rest = (rest + out)[-overlap:]
                block = unpack.unconsumed_tail
            if unpack.eof:
                return
    except zlib.error:
        return
