"""Send requests made from the OpenAPI document to a real server: `python -m tests.http.fuzz`.

Schemathesis makes them, right ones and wrong ones, for every operation, and checks each answer against the
document: no server error, the declared status, type and shape; what the document allows is accepted, what it
does not allow is refused. `--postgres` serves a database instead of files. The program is in an environment
of its own (`make test-openapi`); NAGORI_TEST_SCHEMATHESIS names another one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.http.served import ServedMemory
from tests.postgres import Server

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("NAGORI_TEST_SCHEMATHESIS", ROOT / "out/fuzz-venv/bin/schemathesis"))
UNLIMITED = {"NAGORI_SERVER__REQUESTS_PER_MINUTE": "10000000"}
ERROR = 500


class FuzzReport:
    """What the program said, and which answers the server's own log counts."""

    def __init__(self, said: str, log: str, code: int) -> None:
        lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
        self.said, self.code = said, code
        self.answers = Counter(line["status"] for line in lines)
        self.errors = [line for line in lines if line["status"] >= ERROR]
        found = re.search(r"Selected: (\d+)/(\d+)\s+Tested: (\d+)", said)
        self.selected, self.total, self.tested = map(int, found.groups()) if found else (0, 0, 0)
        self.cases = int((re.search(r"(\d+) generated", said) or [0, 0])[1])

    @property
    def is_clean(self) -> bool:
        return self.code == 0 and not self.errors and 0 < self.tested == self.selected


def run(server: ServedMemory, examples: int, more: Sequence[str] = ()) -> FuzzReport:
    """All phases of the program, for every operation or those that `more` selects."""
    command = [str(PROGRAM), "run", f"{server.url}/openapi.json", "--checks", "all", "--no-color"]
    command += ["--max-examples", str(examples), "--generation-database", "none", "--seed", "1"]
    command += ["-H", f"Authorization: Bearer {server.token}", "--continue-on-failure", *more]
    done = subprocess.run(command, capture_output=True, text=True, cwd=server.folder)
    return FuzzReport(done.stdout + done.stderr, server.log.read_text(encoding="utf-8"), done.returncode)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=50, help="of each operation")
    parser.add_argument("--postgres", action="store_true", help="serve a database: fold and store in it")
    options, more = parser.parse_known_args(arguments)
    if not PROGRAM.exists():
        print(f"skipped: {PROGRAM} is not there; make test-openapi installs it")
        return 0
    database = Server() if options.postgres else None
    try:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place, "memory")
            address = database.url(store="postgres", folder=str(folder)) if database else None
            with ServedMemory(folder, "--mem0", env=UNLIMITED, address=address) as server:
                report = run(server, options.examples, more)
    finally:
        if database is not None:
            database.remove()
    print(report.said)
    for line in report.errors[:20]:
        print("server error:", json.dumps(line))
    print(f"answers by status: {dict(sorted(report.answers.items()))}")
    print(f"{report.tested} of {report.total} operations, {report.cases} cases, clean: {report.is_clean}")
    return 0 if report.is_clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
