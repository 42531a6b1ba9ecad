"""Does hostile text cost a linear number of instructions? `python -m bench.instructions [--only NAME]`.

What `bench.growth` measures in time, this counts: a busy machine and its caches change times, but not the
number of instructions. For every function that reads text the dearest input is found by its time at 10 kB;
then the function runs under valgrind (callgrind) on 10, 20 and 40 kB of it. A doubling of the text that needs
more than 2.2 times the instructions is told as super-linear. It needs valgrind with its headers, and a C
compiler.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.growth import FUNCTIONS, MOST_RATIO, SMALL, UNITS, cpu_seconds, repeated, shown
from bench.report import header, machine, number, python, table

SIZES = [SMALL << at for at in range(3)]
HELPER = """
#include <valgrind/callgrind.h>
void start(void) { CALLGRIND_START_INSTRUMENTATION; }
void zero(void) { CALLGRIND_ZERO_STATS; }
void dump(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }
"""
ROOT = Path(__file__).resolve().parent.parent


def dearest(name: str) -> str:
    """The input that takes longest; of equal ones the first."""
    function = FUNCTIONS[name]
    function("warm up. 準備。")
    return max(UNITS, key=lambda unit: min(cpu_seconds(function, repeated(unit, 1_000)) for _ in range(2)))


def build(work: Path) -> Path:
    source, library = work / "helper.c", work / "helper.so"
    source.write_text(HELPER)
    subprocess.run([shutil.which("cc") or "gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def inside(library: Path, chosen: Path) -> None:
    """Under valgrind: run each function on each size, and let callgrind write its count."""
    helper: Any = ctypes.CDLL(str(library))
    pairs = json.loads(chosen.read_text())
    for name, unit in pairs:
        FUNCTIONS[name](repeated(unit, 500))  # what is compiled and read once
    helper.start()
    for at, (name, unit) in enumerate(pairs):
        for size in SIZES:
            said = repeated(unit, size)
            helper.zero()
            FUNCTIONS[name](said)
            helper.dump(f"pair {at} size {size}".encode())


def counts(work: Path, pairs: list[tuple[str, str]]) -> dict[tuple[int, int], int]:
    chosen = work / "chosen.json"
    chosen.write_text(json.dumps(pairs))
    command = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--vex-guest-max-insns=25"]
    command += [f"--callgrind-out-file={work / 'out'}", sys.executable, "-m", "bench.instructions"]
    environment = os.environ | {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
    run = [*command, "--inside", str(build(work)), str(chosen)]
    subprocess.run(run, cwd=ROOT, env=environment, check=True, stderr=subprocess.DEVNULL)
    found = {}
    for path in work.glob("out.*"):
        said = path.read_text()
        label, total = re.search(r"pair (\d+) size (\d+)", said), re.search(r"^totals: (\d+)", said, re.M)
        if label and total:
            found[int(label[1]), int(label[2])] = int(total[1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.instructions")
    parser.add_argument("--only", default="", help="functions whose name holds this")
    parser.add_argument("--inside", nargs=2, type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        inside(*asked.inside)
        return
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed")
    pairs = [(name, dearest(name)) for name in FUNCTIONS if asked.only in name]
    with tempfile.TemporaryDirectory(prefix="nagori-bench-") as work:
        found = counts(Path(work), pairs)
    rows, bad = [], 0
    for at, (name, unit) in enumerate(pairs):
        each = [found[at, size] for size in SIZES]
        ratios = [after / before for before, after in pairwise(each)]
        bad += max(ratios) > MOST_RATIO
        mark = "super-linear" if max(ratios) > MOST_RATIO else ""
        rows.append([name, shown(unit, ""), *(f"{count:,}" for count in each), *map(number, ratios), mark])
    print("\n".join(header({"machine": machine(Path.cwd()), "python": python()})) + "\n")
    sizes = [f"at {size:,}" for size in SIZES]
    print(table(["function", "input", *sizes, "ratio", "ratio", ""], rows, ("function", "input", "")))
    print(f"\n{len(rows)} functions, {bad} super-linear")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
