"""What encryption costs a hook: `python -m bench.encryption [--rows 10000] [--samples 20]`.

Two hosts have the same memories, one of them encrypted. Each is called with the same event in turn, as in
`bench.hooks`, and the CPU time of both processes is compared pair by pair. Run it with the Python of
`make test-encryption`, whose SQLite has ciphers.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.hooks import ROOT, Host
from bench.report import header, machine, number, python, table, write_json

MOST_RATIO = 1.15  # of a prompt


def encrypt(host: Host) -> None:
    command = [sys.executable, "-m", "nagori", "--data-dir", str(host.folder), "encrypt", "on"]
    subprocess.run(
        command, env={**host.environment, "PYTHONPATH": str(ROOT / "src")}, check=True, cwd=ROOT, stdout=2
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.encryption")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nagori-bench-") as work:
        plain, sealed = (Host(Path(work) / name, asked.rows, asked.seed) for name in make(work))
        encrypt(sealed)
        pairs: dict[str, list[tuple[float, float]]] = {}
        for at, (what, payload) in enumerate(plain.turns()):
            # Each is first in every other pair.
            order = (plain, sealed) if at % 2 else (sealed, plain)
            cpu = {host.folder: host.call(**payload)[1] for host in order}
            if at >= 3:
                pairs.setdefault(what, []).append((cpu[plain.folder], cpu[sealed.folder]))
            if at >= 3 * asked.samples + 2:
                break
        for line in header({"machine": machine(Path(work)), "python": python()}):
            print(line)
    rows, ratios = [], {}
    for what, seen in pairs.items():
        ratios[what] = statistics.median(after / before for before, after in seen)
        medians = [number(1000 * statistics.median(each)) for each in zip(*seen, strict=True)]
        rows.append([what, str(len(seen)), *medians, f"{ratios[what]:.3f}x"])
    print(table(["what", "n", "cpu ms plain", "cpu ms encrypted", "median ratio of pairs"], rows, ("what",)))
    if asked.json:
        write_json(asked.json, {"ratios": ratios, "pairs": pairs})
    sys.exit(ratios["prompt"] > MOST_RATIO)


def make(work: str) -> tuple[str, str]:
    for name in ("plain", "encrypted"):
        (Path(work) / name).mkdir()
    return "plain", "encrypted"


if __name__ == "__main__":
    main()
