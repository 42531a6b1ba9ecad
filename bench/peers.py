"""One subject, one action, one JSON line: the half of the benchmarks that is measured.

    python -I bench/peers.py SUBJECT load    DATA STORE COUNT        fill an empty store
    python -I bench/peers.py SUBJECT recall  DATA STORE FIRST COUNT  top 10 for each query, warm
    python -I bench/peers.py SUBJECT insert  DATA STORE FIRST COUNT  one acknowledged insert at a time
    python -I bench/peers.py SUBJECT cold    DATA STORE QUERY        open, ask once, leave
    python -I bench/peers.py SUBJECT answer  DATA STORE K            fill an empty store, ask every query
    python -I bench/peers.py SUBJECT version DATA STORE              what is installed

Runs by file name, so that it needs nothing but the subject in its environment; a subject's library is
imported in its own class, so that no subject pays for another. Every vector was computed beforehand and is
looked up by its text: what is timed is storage and search, not the model.
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False  # typing itself would be part of every cold start
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, ClassVar, Protocol

    class Subject(Protocol):
        """A store under measurement. A call returns when its result is safe by the library's own account."""

        packages: ClassVar[tuple[str, ...]]

        def __init__(self, store: str, vectors: Vectors) -> None: ...
        def load(self, texts: list[str]) -> None: ...
        def insert(self, text: str) -> None: ...
        def recall(self, query: str, k: int = ...) -> list[str]: ...
        def close(self) -> None: ...


DIMENSION = 384
TOP = 10
LOOPBACK = (None, "127.0.0.1", "::1", "localhost")
WARM_UP = 3  # calls whose time is thrown away before a warm measurement


class Vectors:
    """Texts and the vectors that belong to them, as little-endian float32."""

    def __init__(self, blob: bytes, texts: Iterable[str]) -> None:
        self.use(blob, texts)

    def use(self, blob: bytes, texts: Iterable[str]) -> None:
        """From now on these: a text that is asked may have another vector than the same text stored."""
        self._blob = blob
        self._row = {text: row for row, text in enumerate(texts)}

    def row(self, text: str) -> int:
        return self._row[text]

    def __getitem__(self, text: str) -> bytes:
        start = self._row[text] * DIMENSION * 4
        return self._blob[start : start + DIMENSION * 4]


class ChromaSubject:
    """chromadb's PersistentClient with cosine distance; it gets its vectors as arrays, its fastest way."""

    packages: ClassVar[tuple[str, ...]] = ("chromadb",)

    def __init__(self, store: str, vectors: Vectors) -> None:
        import chromadb
        import numpy
        from chromadb.config import Settings

        self._numpy, self._vectors = numpy, vectors
        self._client = chromadb.PersistentClient(store, settings=Settings(anonymized_telemetry=False))
        self._rows = self._client.get_or_create_collection(
            "bench", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def load(self, texts: list[str]) -> None:
        size = self._client.get_max_batch_size()
        for start in range(0, len(texts), size):
            self._add(texts[start : start + size])

    def insert(self, text: str) -> None:
        self._add([text])

    def recall(self, query: str, k: int = TOP) -> list[str]:
        found = self._rows.query(
            query_embeddings=self._arrays([query]), n_results=k, include=["documents", "distances"]
        )
        return list(found["documents"][0])

    def close(self) -> None:
        self._client.close()

    def _add(self, texts: list[str]) -> None:
        ids = [str(self._vectors.row(text)) for text in texts]
        self._rows.add(ids=ids, embeddings=self._arrays(texts), documents=texts)

    def _arrays(self, texts: list[str]) -> Any:
        blob = b"".join(self._vectors[text] for text in texts)
        return self._numpy.frombuffer(blob, "<f4").reshape(-1, DIMENSION)


class Mem0Subject:
    """mem0 with infer=False over embedded qdrant, which is its own default store.

    mem0 constructs an LLM client and an embedder whether or not they are used, OpenAI's unless told
    otherwise; both get a key that opens nothing, and the embedder is replaced by the lookup.
    """

    packages: ClassVar[tuple[str, ...]] = ("mem0ai", "qdrant-client")
    user = "bench"
    batch = 1000

    def __init__(self, store: str, vectors: Vectors) -> None:
        from mem0 import Memory

        unused = {"provider": "openai", "config": {"api_key": "unused"}}
        qdrant = {"path": f"{store}/qdrant", "collection_name": "bench", "embedding_model_dims": DIMENSION}
        os.makedirs(store, exist_ok=True)  # noqa: PTH103 - pathlib would be part of every cold start
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": qdrant},
                "embedder": unused,
                "llm": unused,
                "history_db_path": f"{store}/history.db",
            }
        )
        self._memory.embedding_model = Mem0Lookup(vectors)

    def load(self, texts: list[str]) -> None:
        for start in range(0, len(texts), self.batch):
            messages = [{"role": "user", "content": text} for text in texts[start : start + self.batch]]
            self._memory.add(messages, user_id=self.user, infer=False)

    def insert(self, text: str) -> None:
        self._memory.add(text, user_id=self.user, infer=False)

    def recall(self, query: str, k: int = TOP) -> list[str]:
        found = self._memory.search(query, filters={"user_id": self.user}, top_k=k, threshold=0.0)
        return [each["memory"] for each in found["results"]]

    def close(self) -> None:
        self._memory.close()
        self._memory.vector_store.client.close()


class Mem0Lookup:
    """mem0's embedder protocol over the prepared vectors."""

    def __init__(self, vectors: Vectors) -> None:
        import numpy

        self._numpy, self._vectors = numpy, vectors

    def embed(self, text: str, _action: str | None = None) -> list[float]:
        floats: list[float] = self._numpy.frombuffer(self._vectors[text], "<f4").tolist()
        return floats


class LangGraphSubject:
    """langgraph's InMemoryStore, which compares with every vector; nothing outlives the process."""

    packages: ClassVar[tuple[str, ...]] = ("langgraph-checkpoint",)
    namespace = ("bench",)

    def __init__(self, store: str, vectors: Vectors) -> None:
        import numpy

        self._numpy, self._vectors = numpy, vectors
        self._rows = self._open(store, {"dims": DIMENSION, "embed": self._embed, "fields": ["text"]})

    def _open(self, _store: str, index: dict[str, Any]) -> Any:
        from langgraph.store.memory import InMemoryStore

        return InMemoryStore(index=index)

    def load(self, texts: list[str]) -> None:
        from langgraph.store.base import PutOp

        rows = ((str(self._vectors.row(text)), {"text": text}) for text in texts)
        self._rows.batch([PutOp(self.namespace, key, value) for key, value in rows])

    def insert(self, text: str) -> None:
        self._rows.put(self.namespace, str(self._vectors.row(text)), {"text": text})

    def recall(self, query: str, k: int = TOP) -> list[str]:
        return [each.value["text"] for each in self._rows.search(self.namespace, query=query, limit=k)]

    def close(self) -> None:
        pass

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._numpy.frombuffer(self._vectors[text], "<f4").tolist() for text in texts]


class LangGraphSqliteSubject(LangGraphSubject):
    """langgraph's SqliteStore over sqlite-vec; it needs a Python whose sqlite3 may load extensions."""

    packages: ClassVar[tuple[str, ...]] = ("langgraph-checkpoint-sqlite", "sqlite-vec")

    def _open(self, store: str, index: dict[str, Any]) -> Any:
        import sqlite3

        from langgraph.store.sqlite import SqliteStore

        os.makedirs(store, exist_ok=True)  # noqa: PTH103 - pathlib would be part of every cold start
        self._connection = sqlite3.connect(f"{store}/store.db", check_same_thread=False, isolation_level=None)
        opened = SqliteStore(self._connection, index=index)
        opened.setup()
        return opened

    def close(self) -> None:
        self._connection.close()


class NagoriSubject:
    """nagori through its public names. Its recall also fuses words and marks what it recalled."""

    packages: ClassVar[tuple[str, ...]] = ("nagori", "apsw", "sqlite-vec")

    def __init__(self, store: str, vectors: Vectors) -> None:
        from nagori import Nagori

        self._nagori = Nagori.open(store, embedder=NagoriLookup(vectors))

    def load(self, texts: list[str]) -> None:
        self._nagori.remember_many(texts)

    def insert(self, text: str) -> None:
        self._nagori.remember(text)

    def recall(self, query: str, k: int = TOP) -> list[str]:
        return [each.memory.text.content for each in self._nagori.recall(query, k=k)]

    def close(self) -> None:
        self._nagori.close()


class NagoriLookup:
    """nagori's embedder protocol over the prepared vectors."""

    model = "bench-lookup"
    dimension = DIMENSION
    unrelated = (0.1, 0.1)

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def embed_passages(self, texts: Sequence[str]) -> list[bytes]:
        return [self._vectors[text] for text in texts]

    def embed_query(self, text: str) -> bytes:
        return self._vectors[text]


SUBJECTS: dict[str, type[Subject]] = {
    "nagori": NagoriSubject,
    "chroma": ChromaSubject,
    "mem0": Mem0Subject,
    "langgraph": LangGraphSubject,
    "langgraph-sqlite": LangGraphSqliteSubject,
}


def load(subject: type[Subject], data: str, store: str, count: str) -> dict[str, Any]:
    """Seconds to fill an empty store and close it: closing is where some of them write."""
    texts = read_texts(f"{data}/texts.json")[: int(count)]
    opened = subject(store, Vectors(read(f"{data}/texts.f32"), texts))
    begun = time.perf_counter()
    opened.load(texts)
    opened.close()
    return {"seconds": [time.perf_counter() - begun]}


def recall(subject: type[Subject], data: str, store: str, first: str, count: str) -> dict[str, Any]:
    """Seconds of each query in a process that has already answered some, and what was found."""
    texts = read_texts(f"{data}/queries.json")
    opened = subject(store, Vectors(read(f"{data}/queries.f32"), texts))
    asked = texts[int(first) : int(first) + int(count)]
    for text in asked[:WARM_UP]:
        opened.recall(text)
    seconds, found = timed(opened.recall, asked)
    opened.close()
    return {"seconds": seconds, "found": found}


def insert(subject: type[Subject], data: str, store: str, first: str, count: str) -> dict[str, Any]:
    """Seconds of each insert into a store that is already full."""
    texts = read_texts(f"{data}/texts.json")
    opened = subject(store, Vectors(read(f"{data}/texts.f32"), texts))
    new = texts[int(first) : int(first) + int(count) + WARM_UP]
    for text in new[:WARM_UP]:
        opened.insert(text)
    seconds, _ = timed(opened.insert, new[WARM_UP:])
    opened.close()
    return {"seconds": seconds}


def cold(subject: type[Subject], data: str, store: str, query: str) -> dict[str, Any]:
    """One answer; the parent measures the whole process. It leaves as a caller would, without ceremony."""
    text = read(f"{data}/query-{query}.txt").decode()
    opened = subject(store, Vectors(read(f"{data}/query-{query}.f32"), [text]))
    return {"found": [opened.recall(text)]}


def answer(subject: type[Subject], data: str, store: str, k: str) -> dict[str, Any]:
    """The top k of every query and the CPU seconds of each, in the process that filled the store."""
    texts, queries = read_texts(f"{data}/texts.json"), read_texts(f"{data}/queries.json")
    vectors = Vectors(read(f"{data}/texts.f32"), texts)
    opened = subject(store, vectors)
    opened.load(texts)
    vectors.use(read(f"{data}/queries.f32"), queries)
    for text in queries[:WARM_UP]:
        opened.recall(text)
    seconds, found = timed(lambda text: opened.recall(text, int(k)), queries, time.process_time)
    opened.close()
    return {"cpu": seconds, "found": found}


def version(subject: type[Subject], _data: str, _store: str) -> dict[str, Any]:
    """The installed versions of what is measured."""
    from importlib.metadata import version as installed

    return {"versions": {name: installed(name) for name in subject.packages}}


ACTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "load": load,
    "recall": recall,
    "insert": insert,
    "cold": cold,
    "answer": answer,
    "version": version,
}


def timed(
    call: Callable[[str], Any], arguments: list[str], clock: Callable[[], float] = time.perf_counter
) -> tuple[list[float], list[Any]]:
    """Each call's seconds and result, in order."""
    seconds, results = [], []
    for argument in arguments:
        begun = clock()
        result = call(argument)
        seconds.append(clock() - begun)
        results.append(result)
    return seconds, results


def read(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib would be part of every cold start
        return file.read()


def read_texts(path: str) -> list[str]:
    texts: list[str] = json.loads(read(path))
    return texts


def peak_mb() -> float:
    """This process's own high-water mark; the parent's rusage would count the parent's memory before exec."""
    try:
        status = read("/proc/self/status").decode()
    except OSError:
        return 0.0
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def refuse_network() -> None:
    """Stop anything that reaches past this machine; for where the kernel would not cut the network off."""

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in ("socket.connect", "socket.getaddrinfo"):
            return
        host = arguments[0] if event == "socket.getaddrinfo" else arguments[1]
        if isinstance(host, tuple):  # an address is (host, port ...); a Unix socket's is its path
            host = host[0]
        if host not in LOOPBACK and not str(host).startswith("/"):
            raise PermissionError(f"the benchmark is offline, but something asked for {host}")

    sys.addaudithook(watch)


def main(arguments: list[str]) -> None:
    if os.environ.get("BENCH_REFUSE_NETWORK"):
        refuse_network()
    subject, action, *rest = arguments
    result = ACTIONS[action](SUBJECTS[subject], *rest)
    print(json.dumps({**result, "peak_mb": peak_mb()}, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1:])
