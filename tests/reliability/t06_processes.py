"""T6: eight processes at once in one folder: five recall, two remember, one works and runs cycles.

    python -m tests.reliability.t06_processes [--seconds 600] [--seed 0]

Nobody may be refused because somebody else is at work, nothing may be there twice, and a fact that everybody
says is one memory. The times of contexts, which a prompt waits for, are told.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from tests.reliability.harness import ROOT, History, Outcome, contents, opened, scratch

from nagori import Nagori
from nagori.errors import Conflict, NagoriError
from nagori.testing import WordEmbedder

ROLES = {"recall": 5, "ingest": 2, "batch": 1}
COMMON = "Everybody says that the harbour freezes in January."
WORDS = ("kettle", "ferry", "locker", "pond", "ladder", "violin", "harbour")


def work(folder: Path, role: str, number: int, until: float) -> dict[str, Any]:
    """What one process did: acknowledged facts, errors, seconds of each call."""
    dice, kept, errors, seconds = Random(number), list[str](), list[str](), list[float]()
    with Nagori.open(folder, embedder=WordEmbedder(), llm=None) as memory:
        while time.time() < until:
            begin, text = time.perf_counter(), f"Fact {len(kept)} of process {number}: {dice.choice(WORDS)}."
            try:
                if role == "recall":
                    memory.context(f"What about the {dice.choice(WORDS)}?", session=f"s{number}")
                    seconds.append(time.perf_counter() - begin)
                elif role == "ingest":
                    memory.remember(COMMON)
                    memory.remember(text)
                    memory.turn(f"Turn {len(kept)} of process {number}.", session=f"s{number}")
                    kept.append(text)
                else:
                    memory.process()
                    memory.cycle()
            except Conflict as fault:  # a second cycle, which says so; nothing is refused that was asked once
                errors += [] if role == "batch" else [f"{role}: {fault}"]
            except NagoriError as fault:
                errors.append(f"{role}: {type(fault).__name__}: {fault}")
            time.sleep(dice.random() * 0.05)
    return {"kept": kept, "errors": errors, "seconds": seconds}


def run(seed: int = 0, seconds: float = 600.0) -> Outcome:
    history, violations = History("t06", seed), list[str]()
    with scratch() as place:
        folder, until = place / "data", time.time() + seconds + 3
        command = [sys.executable, "-m", "tests.reliability.t06_processes", "--inside", str(folder)]
        roles = [role for role, count in ROLES.items() for _ in range(count)]
        running = [
            subprocess.Popen(
                [*command, role, str(seed * 100 + number), str(until)],
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
            for number, role in enumerate(roles)
        ]
        told = [json.loads(process.communicate()[0].splitlines()[-1]) for process in running]
        with opened(folder) as memory:
            found = Counter(contents(memory))
            violations += [] if memory.verify().sound else ["not sound"]
    kept = [fact for each in told for fact in each["kept"]]
    violations += [error for each in told for error in each["errors"]]
    violations += [f"{fact!r} is there {found[fact]} times" for fact in kept if found[fact] != 1]
    violations += [f"what all say is there {found[COMMON]} times"] if found[COMMON] != 1 else []
    times = sorted(each for process in told for each in process["seconds"])
    p99 = times[int(0.99 * len(times))] if times else 0.0
    history.add("run", "violation" if violations else "ok", kept=len(kept), contexts=len(times))
    figures = {"processes": len(roles), "seconds": round(seconds), "facts": len(kept), "contexts": len(times)}
    return Outcome("T6", seed, figures | {"p99 ms of a context": round(1000 * p99)}, violations)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--inside", nargs=4)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.inside:
        place, what, which, when = asked.inside
        print(json.dumps(work(Path(place), what, int(which), float(when))))
    else:
        outcome = run(asked.seed, asked.seconds)
        print(outcome.line(), *outcome.violations[:20], sep="\n")
        raise SystemExit(bool(outcome.violations))
