"""T10: one process works for a long simulated time, and its memory does not grow.

    python -m tests.reliability.t10_soak [--operations 200000] [--seed 0]

Turns, recalls, contexts, facts and nights, 400 operations a simulated day. Every night the session of three
days ago is erased, so that the data stay the same while the operations go on: what a cycle needs for a moment
grows with the data, and is no leak. For the same reason words repeat after a while, so that caches have a
bound which is reached. Memory, open files and threads are measured after every night; memory by the slope of
a line through the later half of the nights, with what SQLite holds. The size of the store is told, too: its
page cache grows with it. At the end the store is compacted and compared with its live data.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import apsw
from tests.reliability.harness import History, Outcome, opened, scratch

from nagori import Nagori, Source
from nagori.testing import FrozenClock

A_DAY = 400
KEPT_DAYS = 3
MOST_MB = 1.0  # more resident memory for 10,000 operations
LEAST_FOR_MB = 20_000  # operations, of which half warm it up; a shorter life only tells the slope
MOST_SIZE = 1.2  # size of the compacted store relative to its used pages
WARM = 0.5  # share of the nights before the first that counts
COUNTED = ("open files", "threads", "files")
NUMBERS = 1_000  # words that come again
WORDS = ("kettle", "ferry", "locker", "pond", "ladder", "violin", "港", "傘", "電車", "手紙", "庭", "帽子")


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def files_besides_journal(folder: Path) -> int:
    journal = folder / "journal"
    return sum(1 for path in folder.rglob("*") if path.is_file() and journal not in path.parents)


def children() -> int:
    return sum(len(each.read_text().split()) for each in Path("/proc/self/task").glob("*/children"))


@contextmanager
def temporary_folder(folder: Path) -> Iterator[None]:
    """Where this process puts its temporary files, so that those it leaves are seen."""
    former, tempfile.tempdir = tempfile.tempdir, str(folder)
    folder.mkdir()
    try:
        yield
    finally:
        tempfile.tempdir = former


def measure(work: Path) -> dict[str, float]:
    left = sum(1 for _ in (work / "temporary").iterdir())
    return {
        "mb": resident_mb(),
        "open files": open_files(),
        "threads": threading.active_count(),
        "files": files_besides_journal(work / "data") + left,
        "store mb": (work / "data" / "nagori.db").stat().st_size / 1e6,
    }


def act(memory: Nagori, dice: Random, n: int) -> None:
    what = f"{dice.choice(WORDS)} {dice.choice(WORDS)} {n % NUMBERS}"
    session, choice = f"day {n // A_DAY}", dice.random()
    if choice < 0.35:
        memory.turn(f"We spoke about the {what}.", session=session)
    elif choice < 0.75:
        memory.recall(what, mark=dice.random() < 0.3)
    elif choice < 0.95:
        memory.context(f"What about the {what}?", session=session)
    else:
        memory.remember(f"The {what} of {session} matters.", source=Source(session))


def spend_night(memory: Nagori, clock: FrozenClock, day: int) -> None:
    memory.process()
    clock.forward(hours=24)
    memory.cycle()
    if day >= KEPT_DAYS:
        memory.erase(memory.plan_erasure(session=f"day {day - KEPT_DAYS}"))


def run(seed: int = 0, operations: int = 200_000) -> Outcome:
    dice, clock, history = Random(seed), FrozenClock(), History("t10", seed)
    nights: list[dict[str, float]] = []
    with scratch() as work, temporary_folder(work / "temporary"), opened(work / "data", clock) as memory:
        for n in range(operations):
            act(memory, dice, n)
            if n % A_DAY == A_DAY - 1:
                spend_night(memory, clock, n // A_DAY)
                gc.collect()
                nights.append({"operations": n + 1, **measure(work)})
                counted = {"memories": memory.status().counts.total, "blocks": sys.getallocatedblocks()}
                history.add("night", "ok", sqlite=apsw.memory_used() / 1e6, **nights[-1], **counted)
        memory.compact()
        with memory.runtime.store.reading() as db:  # type: ignore[attr-defined]
            pages, free = db.pragma("page_count"), db.pragma("freelist_count")
        size = pages / max(1, pages - free)
    later = nights[int(WARM * len(nights)) :]
    assert len(later) > 1, "too few operations for two nights after the warm-up"
    columns = ([night[name] for night in later] for name in ("operations", "mb"))
    slope = statistics.linear_regression(*columns).slope * 10_000
    more = {name: int(later[-1][name] - later[0][name]) for name in COUNTED} | {"processes": children()}
    too_much = slope > MOST_MB and operations >= LEAST_FOR_MB
    violations = [f"{slope:.2f} MB more for 10,000 operations"] if too_much else []
    violations += [f"{count} more {name}" for name, count in more.items() if count > 0]
    violations += [f"the store is {size:.2f} times its live pages"] if size > MOST_SIZE else []
    figures = {"operations": operations, "days": operations // A_DAY, "MB per 10,000": round(slope, 2)}
    figures |= {"MB in the middle": round(later[0]["mb"], 1), "MB at the end": round(later[-1]["mb"], 1)}
    stores = {"store MB in the middle": later[0]["store mb"], "store MB at the end": later[-1]["store mb"]}
    figures |= {name: round(size, 2) for name, size in stores.items()}
    return Outcome("T10", seed, {**figures, **more, "size": round(size, 2)}, violations)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--operations", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    outcome = run(asked.seed, asked.operations)
    print(outcome.line(), *outcome.violations[:20], sep="\n")
    raise SystemExit(bool(outcome.violations))
