"""Nearest neighbours of many vectors in one pass, for automatic links.

Searched one by one, a thousand vectors would read a million memories a thousand times. Here every memory is
read once, and a block of them is compared with all query vectors in one matrix product. Most pairs are not
compared in full: their cosine is a sum over the few directions with the largest variance, plus a rest that is
at most the product of the two rests' lengths. With that product as one more coordinate the short sum is an
upper bound of the cosine, and only pairs with a high enough bound are measured. No pair is missed.

It needs numpy, which comes with the local embedder. Without it, and for few vectors, they are searched one by
one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from heapq import nlargest
from importlib.util import find_spec

import apsw

from nagori.core.value_object import split_batches
from nagori.stores.sql_rows import Model, Selection, ask, keys
from nagori.stores.sqlite.search import meant_by_bits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Near = list[tuple[int, float]]

SHARES = (8, 4, 2)  # a bound uses one direction in this many
PAIR = 12_000  # cost of measuring one pair, in directions of a matrix product
SAMPLE = 2_048  # sample size for the directions
CELLS = 4_000_000  # cosines in memory at once
ROUNDING = 1e-4  # error of sums in single precision
DENSE = 50  # if more than one pair in this many may qualify, all are measured


def pays(model: Model) -> bool:
    """Whether one pass over everything is faster for many vectors."""
    return model.center is not None and find_spec("numpy") is not None


def nearest_keys(
    db: apsw.Connection,
    selection: Selection,
    vectors: Sequence[bytes],
    model: Model,
    k: int,
    least: float,
) -> list[Near]:
    """Keys and cosines of the k nearest to each of `vectors`, with a cosine of at least `least`."""
    # One core is enough: waiting helper threads cost more than they help.
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
    """Keys and unit vectors of all selected memories, block by block."""
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
    """The directions, as columns, with the largest variance in a sample: as few as pay off."""
    import numpy

    _, columns = numpy.linalg.eigh(sample.T @ sample)  # by variance, ascending
    choices = [columns[:, -max(1, len(columns) // share) :] for share in SHARES]

    def cost(directions: Any) -> float:
        bounds = _reduce_dimensions(sample, directions) @ _reduce_dimensions(asked, directions).T
        return float(directions.shape[1] + PAIR * (bounds >= least).mean())

    return numpy.ascontiguousarray(min(choices, key=cost), "<f4")


def _sample(db: apsw.Connection, number: int | None, model: Model) -> list[bytes]:
    """Vectors at even distances over all memories of an owner."""
    ends = f"SELECT min(key), max(key) FROM {model.vectors} WHERE key BETWEEN ? AND ?"
    [(first, last)] = ask(db, ends, keys(number))
    spots = range(first, last + 1, max(1, (last - first) // SAMPLE)) if first else ()
    sql = f"SELECT v FROM {model.vectors} WHERE key IN (SELECT value FROM json_each(?))"
    return [v for (v,) in ask(db, sql, (json.dumps(list(spots)),))]


def _reduce_dimensions(rows: Any, directions: Any) -> Any:
    """Unit vectors projected on the directions, and the length of the rest of each."""
    import numpy

    along = rows @ directions
    rest = numpy.sqrt(numpy.maximum(0, 1 - numpy.einsum("ij,ij->i", along, along)))
    return numpy.column_stack((along, rest))


def _select_promising(bounds: Any, floors: Any) -> tuple[Any, Any]:
    """Rows and columns of pairs that may reach the minimum of their column."""
    import numpy

    rows, columns = divmod(numpy.flatnonzero(bounds >= floors - ROUNDING), bounds.shape[1])
    return rows, columns


def _cosines(block: Any, asked: Any, rows: Any, columns: Any) -> Any:
    """Exact cosines pair by pair, in blocks that keep copies small."""
    import numpy

    step = max(1, CELLS // block.shape[1])
    spans = [slice(at, at + step) for at in range(0, len(rows), step)]
    parts = [numpy.einsum("ij,ij->i", block[rows[span]], asked[columns[span]]) for span in spans]
    return numpy.concatenate(parts) if parts else numpy.empty(0, "<f4")


class _Best:
    """The k best for each query vector so far, and the minimum cosine for another one."""

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
        """Raise the minimum to the last of the k."""
        import numpy

        self.best[column] = best = nlargest(self.k, self.best[column])
        self.floors[column] = numpy.nextafter(numpy.float32(best[-1][0]), numpy.float32(2))

    def ranking(self) -> list[Near]:
        return [[(key, min(1.0, cosine)) for cosine, key in nlargest(self.k, best)] for best in self.best]
