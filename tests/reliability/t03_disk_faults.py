"""T3: the n-th operation on the disk fails, for every n, until a run ends without a fault.

    python -m tests.reliability.t03_disk_faults [--step 1] [--seed 0]

Operations are writes, syncs, truncations, renames and creations of files, of the journal and of SQLite alike
(`disk.c`). Each fails once, or from then on: ENOSPC, EIO, a write cut in half, a failing sync. Afterwards the
disk works again. What was acknowledged must be there once, what was refused with an error may be there or
not, and nothing but our own errors may come out.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from random import Random

from tests.reliability.harness import History, Outcome, contents, disk, opened, run_on_disk, scratch

from nagori.errors import NagoriError
from nagori.testing import FrozenClock

KINDS = {"ENOSPC": 1, "EIO": 2, "short write": 3, "sync": 4}
FACTS = 4
MOST = 5_000  # operations of one run; it has some hundred


def live(folder: Path, acknowledged: list[str], foreign: list[str]) -> None:
    """Some facts, a turn, a recall and a night, each of which may be refused."""
    clock = FrozenClock()

    def attempt(what: str, verb: object) -> bool:
        try:
            verb()  # type: ignore[operator]
        except NagoriError:
            return False
        except Exception as fault:
            foreign.append(f"{what}: {type(fault).__name__}: {fault}")
            return False
        return True

    try:
        memory = opened(folder, clock)
    except NagoriError:
        return
    try:
        for n in range(FACTS):
            fact = f"Fact {n} is about the kettle number {n}."
            if attempt("remember", lambda fact=fact: memory.remember(fact)):
                acknowledged.append(fact)
            clock.forward(hours=1)
        attempt("recall", lambda: memory.recall("kettle", mark=False))
        if attempt("turn", lambda: memory.turn("The ferry leaves at nine.", session="s")):
            acknowledged.append("turn")
        attempt("cycle", memory.cycle)
    finally:
        attempt("close", memory.close)


def check(folder: Path, acknowledged: list[str]) -> list[str]:
    """What is wrong after the disk works again."""
    wrong = []
    with opened(folder) as memory:
        if not memory.verify().sound:
            memory.rebuild()
            wrong += [] if memory.verify().sound else ["not sound after a rebuild"]
        found = contents(memory)
        turns = [e for e in memory.runtime.journal.read(memory.scope.owner) if e.type == "turn_recorded"]
    for fact in acknowledged:
        times = len(turns) if fact == "turn" else found.count(fact)
        wrong += [] if times == 1 else [f"{fact!r} is there {times} times"]
    return wrong


def inside(folder: Path, step: int, seed: int) -> None:
    """The loop, in the process whose disk fails."""
    library, history = disk(), History("t03", seed)
    first = Random(seed).randrange(1, step + 1)
    runs = faults = kept = 0
    violations: list[str] = []
    for name, kind in KINDS.items():
        for lasting in (0, 1):
            for n in range(first, MOST, step):
                place = folder / "data"
                shutil.rmtree(place, ignore_errors=True)
                acknowledged: list[str] = []
                foreign: list[str] = []
                library.disk_arm(n, kind, lasting)
                live(place, acknowledged, foreign)
                met = library.disk_count() >= n
                library.disk_arm(0, 0, 0)
                wrong = foreign + check(place, acknowledged)
                case = f"{name}, {'lasting' if lasting else 'once'}, n={n}"
                history.add(case, "ok" if not wrong else "violation", kept=len(acknowledged))
                violations += [f"{case}: {each}" for each in wrong]
                runs, faults, kept = runs + 1, faults + met, kept + len(acknowledged)
                if not met:
                    break
    print(json.dumps([runs, faults, kept, violations]))


def run(seed: int = 0, step: int = 1) -> Outcome:
    with scratch() as work:
        said = run_on_disk(
            work, "tests.reliability.t03_disk_faults", "--seed", str(seed), "--step", str(step)
        )
    runs, faults, kept, violations = json.loads(said.splitlines()[-1])
    return Outcome("T3", seed, {"runs": runs, "faults": faults, "acknowledged": kept}, violations)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--inside", type=Path)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.inside:
        inside(asked.inside, asked.step, asked.seed)
    else:
        outcome = run(asked.seed, asked.step)
        print(outcome.line(), *outcome.violations[:20], sep="\n")
        raise SystemExit(bool(outcome.violations))
