"""Check a commit message: `python -m tools.commits FILE`, called by pre-commit.

`area: what changes`, in the imperative and without a full stop; then an empty line; then why.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

SUBJECT = re.compile(r"[a-z][\w./-]*(, [a-z][\w./-]*)*: \S.*")
BY_GIT = re.compile(r"Merge |Revert |fixup! |squash! |amend! ")
LONGEST = 100


def find_faults(message: str) -> Iterator[str]:
    """What is wrong with it, one sentence each."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject, *rest = lines or [""]
    if BY_GIT.match(subject):
        return
    if not SUBJECT.fullmatch(subject):
        yield "The first line is `area: what changes`, such as `stores: refuse a newer schema`."
    if len(subject) > LONGEST:
        yield f"The first line has {len(subject)} characters; {LONGEST} are enough."
    if subject.endswith("."):
        yield "The first line ends without a full stop."
    if rest and rest[0].strip():
        yield "An empty line belongs between the first line and the reasons."


def main(arguments: list[str]) -> int:
    """Print what is wrong; exit code 1 if anything is."""
    faults = list(find_faults(Path(arguments[0]).read_text(encoding="utf-8")))
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
