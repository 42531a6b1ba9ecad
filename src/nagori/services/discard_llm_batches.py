"""Batches that were submitted to a provider and wait for their answers: find them, and have them deleted."""

from __future__ import annotations

from nagori.core.storage_types import Owner
from nagori.errors import ModelError
from nagori.protocols import BatchLLM
from nagori.runtime import Runtime
from nagori.services.erasure_receipt import ErasureStep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STAGES = ("appraise", "summary", "trace")  # whose batches a provider may have


def find_batches(
    runtime: Runtime, owner: Owner, about: frozenset[str] | None = None
) -> list[tuple[str, Any]]:
    """Submitted batches with any of these memories (None: all), and the state keys that name them."""
    found = []
    for stage in STAGES:
        for sent in runtime.store.state(owner, f"batches:{stage}") or ():
            marks = {str(m).partition("@")[0] for _, many in sent[3].values() for m in many}
            if about is None or marks & about:
                found.append((f"batches:{stage}", sent))
    return found


def discard_batches(runtime: Runtime, owner: Owner, about: frozenset[str] | None = None) -> list[ErasureStep]:
    """Ask the provider to delete its copies. One that cannot be reached keeps them until it deletes them
    itself."""
    found, left = find_batches(runtime, owner, about), 0
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
