"""Acknowledged means kept: writers are killed (kill -9) at random moments, then everything is counted.

    python -m bench.kills [--kills 3000] [--lanes 2] [--seed 0]

Each lane forks writers that remember one fact after the other in the same space, says which ones were
acknowledged, and kills them: every other one while it opens, catches up or writes its first fact, the
rest while they write. At the end nothing acknowledged may be missing, nothing may be there twice, journal
and store must be sound and tell the same story, and a rebuild must export the same bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from bench.report import header, machine, python

from nagori import Nagori
from nagori.testing import WordEmbedder

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Outcome:
    kills: int
    acknowledged: int
    lost: int
    twice: int
    sound: bool
    same_after_rebuild: bool


def run(folder: Path, kills: int, lanes: int = 2, seed: int = 0) -> Outcome:
    """Kill `kills` writers in `lanes` lanes at once, and count."""
    each = kills // lanes
    command = [sys.executable, "-m", "bench.kills", "--lane", str(folder)]
    running = [
        subprocess.Popen(
            [*command, str(seed + lane * each), str(each)], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        for lane in range(lanes)
    ]
    said = [process.communicate()[0].splitlines() for process in running]
    if any(process.returncode for process in running):
        raise RuntimeError("a lane failed")
    return _count(folder, each * lanes, [fact for lane in said for fact in lane])


def _count(folder: Path, kills: int, acknowledged: list[str]) -> Outcome:
    with Nagori.open(folder, embedder=WordEmbedder()) as memory:
        before = list(memory.export())
        kept = [json.loads(line)["memory"]["texts"]["1"]["content"] for line in before[1:]]
        sound = memory.verify().sound
        memory.rebuild()
        same = list(memory.export()) == before
    lost = len(set(acknowledged) - set(kept))
    return Outcome(kills, len(acknowledged), lost, len(kept) - len(set(kept)), sound, same)


def lane(folder: str, first: int, kills: int) -> None:
    """One lane: fork a writer, kill it, tell what it had acknowledged."""
    for number in range(first, first + kills):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            _write_for_ever(folder, number, writer)
        os.close(writer)
        dice, heard = random.Random(number), b""
        if number % 2:
            time.sleep(dice.uniform(0.0, 0.05))
        else:  # counted, not timed: on a busy machine it would be killed before it could say more
            wanted = dice.randint(1, 5)
            while heard.count(b"\n") < wanted and select.select([reader], [], [], 30)[0]:
                heard += os.read(reader, 4096)
            time.sleep(dice.uniform(0.0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(reader, "rb") as acknowledged:
            sys.stdout.write((heard + acknowledged.read()).decode())
        sys.stdout.flush()


def _write_for_ever(folder: str, number: int, writer: int) -> NoReturn:
    with Nagori.open(folder, embedder=WordEmbedder()) as memory:
        fact = 0
        while True:
            text = f"kill {number} fact {fact}"
            memory.remember(text)
            os.write(writer, f"{text}\n".encode())
            fact += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=3000)
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lane", nargs=3, metavar=("FOLDER", "FIRST", "KILLS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.lane:
        folder, first, kills = options.lane
        lane(folder, int(first), int(kills))
        return
    with tempfile.TemporaryDirectory() as work:
        print(
            "\n".join(header({"machine": machine(Path(work)), "python": python(), "seed": str(options.seed)}))
        )
        outcome = run(Path(work) / "data", options.kills, options.lanes, options.seed)
    print(outcome)
    fine = outcome.sound and outcome.same_after_rebuild and not outcome.lost and not outcome.twice
    sys.exit(not fine)


if __name__ == "__main__":
    main()
