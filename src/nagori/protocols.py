"""The sockets: what nagori asks of a replaceable part. Each part's promises stand in its docstrings and
are proved by a public contract suite in `nagori.testing`.

A vector is its little-endian float32 bytes: that is what databases store and C libraries fill, and no
numeric library is needed to carry it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from nagori.core.asking import Prompt, Question, Reply
from nagori.core.bookkeeping import Batch, Counts, Cursor, LogEntry, Measures, Placed, Space, Vector
from nagori.core.cycle import Census, LifeRow, Rules
from nagori.core.fold import Event
from nagori.core.life import Tiers
from nagori.core.model import Filter, Hit, Level, Memory, Relation, Scope
from nagori.core.relevance import Evidence
from nagori.errors import ModelError


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
class Deferring(Protocol):
    """A language model that also takes many questions at once and answers within a day, for half the price.
    Whoever submits remembers the batch's name; answers are told apart by the names of the questions."""

    def submit(self, questions: Mapping[str, Question]) -> str:
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
    """The truth: every event of a space in order, durable once `append` has returned."""

    def spaces(self) -> list[Space]: ...

    def locked(self, space: Space) -> AbstractContextManager[None]:
        """One writer at a time, across processes and threads. Waits; JournalError when it waits too long."""
        ...

    def append(self, space: Space, events: Sequence[Event]) -> list[Placed]:
        """All of `events` or none, durable. Only inside `locked`."""
        ...

    def end(self, space: Space) -> tuple[int, int]:
        """Segment and offset of the end: cheap, for "has anything happened since?"."""
        ...

    def read(self, space: Space, after: Cursor = ...) -> Iterator[Placed]:
        """Events after a place, in order. Damaged lines are passed over (`verify` tells them)."""
        ...


class Store(Protocol):
    """Derived state, fast to search; it can be thrown away and rebuilt from the journal.

    The scope is a mandatory argument everywhere and part of the query, never applied afterwards: space
    (tenant and user) always; project, agent and role by the rules of `core.privacy.visible`.
    `capabilities` says what an engine has beyond the basics: "text", "vectors", "durable", "backup".
    """

    name: str
    capabilities: frozenset[str]

    def close(self) -> None: ...

    def cursor(self, space: Space) -> Cursor:
        """How far the journal has been applied; Cursor() for a space never seen."""
        ...

    def commit(self, space: Space, batch: Batch) -> None:
        """Apply `batch` atomically: memory, text index, vector, relations, log and cursor together.
        Conflict when the cursor is not `batch.before`; then nothing changed."""
        ...

    def add_vectors(self, space: Space, vectors: Mapping[str, Vector]) -> int:
        """Give memories their missing vectors; those whose text changed meanwhile are left alone."""
        ...

    def use_model(self, space: Space, model: str) -> bool:
        """Search the space with the vectors of `model` from now on; False, and nothing changes, while a
        memory has none of them. The first vectors a space gets decide this by themselves."""
        ...

    def drop_vectors(self, space: Space, model: str, limit: int) -> int:
        """Take away at most `limit` vectors of `model`, never those the space is searched with; how many."""
        ...

    def renewed(self, space: Space) -> AbstractContextManager[None]:
        """Inside, the space is empty and can be filled anew; others see the old state until the end.
        Vectors of texts that come back are kept."""
        ...

    def start_over(self, stamp: str) -> Path | None:
        """Put everything aside, damaged as it is, under a name with `stamp`, and begin empty."""
        ...

    def look(self, space: Space, ids: Iterable[str]) -> dict[str, Memory]:
        """Those of `ids` that exist, whoever asks: for the writer, never for an answer."""
        ...

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Memory]:
        """Those of `ids` that the scope may see, in the given order, forgotten ones included."""
        ...

    def find(
        self, scope: Scope, filter: Filter = ..., *, limit: int = ..., older_than: Memory | None = None
    ) -> list[Memory]:
        """Memories newest first (created, then id); the next page begins after `older_than`."""
        ...

    def with_prefix(self, scope: Scope, prefix: str, limit: int = 10) -> list[str]:
        """Ids that begin with `prefix`, for people who type."""
        ...

    def match_text(self, scope: Scope, words: Sequence[str], k: int, filter: Filter = ...) -> list[Hit]:
        """The k best by words (tokens of `core.text`), best first; score > 0."""
        ...

    def nearest(self, scope: Scope, vector: bytes, model: str, k: int, filter: Filter = ...) -> list[Hit]:
        """The k nearest by cosine, best first. InvalidInput for a wrong dimension or a NaN."""
        ...

    def nearest_many(
        self,
        scope: Scope,
        vectors: Sequence[bytes],
        model: str,
        k: int,
        least: float,
        filter: Filter = ...,
    ) -> list[list[Hit]]:
        """`nearest` for each of `vectors`, of those with a cosine of `least` or more; which ones of several
        that are equally near is left open. Made for a thousand at once."""
        ...

    def evidence(
        self,
        scope: Scope,
        words: Sequence[str],
        vector: bytes | None,
        model: str | None,
        n: int,
        filter: Filter = ...,
    ) -> Evidence:
        """Everything `core.relevance` wants to know about a question: the places of its words (but for
        words that nearly every memory has), the n nearest in meaning, and sketches of all of them."""
        ...

    def census(self, space: Space) -> Census:
        """How many memories stand at each level, for the cycle; forgotten ones are not counted."""
        ...

    def due(self, space: Space, rules: Rules, now: datetime) -> list[LifeRow]:
        """Every memory for which a night may have something to do by itself (see `core.cycle.plan_cycle`);
        an engine may give more."""
        ...

    def weakest(self, space: Space, level: Level, n: int, rules: Rules, now: datetime) -> list[LifeRow]:
        """The n weakest of a level that are not protected: by strength, then oldest, then least recalled."""
        ...

    def relations(self, scope: Scope, ids: Sequence[str]) -> list[Relation]:
        """Relations from or to any of `ids` whose both ends the scope may see."""
        ...

    def unembedded(self, space: Space, model: str, limit: int) -> list[Memory]:
        """Memories whose present text has no vector of `model` yet."""
        ...

    def unjudged(self, space: Space, since: datetime, limit: int) -> list[Memory]:
        """Turns of conversations since a moment that only rules have judged and that stand whole, oldest
        first (created, then id)."""
        ...

    def vectors_of(self, space: Space, model: str, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        """Vectors already known for these texts: the content-hash cache."""
        ...

    def model_in_use(self, space: Space) -> str | None:
        """The model whose vectors the space is searched with; None before the first vector."""
        ...

    def models(self, space: Space) -> dict[str, int]:
        """How many vectors the space has, by model."""
        ...

    def history(self, space: Space, id: str) -> list[LogEntry]:
        """The life-cycle log of one memory, oldest first."""
        ...

    def last_log(self, space: Space, limit: int) -> list[LogEntry]:
        """The newest log entries, newest first."""
        ...

    def count(self, scope: Scope, model: str | None = None) -> Counts: ...

    def measure(self, scope: Scope, now: datetime, tiers: Tiers) -> Measures:
        """Kinds, tiers (of the age since the anchor, standing still in the archive) and characters."""
        ...

    def check(self) -> list[str]:
        """Faults found by looking at everything; empty = sound."""
        ...

    def backup(self, path: Path) -> None:
        """A consistent copy while others write."""
        ...


class Observer(Protocol):
    """Is told what happened: a dotted name and fields, never a memory's text."""

    def __call__(self, name: str, **fields: object) -> None: ...
