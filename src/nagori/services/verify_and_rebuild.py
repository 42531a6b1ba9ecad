"""Verify the store against the journal, and rebuild it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from nagori.core.events import PASSED_OVER, fold
from nagori.core.in_memory_queries import update_items
from nagori.core.model import Filter, Item, ItemFilter, Memory, Scope
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, default_factory, split_batches
from nagori.errors import JournalError, JournalMismatch, Notice, StoreError
from nagori.event_ledger import read_memories
from nagori.journals.file import Verdict
from nagori.runtime import Progress, Runtime, no_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import Store

EVERYTHING = Filter(archived=True, forgotten=True)

LOOK_AT_ONCE = 1000
MOST_KEPT_AWAY = 100  # locks held at the end of a rebuild; each is an open file


class Proof(Value, frozen=False):
    """The result of `verify`."""

    journals: list[Verdict] = default_factory(list)
    store: list[Notice] = default_factory(list)
    differing: list[Notice] = default_factory(list)
    passed_over: list[Notice] = default_factory(list)  # events that cannot be applied: no rebuild mends that

    @property
    def sound(self) -> bool:
        return not (self.store or self.differing) and all(journal.sound for journal in self.journals)


def verify(runtime: Runtime, progress: Progress = no_progress) -> Proof:
    """Read every journal line, check the store, and compare it with a fresh fold of the journal. Others may
    write meanwhile."""
    proof = Proof()
    owners = all_owners(runtime)
    for number, owner in enumerate(owners):
        proof.journals.append(runtime.journal.verify(owner))
        try:
            proof.differing += _differences(runtime, owner)
            notes = runtime.store.state(owner, PASSED_OVER) or []
            proof.passed_over += [
                Notice("check.event_passed_over", seq=seq, reason=Notice.from_record(reason))
                for seq, reason in notes
            ]
        except JournalMismatch as trouble:
            proof.differing.append(trouble.notice)
        except StoreError as trouble:
            proof.store.append(trouble.notice)
        progress(number + 1, len(owners) + 1)
    proof.store += [fault for fault in _check_store(runtime) if fault not in proof.store]
    lost = lost_folders(runtime, owners)
    proof.differing += [Notice("check.owner_unknown", path=folder) for folder in lost]
    progress(len(owners) + 1, len(owners) + 1)
    return proof


def _check_store(runtime: Runtime) -> list[Notice]:
    try:
        return runtime.store.check()
    except StoreError as trouble:
        return [trouble.notice]


def rebuild(runtime: Runtime, progress: Progress = no_progress, *, accept_damage: bool = False) -> int:
    """Rebuild the store from the journal; returns the number of events. The new store is filled beside the
    old one and replaces it when it is complete, so others can read and write meanwhile."""
    owners = all_owners(runtime)
    stamp = runtime.clock.now().strftime("%Y%m%dT%H%M%S")
    if not accept_damage:
        for owner in owners:
            _refuse_damage(runtime.journal.verify(owner))
        _refuse_lost_folders(runtime, owners)
    mismatches = [trouble for owner in owners if (trouble := _mismatch(runtime, owner))]
    if mismatches and not accept_damage:
        raise mismatches[0]
    if mismatches:
        _put_copy_aside(runtime, stamp)  # it may hold the only copy of events that the journal lost
    replacing = getattr(runtime.store, "replacing", None)
    if replacing is None:
        return _rebuild_singly(runtime, owners, progress)
    told = 0
    with replacing(stamp, lambda store: _up_to_date(runtime, owners, store)) as store:
        for number, owner in enumerate(owners):
            told += runtime.ledger.apply_waiting(owner, runtime.journal.last_seq(owner), store)
            progress(number + 1, len(owners))
    return told


def _rebuild_singly(runtime: Runtime, owners: Sequence[Owner], progress: Progress) -> int:
    """Rebuild owner after owner. Who is rebuilt cannot write meanwhile; everybody can read."""
    told = 0
    for number, owner in enumerate(owners):
        with runtime.journal.locked(owner) as last, runtime.store.rebuilding(owner):
            told += runtime.ledger.apply_waiting(owner, last)
        progress(number + 1, len(owners))
    return told


@contextmanager
def _up_to_date(runtime: Runtime, owners: Sequence[Owner], store: Store) -> Iterator[None]:
    """Lock the owners, those who wrote since the new store was filled first, and catch up, just before it
    replaces the old one. Otherwise a reader might miss memories for a moment. Most of what was written is
    applied before the locks, so that nobody waits for it."""
    behind = {owner for owner in owners if runtime.journal.last_seq(owner) > store.applied(owner).seq}
    for owner in behind:
        runtime.ledger.apply_waiting(owner, runtime.journal.last_seq(owner), store)
    busiest_first = sorted(owners, key=lambda owner: owner not in behind)
    with ExitStack() as locks:
        for owner in sorted(busiest_first[:MOST_KEPT_AWAY]):
            last = locks.enter_context(runtime.journal.locked(owner))
            runtime.ledger.apply_waiting(owner, last, store)
        yield


def _mismatch(runtime: Runtime, owner: Owner) -> JournalMismatch | None:
    try:
        runtime.ledger.compare(owner, runtime.store.applied(owner), runtime.journal.last_seq(owner))
    except JournalMismatch as trouble:
        return trouble
    except StoreError:
        return None  # it cannot be read, so nothing is lost
    return None


def all_owners(runtime: Runtime) -> list[Owner]:
    """All owners: those with a journal and those in the store, without those being erased."""
    try:
        known = [owner for owner in runtime.store.known_owners() if not runtime.journal.is_erased(owner)]
    except StoreError:
        known = []
    return list(dict.fromkeys([*runtime.journal.owners(), *known]))


def lost_folders(runtime: Runtime, owners: Sequence[Owner]) -> list[Path]:
    """Journal folders whose owner not even the store knows."""
    folders: list[Path] = getattr(runtime.journal, "unreadable_folders", list)()
    if not folders:
        return []
    known = {runtime.journal.folder(owner) for owner in owners}  # type: ignore[attr-defined]
    return [folder for folder in folders if folder not in known]


def _refuse_lost_folders(runtime: Runtime, owners: Sequence[Owner]) -> None:
    for folder in lost_folders(runtime, owners):
        raise JournalError("error.journal_owner_unknown", path=folder)


def _put_copy_aside(runtime: Runtime, stamp: str) -> None:
    copy = getattr(runtime.store, "backup", None)
    if copy is not None:
        path = runtime.data_dir / f"nagori.db.before-rebuild-{stamp}"
        copy(path)
        runtime.observe("store.set_aside", path=path, reason=Notice("check.other_journal"))


def _differences(runtime: Runtime, owner: Owner) -> list[Notice]:
    """Memories and items that differ between store and journal. A difference may come from a newer write, so
    it is checked again under the lock."""
    runtime.ledger.catch_up(owner, turns=True)
    items: dict[str, Item] = {}
    told, last = _fold_journal(runtime, owner, {}, items, 0)
    differing = _find_differing(runtime, owner, told, None) + _only_in_store(runtime, owner, told)
    if differing:
        with runtime.journal.locked(owner) as end:
            runtime.ledger.apply_waiting(owner, end)
            told, last = _fold_journal(runtime, owner, told, items, last)
            differing = _find_differing(runtime, owner, told, differing)
    if _items_differ(runtime, owner, items):
        with runtime.journal.locked(owner) as end:
            runtime.ledger.apply_waiting(owner, end)
            _fold_journal(runtime, owner, told, items, last)
            differing += _items_differ(runtime, owner, items)
    return [Notice("check.memory_differs", id=id) for id in differing]


def _fold_journal(
    runtime: Runtime, owner: Owner, known: dict[str, Memory], items: dict[str, Item], after: int
) -> tuple[dict[str, Memory], int]:
    """The memories by the journal, and the last event; `items` are brought up to date as well."""
    for bundle in split_batches(runtime.journal.read(owner, after), LOOK_AT_ONCE):
        outcome = fold(bundle, known)
        known |= outcome.memories
        for id in outcome.erased:
            known.pop(id, None)
        update_items(items, outcome.items, outcome.renewals)
        after = bundle[-1].seq
    return known, after


def _items_differ(runtime: Runtime, owner: Owner, told: Mapping[str, Item]) -> list[str]:
    """The items that differ between store and journal."""
    stored = {item.id: item for item in runtime.store.items(owner, ItemFilter())}
    return sorted(id for id in told.keys() | stored.keys() if told.get(id) != stored.get(id))


def _find_differing(
    runtime: Runtime, owner: Owner, told: Mapping[str, Memory], among: Sequence[str] | None
) -> list[str]:
    differing = []
    for ids in split_batches(told if among is None else among, LOOK_AT_ONCE):
        stored = read_memories(runtime.store, owner, ids)
        differing += [id for id in ids if stored.get(id) != told.get(id)]
    return differing


def _only_in_store(runtime: Runtime, owner: Owner, told: Mapping[str, Memory]) -> list[str]:
    scope, last = Scope(tenant=owner[0], user=owner[1]), None
    counts, extra = runtime.store.count(scope), list[str]()
    if counts.total + counts.forgotten == len(told):
        return extra
    while page := runtime.store.find(scope, EVERYTHING, limit=LOOK_AT_ONCE, older_than=last):
        extra += [memory.id for memory in page if memory.id not in told]
        last = page[-1]
    return extra


def _refuse_damage(verdict: Verdict) -> None:
    if not verdict.sound:
        first = verdict.damage[0]
        raise JournalError(
            "error.journal_damaged",
            n=len(verdict.damage),
            file=first.file,
            offset=first.offset,
            reason=first.problem,
        )
