"""Leases in the store for long work.

A lease survives a crash of its holder: if the holder was a process on this machine, it is taken over at once,
otherwise when it ends.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nagori.errors import Conflict, MemoryErased

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.core.storage_types import Owner
    from nagori.runtime import Runtime

SECONDS = 900.0  # duration of a lease; a holder renews it long before
_LIFE = os.urandom(4).hex()  # identifies this process; process ids are reused


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
