"""Erase a whole owner, step by step: every part of the memory is one step, and each can be repeated."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from nagori.core.storage_types import Owner
from nagori.errors import Conflict
from nagori.journals.file import FileJournal
from nagori.runtime import Progress, Runtime, no_progress
from nagori.services.backup import STORE, folders_aside, remove_abandoned_copies
from nagori.services.discard_llm_batches import discard_batches
from nagori.services.erasure_receipt import ErasureStep
from nagori.services.record_turns_or_spool import erase_spool
from nagori.services.tool_outcome_log import erase_results
from nagori.word_caches import clear_word_caches

AT_ONCE = 20  # memories of the store in one transaction: others wait no longer
PAUSE = 0.002  # least seconds between two transactions
COMPACT_STEPS = 2_000
PATIENCE = 60.0  # seconds to wait for readers, and for a rebuild that is running


def erase_owner(runtime: Runtime, owner: Owner, progress: Progress = no_progress) -> list[ErasureStep]:
    """All steps, in this order; each can be repeated. Every step says what it removed and what it left."""
    steps: list[ErasureStep] = []
    for number, step in enumerate(OWNER_STEPS, 1):
        steps += step(runtime, owner)
        progress(number, len(OWNER_STEPS))
    runtime.journal.finish_erasure(owner)
    runtime.observe("erasure.finished")
    return steps


def erase_here(runtime: Runtime, owner: Owner) -> None:
    """The steps that concern this machine alone, for an owner who was erased on another one."""
    for step in LOCAL_STEPS:
        step(runtime, owner)
    clear_word_caches()
    runtime.observe("erasure.followed")


def _erase_journal(runtime: Runtime, owner: Owner) -> list[ErasureStep]:
    """The tombstone, then the events. Pending batches are noted in the store, so they are still known."""
    before = runtime.journal.last_seq(owner)
    runtime.journal.erase(owner)
    return [ErasureStep("journal", before, runtime.journal.last_seq(owner))]


def _erase_spool(runtime: Runtime, owner: Owner) -> list[ErasureStep]:
    removed = erase_spool(runtime.data_dir, owner) + erase_results(runtime.data_dir, owner)
    left = erase_spool(runtime.data_dir, owner) + erase_results(runtime.data_dir, owner)
    return [ErasureStep("spool", removed, left)]


def _erase_batches(runtime: Runtime, owner: Owner) -> list[ErasureStep]:
    return discard_batches(runtime, owner)


def _erase_copies(runtime: Runtime, owner: Owner) -> list[ErasureStep]:
    """Copies of the store, and folders that a restore put aside. A rebuild that began before has read the
    journal: its end is waited for."""
    if not hasattr(runtime.store, "erase_copies"):
        return []
    aside = folders_aside(runtime.data_dir)
    for folder in aside:
        journal = FileJournal(folder / "journal")
        journal.erase(owner)
        journal.finish_erasure(owner)
        erase_spool(folder, owner)
        erase_results(folder, owner)
    wait_for_copies(runtime, owner, [folder / STORE for folder in aside])
    return [ErasureStep("copies", len(aside))]


def _erase_session_copies(runtime: Runtime, owner: Owner) -> list[ErasureStep]:
    if not has_copies(runtime):
        return []
    from nagori.services.redis_and_parquet_copies import remove_copies

    return [ErasureStep("logs", remove_copies(runtime, owner), remove_copies(runtime, owner))]


def _erase_graph(runtime: Runtime, owner: Owner) -> list[ErasureStep]:
    if not runtime.config.graph.mirror:
        return []
    from nagori.services.graph_mirror import erase_graph

    return [ErasureStep("graph", erase_graph(runtime, owner), erase_graph(runtime, owner))]


def _erase_rows(runtime: Runtime, owner: Owner) -> list[ErasureStep]:
    removed, begin = 0, time.monotonic()
    while count := runtime.store.erase(owner, AT_ONCE):
        removed += count
        # Who waits for the database looks again after a while: leave it free as long as it was held.
        time.sleep(max(PAUSE, time.monotonic() - begin))
        begin = time.monotonic()
    left = runtime.store.applied(owner).seq + (owner in runtime.store.known_owners())
    return [ErasureStep("rows", removed, left)]


def _erase_pages(runtime: Runtime, owner: Owner) -> list[ErasureStep]:
    if not compact_store(runtime):
        raise Conflict("error.erasure_waits")
    return [ErasureStep("pages", 1)]


def _erase_notes(runtime: Runtime, owner: Owner) -> list[ErasureStep]:
    """Notes about failures, which may name files of the owner, and what killed backups left."""
    hosts, removed = runtime.data_dir / "hosts", 0
    for path in (*hosts.glob("*.json"), *hosts.glob("failed-*"), *runtime.data_dir.glob("*.log")):
        path.unlink(missing_ok=True)
        removed += 1
    return [ErasureStep("notes", removed + remove_abandoned_copies(runtime.data_dir))]


OWNER_STEPS: tuple[Callable[[Runtime, Owner], list[ErasureStep]], ...] = (
    _erase_journal,
    _erase_spool,
    _erase_batches,
    _erase_copies,
    _erase_session_copies,
    _erase_graph,
    _erase_rows,
    _erase_pages,
    _erase_notes,
)
LOCAL_STEPS = tuple(step for step in OWNER_STEPS if step not in (_erase_journal, _erase_batches))


# --- what the erasure of a part needs, too --------------------------------------------------------


def has_copies(runtime: Runtime) -> bool:
    return bool(runtime.config.sessions.log_dir or runtime.config.sessions.cache)


def wait_for_copies(runtime: Runtime, owner: Owner, others: Sequence[Path]) -> None:
    """Remove an owner from copies of the store, and wait for a rebuild that is running."""
    deadline = time.monotonic() + PATIENCE
    while runtime.store.erase_copies(owner, others):  # type: ignore[attr-defined]
        if time.monotonic() > deadline:
            raise Conflict("error.erasure_waits")
        time.sleep(0.05)


def compact_store(runtime: Runtime) -> bool:
    """Remove deleted bytes from the store's files; False if readers prevented it: then it stays due."""
    compact = getattr(runtime.store, "compact", None)
    deadline = time.monotonic() + PATIENCE
    while compact is not None and not compact(COMPACT_STEPS):
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE)
    return True
