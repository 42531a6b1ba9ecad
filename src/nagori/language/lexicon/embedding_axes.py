"""Emotion axes in an embedding space, derived from sentences with known emotion.

Every anchor pulls an axis towards itself by its own valence or arousal. A dot product then places a sentence
on the axis. Plain Python is fast enough: computing the embedding takes a thousand times longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from math import sqrt
from operator import mul
from struct import unpack

from nagori.core.value_object import Value
from nagori.language.lexicon import rows


class Anchor(Value):
    text: str
    valence: float  # -1 to 1
    arousal: float  # -1 to 1


class AxisPosition(Value):
    """The position of a sentence on both axes, about -1 to 1."""

    valence: float
    arousal: float


class FeelingAxes(Value):
    """The two axes of an embedding model. Computed once and cached."""

    valence: tuple[float, ...]
    arousal: tuple[float, ...]
    offsets: tuple[float, float]  # position of a neutral sentence on both axes


@cache
def anchors() -> tuple[Anchor, ...]:
    """Short sentences in both languages with known emotion, to be embedded."""
    found = []
    for valence, arousal, *texts in rows("anchors"):
        found += [Anchor(text, int(valence) / 2, int(arousal) / 2) for text in texts]
    return tuple(found)


def axes_from(anchor_vectors: Sequence[bytes]) -> FeelingAxes:
    """The axes of the model that made these vectors (little-endian float32) of `anchors()`, in order."""
    vectors = [_floats(vector) for vector in anchor_vectors]
    known = anchors()
    if len(vectors) != len(known):
        raise ValueError(f"{len(vectors)} vectors for {len(known)} anchors")
    centre = [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]
    valence = _axis(vectors, [anchor.valence for anchor in known], centre)
    arousal = _axis(vectors, [anchor.arousal for anchor in known], centre)
    return FeelingAxes(valence, arousal, (_dot(centre, valence), _dot(centre, arousal)))


def project(vector: bytes, axes: FeelingAxes) -> AxisPosition:
    """The position of a sentence, from its vector."""
    values = _floats(vector)
    valence, arousal = _dot(values, axes.valence), _dot(values, axes.arousal)
    return AxisPosition(valence - axes.offsets[0], arousal - axes.offsets[1])


def _axis(vectors: list[tuple[float, ...]], wanted: list[float], centre: list[float]) -> tuple[float, ...]:
    """The sum of the anchors weighted by their target values, scaled so that the anchors get these values."""
    middle = sum(wanted) / len(wanted)
    pulls = [want - middle for want in wanted]
    direction = [_dot(column, pulls) for column in zip(*vectors, strict=True)]
    placed = [_dot(vector, direction) - _dot(centre, direction) for vector in vectors]
    spread = _dot(placed, placed)
    scale = sqrt(_dot(pulls, pulls) / spread) if spread > 1e-9 else 0.0  # 0 if all vectors are equal
    return tuple(scale * value for value in direction)


def _floats(vector: bytes) -> tuple[float, ...]:
    return unpack(f"<{len(vector) // 4}f", vector)


def _dot(left: Iterable[float], right: Iterable[float]) -> float:
    return float(sum(map(mul, left, right)))
