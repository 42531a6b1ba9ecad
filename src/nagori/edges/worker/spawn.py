"""Start the worker and do not wait for it.

Twice forked, so that it belongs to nobody: a host that cancels a hook kills the hook's children, and their
children, but not what has left the family (tried: only the double fork survives). If one is at work already,
none is started; it looks again before it goes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from nagori.paths import open_private, private_dir

LOCK = "worker.lock"
CODE = "import sys; sys.path[:] = {path!r}; from nagori.edges.worker.run import main; main({folder!r})"


def start(folder: Path) -> bool:
    """Whether a worker was started."""
    if is_working(folder):
        return False
    command = [sys.executable, "-I", "-S", "-c", CODE.format(path=sys.path, folder=str(folder))]
    if not hasattr(os, "fork"):
        return _start_detached(command)
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return True
    try:  # from here on we are somebody else, who must never come back
        os.setsid()
        if os.fork() == 0:
            _leave(folder)
            os.execv(command[0], command)  # noqa: S606 - our own interpreter, no shell
    finally:
        os._exit(0)


def _leave(folder: Path) -> None:
    """Keep nothing of the host's: not its folder, not its pipes."""
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
    """Whether somebody holds the worker's lock. A dead one holds nothing: the system lets go for it."""
    descriptor = take(folder)
    if descriptor is None:
        return True
    release(descriptor)
    return False


def release(descriptor: int) -> None:
    """Give the lock up, for every process that has a copy of the descriptor."""
    from nagori.locks import unlock

    unlock(descriptor)
    os.close(descriptor)


def take(folder: Path) -> int | None:
    """The worker's lock, as an open file; None when somebody else has it."""
    from nagori.locks import try_lock

    private_dir(folder)
    descriptor = open_private(folder / LOCK, os.O_RDWR | os.O_CREAT)
    if try_lock(descriptor):
        return descriptor
    os.close(descriptor)
    return None
