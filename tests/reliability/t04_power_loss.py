"""T4: the power fails at a random moment, and what was not synced is lost, kept or torn.

    python -m tests.reliability.t04_power_loss [--images 5000] [--seed 0]

A life is lived once on a disk that records every write, truncation, sync, rename, creation and removal, with
marks where something was acknowledged (`disk.c`). Crash images are made from the record: at a random point,
everything that was synced is there; of later writes to a file each may be there, be missing, or be cut at a
sector; of later changes of names a random beginning is there. Every image is opened: what was acknowledged
before that point must be there once, and journal and store must be sound.

Folders themselves count as durable once they exist. Writes through the memory map of `-shm` are not
recorded: SQLite makes that file anew after a crash.
"""

from __future__ import annotations

import argparse
import shutil
import struct
from collections import Counter
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.reliability.harness import History, Outcome, contents, disk, opened, run_on_disk, scratch

from nagori.errors import NagoriError
from nagori.testing import FrozenClock

SECTOR = 512
NAMES = "CRLU"  # creation, rename, link, removal
TURN, FACT = 1_000_000, 0  # what a mark stands for: a turn or a fact, and its number


class Operation(NamedTuple):
    kind: str
    path: str
    offset: int
    data: bytes


def inside(folder: Path, facts: int) -> None:
    """The life that is recorded: facts, turns, edits, a night, a restart in the middle."""
    library, clock = disk(), FrozenClock()
    number = 0
    for half in range(2):
        with opened(folder / "data", clock) as memory:
            for _ in range(facts // 2):
                memory.remember(f"Fact {number} is about the kettle number {number}.")
                library.disk_mark(FACT + number)
                if number % 5 == 0:
                    memory.turn(f"Turn {number}: the ferry leaves at nine.", session="s")
                    library.disk_mark(TURN + number)
                clock.forward(minutes=7)
                number += 1
            if half == 0:
                memory.cycle()


def read_log(path: Path) -> list[Operation]:
    block, at, found = path.read_bytes(), 0, []
    while at < len(block):
        kind = chr(block[at])
        (length,) = struct.unpack_from("<q", block, at + 1)
        at += 9
        name = block[at : at + length].decode()
        at += length
        offset, size = struct.unpack_from("<qq", block, at)
        at += 16
        found.append(Operation(kind, name, offset, block[at : at + size]))
        at += size
    return found


class File:
    """The content of a file: what is durable, and what was written since the last sync."""

    def __init__(self) -> None:
        self.durable = bytearray()
        self.pending: list[Operation] = []

    def sync(self) -> None:
        for each in self.pending:
            apply(self.durable, each, each.data)
        self.pending = []

    def after_crash(self, dice: Random) -> bytes:
        """A file system keeps any of the pending writes, cut at any sector; a truncation holds or not."""
        content = bytearray(self.durable)
        for each in self.pending:
            fate = dice.random()
            if fate < 0.45:
                apply(content, each, each.data)
            elif fate < 0.65 and len(each.data) > SECTOR:
                apply(content, each, each.data[: SECTOR * dice.randrange(1, 1 + len(each.data) // SECTOR)])
        return bytes(content)


def apply(content: bytearray, operation: Operation, data: bytes) -> None:
    if operation.kind == "T":
        del content[operation.offset :]
        content.extend(bytes(operation.offset - len(content)))
        return
    content.extend(bytes(max(0, operation.offset - len(content))))
    content[operation.offset : operation.offset + len(data)] = data


class Disk:
    """Names and files as they are now, and the names as they are durably."""

    def __init__(self) -> None:
        self.names: dict[str, File] = {}
        self.durable: dict[str, File] = {}
        self.changes: list[Operation] = []  # of names, since the last sync of a folder
        self.marks: list[int] = []

    def run(self, operation: Operation) -> None:
        kind, path = operation.kind, operation.path.removesuffix(" (deleted)")
        if kind == "M":
            self.marks.append(operation.offset)
        elif kind in NAMES:
            rename(self.names, operation)
            self.changes.append(operation)
        elif kind == "S" and path not in self.names:  # a folder: a journaling file system keeps the order
            self.durable, self.changes = dict(self.names), []
        elif kind == "S":
            self.names[path].sync()
        elif operation.path == path:  # what is written to a removed file is of no consequence
            self.names.setdefault(path, File()).pending.append(operation)

    def after_crash(self, dice: Random) -> dict[str, bytes]:
        names = dict(self.durable)
        for each in self.changes[: dice.randrange(len(self.changes) + 1)]:
            rename(names, each, self.names)
        return {name: file.after_crash(dice) for name, file in names.items()}


def rename(names: dict[str, File], operation: Operation, known: dict[str, File] | None = None) -> None:
    """Change names. A file that is created is the one that is known by this name."""
    path, target = operation.path, operation.data.decode()
    if operation.kind == "C":
        names[path] = (known or {}).get(path) or names.get(path) or File()
    elif operation.kind == "U":
        names.pop(path, None)
    elif path in names:
        names[target] = names[path]
        if operation.kind == "R":
            del names[path]


def check(folder: Path, marks: list[int]) -> list[str]:
    wrong = []
    with opened(folder) as memory:
        found = Counter(contents(memory))
        owner = memory.scope.owner
        turns = [e.data["text"] for e in memory.runtime.journal.read(owner) if e.type == "turn_recorded"]
        said = Counter(turns)
        if not memory.verify().sound:
            memory.rebuild()
            wrong += [] if memory.verify().sound else ["not sound after a rebuild"]
            found = Counter(contents(memory))
    for mark in marks:
        if mark >= TURN:
            times = said[f"Turn {mark - TURN}: the ferry leaves at nine."]
        else:
            times = found[f"Fact {mark} is about the kettle number {mark}."]
        wrong += [] if times == 1 else [f"mark {mark} is there {times} times"]
    return wrong


def run(seed: int = 0, images: int = 5_000, facts: int = 24, *, without_syncs: bool = False) -> Outcome:
    """`without_syncs`: as if nobody had synced the journal, which must be noticed."""
    dice, history = Random(seed), History("t04", seed)
    violations: list[str] = []
    acknowledged = 0
    with scratch() as work:
        log = work / "log"
        run_on_disk(work, "tests.reliability.t04_power_loss", "--facts", str(facts), log=log)
        operations = read_log(log)
        if without_syncs:
            operations = [each for each in operations if (each.kind, each.path[-6:]) != ("S", ".jsonl")]
        root = str(work / "disk")
        points = sorted(dice.randrange(len(operations) + 1) for _ in range(images))
        machine, at = Disk(), 0
        for number, point in enumerate(points):
            while at < point:
                machine.run(operations[at])
                at += 1
            image = work / "image"
            shutil.rmtree(image, ignore_errors=True)
            for name, content in machine.after_crash(dice).items():
                place = image / name.removeprefix(root).lstrip("/")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            try:
                wrong = check(image / "data", machine.marks)
            except NagoriError as fault:
                wrong = [f"{type(fault).__name__}: {fault}"]
            history.add(f"image {number} at {point}", "violation" if wrong else "ok", wrong=wrong)
            violations += [f"image {number} at {point} of {len(operations)}: {each}" for each in wrong]
            acknowledged += len(machine.marks)
    figures = {"operations": len(operations), "images": images, "acknowledged": acknowledged}
    return Outcome("T4", seed, figures, violations)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--inside", type=Path)
    parser.add_argument("--images", type=int, default=5_000)
    parser.add_argument("--facts", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.inside:
        inside(asked.inside, asked.facts)
    else:
        outcome = run(asked.seed, asked.images, asked.facts)
        print(outcome.line(), *outcome.violations[:20], sep="\n")
        raise SystemExit(bool(outcome.violations))
