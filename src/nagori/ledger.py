"""The one write path: lock → catch up → decide → append → apply.

`decide` reads the state as of everything written before and says what happens next; while it looks, nobody
else writes in this space. What it returns is appended to the journal, durably, and only then applied to
the store. A crash in between leaves the store behind the journal, and whoever comes next catches it up.
So does a store that could not be written: the events are safe, and the answer is "yes".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nagori.core.bookkeeping import Batch, Cursor, LogEntry, Placed, Space, Vector, quiet
from nagori.core.fold import Event, fold, named
from nagori.core.values import batched
from nagori.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import Journal, Observer, Store

APPLY_AT_ONCE = 2000
A_LITTLE = 16 * 1024  # bytes of the journal

Decide = Callable[[], Sequence[Event]]


class Ledger:
    """Journal and store of one house, kept together."""

    def __init__(self, journal: Journal, store: Store, tell: Observer = quiet) -> None:
        self.journal = journal
        self.store = store
        self._tell = tell
        self._failures = 0  # of the store, in a row
        self._spared = 0  # writes until it is tried again

    def write(
        self,
        space: Space,
        decide: Decide,
        vectors: Mapping[str, Vector] | None = None,
        *,
        blind: bool = False,
    ) -> list[Event]:
        """Let `decide` decide and make it so. When this returns, it is kept.

        `blind` says that what `decide` decides is right even when the store cannot be read.
        """
        with self.journal.locked(space):
            well = self._catch_up_if_well(space) if blind else self.apply_waiting(space) >= 0
            placed = self.journal.append(space, decide())
            if well:
                self._try(space, lambda: self._apply_new(space, placed, vectors or {}))
        for item in placed:
            self._tell(f"memory.{item.event.type}", seq=item.event.seq, memory=item.event.memory)
        return [item.event for item in placed]

    def catch_up(self, space: Space) -> int:
        """Apply what the journal has and the store has not; the number of events applied."""
        at = self.store.cursor(space)
        end = self.journal.end(space)
        if (at.segment, at.offset) == end or self._only_words(space, at, end):
            return 0
        with self.journal.locked(space):
            count = self.apply_waiting(space)
        if count:
            self._tell("store.caught_up", space=space, events=count)
        return count

    def _only_words(self, space: Space, at: Cursor, end: tuple[int, int]) -> bool:
        """Whether what waits is a little that was heard and changes no memory. Whoever writes next takes it
        along; a hook that recalls right after it has written down its prompt need not pay for a commit."""
        if at.segment != end[0] or not 0 <= end[1] - at.offset <= A_LITTLE:
            return False
        return all(item.event.type == "heard" for item in self.journal.read(space, at))

    def apply_waiting(self, space: Space, vectors: Mapping[str, Vector] | None = None) -> int:
        """The same for somebody who holds the lock already."""
        at, count = self.store.cursor(space), 0
        if (at.segment, at.offset) != self.journal.end(space):
            for run in batched(self.journal.read(space, at), APPLY_AT_ONCE):
                self._apply(space, run, vectors or {})
                count += len(run)
        return count

    def _catch_up_if_well(self, space: Space) -> bool:
        """A store that failed is tried again after 1, 2, 4 … 64 writes: what waits for it grows, and so
        does the work of every vain attempt."""
        if self._spared > 0:
            self._spared -= 1
            return False
        return self._try(space, lambda: self.apply_waiting(space))

    def _try(self, space: Space, work: Callable[[], object]) -> bool:
        try:
            work()
        except StoreError as trouble:
            self._spared = 2 ** min(self._failures, 6)
            self._failures += 1
            self._tell("store.behind", space=space, reason=str(trouble))
            return False
        self._failures = 0
        return True

    def _apply_new(self, space: Space, placed: Sequence[Placed], vectors: Mapping[str, Vector]) -> None:
        if placed and self.store.cursor(space).seq == placed[0].begin.seq:
            self._apply(space, placed, vectors)
        else:  # the store missed something before, which comes first
            self.apply_waiting(space, vectors)

    def _apply(self, space: Space, placed: Sequence[Placed], vectors: Mapping[str, Vector]) -> None:
        events = [item.event for item in placed]
        outcome = fold(events, self.store.look(space, named(events)))
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
