"""What other memories leave in their files after a deletion: `python -m bench.erased_beside`.

Some users say sentences with random words; one of them is deleted by the program's own verbs. Then every file
is searched for these words, as `tests/erased_bytes.py` searches ours. It runs the programs that are installed
(chromadb, mem0ai) and says which are not; nothing here needs a key, a model or the network.
"""

from __future__ import annotations

import importlib.metadata
import os
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from bench.report import header, machine, python, table
from tests.erased_bytes import cores, draw_word, files_with

from nagori import __version__

USERS, WORDS, DIMENSION = 5, 20, 32


def vector(text: str) -> list[float]:
    dice = Random(crc32(text.encode()))
    return [dice.uniform(-1, 1) for _ in range(DIMENSION)]


def run_nagori(folder: Path, said: dict[str, list[str]], gone: str) -> None:
    from nagori import Nagori, Scope
    from nagori.testing import WordEmbedder

    for user, words in said.items():
        with Nagori.open(folder, scope=Scope(user=user), embedder=WordEmbedder(), llm=None) as memory:
            memory.remember_many(f"The ferry {word} leaves at nine." for word in words)
    with Nagori.open(folder, scope=Scope(user=gone), embedder=WordEmbedder(), llm=None) as memory:
        memory.erase(memory.plan_erasure(everything=True))


def run_chroma(folder: Path, said: dict[str, list[str]], gone: str) -> None:
    import chromadb

    client: Any = chromadb.PersistentClient(str(folder))
    rows = client.get_or_create_collection("memories", embedding_function=None)
    for user, words in said.items():
        texts = [f"The ferry {word} leaves at nine." for word in words]
        rows.add(
            ids=[f"{user}-{n}" for n in range(len(words))],
            documents=texts,
            embeddings=[vector(text) for text in texts],
            metadatas=[{"user": user} for _ in words],
        )
    rows.delete(where={"user": gone})


def run_mem0(folder: Path, said: dict[str, list[str]], gone: str) -> None:
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "home"), "OPENAI_API_KEY": "none"}
    from mem0 import Memory
    from mem0.utils.factory import EmbedderFactory

    class Embedder:
        config = type("Config", (), {"embedding_dims": DIMENSION})()

        def embed(self, text: str, *_: object, **__: object) -> list[float]:
            return vector(text)

        def embed_batch(self, texts: list[str], *_: object, **__: object) -> list[list[float]]:
            return [vector(text) for text in texts]

    EmbedderFactory.create = staticmethod(lambda *_, **__: Embedder())
    place = {
        "path": str(folder / "vectors"),
        "collection_name": "memories",
        "embedding_model_dims": DIMENSION,
    }
    store = {"provider": "qdrant", "config": {**place, "on_disk": True}}
    memory: Any = Memory.from_config({"vector_store": store, "history_db_path": str(folder / "history.db")})
    for user, words in said.items():
        for word in words:
            memory.add(f"The ferry {word} leaves at nine.", user_id=user, infer=False)
    memory.delete_all(user_id=gone)


PROGRAMS: dict[str, tuple[str, Callable[[Path, dict[str, list[str]], str], None]]] = {
    "nagori": ("nagori", run_nagori),
    "chroma": ("chromadb", run_chroma),
    "mem0": ("mem0ai", run_mem0),
}
MODULES = {"mem0ai": "mem0"}


def main() -> None:
    dice = Random(5)
    said = {f"user{n}": [draw_word(dice) for _ in range(WORDS)] for n in range(USERS)}
    gone, rows = "user2", []
    for name, (package, run) in PROGRAMS.items():
        if find_spec(MODULES.get(package, package)) is None:
            rows.append([name, "not installed", "", ""])
            continue
        version = __version__ if name == "nagori" else importlib.metadata.version(package)
        with tempfile.TemporaryDirectory(prefix="nagori-bench-", ignore_cleanup_errors=True) as work:
            folder = Path(work) / "data"
            try:
                run(folder, said, gone)
            except Exception as fault:
                rows.append([name, version, f"failed: {type(fault).__name__}: {fault}"[:80], ""])
                continue
            found = files_with(folder, said[gone])
            left = {core for held in found.values() for core in held}
            rows.append(
                [name, version, f"{len(left)} of {len(cores(said[gone]))}", ", ".join(sorted(found))[:60]]
            )
    print("\n".join(header({"machine": machine(Path.cwd()), "python": python()})) + "\n")
    print(
        table(
            ["program", "version", "words of the deleted user left", "in"], rows, ("program", "version", "in")
        )
    )


if __name__ == "__main__":
    main()
