"""Arrays of an index in memory, one place for each memory: columns, places of words, vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log

import numpy

from nagori.core.relevance import MOST_SKETCHES, Query, sample_numbers
from nagori.core.value_object import split_batches
from nagori.stores.sql_rows import KEY_BITS, Model, ask
from nagori.stores.sqlite import search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nagori.stores.sqlite import Connection

NUMBER = (1 << KEY_BITS) - 1  # the part of a key that numbers the memories of its owner
AT_ONCE = 4_096  # rows per step while arrays are filled
WORD_BYTES = 300  # of a word with its list, as an estimate, without the arrays
WORDS_AT_ONCE = 3  # words of 64 bits whose differences a byte can count
SHARE_OF_VECTORS = 0.8  # of all bytes; else only the bits of vectors are kept
SPARE = 1.2  # room for new memories, as a factor
FEW_ROWS = 8
BLOCK = 64  # rows per step: what is copied stays in the cache, and its memory is used again
DIFFERENCE = 1e-3  # far more than two ways of adding products differ by
PROBE = 64  # vectors for which our cosines are compared with those of the file


class Columns:
    """What decides who may see a memory: one array per column, names as codes (0: none).

    A memory has its place in all arrays in the order of the numbers. Numbers of erased memories are never
    given again, so arrays by number would grow for ever. Place 0 belongs to nobody."""

    NAMES = ("number", "present", "archived", "forgotten", "project", "agent", "role", "privacy", "created")

    def __init__(self, size: int) -> None:
        self.number, self._end = numpy.zeros(size, "<i8"), 1
        self.present, self.archived, self.forgotten = (numpy.zeros(size, "?") for _ in range(3))
        self.project, self.agent, self.role, self.privacy = (numpy.zeros(size, "<i4") for _ in range(4))
        self.created = numpy.zeros(size, "<i8")

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in self.NAMES)

    def find(self, numbers: Any) -> Any:
        """The places of memories by their numbers; 0 for those that are not here."""
        known = self.number[: self._end]
        places = numpy.searchsorted(known, numbers)
        places[places == self._end] = 0
        return numpy.where(known[places] == numbers, places, 0)

    def put(self, rows: Sequence[tuple[Any, ...]]) -> bool:
        """Set the columns of rows that begin with the number; returns whether anything differs."""
        columns = [numpy.array(column, numpy.int64) for column in zip(*rows, strict=True)]
        self._add(numpy.unique(columns[0][columns[0] > self.number[self._end - 1]]))
        places, differs = self.find(columns[0]), False
        if not places.all():
            raise ValueError("a memory with a number from before")
        for name, values in zip(self.NAMES, columns, strict=True):
            array = getattr(self, name)
            differs = differs or bool((array[places] != values).any())
            array[places] = values
        return differs

    def _add(self, numbers: Any) -> None:
        end = self._end + len(numbers)
        if end > len(self.number):
            for name in self.NAMES:
                setattr(self, name, _enlarge(getattr(self, name), int(end * SPARE) + 64))
        self.number[self._end : end] = numbers
        self._end = end


def _enlarge(array: Any, size: int) -> Any:
    larger = numpy.zeros((size, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


class Places:
    """The places of the memories with a word, ascending, and how often it occurs in each. `cut`: there are
    more."""

    __slots__ = ("counts", "cut", "spots", "times")

    def __init__(self, spots: Any, counts: Any, times: int, cut: bool) -> None:
        self.spots, self.counts, self.times, self.cut = spots, counts, times, cut

    @classmethod
    def of(cls, each: Any, cut: bool) -> Places:
        """From the place of each occurrence."""
        firsts = numpy.flatnonzero(numpy.diff(each, prepend=-1))  # they are ascending
        return cls(each[firsts], numpy.diff(firsts, append=len(each)), len(each), cut)

    @property
    def nbytes(self) -> int:
        return int(self.spots.nbytes + self.counts.nbytes) + WORD_BYTES

    def count(self, most: int) -> int:
        return min(self.times, most)

    def first(self, most: int) -> Places:
        """The first `most` places."""
        if self.times <= most:
            return self
        return Places.of(numpy.repeat(self.spots, self.counts)[:most], cut=True)

    def add(self, place: int, times: int) -> None:
        """A new memory has the word so often. After a cut it is among those that are left out."""
        if not self.cut:
            self.spots = numpy.append(self.spots, place)
            self.counts = numpy.append(self.counts, times)
            self.times += times

    def among(self, chosen: Any, at: Any) -> tuple[Any, Any]:
        """Of those that are chosen, what `at` has for each, and its count."""
        these = chosen[self.spots]
        return at[self.spots[these]], self.counts[these]


class Vectors:
    """The vectors of one model and their bits. If the vectors need too many bytes, only the bits are here."""

    def __init__(self, model: Model, columns: Columns, most_bytes: int) -> None:
        self.model = model
        self._columns, size = columns, len(columns.present)
        self._words = -(-model.dimension // 64)
        self._has_bits = numpy.zeros(size, "?")
        # Bits that are compared together lie together.
        self._bits = numpy.zeros((self._words, size if model.center is not None else 0), "<u8")
        self._has_vector = numpy.zeros(size, "?")
        self._exact = size * model.dimension * 4 + self._bits.nbytes <= SHARE_OF_VECTORS * most_bytes
        self._vectors = numpy.zeros((size if self._exact else 0, model.dimension), "<f4")
        self._norms = numpy.ones(size)
        self._sample: tuple[int, Any, Any] | None = None  # the last number, and the vectors of `usual`

    @property
    def nbytes(self) -> int:
        arrays = (self._has_bits, self._bits, self._has_vector, self._vectors, self._norms)
        return sum(array.nbytes for array in arrays) + (self._sample[1].nbytes if self._sample else 0)

    def reserve(self) -> None:
        """Make room for as many as there are columns."""
        if (size := len(self._columns.present)) <= len(self._has_vector):
            return
        for name in ("_has_bits", "_has_vector", "_norms"):
            setattr(self, name, _enlarge(getattr(self, name), size))
        if self.model.center is not None:
            self._bits = _enlarge(self._bits.T, size).T.copy()
        if self._exact:
            self._vectors = _enlarge(self._vectors, size)

    def load(self, db: Connection, which: str, values: Sequence[Any]) -> None:
        """Read the rows whose key is `which`."""
        if self.model.center is not None:
            sql = f"SELECT key, b FROM {self.model.bits} WHERE key {which}"
            for rows in split_batches(db.execute(sql, tuple(values)), AT_ONCE):
                places = self._columns.find(to_numbers([key for key, _ in rows]))
                padded = [data.ljust(8 * self._words, b"\0") for _, data in rows]
                self._bits[:, places] = numpy.frombuffer(b"".join(padded), "<u8").reshape(len(rows), -1).T
                self._has_bits[places] = places > 0
        if self._exact:
            sql = f"SELECT key, v FROM {self.model.vectors} WHERE key {which}"
            for rows in split_batches(db.execute(sql, tuple(values)), AT_ONCE):
                places = self._columns.find(to_numbers([key for key, _ in rows]))
                self._put_vectors(places, b"".join([data for _, data in rows]))

    def _put_vectors(self, places: Any, data: bytes) -> None:
        self._sample = None
        vectors = numpy.frombuffer(data, "<f4").reshape(len(places), -1)
        self._vectors[places] = vectors
        self._norms[places] = _norms(vectors)
        self._has_vector[places] = places > 0

    def compare(self, db: Connection) -> None:
        """Use our own cosines only if they equal those of the file: a compiler may round otherwise."""
        spots = numpy.flatnonzero(self._has_vector)[:PROBE]
        if len(spots):
            first = self._vectors[spots[0]].tobytes()
            sql = "SELECT 1 - vec_distance_cosine(?, ?)"
            theirs = [ask(db, sql, (self._vectors[spot].tobytes(), first))[0][0] for spot in spots]
            ours = self._cosines(spots, AskedVector(first))
            if ours is None or ours.tolist() != theirs:
                self._exact, self._vectors = False, self._vectors[:0]

    def _cosines(self, places: Any, asked: AskedVector) -> Any:
        """Cosines as sqlite-vec computes them, bit for bit: sums in single precision from first to last, the
        rest in double. None if a sum is too large."""
        sums = numpy.empty(len(places), "<f4")
        for at in range(0, len(places), BLOCK):
            rows = self._vectors[places[at : at + BLOCK]]
            rows *= asked.values
            sums[at : at + BLOCK] = _sum_in_order(rows)
        return _divide(sums, asked, self._norms[places])

    def nearest(self, db: Connection, asked: AskedQuery, mask: Any, k: int) -> tuple[Any, Any] | None:
        """Places and cosines of the k nearest of those in the mask, best first; without a shortlist also
        those that are as near as the last. None if the file has to be asked."""
        if not self._exact:
            return None
        if self.model.center is None:
            places = numpy.flatnonzero(mask & self._has_vector)
        else:
            places = self._shortlist(db, asked.search_vector, mask, max(search.SHORTLIST, 2 * k))
            places = numpy.sort(places[self._has_vector[places]])
            places = self._narrow(places, asked, k)
        cosines = asked.larger(lambda vector: self._cosines(places, vector))
        if cosines is None:
            return None
        order = numpy.argsort(-cosines, kind="stable")
        if self.model.center is not None:
            order = order[:k]
        elif len(order) > k:
            order = order[cosines[order] >= cosines[order[k - 1]]]
        return places[order], cosines[order]

    def _narrow(self, places: Any, asked: AskedQuery, k: int) -> Any:
        """Those that can be among the k nearest. Sums in any order are fast; only these few are added as the
        file adds them."""
        if len(places) <= k:
            return places
        cosines = asked.larger(lambda vector: self._fast_cosines(places, vector))
        if cosines is None:
            return places
        least = numpy.partition(cosines, len(cosines) - k)[len(cosines) - k]
        return places[cosines >= least - DIFFERENCE]

    def _fast_cosines(self, places: Any, asked: AskedVector) -> Any:
        sums = numpy.empty(len(places), "<f4")
        rows = numpy.empty((BLOCK, self.model.dimension), "<f4")
        for at in range(0, len(places), BLOCK):
            some = places[at : at + BLOCK]
            here = self._vectors.take(some, axis=0, out=rows[: len(some)], mode="clip")
            numpy.vecdot(here, asked.values, out=sums[at : at + BLOCK])
        return _divide(sums, asked, self._norms[places])

    def _shortlist(self, db: Connection, vector: bytes, mask: Any, n: int) -> Any:
        """`search._shortlist`: the n whose bits agree best; of equal ones the first."""
        [(bits,)] = ask(db, "SELECT vec_quantize_binary(vec_sub(?, ?))", (vector, self.model.center))
        asked = numpy.frombuffer(bits.ljust(8 * self._words, b"\0"), "<u8")
        apart = self._count_differences(asked)
        never = 64 * self._words + 1  # more bits than there are
        apart[~(mask & self._has_bits)] = never
        most = numpy.searchsorted(numpy.cumsum(numpy.bincount(apart)), n)
        places = numpy.flatnonzero(apart <= min(most, never - 1))
        return places[numpy.argsort(apart[places], kind="stable")[:n]]

    def _count_differences(self, asked: Any) -> Any:
        """In how many bits each differs. Single bytes are added faster; one holds the bits of three words."""
        apart = numpy.zeros(self._bits.shape[1], "<u2")
        for first in range(0, len(asked), WORDS_AT_ONCE):
            few = numpy.bitwise_count(self._bits[first] ^ asked[first])
            for at in range(first + 1, min(first + WORDS_AT_ONCE, len(asked))):
                few += numpy.bitwise_count(self._bits[at] ^ asked[at])
            apart += few
        return apart

    def usual(self, asked: AskedQuery, last: int) -> tuple[float, float] | None:
        """`search.usual`; None if the file has to be asked. Every question asks for the same vectors, so they
        are kept as columns, which are added faster."""
        if not self._exact:
            return None
        if self._sample is None or self._sample[0] != last:
            places = self._columns.find(numpy.array(sample_numbers(last), numpy.int64))
            places = places[self._has_vector[places]]
            self._sample = (last, numpy.ascontiguousarray(self._vectors[places].T), self._norms[places])
        _, columns, norms = self._sample
        cosines = asked.larger(
            lambda vector: _divide(_sum_in_order((columns * vector.values[:, None]).T), vector, norms)
        )
        return None if cosines is None else search.summarize_cosines(cosines.tolist())


class AskedQuery:
    """The vector of a question, or its two vectors."""

    __slots__ = ("search_vector", "vectors")

    def __init__(self, query: Query) -> None:
        self.search_vector = query.search_vector
        self.vectors = [AskedVector(query.vector or b"")]
        if query.other is not None:
            self.vectors.append(AskedVector(query.other.vector, query.other.offset))

    def larger(self, cosines_by: Callable[[AskedVector], Any]) -> Any:
        """The larger one of the cosines by each vector; None if one of them is None."""
        best: Any = None
        for vector in self.vectors:
            cosines = cosines_by(vector)
            if cosines is None:
                return None
            best = cosines if best is None else numpy.maximum(best, cosines + vector.offset)
        return best


class AskedVector:
    """The vector of a question, with its length, and what is added to its cosines."""

    __slots__ = ("norm", "offset", "values")

    def __init__(self, data: bytes, offset: float = 0.0) -> None:
        self.values, self.offset = numpy.frombuffer(data, "<f4"), offset
        self.norm = _norms(self.values[None])[0]


def _divide(sums: Any, asked: AskedVector, norms: Any) -> Any:
    """Cosines from products of vectors and their lengths; None if one is too large."""
    distance = 1 - sums.astype("f8") / (asked.norm * norms)
    cosines = 1 - distance.astype("<f4").astype("f8")
    return cosines if numpy.isfinite(cosines).all() else None


def to_numbers(keys: Sequence[int]) -> Any:
    """The numbers of memories, from their keys."""
    return numpy.array(keys, numpy.int64) & NUMBER


def _norms(vectors: Any) -> Any:
    """Lengths of vectors, from sums of squares in single precision, as sqlite-vec has them."""
    blocks = [vectors[at : at + BLOCK] for at in range(0, len(vectors), BLOCK)]
    return numpy.sqrt(numpy.concatenate([_sum_in_order(block * block) for block in blocks]).astype("f8"))


def _sum_in_order(rows: Any) -> Any:
    """The sum of each row in single precision, from first to last. Along columns numpy adds one row after the
    other; a lone column it would add in pairs."""
    if len(rows) < FEW_ROWS:
        return numpy.add.accumulate(rows, axis=1)[:, -1]
    return numpy.add.reduce(numpy.ascontiguousarray(rows.T), axis=0)


def most_telling(places: Mapping[str, Places], total: int, size: int) -> Any:
    """`core.relevance.most_telling`: the same sums, added in the same order. `size` is that of all arrays."""
    rarity = numpy.zeros(size)
    for where in places.values():
        rarity[where.spots] += log(1 + total / len(where.spots))
    every = numpy.flatnonzero(rarity)
    if len(every) <= MOST_SKETCHES:
        return every
    rarity = rarity[every]
    least = numpy.partition(rarity, -MOST_SKETCHES)[-MOST_SKETCHES]
    rarest = every[rarity > least]
    return numpy.concatenate([rarest, every[rarity == least][len(rarest) - MOST_SKETCHES :]])
