"""How long activation takes to spread: `python -m bench.association`.

A SQLite store with so many concepts and memories that mention ten of them each, drawn so that a few concepts
are very common and most are rare. A step is one query; depth 2 leads over concepts to other memories.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw
from bench.report import header, machine, python, table

from nagori import __version__
from nagori.core.model import Scope
from nagori.core.spreading_activation import ENTRIES, MOST_CONCEPTS, MOST_MEMORIES, hub_size, pass_on
from nagori.core.storage_types import AppliedPosition, Batch
from nagori.protocols import Store
from nagori.stores.sqlite import SqliteStore
from nagori.testing.random_memories import memory

ME = Scope(user="me")
MENTIONS = 10
BATCH = 5_000
SEED = 7


def fill(store: SqliteStore, memories: int, concepts: int) -> None:
    """Memories through the store, their mentions directly: what counts here is how they are read."""
    for start in range(0, memories, BATCH):
        some = [memory(f"mem_{n:07}", f"thing {n}") for n in range(start, min(start + BATCH, memories))]
        after = AppliedPosition(start // BATCH + 1)
        store.commit(ME.owner, Batch(before=after.seq - 1, after=after, memories=some))
    dice = random.Random(SEED)
    pairs = set()
    for key in range(memories):
        # Half of the mentions are even, half prefer the first concepts.
        pairs |= {(key, dice.randrange(concepts)) for _ in range(MENTIONS // 2)}
        pairs |= {(key, int(concepts * dice.random() ** 3)) for _ in range(MENTIONS // 2)}
    with store.writing() as db:
        [(number,)] = db.execute("SELECT id FROM owner").fetchall()
        first = int(str(number)) << 40 | 1
        rows = ((n + 1, number, f"concept {n}") for n in range(concepts))
        db.executemany("INSERT INTO concept (id, owner, name, memories) VALUES (?, ?, ?, 0)", rows)
        put = "INSERT INTO mention (key, concept, weight) VALUES (?, ?, ?)"
        db.executemany(put, ((first + key, concept + 1, 0.7) for key, concept in sorted(pairs)))
        count = "SELECT count(*) FROM mention m WHERE m.concept = concept.id"
        db.execute(f"UPDATE concept SET memories = ({count})")


def spread(store: Store, ids: Sequence[str], depth: int, total: int) -> int:
    """The number of nodes that the last step reached."""
    reached = dict.fromkeys(ids, 1.0)
    nodes = 0
    for step in range(depth):
        if step % 2 == 0:
            found = store.concepts.concepts_of(ME, reached, MOST_CONCEPTS, hub_size(total))
            passed, nodes = pass_on(found, total), len(found)
        else:
            reached = store.concepts.memories_of(ME, passed, MOST_MEMORIES)
            nodes = len(reached)
    return nodes


def least_ms(work: Callable[[], int], rounds: int) -> tuple[float, float, int]:
    """Least and middle CPU time of so many runs, and what the last one returned. CPU time, because others may
    use the machine."""
    times, result = [], 0
    for _ in range(rounds):
        begun = time.process_time()
        result = work()
        times.append(1000 * (time.process_time() - begun))
    times.sort()
    return times[0], times[len(times) // 2], result


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.association")
    parser.add_argument("--concepts", type=int, default=100_000)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args(given)
    dice, rows = random.Random(SEED), []
    with tempfile.TemporaryDirectory(prefix="nagori-bench-") as folder:
        store = SqliteStore(Path(folder) / "nagori.db")
        fill(store, options.memories, options.concepts)
        for entries in (1, ENTRIES):
            ids = [f"mem_{dice.randrange(options.memories):07}" for _ in range(entries)]
            for depth in (1, 2, 3, 4):
                least, middle, nodes = least_ms(
                    lambda ids=ids, depth=depth: spread(store, ids, depth, options.memories),  # type: ignore[misc]
                    options.rounds,
                )
                rows.append([str(entries), str(depth), f"{least:.2f}", f"{middle:.2f}", str(nodes)])
        store.close()
        head = {
            "machine": machine(Path(folder)),
            "python": f"{python()}, SQLite {apsw.sqlite_lib_version()}",
            "nagori": __version__,
            "data": f"{options.concepts:,} concepts, {options.memories:,} memories,"
            f" about {MENTIONS} mentions each, {options.rounds} rounds",
        }
    titles = ["entries", "depth", "least CPU ms", "median", "nodes"]
    print("\n".join([*header(head), "", table(titles, rows, ())]))


if __name__ == "__main__":
    main()
