"""The question's vector, made by a second thread while the first one still loads modules and opens the store.

The model is C code that runs without Python's lock, and takes as long as everything else a prompt needs. It
gets one core: helper threads of its own would take the other one from the rest, and wait for each other.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from threading import Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.config.sections import Embedding
    from nagori.protocols import Embedder


class QueryPrefetch:
    """Begins at once; `embedder` waits for it."""

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
        except Exception as fault:  # told where it is asked for; a thread's own words would go to stderr
            self._fault = fault


class KnownQueryEmbedder:
    """An embedder that knows the vector of one question already."""

    def __init__(self, real: Embedder, question: str) -> None:
        self._real, self._question = real, question
        self.model, self.dimension, self.unrelated = real.model, real.dimension, real.unrelated
        self._vector = real.embed_query(question)

    def embed_query(self, text: str) -> bytes:
        return self._vector if text == self._question else self._real.embed_query(text)

    def embed_passages(self, texts: Sequence[str]) -> list[bytes]:
        return self._real.embed_passages(texts)
