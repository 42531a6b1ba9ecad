"""Erase on demand: a whole owner, a project, a session, one memory, or what was said about something.

    plan     what will go, by part and count, and a token of exactly this
    erase    with the token: remove it everywhere, search every file for it, return a signed receipt

A part of an owner: one event removes it from the store and is the request to redact the journal. A whole
owner: the tombstone refuses new writes first, then every part is removed. Both can be killed anywhere; the
request stands until everything is done, and the next worker, cycle or `resume` goes on. Protection does not
prevent an erasure, and nothing brings the words back.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path
from unicodedata import normalize

from nagori.core.event_redaction import redaction_for
from nagori.core.events import TO_ERASE, TO_REDACT, Event, RecordedTurn, checksum_of
from nagori.core.model import Filter, Memory, RelationType, Scope, TurnFilter, is_thread_summary
from nagori.core.storage_types import Owner
from nagori.core.values import Value, replace
from nagori.errors import Conflict, InvalidInput, ModelError, Notice
from nagori.journals.file import FileJournal
from nagori.leases import is_running, lease
from nagori.ledger import Decision, read_memories
from nagori.protocols import BatchLLM
from nagori.runtime import Progress, Runtime, no_progress
from nagori.services import audit_log
from nagori.services.backup import STORE, WORK, folders_aside
from nagori.services.byte_search import ENCODINGS, choose_passages, search_files
from nagori.services.edit import read_version
from nagori.services.purge import redact_purged
from nagori.services.recall import RecallRequest, recall
from nagori.services.receipt import (
    KEY_FILE,
    ErasureReceipt,
    ErasureStep,
    SearchReport,
    create_key,
    sign,
)
from nagori.services.record_turns import erase_spool, take_spool
from nagori.services.tool_outcome_log import Concerns, Result, erase_results, find_results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EVERYTHING = Filter(archived=True, forgotten=True)
KINDS = ("owner", "project", "session", "memory", "about")
PAGE = 1000
AT_ONCE = 20  # memories of the store in one transaction: others wait no longer
PAUSE = 0.002  # least seconds between two transactions
SURE = 0.5  # least confidence of a memory that is "about" something without saying the words
MOST_ABOUT = 50  # memories that are found by meaning
EXAMPLES = 10
SEARCHED_BYTES = 16_000_000_000  # of all passages together: some seconds
COMPACT_STEPS = 2_000
PATIENCE = 60.0  # seconds to wait for readers, and for a rebuild that is running
NAME_LETTERS = 4  # a shorter name of an owner stands in files by chance
STAGES = ("appraise", "summary", "trace")  # whose batches a provider may have


class ErasureTarget(Value):
    """What to erase: the kind, and its name, id or words ("" for an owner)."""

    kind: str
    name: str = ""


class ErasurePlan(Value):
    """What an erasure will remove. `token` confirms exactly this; `examples` are some of the memories."""

    target: ErasureTarget
    owner: Owner
    memories: tuple[str, ...]
    derived: tuple[str, ...]  # of these memories, those that were made from others
    turns: tuple[int, ...]
    counts: Mapping[str, int]
    examples: tuple[Memory, ...]
    token: str


# --- planning -------------------------------------------------------------------------------------


def plan_erasure(runtime: Runtime, scope: Scope, target: ErasureTarget) -> ErasurePlan:
    """What would go. Only the user may ask, not an agent in their name."""
    if not scope.is_user:
        raise InvalidInput("scope", "error.erase_needs_user")
    if target.kind not in KINDS:
        raise InvalidInput("target", "error.not_choice", value=target.kind, choices=", ".join(KINDS))
    owner = scope.owner
    whole = Scope(tenant=owner[0], user=owner[1])
    if target.kind == "owner":
        return _plan_owner(runtime, whole, target)
    if isinstance(runtime.journal, FileJournal):
        take_spool(runtime.journal, runtime.data_dir)  # a turn that waits there belongs to a session, too
    runtime.ledger.catch_up(owner, turns=True, wait=True)
    memories, turns = SELECTIONS[target.kind](runtime, whole, target.name)
    derived = _find_derived(runtime, whole, memories)
    chosen = {memory.id: memory for memory in (*memories, *derived)}
    own = sorted(id for id, memory in chosen.items() if not is_thread_summary(memory))  # these quote others
    turns |= {turn for id, turn in runtime.store.origins(owner, own) if id in own}
    concerns = results_about(target)
    results = sum(len(find_results(folder, owner, concerns)) for folder in _own_folders(runtime))
    if not chosen and not turns and not results:
        raise InvalidInput("target", "error.erase_nothing")
    ids, seqs = tuple(sorted(chosen)), tuple(sorted(turns))
    return ErasurePlan(
        target=target,
        owner=owner,
        memories=ids,
        derived=tuple(sorted(memory.id for memory in derived)),
        turns=seqs,
        counts=_count_part(runtime, whole, ids, seqs, len(derived)) | ({"spool": results} if results else {}),
        examples=tuple(islice(chosen.values(), EXAMPLES)),
        token=_token(runtime, owner, target, ids, seqs),
    )


def _token(
    runtime: Runtime, owner: Owner, target: ErasureTarget, ids: Sequence[str] = (), seqs: Sequence[int] = ()
) -> str:
    """A digest of what exactly is erased. Events that concern something else do not change it."""
    said = (*owner, runtime.journal.identity(owner), target.kind, target.name, *ids, *map(str, seqs))
    return sha256("\x1f".join(said).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _plan_owner(runtime: Runtime, scope: Scope, target: ErasureTarget) -> ErasurePlan:
    owner = scope.owner
    if not _exists(runtime, owner):
        raise InvalidInput("target", "error.erase_nothing")
    if not runtime.journal.is_erased(owner):
        runtime.ledger.catch_up(owner, turns=True, wait=True)
    examples = _pages(runtime, scope, EXAMPLES)
    counts = _count_owner(runtime, scope)
    token = _token(runtime, owner, target)
    return ErasurePlan(target, owner, (), (), (), counts, tuple(islice(examples, EXAMPLES)), token)


def _exists(runtime: Runtime, owner: Owner) -> bool:
    journal = runtime.journal
    known = owner in journal.unfinished_erasures() or owner in runtime.store.known_owners()
    return known or journal.last_seq(owner) > 0 or bool(journal.identity(owner))


def _count_owner(runtime: Runtime, scope: Scope) -> dict[str, int]:
    owner, counts = scope.owner, runtime.store.count(scope)
    return {
        "events": runtime.journal.last_seq(owner),
        "memories": counts.total + counts.forgotten,
        "turns": sum(1 for _ in _turns(runtime, owner)),
        "vectors": sum(runtime.vectors.models(owner).counts.values()),
        "log": len(runtime.store.history(owner)),
        "batches": len(_batches(runtime, owner)),
    }


def _count_part(
    runtime: Runtime, scope: Scope, ids: Sequence[str], seqs: Sequence[int], derived: int
) -> dict[str, int]:
    owner, chosen = scope.owner, frozenset(ids)
    log = {entry.seq for id in ids for entry in runtime.store.history(owner, id)}
    relations = runtime.store.relations(scope, ids)
    return {
        "events": len(log | set(seqs)),
        "memories": len(ids) - derived,
        "derived": derived,
        "turns": len(seqs),
        "relations": len(relations),
        "log": len(log),
        "batches": len(_batches(runtime, owner, chosen)),
    }


# --- what is meant --------------------------------------------------------------------------------

Selection = tuple[list[Memory], set[int]]


def _select_memory(runtime: Runtime, scope: Scope, id: str) -> Selection:
    return [read_version(runtime, scope, id)], set()


def _select_session(runtime: Runtime, scope: Scope, session: str) -> Selection:
    _check_name(session)
    memories = list(_pages(runtime, scope, filter=replace(EVERYTHING, session=session)))
    return memories, {turn.seq for turn in _turns(runtime, scope.owner, session)}


def _select_project(runtime: Runtime, scope: Scope, project: str) -> Selection:
    _check_name(project)
    memories = [memory for memory in _pages(runtime, scope) if memory.project == project]
    return memories, {turn.seq for turn in _turns(runtime, scope.owner) if turn.project == project}


def _select_about(runtime: Runtime, scope: Scope, words: str) -> Selection:
    """Everything that says these words, and memories that recall finds for them with confidence."""
    _check_name(words)
    wanted = _fold_text(words)
    asked = RecallRequest(words, MOST_ABOUT, EVERYTHING, min_confidence=SURE, mark=False)
    found = {r.memory.id: r.memory for r in recall(runtime, scope, asked)}
    found |= {
        memory.id: memory for memory in _pages(runtime, scope) if wanted in _fold_text(_all_words(memory))
    }
    return list(found.values()), {t.seq for t in _turns(runtime, scope.owner) if wanted in _fold_text(t.text)}


SELECTIONS: dict[str, Callable[[Runtime, Scope, str], Selection]] = {
    "memory": _select_memory,
    "session": _select_session,
    "project": _select_project,
    "about": _select_about,
}


def results_about(target: ErasureTarget) -> Concerns:
    """Which results of tools, that no turn has taken yet, are meant. One memory is older than all of them."""
    name, wanted = target.name, _fold_text(target.name)

    def concerns(head: Mapping[str, object], results: list[Result]) -> bool:
        match target.kind:
            case "session":
                return head.get("session") == name
            case "project":
                return head.get("project") == name or f"{head.get('folder')}/".startswith(f"{name}/")
            case "about":
                return any(wanted in _fold_text(f"{each[1]} {each[4]}") for each in results)
        return False

    return concerns


def _own_folders(runtime: Runtime) -> list[Path]:
    """The data folder, and those that a restore put aside."""
    return [runtime.data_dir, *folders_aside(runtime.data_dir)]


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput("target", "error.not_name", value=name)


def _fold_text(text: str) -> str:
    """Without differences in width, case and blanks."""
    return " ".join(normalize("NFKC", text).casefold().split())


def _all_words(memory: Memory) -> str:
    texts = (text.whole for text in memory.texts.values())
    return "\n".join((*texts, *memory.keywords, *map(str, memory.metadata.values())))


def _find_derived(runtime: Runtime, scope: Scope, memories: Sequence[Memory]) -> list[Memory]:
    """Memories made from these, and from those again: they hold the same words."""
    known = {memory.id for memory in memories}
    sharing = {id for id, _ in runtime.store.origins(scope.owner, sorted(known))} - known
    derived = [memory for memory in runtime.store.get(scope, sorted(sharing)) if is_thread_summary(memory)]
    known |= {memory.id for memory in derived}
    fresh = known
    while fresh:
        relations = runtime.store.relations(scope, sorted(fresh))
        sources = {r.source for r in relations if r.type is RelationType.DERIVED_FROM and r.target in fresh}
        fresh = sources - known
        known = known | fresh
        derived += runtime.store.get(scope, sorted(fresh))
    return derived


def _pages(runtime: Runtime, scope: Scope, size: int = PAGE, filter: Filter = EVERYTHING) -> Iterator[Memory]:
    last = None
    while page := runtime.store.find(scope, filter, limit=size, older_than=last):
        yield from page
        last = page[-1]


def _turns(runtime: Runtime, owner: Owner, session: str | None = None) -> Iterator[RecordedTurn]:
    after = 0
    while page := runtime.store.turns(owner, TurnFilter(session=session, after=after, first=PAGE)):
        yield from page
        after = page[-1].seq


# --- erasing --------------------------------------------------------------------------------------


def erase(
    runtime: Runtime, scope: Scope, target: ErasureTarget, token: str, progress: Progress = no_progress
) -> ErasureReceipt:
    """Erase what the token confirms. Conflict if that is no longer exactly the plan."""
    plan = plan_erasure(runtime, scope, target)
    if plan.token != token:
        raise Conflict("error.erasure_changed")
    requested = runtime.clock.now()
    passages = choose_passages(_texts_of(runtime, plan))
    audit_log.record(runtime, "erasure_requested", plan.owner, target=target.kind, counts=dict(plan.counts))
    if target.kind == "owner":
        steps = erase_owner(runtime, plan.owner, progress)
        passages = [*_names_of(plan.owner), *passages]
    else:
        with lease(runtime, plan.owner, "erase"):
            steps = _erase_part(runtime, plan)
    draft = _draft(runtime, plan.owner, target, requested, steps, passages)
    return _issue(runtime, replace(draft, counts=plan.counts))


def resume(runtime: Runtime) -> list[ErasureReceipt]:
    """Finish all erasures that were interrupted."""
    receipts = resume_owners(runtime)
    for owner in runtime.journal.owners():
        runtime.ledger.catch_up(owner)
        if runtime.store.state(owner, TO_ERASE):
            now, (events, clean, copies) = runtime.clock.now(), finish_parts(runtime, owner)
            steps = [ErasureStep("journal", events), ErasureStep("pages", 1, int(not clean)), *copies]
            draft = _draft(runtime, owner, ErasureTarget("part"), now, steps, [])
            receipts.append(_issue(runtime, replace(draft, interrupted=True)))
    return receipts


def resume_owners(runtime: Runtime) -> list[ErasureReceipt]:
    """Finish interrupted erasures of whole owners. Their words are not known any more: the files are searched
    for the name."""
    receipts = []
    for owner in runtime.journal.unfinished_erasures():
        now, steps = runtime.clock.now(), erase_owner(runtime, owner)
        draft = _draft(runtime, owner, ErasureTarget("owner"), now, steps, _names_of(owner))
        receipts.append(_issue(runtime, replace(draft, interrupted=True)))
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


def _texts_of(runtime: Runtime, plan: ErasurePlan) -> list[str]:
    """What the plan erases, as it was said; of a whole owner the newest part of it."""
    owner = plan.owner
    scope = Scope(tenant=owner[0], user=owner[1])
    if plan.target.kind == "owner":
        memories = list(islice(_pages(runtime, scope), PAGE))
        turns = runtime.store.turns(owner, TurnFilter(last=PAGE))
    else:
        memories = runtime.store.get(scope, plan.memories)
        turns = runtime.store.turns(owner, TurnFilter(seqs=plan.turns))
    texts = [text.content for memory in memories for text in memory.texts.values()]
    return texts + [turn.text for turn in turns]


def _names_of(owner: Owner) -> list[str]:
    return [owner[1]] if len(owner[1]) >= NAME_LETTERS else []


# --- a part of an owner ---------------------------------------------------------------------------


def _erase_part(runtime: Runtime, plan: ErasurePlan) -> list[ErasureStep]:
    owner, target = plan.owner, plan.target
    batches = _discard_batches(runtime, owner, frozenset(plan.memories))
    concerns = results_about(target)
    results = [erase_results(folder, owner, concerns) for folder in _own_folders(runtime)]
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
        _wait_for_copies(runtime, owner, [])
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
    if waiting and _has_copies(runtime):  # first: while a copy cannot be reached, the erasure stands
        from nagori.services.redis_and_parquet_copies import clean_copies

        clean_copies(runtime, owner)
    if waiting and runtime.config.graph.mirror:
        from nagori.services.graph_mirror import clean_graph

        copies.append(ErasureStep("graph", clean_graph(runtime, owner), clean_graph(runtime, owner)))
    events = sum(_redact_erasure(runtime, owner, int(seq)) for seq in waiting)
    while waiting and runtime.store.state(owner, TO_REDACT):
        redact_purged(runtime, owner)
    compact = not waiting or _compact(runtime)
    if waiting and compact:  # last: until the bytes are gone, the erasure stands
        done = Event("redacted", runtime.clock.now(), {"erasures": list(waiting)}, by="user")
        runtime.ledger.write(owner, lambda: [done])
    return events, compact, copies


def _has_copies(runtime: Runtime) -> bool:
    return bool(runtime.config.sessions.log_dir or runtime.config.sessions.cache)


def _erase_session_copies(runtime: Runtime, owner: Owner) -> list[ErasureStep]:
    if not _has_copies(runtime):
        return []
    from nagori.services.redis_and_parquet_copies import remove_copies

    return [ErasureStep("logs", remove_copies(runtime, owner), remove_copies(runtime, owner))]


def _erase_graph(runtime: Runtime, owner: Owner) -> list[ErasureStep]:
    if not runtime.config.graph.mirror:
        return []
    from nagori.services.graph_mirror import erase_graph

    return [ErasureStep("graph", erase_graph(runtime, owner), erase_graph(runtime, owner))]


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


def _compact(runtime: Runtime) -> bool:
    """Remove deleted bytes from the store's files; False if readers prevented it: then it stays due."""
    compact = getattr(runtime.store, "compact", None)
    deadline = time.monotonic() + PATIENCE
    while compact is not None and not compact(COMPACT_STEPS):
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE)
    return True


# --- a whole owner --------------------------------------------------------------------------------


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
    return _discard_batches(runtime, owner)


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
    _wait_for_copies(runtime, owner, [folder / STORE for folder in aside])
    return [ErasureStep("copies", len(aside))]


def _wait_for_copies(runtime: Runtime, owner: Owner, others: Sequence[Path]) -> None:
    """Remove an owner from copies of the store, and wait for a rebuild that is running."""
    deadline = time.monotonic() + PATIENCE
    while runtime.store.erase_copies(owner, others):  # type: ignore[attr-defined]
        if time.monotonic() > deadline:
            raise Conflict("error.erasure_waits")
        time.sleep(0.05)


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
    if not _compact(runtime):
        raise Conflict("error.erasure_waits")
    return [ErasureStep("pages", 1)]


def _erase_notes(runtime: Runtime, owner: Owner) -> list[ErasureStep]:
    """Notes about failures, which may name files of the owner, and what killed backups left."""
    hosts, removed = runtime.data_dir / "hosts", 0
    for path in (*hosts.glob("*.json"), *hosts.glob("failed-*"), *runtime.data_dir.glob("*.log")):
        path.unlink(missing_ok=True)
        removed += 1
    for path in runtime.data_dir.glob(f"{WORK}*"):
        number = path.name.removeprefix(WORK).partition("-")[0]
        if not number.isdecimal() or not is_running(int(number)):
            shutil.rmtree(path, ignore_errors=True)
            removed += 1
    return [ErasureStep("notes", removed)]


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


# --- batches at a provider ------------------------------------------------------------------------


def _batches(runtime: Runtime, owner: Owner, about: frozenset[str] | None = None) -> list[tuple[str, Any]]:
    """Submitted batches with any of these memories (None: all), and the state keys that name them."""
    found = []
    for stage in STAGES:
        for sent in runtime.store.state(owner, f"batches:{stage}") or ():
            marks = {str(m).partition("@")[0] for _, many in sent[3].values() for m in many}
            if about is None or marks & about:
                found.append((f"batches:{stage}", sent))
    return found


def _discard_batches(
    runtime: Runtime, owner: Owner, about: frozenset[str] | None = None
) -> list[ErasureStep]:
    """Ask the provider to delete its copies. One that cannot be reached keeps them until it deletes them
    itself."""
    found, left = _batches(runtime, owner, about), 0
    for key, sent in found:
        try:
            if not isinstance(runtime.llm, BatchLLM):
                raise ModelError("error.no_model")
            runtime.llm.discard(str(sent[0]))
        except ModelError as trouble:
            runtime.observe("erasure.batch_left", reason=trouble.notice)
            left += 1
        if about is not None:
            others = [each for each in runtime.store.state(owner, key) or () if each[0] != sent[0]]
            runtime.ledger.set_state(owner, key, others or None, runtime.clock.now(), by="user")
    return [ErasureStep("batches", len(found), left)] if found else []


# --- proof ----------------------------------------------------------------------------------------


def _search(runtime: Runtime, passages: Sequence[str]) -> SearchReport:
    """Search every file of the folder. What a remaining journal says is said by somebody: only what no
    journal says and yet stands in a file is left over."""
    folder = runtime.data_dir
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != KEY_FILE)
    total = sum(path.stat().st_size for path in paths if path.exists())
    fitting = [*passages[: -(-SEARCHED_BYTES // max(1, total))]]
    found, files, size = search_files(paths, fitting)
    journals = folder / "journal"
    shared = {passage for path, hits in found.items() if journals in path.parents for passage in hits}
    left = [str(path.relative_to(folder)) for path, hits in found.items() if hits - shared]
    return SearchReport(files, size, len(fitting), ENCODINGS, len(shared), tuple(left))


def _draft(
    runtime: Runtime,
    owner: Owner,
    target: ErasureTarget,
    requested: datetime,
    steps: Sequence[ErasureStep],
    passages: Sequence[str],
) -> ErasureReceipt:
    """Search the files, and say what was done."""
    return ErasureReceipt(
        target=target.kind,
        name=target.name,
        tenant=owner[0],
        user=owner[1],
        requested=requested.isoformat(),
        finished=runtime.clock.now().isoformat(),
        steps=tuple(steps),
        search=_search(runtime, passages),
        remains=tuple(_remains(runtime, steps)),
    )


def _issue(runtime: Runtime, receipt: ErasureReceipt) -> ErasureReceipt:
    """Sign a receipt and note it in the audit log."""
    key, new = create_key(runtime.data_dir)
    if new:
        audit_log.record(runtime, "key_created")
    signed = replace(receipt, signature=sign(key, receipt.to_dict()))
    facts = {"target": signed.target, "clean": signed.clean, "interrupted": signed.interrupted}
    owner = (signed.tenant, signed.user)
    audit_log.record(runtime, "erasure_finished", owner, **facts, receipt=signed.signature)
    return signed


def _remains(runtime: Runtime, steps: Sequence[ErasureStep]) -> Iterator[Notice]:
    """What this folder cannot reach, and until when it stays there."""
    copies = [entry for entry in audit_log.read(runtime.data_dir) if entry.act in ("backed_up", "exported")]
    if copies:
        first, last = copies[0].at[:10], copies[-1].at[:10]
        yield Notice("erase.remains_copies", n=len(copies), first=first, last=last)
    else:
        yield Notice("erase.remains_no_copies")
    yield Notice("erase.remains_transcripts")
    yield Notice("erase.remains_disk")
    if hasattr(runtime.store, "drop_fold"):
        yield Notice("erase.remains_nodes")
    yield Notice("erase.remains_processes")
    if not isinstance(runtime.journal, FileJournal):
        yield Notice("erase.remains_database")
    if runtime.config.sessions.cache:
        yield Notice("erase.remains_cache")
    if runtime.config.graph.mirror:
        yield Notice("erase.remains_graph")
    for step in steps:
        if step.part == "batches" and step.left:
            yield Notice("erase.remains_batches", n=step.left)
