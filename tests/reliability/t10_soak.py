"""T10: one process works for a long simulated time, and grows by nothing but its data.

    python -m tests.reliability.t10_soak [--operations 200000] [--seed 0]

Turns, recalls, contexts, edits, erasures and nights, 400 operations a simulated day. Memory, open files and
threads are measured after a warm-up and at the end; at the end the store is compacted and compared with its
live data.
"""

from __future__ import annotations

import argparse
import os
import threading
from pathlib import Path
from random import Random

from tests.reliability.harness import EVERYTHING, History, Outcome, opened, scratch

from nagori.testing import FrozenClock

A_DAY = 400
MOST_MB = 1.0  # more resident memory for 10,000 operations
MOST_SIZE = 1.2  # size of the compacted store relative to its used pages
WARM = 0.3  # share of the operations before the first measurement
WORDS = ("kettle", "ferry", "locker", "pond", "ladder", "violin", "港", "傘", "電車", "手紙", "庭", "帽子")


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def run(seed: int = 0, operations: int = 200_000) -> Outcome:
    dice, clock, history = Random(seed), FrozenClock(), History("t10", seed)
    violations: list[str] = []
    before: tuple[float, int, int] | None = None
    with scratch() as work, opened(work / "data", clock) as memory:
        for n in range(operations):
            what = f"{dice.choice(WORDS)} {dice.choice(WORDS)} {n}"
            choice = dice.random()
            if choice < 0.35:
                memory.turn(f"We spoke about the {what}.", session=f"day {n // A_DAY}")
            elif choice < 0.75:
                memory.recall(what, mark=dice.random() < 0.3)
            elif choice < 0.95:
                memory.context(f"What about the {what}?", session=f"day {n // A_DAY}")
            else:
                memory.remember(f"The {what} matters.")
            if n % A_DAY == A_DAY - 1:
                memory.process()
                clock.forward(hours=24)
                memory.cycle()
                if found := memory.list(EVERYTHING, limit=3):
                    memory.erase(memory.plan_erasure(memory=found[-1].id))
                history.add(
                    "night", "ok", mb=resident_mb(), files=open_files(), threads=threading.active_count()
                )
                if before is None and n >= WARM * operations:
                    before = resident_mb(), open_files(), threading.active_count()
                    counted = n
        assert before is not None, "too few operations for one night after the warm-up"
        after = resident_mb(), open_files(), threading.active_count()
        slope = (after[0] - before[0]) / max(1, operations - counted) * 10_000
        memory.compact()
        with memory.runtime.store.reading() as db:  # type: ignore[attr-defined]
            pages, free = db.pragma("page_count"), db.pragma("freelist_count")
        size = pages / max(1, pages - free)
    violations += [f"{slope:.2f} MB more for 10,000 operations"] if slope > MOST_MB else []
    violations += [f"{after[1] - before[1]} more open files"] if after[1] > before[1] else []
    violations += [f"{after[2] - before[2]} more threads"] if after[2] > before[2] else []
    violations += [f"the store is {size:.2f} times its live pages"] if size > MOST_SIZE else []
    figures = {"operations": operations, "days": operations // A_DAY, "MB per 10,000": round(slope, 2)}
    figures |= {"open files": after[1] - before[1], "threads": after[2] - before[2], "size": round(size, 2)}
    return Outcome("T10", seed, figures, violations)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--operations", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    outcome = run(asked.seed, asked.operations)
    print(outcome.line(), *outcome.violations[:20], sep="\n")
    raise SystemExit(bool(outcome.violations))
