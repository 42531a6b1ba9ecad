"""Start the worker as a detached process.

It forks twice: a host that cancels a hook kills the hook's children and their children, and only a double
fork survives. If a worker is running already, none is started; it checks for new work before it exits.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from nagori.files import release_lock, take_lock

LOCK = "worker.lock"
CODE = "import sys; sys.path[:] = {path!r}; from nagori.edges.worker.run import main; main({folder!r})"


def start(folder: Path) -> bool:
    """Start a worker; returns whether one was started."""
    if is_working(folder):
        return False
    command = [sys.executable, "-I", "-S", "-c", CODE.format(path=sys.path, folder=str(folder))]
    if not hasattr(os, "fork"):
        return _start_detached(command)
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return True
    try:  # this is the child process: it must never return
        os.setsid()
        if os.fork() == 0:
            _leave(folder)
            os.execv(command[0], command)  # noqa: S606 - our own interpreter, no shell
    finally:
        os._exit(0)


def _leave(folder: Path) -> None:
    """Give up everything of the host: its working folder and its pipes."""
    os.chdir(folder if folder.is_dir() else "/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.closerange(3, 256)


def _start_detached(command: list[str]) -> bool:
    import subprocess

    flags = getattr(subprocess, "DETACHED_PROCESS", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    nothing = subprocess.DEVNULL
    subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, creationflags=flags)  # noqa: S603
    return True


def is_working(folder: Path) -> bool:
    """Whether a process holds the worker's lock. The system releases it if the process dies."""
    descriptor = take_lock(folder / LOCK)
    if descriptor is None:
        return True
    release_lock(descriptor)
    return False
