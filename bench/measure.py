"""Processes: each measurement in one of its own, offline, billed by the kernel."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import py_compile
import subprocess
import sys
import threading
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements" / "bench.txt"
PEER_VENV = ROOT / "out" / "bench-venv"
PATIENCE_SECONDS = 3600.0  # for whoever has no budget but must not hang a night


@dataclass(frozen=True)
class Finished:
    """A process that ended, as its parent saw it."""

    wall: float
    cpu: float
    output: dict[str, Any]
    failure: str


def run(command: list[str], environment: dict[str, str], seconds: float, scratch: Path) -> Finished:
    """Start, wait, and read the bill the kernel presents (os.wait4), which no code of the child can miss."""
    with (scratch / "stdout").open("w+b") as out, (scratch / "stderr").open("w+b") as err:
        begun = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        timer.cancel()
        process.returncode = code = os.waitstatus_to_exitcode(status)
        said, complained = last_line(out), last_line(err)
    late = code < 0 and wall >= seconds
    failure = "outran the budget" if late else f"failed: {complained}" if code else ""
    output = json.loads(said) if said and not failure else {}
    return Finished(wall, used.ru_utime + used.ru_stime, output, failure)


def last_line(file: BinaryIO) -> str:
    """What was said last: the result on one channel, the reason of a failure on the other."""
    file.seek(0)
    lines = file.read().decode(errors="replace").splitlines()
    return lines[-1] if lines else ""


def cut_network() -> bool:
    """Move this process and its children to a network of their own, with nobody on it; Linux only."""
    new_user, new_net = 0x10000000, 0x40000000
    try:
        unshare = ctypes.CDLL(None, use_errno=True).unshare
    except (OSError, AttributeError):
        return False
    return bool(unshare(new_net) == 0 or unshare(new_user | new_net) == 0)


def peer_python() -> str:
    """The peers' own interpreter, made anew when their pins change."""
    python = PEER_VENV / "bin" / "python"
    stamp = PEER_VENV / "pins.sha256"
    pins = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != pins:
        print(f"installing {REQUIREMENTS.name} into {PEER_VENV}", file=sys.stderr)
        venv.create(PEER_VENV, clear=True, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "-qq"]
        subprocess.run([*pip, "--require-hashes", "-r", str(REQUIREMENTS)], check=True)
        stamp.write_text(pins)
    return str(python)


def quiet_environment(home: Path, cut: bool) -> dict[str, str]:
    """Only what a program needs: a home to be thrown away, no telemetry, no keys, no proxies."""
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "MEM0_DIR": str(home / "mem0"),
        "ANONYMIZED_TELEMETRY": "False",
        "MEM0_TELEMETRY": "False",
        "POSTHOG_DISABLED": "1",
        "OTEL_SDK_DISABLED": "true",
        "HF_HUB_OFFLINE": "1",
    }
    return environment if cut else {**environment, "BENCH_REFUSE_NETWORK": "1"}


class Subjects:
    """Everybody who is measured, each with the interpreter that has it installed."""

    def __init__(self, work: Path, pythons: dict[str, str], cut: bool) -> None:
        self.work, self.pythons = work, pythons
        self.environment = quiet_environment(work / "home", cut)
        (work / "home").mkdir()
        # A script is compiled at every start, a compiled one is not: nobody should pay for our lines.
        self.script = str(work / "peers.pyc")
        py_compile.compile(str(ROOT / "bench" / "peers.py"), self.script, doraise=True)

    def act(self, subject: str, *arguments: object, seconds: float = PATIENCE_SECONDS) -> Finished:
        """One action of `bench/peers.py` in one process."""
        command = [self.pythons[subject], "-I", self.script, subject, *map(str, arguments)]
        return self.run(command, seconds)

    def run(self, command: list[str], seconds: float = PATIENCE_SECONDS) -> Finished:
        return run(command, self.environment, seconds, self.work)

    def versions(self) -> dict[str, str]:
        """What each subject is made of; one that is not installed will say so again where it is measured."""
        said = {}
        for subject in self.pythons:
            found = self.act(subject, "version", "-", "-").output.get("versions", {})
            said[subject] = ", ".join(f"{name} {at}" for name, at in found.items()) or "not installed"
        return said
