"""Values as PostgreSQL takes them: typed vectors, hashed terms, lists."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from math import sqrt
from struct import pack, unpack

from nagori.postgres import Session, driver
from nagori.stores.sql_rows import Dialect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class FullVector(bytes):
    """A vector in single precision, as PostgreSQL receives it."""


class HalfVector(bytes):
    """A vector of length 1 in half precision, as PostgreSQL receives it."""


def full_vector(data: bytes) -> FullVector:
    return FullVector(pack(">HH", len(data) // 4, 0) + swap_bytes(data))


def half_vector(data: bytes) -> HalfVector:
    numbers = unpack(f"<{len(data) // 4}f", data)
    length = sqrt(sum(x * x for x in numbers))
    return HalfVector(pack(f">HH{len(numbers)}e", len(numbers), 0, *(x / length for x in numbers)))


def read_vector(sent: bytes) -> bytes:
    """A vector as PostgreSQL's `vector_send` gives it."""
    return swap_bytes(sent[4:])


def swap_bytes(data: bytes) -> bytes:
    """Little-endian numbers as PostgreSQL sends them, and back."""
    numbers = array("f", data)
    numbers.byteswap()
    return numbers.tobytes()


@lru_cache(65_536)
def term_of(word: str) -> int:
    """A number for a word; 64 bits, so that two words practically never share one."""
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int(unpack("<q", digest)[0])


def _pack(values: Sequence[Any]) -> list[Any]:
    """A list to compare with. No row holds a text that PostgreSQL refuses, so it is left out."""
    plain = [int(value) if isinstance(value, int) else str(value) for value in values]
    return [value for value in plain if isinstance(value, int) or _is_storable(value)]


def _is_storable(text: str) -> bool:
    return "\0" not in text and text.encode(errors="ignore").decode() == text


POSTGRES = Dialect("{} = ANY(?)", _pack, "least", "greatest", "fading_power")


def register_types(session: Session) -> None:
    """Send vectors typed: with a cast around the parameter it would be parsed again for each row. Read
    booleans as numbers, as the shared code expects them."""
    from psycopg.adapt import Dumper, Loader
    from psycopg.pq import Format

    class Plain(Dumper):
        format = Format.BINARY

        def dump(self, obj: bytes) -> bytes:
            return bytes(obj)

    class Bool(Loader):
        def load(self, data: Any) -> int:
            return int(bytes(data) == b"t")

    adapters = session.raw.adapters
    adapters.register_loader("bool", Bool)
    for kind, name in ((FullVector, "vector"), (HalfVector, "halfvec")):
        found = driver().types.TypeInfo.fetch(session.raw, name)
        if found is not None:
            found.register(session.raw)  # for lists of them
            adapters.register_dumper(kind, type(f"{name}_dumper", (Plain,), {"oid": found.oid}))
