"""T7: PostgreSQL and Valkey are killed (kill -9) again and again while somebody writes.

    python -m tests.reliability.t07_servers [--kills 300] [--seed 0]

PostgreSQL holds the journal: what was acknowledged must be there once after every kill. Valkey holds copies:
every call goes on without it, and nothing is lost. Both are started from wheels; a server that cannot run
here is told. `bench/nodes.py` kills nodes and workers, too.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from tests.postgres import Server
from tests.reliability.harness import History, Outcome, contents, opened, scratch
from tests.valkey import PASSWORD, start_server

from nagori import Nagori
from nagori.config import load
from nagori.errors import NagoriError
from nagori.testing import FrozenClock, WordEmbedder

VALKEY_PER_POSTGRES = 5 / 3  # kills: a cache starts faster


def write_on(memory: Nagori, kept: list[str], stop: threading.Event, foreign: list[str]) -> None:
    number = 0
    while not stop.is_set():
        number += 1
        text = f"Fact {number} is about the kettle number {number}."
        try:
            memory.remember(text)
            kept.append(text)
        except NagoriError:
            time.sleep(0.05)  # not acknowledged: the server is away
        except Exception as fault:
            foreign.append(f"{type(fault).__name__}: {fault}")
        time.sleep(0.01)


def restart(server: Server) -> None:
    """Start it again; while processes of the killed one are still ending, it refuses."""
    for attempt in range(60):
        try:
            server.start(fsync="on")
            return
        except RuntimeError:
            if attempt == 59:
                raise
            time.sleep(0.5)


def kill_postgres(work: Path, kills: int, dice: Random, history: History) -> tuple[int, list[str]]:
    server, kept, foreign, stop = Server(), list[str](), list[str](), threading.Event()
    try:
        with Nagori.open(server.url(folder=str(work / "node")), embedder=WordEmbedder()) as memory:
            writer = threading.Thread(target=write_on, args=(memory, kept, stop, foreign))
            writer.start()
            for number in range(kills):
                time.sleep(dice.uniform(0.05, 0.4))
                server.kill()
                restart(server)
                history.add(f"postgres {number}", "ok", kept=len(kept))
            stop.set()
            writer.join()
        with Nagori.open(server.url(folder=str(work / "empty")), embedder=WordEmbedder()) as memory:
            found = Counter(contents(memory))
    finally:
        stop.set()
        server.remove()
    return len(kept), foreign + [f"{fact!r}: {found[fact]} times" for fact in kept if found[fact] != 1]


def kill_valkey(work: Path, kills: int, history: History) -> tuple[int, list[str]]:
    server = start_server()
    if isinstance(server, str):
        return 0, [server]
    os.environ["VALKEY_PASSWORD"] = PASSWORD
    config = load(overrides={"threads.summaries": True, "sessions.cache": server.url}).config
    clock, kept, wrong = FrozenClock(), list[str](), list[str]()
    with opened(work / "cached", clock, config=config) as memory:
        for number in range(kills):
            text = f"Fact {number} is about the kettle number {number}."
            try:
                memory.remember(text)
                kept.append(text)
                memory.turn(f"Turn {number}: the ferry leaves at nine.", session=f"s{number // 4}")
                if number % 5 == 4:
                    clock.forward(minutes=11)
                    memory.process()
                server.kill()
                if number % 2:
                    memory.recall("kettle")
                server.start()
            except Exception as fault:
                wrong.append(f"{number}: {type(fault).__name__}: {fault}")
            history.add(f"valkey {number}", "ok")
        found = Counter(contents(memory))
        turns = sum(e.type == "turn_recorded" for e in memory.runtime.journal.read(memory.scope.owner))
    wrong += [] if turns == kills else [f"{turns} of {kills} turns"]
    return len(kept), wrong + [f"{fact!r}: {found[fact]} times" for fact in kept if found[fact] != 1]


def run(seed: int = 0, kills: int = 300) -> Outcome:
    history, caches = History("t07", seed), round(kills * VALKEY_PER_POSTGRES)
    with scratch() as work:
        try:
            facts, violations = kill_postgres(work, kills, Random(seed), history)
        except pytest.skip.Exception as reason:
            facts, violations = 0, [str(reason)]
        cached, more = kill_valkey(work, caches, history)
    figures = {"PostgreSQL kills": kills, "acknowledged": facts, "Valkey kills": caches, "beside it": cached}
    return Outcome("T7", seed, figures, violations + more)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    outcome = run(asked.seed, asked.kills)
    print(outcome.line(), *outcome.violations[:20], sep="\n")
    raise SystemExit(bool(outcome.violations))
