"""The neighbours of many vectors in one walk over all of them, for the ties of a night.

Asked one by one, a thousand vectors read a million memories a thousand times. Here every memory is read once,
and a block of them is compared with all questions in one matrix product. Most pairs need not be compared to
the end: their cosine is a sum over the few directions in which vectors differ most, plus a rest that is at
most the product of the two rests' lengths. With that product as one more coordinate the small sum is a bound
that no cosine exceeds, and only pairs whose bound is high enough are measured. Nothing is left out.

It needs numpy, which comes with the local embedder. Without it, and for few, questions go one by one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from heapq import nlargest
from importlib.util import find_spec

import apsw

from nagori.core.values import split_batches
from nagori.stores.sql import Model, Selection, ask, keys
from nagori.stores.sqlite.search import meant_by_bits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Near = list[tuple[int, float]]

SHARES = (8, 4, 2)  # a bound looks at one direction in so many
PAIR = 12_000  # measuring one pair by itself costs as much as so many directions of a matrix product
SAMPLE = 2_048  # vectors that tell the directions
CELLS = 4_000_000  # cosines in memory at once
ROUNDING = 1e-4  # of sums in single precision
DENSE = 50  # if more than one pair in so many may count, all are measured


def pays(model: Model) -> bool:
    """Whether a walk over everything is the better way for many questions."""
    return model.center is not None and find_spec("numpy") is not None


def nearest_keys(
    db: apsw.Connection,
    selection: Selection,
    vectors: Sequence[bytes],
    model: Model,
    k: int,
    least: float,
) -> list[Near]:
    """Keys and cosines of the k nearest to each of `vectors`, of those with a cosine of `least` or more."""
    # One core is enough for a night: helpers that spin while they wait cost more than they help.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sample = _sample(db, selection.number, model)
    if not sample:
        return [[] for _ in vectors]
    asked = _units(vectors, model.dimension)
    directions = _directions(_units(sample, model.dimension), asked, least)
    short, best = _reduce_dimensions(asked, directions).T.copy(), _Best(len(vectors), k, least)
    for block_keys, block in _blocks(db, selection, model, max(256, CELLS // len(vectors))):
        rows, columns = _select_promising(_reduce_dimensions(block, directions) @ short, best.floors)
        if len(rows) * DENSE > len(block_keys) * len(vectors):
            rows, columns = _select_promising(block @ asked.T, best.floors)
        best.add(block_keys, rows, columns, _cosines(block, asked, rows, columns))
    return best.ranking()


def _blocks(
    db: apsw.Connection, selection: Selection, model: Model, size: int
) -> Iterator[tuple[list[int], Any]]:
    """Keys and unit vectors of all that is meant, block by block."""
    where, values = meant_by_bits(selection)
    sql = f"""
        SELECT b.key, v.v FROM {model.bits} b CROSS JOIN {model.vectors} v ON v.key = b.key
        WHERE {where} ORDER BY b.key"""
    for rows in split_batches(db.execute(sql, values), size):
        yield [key for key, _ in rows], _units([data for _, data in rows], model.dimension)


def _units(vectors: Sequence[bytes], dimension: int) -> Any:
    import numpy

    rows = numpy.frombuffer(b"".join(vectors), "<f4").reshape(-1, dimension)
    return rows / numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows))[:, None]


def _directions(sample: Any, asked: Any, least: float) -> Any:
    """The directions, as columns, in which a sample of the vectors is told best: as few as pay."""
    import numpy

    _, columns = numpy.linalg.eigh(sample.T @ sample)  # by what they tell, least first
    choices = [columns[:, -max(1, len(columns) // share) :] for share in SHARES]

    def cost(directions: Any) -> float:
        bounds = _reduce_dimensions(sample, directions) @ _reduce_dimensions(asked, directions).T
        return float(directions.shape[1] + PAIR * (bounds >= least).mean())

    return numpy.ascontiguousarray(min(choices, key=cost), "<f4")


def _sample(db: apsw.Connection, number: int | None, model: Model) -> list[bytes]:
    """Vectors at even distances, over the whole life of a space."""
    ends = f"SELECT min(key), max(key) FROM {model.vectors} WHERE key BETWEEN ? AND ?"
    [(first, last)] = ask(db, ends, keys(number))
    spots = range(first, last + 1, max(1, (last - first) // SAMPLE)) if first else ()
    sql = f"SELECT v FROM {model.vectors} WHERE key IN (SELECT value FROM json_each(?))"
    return [v for (v,) in ask(db, sql, (json.dumps(list(spots)),))]


def _reduce_dimensions(rows: Any, directions: Any) -> Any:
    """Unit vectors along the directions, and the length of what is left of each."""
    import numpy

    along = rows @ directions
    rest = numpy.sqrt(numpy.maximum(0, 1 - numpy.einsum("ij,ij->i", along, along)))
    return numpy.column_stack((along, rest))


def _select_promising(bounds: Any, floors: Any) -> tuple[Any, Any]:
    """Rows and columns of what may reach the floor of its column."""
    import numpy

    rows, columns = divmod(numpy.flatnonzero(bounds >= floors - ROUNDING), bounds.shape[1])
    return rows, columns


def _cosines(block: Any, asked: Any, rows: Any, columns: Any) -> Any:
    """Pair by pair, so many at once that copies of them stay small."""
    import numpy

    step = max(1, CELLS // block.shape[1])
    spans = [slice(at, at + step) for at in range(0, len(rows), step)]
    parts = [numpy.einsum("ij,ij->i", block[rows[span]], asked[columns[span]]) for span in spans]
    return numpy.concatenate(parts) if parts else numpy.empty(0, "<f4")


class _Best:
    """The k best for each question so far, and the cosine from which on another one counts."""

    def __init__(self, questions: int, k: int, least: float) -> None:
        import numpy

        self.k = k
        self.best: list[list[tuple[float, int]]] = [[] for _ in range(questions)]
        self.floors = numpy.full(questions, least, "<f4")

    def add(self, block_keys: Sequence[int], rows: Any, columns: Any, cosines: Any) -> None:
        counts = cosines >= self.floors[columns]
        touched = set()
        given = (rows[counts].tolist(), columns[counts].tolist(), cosines[counts].tolist())
        for row, column, cosine in zip(*given, strict=True):
            self.best[column].append((cosine, block_keys[row]))
            touched.add(column)
        for column in touched:
            if len(self.best[column]) > 4 * self.k:
                self._raise(column)

    def _raise(self, column: int) -> None:
        """Only what is nearer than the last of the k counts from now on."""
        import numpy

        self.best[column] = best = nlargest(self.k, self.best[column])
        self.floors[column] = numpy.nextafter(numpy.float32(best[-1][0]), numpy.float32(2))

    def ranking(self) -> list[Near]:
        return [[(key, min(1.0, cosine)) for cosine, key in nlargest(self.k, best)] for best in self.best]
