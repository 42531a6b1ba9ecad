"""T2: a process is killed inside a cycle, an erasure, a backup, a rebuild or a migration, and the next one
finishes it.

    python -m tests.reliability.t02_kills_inside [--kills 2000] [--seed 0]

Every write, sync, truncation, rename, removal and creation of a file is a place to be killed (`disk.c`): the
process gets SIGKILL just before it. Afterwards somebody opens the folder and does what a user would do. Then
it must export the same bytes as a folder in which nobody was killed, and be sound.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.reliability.harness import EVERYTHING, History, Outcome, disk, opened, run_on_disk, scratch

from nagori import Nagori, Scope, Source
from nagori.errors import InvalidInput, MemoryErased
from nagori.testing import FrozenClock

KILLED = 5
USERS = ("anna", "ben")
OLD = Path(__file__).parents[1] / "oracle" / "v1" / "data"
SAVED = "saved.tar"


def later() -> FrozenClock:
    clock = FrozenClock()
    clock.forward(days=60)
    return clock


def open_user(folder: Path, user: str = USERS[0]) -> Nagori:
    return opened(folder, later(), scope=Scope(user=user))


def build(folder: Path) -> None:
    """Two users, some sessions, memories old enough to be compressed."""
    clock = FrozenClock()
    for user in USERS:
        with opened(folder, clock, scope=Scope(user=user)) as memory:
            for n in range(8):
                session = f"{user} {n % 2}"
                memory.remember(
                    f"Fact {n} of {user}: the kettle number {n} stands in the kitchen beside the window, "
                    "and it whistles when the water has boiled for a minute.",
                    source=Source(session),
                )
                memory.turn(f"Turn {n}: the ferry of {user} leaves at nine.", session=session)
                clock.forward(hours=7)
            memory.process()


def build_old(folder: Path) -> None:
    """The folder of an older version, whose store has to be migrated."""
    shutil.copytree(OLD, folder)


def cycle(folder: Path) -> None:
    with open_user(folder) as memory:
        memory.cycle()


def erase_session(folder: Path) -> None:
    with open_user(folder) as memory:
        memory.resume_erasures()
        with suppress(InvalidInput):  # nothing is left of it
            memory.erase(memory.plan_erasure(session="anna 0"))


def erase_user(folder: Path) -> None:
    with open_user(folder) as memory:
        memory.resume_erasures()
        with suppress(InvalidInput, MemoryErased):
            memory.erase(memory.plan_erasure(everything=True))


def back_up(folder: Path) -> None:
    with open_user(folder) as memory, suppress(InvalidInput):  # it is there: then it must be whole
        memory.backup(folder.parent / SAVED)


def rebuild(folder: Path) -> None:
    with open_user(folder) as memory:
        memory.rebuild()


def open_and_read(folder: Path) -> None:
    with opened(folder, later()) as memory:
        memory.list(EVERYTHING)


class Act(NamedTuple):
    run: Callable[[Path], None]
    build: Callable[[Path], None]
    users: tuple[str, ...]


ACTS = {
    "cycle": Act(cycle, build, USERS),
    "erase a session": Act(erase_session, build, USERS),
    "erase a user": Act(erase_user, build, USERS[1:]),
    "back up": Act(back_up, build, USERS),
    "rebuild": Act(rebuild, build, USERS),
    "migrate": Act(open_and_read, build_old, ("me",)),
}


def describe(folder: Path, users: tuple[str, ...]) -> list[str]:
    """Everything that a folder tells, and what is wrong with it."""
    said = []
    for user in users:
        with open_user(folder, user) as memory:
            said += list(memory.export())
            said += [] if memory.verify().sound else ["not sound"]
    saved = folder.parent / SAVED
    if saved.exists():
        copy = folder.parent / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        Nagori.restore(saved, copy, later().now())
        with open_user(copy) as memory:
            said += list(memory.export())
    return said


def fork(work: Callable[[], None]) -> int:
    """Run in a child; the signal that ended it, or 0."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as fault:
            print(f"in the child: {type(fault).__name__}: {fault}", file=sys.stderr, flush=True)
            os._exit(1)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status)


class Place:
    """A folder in which an act is run, with a copy of what was there before."""

    def __init__(self, folder: Path, act: Act) -> None:
        self.folder, self.act, self.original = folder, act, folder / "original" / "data"
        act.build(self.original)

    def fresh(self) -> Path:
        shutil.rmtree(self.folder / "now", ignore_errors=True)
        data = self.folder / "now" / "data"
        shutil.copytree(self.original, data)
        return data

    def count(self) -> int:
        """Operations of one run. Counted in a child, as later."""
        data, told = self.fresh(), self.folder / "count"

        def work() -> None:
            library = disk()
            library.disk_arm(0, 0, 0)
            self.act.run(data)
            counted = library.disk_count()
            told.write_text(str(counted))

        assert fork(work) == 0
        return int(told.read_text())

    def expected(self) -> list[str]:
        data = self.fresh()
        for _ in range(2):
            assert fork(lambda: self.act.run(data)) == 0
        return describe(data, self.act.users)

    def kill_at(self, n: int) -> tuple[bool, list[str]]:
        """Whether it was killed, and what is told afterwards."""
        data = self.fresh()

        def work() -> None:
            disk().disk_arm(n, KILLED, 0)
            self.act.run(data)

        killed = fork(work) == signal.SIGKILL
        if fork(lambda: self.act.run(data)) != 0:
            return killed, ["the next one could not finish it"]
        return killed, describe(data, self.act.users)


def inside(folder: Path, kills: int, seed: int) -> None:
    dice, history = Random(seed), History("t02", seed)
    done, violations, sites = 0, list[str](), dict[str, int]()
    for name, act in ACTS.items():
        place = Place(folder / name.replace(" ", "-"), act)
        most, expected = place.count(), place.expected()
        sites[name] = most
        each = max(1, kills // len(ACTS))
        points = [1 + round(n * (most - 1) / each) for n in range(each)] if each < most else []
        points = points or [*range(1, most + 1), *(dice.randint(1, most) for _ in range(each - most))]
        for n in points:
            killed, told = place.kill_at(n)
            done += killed
            wrong = told != expected
            history.add(f"{name} at {n}", "violation" if wrong else "ok", killed=killed)
            if wrong:
                different = sorted({*told} ^ {*expected})[:2]
                violations.append(f"{name}, killed at {n} of {most}: {str(different)[:300]}")
        shutil.rmtree(place.folder)
    print(json.dumps([done, sites, violations]))


def run(seed: int = 0, kills: int = 2_000) -> Outcome:
    with scratch() as work:
        said = run_on_disk(
            work, "tests.reliability.t02_kills_inside", "--seed", str(seed), "--kills", str(kills)
        )
    done, sites, violations = json.loads(said.splitlines()[-1])
    return Outcome("T2", seed, {"kills": done, "places": sum(sites.values())} | sites, violations)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--inside", type=Path)
    parser.add_argument("--kills", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.inside:
        inside(asked.inside, asked.kills, asked.seed)
    else:
        outcome = run(asked.seed, asked.kills)
        print(outcome.line(), *outcome.violations[:20], sep="\n")
        raise SystemExit(bool(outcome.violations))
