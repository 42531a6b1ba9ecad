"""The words journal, ledger and store use with each other: positions, batches, turns, counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from nagori.core.events import RecordedTurn
from nagori.core.model import Memory, Relation
from nagori.core.values import Value, default_factory

Owner = tuple[str, str]  # tenant and user: the unit of ownership and erasure


class AppliedPosition(Value):
    """How far a store has followed a journal: up to and including event `seq`.

    `journal` is the identity of the journal and `mark` the mark of that event: together they show a journal
    that was exchanged, cut or put back since.
    """

    seq: int = 0
    mark: int = 0
    journal: str = ""


NOTHING_APPLIED = AppliedPosition()


class Vector(Value):
    """What a memory's text became under a model; `digest` names the text, so a stale vector shows."""

    model: str
    digest: bytes
    data: bytes


class LogEntry(Value):
    """One line of the life-cycle log: which event touched which memories. The journal has the event."""

    seq: int
    at: datetime
    type: str
    memories: tuple[str, ...]


class Batch(Value, frozen=False):
    """Everything one commit changes. It lands whole, and only on top of event `before`."""

    before: int
    after: AppliedPosition
    memories: Sequence[Memory] = ()
    links: Mapping[Relation, bool] = default_factory(dict)
    log: Sequence[LogEntry] = ()
    vectors: Mapping[str, Vector] = default_factory(dict)
    turns: Sequence[RecordedTurn] = ()
    processed: Sequence[tuple[int, int]] = ()  # turns from event to event that need no more processing
    origins: Sequence[tuple[str, int]] = ()  # memory, and the event of a turn it was formed from
    state: Mapping[str, object] = default_factory(dict)  # plain JSON data; None removes the key
    erased: Sequence[str] = ()  # memories whose rows, texts, vectors and relations go
    redacted_turns: Sequence[int] = ()  # events of turns whose words go


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
        """The share of the characters that is no longer shown; 0 while nothing is compressed."""
        return 1 - self.shown / self.whole if self.whole else 0.0


class VectorModels(Value):
    """The embedding models of an owner's vectors: the one that is searched with, and how many of each."""

    active: str | None = None
    counts: Mapping[str, int] = default_factory(dict)
