"""Long work is done by one process at a time, and by the next one at once when that one was killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import nagori
from nagori import Nagori
from nagori.errors import Conflict
from nagori.leases import lease
from nagori.testing import FrozenClock, WordEmbedder

HOLDER = """
import sys, time
from nagori import Nagori
from nagori.leases import lease
with Nagori.open(sys.argv[1], embedder=None) as memory:
    with lease(memory.runtime, ("local", "me"), "cycle"):
        print("held", flush=True)
        time.sleep(60)
"""
CYCLE = """
import sys, time
from nagori import Nagori
from nagori.errors import Conflict
from nagori.testing import FrozenClock, WordEmbedder
from datetime import datetime, UTC
clock = FrozenClock(datetime(2026, 9, 1, tzinfo=UTC))
with Nagori.open(sys.argv[1], clock=clock, embedder=WordEmbedder()) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        print("done", memory.cycle().done)
    except Conflict as busy:
        print("conflict", busy)
"""
ENV = {**os.environ, "PYTHONPATH": str(Path(nagori.__file__).parents[1])}


def start(script: str, folder: Path) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(folder)], stdin=pipe, stdout=pipe, text=True, env=ENV
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_a_cycle_runs_at_once_after_its_holder_was_killed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Nagori.open(folder, embedder=None) as memory:
        memory.remember("The port of staging is 8443.")
        holder = start(HOLDER, folder)
        with pytest.raises(Conflict, match="Another cycle is running"):
            memory.cycle()
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
        assert memory.cycle() is not None
        memory.rebuild()
        assert memory.cycle() is not None


def test_a_lease_of_another_machine_is_respected_until_its_end(tmp_path: Path) -> None:
    import time

    with Nagori.open(tmp_path / "data", embedder=None) as memory:
        memory.remember("The port of staging is 8443.")
        owner, now = ("local", "me"), time.time()
        memory.runtime.store.lease(owner, "cycle", "elsewhere:1:abcd:ef", now, now + 900)
        with pytest.raises(Conflict):
            memory.cycle()
        memory.rebuild()  # it outlives a rebuild
        with pytest.raises(Conflict):
            memory.cycle()
        memory.runtime.store.lease(owner, "cycle", "elsewhere:1:abcd:ef", now, 0)
        memory.cycle()


@pytest.mark.parametrize(
    "holder", ["", ":", "::::", "x" * 5000, "ü:1:2:3", "localhost:99999999999999999999:a:b"]
)
def test_a_strange_holder_is_somebody_else(tmp_path: Path, holder: str) -> None:
    import socket
    import time

    with Nagori.open(tmp_path / "data", embedder=None) as memory:
        memory.remember("The port of staging is 8443.")
        now = time.time()
        strange = holder.replace("localhost", socket.gethostname())
        memory.runtime.store.lease(("local", "me"), "cycle", strange, now, now + 900)
        with pytest.raises(Conflict):
            memory.cycle()


def test_two_processes_that_run_a_cycle_at_once_do_nothing_twice(tmp_path: Path, clock: FrozenClock) -> None:
    folder = tmp_path / "data"
    with Nagori.open(folder, clock=clock, embedder=WordEmbedder()) as memory:
        for n in range(300):
            memory.remember(
                f"Number {n} of many things that were said about the harbour and its ferry {n * 7}."
            )
        memory.recall("harbour", 20)
    for _ in range(3):
        first, second = start(CYCLE, folder), start(CYCLE, folder)
        for process in (first, second):
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        said = sorted(process.communicate(timeout=60)[0].split()[0] for process in (first, second))
        assert said in (["conflict", "done"], ["done", "done"])  # one after the other is as good
    clock.set(__import__("datetime").datetime(2026, 9, 1, tzinfo=clock.now().tzinfo))
    with Nagori.open(folder, clock=clock, embedder=WordEmbedder()) as memory:
        types: dict[tuple[str, str | None], int] = {}
        for event in memory.runtime.journal.read(("local", "me")):
            if event.type in ("reinforced", "compressed", "archived"):
                key = (f"{event.type} {event.data.get('level')}", event.memory)
                types[key] = types.get(key, 0) + 1
        assert types
        assert set(types.values()) == {1}
        assert memory.verify().sound


def test_who_holds_a_lease_and_loses_it_is_told(tmp_path: Path) -> None:
    import time

    with Nagori.open(tmp_path / "data", embedder=None) as memory:
        memory.remember("The port of staging is 8443.")
        with lease(memory.runtime, ("local", "me"), "cycle") as renew:
            renew()
            [holder] = memory.runtime.store._pool and [  # type: ignore[attr-defined]
                row[0] for row in _rows(memory, "SELECT holder FROM lease WHERE work = 'cycle'")
            ]
            now = time.time()
            memory.runtime.store.lease(("local", "me"), "cycle", holder, now, 0)
            memory.runtime.store.lease(("local", "me"), "cycle", "elsewhere:1:2:3", now, now + 100)
            with pytest.raises(Conflict):
                renew()


def _rows(memory: Nagori, sql: str) -> list[tuple[str]]:
    with memory.runtime.store.reading() as db:  # type: ignore[attr-defined]
        return db.execute(sql).fetchall()
