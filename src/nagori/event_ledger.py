"""The one write path: lock → catch up → decide → prove → append → apply.

`decide` reads the latest state and returns the next events; nobody else writes for this owner meanwhile. It
has no side effects, so it may be called again. The events are checked (`prove`), appended durably to the
journal, and then applied to the store. After a crash in between, the store is behind the journal and the next
caller catches up. The same holds if the store cannot be written: the events are safe, and the write succeeds.
`record_turns` is the same path for events that change no memory.

Store and journal are compared before anything is answered. A journal that is shorter than the store expects,
or another one, is reported; it is never used for answers or a rebuild.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from nagori.core.events import (
    PASSED_OVER,
    TURNS,
    Event,
    Outcome,
    checksum_of,
    fold,
    memories_named_in,
    prove,
    state_keys_named_in,
)
from nagori.core.model import Memory, Scope
from nagori.core.storage_types import AppliedPosition, Batch, LogEntry, Owner, Vector
from nagori.core.value_object import Value, no_observer, replace, split_batches
from nagori.errors import (
    Conflict,
    InvalidInput,
    JournalError,
    JournalMismatch,
    JournalTooNew,
    MemoryErased,
    NagoriError,
    SchemaTooNew,
    StoreDamaged,
    StoreError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nagori.protocols import Journal, Observer, Store

APPLY_AT_ONCE = 2000  # events per commit
FEW = 16  # a recall does not apply fewer pending turns than this
READER_PATIENCE = 0.5  # seconds that a reader waits for the lock before it answers from the store as it is
ATTEMPTS = 5  # for an append or commit that another writer overtook
MOST_PASSED_OVER = 100
SPARSE = 50  # events in between for each that is wanted: from here on they are read one by one

Decide = Callable[[], "Sequence[Event] | Decision"]


class Decision(Value):
    """Events, and the decider's own result."""

    events: Sequence[Event]
    result: Any = None


class WriteResult(Value):
    """The events as appended, and the decider's own result."""

    events: list[Event]
    result: Any = None


class Ledger:
    """Journal and store of one data folder, kept consistent."""

    def __init__(self, journal: Journal, store: Store, observe: Observer = no_observer) -> None:
        self.journal = journal
        self.store = store
        self._observe = observe
        self._failures = 0  # failures of the store in a row
        self._spared = 0  # writes until the store is tried again

    def write(
        self,
        owner: Owner,
        decide: Decide,
        vectors: Mapping[str, Vector] | None = None,
        *,
        blind: bool = False,
    ) -> WriteResult:
        """Call `decide` and write its events. When this returns, they are durable.

        `blind`: the decision is right even if the store cannot be read.
        """
        for attempt in range(ATTEMPTS):
            try:
                written = (not attempt and self._write_expected(owner, decide, vectors or {})) or self._write(
                    owner, decide, vectors or {}, blind
                )
                break
            except _LostRace as trouble:
                if attempt == ATTEMPTS - 1:
                    raise Conflict(str(trouble)) from None
        for event in written.events:
            self._observe(f"memory.{event.type}", seq=event.seq, memory=event.memory)
        return written

    def _write_expected(
        self, owner: Owner, decide: Decide, vectors: Mapping[str, Vector]
    ) -> WriteResult | None:
        """Write without the lock, for a journal that can refuse an append if anybody has written since we saw
        it last: that saves the way to its server and back, several times. None if that is not possible or
        nothing came of it: what was decided from an older state does not count, not even that it fails."""
        find_expected = getattr(self.journal, "expected_position", None)
        expected = find_expected(owner) if find_expected else None
        if expected is None:
            return None
        last, identity = expected
        try:
            at = self.store.applied(owner)
            if (at.seq, at.journal) != (last, identity):
                return None
            said = decide()
            decision = said if isinstance(said, Decision) else Decision(said)
            if not decision.events:
                return None
            numbered = [replace(event, seq=last + n) for n, event in enumerate(decision.events, 1)]
            outcome = prove(numbered, *self._known(owner, numbered))
        except NagoriError:
            return None
        try:
            shared = vectors.values() if hasattr(self.store, "shared") else ()  # a fold among several
            events = self.journal.append_expected(owner, decision.events, expected, shared)  # type: ignore[attr-defined]
        except Conflict:
            return None
        try:
            self._try(owner, lambda: self._commit(owner, last, events, outcome, vectors, shared=True))
        except Conflict:  # others have written and applied since
            self.catch_up(owner, turns=True)
        return WriteResult(events, decision.result)

    def _write(self, owner: Owner, decide: Decide, vectors: Mapping[str, Vector], blind: bool) -> WriteResult:
        with self.journal.locked(owner) as last:
            well = self._catch_up_if_well(owner, last) if blind else self.apply_waiting(owner, last) >= 0
            said = decide()
            decision = said if isinstance(said, Decision) else Decision(said)
            if not decision.events:
                return WriteResult([], decision.result)
            numbered = [replace(event, seq=last + n) for n, event in enumerate(decision.events, 1)]
            outcome, well = self._prove(owner, numbered, well, blind)
            try:
                events = self.journal.append(owner, decision.events, last)
            except Conflict as trouble:
                raise _LostRace(str(trouble)) from None
            if well:
                self._try(owner, lambda: self._apply_new(owner, last, events, outcome, vectors))
        return WriteResult(events, decision.result)

    def _prove(self, owner: Owner, events: Sequence[Event], well: bool, blind: bool) -> tuple[Outcome, bool]:
        """The outcome of the new events, and whether the store could be read; InvalidInput, before anything
        is written, if they cannot be applied."""
        try:
            known = self._known(owner, events) if well else ({}, {})
        except StoreError:
            if not blind:
                raise
            known, well = ({}, {}), False
        return prove(events, *known), well

    def redact(self, owner: Owner, seqs: Sequence[int], replacement: Callable[[Event], Event]) -> int:
        """Replace events so that no byte of the former ones is left; returns their number."""
        with self.journal.locked(owner) as last:
            self.apply_waiting(owner, last)
            others = ((event, replacement(event)) for event in self.read_events(owner, seqs))
            changed = {event.seq: other for event, other in others if other != event}
            return self.journal.redact(owner, changed) if changed else 0

    def replace_events(self, owner: Owner, replacements: Mapping[int, Event]) -> int:
        """Exchange events that were read before, so that no byte of the former ones is left; returns their
        number."""
        with self.journal.locked(owner) as last:
            self.apply_waiting(owner, last)
            return self.journal.redact(owner, replacements) if replacements else 0

    def read_events(self, owner: Owner, seqs: Sequence[int]) -> Iterator[Event]:
        """The events with these numbers, in their order. Many that lie close together are read in one pass: a
        line holds many events and would be decoded for each of them."""
        wanted = set(seqs)
        first, last = min(wanted, default=1), max(wanted, default=0)
        if len(wanted) * SPARSE < last - first:
            yield from (event for seq in sorted(wanted) if (event := self.journal.event(owner, seq)))
            return
        for event in self.journal.read(owner, first - 1):
            if event.seq > last:
                break
            if event.seq in wanted:
                yield event

    def set_state(self, owner: Owner, key: str, value: object, now: datetime, by: str) -> None:
        """Set a named value of plain JSON data; None removes it."""
        event = Event("state_changed", now, {"key": key, "value": value}, by=by)
        self.write(owner, lambda: [event] if self.store.state(owner, key) != value else [])

    # --- catching up ----------------------------------------------------------------------------

    def catch_up(self, owner: Owner, *, turns: bool = False, wait: bool = False) -> int:
        """Apply new events of the journal to the store; returns their number. A few recorded turns may wait
        for the next writer, unless `turns` is set: they change no memory, so a hook that recalls right after
        recording saves a commit.

        If the disk cannot be written, or the journal is locked for long, the store is used as it is, and that
        is reported. A writer sets `wait`: it must see everything that was acknowledged.
        """
        at, last = self.store.applied(owner), self.journal.last_seq(owner)
        if self._drop_erased(owner, at):
            at, last = self.store.applied(owner), self.journal.last_seq(owner)
        self.compare(owner, at, last)
        if at.seq == last or (not turns and self._only_turns(owner, at.seq, last)):
            return 0
        try:
            with self.journal.locked(owner, None if wait else READER_PATIENCE) as last:
                count = self.apply_waiting(owner, last)
        except (JournalMismatch, JournalTooNew, StoreDamaged, SchemaTooNew):
            raise
        except (JournalError, StoreError) as trouble:
            self._observe("store.behind", owner=owner, reason=trouble.notice)
            return 0
        if count:
            self._observe("store.caught_up", owner=owner, events=count)
        return count

    def compare(self, owner: Owner, at: AppliedPosition, last: int) -> None:
        """JournalMismatch unless the store was made from this journal and is not ahead of it; MemoryErased if
        there is no journal any more, because the owner was erased."""
        if at.seq == 0:
            return
        if last < at.seq and self.journal.is_erased(owner):
            raise _erased_meanwhile()
        name = "/".join(owner)
        identity = self.journal.identity(owner)
        other = at.journal and identity and at.journal != identity
        event = self.journal.event(owner, at.seq) if at.mark else None
        # If the identity file was lost and recreated, the event itself proves that the journal is ours.
        if other and (event is None or checksum_of(event) != at.mark):
            raise JournalMismatch("error.journal_other", owner=name)
        if last < at.seq:
            raise JournalMismatch("error.journal_shorter", owner=name, last=last, seq=at.seq)
        if event is not None and checksum_of(event) != at.mark:
            raise JournalMismatch("error.journal_event_differs", owner=name, seq=at.seq)

    def _drop_erased(self, owner: Owner, at: AppliedPosition) -> bool:
        """Whether the store is a node's fold of an erased journal. It is removed: nothing of it may stay, and
        an owner who was reopened begins again. MemoryErased if the owner was not."""
        drop = getattr(self.store, "drop_fold", None)
        if drop is None or at.seq == 0 or self.journal.identity(owner) == at.journal:
            return False
        drop(owner, self.journal.identity(owner))
        if self.journal.is_erased(owner):
            raise _erased_meanwhile()
        return True

    def _only_turns(self, owner: Owner, at: int, last: int) -> bool:
        return last - at <= FEW and all(event.type in TURNS for event in self.journal.read(owner, at))

    def apply_waiting(self, owner: Owner, last: int, store: Store | None = None) -> int:
        """Apply all events up to `last`; returns their number. The caller holds the lock, or fills a store of
        its own. If the store's content is replaced meanwhile, it starts again from there."""
        store, count = store or self.store, 0
        for _ in range(ATTEMPTS):
            at = store.applied(owner)
            if store is self.store and self._drop_erased(owner, at):
                at = store.applied(owner)
            self.compare(owner, at, last)
            try:
                for run in split_batches(
                    self.journal.read(owner, at.seq) if at.seq < last else (), APPLY_AT_ONCE
                ):
                    at = self._apply(owner, at, run, store)
                    count += len(run)
                return count
            except Conflict:
                continue
        raise StoreError("error.store_changing")

    def _catch_up_if_well(self, owner: Owner, last: int) -> bool:
        """Retry a failed store after 1, 2, 4 … 64 writes, because every attempt has more to apply."""
        if self._spared > 0:
            self._spared -= 1
            return False
        return self._try(owner, lambda: self.apply_waiting(owner, last))

    def _try(self, owner: Owner, work: Callable[[], object]) -> bool:
        try:
            work()
        except StoreError as trouble:
            self._spared = 2 ** min(self._failures, 6)
            self._failures += 1
            self._observe("store.behind", owner=owner, reason=trouble.notice)
            return False
        self._failures = 0
        return True

    # --- applying -------------------------------------------------------------------------------

    def _apply_new(
        self,
        owner: Owner,
        last: int,
        events: Sequence[Event],
        outcome: Outcome,
        vectors: Mapping[str, Vector],
    ) -> None:
        """Commit the proved events; if the store has moved, read the journal again."""
        try:
            self._commit(owner, last, events, outcome, vectors)
        except Conflict:
            self.apply_waiting(owner, events[-1].seq)

    def _apply(
        self, owner: Owner, at: AppliedPosition, events: Sequence[Event], store: Store
    ) -> AppliedPosition:
        """Apply events of the journal. Those that cannot be applied are passed over, noted in the store and
        reported."""
        outcome = fold(events, *self._known(owner, events, store))
        if outcome.passed_over:
            before = store.state(owner, PASSED_OVER) or []
            notes = [*before, *([seq, reason.to_record()] for seq, reason in outcome.passed_over)]
            outcome.state[PASSED_OVER] = notes[-MOST_PASSED_OVER:]
            for seq, reason in outcome.passed_over:
                self._observe("journal.event_passed_over", owner=owner, seq=seq, reason=reason)
        return self._commit(owner, at.seq, events, outcome, {}, store)

    def _commit(
        self,
        owner: Owner,
        before: int,
        events: Sequence[Event],
        outcome: Outcome,
        vectors: Mapping[str, Vector],
        store: Store | None = None,
        *,
        shared: bool = False,
    ) -> AppliedPosition:
        store = store or self.store
        after = AppliedPosition(events[-1].seq, checksum_of(events[-1]), self.journal.identity(owner))
        batch = Batch(
            before=before,
            after=after,
            memories=list(outcome.memories.values()),
            links=outcome.links,
            log=[LogEntry(event.seq, event.at, event.type, ids) for event, ids in outcome.touched if ids],
            vectors=vectors,
            turns=outcome.turns,
            processed=outcome.processed,
            origins=outcome.origins,
            state=outcome.state,
            erased=list(outcome.erased),
            erasures=[
                (id, event.seq) for event, ids in outcome.touched if event.type == "erased" for id in ids
            ],
            redacted_turns=outcome.redacted_turns,
            items=outcome.items,
            renewals=outcome.renewals,
            vectors_shared=shared,
        )
        try:
            store.commit(owner, batch)
        except InvalidInput as fault:  # an invalid vector: the memories are right, and vectors are made later
            if not vectors:
                raise StoreError("error.store_fault", reason=fault.notice) from fault
            self._observe("embedder.silent", error=fault)
            batch.vectors = {}
            store.commit(owner, batch)
        return after

    def _known(
        self, owner: Owner, events: Sequence[Event], store: Store | None = None
    ) -> tuple[dict[str, Memory], dict[str, Any]]:
        """The memories and the state needed to fold `events`."""
        store = store or self.store
        memories = read_memories(store, owner, sorted(memories_named_in(events)))
        return memories, {key: store.state(owner, key) for key in state_keys_named_in(events)}


def record_turns(journal: Journal, owner: Owner, events: Sequence[Event]) -> list[Event]:
    """Append recorded turns. They change no memory, so nothing has to be read: a hook records without opening
    a store, and the next reader applies them."""
    if not events:
        return []
    with journal.locked(owner) as last:
        prove([replace(event, seq=last + n) for n, event in enumerate(events, 1)], {}, {})
        written = journal.append(owner, events, last)
    journal.request_work(owner)
    return written


class _LostRace(Exception):
    """Another writer appended since the lock was taken."""


def read_memories(store: Store, owner: Owner, ids: Sequence[str]) -> dict[str, Memory]:
    """Those of `ids` that exist, whatever their visibility: for writers, never for answers."""
    scope = Scope(tenant=owner[0], user=owner[1])
    return {memory.id: memory for memory in store.get(scope, ids)} if ids else {}


def _erased_meanwhile() -> MemoryErased:
    """The error for an owner whom another program erased. What this one remembers of the words goes, too."""
    from nagori.word_caches import clear_word_caches

    clear_word_caches()
    return MemoryErased()
