"""The sockets: what nagori asks of a replaceable part. Each part's promises stand in its docstrings and
are proved by a public contract suite in `nagori.testing`.

A vector is its little-endian float32 bytes: that is what databases store and C libraries fill, and no
numeric library is needed to carry it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from nagori.core.cycle import CycleRows, CycleRules
from nagori.core.events import Event, RecordedTurn
from nagori.core.levels import Tiers
from nagori.core.llm import CompletionRequest, Prompt, Reply
from nagori.core.model import Filter, Hit, Memory, Relation, Scope, TurnFilter
from nagori.core.relevance import Candidates, Query
from nagori.core.storage import (
    AppliedPosition,
    Batch,
    Counts,
    LogEntry,
    Measures,
    Owner,
    Vector,
    VectorModels,
)
from nagori.errors import ModelError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.journals.file import Verdict


@runtime_checkable
class Clock(Protocol):
    """The only part that reads time."""

    def now(self) -> datetime:
        """The present, aware."""
        ...

    @property
    def zone(self) -> tzinfo:
        """Where the user lives: days and words such as "yesterday" are his."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Text → vector. The same text always gives the same vector; `model` changes when that changes."""

    @property
    def model(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def unrelated(self) -> tuple[float, float]:
        """Mean and spread of the cosines between texts that have nothing to do with each other."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> list[bytes]:
        """Vectors of texts to be found."""
        ...

    def embed_query(self, text: str) -> bytes:
        """Vector of a text to find with. Models that tell questions from passages do it here."""
        ...


@runtime_checkable
class LLM(Protocol):
    """A language model. It makes things better and is never needed [ruling 37]: whoever asks one has
    another way. It answers within its deadline or raises ModelError; it is never asked inside a lock."""

    @property
    def model(self) -> str: ...

    def complete(
        self, prompt: Prompt, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> Reply:
        """A finished answer; with a JSON schema, the text of one JSON value that was asked to follow it."""
        ...


@runtime_checkable
class BatchLLM(Protocol):
    """A language model that also takes many questions at once and answers within a day, for half the price.
    Whoever submits remembers the batch's name; answers are told apart by the names of the questions."""

    def submit(self, questions: Mapping[str, CompletionRequest]) -> str:
        """Hand the questions over; the batch's name."""
        ...

    def collect(self, batch: str) -> dict[str, Reply | ModelError] | None:
        """The answers by name, or why there is none; None while the batch is worked on. Asked again before
        `discard` it answers the same, or fails."""
        ...

    def discard(self, batch: str) -> None:
        """The answers are taken in: whatever lies about them at the provider may go."""
        ...


class Journal(Protocol):
    """The truth: every event of a space, numbered from 1 without gaps, durable once `append` has returned.

    An event is addressed by its number `seq` alone; where it lies is the journal's own business. The promises
    are proved by `nagori.testing.journal_contract`.
    """

    def owners(self) -> list[Owner]:
        """Everybody who has a journal."""
        ...

    def identity(self, owner: Owner) -> str:
        """A name that the journal was given when it began and keeps for ever; "" before anybody locked it."""
        ...

    def locked(self, owner: Owner, patience: float | None = None) -> AbstractContextManager[int]:
        """One writer at a time, across processes and threads; gives the number of the last event (0: none).
        Waits; JournalError when it waits longer than `patience` seconds, or the journal's own limit."""
        ...

    def append(self, owner: Owner, events: Sequence[Event], after: int) -> list[Event]:
        """All of `events` or none, durable, numbered from `after` + 1: the events as they stand. Only inside
        `locked`, with the number that it gave or the last append returned. Conflict, and nothing is written,
        when somebody else has written since (a lock that was lost)."""
        ...

    def last_seq(self, owner: Owner) -> int:
        """The number of the last event; 0 if there is none. Sees everything acknowledged before. Cheap."""
        ...

    def read(self, owner: Owner, after: int = 0) -> Iterator[Event]:
        """Events after number `after`, in order. Damaged ones are passed over (`verify` tells them)."""
        ...

    def event(self, owner: Owner, seq: int) -> Event | None:
        """The event of this number; None if there is none that can be read."""
        ...

    def redact(self, owner: Owner, replacements: Mapping[int, Event]) -> int:
        """Put other events in the places of these numbers, durably, so that no byte of the former ones is
        left and no byte of any other is changed; how many were replaced. Only inside `locked`."""
        ...

    def verify(self, owner: Owner) -> Verdict:
        """Read everything and say what is wrong."""
        ...

    def size(self, owner: Owner) -> int:
        """How many bytes it takes."""
        ...

    def request_work(self, owner: Owner) -> None:
        """Note that turns wait to be processed for this space."""
        ...

    def requested_work(self) -> list[Owner]:
        """The spaces for which work was requested and not finished; what a killed worker had claimed is
        among them."""
        ...

    def claim_work(self, owner: Owner) -> None:
        """Begin with what was requested so far: a request made from now on is another one."""
        ...

    def finish_work(self, owner: Owner) -> None:
        """What was claimed is done; what was requested since then stays."""
        ...


class Store(Protocol):
    """Derived state, fast to search; it can be thrown away and rebuilt from the journal.

    The scope is a mandatory argument everywhere and part of the query, never applied afterwards: space
    (tenant and user) always; project, agent and role by the rules of `core.visibility.visible`. A scope with
    neither project nor agent nor role is the owner, who sees everything of his.
    `capabilities` says what an engine has beyond the basics: "durable", "files" (see FileBacked).
    """

    name: str
    capabilities: frozenset[str]

    @property
    def vectors(self) -> VectorIndex:
        """The vectors of the memories in this store."""
        ...

    def close(self) -> None: ...

    def applied(self, owner: Owner) -> AppliedPosition:
        """How far the journal has been applied; Applied() for a space never seen."""
        ...

    def commit(self, owner: Owner, batch: Batch) -> None:
        """Apply `batch` atomically: memories, text index, vectors, relations, turns, state, log and position
        together. Conflict when the store does not stand at `batch.before`; then nothing changed. A turn whose
        id is known is left out; one without an index gets the next one of its session, from 0."""
        ...

    def rebuilding(self, owner: Owner) -> AbstractContextManager[None]:
        """Inside, the space is empty and can be filled anew; others see the old state until the end.
        Vectors of texts that come back are kept."""
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
        """Memories newest first (created, then id); the next page begins after `older_than`."""
        ...

    def candidates(self, scope: Scope, query: Query) -> Candidates:
        """Everything `core.relevance` wants to know about a question: the places of its words (but for
        words that nearly every memory has), the n nearest in meaning, and sketches of all of them."""
        ...

    def cycle_rows(self, owner: Owner, rules: CycleRules, now: datetime) -> CycleRows:
        """What a cycle plans with: how many memories stand at each level (forgotten ones not counted), every
        row for which it may have something to do by itself (an engine may give more), and the weakest of a
        level that are not protected: by strength, then oldest, then least recalled, then id."""
        ...

    def relations(self, scope: Scope, ids: Sequence[str]) -> list[Relation]:
        """Relations from or to any of `ids` whose both ends the scope may see."""
        ...

    def history(self, owner: Owner, id: str | None = None, limit: int | None = None) -> list[LogEntry]:
        """The life-cycle log of one memory, oldest first; without an id that of all, newest first."""
        ...

    def turns(self, owner: Owner, filter: TurnFilter) -> list[RecordedTurn]:
        """Recorded turns in the order of their events."""
        ...

    def origins(self, owner: Owner, ids: Sequence[str]) -> list[tuple[str, int]]:
        """Which memories were formed from which turns: of these memories, and of every other memory that
        shares a turn with them."""
        ...

    def state(self, owner: Owner, key: str) -> Any:
        """The plain JSON data that events left under this key; None if there is none."""
        ...

    def known_owners(self) -> list[Owner]:
        """Everybody of whose journal something was applied."""
        ...

    def owners_due(self, key: str, before: str) -> list[Owner]:
        """Spaces whose state `key` is a text that sorts before this one (a time in ISO form, say)."""
        ...

    def lease(self, owner: Owner, work: str, holder: str, now: float, until: float) -> str | None:
        """Take or renew the right to do `work` alone until a time (seconds since 1970): None when it is ours
        now, otherwise the name of the holder whose lease has not ended at `now`. `until` <= `now` gives it
        back. A lease outlives a crash of its holder and a rebuild."""
        ...

    def count(self, scope: Scope, model: str | None = None) -> Counts: ...

    def measure(self, scope: Scope, now: datetime, tiers: Tiers) -> Measures:
        """Kinds, tiers (of the age since the anchor, standing still in the archive) and characters."""
        ...

    def check(self) -> list[str]:
        """Faults found by looking at everything; empty = sound."""
        ...


class VectorIndex(Protocol):
    """Vectors of memories' texts, by model, searched by cosine."""

    def put(self, owner: Owner, vectors: Mapping[str, Vector]) -> int:
        """Give memories their missing vectors; those whose text changed meanwhile are left alone."""
        ...

    def get(self, owner: Owner, model: str, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        """Vectors already known for these texts: the content-hash cache."""
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
        """For each of `vectors` the k nearest by cosine, best first, of those with a cosine of `least` or
        more. InvalidInput for a wrong dimension or a NaN. Made for one, and for a thousand at once."""
        ...

    def active(self, owner: Owner) -> str | None:
        """The model that the space is searched with; None before the first vector. Every recall asks."""
        ...

    def models(self, owner: Owner) -> VectorModels:
        """The active model (None before the first vector), and how many vectors there are of each."""
        ...

    def activate(self, owner: Owner, model: str) -> bool:
        """Search the space with the vectors of `model` from now on; False, and nothing changes, while a
        memory has none of them. The first vectors a space gets decide this by themselves."""
        ...

    def drop(self, owner: Owner, model: str, limit: int) -> int:
        """Take away at most `limit` vectors of `model`, never those the space is searched with; how many."""
        ...


class FileBacked(Protocol):
    """What only an engine with files has."""

    def backup(self, path: Path) -> None:
        """A consistent copy while others write."""
        ...

    def replacing(
        self, stamp: str, finishing: Callable[[Store], AbstractContextManager[None]] = ...
    ) -> AbstractContextManager[Store]:
        """An empty store, to be filled; at the end its content takes the place of this one's at once, with
        the vectors, the active models and the leases of this one, as far as it can be read. Others read and
        write on meanwhile; `finishing`, given the new store, is entered for the moment of the exchange and
        keeps those away who must not. An exception leaves everything as it was."""
        ...

    def quarantine(self, stamp: str) -> Path | None:
        """Put the files aside, damaged as they are, under a name with `stamp`, and begin empty."""
        ...

    def compact(self, steps: int = ...) -> bool:
        """Leave no byte of deleted words in the files, in at most so many bounded steps; whether that is
        so."""
        ...


class Observer(Protocol):
    """Is told what happened: a dotted name and fields, never a memory's text."""

    def __call__(self, name: str, **fields: object) -> None: ...
