"""The whole reliability suite: `python -m tests.reliability [--only T4] [--seed N] [--share 1.0]`.

Each test is a program of its own, with a seed that is told; `--share 0.1` runs a tenth of each. A test that
needs a part which is missing here says so. `docs/reliability.md` says what each proves.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from bench.report import machine, python
from tests.reliability.harness import ROOT

# Test -> program, and the option and size of a full run. What pytest has is named by its files, with the
# variables that give it its full size.
PROGRAMS: dict[str, tuple[str, str, int]] = {
    "T1": ("bench.kills", "--kills", 10_000),
    "T2": ("tests.reliability.t02_kills_inside", "--kills", 2_000),
    "T3": ("tests.reliability.t03_disk_faults", "--step", 1),
    "T4": ("tests.reliability.t04_power_loss", "--images", 5_000),
    "T6": ("tests.reliability.t06_processes", "--seconds", 600),
    "T7": ("tests.reliability.t07_servers", "--kills", 300),
    "T8": ("bench.chaos", "", 10_000),
    "T9": ("tests.reliability.t09_fuzz", "--payloads", 50_000),
    "T10": ("tests.reliability.t10_soak", "--operations", 200_000),
    "T12": ("tests.reliability.t12_injection", "--payloads", 1_000),
    "T14": ("tests.reliability.t14_backups", "--backups", 200),
    "T19": ("tests.reliability.t19_state_machine", "--steps", 1_000_000),
}
BY_PYTEST: dict[str, tuple[list[str], dict[str, int]]] = {
    "T5": (["tests/attacks/test_disk.py"], {}),
    "T11": (
        ["tests/http/test_http_isolation.py", "tests/attacks/test_private_memories.py"],
        {"NAGORI_TEST_TENANTS": 50, "NAGORI_TEST_CANARIES": 200, "NAGORI_TEST_CALLS": 100_000},
    ),
    "T13": (["tests/attacks/test_erasure.py", "tests/attacks/test_erased_everywhere.py"], {}),
    "T15": (["tests/core/test_schedules.py", "tests/core/test_life.py"], {}),
    "T16": (["tests/migrations", "tests/oracle/test_v1.py"], {}),
    "T17": (
        [
            "tests/attacks/test_rebuild_beside_others.py",
            "tests/attacks/test_lost_journal.py",
            "tests/attacks/test_damage.py",
            "tests/attacks/test_faulty_embedders.py",
            "tests/services/test_reembed.py",
        ],
        {},
    ),
    "T18": (
        ["tests/http/test_http_hostile.py", "tests/http/test_local_server.py"],
        {"NAGORI_TEST_HOSTILE": 20_000},
    ),
}


def command_of(test: str, seed: int, share: float) -> tuple[list[str], dict[str, str]]:
    """The command of a test, and its environment."""
    if test in BY_PYTEST:
        files, sizes = BY_PYTEST[test]
        least = {name: str(max(2, round(size * share))) for name, size in sizes.items()}
        return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files], {
            "HYPOTHESIS_PROFILE": "ci",
            **least,
        }
    module, option, size = PROGRAMS[test]
    amount = max(1, round(1 / share)) if option == "--step" else max(1, round(size * share))
    return [sys.executable, "-m", module, *([option] if option else []), str(amount), "--seed", str(seed)], {}


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
        command, extra = command_of(test, asked.seed, asked.share)
        code = subprocess.run(command, cwd=ROOT, env=os.environ | extra, check=False).returncode
        print(f"--- {test}: {'failed' if code else 'passed'}, {time.monotonic() - begun:.0f} s", flush=True)
        failed += [test] if code else []
    print(f"failed: {', '.join(failed) or 'none'}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
