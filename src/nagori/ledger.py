"""The one write path: lock → catch up → decide → prove → append → apply.

`decide` reads the state as of everything written before and says what happens next; while it looks, nobody
else writes in this space. It has no effects, so that it may be asked again. What it returns is proved to be
applicable, appended to the journal, durably, and only then applied to the store. A crash in between leaves
the store behind the journal, and whoever comes next catches it up. So does a store that could not be written:
the events are safe, and the answer is "yes". `record_turns` is the same path for what changes no memory.

Before anything is answered, store and journal are compared: a journal that is shorter than the store knows
it, or another one, is told as such and never served or rebuilt over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from nagori.core.events import (
    PASSED_OVER,
    Event,
    Outcome,
    checksum_of,
    fold,
    memories_named_in,
    prove,
    state_keys_named_in,
)
from nagori.core.model import Memory, Scope
from nagori.core.storage import AppliedPosition, Batch, LogEntry, Owner, Vector
from nagori.core.values import Value, no_observer, replace, split_batches
from nagori.errors import (
    Conflict,
    InvalidInput,
    JournalError,
    JournalMismatch,
    JournalTooNew,
    SchemaTooNew,
    StoreDamaged,
    StoreError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nagori.protocols import Journal, Observer, Store

APPLY_AT_ONCE = 2000  # events of one commit
FEW = 16  # turns that a recall need not wait for
READER_PATIENCE = 0.5  # seconds a reader waits for the lock before it answers from what the store knows
ATTEMPTS = 5  # at an append or a commit that somebody else was faster with
MOST_PASSED_OVER = 100
TURNS = frozenset({"turn_recorded", "heard"})

Decide = Callable[[], "Sequence[Event] | Decision"]


class Decision(Value):
    """Events, and what else the decider wants to know about them afterwards."""

    events: Sequence[Event]
    result: Any = None


class WriteResult(Value):
    """The events as they stand in the journal, and the decider's own result."""

    events: list[Event]
    result: Any = None


class Ledger:
    """Journal and store of one house, kept together."""

    def __init__(self, journal: Journal, store: Store, observe: Observer = no_observer) -> None:
        self.journal = journal
        self.store = store
        self._observe = observe
        self._failures = 0  # of the store, in a row
        self._spared = 0  # writes until it is tried again

    def write(
        self,
        owner: Owner,
        decide: Decide,
        vectors: Mapping[str, Vector] | None = None,
        *,
        blind: bool = False,
    ) -> WriteResult:
        """Let `decide` decide and make it so. When this returns, it is kept.

        `blind` says that what `decide` decides is right even when the store cannot be read.
        """
        for attempt in range(ATTEMPTS):
            try:
                written = self._write(owner, decide, vectors or {}, blind)
                break
            except _LostRace as trouble:
                if attempt == ATTEMPTS - 1:
                    raise Conflict(str(trouble)) from None
        for event in written.events:
            self._observe(f"memory.{event.type}", seq=event.seq, memory=event.memory)
        return written

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
        """What the new events come to, and whether the store could be asked; InvalidInput, and nothing is
        written, where they cannot be applied."""
        try:
            known = self._known(owner, events) if well else ({}, {})
        except StoreError:
            if not blind:
                raise
            known, well = ({}, {}), False
        return prove(events, *known), well

    def redact(self, owner: Owner, seqs: Sequence[int], replacement: Callable[[Event], Event]) -> int:
        """Put other events in the place of some, so that no byte of the former ones is left; how many."""
        with self.journal.locked(owner) as last:
            self.apply_waiting(owner, last)
            events = (self.journal.event(owner, seq) for seq in seqs)
            others = {event.seq: replacement(event) for event in events if event is not None}
            changed = {seq: other for seq, other in others.items() if other != self.journal.event(owner, seq)}
            return self.journal.redact(owner, changed) if changed else 0

    def set_state(self, owner: Owner, key: str, value: object, now: datetime, by: str) -> None:
        """Leave a named value, plain JSON data; None removes it."""
        event = Event("state_changed", now, {"key": key, "value": value}, by=by)
        self.write(owner, lambda: [event] if self.store.state(owner, key) != value else [])

    # --- catching up ----------------------------------------------------------------------------

    def catch_up(self, owner: Owner, *, turns: bool = False, wait: bool = False) -> int:
        """Apply what the journal has and the store has not; the number of events applied. A few recorded
        turns, which change no memory, may wait for the next writer unless `turns` are asked for: a hook that
        recalls right after it has recorded its prompt need not pay for a commit.

        On a disk that cannot be written, or while somebody holds the journal for long, what the store knows
        is answered as it is, and told. Who is about to change something will `wait` for the journal anyway,
        and must see what he was told is kept."""
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
            self._observe("store.behind", owner=owner, reason=str(trouble))
            return 0
        if count:
            self._observe("store.caught_up", owner=owner, events=count)
        return count

    def compare(self, owner: Owner, at: AppliedPosition, last: int) -> None:
        """JournalMismatch unless the store was made from this journal and knows no more than it says."""
        if at.seq == 0:
            return
        identity = self.journal.identity(owner)
        other = at.journal and identity and at.journal != identity
        event = self.journal.event(owner, at.seq) if at.mark else None
        # Where the note with the identity was lost and written anew, the event itself tells that it is ours.
        if other and (event is None or checksum_of(event) != at.mark):
            raise _mismatch("the store was made from another journal", owner)
        if last < at.seq:
            reason = "the journal ends at event {last}, but the store knows {seq} events"
            raise _mismatch(reason, owner, last=last, seq=at.seq)
        if event is not None and checksum_of(event) != at.mark:
            raise _mismatch("event {seq} of the journal is not the one the store knows", owner, seq=at.seq)

    def _only_turns(self, owner: Owner, at: int, last: int) -> bool:
        return last - at <= FEW and all(event.type in TURNS for event in self.journal.read(owner, at))

    def apply_waiting(self, owner: Owner, last: int, store: Store | None = None) -> int:
        """Apply everything up to event `last`; how many events. The caller holds the lock, or fills a store
        of his own. Whoever exchanges the store's content meanwhile makes this begin again from there."""
        store, count = store or self.store, 0
        for _ in range(ATTEMPTS):
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
        raise StoreError("the store changes all the time; try again")

    def _catch_up_if_well(self, owner: Owner, last: int) -> bool:
        """A store that failed is tried again after 1, 2, 4 … 64 writes: what waits for it grows, and so
        does the work of every vain attempt."""
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
            self._observe("store.behind", owner=owner, reason=str(trouble))
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
        """Commit what was proved; if the store does not stand where it stood, read the journal again."""
        try:
            self._commit(owner, last, events, outcome, vectors, self.store)
        except Conflict:
            self.apply_waiting(owner, events[-1].seq)

    def _apply(
        self, owner: Owner, at: AppliedPosition, events: Sequence[Event], store: Store
    ) -> AppliedPosition:
        """Events of the journal. What cannot be applied is passed over, noted in the store and told."""
        outcome = fold(events, *self._known(owner, events, store))
        if outcome.passed_over:
            before = store.state(owner, PASSED_OVER) or []
            notes = [*before, *([seq, reason] for seq, reason in outcome.passed_over)]
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
        store: Store,
    ) -> AppliedPosition:
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
            redacted_turns=outcome.redacted_turns,
        )
        try:
            store.commit(owner, batch)
        except InvalidInput as fault:  # of a vector: the memories are right, and get others later
            if not vectors:
                raise StoreError(str(fault)) from fault
            self._observe("embedder.silent", error=fault)
            batch.vectors = {}
            store.commit(owner, batch)
        return after

    def _known(
        self, owner: Owner, events: Sequence[Event], store: Store | None = None
    ) -> tuple[dict[str, Memory], dict[str, Any]]:
        """What must be known to fold `events`."""
        store = store or self.store
        memories = read_memories(store, owner, sorted(memories_named_in(events)))
        return memories, {key: store.state(owner, key) for key in state_keys_named_in(events)}


def record_turns(journal: Journal, owner: Owner, events: Sequence[Event]) -> list[Event]:
    """Append recorded turns. They change no memory, so nothing need be read to be right: a hook records
    without opening a store, and whoever reads next applies them."""
    if not events:
        return []
    with journal.locked(owner) as last:
        prove([replace(event, seq=last + n) for n, event in enumerate(events, 1)], {}, {})
        written = journal.append(owner, events, last)
    journal.request_work(owner)
    return written


class _LostRace(Exception):
    """Somebody else appended since the lock was taken."""


def read_memories(store: Store, owner: Owner, ids: Sequence[str]) -> dict[str, Memory]:
    """Those of `ids` that exist, whoever may see them: for the writer, never for an answer."""
    scope = Scope(tenant=owner[0], user=owner[1])
    return {memory.id: memory for memory in store.get(scope, ids)} if ids else {}


def _mismatch(reason: str, owner: Owner, **values: object) -> JournalMismatch:
    advice = (
        "restore the journal from a backup, or `nagori rebuild --accept-damage`, which puts the store aside"
    )
    return JournalMismatch(f"{{owner}}: {reason}; {advice}", owner="/".join(owner), **values)
