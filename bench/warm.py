"""Warm recall: the index in memory beside the file, in one process and one run.

    python -m bench.warm --memories 10000 --recalls 300
    python -m bench.warm --memories 100000 --keep FOLDER     fill a folder once and use it again
    python -m bench.warm --turns 40                          conversations of 40 turns, not single memories

The same questions are asked of two open memories of one folder, fifty of one and then of the other: one
searches the file, one has its index in memory (`retrieval.index_megabytes`). After every single question the
file would push the index out of the processor's cache, which no server does to itself. Times are processor
time of this thread without the query embedding, which is measured apart. Answers of both are compared; the
number that differ must be 0.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import median

from bench.data import sentences

from nagori import Nagori
from nagori.config import Config
from nagori.core.model import Source
from nagori.core.value_object import split_batches
from nagori.services.remember import Draft
from nagori.stores.sqlite import SEARCHES_BEFORE_INDEX, SqliteStore
from nagori.testing import FrozenClock, WordEmbedder

AT_ONCE = 5_000
PERIODS = (50, 150, 10**9)  # the first recalls with an index, those after, and the rest
IN_TURN = 50  # questions asked of one memory before the other
MOST_AGAIN = 150  # questions that are asked once more: what they need is all in memory


def fill(folder: Path, memories: int, turns: int) -> None:
    with open_memory(folder, 0, FrozenClock()) as memory:
        texts = enumerate(text for text, _, _ in islice(sentences(7), memories))
        for some in split_batches(texts, AT_ONCE):
            memory.remember_many([Draft(text, source=source_of(number, turns)) for number, text in some])


def source_of(number: int, turns: int) -> Source:
    return Source(f"talk {number // turns}", number % turns) if turns else Source()


def open_memory(folder: Path, megabytes: int, clock: FrozenClock) -> Nagori:
    config = Config().evolve({"retrieval.index_megabytes": megabytes})
    return Nagori.open(folder, config=config, clock=clock, embedder=WordEmbedder(384), llm=None)


def timed(memory: Nagori, question: str, mark: bool) -> tuple[float, float, object]:
    """Milliseconds of processor and of the clock, and the answers."""
    cpu, wall = time.thread_time(), time.perf_counter()
    found = memory.recall(question, mark=mark)
    return (time.thread_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000, found


def embedding_ms(questions: list[str]) -> float:
    embedder, began = WordEmbedder(384), time.thread_time()
    for question in questions:
        embedder.embed_query(question)
    return (time.thread_time() - began) * 1000 / len(questions)


def resident_megabytes() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def told(name: str, times: list[float]) -> str:
    lowest = sorted(times)[len(times) // 10]
    return f"{name} {median(times):.2f} ms (a tenth below {lowest:.2f}, n={len(times)})"


def ask_both(
    file: Nagori, resident: Nagori, questions: list[str], embedding: float
) -> Iterator[tuple[float, ...]]:
    """Milliseconds: processor of both ways, clock of both ways; and whether the answers differ."""
    for some in split_batches(questions, IN_TURN):
        colds = [timed(file, question, False) for question in some]
        warms = [timed(resident, question, False) for question in some]
        for cold, warm in zip(colds, warms, strict=True):
            yield (cold[0] - embedding, warm[0] - embedding, cold[1], warm[1], cold[2] != warm[2])


def tell(name: str, part: list[tuple[float, ...]]) -> None:
    colds, warms, cold_walls, warm_walls, _ = map(list, zip(*part, strict=True))
    print(f"{name}:")
    print(f"  CPU:   {told('file', colds)}, {told('index in memory', warms)}")
    print(f"  clock: {told('file', cold_walls)}, {told('index in memory', warm_walls)}")
    print(f"  file / index: {median(colds) / median(warms):.1f}")


def measure(folder: Path, questions: list[str], megabytes: int, mark: bool) -> None:
    clock = FrozenClock()
    with open_memory(folder, 0, clock) as file, open_memory(folder, megabytes, clock) as resident:
        embedding, before = embedding_ms(questions), resident_megabytes()
        for question in questions[: SEARCHES_BEFORE_INDEX - 1]:
            resident.recall(question, mark=False)
        cpu, wall, _ = timed(resident, questions[0], False)
        print(f"query embedding {embedding:.2f} ms, taken off below")
        print(f"first recall with an index, which fills it: {cpu:.0f} ms CPU, {wall:.0f} ms")
        results = list(ask_both(file, resident, questions, embedding))
        start = 0
        for end in PERIODS:
            if part := results[start:end]:
                tell(f"recalls {start + 1} to {start + len(part)}", part)
            start = end
        again = list(ask_both(file, resident, questions[-MOST_AGAIN:], embedding))
        tell("the last questions once more", again)
        results += again
        print(f"answers that differ: {sum(each[-1] for each in results)} of {len(results)}")
        store = resident.runtime.store
        if isinstance(store, SqliteStore):
            print(f"index: {store.index_bytes_used / 1e6:.0f} MB; process {before:.0f} to", end=" ")
            print(f"{resident_megabytes():.0f} MB at most")
        if mark:
            marked = [timed(resident, question, True) for question in questions]
            print(
                f"recalls that are marked: {told('CPU', [each[0] - embedding for each in marked])},", end=" "
            )
            print(told("clock", [each[1] for each in marked]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--recalls", type=int, default=300)
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--turns", type=int, default=0, help="of each conversation; 0: none")
    parser.add_argument("--keep", type=Path, help="fill this folder, or use it if it is there")
    parser.add_argument(
        "--mark", action="store_true", help="also recalls that are marked; they change the folder"
    )
    asked = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f},", end=" ")
    print(f"Python {platform.python_version()}, {asked.memories} memories")
    questions = [question for _, question, _ in islice(sentences(7), asked.memories)]
    questions = random.Random(3).sample(questions, min(asked.recalls, len(questions)))
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary) / "memory"
        if not folder.exists():
            fill(folder, asked.memories, asked.turns)
        measure(folder, questions, asked.megabytes, asked.mark)


if __name__ == "__main__":
    main()
