"""The real embedder, asked once for each text in its life: vectors are kept between runs."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from nagori.protocols import Embedder


class Remembered:
    """An embedder that looks in its file first. The key is model, kind of text, and text."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.embedder, self.model, self.dimension = embedder, embedder.model, embedder.dimension
        self.unrelated = embedder.unrelated
        self._file = sqlite3.connect(folder / "vectors.db", timeout=60, isolation_level=None)
        self._file.execute("PRAGMA synchronous = OFF")  # what is lost is computed again
        self._file.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) STRICT")
        self._known: dict[bytes, bytes] = {}  # so that a measured query pays for no file

    def embed_passages(self, texts: Sequence[str]) -> list[bytes]:
        return [self._vector("passage", text, self._passage) for text in texts]

    def embed_query(self, text: str) -> bytes:
        return self._vector("query", text, self.embedder.embed_query)

    def prime(self, queries: Iterable[str]) -> None:
        """Embed all questions beforehand, so that no system's time holds the model's."""
        for text in queries:
            self.embed_query(text)

    def close(self) -> None:
        self._file.close()

    def _passage(self, text: str) -> bytes:
        return self.embedder.embed_passages([text])[0]

    def _vector(self, kind: str, text: str, make: Callable[[str], bytes]) -> bytes:
        key = sha256(f"{self.model}\0{kind}\0{text}".encode("utf-8", "surrogatepass")).digest()[:16]
        if key not in self._known:
            self._known[key] = self._kept(key) or self._keep(key, make(text))
        return self._known[key]

    def _kept(self, key: bytes) -> bytes | None:
        row = self._file.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def _keep(self, key: bytes, vector: bytes) -> bytes:
        self._file.execute("INSERT OR IGNORE INTO vectors VALUES (?, ?)", (key, vector))
        return vector


def query_cpu_seconds(embedder: Embedder, queries: Sequence[str], sample: int = 30) -> float:
    """CPU time of embedding one query, over a sample spread evenly; nothing is looked up."""
    chosen = queries[:: max(1, len(queries) // sample)][:sample]
    embedder.embed_query(chosen[0])
    begun = time.process_time()
    for text in chosen:
        embedder.embed_query(text)
    return (time.process_time() - begun) / len(chosen)
