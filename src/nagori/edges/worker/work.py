"""The life of a worker: rounds of work until nothing waits."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from nagori.app import Nagori
from nagori.core.bookkeeping import Space
from nagori.core.model import Scope
from nagori.edges.hooks.hearing import spooled
from nagori.edges.hooks.notes import sweep
from nagori.edges.worker.drain import drain, finish_killed, is_drained
from nagori.edges.worker.start import take
from nagori.errors import Conflict, NagoriError
from nagori.journal import FileJournal

SECONDS = 600.0  # then it goes, and the next hook starts another
LOG = "worker.log"


def main(folder: str) -> None:
    """The whole life of a worker process."""
    with suppress(OSError, AttributeError):
        os.nice(10)
    os.umask(0o077)
    work(Path(folder), time.monotonic() + SECONDS)


def work(folder: Path, until: float = float("inf")) -> int:
    """Work until nothing waits; how many turns were formed. 0 if somebody else is at it."""
    formed = 0
    while (lock := _own_turn(folder)) is not None:
        try:
            done, well = _work(folder, until)
        finally:
            os.close(lock)
        formed += done
        # Only now that the lock is free: whoever wrote before that saw a worker at work and started none.
        if not well or time.monotonic() > until or not _is_waiting(folder):
            break
    return formed


def _own_turn(folder: Path) -> int | None:
    """The worker's lock. A hook that looks whether somebody is at work holds it for a moment."""
    for _ in range(5):
        if (lock := take(folder)) is not None:
            return lock
        time.sleep(0.02)
    return None


def _work(folder: Path, until: float) -> tuple[int, bool]:
    """One round; whether it went well."""
    formed = 0
    try:
        with Nagori.open(folder) as memory:
            _take_spool(memory, folder)
            for space in memory.parts.journal.spaces():
                formed += drain(memory, space, until)
            finish_killed(memory)  # after the answers that were heard; what it adds is another round's work
            for space in memory.parts.journal.spaces():
                _judge(memory, space, lambda: time.monotonic() > until or _is_waiting(folder))
                _night_if_due(memory, space)
            sweep(folder)
            (folder / LOG).unlink(missing_ok=True)
            return formed, True
    except Exception as trouble:  # also what nobody thought of: without a terminal, a note is all there is
        _complain(folder, trouble)
        return formed, False  # tried again when the next hook comes


def _judge(memory: Nagori, space: Space, stop: Callable[[], bool]) -> None:
    """A model's look at what was formed, where one is configured. Whoever speaks meanwhile goes first."""
    if memory.parts.llm is not None:
        with suppress(Conflict):  # somebody else asks already
            memory.within(Scope(tenant=space[0], user=space[1])).judge(stop=stop)


def _night_if_due(memory: Nagori, space: Space) -> None:
    """Where no schedule is installed, the first who works after a day lets the night pass [E13]. A plan that
    would move most of a large store waits for somebody to look at it."""
    from nagori.services import cycle

    there = memory.within(Scope(tenant=space[0], user=space[1]))
    hours = cycle.hours_since(there.parts, space)
    if hours is None:
        cycle.note_time(there.parts, space)  # a new store begins its first day
    elif hours >= there.parts.config.compression.interval_hours:
        plan = there.plan()
        if not plan.asks:
            with suppress(Conflict):  # somebody else's night
                there.cycle(plan)


def _is_waiting(folder: Path) -> bool:
    """Whether there is something to do: in the spool, or in a journal behind where we are."""
    if any((folder / "spool").glob("*.jsonl")):
        return True
    journal = FileJournal(folder / "journal")
    try:
        return not all(is_drained(journal, space) for space in journal.spaces())
    except (NagoriError, OSError):
        return False


def _take_spool(memory: Nagori, folder: Path) -> None:
    """What could not be written into the journal goes there now. A crash between the two lines leaves a turn
    twice in the journal, which `Talk.is_new` sees."""
    journal = memory.parts.journal
    for path, space, events in spooled(folder):
        with journal.locked(space):
            journal.append(space, events)
        path.unlink()


def _complain(folder: Path, trouble: Exception) -> None:
    """For `nagori doctor`: the last thing that went wrong, without anybody's words."""
    with suppress(OSError):
        (folder / LOG).write_text(f"{type(trouble).__name__}: {trouble}\n", encoding="utf-8")
        (folder / LOG).chmod(0o600)
