"""Erase on demand: a whole owner, a project, a session, one memory, or what was said about something.

    plan     what will go, by part and count, and a token of exactly this
    erase    with the token: remove it everywhere, search every file for it, return a signed receipt

A part of an owner: one event removes it from the store and is the request to redact the journal. A whole
owner: the tombstone refuses new writes first, then every part is removed. Both can be killed anywhere; the
request stands until everything is done, and the next worker, cycle or `resume` goes on. Protection does not
prevent an erasure, and nothing brings the words back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nagori.core.event_redaction import redaction_for
from nagori.core.events import TO_ERASE, TO_REDACT, Event, checksum_of
from nagori.core.model import Scope, TurnFilter
from nagori.core.storage_types import Owner
from nagori.core.value_object import replace
from nagori.errors import Conflict, InvalidInput
from nagori.event_ledger import Decision, read_memories
from nagori.journals.file import FileJournal
from nagori.leases import lease
from nagori.runtime import Progress, Runtime, no_progress
from nagori.services import audit_log
from nagori.services.backup import STORE, folders_aside
from nagori.services.byte_search import choose_passages
from nagori.services.discard_llm_batches import discard_batches
from nagori.services.erase_owner import compact_store, erase_owner, has_copies, wait_for_copies
from nagori.services.erasure_plan import (
    ErasurePlan,
    ErasureTarget,
    own_folders,
    plan_erasure,
    results_about,
    texts_of,
)
from nagori.services.erasure_receipt import ErasureReceipt, ErasureStep
from nagori.services.record_turns_or_spool import erase_spool
from nagori.services.redact_journal_and_compact_store import redact_purged
from nagori.services.search_leftovers_and_sign_receipt import draft_receipt, issue_receipt
from nagori.services.tool_outcome_log import erase_results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME_LETTERS = 4  # a shorter name of an owner stands in files by chance


def erase(
    runtime: Runtime, scope: Scope, target: ErasureTarget, token: str, progress: Progress = no_progress
) -> ErasureReceipt:
    """Erase what the token confirms. Conflict if that is no longer exactly the plan."""
    plan = plan_erasure(runtime, scope, target)
    if plan.token != token:
        raise Conflict("error.erasure_changed")
    requested = runtime.clock.now()
    passages = choose_passages(texts_of(runtime, plan))
    audit_log.record(runtime, "erasure_requested", plan.owner, target=target.kind, counts=dict(plan.counts))
    if target.kind == "owner":
        steps = erase_owner(runtime, plan.owner, progress)
        passages = [*_names_of(plan.owner), *passages]
    else:
        with lease(runtime, plan.owner, "erase"):
            steps = _erase_part(runtime, plan)
    draft = draft_receipt(runtime, plan.owner, target, requested, steps, passages)
    return issue_receipt(runtime, replace(draft, counts=plan.counts))


def resume(runtime: Runtime) -> list[ErasureReceipt]:
    """Finish all erasures that were interrupted."""
    receipts = resume_owners(runtime)
    for owner in runtime.journal.owners():
        runtime.ledger.catch_up(owner)
        if runtime.store.state(owner, TO_ERASE):
            now, (events, clean, copies) = runtime.clock.now(), finish_parts(runtime, owner)
            steps = [ErasureStep("journal", events), ErasureStep("pages", 1, int(not clean)), *copies]
            draft = draft_receipt(runtime, owner, ErasureTarget("part"), now, steps, [])
            receipts.append(issue_receipt(runtime, replace(draft, interrupted=True)))
    return receipts


def resume_owners(runtime: Runtime) -> list[ErasureReceipt]:
    """Finish interrupted erasures of whole owners. Their words are not known any more: the files are searched
    for the name."""
    receipts = []
    for owner in runtime.journal.unfinished_erasures():
        now, steps = runtime.clock.now(), erase_owner(runtime, owner)
        draft = draft_receipt(runtime, owner, ErasureTarget("owner"), now, steps, _names_of(owner))
        receipts.append(issue_receipt(runtime, replace(draft, interrupted=True)))
    return receipts


def repeat_erasure(runtime: Runtime, owner: Owner, data: Mapping[str, Any]) -> None:
    """Erase a part again, in data that was restored from before."""
    event = Event("erased", runtime.clock.now(), {"memories": data["memories"], "turns": data["turns"]})
    runtime.ledger.write(owner, lambda: [event])
    finish_parts(runtime, owner)


def reopen(runtime: Runtime, owner: Owner) -> None:
    """Let an erased owner start again, with an empty memory."""
    if not runtime.journal.is_erased(owner):
        raise InvalidInput("user", "error.not_erased")
    runtime.journal.reopen(owner)
    audit_log.record(runtime, "reopened", owner)


def _names_of(owner: Owner) -> list[str]:
    return [owner[1]] if len(owner[1]) >= NAME_LETTERS else []


# --- a part of an owner ---------------------------------------------------------------------------


def _erase_part(runtime: Runtime, plan: ErasurePlan) -> list[ErasureStep]:
    owner, target = plan.owner, plan.target
    batches = discard_batches(runtime, owner, frozenset(plan.memories))
    concerns = results_about(target)
    results = [erase_results(folder, owner, concerns) for folder in own_folders(runtime)]
    copies = _erase_part_of_copies(
        runtime, plan
    )  # first: later our journal no longer says which turns these are
    data: dict[str, Any] = {"memories": list(plan.memories), "turns": list(plan.turns)}
    data |= {"sessions": [target.name]} if target.kind == "session" else {}

    def decide() -> Decision:
        return Decision([Event("erased", runtime.clock.now(), data)])

    [event] = runtime.ledger.write(owner, decide).events
    events, compact, cleaned = finish_parts(runtime, owner)
    kept = read_memories(runtime.store, owner, plan.memories)
    redact = redaction_for(event)
    left = sum(1 for each in runtime.journal.read(owner) if redact(each) != each)
    return [
        ErasureStep("memories", len(plan.memories), len(kept)),
        ErasureStep("turns", len(plan.turns), _turns_left(runtime, owner, plan.turns)),
        ErasureStep("journal", events, left),
        ErasureStep("pages", 1, int(not compact)),
        ErasureStep("copies", copies),
        *cleaned,
        *([ErasureStep("spool", sum(results))] if any(results) else ()),
        *batches,
    ]


def _erase_part_of_copies(runtime: Runtime, plan: ErasurePlan) -> int:
    """Remove a part from folders that a restore put aside, and from copies of the store; returns the number
    of folders. A copy of the store loses all of the owner, or is deleted: the journal has the rest."""
    owner, changed = plan.owner, 0
    for folder in folders_aside(runtime.data_dir):
        if _redact_aside(runtime, FileJournal(folder / "journal"), plan):
            for file in folder.glob(f"{STORE}*"):
                file.unlink(missing_ok=True)
            changed += 1
        erase_spool(folder, owner)
    if hasattr(runtime.store, "erase_copies"):
        wait_for_copies(runtime, owner, [])
    return changed


def _redact_aside(runtime: Runtime, aside: FileJournal, plan: ErasurePlan) -> bool:
    """Redact a part in another journal of the same owner. A turn counts only if both have the same event at
    its number: they may have parted."""
    owner, journal = plan.owner, runtime.journal
    if not aside.identity(owner) or aside.identity(owner) != journal.identity(owner):
        return False

    def is_same(seq: int) -> bool:
        mine, theirs = journal.event(owner, seq), aside.event(owner, seq)
        return mine is not None and theirs is not None and checksum_of(mine) == checksum_of(theirs)

    turns = [seq for seq in plan.turns if is_same(seq)]
    sessions = [plan.target.name] if plan.target.kind == "session" else []
    data = {"memories": list(plan.memories), "turns": turns, "sessions": sessions}
    with aside.locked(owner) as last:
        redact = redaction_for(Event("erased", runtime.clock.now(), data, seq=last + 1))
        found = ((event, redact(event)) for event in aside.read(owner))
        return aside.redact(owner, {event.seq: other for event, other in found if other != event}) > 0


def _turns_left(runtime: Runtime, owner: Owner, seqs: Sequence[int]) -> int:
    return len(runtime.store.turns(owner, TurnFilter(seqs=tuple(seqs)))) if seqs else 0


def finish_parts(runtime: Runtime, owner: Owner) -> tuple[int, bool, list[ErasureStep]]:
    """Redact the journal for every erasure that stands, then remove the bytes from the store's files. Returns
    the number of redacted events, whether the files are clean, and what left the graph. Doing it again
    changes nothing."""
    waiting = runtime.store.state(owner, TO_ERASE) or []
    copies: list[ErasureStep] = []
    if waiting and has_copies(runtime):  # first: while a copy cannot be reached, the erasure stands
        from nagori.services.redis_and_parquet_copies import clean_copies

        clean_copies(runtime, owner)
    if waiting and runtime.config.graph.mirror:
        from nagori.services.graph_mirror import clean_graph

        copies.append(ErasureStep("graph", clean_graph(runtime, owner), clean_graph(runtime, owner)))
    events = sum(_redact_erasure(runtime, owner, int(seq)) for seq in waiting)
    while waiting and runtime.store.state(owner, TO_REDACT):
        redact_purged(runtime, owner)
    compact = not waiting or compact_store(runtime)
    if waiting and compact:  # last: until the bytes are gone, the erasure stands
        done = Event("redacted", runtime.clock.now(), {"erasures": list(waiting)}, by="user")
        runtime.ledger.write(owner, lambda: [done])
    return events, compact, copies


def _redact_erasure(runtime: Runtime, owner: Owner, seq: int) -> int:
    """Read the journal without its lock, because it may be long; then exchange the events concerned."""
    erasure, count = runtime.journal.event(owner, seq), 0
    if erasure is not None:
        redact = redaction_for(erasure)
        found = ((event, redact(event)) for event in runtime.journal.read(owner))
        changed = {event.seq: other for event, other in found if other != event}
        count = runtime.ledger.replace_events(owner, changed)
    runtime.observe("erasure.redacted", owner=owner, events=count)
    return count
