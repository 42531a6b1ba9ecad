"""Look for words in every byte of a folder, in whatever encoding, independently of what nagori searches."""

import gzip
import zlib
from base64 import b64encode
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from random import Random

import numpy as np

CHUNK = 1 << 22
LETTERS = "bcdfghjklmnpqrstvwxz"
KANJI = "雲霧露霜雹霰雷霞虹嵐渚汀澪瀬淵滝湊埠峠麓嶺梢蕾莟茜藍萌葱"


def draw_word(dice: Random) -> str:
    """A random word of letters that no text holds by chance."""
    return "".join(dice.choices(LETTERS, k=14))


def draw_kanji(dice: Random) -> str:
    return "".join(dice.choices(KANJI, k=10))


def cores(words: Iterable[str]) -> list[str]:
    """The middle of each word: an index may cut beginnings and ends."""
    return [word[3:-3] for word in words]


def encodings(core: str) -> set[bytes]:
    plain = core.encode()
    found = {plain, core.encode("utf-16-le"), core.encode("utf-16-be"), ascii(core)[1:-1].encode()}
    for lead in range(3):
        coded = b64encode(b"x" * lead + plain)
        found.add(coded[2 if lead == 1 else 3 if lead == 2 else 0 : (lead + len(plain)) * 8 // 6])
    return found


def contents(path: Path) -> list[bytes]:
    """The bytes of a file as they are, and what is packed in them."""
    raw = path.read_bytes()
    found, at = [raw.lower()], raw.find(b"\x1f\x8b\x08")
    while at >= 0:
        unpack = zlib.decompressobj(wbits=31)
        with suppress(zlib.error):
            found.append(unpack.decompress(raw[at:]).lower())
        at = raw.find(b"\x1f\x8b\x08", at + 1)
    return found


class Needles:
    """Many byte strings that are looked for at once. One after the other, a thousand words in seven encodings
    would take minutes for every megabyte: so all places are compared with the first three bytes of all
    needles, by a table, and only places that agree are looked at."""

    def __init__(self, wanted: dict[str, set[bytes]]) -> None:
        self.by_head: dict[bytes, list[tuple[bytes, str]]] = {}
        self.table = np.zeros(1 << 24, dtype=np.bool_)
        for core, many in wanted.items():
            for needle in many:
                self.by_head.setdefault(needle[:3], []).append((needle, core))
                self.table[int.from_bytes(needle[:3], "little")] = True

    def found_in(self, block: bytes) -> set[str]:
        found: set[str] = set()
        for begin in range(0, len(block), CHUNK):
            piece = np.frombuffer(block[begin : begin + CHUNK + 2], dtype=np.uint8).astype(np.uint32)
            rolling = piece[:-2] | piece[1:-1] << np.uint32(8) | piece[2:] << np.uint32(16)
            for place in np.flatnonzero(self.table[rolling]).tolist():
                at = begin + place
                for needle, core in self.by_head[block[at : at + 3]]:
                    if core not in found and block.startswith(needle, at):
                        found.add(core)
        return found


def files_with(folder: Path, words: Iterable[str]) -> dict[str, list[str]]:
    """The files that hold one of the words, or carry one in their name."""
    wanted = {core: encodings(core) for core in cores(words)}
    needles = Needles(wanted)
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        held = {core for core in wanted if core in name}
        if path.is_file():
            for block in (*contents(path), path.read_bytes()):
                held |= needles.found_in(block)
        if held:
            found[name] = sorted(held)
    return found


def digests(folder: Path) -> dict[str, str]:
    """Every file below a folder, by its content."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in files}


def prove_search(folder: Path, word: str) -> None:
    """A search that finds nothing proves nothing unless it would find something."""
    core = cores([word])[0]
    ways = {
        "plain": core.encode(),
        "utf16": core.encode("utf-16-le"),
        "base64": b64encode(b"ab" + word.encode()),
        "gzip": b"head" + gzip.compress(f"it says {word}".encode()),
    }
    folder.mkdir()
    for name, content in ways.items():
        (folder / name).write_bytes(content)
    assert set(files_with(folder, [word])) == set(ways)
