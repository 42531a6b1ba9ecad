"""The one write path: lock → catch up → decide → append → apply.

`decide` reads the state as of everything written before and says what happens next; while it looks, nobody
else writes in this space. What it returns is appended to the journal, durably, and only then applied to
the store. A crash in between leaves the store behind the journal, and whoever comes next catches it up.
So does a store that could not be written: the events are safe, and the answer is "yes".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from nagori.core.bookkeeping import Batch, LogEntry, Placed, Space, Vector, quiet
from nagori.core.fold import Event, fold
from nagori.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import Journal, Observer, Store

APPLY_AT_ONCE = 2000

Decide = Callable[[], Sequence[Event]]


class Ledger:
    """Journal and store of one house, kept together."""

    def __init__(self, journal: Journal, store: Store, tell: Observer = quiet) -> None:
        self.journal = journal
        self.store = store
        self._tell = tell

    def write(self, space: Space, decide: Decide, vectors: Mapping[str, Vector] | None = None) -> list[Event]:
        """Let `decide` decide and make it so. When this returns, it is kept."""
        with self.journal.locked(space):
            self.apply_waiting(space)
            events = decide()
            placed = self.journal.append(space, events)
            try:
                self._apply(space, placed, vectors or {})
            except StoreError as trouble:
                self._tell("store.behind", space=space, reason=str(trouble))
        for item in placed:
            self._tell(f"memory.{item.event.type}", seq=item.event.seq, memory=item.event.memory)
        return [item.event for item in placed]

    def catch_up(self, space: Space) -> int:
        """Apply what the journal has and the store has not; the number of events applied."""
        at = self.store.cursor(space)
        if (at.segment, at.offset) == self.journal.end(space):
            return 0
        with self.journal.locked(space):
            return self.apply_waiting(space)

    def apply_waiting(self, space: Space) -> int:
        """The same for somebody who holds the lock already."""
        at = self.store.cursor(space)
        if (at.segment, at.offset) == self.journal.end(space):
            return 0
        count = 0
        for run in _runs(self.journal.read(space, at), APPLY_AT_ONCE):
            self._apply(space, run, {})
            count += len(run)
        if count:
            self._tell("store.caught_up", space=space, events=count)
        return count

    def _apply(self, space: Space, placed: Sequence[Placed], vectors: Mapping[str, Vector]) -> None:
        if not placed:
            return
        outcome = fold((item.event for item in placed), lambda id: self.store.look(space, id))
        log = [
            LogEntry(event.seq, event.at, event.type, touched, item.begin)
            for item, (event, touched) in zip(placed, outcome.touched, strict=True)
        ]
        batch = Batch(
            before=self.store.cursor(space),
            after=placed[-1].end,
            memories=list(outcome.memories.values()),
            links=outcome.links,
            log=log,
            vectors=vectors,
        )
        self.store.commit(space, batch)


def _runs(items: Iterable[Placed], size: int) -> Iterable[list[Placed]]:
    iterator = iter(items)
    while run := list(islice(iterator, size)):
        yield run
