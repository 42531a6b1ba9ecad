"""Erasing a user of many in a large store, while others write: `python -m bench.erase [--memories 10000 …]`.

A user of `--memories` is erased in a store of `--store` memories. Four processes write for other users all
the time. Measured are the seconds of each step of the erasure, and how long the others' writes took before it
began and while it ran; the longest of them is what somebody waited at worst.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.filling import AT_ONCE, settled
from bench.report import header, machine, python, table, write_json

from nagori import Nagori, Scope
from nagori.core.events import Event
from nagori.core.serialize import to_record
from nagori.core.values import replace, split_batches
from nagori.services import erase as erasing
from nagori.testing import FrozenClock

WRITERS = 4
BEFORE = 5.0  # seconds in which others write and nobody is erased
GONE, REST = "gone", "rest"


def fill(folder: Path, user: str, size: int) -> None:
    clock = FrozenClock()
    with Nagori.open(folder, scope=Scope(user=user), clock=clock, embedder=None, llm=None) as memory:
        for bundle in split_batches(settled(size, clock.now()), AT_ONCE):
            mine = [replace(m, id=f"{m.id}{user[0]}") for m in bundle]
            events = [Event("imported", clock.now(), {"memory": to_record(m)}, m.id) for m in mine]
            memory.runtime.ledger.write(memory.scope.owner, lambda events=events: events)  # type: ignore[misc]


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
            name = erasing.OWNER_STEPS[done - 1].__name__.removeprefix("_erase_")
            taken.append((name, time.time() - last))
            last = time.time()

        receipt = memory.erase(plan, note)
        taken.append(("search", time.time() - last))
        assert receipt.clean
    return taken, begin, time.time()


def measure(work: Path, memories: int, store: int) -> dict[str, Any]:
    folder = work / "data"
    fill(folder, REST, store - memories)
    fill(folder, GONE, memories)
    size = (folder / "nagori.db").stat().st_size
    command = [sys.executable, "-m", "bench.erase", "--write", str(folder)]
    writers = [
        subprocess.Popen([*command, f"user{n}"], stdout=subprocess.PIPE, text=True) for n in range(WRITERS)
    ]
    time.sleep(BEFORE)
    steps, begin, end = erase(folder)
    (work / "stop").touch()
    waits = [each for writer in writers for each in json.loads(writer.communicate()[0])]
    before = sorted(took for at, took in waits if at < begin)
    during = sorted(took for at, took in waits if begin <= at < end)
    return {
        "bytes": size,
        "steps": steps,
        "seconds": end - begin,
        "before": describe(before),
        "during": describe(during),
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
    print(f"store {figures['bytes'] / 1e6:.0f} MB, erased in {figures['seconds']:.1f} s\n")
    print(table(["step", "seconds"], [[name, f"{took:.2f}"] for name, took in figures["steps"]], ["step"]))
    rows = [
        [name, f"{each['writes']:.0f}", *(f"{1000 * each[key]:.0f}" for key in ("p50", "p99", "longest"))]
        for name, each in (("before", figures["before"]), ("while erasing", figures["during"]))
    ]
    print()
    print(table(["others' writes", "n", "p50 ms", "p99 ms", "longest ms"], rows, ["others' writes"]))
    if given.json:
        write_json(given.json, {**about, **figures})


if __name__ == "__main__":
    main()
