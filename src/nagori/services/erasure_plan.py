"""Plan an erasure: what is meant, what else holds its words, and a token that confirms exactly this."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path
from unicodedata import normalize

from nagori.core.events import RecordedTurn
from nagori.core.model import Filter, Memory, RelationType, Scope, TurnFilter, is_thread_summary
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, replace
from nagori.errors import InvalidInput
from nagori.journals.file import FileJournal
from nagori.runtime import Runtime
from nagori.services.backup import folders_aside
from nagori.services.discard_llm_batches import find_batches
from nagori.services.edit_feedback_protect_link_forget_undo import read_version
from nagori.services.recall import RecallRequest, recall
from nagori.services.record_turns_or_spool import take_spool
from nagori.services.tool_outcome_log import Concerns, Result, find_results

EVERYTHING = Filter(archived=True, forgotten=True)
KINDS = ("owner", "project", "session", "memory", "about")
PAGE = 1000
SURE = 0.5  # least confidence of a memory that is "about" something without saying the words
MOST_ABOUT = 50  # memories that are found by meaning
EXAMPLES = 10


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


# --- what will go ---------------------------------------------------------------------------------


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
    results = sum(len(find_results(folder, owner, concerns)) for folder in own_folders(runtime))
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
        "batches": len(find_batches(runtime, owner)),
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
        "batches": len(find_batches(runtime, owner, chosen)),
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


def own_folders(runtime: Runtime) -> list[Path]:
    """The data folder, and those that a restore put aside."""
    return [runtime.data_dir, *folders_aside(runtime.data_dir)]


def texts_of(runtime: Runtime, plan: ErasurePlan) -> list[str]:
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
