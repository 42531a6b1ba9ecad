"""Workers of a database: any number, each owner by one at a time, nothing twice and nothing left behind."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.postgres import Server

from nagori import Nagori, Scope
from nagori.core.events import CYCLE
from nagori.edges.worker import postgres_worker
from nagori.journals.postgres import PostgresJournal
from nagori.services import process_turns
from nagori.testing import FrozenClock, WordEmbedder

WORKER = """
import sys
from nagori import Nagori
from nagori.edges.worker.postgres_worker import run
from nagori.testing import WordEmbedder
def observe(name, **fields):
    if name.startswith("memory."):
        print(name, flush=True)
with Nagori.open(sys.argv[1], embedder=WordEmbedder(), observe=observe) as memory:
    run(memory, memory.runtime.journal, lambda: False, once=sys.argv[2] == "once", lease_seconds=1.0)
"""
USERS = [f"user {number}" for number in range(6)]


@pytest.fixture
def memory(postgres: Server, tmp_path: Path, clock: FrozenClock) -> Iterator[Nagori]:
    address = postgres.url(folder=str(tmp_path / "node"))
    with Nagori.open(address, clock=clock, embedder=WordEmbedder()) as opened:
        yield opened


def journal_of(memory: Nagori) -> PostgresJournal:
    journal = memory.runtime.journal
    assert isinstance(journal, PostgresJournal)
    return journal


def never() -> bool:
    return False


def work(memory: Nagori, **more: float) -> postgres_worker.WorkCount:
    return postgres_worker.run(memory, journal_of(memory), never, once=True, **more)  # type: ignore[arg-type]


def say(memory: Nagori, each: int = 3) -> None:
    for user in USERS:
        there = memory.with_scope(Scope(user=user))
        for number in range(each):
            there.turn(
                f"My locker number {number} at the station is blue, says {user}.", session=f"s{number}"
            )


def contents(memory: Nagori) -> Counter[str]:
    found: Counter[str] = Counter()
    for user in USERS:
        there = memory.with_scope(Scope(user=user))
        found.update(each.text.content for each in there.list(limit=1000))
    return found


def test_a_turn_waits_for_a_worker_from_its_commit_on(memory: Nagori, postgres: Server) -> None:
    say(memory, 1)
    assert len(journal_of(memory).requested_work()) == len(USERS)
    count = work(memory)
    assert (count.owners, count.turns, count.failures) == (6, 6, 0)
    assert journal_of(memory).requested_work() == []
    assert work(memory) == postgres_worker.WorkCount()
    assert set(contents(memory).values()) == {1}


def test_who_only_remembers_gets_a_cycle_too(memory: Nagori, postgres: Server, clock: FrozenClock) -> None:
    owner = memory.scope.owner
    memory.remember("The kettle is green.")
    work(memory)
    first = memory.runtime.store.state(owner, CYCLE)
    assert first is not None
    [(seconds,)] = postgres.ask("SELECT extract(epoch FROM due - now())::float FROM work")
    assert seconds == pytest.approx(24 * 3600, abs=600)
    assert work(memory).owners == 0
    clock.forward(hours=25)
    postgres.ask("UPDATE work SET due = now()")
    assert work(memory).owners == 1
    assert memory.runtime.store.state(owner, CYCLE) > first


def test_two_workers_share_the_owners(memory: Nagori, postgres: Server, tmp_path: Path) -> None:
    say(memory)
    assert not contents(memory)
    address = postgres.url(folder=str(tmp_path / "other"))
    with Nagori.open(address, embedder=WordEmbedder()) as other, ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(work, [memory, other]))
    assert sum(count.turns for count in counts) == 18
    assert sum(count.owners for count in counts) == len(USERS)
    assert len(contents(memory)) == 18
    assert set(contents(memory).values()) == {1}


def test_a_claim_excludes_others_until_its_lease_ends_and_is_fenced(memory: Nagori) -> None:
    say(memory, 1)
    journal = journal_of(memory)
    held = [journal.claim_next("slow", 60.0) for _ in USERS]
    assert len({claim.owner for claim in held if claim}) == len(USERS)
    assert journal.claim_next("quick", 60.0) is None
    first = held[0]
    assert first is not None
    assert journal.renew_claim(first, 0.0)  # it ends now
    second = journal.claim_next("quick", 60.0)
    assert second is not None
    assert second.owner == first.owner
    assert second.fence > first.fence
    assert not journal.renew_claim(first, 60.0)
    assert not journal.finish_claim(first, done=True, again=3600.0)
    assert first.owner in journal.requested_work()
    assert journal.finish_claim(second, done=True, again=3600.0)
    assert first.owner not in journal.requested_work()


def test_a_request_during_the_work_is_worked_on_after_it(memory: Nagori) -> None:
    memory.turn("My locker is blue.", session="s")
    journal = journal_of(memory)
    claim = journal.claim_next("slow", 60.0)
    assert claim is not None
    memory.turn("My bicycle is red.", session="s")
    assert journal.finish_claim(claim, done=True, again=3600.0)
    assert journal.requested_work() == [memory.scope.owner]
    assert work(memory).turns == 2


def test_an_owner_whose_work_fails_does_not_stop_the_others(
    memory: Nagori, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(memory, 1)
    real = process_turns.process

    def process(runtime: object, owner: tuple[str, str], until: float) -> int:
        if owner[1] == USERS[2]:
            raise ValueError("this one is ill")
        return real(runtime, owner, until)  # type: ignore[arg-type]

    monkeypatch.setattr(postgres_worker, "process", process)
    count = work(memory)
    assert (count.owners, count.failures) == (5, 1)
    assert journal_of(memory).requested_work() == [("local", USERS[2])]
    assert work(memory) == postgres_worker.WorkCount()  # not again at once


def test_killed_workers_leave_nothing_undone_and_do_nothing_twice(
    memory: Nagori, postgres: Server, tmp_path: Path
) -> None:
    say(memory, 8)
    for round in range(3):
        command = [
            sys.executable,
            "-c",
            WORKER,
            postgres.url(folder=str(tmp_path / f"victim-{round}")),
            "loop",
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as victim:
            assert victim.stdout is not None
            for _ in range(3 + 4 * round):
                assert victim.stdout.readline()
            victim.kill()
    deadline = time.monotonic() + 60
    while journal_of(memory).requested_work():
        assert time.monotonic() < deadline
        work(memory)
        time.sleep(0.2)
    assert len(contents(memory)) == 48
    assert set(contents(memory).values()) == {1}
    for user in USERS:
        assert memory.with_scope(Scope(user=user)).process() == 0
    assert memory.verify().sound


def test_the_command_works_for_everybody(memory: Nagori, postgres: Server, tmp_path: Path) -> None:
    say(memory, 1)
    environment = os.environ | {
        "NAGORI_DATABASE": postgres.url(),
        "NAGORI_EMBEDDING__PROVIDER": "none",
        "NAGORI_DATA_DIR": str(tmp_path / "data"),
    }
    command = [sys.executable, "-m", "nagori", "worker", "--once", "--json"]
    said = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True)
    assert json.loads(said.stdout) == {"owners": 6, "turns": 6, "failures": 0}
    assert journal_of(memory).requested_work() == []
    memory.turn("My bicycle is red.", session="s")
    command = [sys.executable, "-m", "nagori", "process", "--json"]
    said = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True)
    assert json.loads(said.stdout)["turns"] == 1
    command = [sys.executable, "-m", "nagori", "cycle", "--all", "--json"]
    said = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True)
    assert len(json.loads(said.stdout)["owners"]) == 7


def test_a_worker_of_its_own_needs_a_database(tmp_path: Path) -> None:
    environment = os.environ | {"NAGORI_DATA_DIR": str(tmp_path / "data")}
    command = [sys.executable, "-m", "nagori", "worker", "--once"]
    said = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert (said.returncode, "NAGORI_DATABASE" in said.stderr) == (2, True)
