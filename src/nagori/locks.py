"""File locks for writes, and leases in the store for long work.

The system releases a lock with its process. A lease survives a crash of its holder: if the holder was a
process on this machine, it is taken over at once, otherwise when it ends.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from nagori.errors import Conflict, JournalError, MemoryErased

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.core.storage import Owner
    from nagori.runtime import Runtime

SECONDS = 900.0  # duration of a lease; a holder renews it long before
_LIFE = os.urandom(4).hex()  # identifies this process; process ids are reused


# --- locks ----------------------------------------------------------------------------------------

if sys.platform == "win32":  # pragma: no cover - Windows
    import msvcrt

    def try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        with suppress(OSError):
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Release a lock for every copy of the descriptor; a forked child would otherwise keep it."""
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def wait_for_lock(descriptor: int, patience: float) -> None:
    deadline, pause = time.monotonic() + patience, 0.0005
    while not try_lock(descriptor):
        if time.monotonic() > deadline:
            raise JournalError("error.lock_busy", seconds=patience)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.01)


# --- leases ---------------------------------------------------------------------------------------


@contextmanager
def lease(runtime: Runtime, owner: Owner, work: str) -> Iterator[Callable[[], None]]:
    """Hold the lease for `work`; Conflict if another holder has it, MemoryErased if the owner was erased.
    Yields a function that renews the lease between the parts of long work; it raises Conflict if the lease
    was lost."""
    import socket  # imported late: a hook that only appends does not need it

    if runtime.journal.is_erased(owner):  # a lease would hold the name
        raise MemoryErased()
    holder = f"{socket.gethostname()}:{os.getpid()}:{_LIFE}:{os.urandom(4).hex()}"

    def take() -> None:
        now = time.time()
        other = runtime.store.lease(owner, work, holder, now, now + SECONDS)
        if other is not None and _is_dead(other):
            runtime.store.lease(owner, work, other, now, 0)
            other = runtime.store.lease(owner, work, holder, now, now + SECONDS)
        if other is not None:
            raise Conflict("error.work_running", work=work)

    take()
    try:
        yield take
    finally:
        runtime.store.lease(owner, work, holder, time.time(), 0)


def _is_dead(holder: str) -> bool:
    """Whether a holder is a process of this machine that no longer exists."""
    import socket

    host, number, life, _ = (*holder.rsplit(":", 3), "", "", "")[:4]
    if host != socket.gethostname() or not number.isdigit():
        return False
    if int(number) == os.getpid():
        return life != _LIFE
    return os.name != "nt" and not is_running(int(number))


def is_running(pid: int) -> bool:
    """Whether a process of this machine exists; True if nobody can tell."""
    if os.name == "nt":  # on Windows, signal 0 would interrupt the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
