"""Run a worker: rounds of work until nothing is pending."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from nagori.app import Nagori
from nagori.core.events import CYCLE, OPEN_SINCE, Event
from nagori.core.model import Scope
from nagori.core.storage_types import Owner
from nagori.edges.worker.recover_answers_from_transcripts import KILLED, finish_killed
from nagori.edges.worker.spawn import LOCK
from nagori.errors import Conflict, MemoryErased, NagoriError, Notice
from nagori.event_ledger import record_turns
from nagori.files import HOT, release_lock, sweep, take_lock
from nagori.journals.file import FileJournal
from nagori.runtime import Runtime
from nagori.services.cycle import note_stopped
from nagori.services.process_turns import process
from nagori.services.record_turns_or_spool import SPOOL, take_spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import Journal

SECONDS = 600.0  # maximum run time; the next hook starts another worker
LOG = "worker.log"


def main(folder: str) -> None:
    """The worker process."""
    with suppress(OSError, AttributeError):
        os.nice(10)
    os.umask(0o077)
    work(Path(folder), time.monotonic() + SECONDS)


def work(folder: Path, until: float = float("inf")) -> int:
    """Work until nothing is pending; returns the number of turns formed, 0 if another worker is running."""
    formed = 0
    while (lock := _own_turn(folder)) is not None:
        try:
            done, well = _work(folder, until)
        finally:
            release_lock(lock)
        formed += done
        # Check again after releasing the lock: a writer that saw a running worker started none.
        if not well or time.monotonic() > until or not _is_waiting(folder):
            break
    return formed


def _own_turn(folder: Path) -> int | None:
    """The worker's lock. A hook that checks it holds it for a moment."""
    for _ in range(5):
        if (lock := take_lock(folder / LOCK)) is not None:
            return lock
        time.sleep(0.02)
    return None


def _work(folder: Path, until: float) -> tuple[int, bool]:
    """One round; returns the number of turns and whether it succeeded."""
    formed = 0
    try:
        with Nagori.open(folder) as memory:
            runtime = memory.runtime
            if _is_spooled(folder):
                take_spool(_files(runtime.journal), folder)
            if runtime.journal.unfinished_erasures():
                from nagori.services.erase import resume_owners

                resume_owners(runtime)
            ended = _take_tool_results(runtime, folder) if (folder / HOT).is_dir() else {}
            for owner in dict.fromkeys([*_owners_with_work(runtime), *ended]):
                runtime.journal.claim_work(owner)  # before the work: later requests count separately
                formed += process(runtime, owner, until, ended.get(owner, ()))
                if _has_killed(runtime, owner):
                    finish_killed(runtime, owner)  # after the recorded turns; the next round forms these
                if time.monotonic() <= until:
                    runtime.journal.finish_work(owner)
                appraise_new(memory, owner, lambda: time.monotonic() > until or _is_waiting(folder))
                run_cycle_if_due(memory, owner)
            sweep(folder)
            (folder / LOG).unlink(missing_ok=True)
            return formed, True
    except Exception as trouble:  # any failure: without a terminal a note is all we can leave
        _complain(folder, trouble)
        return formed, False  # the next hook tries again


def _take_tool_results(runtime: Runtime, folder: Path) -> dict[Owner, list[str]]:
    """Record what tools did in killed sessions; returns the sessions that ended, by owner."""
    from nagori.edges.hooks.handlers import project_of
    from nagori.services.record_turns_or_spool import work_event
    from nagori.services.tool_outcome_log import take_abandoned, take_ends

    for head, results in take_abandoned(folder):
        tenant, user = head["owner"]
        agent, role, task = (
            str(head[name]) if head.get(name) else None for name in ("agent", "role", "task")
        )
        role = role or (head.get("speaker") if agent else None)
        project = head.get("project") or project_of(head.get("folder"))
        scope = Scope(tenant=tenant, user=user, project=project, agent=agent, role=role, task=task)
        event = work_event(scope, results, runtime.clock.now(), str(head["session"]), host=head.get("host"))
        with suppress(MemoryErased):
            record_turns(runtime.journal, scope.owner, [event])
    ended: dict[Owner, list[str]] = {}
    for owner, session in take_ends(folder):
        ended.setdefault(owner, []).append(session)
    return ended


def _owners_with_work(runtime: Runtime) -> list[Owner]:
    """Owners with requested work, a due cycle, or prompts left open by a killed session."""
    now = runtime.clock.now()
    day_ago = now - timedelta(hours=runtime.config.compression.interval_hours)
    nights = runtime.store.owners_due(CYCLE, day_ago.isoformat())
    killed = runtime.store.owners_due(OPEN_SINCE, (now - KILLED).isoformat())
    return list(dict.fromkeys([*runtime.journal.requested_work(), *nights, *killed]))


def _has_killed(runtime: Runtime, owner: Owner) -> bool:
    """Whether a prompt has waited so long for its answer that its session must have been killed."""
    since = runtime.store.state(owner, OPEN_SINCE)
    return since is not None and since <= (runtime.clock.now() - KILLED).isoformat()


def _files(journal: Journal) -> FileJournal:
    assert isinstance(journal, FileJournal)
    return journal


def appraise_new(memory: Nagori, owner: Owner, stop: Callable[[], bool]) -> None:
    """Appraise by the model, if one is configured; new turns take precedence."""
    if memory.runtime.llm is not None:
        with suppress(Conflict):  # another process is doing it
            memory.with_scope(Scope(tenant=owner[0], user=owner[1])).appraise(stop=stop)


def run_cycle_if_due(memory: Nagori, owner: Owner) -> None:
    """Run the cycle if it is due and no schedule is installed. A plan that would move most of a large store
    waits for confirmation."""
    runtime, now = memory.runtime, memory.runtime.clock.now()
    last, interval = (
        runtime.store.state(owner, CYCLE),
        timedelta(hours=runtime.config.compression.interval_hours),
    )
    if last is None or datetime.fromisoformat(last) > now:  # a new store starts its first day
        first = Event("cycle_finished", now, by="cycle")
        runtime.ledger.write(owner, lambda: [first])
    elif now - datetime.fromisoformat(last) >= interval:
        there = memory.with_scope(Scope(tenant=owner[0], user=owner[1]))
        plan = there.plan()
        if plan.asks:
            note_stopped(runtime, owner, plan)
            return
        with suppress(Conflict):  # another process runs the cycle
            there.cycle(plan)


def _is_spooled(folder: Path) -> bool:
    return any((folder / SPOOL).glob("*.jsonl"))


def _is_waiting(folder: Path) -> bool:
    """Whether there is work: in the spool, or requested."""
    if _is_spooled(folder) or any((folder / HOT).glob("*.ended")):
        return True
    try:
        return bool(FileJournal(folder / "journal").requested_work())
    except (NagoriError, OSError):
        return False


def _notice(trouble: Exception) -> Notice:
    reason = trouble.notice if isinstance(trouble, NagoriError) else str(trouble)
    return Notice("error.unexpected", kind=type(trouble).__name__, reason=reason)


def _complain(folder: Path, trouble: Exception) -> None:
    """For `nagori doctor`: the last failure, without memory texts."""
    with suppress(OSError):
        (folder / LOG).write_text(json.dumps(_notice(trouble).to_record()) + "\n", encoding="utf-8")
        (folder / LOG).chmod(0o600)
