"""One process at a time for work that lasts: a lock in a space's folder, which the system takes back from
the dead."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from nagori.core.bookkeeping import Space
from nagori.errors import Conflict
from nagori.journal import try_lock
from nagori.parts import Parts
from nagori.paths import open_private, private_dir


@contextmanager
def lease(parts: Parts, space: Space, work: str) -> Iterator[None]:
    """Conflict when somebody else is at the same `work` in this space."""
    folder = private_dir(parts.journal.folder(space))
    descriptor = open_private(folder / f"{work}.lock", os.O_RDWR | os.O_CREAT)
    try:
        if not try_lock(descriptor):
            raise Conflict("another {work} is running", work=work)
        yield
    finally:
        os.close(descriptor)
