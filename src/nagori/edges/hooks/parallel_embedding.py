"""Compute the prompt's vector in a second thread, while the first one imports modules and opens the store.

The model is C code that runs without Python's lock, and takes as long as everything else a prompt needs. It
gets one core, because its own helper threads would compete with the rest.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from threading import Thread

from nagori.edges.hooks.call_types import QUICK
from nagori.language.passages import prompt_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.config import Config
    from nagori.config.sections import Embedding
    from nagori.protocols import Embedder


def prefetch(prompt: str, config: Config) -> QueryPrefetch | None:
    """Begin the vector of a prompt; None if it needs none here."""
    if config.hooks.server or config.embedding.provider != QUICK:
        return None
    question = prompt_text(prompt)
    return QueryPrefetch(config.embedding, question) if question else None


class QueryPrefetch:
    """Starts at once; `embedder` waits for it."""

    def __init__(self, wanted: Embedding, question: str) -> None:
        self._wanted, self._question = wanted, question
        self._made: KnownQueryEmbedder | None = None
        self._fault: Exception | None = None
        self._thread = Thread(target=self._begin, daemon=True)
        self._thread.start()

    def embedder(self) -> Embedder | None:
        self._thread.join()
        if self._fault is not None:
            raise self._fault
        return self._made

    def _begin(self) -> None:
        try:
            from nagori.adapters.embed import open_embedder

            os.environ.setdefault("OMP_NUM_THREADS", "1")
            real = open_embedder(self._wanted)
            self._made = KnownQueryEmbedder(real, self._question) if real else None
        except Exception as fault:  # raised where the result is used; a thread would print it to stderr
            self._fault = fault


class KnownQueryEmbedder:
    """An embedder that already has the vector of one query."""

    def __init__(self, real: Embedder, question: str) -> None:
        self._real, self._question = real, question
        self.model, self.dimension, self.unrelated = real.model, real.dimension, real.unrelated
        self._vector = real.embed_query(question)

    def embed_query(self, text: str) -> bytes:
        return self._vector if text == self._question else self._real.embed_query(text)

    def embed_passages(self, texts: Sequence[str]) -> list[bytes]:
        return self._real.embed_passages(texts)
