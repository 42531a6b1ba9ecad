"""The search index of an owner in the memory of a process that stays, such as a server.

A copy of what `search.py` reads from the file, as arrays with a place for each memory: who may see it, its
vector and bits, where words occur, and the memories that were answers before. It answers exactly as the file
does.

Nothing here is asked for without a look at the owner's row in the same transaction. The copy is valid for one
file, one revision and one position. If only the position moved, the log names the memories that were added or
changed, and only those are read again; after anything else the copy is dropped. A transaction that began
before the copy was renewed reads the file.

Arrays need numpy, which comes with the local embedder. Without it, the file is searched. A process that
recalls once (a hook, a command) never gets here: see `SqliteStore.candidates`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence

import numpy

from nagori.core.model import Memory, Scope
from nagori.core.relevance import Candidates, Query
from nagori.core.storage_types import Owner
from nagori.core.value_object import no_observer
from nagori.stores.sql_rows import Model, Selection
from nagori.stores.sqlite.resident.owner_search_index import OwnerIndex, State, read_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.core.model import Filter
    from nagori.protocols import Observer
    from nagori.stores.sqlite import Connection

WAIT_SECONDS = 0.05  # for another thread that uses the same index; reading the file takes as long

WORTH = 100  # answers after which an index was worth the filling
MOST_SKIPPED = 64  # questions that the file answers before an index is filled again

DAMAGED = (TypeError, ValueError, IndexError, KeyError, OverflowError)


def is_possible() -> bool:
    """Whether this numpy can count bits (2.0 and later)."""
    return hasattr(numpy, "bitwise_count")


class ResidentIndexes:
    """The indexes of the owners who were asked about last, within a number of bytes."""

    def __init__(self, most_bytes: int, observe: Observer = no_observer) -> None:
        self._most_bytes, self._observe = most_bytes, observe
        self._by_owner: OrderedDict[Owner, OwnerIndex] = OrderedDict()
        self._total = 0
        self._begun: set[Owner] = set()  # owners whose index is being filled
        self._too_large: dict[Owner, int] = {}  # owners with so many memories have no room
        self._short_lived: dict[Owner, int] = {}  # indexes in a row that were dropped too soon
        self._skipped: dict[Owner, int] = {}  # questions that the file still answers
        self._lock = threading.Lock()  # of these; an index has its own
        self._dropped = 0  # so that an index that was begun before is not kept

    def candidates(
        self, db: Connection, selection: Selection, query: Query, model: Model | None
    ) -> Candidates | None:
        """The same as `search.candidates`; None if the file has to be asked."""
        if not _is_covered(selection.filter):
            return None
        owner = selection.scope.owner
        try:
            with self._use(db, owner, build=True) as index:
                if index is None:
                    return None
                index.answers += 1
                return index.candidates(db, selection, query, model)
        except DAMAGED as fault:
            self._give_up(owner, fault)
            return None

    def get(self, db: Connection, scope: Scope, ids: Sequence[str]) -> list[Memory] | None:
        """The memories of these ids that the scope may see; None if the file has to be asked."""
        try:
            with self._use(db, scope.owner, build=False) as index:
                return None if index is None else index.get(db, scope, ids)
        except DAMAGED as fault:
            self._give_up(scope.owner, fault)
            return None

    def drop(self, owner: Owner | None = None) -> None:
        """Forget the index of an owner, or every one."""
        with self._lock:
            self._dropped += 1
            for each in [owner] if owner is not None else list(self._by_owner):
                self._skip_questions(each)
                self._remove(each)

    def forget(self, owner: Owner, ids: Iterable[str]) -> None:
        """Forget the words of memories that have changed."""
        if (index := self._by_owner.get(owner)) is not None:
            index.forget(ids)

    @property
    def nbytes(self) -> int:
        return self._total

    def _skip_questions(self, owner: Owner) -> None:
        """Fill no index for an owner whose content is replaced again and again: where a store is rebuilt,
        every process that reads it would fill all its indexes at the same time."""
        if (index := self._by_owner.get(owner)) is None:
            return
        short_lived = self._short_lived.get(owner, 0) + 1 if index.answers < WORTH else 0
        self._short_lived[owner] = short_lived
        self._skipped[owner] = min(2**short_lived, MOST_SKIPPED) if short_lived else 0

    def _remove(self, owner: Owner) -> None:
        if (index := self._by_owner.pop(owner, None)) is not None:
            self._total -= index.counted

    def _use(self, db: Connection, owner: Owner, *, build: bool) -> _Use:
        return _Use(self, db, owner, build)

    def find(self, db: Connection, owner: Owner, build: bool) -> OwnerIndex | None:
        """The index of an owner, locked and up to date; None while somebody else fills it or uses it for
        long."""
        self._drop_outdated(db, owner)
        state = read_state(db, owner)
        with self._lock:
            index, dropped = self._by_owner.get(owner), self._dropped
            if index is not None:
                self._by_owner.move_to_end(owner)
        if index is not None and index.lock.acquire(timeout=WAIT_SECONDS):
            if state is not None and index.catch_up(db, state):
                return index
            index.lock.release()
            if state is None or index.is_older(state):
                self.drop(owner)
                return None
        if index is not None or state is None or not build or self._is_too_large(owner, state):
            return None
        if self._skipped.get(owner, 0) > 0:
            self._skipped[owner] -= 1
            return None
        return self._build(db, owner, state, dropped)

    def _build(self, db: Connection, owner: Owner, state: State, dropped: int) -> OwnerIndex | None:
        with self._lock:
            if owner in self._begun:
                return None
            self._begun.add(owner)
        try:
            index = OwnerIndex(db, state, self._most_bytes)
        finally:
            self._begun.discard(owner)
        index.lock.acquire()
        with self._lock:
            if dropped == self._dropped and owner not in self._by_owner:
                self._by_owner[owner] = index
        return index

    def _give_up(self, owner: Owner, fault: Exception) -> None:
        """Rows that no array can hold are damaged: the file is asked from now on, and says what is wrong. It
        is observed, because the fault may be ours."""
        self._observe("index.given_up", error=type(fault).__name__)
        self._too_large[owner] = 0
        self.drop(owner)

    def _is_too_large(self, owner: Owner, state: State) -> bool:
        return owner in self._too_large and state.size[0] >= self._too_large[owner]

    def shrink(self, owner: Owner, index: OwnerIndex) -> None:
        """Keep within the bytes: the owners who were not asked about for longest go first, then what `index`
        can read again, then `index` itself."""
        if index.extent == index.counted_extent:
            return
        with self._lock:
            if self._by_owner.get(owner) is not index:
                return
            self._count(index)
            while self._total > self._most_bytes and len(self._by_owner) > 1:
                self._remove(next(iter(self._by_owner)))
            if self._total > self._most_bytes:
                index.shed()
                self._count(index)
            if self._total > self._most_bytes:
                self._too_large[owner] = index.state.size[0]
                self._remove(owner)

    def _count(self, index: OwnerIndex) -> None:
        used = index.nbytes
        self._total += used - index.counted
        index.counted, index.counted_extent = used, index.extent

    def _drop_outdated(self, db: Connection, asking: Owner) -> None:
        """After others have written: nothing stays of an owner whose words may have been erased."""
        version = db.pragma("data_version")
        if db.compared_version == version:
            return
        db.compared_version = version
        for owner, index in list(self._by_owner.items()):
            if owner != asking and index.is_older(read_state(db, owner)):
                self.drop(owner)


class _Use:
    """An index while it is used by one thread."""

    __slots__ = ("_build", "_db", "_index", "_indexes", "_owner")

    def __init__(self, indexes: ResidentIndexes, db: Connection, owner: Owner, build: bool) -> None:
        self._indexes, self._db, self._owner, self._build = indexes, db, owner, build

    def __enter__(self) -> OwnerIndex | None:
        self._index = self._indexes.find(self._db, self._owner, self._build)
        return self._index

    def __exit__(self, *error: object) -> None:
        if self._index is not None:
            self._indexes.shrink(self._owner, self._index)
            self._index.lock.release()


def _is_covered(filter: Filter) -> bool:
    """Whether the arrays can select: archived, forgotten and the time are all that recall usually asks."""
    others = (filter.kinds, filter.levels, filter.categories, filter.session, filter.protected, filter.prefix)
    return all(each is None for each in (*others, filter.unembedded)) and not filter.unappraised
