"""What a night costs: `python -m bench.cycle [--sizes 10000,100000,1000000] [--links 1000000] [--floor]`.

A store of memories of all ages awaits a normal night: a day has passed since the last one, with new memories
and with recalls (`bench/filling.py`). Measured are planning and writing, without vectors and without a
language model, the longest write and the longest lock. Beside it the documents' own way is timed in the same
run: every memory read, scored and written back, row by row.

`--floor` tells what is SQLite's share: the statements of the same night, written down and given to SQLite
again by themselves. `--links` measures the ties of new memories (`bench/ties.py`).
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import apsw
from bench import filling, ties
from bench.measure import ROOT
from bench.report import header, machine, number, python, table, write_json

from nagori import Nagori, __version__
from nagori.stores.sqlite import connect

SIZES = (10_000, 100_000)
ROW_BY_ROW = 10_000  # memories in the row-by-row measurement
CACHE = ROOT / "out" / "bench-stores"


class Watched:
    """A store and a journal whose commits and locks are timed."""

    def __init__(self, part: Any) -> None:
        self.part, self.longest, self.busiest = part, 0.0, 0.0  # wall time, CPU

    def __getattr__(self, name: str) -> Any:
        return getattr(self.part, name)

    def commit(self, *arguments: Any) -> None:
        with self._timed():
            self.part.commit(*arguments)

    @contextmanager
    def locked(self, owner: Any, patience: float | None = None) -> Iterator[int]:
        with self.part.locked(owner, patience) as last, self._timed():
            yield last

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begun, worked = time.perf_counter(), time.process_time()
        yield
        self.longest = max(self.longest, time.perf_counter() - begun)
        self.busiest = max(self.busiest, time.process_time() - worked)


def measured(size: int, cache: Path, work: Path, lines: int = 1, floor: bool = False) -> dict[str, float]:
    with evening(size, cache, work / "night", lines) as memory:
        ledger = memory.runtime.ledger
        ledger.store = store = Watched(ledger.store)  # type: ignore[assignment]
        ledger.journal = journal = Watched(ledger.journal)  # type: ignore[assignment]
        memory.plan()  # as in a process that has planned before
        begun = time.process_time()
        plan = memory.plan()
        planned = time.process_time()
        night = memory.cycle(plan)
        done = time.process_time()
        again = memory.cycle()
        assert not again.plan.steps
    figures = {
        "memories": size,
        "steps": night.done,
        "share_%": 100 * night.done / size,
        "plan_s": planned - begun,
        "write_s": done - planned,
        "us_a_step": 1e6 * (done - planned) / max(1, night.done),
        "longest_write_s": store.longest,
        "its_cpu_s": store.busiest,
        "longest_lock_s": journal.longest,
    }
    return figures | ({"sqlite_s": sqlite_alone(size, cache, work, lines)} if floor else {})


def evening(size: int, cache: Path, work: Path, lines: int) -> Nagori:
    """A store that awaits its night: a copy, so that every night is the same one."""
    stem = f"{filling.MADE_BY}-{size}-{lines}"
    folder = filling.kept(cache, work, stem, lambda folder: filling.filled(folder, size, lines))
    return filling.opened(folder, size, filling.evening())


def sqlite_alone(size: int, cache: Path, work: Path, lines: int) -> float:
    """CPU of a night's statements, without the program that thinks them out."""
    said: list[tuple[str, Any]] = []
    with evening(size, cache, work / "traced", lines) as memory:
        plan = memory.plan()
        with memory.runtime.store.reading() as db:  # the one connection of this thread, used from now on
            db.exec_trace = lambda _, sql, values: said.append((sql, values)) is None
        memory.cycle(plan)
        path = memory.runtime.store.path
    with evening(size, cache, work / "alone", lines) as memory:
        copy = memory.runtime.store.path
    assert copy != path
    db = connect(copy)
    begun = time.process_time()
    for sql, run in groupby(said, key=lambda each: each[0]):
        say(db, sql, [values or () for _, values in run])
    db.close()
    return time.process_time() - begun


def say(db: apsw.Connection, sql: str, values: Sequence[Any]) -> None:
    if sql.startswith(("BEGIN", "COMMIT")):  # the first one ends what was begun before anybody looked
        if sql.startswith("BEGIN") is not db.in_transaction:
            db.execute(sql)
        return
    if sql.lstrip().upper().startswith(("SELECT", "PRAGMA")):
        for each in values:
            db.execute(sql, each).fetchall()
    else:
        db.executemany(sql, values)


def row_by_row(work: Path, size: int = ROW_BY_ROW) -> float:
    """Row by row: read each row, compute, write it back, commit."""
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


def print_figures(figures: Sequence[dict[str, float]]) -> None:
    if figures:
        names = list(figures[0])
        print(table(names, [[number(each[name]) for name in names] for each in figures], ()), end="\n\n")


def sizes(said: str) -> list[int]:
    return [int(size) for size in said.split(",") if size]


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.cycle")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="how many memories, with commas")
    parser.add_argument("--links", default="", help="tie new memories to so many others, with commas")
    parser.add_argument("--new", type=int, default=ties.NEW, help="how many are new, for --links")
    parser.add_argument("--lines", type=int, default=1, help="sentences of a memory")
    parser.add_argument("--min-confidence", action="store_true", help="measure SQLite's share by itself too")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where filled stores are kept")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    options = parser.parse_args(given)
    options.cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="nagori-bench-", dir=options.cache) as folder:
        work = Path(folder)
        sqlite = f"SQLite {apsw.sqlite_lib_version()}"
        head = {"machine": machine(work), "python": f"{python()}, {sqlite}", "nagori": __version__}
        slow = row_by_row(work)
        nights = [
            measured(size, options.cache, work / str(size), options.lines, options.floor)
            for size in sizes(options.sizes)
        ]
        links = [ties.measured(size, options.cache, work, options.new) for size in sizes(options.links)]
    print("\n".join(header(head)), "", sep="\n")
    print_figures(nights)
    print(f"row by row, {ROW_BY_ROW:,} memories, scores only: {slow:.2f} s CPU")
    for ours in (night for night in nights if night["memories"] == ROW_BY_ROW):
        whole = slow / (ours["plan_s"] + ours["write_s"])
        print(f"ratio to planning the same number: {slow / ours['plan_s']:.0f}x, with writing: {whole:.0f}x")
    if links:
        print("\nties of new memories; vectors are drawn (unit vectors around centres), not computed:")
        print_figures(links)
    if options.json:
        write_json(options.json, {"figures": nights, "links": links, "row_by_row_s": slow, **head})


if __name__ == "__main__":
    main()
