"""The runtime that services receive: journal, store, models, clock, settings and observer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from pathlib import Path
from threading import Lock

from nagori.config import Config
from nagori.core.value_object import Value, default_factory
from nagori.errors import MemoryClosed
from nagori.event_ledger import Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.core.model import Scope
    from nagori.core.storage_types import Owner
    from nagori.protocols import (
        LLM,
        BackupBucket,
        Clock,
        Embedder,
        GraphMirror,
        Journal,
        Observer,
        Store,
        ThreadCache,
        TurnLogs,
        VectorIndex,
    )
    from nagori.spend import SpendBook

Progress = Callable[[int, int], None]


def no_model(name: str) -> Embedder | None:
    """No embedder other than the configured one is known."""
    return None


def no_progress(done: int, total: int) -> None:
    """Ignore progress."""


class SystemClock:
    """The machine's time and time zone."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    @property
    def zone(self) -> tzinfo:
        zone = datetime.now(UTC).astimezone().tzinfo
        assert zone is not None
        return zone


class Runtime(Value, frozen=False):
    """All parts a service may use. Models are opened on first use, because many verbs need none.

    `embedder` is the configured one. An owner is searched with the model of its present vectors [ruling 39],
    which `embedder_for` finds by name.
    """

    config: Config
    clock: Clock
    journal: Journal
    store: Store
    ledger: Ledger
    open_embedder: Callable[[], Embedder | None]
    data_dir: Path
    observe: Observer
    open_llm: Callable[[], LLM | None] = lambda: None
    open_model: Callable[[str], Embedder | None] = no_model
    open_logs: Callable[[], TurnLogs | None] = lambda: None
    open_cache: Callable[[], ThreadCache | None] = lambda: None
    open_bucket: Callable[[], BackupBucket | None] = lambda: None
    open_graph: Callable[[], GraphMirror | None] = lambda: None
    unformed: dict[Scope, dict[str, None]] = default_factory(dict)  # turns that left a context window, by id
    unformed_lock: Lock = default_factory(Lock)
    closed: bool = False

    def ensure_open(self) -> None:
        """MemoryClosed after `close`."""
        if self.closed:
            raise MemoryClosed()

    def close(self) -> None:
        """Mark it as closed."""
        self.closed = True
        for name in ("session_cache", "graph"):
            if server := self.__dict__.get(name):  # if it was ever used
                server.close()
        self.store.close()
        self.journal.close()

    @property
    def vectors(self) -> VectorIndex:
        return self.store.vectors

    @cached_property
    def embedder(self) -> Embedder | None:
        return self.open_embedder()

    @cached_property
    def llm(self) -> LLM | None:
        """The language model, if one is configured. It is never called inside a lock or for a prompt."""
        return self.open_llm()

    @cached_property
    def logs(self) -> TurnLogs | None:
        """The logs of turns, if they are configured."""
        return self.open_logs()

    @cached_property
    def session_cache(self) -> ThreadCache | None:
        """The cache of the last day, if one is configured."""
        return self.open_cache()

    @cached_property
    def graph(self) -> GraphMirror | None:
        """The mirror in a graph server, if one is configured."""
        return self.open_graph()

    @cached_property
    def spend(self) -> SpendBook:
        from nagori.spend import SpendBook

        return SpendBook(self.data_dir)

    def embedder_for(self, owner: Owner) -> Embedder | None:
        """The embedder of the owner's vectors, also used for new memories."""
        return self.embedder_of(self.vectors.active(owner))

    def embedder_of(self, model: str | None) -> Embedder | None:
        """The embedder named `model`; the configured one if that is unknown or not available."""
        wished = self.embedder
        if model is None or (wished is not None and wished.model == model):
            return wished
        if model not in self._opened:
            self._opened[model] = self.open_model(model)
            if wished is not None and self._opened[model] is not None:
                self.observe("embedder.differs", used=model, wished=wished.model)
        return self._opened[model] or wished

    @cached_property
    def _opened(self) -> dict[str, Embedder | None]:
        return {}
