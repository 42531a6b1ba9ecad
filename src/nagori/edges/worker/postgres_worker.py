"""Work for many owners on many machines: claim one, process its turns, run its cycle, give it back.

Any number of these workers may run. A claim is a lease that a thread renews while the work goes on. If the
worker is killed, another one takes the owner over when the lease ends. Whatever was done is in the journal,
and doing it again adds nothing.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from threading import Event, Thread

from nagori.app import Nagori
from nagori.core.events import CYCLE
from nagori.core.value_object import Value
from nagori.edges.worker.run import appraise_new, run_cycle_if_due
from nagori.errors import NagoriError
from nagori.journals.postgres import WORKER_NAME, PostgresJournal, WorkClaim
from nagori.runtime import Runtime
from nagori.services.follow_remote_erasures import FOLLOW_SECONDS, follow_erasures
from nagori.services.process_turns import process

LEASE_SECONDS = 60.0
POLL_SECONDS = 5.0  # how long to wait for a notification before looking again
RETRY_SECONDS = 60.0  # after a failure
ASKING_SECONDS = 3600.0  # a cycle that waits for somebody's consent is planned again after this
SLICE_SECONDS = 20.0  # of processing, before other work of the owner is looked at


class WorkCount(Value, frozen=False):
    """What a worker has done."""

    owners: int = 0
    turns: int = 0
    failures: int = 0


def run(
    memory: Nagori,
    journal: PostgresJournal,
    stop: Callable[[], bool],
    *,
    once: bool = False,
    lease_seconds: float = LEASE_SECONDS,
) -> WorkCount:
    """Work until `stop`; with `once`, until nothing waits that nobody else holds."""
    holder = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}"
    count, looked = WorkCount(), -FOLLOW_SECONDS
    journal.database.application = WORKER_NAME
    while not stop():
        try:
            if time.monotonic() - looked >= FOLLOW_SECONDS:
                follow_erasures(memory.runtime)
                looked = time.monotonic()
            claim = journal.claim_next(holder, lease_seconds)
            if claim is None and once:
                break
            if claim is None:
                journal.wait_for_work(POLL_SECONDS)
            else:
                _work(memory, journal, claim, lease_seconds, stop, count)
        except NagoriError as trouble:  # the database is away: it will be back
            memory.runtime.observe("worker.failed", error=trouble)
            if once:
                raise
            time.sleep(POLL_SECONDS)
    return count


def _work(
    memory: Nagori,
    journal: PostgresJournal,
    claim: WorkClaim,
    lease_seconds: float,
    stop: Callable[[], bool],
    count: WorkCount,
) -> None:
    runtime, again, done = memory.runtime, RETRY_SECONDS, False
    try:
        with _renewing(journal, claim, lease_seconds) as lost:
            while turns := process(runtime, claim.owner, time.monotonic() + SLICE_SECONDS):
                count.turns += turns
                if lost() or stop():
                    again = 0.0
                    return
            appraise_new(memory, claim.owner, lambda: lost() or stop())
            run_cycle_if_due(memory, claim.owner)
            again, done = _seconds_to_cycle(runtime, claim), True
            count.owners += 1
    except Exception as trouble:  # whatever is wrong with one owner, the others go on
        count.failures += 1
        runtime.observe("worker.failed", error=trouble)
    finally:
        with suppress(NagoriError):  # the lease ends by itself
            journal.finish_claim(claim, done, again)


@contextmanager
def _renewing(journal: PostgresJournal, claim: WorkClaim, seconds: float) -> Iterator[Callable[[], bool]]:
    """Renew a claim in the background; yields a function that says whether it was lost."""
    finished, lost = Event(), Event()

    def renew() -> None:
        while not finished.wait(seconds / 3):
            with suppress(NagoriError):
                if not journal.renew_claim(claim, seconds):
                    lost.set()
                    return

    thread = Thread(target=renew, name="nagori-claim", daemon=True)
    thread.start()
    try:
        yield lost.is_set
    finally:
        finished.set()
        thread.join()


def _seconds_to_cycle(runtime: Runtime, claim: WorkClaim) -> float:
    """Until the owner's next cycle is due."""
    interval = timedelta(hours=runtime.config.compression.interval_hours)
    last = runtime.store.state(claim.owner, CYCLE)
    due = datetime.fromisoformat(last) + interval if last else runtime.clock.now() + interval
    left = (due - runtime.clock.now()).total_seconds()
    return left if left > 0 else ASKING_SECONDS
