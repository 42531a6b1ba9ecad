"""The light rows of candidates: as rows, and as columns of what the ranking computes with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from nagori.core.model import LARGEST_COUNT, THREAD_ID
from nagori.core.relevance import FIRST_HAND, CandidateInfo, length_term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TURN_BITS = 42  # of a place: a turn in the middle of as many numbers, so that neighbours differ by 1
MIDDLE = 1 << (TURN_BITS - 1)
NOWHERE = -1  # the place of what is outside conversations
COLUMNS = {
    "place": "<i8",
    "speaker": "<i4",
    "tokens": "<f8",
    "length": "<f8",
    "asks": "<f8",
    "told": "<f8",
    "at": "<i8",
    "summary": "?",
}
assert LARGEST_COUNT < MIDDLE


def session_of(places: Any) -> Any:
    """The conversations of places."""
    return places >> TURN_BITS


class Sketches:
    """By the place of a memory (see `Columns`); filled as questions need them."""

    def __init__(self, size: int) -> None:
        self._sessions: dict[str, int] = {}
        self._speakers: dict[str | None, int] = {None: 0}
        self.count = 0
        self._allocate(size)

    def _allocate(self, size: int) -> None:
        self._rows = numpy.full(size, None, object)
        self._known = numpy.zeros(size, "?")
        self._columns = {name: numpy.zeros(size, kind) for name, kind in COLUMNS.items()}

    @property
    def nbytes(self) -> int:
        arrays = (self._rows, self._known, *self._columns.values())
        return sum(array.nbytes for array in arrays)

    def reserve(self, size: int) -> None:
        """Room for so many; what was known is kept."""
        if size > len(self._known):
            former, known = self._rows, numpy.flatnonzero(self._known)
            self._allocate(size)
            self.count = 0
            self.put(known.tolist(), former[known].tolist())

    def missing(self, spots: Any) -> list[int]:
        """Those of the spots that have to be read."""
        known = self._known[spots]
        return [] if known.all() else spots[~known].tolist()

    def put(self, spots: Sequence[int], rows: Sequence[CandidateInfo]) -> None:
        if not spots:
            return
        at = numpy.array(spots, numpy.int64)
        self.count += int((~self._known[at]).sum())
        for spot, row in zip(spots, rows, strict=True):
            self._rows[spot] = row
        for name, values in zip(COLUMNS, zip(*map(self._values, rows), strict=True), strict=True):
            self._columns[name][at] = values
        self._known[at] = True

    def _values(self, row: CandidateInfo) -> tuple[float, ...]:
        place = NOWHERE
        if row.session is not None and row.turn is not None:
            session = self._sessions.setdefault(row.session, len(self._sessions))
            place = (session << TURN_BITS) + row.turn + MIDDLE
        speaker = self._speakers.setdefault(row.speaker, len(self._speakers))
        told, summary = row.trust in FIRST_HAND, row.id.startswith(THREAD_ID)
        return (place, speaker, row.tokens, length_term(row.chars), row.asks, told, row.at, summary)

    def forget(self, spot: int) -> None:
        if spot < len(self._known) and self._known[spot]:
            self._known[spot], self._rows[spot] = False, None
            self.count -= 1

    def row(self, spot: int) -> CandidateInfo:
        found: CandidateInfo = self._rows[spot]
        return found

    def select(self, spots: Any) -> Sketch:
        """A copy of some."""
        columns = {name: column[spots] for name, column in self._columns.items()}
        return Sketch(self._rows[spots], columns, self._speakers)


class Sketch:
    """The rows and columns of the candidates of one question."""

    def __init__(self, rows: Any, columns: dict[str, Any], speakers: dict[str | None, int]) -> None:
        self.rows = rows
        self.place, self.speaker, self.tokens, self.length = (
            columns[name] for name in ("place", "speaker", "tokens", "length")
        )
        self.asks, self.told, self.at, self.summary = (
            columns[name] for name in ("asks", "told", "at", "summary")
        )
        self._codes = speakers

    def speakers(self) -> set[str | None]:
        if not self.speaker.any():
            return {None} if len(self.speaker) else set()
        _, first = numpy.unique(self.speaker, return_index=True)
        return {self.rows[at].speaker for at in first.tolist()}

    def code_of_only(self, named: frozenset[str]) -> int:
        """The code of the one speaker who is named; -1 if there is none or several."""
        return self._codes.get(next(iter(named)), -1) if len(named) == 1 else -1
