"""Protocols of replaceable parts: clock, embedder, language model, journal, store, vector index,
concept index.

Docstrings state what each part guarantees; the contract suites in `nagori.testing` prove it.

A vector is a sequence of little-endian float32 bytes: databases store it and C libraries fill it, and no
numeric library is needed to pass it on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from nagori.core.cycle import CycleRows, CycleRules
from nagori.core.events import Event, RecordedTurn
from nagori.core.levels import Tiers
from nagori.core.llm import CompletionRequest, Prompt, Reply
from nagori.core.model import Filter, Hit, Item, ItemFilter, Memory, Relation, Scope, TurnFilter
from nagori.core.relevance import Candidates, Query
from nagori.core.spreading_activation import ActiveConcept, MemoryConcepts, MirroredMemory, NearConcepts
from nagori.core.storage_types import (
    AppliedPosition,
    Batch,
    Counts,
    LogEntry,
    Measures,
    Owner,
    Vector,
    VectorModels,
)
from nagori.errors import ModelError, Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.journals.file import Verdict


@runtime_checkable
class Clock(Protocol):
    """The only part that reads the time."""

    def now(self) -> datetime:
        """The present time, aware."""
        ...

    @property
    def zone(self) -> tzinfo:
        """The user's time zone, for days and for words such as "yesterday"."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Text → vector. The same text always gives the same vector; `model` changes if that changes."""

    @property
    def model(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def unrelated(self) -> tuple[float, float]:
        """Mean and spread of the cosines between unrelated texts."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> list[bytes]:
        """Vectors of texts to be found."""
        ...

    def embed_query(self, text: str) -> bytes:
        """The vector of a query. Models that treat queries differently do it here."""
        ...


@runtime_checkable
class LLM(Protocol):
    """A language model. It improves results and is never required [ruling 37]: every caller has a fallback.
    It answers within its deadline or raises ModelError. It is never called inside a lock."""

    @property
    def model(self) -> str: ...

    def complete(
        self, prompt: Prompt, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> Reply:
        """A finished answer; with a JSON schema, the text of one JSON value that should match it."""
        ...


@runtime_checkable
class CheckedLLM(Protocol):
    """A language model that can say what is missing, without a request that costs anything."""

    def find_fault(self) -> Notice | None:
        """Why it cannot be asked: no key, no answer at its address; None if nothing is known against it."""
        ...


@runtime_checkable
class BatchLLM(Protocol):
    """A language model with a batch API: many requests at once, answers within a day, for half the price. The
    caller remembers the batch's name; answers are identified by the names of the requests."""

    def submit(self, questions: Mapping[str, CompletionRequest]) -> str:
        """Submit the requests; returns the batch's name."""
        ...

    def collect(self, batch: str) -> dict[str, Reply | ModelError] | None:
        """The answers by name, or the errors; None while the batch is in progress. Until `discard` it can be
        called again."""
        ...

    def discard(self, batch: str) -> None:
        """The answers are taken over: the provider's copy may be deleted."""
        ...


class Journal(Protocol):
    """The source of truth: all events of an owner, numbered from 1 without gaps, durable once `append` has
    returned.

    An event is addressed by its number `seq` alone; where it is stored is up to the journal. The guarantees
    are proved by `nagori.testing.journal_contract`.
    """

    def close(self) -> None:
        """Release what it holds open, such as connections. Nothing is lost without it."""
        ...

    def owners(self) -> list[Owner]:
        """All owners with a journal."""
        ...

    def identity(self, owner: Owner) -> str:
        """An identifier that the journal gets when it is created and keeps; "" before the first lock."""
        ...

    def locked(self, owner: Owner, patience: float | None = None) -> AbstractContextManager[int]:
        """One writer at a time, across processes and threads; yields the number of the last event (0: none).
        Waits; JournalError after `patience` seconds, or the journal's own limit."""
        ...

    def append(self, owner: Owner, events: Sequence[Event], after: int) -> list[Event]:
        """Append all of `events` or none, durably, numbered from `after` + 1; returns them with their
        numbers. Only inside `locked`, with the number that it yielded or the last append returned. Conflict,
        without a write, if another writer has appended since (the lock was lost)."""
        ...

    def last_seq(self, owner: Owner) -> int:
        """The number of the last event; 0 if there is none. Includes everything acknowledged before.
        Cheap."""
        ...

    def read(self, owner: Owner, after: int = 0) -> Iterator[Event]:
        """Events after number `after`, in order. Damaged ones are skipped (`verify` reports them)."""
        ...

    def event(self, owner: Owner, seq: int) -> Event | None:
        """The event with this number; None if it does not exist or cannot be read."""
        ...

    def redact(self, owner: Owner, replacements: Mapping[int, Event]) -> int:
        """Replace the events with these numbers, durably, so that no byte of the former ones is left and no
        other byte changes; returns their number. Only inside `locked`."""
        ...

    def erase(self, owner: Owner) -> None:
        """Refuse writes for this owner from now on (MemoryErased), then remove all events and requests,
        durably, so that no byte is left and nobody else's changes. Waits for a writer. After a kill it can be
        called again. The name of the owner is kept until `finish_erasure`; then only a digest."""
        ...

    def is_erased(self, owner: Owner) -> bool:
        """Whether writes are refused because the owner was erased."""
        ...

    def unfinished_erasures(self) -> list[Owner]:
        """Owners whose erasure has begun and is not finished."""
        ...

    def finish_erasure(self, owner: Owner) -> None:
        """Everything of this owner is removed elsewhere, too: keep the name no longer."""
        ...

    def reopen(self, owner: Owner) -> None:
        """Let an erased owner start again with an empty journal, which has another identity. Conflict while
        the erasure is not finished."""
        ...

    def verify(self, owner: Owner) -> Verdict:
        """Read everything and report faults."""
        ...

    def size(self, owner: Owner) -> int:
        """Its size in bytes."""
        ...

    def request_work(self, owner: Owner) -> None:
        """Note that an owner has turns to process."""
        ...

    def requested_work(self) -> list[Owner]:
        """Owners with requested and unfinished work, including what a killed worker had claimed."""
        ...

    def claim_work(self, owner: Owner) -> None:
        """Start on the work requested so far; later requests count separately."""
        ...

    def finish_work(self, owner: Owner) -> None:
        """The claimed work is done; later requests stay."""
        ...


class Store(Protocol):
    """Derived state, fast to search; it can be deleted and rebuilt from the journal.

    The scope is a mandatory argument and part of every query, never applied afterwards: the owner (tenant and
    user) always; project, agent and role by the rules of `core.visibility.visible`. A scope without project,
    agent and role is the owner, who sees everything of their own. `capabilities` lists what an engine has
    beyond the basics: "durable", "files" (see FileBacked).
    """

    name: str
    capabilities: frozenset[str]

    @property
    def vectors(self) -> VectorIndex:
        """The vectors of the memories in this store."""
        ...

    @property
    def concepts(self) -> ConceptIndex:
        """The concepts that these memories mention."""
        ...

    def close(self) -> None: ...

    def applied(self, owner: Owner) -> AppliedPosition:
        """How far the journal has been applied; Applied() for an unknown owner."""
        ...

    def commit(self, owner: Owner, batch: Batch) -> None:
        """Apply `batch` atomically: memories, text index, vectors, relations, turns, state, log and position
        together. Conflict, without a change, if the store is not at `batch.before`. A known turn is skipped;
        a turn without an index gets the next one of its session, from 0."""
        ...

    def rebuilding(self, owner: Owner) -> AbstractContextManager[None]:
        """Inside, the owner's data is empty and can be filled again; others see the old state until the end.
        Vectors of texts that come back are kept."""
        ...

    def erase(self, owner: Owner, at_once: int) -> int:
        """Remove everything of this owner, the name and leases included, about `at_once` memories in one
        transaction, so that others can write in between; returns the number of rows, 0 when nothing is left.
        `FileBacked.compact` then removes the bytes."""
        ...

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Memory]:
        """Those of `ids` that the scope may see, in the given order, forgotten ones included."""
        ...

    def find(
        self,
        scope: Scope,
        filter: Filter = ...,
        *,
        limit: int = ...,
        older_than: Memory | None = None,
        oldest_first: bool = False,
    ) -> list[Memory]:
        """Memories, newest first (created, then id); the next page starts after `older_than`."""
        ...

    def candidates(self, scope: Scope, query: Query) -> Candidates:
        """All candidate data for `core.relevance`: where the words occur (without very common ones), the n
        nearest in meaning, and light data about all of them."""
        ...

    def cycle_rows(self, owner: Owner, rules: CycleRules, now: datetime) -> CycleRows:
        """The input of a cycle: counts by level (without forgotten ones), every row that may need a step by
        itself (more are allowed), and the weakest unprotected of a level: by retention, then oldest, then
        least recalled, then id."""
        ...

    def relations(self, scope: Scope, ids: Sequence[str]) -> list[Relation]:
        """Relations from or to any of `ids` whose both ends the scope may see."""
        ...

    def history(self, owner: Owner, id: str | None = None, limit: int | None = None) -> list[LogEntry]:
        """The life-cycle log of one memory, oldest first; without an id that of all, newest first. Of
        a memory that was erased on demand it tells the erasure alone."""
        ...

    def turns(self, owner: Owner, filter: TurnFilter) -> list[RecordedTurn]:
        """Recorded turns in the order of their events."""
        ...

    def origins(self, owner: Owner, ids: Sequence[str]) -> list[tuple[str, int]]:
        """Which memories were formed from which turns: for these memories, and for all others that share a
        turn with them."""
        ...

    def state(self, owner: Owner, key: str) -> Any:
        """The JSON data stored under this key; None if there is none."""
        ...

    def items(self, owner: Owner, filter: ItemFilter) -> list[Item]:
        """Items of other programs, as they were written."""
        ...

    def item_namespaces(self, owner: Owner, prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        """The namespaces that hold items and begin with `prefix`, each once, in the order of their labels."""
        ...

    def known_owners(self) -> list[Owner]:
        """All owners of whose journal something was applied."""
        ...

    def owners_due(self, key: str, before: str) -> list[Owner]:
        """Owners whose state `key` is a text that sorts before this one (for example a time in ISO
        format)."""
        ...

    def lease(self, owner: Owner, work: str, holder: str, now: float, until: float) -> str | None:
        """Take or renew the exclusive right to do `work` until a time (seconds since 1970): None if it is
        ours now, otherwise the holder whose lease is still valid at `now`. `until` <= `now` releases it. A
        lease survives a crash of its holder and a rebuild."""
        ...

    def count(self, scope: Scope, model: str | None = None) -> Counts: ...

    def measure(self, scope: Scope, now: datetime, tiers: Tiers) -> Measures:
        """Kinds, tiers (by age since the anchor, frozen in the archive) and characters."""
        ...

    def check(self) -> list[Notice]:
        """Faults found by a full check; empty if there are none."""
        ...


class VectorIndex(Protocol):
    """Vectors of memory texts, by model, searched by cosine."""

    def put(self, owner: Owner, vectors: Mapping[str, Vector]) -> int:
        """Add missing vectors; memories whose text changed meanwhile are skipped."""
        ...

    def get(self, owner: Owner, model: str, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        """Known vectors of these texts: a cache by content hash."""
        ...

    def nearest(
        self,
        scope: Scope,
        vectors: Sequence[bytes],
        model: str,
        k: int,
        filter: Filter = ...,
        least: float = ...,
    ) -> list[list[Hit]]:
        """For each of `vectors` the k nearest by cosine, best first, with a cosine of at least `least`.
        InvalidInput for a wrong dimension or a NaN. Efficient for one vector and for a thousand."""
        ...

    def active(self, owner: Owner) -> str | None:
        """The active model; None before the first vector. Used by every recall."""
        ...

    def models(self, owner: Owner) -> VectorModels:
        """The active model (None before the first vector), and the number of vectors of each."""
        ...

    def activate(self, owner: Owner, model: str) -> bool:
        """Search with the vectors of `model` from now on; False, without a change, while a memory has none.
        The first vectors of an owner activate their model automatically."""
        ...

    def drop(self, owner: Owner, model: str, limit: int) -> int:
        """Delete at most `limit` vectors of `model`, never of the active one; returns their number."""
        ...


class ConceptIndex(Protocol):
    """The concepts that memories mention, for association. It is filled when association is first used
    (`missing`, `put`), like vectors. What a memory mentioned leaves the index together with its words."""

    def missing(self, owner: Owner, limit: int) -> list[Memory]:
        """Memories whose concepts are not in the index, in the order of their ids."""
        ...

    def put(self, owner: Owner, concepts: Mapping[str, MemoryConcepts]) -> int:
        """Add the concepts of memories, by id; those whose text changed meanwhile are skipped. Returns the
        number of memories."""
        ...

    def count(self, owner: Owner) -> int:
        """The number of concepts that some memory mentions."""
        ...

    def counts(self, owner: Owner, names: Sequence[str]) -> dict[str, int]:
        """How many memories mention each of these concepts; unknown ones are left out."""
        ...

    def concepts_of(
        self, scope: Scope, memories: Mapping[str, float], most: int, hub: int
    ) -> list[ActiveConcept]:
        """The concepts that these memories mention, if the scope may see them: each with the highest product
        of a memory's activation and the mention's weight. Those that more than `hub` memories mention are
        left out. The strongest for their number of memories come first, then by name."""
        ...

    def memories_of(
        self, scope: Scope, concepts: Mapping[str, float], most: int, filter: Filter = ...
    ) -> dict[str, float]:
        """The memories that mention these concepts, with the sum of what the concepts pass on, highest first,
        then by id."""
        ...

    def mentions(self, owner: Owner, after: str, limit: int) -> list[tuple[str, str, float]]:
        """(memory, concept, weight) of all mentions of the next `limit` memories in the order of their ids,
        for copies."""
        ...

    def without_vector(self, owner: Owner, model: str, limit: int) -> list[str]:
        """Concepts without a vector of this model; those that most memories mention come first, then by
        name."""
        ...

    def put_vectors(self, owner: Owner, model: str, vectors: Mapping[str, bytes]) -> int:
        """Set the vectors of known concepts; returns their number."""
        ...

    def vectors(self, owner: Owner, model: str, names: Sequence[str]) -> dict[str, bytes]:
        """Known vectors of these concepts."""
        ...

    def nearest(self, owner: Owner, vector: bytes, model: str, k: int) -> NearConcepts:
        """The k concepts whose vectors are nearest, by cosine, then by name."""
        ...


class FileBacked(Protocol):
    """Operations of an engine with files."""

    def backup(self, path: Path) -> None:
        """Write a consistent copy while others write."""
        ...

    def replacing(
        self, stamp: str, finishing: Callable[[Store], AbstractContextManager[None]] = ...
    ) -> AbstractContextManager[Store]:
        """An empty store to fill. At the end its content replaces this one's at once; vectors, active models
        and leases are taken over as far as they can be read. Others read and write meanwhile. `finishing`,
        called with the new store, is entered for the moment of the exchange and locks out writers. An
        exception leaves everything as it was."""
        ...

    def quarantine(self, stamp: str) -> Path | None:
        """Move the files aside as they are, under a name with `stamp`, and start empty."""
        ...

    def erase_copies(self, owner: Owner, others: Sequence[Path] = ()) -> list[Path]:
        """Remove an owner from copies of the store that were put aside beside it, and from `others`; those
        that cannot be read are deleted. Returns the files of a rebuild that is running: it may bring the
        owner back until it ends."""
        ...

    def compact(self, steps: int = ...) -> bool:
        """Remove all bytes of deleted words from the files, in a bounded number of steps; returns whether it
        is complete."""
        ...

    def vacuum(self) -> None:
        """Return free space of the files to the disk. Takes as long as copying them; others read meanwhile.
        StoreError if somebody else keeps writing."""
        ...


class TurnLogs(Protocol):
    """A copy of all turns that can be queried. It is made from the store and can be lost."""

    def position(self, owner: Owner) -> int:
        """The number of the last event in the log; 0 if there is none."""
        ...

    def append(self, owner: Owner, turns: Sequence[RecordedTurn]) -> None:
        """Add turns after the position. Killed anywhere, all of them are there or none."""
        ...

    def keep_only(self, owner: Owner, seqs: frozenset[int]) -> int:
        """Remove all turns but those of these events; returns their number."""
        ...

    def erase(self, owner: Owner) -> int:
        """Remove everything of an owner; returns the number of files."""
        ...

    def query(self, owner: Owner, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Columns and rows of one SELECT over the owner's table `turns`; InvalidInput for anything else. It
        reaches no other data, no file and no network."""
        ...


class ThreadCache(Protocol):
    """A copy of the summaries of the last day, for other programs. It can be lost."""

    def close(self) -> None: ...

    def replace(self, owner: Owner, records: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep exactly these records of an owner, by thread. StoreError if the server cannot be reached."""
        ...

    def threads(self, owner: Owner) -> list[dict[str, Any]]:
        """The records of an owner, oldest first."""
        ...

    def erase(self, owner: Owner) -> int:
        """Remove everything of an owner; returns the number of records."""
        ...


class BackupBucket(Protocol):
    """Backups in a bucket. StoreError if it cannot be reached."""

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, in order."""
        ...

    def fetch(self, folder: str, names: Sequence[str], work: Path) -> list[Path]:
        """Copies of these files in the folder `work` of this machine."""
        ...

    def upload(self, folder: str, name: str, path: Path) -> None:
        """A copy of a file of this machine; it is there as a whole or not at all."""
        ...

    def delete(self, folder: str, name: str) -> None:
        """Remove a file; nothing happens if it is not there."""
        ...


class GraphMirror(Protocol):
    """A copy of memories, concepts and relations for programs that read graphs. It can be lost. StoreError if
    the server cannot be reached."""

    def versions(self, owner: Owner) -> dict[str, str]:
        """The memories in the mirror, and the version of each; "" for one that is not complete."""
        ...

    def put(self, owner: Owner, memories: Sequence[MirroredMemory]) -> None:
        """Write memories with what they mention and what they are related to, all or none."""
        ...

    def remove(self, owner: Owner, ids: Collection[str]) -> int:
        """Remove these memories, and concepts that nothing mentions any more; returns the number of
        memories."""
        ...

    def erase(self, owner: Owner) -> int:
        """Remove everything of an owner; returns the number of nodes."""
        ...

    def close(self) -> None: ...


class Observer(Protocol):
    """Receives events: a dotted name and fields, never the text of a memory."""

    def __call__(self, name: str, **fields: object) -> None: ...
