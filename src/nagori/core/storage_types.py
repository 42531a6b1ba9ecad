"""Data types shared by journal, ledger and store: positions, batches, log entries, counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from nagori.core.events import RecordedTurn
from nagori.core.model import Item, Memory, Relation
from nagori.core.value_object import Value, default_factory

Owner = tuple[str, str]  # tenant and user: the unit of ownership and erasure


class AppliedPosition(Value):
    """How far a store has applied a journal: up to and including event `seq`.

    `journal` identifies the journal and `mark` that event. Together they reveal a journal that was replaced,
    cut or restored from a copy.
    """

    seq: int = 0
    mark: int = 0
    journal: str = ""


NOTHING_APPLIED = AppliedPosition()


class Vector(Value):
    """The embedding of a memory's text under a model. `digest` identifies the text, so a stale vector is
    detected."""

    model: str
    digest: bytes
    data: bytes


class LogEntry(Value):
    """One line of the life-cycle log: which event touched which memories. The journal holds the event."""

    seq: int
    at: datetime
    type: str
    memories: tuple[str, ...]


class Batch(Value, frozen=False):
    """All changes of one commit. It is applied as a whole, and only on top of event `before`."""

    before: int
    after: AppliedPosition
    memories: Sequence[Memory] = ()
    links: Mapping[Relation, bool] = default_factory(dict)
    log: Sequence[LogEntry] = ()
    vectors: Mapping[str, Vector] = default_factory(dict)
    turns: Sequence[RecordedTurn] = ()
    processed: Sequence[tuple[int, int]] = ()  # ranges of events whose turns are processed
    origins: Sequence[tuple[str, int]] = ()  # memory, and the event of the turn it was formed from
    state: Mapping[str, object] = default_factory(dict)  # plain JSON data; None removes the key
    erased: Sequence[str] = ()  # memories whose rows, texts, vectors and relations are removed
    # Memories erased on demand, and the event of it: log and origins keep nothing from before it. Of those
    # that were purged or deleted they do, because the journal is redacted by it later.
    erasures: Sequence[tuple[str, int]] = ()
    redacted_turns: Sequence[int] = ()  # events of turns whose words are removed
    items: Mapping[str, Item | None] = default_factory(dict)  # by id; None removes it
    renewals: Mapping[str, datetime] = default_factory(dict)  # items whose time to live starts again then
    vectors_shared: bool = False  # other nodes have been given the vectors


class Counts(Value):
    """The number of memories; `levels` counts those that are not forgotten, by level (the archive is level
    4)."""

    levels: Mapping[int, int]
    protected: int
    forgotten: int
    superseded: int
    unembedded: int

    @property
    def total(self) -> int:
        return sum(self.levels.values())


class Measures(Value):
    """Detailed statistics: memories by kind and tier, the archive included; and for compressed memories whose
    full text is still kept, the characters shown now and in full."""

    kinds: Mapping[str, int]
    tiers: Mapping[str, int]
    shown: int
    whole: int

    @property
    def compression(self) -> float:
        """The share of characters that compression saves; 0 if nothing is compressed."""
        return 1 - self.shown / self.whole if self.whole else 0.0


class VectorModels(Value):
    """The embedding models of an owner's vectors: the active one, and the number of vectors of each."""

    active: str | None = None
    counts: Mapping[str, int] = default_factory(dict)
