"""Prove an erasure: search every file for what was erased, say what remains elsewhere, sign the receipt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from nagori.core.storage_types import Owner
from nagori.core.value_object import replace
from nagori.errors import Notice
from nagori.journals.file import FileJournal
from nagori.runtime import Runtime
from nagori.services import audit_log
from nagori.services.byte_search import ENCODINGS, search_files
from nagori.services.erasure_plan import ErasureTarget
from nagori.services.erasure_receipt import (
    KEY_FILE,
    ErasureReceipt,
    ErasureStep,
    SearchReport,
    create_key,
    sign,
)
from nagori.word_caches import clear_word_caches

SEARCHED_BYTES = 16_000_000_000  # of all passages together: some seconds


def draft_receipt(
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


def issue_receipt(runtime: Runtime, receipt: ErasureReceipt) -> ErasureReceipt:
    """Sign a receipt and note it in the audit log. It comes last, so this program forgets the words, too."""
    clear_word_caches()
    key, new = create_key(runtime.data_dir)
    if new:
        audit_log.record(runtime, "key_created")
    signed = replace(receipt, signature=sign(key, receipt.to_dict()))
    facts = {"target": signed.target, "clean": signed.clean, "interrupted": signed.interrupted}
    owner = (signed.tenant, signed.user)
    audit_log.record(runtime, "erasure_finished", owner, **facts, receipt=signed.signature)
    return signed


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
