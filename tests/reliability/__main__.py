"""The whole reliability suite: `python -m tests.reliability [--only T4] [--seed N] [--share 1.0]`.

Each test is a program of its own, with a seed that is told; `--share 0.1` runs a tenth of each. A test that
needs a part which is missing here says so. `docs/reliability.md` says what each proves.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from bench.report import machine, python
from tests.reliability.harness import ROOT

# Test -> program, and the option and size of a full run. What pytest has is named by its files.
PROGRAMS: dict[str, tuple[list[str], str, int]] = {
    "T1": (["bench.kills"], "--kills", 10_000),
    "T3": (["tests.reliability.t03_disk_faults"], "--step", 1),
    "T4": (["tests.reliability.t04_power_loss"], "--images", 5_000),
    "T7": (["bench.nodes"], "--operations", 20_000),
    "T8": (["bench.chaos"], "", 10_000),
    "T10": (["tests.reliability.t10_soak"], "--operations", 200_000),
    "T19": (["tests.reliability.t19_state_machine"], "--steps", 1_000_000),
}
BY_PYTEST = {
    "T2": ["tests/attacks/test_erasure.py", "tests/migrations", "tests/edges/test_worker.py"],
    "T5": ["tests/attacks/test_disk.py"],
    "T6": ["tests/attacks/test_changes_at_once.py", "tests/attacks/test_leases.py"],
    "T9": ["tests/edges/test_hook_troubles.py", "tests/attacks/test_odd_arguments.py"],
    "T11": ["tests/attacks/test_private_memories.py"],
    "T12": ["tests/attacks/test_poison.py"],
    "T13": ["tests/attacks/test_erasure.py"],
    "T14": ["tests/attacks/test_damage.py"],
    "T15": ["tests/core/test_schedules.py", "tests/core/test_life.py"],
    "T16": ["tests/migrations"],
    "T17": ["tests/attacks/test_rebuild_beside_others.py", "tests/attacks/test_lost_journal.py"],
}


def command_of(test: str, seed: int, share: float) -> list[str]:
    if test in BY_PYTEST:
        return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *BY_PYTEST[test]]
    [module], option, size = PROGRAMS[test]
    amount = max(1, round(1 / share)) if option == "--step" else max(1, round(size * share))
    return [sys.executable, "-m", module, *([option] if option else []), str(amount), "--seed", str(seed)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability")
    parser.add_argument("--only", default="", help="tests, by commas")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--share", type=float, default=1.0)
    asked = parser.parse_args()
    print(machine(Path.cwd()), python(), f"seed {asked.seed}", sep="\n", flush=True)
    known = sorted({*PROGRAMS, *BY_PYTEST}, key=lambda test: int(test[1:]))
    failed = []
    for test in asked.only.split(",") if asked.only else known:
        begun = time.monotonic()
        print(f"--- {test}", flush=True)
        code = subprocess.run(command_of(test, asked.seed, asked.share), cwd=ROOT, check=False).returncode
        print(f"--- {test}: {'failed' if code else 'passed'}, {time.monotonic() - begun:.0f} s", flush=True)
        failed += [test] if code else []
    print(f"failed: {', '.join(failed) or 'none'}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
