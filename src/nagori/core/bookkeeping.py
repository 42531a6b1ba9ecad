"""The words journal, ledger and store use with each other: places, batches, counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from nagori.core.fold import Event
from nagori.core.model import Memory, Relation
from nagori.core.values import Value, fresh

Space = tuple[str, str]  # tenant and user: the unit of ownership and erasure


class Cursor(Value, order=True):
    """A place in a journal: just after the event `seq`."""

    segment: int = 0
    offset: int = 0
    seq: int = 0


START = Cursor()


class Placed(Value):
    """An event and where it stands: its line begins at `begin` and ends at `end`."""

    event: Event
    begin: Cursor
    end: Cursor


class Vector(Value):
    """What a memory's text became under a model; `digest` names the text, so a stale vector shows."""

    model: str
    digest: bytes
    data: bytes


class LogEntry(Value):
    """One line of the life-cycle log [L7]: which event touched which memories, and where to read it."""

    seq: int
    at: datetime
    type: str
    memories: tuple[str, ...]
    place: Cursor


class Batch(Value, frozen=False):
    """Everything one commit changes. It lands whole, and only on top of `before`."""

    before: Cursor
    after: Cursor
    memories: Sequence[Memory] = ()
    links: Mapping[Relation, bool] = fresh(dict)
    log: Sequence[LogEntry] = ()
    vectors: Mapping[str, Vector] = fresh(dict)


class Counts(Value):
    """How many memories there are; `levels` counts those alive, by level (the archive is level 4)."""

    levels: Mapping[int, int]
    protected: int
    forgotten: int
    superseded: int
    unembedded: int

    @property
    def total(self) -> int:
        return sum(self.levels.values())


class Measures(Value):
    """What is there, looked at closely: memories alive, the archive among them, by kind and by tier; and the
    characters of those below level 1 whose full text is still kept, as shown now and in full."""

    kinds: Mapping[str, int]
    tiers: Mapping[str, int]
    shown: int
    whole: int

    @property
    def compression(self) -> float:
        """The share of the characters that is no longer shown [L9]; 0 while nothing is compressed."""
        return 1 - self.shown / self.whole if self.whole else 0.0


def quiet(name: str, **fields: object) -> None:
    """The observer that keeps silent."""
