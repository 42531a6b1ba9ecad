"""A7 and A8: children that were forked in the middle of things wedge nobody, and threads leak nothing."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nagori import Nagori
from nagori.edges.worker.spawn import is_working
from nagori.stores.sqlite import MOST_CONNECTIONS, MOST_IDLE

HOLDER = """
import os, sys, threading, time
from nagori import Nagori
folder = sys.argv[1]
memory = Nagori.open(folder, embedder=None)
memory.remember("Before the fork.")
owner = ("local", "me")
inside = threading.Event()
def hold():
    with memory.runtime.journal.locked(owner):
        inside.set()
        time.sleep(0.5)
thread = threading.Thread(target=hold)
thread.start()
inside.wait()
children = []
for _ in range(10):
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    children.append(child)
thread.join()
print(" ".join(map(str, children)), flush=True)
for n in range(20):
    memory.remember(f"Beside idle children {n}.")
print(sum(os.waitpid(child, os.WNOHANG) == (0, 0) for child in children), flush=True)
"""


@contextmanager
def idle_children(folder: Path) -> Iterator[tuple[list[int], int]]:
    """Children that sleep for a minute, and how many of them slept still when their parent had written."""
    env = {**os.environ, "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE, text=True, env=env
    )
    assert process.stdout is not None
    children = [int(pid) for pid in process.stdout.readline().split()]
    try:
        yield children, int(process.stdout.readline())
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        process.wait(10)
        process.stdout.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_idle_children_forked_while_a_thread_held_the_lock_wedge_no_writer(tmp_path: Path) -> None:
    with idle_children(tmp_path / "data") as (children, asleep):
        assert asleep == len(children) == 10
        with Nagori.open(tmp_path / "data", embedder=None) as memory:
            memory.remember("From another process.")
        for pid in children:
            os.kill(pid, 0)  # they are asleep still: nobody waited for them


WORKER = """
import os, sys, time
from pathlib import Path
from nagori.files import release_lock, take_lock
lock = take_lock(Path(sys.argv[1]) / "worker.lock")
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
release_lock(lock)
print(child, flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_an_idle_child_of_a_worker_that_is_done_keeps_no_other_worker_away(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    done = subprocess.Popen([sys.executable, "-c", WORKER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert done.stdout is not None
    child = int(done.stdout.readline())
    try:
        assert not is_working(folder)
    finally:
        os.kill(child, signal.SIGKILL)
        done.wait(10)
        done.stdout.close()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="nobody counts descriptors here")


@needs_proc
def test_600_threads_one_after_another_leak_no_descriptor(tmp_path: Path) -> None:
    with Nagori.open(tmp_path / "data", embedder=None) as memory:
        memory.remember("The port of staging is 8443.")
        memory.recall("port")
        before, found = descriptors(), []
        for _ in range(600):
            thread = threading.Thread(target=lambda: found.append(len(memory.list())))
            thread.start()
            thread.join()
        assert found == [1] * 600
        assert descriptors() <= before + 4


@needs_proc
def test_100_threads_at_once_are_all_answered_and_leave_few_descriptors(tmp_path: Path) -> None:
    with Nagori.open(tmp_path / "data", embedder=None) as memory:
        memory.remember("The port of staging is 8443.")
        before = descriptors()
        for _ in range(3):
            use_at_once(memory)
            # SQLite keeps the descriptors of closed connections for the next ones, while others are open.
            assert descriptors() <= before + MOST_CONNECTIONS + 2 * MOST_IDLE + 4
    assert descriptors() <= before + 4


def use_at_once(memory: Nagori) -> None:
    found, faults, start = [], list[BaseException](), threading.Barrier(100)

    def use(n: int) -> None:
        try:
            start.wait()
            found.append(len(memory.recall("port", mark=False)))
            if n % 10 == 0:
                memory.remember(f"By thread {n}.")
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=use, args=(n,)) for n in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert faults == []
    assert len(found) == 100
    assert len(memory.list()) == 11


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_that_was_forked_inside_a_transaction_goes_on_by_itself(tmp_path: Path) -> None:
    script = """
import os, sys
from nagori import Nagori
memory = Nagori.open(sys.argv[1], embedder=None)
memory.remember("Before the fork.")
with memory.runtime.store.reading() as db:
    child = os.fork()
    if child == 0:
        memory2 = Nagori.open(sys.argv[1], embedder=None)
        memory2.remember("From the child's own.")
        memory.remember("From the child's copy.")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
memory.remember("From the parent.")
assert len(memory.list()) == 4, memory.list()
assert memory.verify().sound
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, str(tmp_path / "data")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
