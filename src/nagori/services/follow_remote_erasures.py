"""Carry out on this node what was erased on another one.

The journal in the database says what is erased; a node's fold, its files and its logs are on its own disk. A
server and a worker look at every owner they hold, at their start and then once a minute: an erased owner
leaves this machine, and an erased part does, though nobody asks this node for it any more.
"""

from __future__ import annotations

from typing import Any

from nagori.errors import MemoryErased, NagoriError
from nagori.runtime import Runtime
from nagori.services.erase_owner import COMPACT_STEPS, erase_here

FOLLOW_SECONDS = 60.0  # between two looks


def follow_erasures(runtime: Runtime) -> int:
    """Bring every owner of this node's fold up to date; returns how many of them were erased elsewhere. What
    fails is tried again at the next look."""
    erased = 0
    if not hasattr(runtime.store, "drop_fold"):  # files, or everything in the database: there is one copy
        return 0
    store: Any = runtime.store
    for owner in store.known_owners():
        try:
            runtime.ledger.catch_up(owner, turns=True)
        except MemoryErased:
            erase_here(runtime, owner)
            erased += 1
        except NagoriError as trouble:
            runtime.observe("store.behind", owner=owner, reason=trouble.notice)
    if store.has_remains:
        store.compact(COMPACT_STEPS)
    return erased
