"""Carry out a write once, however often its request arrives.

A request with an `Idempotency-Key` leaves a receipt: an item in the same append to the journal as the write
itself, so that no crash can separate them. The receipt names the memories that were written and holds no
words. The same request again is answered with these memories as they are now.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from nagori.app import Nagori
from nagori.core.model import Memory
from nagori.core.storage_types import Owner, Vector
from nagori.core.value_object import Value, replace
from nagori.edges.http.access import Refused
from nagori.edges.http.operations import Operation
from nagori.edges.http.request_structs import RequestBody
from nagori.event_ledger import Decide, Decision, Ledger, WriteResult
from nagori.services.key_value_items import ItemPut, put_event, read_value

PLACE = ("nagori", "requests")
KEPT = timedelta(days=1)
LONGEST_KEY = 255


class RequestReceipt(Value):
    """What is kept of a request: a digest of what it said, and the memories it wrote."""

    request: str
    memories: list[str]


class ReceiptLedger(Ledger):
    """A ledger whose first write for an owner carries the receipt of a request."""

    def __init__(self, ledger: Ledger, memory: Nagori, key: str, digest: str) -> None:
        super().__init__(ledger.journal, ledger.store, memory.runtime.observe)
        self._memory, self._key, self._digest = memory, key, digest
        self._left = False

    def write(
        self,
        owner: Owner,
        decide: Decide,
        vectors: Mapping[str, Vector] | None = None,
        *,
        blind: bool = False,
    ) -> WriteResult:
        if owner != self._memory.scope.owner or self._left:
            return super().write(owner, decide, vectors, blind=blind)

        def decide_once() -> Decision:
            if read_receipt(self._memory, self._key) is not None:
                raise _DoneMeanwhile
            said = decide()
            decision = said if isinstance(said, Decision) else Decision(said)
            if not decision.events:
                return decision
            names = dict.fromkeys(event.memory for event in decision.events if event.memory)
            now = self._memory.runtime.clock.now()
            receipt = ItemPut(PLACE, self._key, {"request": self._digest, "memories": [*names]}, KEPT)
            return Decision([*decision.events, put_event(receipt, now, now)], decision.result)

        written = super().write(owner, decide_once, vectors, blind=blind)
        self._left = bool(written.events)
        return written


class _DoneMeanwhile(Exception):
    """The same request was carried out since it was looked for."""


def run_once(memory: Nagori, operation: Operation, wish: RequestBody, key: str, digest: str) -> Any:
    """The result of an operation, carried out now or before."""
    key = hashlib.sha256(key.encode()).hexdigest()
    receipt = read_receipt(memory, key)
    if receipt is None:
        runtime = memory.runtime
        runtime.embedder  # noqa: B018 - opened once for all, not by each view
        view = type(memory)(
            replace(runtime, ledger=ReceiptLedger(runtime.ledger, memory, key, digest)), memory.scope
        )
        try:
            return operation.work(view, wish)
        except _DoneMeanwhile:
            receipt = read_receipt(memory, key)
            assert receipt is not None
    if receipt.request != digest:
        raise Refused(409, "error.http_key_reused")
    if operation.result is Memory and receipt.memories:
        return memory.show(receipt.memories[-1])
    if operation.result == list[Memory]:
        return [memory.show(id) for id in receipt.memories]
    if operation.result is None:
        return None
    raise Refused(409, "error.http_done_before")


def read_receipt(memory: Nagori, key: str) -> RequestReceipt | None:
    item = memory.items.get(PLACE, key)
    return RequestReceipt(**read_value(item)) if item else None


def request_digest(operation: Operation, said: bytes) -> str:
    """A digest of what a request asks for."""
    return hashlib.sha256(f"{operation.name}\n".encode() + said).hexdigest()


def check_key(key: str) -> str:
    """A key that a caller chose for a request."""
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        raise Refused(400, "error.http_key_form", most=LONGEST_KEY)
    return key
