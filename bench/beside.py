"""Rebuilding beside others: writers and readers of many users while the store is made anew again and again.

    python -m bench.beside --minutes 5 [--writers 4 --readers 4 --folder …]

Every writer and reader is a process with two threads. Counted are calls that stood still for more than a
second, memories that were applied twice, answers with somebody else's words, and errors of any kind.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nagori import Filter, Nagori, Scope
from nagori.core.value_object import Value, default_factory

STALL = 1.0  # seconds
THREADS = 2
USERS = 4


class Figures(Value, frozen=False):
    """What was counted."""

    calls: int = 0
    rebuilds: int = 0
    stalls: int = 0
    longest: float = 0.0
    doubled: int = 0
    lost: int = 0
    foreign: int = 0
    errors: list[str] = default_factory(list)
    sound: bool = True

    @property
    def well(self) -> bool:
        return self.sound and not (self.doubled or self.lost or self.foreign or self.errors)


class Counting:
    """Calls of one process, counted over its threads."""

    def __init__(self) -> None:
        self.calls, self.stalls, self.longest, self.foreign = 0, 0, 0.0, 0
        self.errors: list[str] = []
        self.kept: list[str] = []
        self._lock = threading.Lock()

    def call(self, name: str, work: Callable[[], Any]) -> Any:
        begin, answer = time.monotonic(), None
        try:
            answer = work()
        except Exception as trouble:  # every kind of failure is what is looked for
            with self._lock:
                self.errors.append(f"{name}: {type(trouble).__name__}: {trouble}"[:300])
        took = time.monotonic() - begin
        with self._lock:
            self.calls += 1
            self.stalls += took > STALL
            self.longest = max(self.longest, took)
        return answer

    def told(self) -> str:
        names = ("calls", "stalls", "longest", "foreign", "errors", "kept")
        return json.dumps({name: getattr(self, name) for name in names})


def run(minutes: float, writers: int = 4, readers: int = 4, folder: Path | None = None) -> Figures:
    """Writers and readers beside one process that rebuilds; what was counted."""
    with tempfile.TemporaryDirectory(dir=folder) as work:
        home, seconds = Path(work) / "data", minutes * 60
        with Nagori.open(home, embedder=None) as memory:
            for user in range(USERS):
                memory.with_scope(Scope(user=f"user{user}")).remember(
                    f"The word of user{user} is sesame{user}."
                )
        kinds = ["write"] * writers + ["read"] * readers + ["rebuild"]
        workers = [_start(home, kind, number, seconds) for number, kind in enumerate(kinds)]
        return _sum_up(home, [(kind, *_finish(worker)) for kind, worker in zip(kinds, workers, strict=True)])


def _start(home: Path, kind: str, number: int, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bench.beside", "--as", kind, "--number", str(number)]
    command += ["--seconds", str(seconds), "--folder", str(home)]
    root = Path(__file__).parents[1]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def _finish(worker: subprocess.Popen[str]) -> tuple[dict[str, Any], str]:
    said, complaint = worker.communicate()
    try:
        return json.loads(said), ""
    except ValueError:
        return {}, complaint[-500:] or "said nothing"


def _sum_up(home: Path, told: list[tuple[str, dict[str, Any], str]]) -> Figures:
    figures, kept = Figures(), Counter[str]()
    for kind, counted, complaint in told:
        if complaint:
            figures.errors.append(f"{kind}: {complaint}")
            continue
        figures.calls += counted["calls"]
        figures.stalls += counted["stalls"] if kind != "rebuild" else 0  # a rebuild may last
        figures.longest = max(figures.longest, counted["longest"] if kind != "rebuild" else 0)
        figures.rebuilds += counted["calls"] if kind == "rebuild" else 0
        figures.foreign += counted["foreign"]
        figures.errors += counted["errors"]
        kept.update(counted["kept"])
    with Nagori.open(home, embedder=None) as memory:
        known: dict[str, int] = {}
        for user in range(USERS):
            mine = memory.with_scope(Scope(user=f"user{user}"))
            for one in mine.list(Filter(archived=True, forgotten=True), limit=10**6):
                known[one.text.content] = one.mentions
        figures.doubled = sum(known.get(words, 0) > times for words, times in kept.items())
        figures.lost = sum(known.get(words, 0) < times for words, times in kept.items())
        figures.sound = memory.verify().sound
    return figures


# --- one process ----------------------------------------------------------------------------------


def act(home: Path, kind: str, number: int, seconds: float) -> None:
    """Write, read or rebuild for so long, and tell what was counted."""
    counting, end = Counting(), time.monotonic() + seconds
    with Nagori.open(home, embedder=None) as memory:
        work = {"write": _write, "read": _read, "rebuild": _rebuild}[kind]
        count = 1 if kind == "rebuild" else THREADS
        threads = [
            threading.Thread(target=work, args=(memory, counting, end, f"{number}.{n}")) for n in range(count)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    sys.stdout.write(counting.told())


def _write(memory: Nagori, counting: Counting, end: float, name: str) -> None:
    n = 0
    while time.monotonic() < end:
        user = n % USERS
        mine = memory.with_scope(Scope(user=f"user{user}"))
        words = f"Note {n} of writer {name} about sesame{user}."
        kept = counting.call("remember", lambda mine=mine, words=words: mine.remember(words))  # type: ignore[misc]
        if kept is not None:
            counting.kept.append(words)
        if kept is not None and n % 6 == 0:
            counting.call("forget", lambda mine=mine, kept=kept: mine.forget(kept.id))  # type: ignore[misc]
        n += 1
        time.sleep(0.02)


def _read(memory: Nagori, counting: Counting, end: float, name: str) -> None:
    n = 0
    while time.monotonic() < end:
        user = n % USERS
        mine = memory.with_scope(Scope(user=f"user{user}"))
        marks = n % 4 == 0
        found = (
            counting.call("recall", lambda mine=mine, marks=marks: mine.recall("sesame", 10, mark=marks))  # type: ignore[misc]
            or []
        )
        listed = counting.call("list", lambda mine=mine: mine.list(limit=20)) or []  # type: ignore[misc]
        words = [r.memory.text.content for r in found] + [one.text.content for one in listed]
        counting.foreign += sum(f"sesame{user}" not in each for each in words)
        n += 1
        time.sleep(0.01)


def _rebuild(memory: Nagori, counting: Counting, end: float, name: str) -> None:
    while time.monotonic() < end:
        counting.call("rebuild", memory.rebuild)
        time.sleep(0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--as", dest="kind")
    parser.add_argument("--number", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0)
    said = parser.parse_args()
    if said.kind:
        act(said.folder, said.kind, said.number, said.seconds)
        return
    figures = run(said.minutes, said.writers, said.readers, said.folder)
    print(
        f"{said.writers} writers, {said.readers} readers, {said.minutes:g} minutes,"
        f" {figures.rebuilds} rebuilds"
    )
    print(f"  calls                 {figures.calls:>9,}")
    print(f"  stalls over {STALL:g} s       {figures.stalls:>9,}   (longest {figures.longest:.2f} s)")
    print(f"  applied twice         {figures.doubled:>9,}")
    print(f"  lost                  {figures.lost:>9,}")
    print(f"  foreign answers       {figures.foreign:>9,}")
    print(f"  errors                {len(figures.errors):>9,}")
    for error, times in Counter(figures.errors).most_common(10):
        print(f"    {times} × {error}")
    print(f"  journal and store     {'agree' if figures.sound else 'DISAGREE':>9}")
    raise SystemExit(0 if figures.well else 1)


if __name__ == "__main__":
    main()
