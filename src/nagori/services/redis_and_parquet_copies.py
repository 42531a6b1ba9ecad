"""Copies of sessions for other programs: the last day in a cache, all turns as Parquet logs.

The journal is the queue that both are made from: the log says itself how far it goes, and the cache is
written whole. So a copy that is lost, late or killed half-way is made again, and no answer depends on one.
What was forgotten, redacted or erased leaves them, too. They are plain text, so an encrypted folder has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from struct import unpack
from typing import Any

from nagori.core.events import RecordedTurn
from nagori.core.model import THREAD, Filter, Kind, Memory, Scope, TurnFilter, is_thread_summary
from nagori.core.storage_types import Owner
from nagori.errors import InvalidInput, Notice, StoreError
from nagori.files import ENCRYPTION_NOTE
from nagori.runtime import Runtime
from nagori.services.related_memories_and_stale_links import find_outdated

AT_ONCE = 5_000  # turns in one file
CACHED_HOURS = 24.0
MOST_CACHED = 500


def copy_sessions(runtime: Runtime, owner: Owner, *, clean: bool = False) -> None:
    """Bring the copies up to date; with `clean`, remove from them what is gone from the store. A server or a
    folder that cannot be reached is reported, and tried again next time."""
    copies: list[Callable[[Runtime, Owner], object]] = [_copy_log, clean_copies if clean else _copy_cache]
    if _is_encrypted(runtime):
        runtime.observe("sessions.copies_refused", reason=Notice("error.copies_plain"))
        copies = [remove_copies]
    for copy in copies:
        try:
            copy(runtime, owner)
        except (StoreError, OSError) as trouble:
            runtime.observe("sessions.copy_failed", error=trouble)


def remove_copies(runtime: Runtime, owner: Owner) -> int:
    """Delete everything of an owner from the copies; returns the number of files and records. A copy that
    cannot be reached raises: an erasure must not end before it."""
    logs, cache = runtime.logs, runtime.session_cache
    return (logs.erase(owner) if logs else 0) + (cache.erase(owner) if cache else 0)


def clean_copies(runtime: Runtime, owner: Owner) -> int:
    """Remove from the copies what the store does not hold any more; returns the number of turns."""
    logs, removed = runtime.logs, 0
    if logs and logs.position(owner):
        removed = logs.keep_only(owner, frozenset(turn.seq for turn in _kept_turns(runtime, owner, 0)))
    _copy_cache(runtime, owner)
    return removed


def export_log(runtime: Runtime, scope: Scope) -> int:
    """Write the log up to now; returns the number of the last event in it."""
    runtime.ledger.catch_up(scope.owner, turns=True)
    if runtime.logs is None:
        raise InvalidInput("sessions.log_dir", "error.no_log")
    if _is_encrypted(runtime):
        raise InvalidInput("sessions.log_dir", "error.copies_plain")
    _copy_log(runtime, scope.owner)
    clean_copies(runtime, scope.owner)
    return runtime.logs.position(scope.owner)


def query_log(runtime: Runtime, scope: Scope, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Columns and rows of one SELECT over the user's own turns. Only the user may ask, not an agent."""
    if not scope.is_user:
        raise InvalidInput("scope", "error.log_needs_user")
    export_log(runtime, scope)
    assert runtime.logs is not None
    return runtime.logs.query(scope.owner, sql)


def _copy_log(runtime: Runtime, owner: Owner) -> None:
    if (logs := runtime.logs) is None:
        return
    page: list[RecordedTurn] = []
    for turn in _kept_turns(runtime, owner, logs.position(owner)):
        page.append(turn)
        if len(page) == AT_ONCE:
            logs.append(owner, page)
            page = []
    logs.append(owner, page)


def _is_encrypted(runtime: Runtime) -> bool:
    return (runtime.data_dir / ENCRYPTION_NOTE).exists()


def _kept_turns(runtime: Runtime, owner: Owner, after: int) -> Iterator[RecordedTurn]:
    """The turns that the log keeps: all, or those of the last days."""
    days = runtime.config.sessions.log_days
    since = runtime.clock.now() - timedelta(days=days) if days else None
    return (turn for turn in _turns(runtime, owner, after) if since is None or turn.at >= since)


def _turns(runtime: Runtime, owner: Owner, after: int) -> Iterator[RecordedTurn]:
    """Processed turns; of others it is not known yet whether they may be kept."""
    while page := runtime.store.turns(owner, TurnFilter(after=after, first=AT_ONCE)):
        for turn in page:
            if not turn.processed:
                return
            yield turn
        after = page[-1].seq


def _copy_cache(runtime: Runtime, owner: Owner) -> None:
    if (cache := runtime.session_cache) is None:
        return
    scope = Scope(tenant=owner[0], user=owner[1])
    since = runtime.clock.now() - timedelta(hours=CACHED_HOURS)
    kinds = frozenset({Kind.SUMMARY})
    found = runtime.store.find(scope, Filter(kinds=kinds, since=since), limit=MOST_CACHED)
    outdated = find_outdated(runtime, scope, found)
    told = [memory for memory in found if is_thread_summary(memory) and memory.id not in outdated]
    model = runtime.vectors.active(owner)
    vectors = runtime.vectors.get(owner, model, [memory.digest for memory in told]) if model else {}
    cache.replace(
        owner,
        {str(memory.source.uri): _record(memory, model, vectors.get(memory.digest)) for memory in told},
    )


def _record(memory: Memory, model: str | None, vector: bytes | None) -> dict[str, Any]:
    return {
        "thread": str(memory.source.uri).removeprefix(THREAD),
        "memory": memory.id,
        "summary": memory.fullest.content,
        "keywords": list(memory.keywords),
        "model": model if vector else None,
        "embedding": list(unpack(f"<{len(vector) // 4}f", vector)) if vector else None,
        "created_at": memory.created.isoformat(),
    }
