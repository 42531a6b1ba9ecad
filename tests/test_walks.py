"""How many files a reader has to open to follow one act (CONTRIBUTING.md, "House")."""

from __future__ import annotations

from pathlib import Path

from bench.walks import walked

MOST = {"remember": 18, "recall": 20, "prune": 32, "prompt hook": 30, "worker": 31}


def test_no_walk_enters_more_files_than_it_may(tmp_path: Path) -> None:
    counts = {walk["walk"]: len(walk["files"]) for walk in walked(tmp_path)}
    beyond = {name: counts[name] for name, most in MOST.items() if counts[name] > most}
    assert not beyond, f"more files than {MOST}; `python -m bench.walks --list` names them"
