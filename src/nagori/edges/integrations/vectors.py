"""Vectors of other programs beside their items: as text in JSON, and their exact cosines."""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from collections.abc import Sequence

from nagori.core.scoring import cosine


def pack_vector(vector: Sequence[float]) -> str:
    """A vector as text: four bytes a number."""
    return b64encode(array("f", vector).tobytes()).decode()


def unpack_vector(data: str) -> Sequence[float]:
    """The vector that `pack_vector` wrote."""
    return array("f", b64decode(data))


def find_cosines(query: Sequence[float], vectors: Sequence[Sequence[float]]) -> list[float]:
    """The cosine of each vector with the query; 0 where one of them has no length."""
    try:
        import numpy
    except ImportError:
        mine = array("f", query)
        return [cosine(mine, array("f", vector)) for vector in vectors]
    if not vectors:
        return []
    rows, asked = numpy.asarray(vectors, dtype="f8"), numpy.asarray(query, dtype="f8")
    lengths = numpy.linalg.norm(rows, axis=1) * numpy.linalg.norm(asked)
    scores = numpy.divide(rows @ asked, lengths, out=numpy.zeros(len(rows)), where=lengths > 0)
    return [float(score) for score in scores]
