"""What a workroom is given: the parts that `app.py` joined, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from nagori.config import Config
from nagori.core.values import Value
from nagori.journal import FileJournal
from nagori.ledger import Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import LLM, Clock, Embedder, Observer, Store
    from nagori.spend import SpendBook

Progress = Callable[[int, int], None]


def no_progress(done: int, total: int) -> None:
    """Nobody is watching."""


class Parts(Value, frozen=False):
    """Everything a service may use. Models are opened when first asked for: many verbs never do."""

    config: Config
    clock: Clock
    journal: FileJournal
    store: Store
    ledger: Ledger
    open_embedder: Callable[[], Embedder | None]
    data_dir: Path
    tell: Observer
    open_llm: Callable[[], LLM | None] = lambda: None

    @cached_property
    def embedder(self) -> Embedder | None:
        return self.open_embedder()

    @cached_property
    def llm(self) -> LLM | None:
        """The language model, where one is configured. It is never asked inside a lock, nor for a prompt."""
        return self.open_llm()

    @cached_property
    def spend(self) -> SpendBook:
        from nagori.spend import SpendBook

        return SpendBook(self.data_dir)
