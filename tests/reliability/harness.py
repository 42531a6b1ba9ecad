"""What the reliability programs share: a recorded history, an outcome, a disk that fails or remembers."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from nagori import Filter, Nagori
from nagori.core.model import Level
from nagori.testing import FrozenClock, WordEmbedder

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out" / "reliability"
EVERYTHING = Filter(archived=True, forgotten=True)


class Outcome(NamedTuple):
    """The end of one program: what was tried, what was counted, and every violation of a promise."""

    test: str
    seed: int
    figures: Mapping[str, int | float]
    violations: list[str]

    def line(self) -> str:
        figures = ", ".join(f"{name} {value:,}" for name, value in self.figures.items())
        ending = f"{len(self.violations)} violations"
        return f"{self.test}  seed {self.seed}: {figures}; {ending}"


class History:
    """Operations and how they ended: ok (acknowledged), fail (refused), violation (of a promise)."""

    def __init__(self, test: str, seed: int) -> None:
        OUT.mkdir(parents=True, exist_ok=True)
        self.path = OUT / f"{test}-{seed}.jsonl"
        self.path.write_bytes(b"")

    def add(self, operation: str, ended: str, **more: Any) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"op": operation, "ended": ended, **more}, ensure_ascii=False) + "\n")


def opened(folder: Path, clock: FrozenClock | None = None, **parts: Any) -> Nagori:
    return Nagori.open(folder, clock=clock or FrozenClock(), embedder=WordEmbedder(), llm=None, **parts)


def contents(memory: Nagori) -> list[str]:
    """The full text of every memory, those that were archived or forgotten among them."""
    return [each.texts.get(Level.FULL, each.text).content for each in memory.list(EVERYTHING, limit=100_000)]


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="nagori-reliability-") as work:
        yield Path(work)


# --- the disk -------------------------------------------------------------------------------------

NO_COMPILER = "no C compiler here, so no disk that fails can be built"


def build_disk(work: Path) -> Path | None:
    """The library of `disk.c`; None where it cannot be built."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    library = work / "disk.so"
    source = Path(__file__).with_name("disk.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def run_on_disk(work: Path, module: str, *arguments: str, log: Path | None = None) -> str:
    """Run a program with the disk of `disk.c` below `work/disk`; returns its standard output."""
    library = build_disk(work)
    assert library is not None, NO_COMPILER
    folder = work / "disk"
    folder.mkdir(exist_ok=True)
    environment = {**os.environ, "LD_PRELOAD": str(library), "DISK_ROOT": str(folder)}
    environment |= {"DISK_LOG": str(log)} if log else {}
    command = [sys.executable, "-m", module, "--inside", str(folder), *arguments]
    ran = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return ran.stdout


def disk() -> Any:
    """The functions of `disk.c`, inside a program that runs on it."""
    library = ctypes.CDLL(None)
    library.disk_count.restype = ctypes.c_long
    library.disk_arm.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_int)
    library.disk_mark.argtypes = (ctypes.c_long,)
    return library
