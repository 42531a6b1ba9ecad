"""Vectors of other programs beside their items: as text in JSON, and how near they are to a query."""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from collections.abc import Sequence
from math import dist
from operator import mul

from nagori.core.memory_scores import cosine


def pack_vector(vector: Sequence[float]) -> str:
    """A vector as text: four bytes a number."""
    return b64encode(array("f", vector).tobytes()).decode()


def unpack_vector(data: str) -> Sequence[float]:
    """The vector that `pack_vector` wrote."""
    return array("f", b64decode(data))


def score_vectors(
    query: Sequence[float], vectors: Sequence[Sequence[float]], distance: str = "cosine"
) -> list[float]:
    """How near each vector is to the query, nearer is more: its cosine (0 where one of them has no length),
    its `inner_product`, or minus its distance (`l2`)."""
    try:
        import numpy
    except ImportError:
        return [_score(array("f", query), array("f", vector), distance) for vector in vectors]
    if not vectors:
        return []
    rows, asked = numpy.asarray(vectors, dtype="f8"), numpy.asarray(query, dtype="f8")
    if distance == "l2":
        return [float(score) for score in -numpy.linalg.norm(rows - asked, axis=1)]
    products = rows @ asked
    if distance == "cosine":
        lengths = numpy.linalg.norm(rows, axis=1) * numpy.linalg.norm(asked)
        products = numpy.divide(products, lengths, out=numpy.zeros(len(rows)), where=lengths > 0)
    return [float(score) for score in products]


def _score(one: Sequence[float], other: Sequence[float], distance: str) -> float:
    if distance == "l2":
        return -dist(one, other)
    return cosine(one, other) if distance == "cosine" else sum(map(mul, one, other))
