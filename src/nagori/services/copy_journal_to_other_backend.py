"""Copy journals: all events of every owner from one kind of journal into another, under the same numbers.

A backup of a database is such a copy in files, and a restore is the way back. An owner whose events are there
already is left as they are, so an interrupted copy can be made again. Erased owners are not brought back.
"""

from __future__ import annotations

from collections.abc import Iterable

from nagori.core.events import Event, checksum_of
from nagori.core.storage_types import Owner
from nagori.errors import Conflict, JournalError
from nagori.protocols import Journal

AT_ONCE = 500  # events in one append


def copy_journals(source: Journal, target: Journal, owners: Iterable[Owner]) -> int:
    """Copy the events of these owners; returns the number of events that were new."""
    return sum(_copy_journal(source, target, owner) for owner in owners if not target.is_erased(owner))


def check_room(source: Journal, target: Journal, owners: Iterable[Owner]) -> None:
    """Conflict if the target has other or more events of an owner than the source. Nothing is written."""
    for owner in owners:
        last = target.last_seq(owner)
        if last > source.last_seq(owner) or not _begins_alike(source, target, owner, last):
            raise Conflict("error.journal_differs", owner="/".join(owner))


def _begins_alike(source: Journal, target: Journal, owner: Owner, last: int) -> bool:
    """Whether the first events are the same. Words are not compared: the target may have redacted them."""
    if not last:
        return True
    known = (checksum_of(event) for event in target.read(owner))
    return all(checksum_of(event) == next(known, None) for event in source.read(owner) if event.seq <= last)


def _copy_journal(source: Journal, target: Journal, owner: Owner) -> int:
    with target.locked(owner) as last:
        first, page = last, list[Event]()
        for event in source.read(owner, last):
            if event.seq != last + len(page) + 1:  # a damaged one was skipped
                raise JournalError("error.journal_gap", owner="/".join(owner), seq=last + len(page) + 1)
            page.append(event)
            if len(page) == AT_ONCE:
                last, page = target.append(owner, page, last)[-1].seq, []
        if page:
            last = target.append(owner, page, last)[-1].seq
        return last - first
