"""One process at a time for work that lasts: a lease in the store, which outlives a crash of its holder.

A lease of a process on this machine that is dead is taken over at once; one of another machine when it ends.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nagori.core.bookkeeping import Space
from nagori.errors import Conflict
from nagori.parts import Parts

SECONDS = 900.0  # a holder renews long before
_LIFE = os.urandom(4).hex()  # of this process: a number may be given again to another one


@contextmanager
def lease(parts: Parts, space: Space, work: str) -> Iterator[Callable[[], None]]:
    """Conflict when somebody else is at the same `work` in this space. Gives a function that renews the
    lease, to be called between the parts of long work; Conflict when it was lost."""
    holder = f"{socket.gethostname()}:{os.getpid()}:{_LIFE}:{os.urandom(4).hex()}"

    def take() -> None:
        now = time.time()
        other = parts.store.lease(space, work, holder, now, now + SECONDS)
        if other is not None and _is_dead(other):
            parts.store.lease(space, work, other, now, 0)
            other = parts.store.lease(space, work, holder, now, now + SECONDS)
        if other is not None:
            raise Conflict("another {work} is running", work=work)

    take()
    try:
        yield take
    finally:
        parts.store.lease(space, work, holder, time.time(), 0)


def _is_dead(holder: str) -> bool:
    """Whether a holder is a process of this machine that is no more."""
    host, number, life, _ = (*holder.rsplit(":", 3), "", "", "")[:4]
    if host != socket.gethostname() or not number.isdigit():
        return False
    if int(number) == os.getpid():
        return life != _LIFE
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
