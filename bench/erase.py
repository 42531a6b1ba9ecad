"""Erasing a user of many in a large store, while others write: `python -m bench.erase [--memories 10000 …]`.

A user of `--memories` is erased in a store of `--store` memories. Four processes write for other users all
the time. Measured are the seconds of each step of the erasure, and how long the others' writes took before it
began and while it ran; the longest of them is what somebody waited at worst. On a busy machine that says as
much about the others there. So it is told, too, how much of each write the erasure held the database, and for
how much processor time at a stretch.

A large store is made quickly: one other user is filled in the usual way, and its rows and journal are copied
for as many more as are needed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from bisect import bisect_right
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import apsw
from bench.filling import AT_ONCE, settled
from bench.report import header, machine, python, table, write_json

from nagori import Nagori, Scope
from nagori.core.events import Event
from nagori.core.serialize import to_record
from nagori.core.value_object import replace, split_batches
from nagori.journals.file import FileJournal
from nagori.services import erase_owner
from nagori.stores.sql_rows import find_owner, keys
from nagori.stores.sqlite import Connection, SqliteStore
from nagori.testing import FrozenClock

WRITERS = 4
BEFORE = 5.0  # seconds in which others write and nobody is erased
GONE, REST = "gone", "rest"
FILLED = 90_000  # most memories that are filled in the usual way; the others are copied


def fill(folder: Path, user: str, size: int) -> None:
    clock = FrozenClock()
    with Nagori.open(folder, scope=Scope(user=user), clock=clock, embedder=None, llm=None) as memory:
        for bundle in split_batches(settled(size, clock.now()), AT_ONCE):
            mine = [replace(m, id=f"{m.id}{user[0]}") for m in bundle]
            events = [Event("imported", clock.now(), {"memory": to_record(m)}, m.id) for m in mine]
            memory.runtime.ledger.write(memory.scope.owner, lambda events=events: events)  # type: ignore[misc]


def copy_owner(folder: Path, user: str) -> None:
    """The rows and the journal of `REST` once more, for another user. Its words are those of its texts."""
    source, target = Scope(user=REST).owner, Scope(user=user).owner
    journal = FileJournal(folder / "journal")
    shutil.copytree(journal.folder(source), journal.folder(target))
    note = json.dumps({"tenant": target[0], "user": user, "id": uuid4().hex})
    (journal.folder(target) / "space.json").write_text(note)
    store = SqliteStore(folder / "nagori.db")
    with store.writing() as db:
        former = find_owner(db, source)
        number = copy_rows(db, "owner", "id = ?", (former,), {"id": "NULL", "user": "?"}, (user,))
        assert former is not None
        by = str(keys(number)[0] - keys(former)[0])
        moved = {"key": f"key + {by}"}
        copy_rows(db, "memory", "owner = ?", (former,), {**moved, "owner": str(number)})
        copy_rows(db, "text", "key BETWEEN ? AND ?", keys(former), moved)
        copy_rows(db, "log", "owner = ?", (former,), {"owner": str(number)})
        words = "SELECT key, max(level), content FROM text WHERE key BETWEEN ? AND ? GROUP BY key"
        db.execute(f"INSERT INTO words (rowid, tokens) SELECT key, content FROM ({words})", keys(number))
    store.close()


def copy_rows(
    db: Connection,
    table: str,
    where: str,
    values: tuple[Any, ...],
    changed: dict[str, str],
    given: tuple[Any, ...] = (),
) -> int:
    """Copy rows of a table with some columns changed; returns the last new number."""
    names = [str(name) for _, name, *_ in db.execute(f"PRAGMA table_info({table})")]
    columns = ", ".join(changed.get(name, name) for name in names)
    db.execute(f"INSERT INTO {table} SELECT {columns} FROM {table} WHERE {where}", (*given, *values))
    return db.last_insert_rowid()


class Hold(NamedTuple):
    """A time in which the erasure held the database. That of a merge or a checkpoint begins when it asks for
    it, and that of a transaction ends after a checkpoint of SQLite's own, in which others can write: so it is
    too long rather than too short."""

    work: str
    begin: float
    end: float
    processor: float  # seconds of processor time


class Watch:
    """When this process held the database."""

    def __init__(self) -> None:
        self.holds: list[Hold] = []
        self._begun: tuple[float, float] | None = None

    def attach(self, db: apsw.Connection) -> None:
        db.trace_v2(apsw.SQLITE_TRACE_STMT | apsw.SQLITE_TRACE_PROFILE, self._note)

    def _note(self, event: dict[str, Any]) -> None:
        begins, sql = event["code"] == apsw.SQLITE_TRACE_STMT, event["sql"]
        alone = "'merge'" in sql or "checkpoint(TRUNCATE)" in sql
        if sql == "BEGIN IMMEDIATE" or (alone and begins):
            self._begun = time.time(), time.thread_time()
        elif (sql == "COMMIT" or alone) and not begins and self._begun is not None:
            work = "transaction" if not alone else "merge" if "'merge'" in sql else "checkpoint"
            at, processor = self._begun
            self.holds.append(Hold(work, at, time.time(), time.thread_time() - processor))
            self._begun = None


def held_within(holds: list[Hold], begin: float, end: float) -> float:
    """Seconds between `begin` and `end` in which the erasure held the database."""
    first = max(0, bisect_right(holds, begin, key=lambda hold: hold.begin) - 1)
    near = takewhile(lambda hold: hold.begin < end, holds[first:])
    return sum(max(0.0, min(end, hold.end) - max(begin, hold.begin)) for hold in near)


def write_on(folder: Path, user: str) -> None:
    """A writer: when each write began, and how long it took."""
    waits: list[tuple[float, float]] = []
    with Nagori.open(folder, scope=Scope(user=user), embedder=None, llm=None) as memory:
        while not (folder.parent / "stop").exists():
            begin = time.time()
            memory.remember(f"The kettle of {user} whistles {len(waits)} times.")
            waits.append((begin, time.time() - begin))
            time.sleep(0.01)
    print(json.dumps(waits))


def erase(folder: Path) -> tuple[list[tuple[str, float]], float, float]:
    """The seconds of each step, and when the erasure began and ended."""
    taken: list[tuple[str, float]] = []
    with Nagori.open(folder, scope=Scope(user=GONE), embedder=None, llm=None) as memory:
        plan = memory.plan_erasure(everything=True)
        last = begin = time.time()

        def note(done: int, total: int) -> None:
            nonlocal last
            name = erase_owner.OWNER_STEPS[done - 1].__name__.removeprefix("_erase_")
            taken.append((name, time.time() - last))
            last = time.time()

        receipt = memory.erase(plan, note)
        taken.append(("search", time.time() - last))
        assert receipt.clean
    return taken, begin, time.time()


def prepare(folder: Path, memories: int, store: int) -> None:
    """The store: one other user, the one who is erased, then copies of the other."""
    others = store - memories
    copies = max(1, round(others / FILLED))
    fill(folder, REST, others // copies)
    fill(folder, GONE, memories)
    for n in range(1, copies):
        copy_owner(folder, f"{REST}{n}")


def measure(work: Path, memories: int, store: int) -> dict[str, Any]:
    folder = work / "data"
    begin = time.time()
    prepare(folder, memories, store)
    print(f"filled in {time.time() - begin:.0f} s", file=sys.stderr, flush=True)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    command = [sys.executable, "-m", "bench.erase", "--write", str(folder)]
    writers = [
        subprocess.Popen([*command, f"user{n}"], stdout=subprocess.PIPE, text=True) for n in range(WRITERS)
    ]
    time.sleep(BEFORE)
    watch = Watch()
    apsw.connection_hooks.append(watch.attach)
    steps, begin, end = erase(folder)
    (work / "stop").touch()
    waits = [each for writer in writers for each in json.loads(writer.communicate()[0])]
    before = sorted(took for at, took in waits if at < begin)
    during = sorted(took for at, took in waits if begin <= at < end)
    blocked = sorted(held_within(watch.holds, at, at + took) for at, took in waits if begin <= at < end)
    works = dict.fromkeys(hold.work for hold in watch.holds)
    return {
        "bytes": size,
        "steps": steps,
        "seconds": end - begin,
        "before": describe(before),
        "during": describe(during),
        "blocked": describe(blocked),
        "holds": {work: longest_hold([h for h in watch.holds if h.work == work]) for work in works},
    }


def longest_hold(holds: list[Hold]) -> dict[str, float]:
    return {
        "n": len(holds),
        "processor": max(hold.processor for hold in holds),
        "clock": max(hold.end - hold.begin for hold in holds),
    }


def describe(waits: list[float]) -> dict[str, float]:
    at = [0.5, 0.99, 1.0]
    places = [waits[min(len(waits) - 1, int(share * len(waits)))] if waits else 0.0 for share in at]
    return {"writes": len(waits), "p50": places[0], "p99": places[1], "longest": places[2]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--memories", type=int, default=10_000, help="memories of the user who is erased")
    parser.add_argument("--store", type=int, default=100_000, help="memories of all users together")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--write", nargs=2, metavar=("FOLDER", "USER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        write_on(Path(given.write[0]), given.write[1])
        return
    with tempfile.TemporaryDirectory() as work:
        about = {"machine": machine(Path(work)), "python": python()}
        figures = measure(Path(work), given.memories, given.store)
    print("\n".join(header({**about, "erased": f"{given.memories:,} of {given.store:,} memories"})))
    print(f"folder {figures['bytes'] / 1e6:.0f} MB, erased in {figures['seconds']:.1f} s\n")
    print(table(["step", "seconds"], [[name, f"{took:.2f}"] for name, took in figures["steps"]], ["step"]))
    rows = [
        [name, f"{each['writes']:.0f}", *(f"{1000 * each[key]:.0f}" for key in ("p50", "p99", "longest"))]
        for name, each in (
            ("before", figures["before"]),
            ("while erasing", figures["during"]),
            ("of it, held by the erasure", figures["blocked"]),
        )
    ]
    print()
    print(table(["others' writes", "n", "p50 ms", "p99 ms", "longest ms"], rows, ["others' writes"]))
    rows = [
        [work, f"{each['n']:.0f}", *(f"{1000 * each[key]:.0f}" for key in ("processor", "clock"))]
        for work, each in figures["holds"].items()
    ]
    print()
    print(table(["longest hold", "n", "processor ms", "clock ms"], rows, ["longest hold"]))
    print(f"load {os.getloadavg()[0]:.0f}")
    if given.json:
        write_json(given.json, {**about, **figures})


if __name__ == "__main__":
    main()
