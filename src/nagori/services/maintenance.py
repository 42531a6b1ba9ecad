"""Verify, rebuild, missing vectors: prove that all is well, and mend what can be mended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path

from nagori.core.events import PASSED_OVER, fold
from nagori.core.model import Filter, Memory, Scope
from nagori.core.storage import Space
from nagori.core.values import Value, batched, fresh
from nagori.errors import JournalError, JournalMismatch, StoreError
from nagori.journals.file import Verdict
from nagori.ledger import look
from nagori.runtime import Parts, Progress, no_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.protocols import Store

EVERYTHING = Filter(archived=True, forgotten=True)

LOOK_AT_ONCE = 1000
MOST_KEPT_AWAY = 100  # at the end of a rebuild: each is an open file


class Proof(Value, frozen=False):
    """What `verify` found."""

    journals: list[Verdict] = fresh(list)
    store: list[str] = fresh(list)
    differing: list[str] = fresh(list)
    passed_over: list[str] = fresh(
        list
    )  # events that cannot be applied: told, but nothing that a rebuild mends

    @property
    def sound(self) -> bool:
        return not (self.store or self.differing) and all(journal.sound for journal in self.journals)


def verify(parts: Parts, progress: Progress = no_progress) -> Proof:
    """Read every line of every journal, check the store, and compare it with the journal told anew. Others go
    on writing meanwhile."""
    proof = Proof()
    spaces = everybody(parts)
    for number, space in enumerate(spaces):
        proof.journals.append(parts.journal.verify(space))
        try:
            proof.differing += _differences(parts, space)
            notes = parts.store.state(space, PASSED_OVER) or []
            proof.passed_over += [f"event {seq} cannot be applied: {reason}" for seq, reason in notes]
        except JournalMismatch as trouble:
            proof.differing.append(str(trouble))
        except StoreError as trouble:
            proof.store.append(str(trouble))
        progress(number + 1, len(spaces) + 1)
    proof.store += [fault for fault in _checked(parts) if fault not in proof.store]
    lost = lost_folders(parts, spaces)
    proof.differing += [f"{folder}: whose journal this is cannot be read" for folder in lost]
    progress(len(spaces) + 1, len(spaces) + 1)
    return proof


def _checked(parts: Parts) -> list[str]:
    try:
        return parts.store.check()
    except StoreError as trouble:
        return [str(trouble)]


def rebuild(parts: Parts, progress: Progress = no_progress, *, accept_damage: bool = False) -> int:
    """Make the derived state anew from the journal; the number of events told. It is made beside the old one,
    and takes its place when it is complete: others read and write on meanwhile."""
    spaces = everybody(parts)
    stamp = parts.clock.now().strftime("%Y%m%dT%H%M%S")
    if not accept_damage:
        for space in spaces:
            _refuse_damage(parts.journal.verify(space))
        _refuse_lost_folders(parts, spaces)
    mismatches = [trouble for space in spaces if (trouble := _mismatch(parts, space))]
    if mismatches and not accept_damage:
        raise mismatches[0]
    if mismatches:
        _put_copy_aside(parts, stamp)  # it may hold the only copy of what the journal has lost
    told = 0
    with _fresh_store(parts, spaces, stamp) as store:
        for number, space in enumerate(spaces):
            told += parts.ledger.apply_waiting(space, parts.journal.last_seq(space), store)
            progress(number + 1, len(spaces))
    return told


@contextmanager
def _up_to_date(parts: Parts, spaces: Sequence[Space], store: Store) -> Iterator[None]:
    """Keep those away who have written since it was filled, for the moment of the exchange: what they were
    told is kept must not be gone from the store for a while, not even for a reader who has just caught up."""
    written = (space for space in sorted(spaces) if parts.journal.last_seq(space) > store.applied(space).seq)
    with ExitStack() as locks:
        for space in islice(written, MOST_KEPT_AWAY):
            last = locks.enter_context(parts.journal.locked(space))
            parts.ledger.apply_waiting(space, last, store)
        yield


@contextmanager
def _fresh_store(parts: Parts, spaces: list[Space], stamp: str) -> Iterator[Store]:
    """An empty store to be filled, which takes the place of the old one at the end."""
    replacing = getattr(parts.store, "replacing", None)
    if replacing is not None:
        with replacing(stamp, lambda store: _up_to_date(parts, spaces, store)) as store:
            yield store
        return
    with ExitStack() as stack:
        for space in spaces:
            stack.enter_context(parts.journal.locked(space))
            stack.enter_context(parts.store.rebuilding(space))
        yield parts.store


def _mismatch(parts: Parts, space: Space) -> JournalMismatch | None:
    try:
        parts.ledger.compare(space, parts.store.applied(space), parts.journal.last_seq(space))
    except JournalMismatch as trouble:
        return trouble
    except StoreError:
        return None  # it cannot be read: nothing is lost with it
    return None


def everybody(parts: Parts) -> list[Space]:
    """Who has a journal, and of whom the store knows: a journal may be gone, or nobody knows whose it is."""
    try:
        known = parts.store.known_spaces()
    except StoreError:
        known = []
    return list(dict.fromkeys([*parts.journal.spaces(), *known]))


def lost_folders(parts: Parts, spaces: Sequence[Space]) -> list[Path]:
    """Folders with a journal of which not even the store knows whose it is."""
    folders: list[Path] = getattr(parts.journal, "unreadable_folders", list)()
    if not folders:
        return []
    known = {parts.journal.folder(space) for space in spaces}  # type: ignore[attr-defined]
    return [folder for folder in folders if folder not in known]


def _refuse_lost_folders(parts: Parts, spaces: Sequence[Space]) -> None:
    for folder in lost_folders(parts, spaces):
        reason = (
            "{path}: whose journal this is cannot be read, so it would be left out; put its space.json back"
        )
        raise JournalError(reason, path=folder)


def _put_copy_aside(parts: Parts, stamp: str) -> None:
    copy = getattr(parts.store, "backup", None)
    if copy is not None:
        path = parts.data_dir / f"nagori.db.before-rebuild-{stamp}"
        copy(path)
        parts.tell("store.set_aside", path=path, reason="the journal is not the one it was made from")


def _differences(parts: Parts, space: Space) -> list[str]:
    """Memories that the store and the journal tell differently. What differs may only be newer than what was
    read: it is compared once more while nobody writes."""
    parts.ledger.catch_up(space, turns=True)
    told, last = _told(parts, space, {}, 0)
    differing = _differing(parts, space, told, None) + _only_in_store(parts, space, told)
    if differing:
        with parts.journal.locked(space) as end:
            parts.ledger.apply_waiting(space, end)
            told, _ = _told(parts, space, told, last)
            differing = _differing(parts, space, told, differing)
    return [f"{id}: the store does not agree with the journal" for id in differing]


def _told(parts: Parts, space: Space, known: dict[str, Memory], after: int) -> tuple[dict[str, Memory], int]:
    """The memories as the journal tells them, and up to which event."""
    for bundle in batched(parts.journal.read(space, after), LOOK_AT_ONCE):
        outcome = fold(bundle, known)
        known |= outcome.memories
        for id in outcome.erased:
            known.pop(id, None)
        after = bundle[-1].seq
    return known, after


def _differing(
    parts: Parts, space: Space, told: Mapping[str, Memory], among: Sequence[str] | None
) -> list[str]:
    differing = []
    for ids in batched(told if among is None else among, LOOK_AT_ONCE):
        stored = look(parts.store, space, ids)
        differing += [id for id in ids if stored.get(id) != told.get(id)]
    return differing


def _only_in_store(parts: Parts, space: Space, told: Mapping[str, Memory]) -> list[str]:
    owner, last = Scope(tenant=space[0], user=space[1]), None
    counts, extra = parts.store.count(owner), list[str]()
    if counts.total + counts.forgotten == len(told):
        return extra
    while page := parts.store.find(owner, EVERYTHING, limit=LOOK_AT_ONCE, older_than=last):
        extra += [memory.id for memory in page if memory.id not in told]
        last = page[-1]
    return extra


def _refuse_damage(verdict: Verdict) -> None:
    if not verdict.sound:
        first = verdict.damage[0]
        raise JournalError(
            "{n} damaged lines, the first in {file} at byte {offset} ({reason}): "
            "rebuilding would lose what they say. Look at `nagori verify` first.",
            n=len(verdict.damage),
            file=first.file,
            offset=first.offset,
            reason=first.problem,
        )
