"""What a night costs: `python -m bench.cycle [--sizes 10000,100000] [--json FILE]`.

A store is filled with memories of all ages, one long night brings it into order, then a day passes and a
normal night is measured: planning, writing (without vectors and without a language model), the longest
write. Beside it the documents' own way is timed in the same run: every memory read, scored and written back,
row by row.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from bench.data import sentences
from bench.report import header, machine, number, python, table, write_json
from nagori import Category, Config, Draft, Emotion, Kind, Nagori, __version__
from nagori.core.life import Capacity
from nagori.testing import FrozenClock

SIZES = (10_000, 100_000)
DAYS = 120
ROW_BY_ROW = 10_000  # the documents' way is measured on so many


def filled(folder: Path, clock: FrozenClock, size: int) -> Nagori:
    """Memories of four months, as different as people's."""
    dice, born = random.Random(1), clock.now()
    config = Config(capacity=Capacity(limit=10 * size))  # fading is measured, not a full store
    memory = Nagori.open(folder, config=config, clock=clock, embedder=None)
    kinds, categories = [Kind.EPISODE] * 6 + [Kind.FACT, Kind.DECISION, Kind.LESSON], list(Category)
    drafts = (
        Draft(
            text,
            kind=dice.choice(kinds),
            category=dice.choice(categories),
            emotion=Emotion(dice.uniform(5, 95)),
            created=born - timedelta(days=dice.uniform(0, DAYS)),
        )
        for text, _, _ in islice(sentences(1), size)
    )
    memory.remember_many(drafts)
    return memory


class Watched:
    """A store whose commits are timed."""

    def __init__(self, store: Any) -> None:
        self.store, self.longest = store, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def commit(self, *arguments: Any) -> None:
        begun = time.perf_counter()
        self.store.commit(*arguments)
        self.longest = max(self.longest, time.perf_counter() - begun)


def measured(size: int, work: Path) -> dict[str, float]:
    clock = FrozenClock()
    with filled(work / str(size), clock, size) as memory:
        memory.cycle()
        for _ in range(2):
            clock.forward(days=1)
            memory.cycle()
        clock.forward(days=1)
        parts = memory.parts
        parts.ledger.store = watched = Watched(parts.store)  # type: ignore[assignment]
        begun = time.process_time()
        plan = memory.plan()
        planned = time.process_time()
        night = memory.cycle(plan)
        done = time.process_time()
        again = memory.cycle()
        assert not again.plan.steps
    return {
        "memories": size,
        "steps": night.done,
        "share": 100 * night.done / size,
        "plan_s": planned - begun,
        "write_s": done - planned,
        "longest_write_s": watched.longest,
        "us_a_step": 1e6 * (done - planned) / max(1, night.done),
    }


def row_by_row(work: Path, size: int = ROW_BY_ROW) -> float:
    """000's and 001's own way: read each row, compute, write it back, commit."""
    dice = random.Random(1)
    db = sqlite3.connect(work / "row-by-row.db")
    db.execute("CREATE TABLE memories (id TEXT PRIMARY KEY, intensity, coefficient, days, score, level)")
    rows = [
        (str(n), dice.uniform(5, 95), dice.uniform(0.7, 0.999), dice.uniform(0, 120)) for n in range(size)
    ]
    db.executemany("INSERT INTO memories VALUES (?, ?, ?, ?, 0, 1)", rows)
    db.commit()
    begun = time.process_time()
    ids = [id for (id,) in db.execute("SELECT id FROM memories")]
    for id in ids:
        sql = "SELECT intensity, coefficient, days FROM memories WHERE id = ?"
        intensity, coefficient, days = db.execute(sql, (id,)).fetchone()
        score = intensity * coefficient ** (days + 1)
        level = 1 if score > 50 else 2 if score > 20 else 3 if score > 5 else 4
        db.execute(
            "UPDATE memories SET days = days + 1, score = ?, level = ? WHERE id = ?", (score, level, id)
        )
        db.commit()
    return time.process_time() - begun


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.cycle")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="how many memories, with commas")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args(given)
    with tempfile.TemporaryDirectory(prefix="nagori-bench-") as folder:
        work = Path(folder)
        head = {"machine": machine(work), "python": python(), "nagori": __version__}
        slow = row_by_row(work)
        figures = [measured(int(size), work) for size in options.sizes.split(",")]
    names = list(figures[0])
    print("\n".join(header(head)), "", sep="\n")
    print(table(names, [[number(each[name]) for name in names] for each in figures], ()))
    print(f"\nrow by row, {ROW_BY_ROW:,} memories, scores only: {slow:.2f} s CPU")
    ours = next((f for f in figures if f["memories"] == ROW_BY_ROW), None)
    if ours:
        print(f"ratio to planning the same number: {slow / ours['plan_s']:.0f}x")
    if options.json:
        write_json(options.json, {"figures": figures, "row_by_row_s": slow, **head})


if __name__ == "__main__":
    main()
