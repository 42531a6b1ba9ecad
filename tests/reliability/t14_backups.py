"""T14: backups while somebody writes, and backups with one changed bit.

    python -m tests.reliability.t14_backups [--backups 200] [--seed 0]

A process remembers numbered facts without a pause. Every backup is restored elsewhere: it must hold the facts
0 to k without a gap, k at least what was acknowledged before it began, and be sound. Then one random bit of
each backup is changed: it must be refused, or restore exactly what it held.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from random import Random

from tests.reliability.harness import ROOT, History, Outcome, contents, opened, scratch

from nagori import Nagori
from nagori.errors import NagoriError
from nagori.testing import FrozenClock

PAUSE = 0.1  # seconds between two facts, so that the later backups are not large ones


def write_on(folder: Path) -> None:
    with opened(folder) as memory:
        for number in count():
            memory.remember(f"Fact {number} is about the kettle.")
            print(number, flush=True)
            time.sleep(PAUSE)


class Writer:
    """A process that writes, and what it has acknowledged so far."""

    def __init__(self, folder: Path, log: Path) -> None:
        command = [sys.executable, "-m", "tests.reliability.t14_backups", "--inside", str(folder)]
        self.log = log
        with log.open("ab") as out:
            self.process = subprocess.Popen(command, stdout=out, cwd=ROOT)

    def acknowledged(self) -> int:
        return len(self.log.read_bytes().splitlines())

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def facts_of(folder: Path) -> list[int]:
    with opened(folder) as memory:
        found = sorted(int(text.split()[1]) for text in contents(memory))
        assert memory.verify().sound, "not sound"
    return found


def check(saved: Path, place: Path, least: int) -> list[str]:
    shutil.rmtree(place, ignore_errors=True)
    try:
        Nagori.restore(saved, place, FrozenClock().now())
        found = facts_of(place)
    except (NagoriError, AssertionError) as fault:
        return [f"{type(fault).__name__}: {fault}"]
    wrong = [] if found == list(range(len(found))) else [f"gaps or repetitions in {len(found)} facts"]
    return wrong + ([] if len(found) >= least else [f"{len(found)} facts of {least} acknowledged"])


def check_changed(saved: Path, place: Path, dice: Random) -> tuple[bool, list[str]]:
    """Change one bit; whether it was refused, and what is wrong."""
    shutil.rmtree(place, ignore_errors=True)
    Nagori.restore(saved, place, FrozenClock().now())
    before, content = facts_of(place), bytearray(saved.read_bytes())
    content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
    changed = saved.with_name("changed.tar")
    changed.write_bytes(content)
    shutil.rmtree(place)
    try:
        Nagori.restore(changed, place, FrozenClock().now())
        return False, [] if facts_of(place) == before else ["served something else"]
    except NagoriError:
        return True, []
    except Exception as fault:
        return True, [f"{type(fault).__name__}: {fault}"]


def run(seed: int = 0, backups: int = 200) -> Outcome:
    dice, history, violations = Random(seed), History("t14", seed), list[str]()
    refused, facts = 0, 0
    with scratch() as work:
        folder, log = work / "data", work / "log"
        writer = Writer(folder, log)
        try:
            while not writer.acknowledged():
                time.sleep(0.05)
            with opened(folder) as memory:
                for number in range(backups):
                    saved, least = work / f"{number}.tar", writer.acknowledged()
                    memory.backup(saved)
                    wrong = check(saved, work / "copy", least)
                    gone, more = check_changed(saved, work / "copy", dice) if not wrong else (False, [])
                    refused, facts = refused + gone, least
                    history.add(f"backup {number}", "violation" if wrong + more else "ok", least=least)
                    violations += [f"backup {number}: {each}" for each in (*wrong, *more)]
                    saved.unlink()
        finally:
            writer.stop()
    figures = {"backups": backups, "facts at the last": facts, "changed bits refused": refused}
    return Outcome("T14", seed, figures, violations)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--inside", type=Path)
    parser.add_argument("--backups", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.inside:
        write_on(asked.inside)
    else:
        outcome = run(asked.seed, asked.backups)
        print(outcome.line(), *outcome.violations[:20], sep="\n")
        raise SystemExit(bool(outcome.violations))
