"""Items: rows of other programs, kept exactly as they were given, in the same journal and store as memories.

An item is addressed by a namespace (a few labels) and a key; its value is JSON. Formation, redaction of
secrets, decay and compression never touch it. Deleting it removes its words from the store at once and from
the journal with the next cycle, as for a memory.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from nagori.core.events import Event, prove
from nagori.core.model import EPOCH, Item, ItemFilter, item_id
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, check_list, check_text, replace
from nagori.errors import InvalidInput
from nagori.runtime import Runtime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Labels = Sequence[str]
    Order = Literal["key", "last", "newest"]


class ItemPut(Value):
    """Write an item; `value` is anything that JSON can hold."""

    namespace: Labels
    key: str
    value: Any
    ttl: timedelta | None = None


class ItemDelete(Value):
    """Delete an item, if it exists."""

    namespace: Labels
    key: str


ITEM_FIELDS = ("namespace", "key", "value", "created", "updated", "ttl", "expires")
Decide = Callable[[], Iterable[ItemPut | ItemDelete]]


class Items:
    """The items of one owner."""

    def __init__(self, runtime: Runtime, owner: Owner) -> None:
        self._runtime, self._owner = runtime, owner

    def get(self, namespace: Labels, key: str, *, expired: bool = False) -> Item | None:
        """One item; None if there is none."""
        _read_labels(namespace)
        check_text("key", key)
        return next(iter(self._read(ItemFilter(ids=(item_id(namespace, key),)), expired)), None)

    def list(
        self,
        prefix: Labels = (),
        *,
        order: Order = "key",
        limit: int | None = None,
        offset: int = 0,
        expired: bool = False,
    ) -> Sequence[Item]:
        """Items whose namespace begins with `prefix`: by key, by key from the `last`, or `newest` first.
        Those that have expired are left out unless `expired` is set."""
        filter = ItemFilter(_read_labels(prefix), order=order, limit=limit, offset=offset)
        return self._read(filter, expired)

    def namespaces(self, prefix: Labels = ()) -> Sequence[tuple[str, ...]]:
        """The namespaces that hold items and begin with `prefix`."""
        self._catch_up()
        return self._runtime.store.item_namespaces(self._owner, _read_labels(prefix))

    def put(self, namespace: Labels, key: str, value: object, *, ttl: timedelta | None = None) -> None:
        """Write an item, in place of what was there; when this returns, it is durable."""
        self.change(lambda: [ItemPut(namespace, key, value, ttl)])

    def delete(self, namespace: Labels, key: str) -> None:
        """Delete an item, if it exists."""
        self.change(lambda: [ItemDelete(namespace, key)])

    def change(self, decide: Decide) -> None:
        """Apply all changes that `decide` returns, or none. Nobody else writes for this owner while it reads
        and decides; it may be called again."""
        self._runtime.ensure_open()

        def write() -> Sequence[Event]:
            return self.events([*check_list("changes", decide())])

        self._runtime.ledger.write(self._owner, write)

    def renew(self, items: Iterable[Item]) -> None:
        """Start the time to live of these items again. Where that would gain less than a hundredth of it,
        nothing is written: a program may read an item many times a second."""
        now = self._runtime.clock.now()
        ids = [item.id for item in items if item.ttl and _would_gain(item, now) >= item.ttl / 100]
        if ids:
            event = Event("items_renewed", now, {"items": ids}, by="caller")
            self._runtime.ledger.write(self._owner, lambda: [event])

    def delete_expired(self, prefix: Labels = ()) -> int:
        """Delete the items that have expired; returns their number."""
        self._catch_up()
        filter = ItemFilter(_read_labels(prefix), expired_at=self._runtime.clock.now())
        gone = dict.fromkeys(item.id for item in self._runtime.store.items(self._owner, filter))

        def find_expired() -> Sequence[ItemDelete]:
            expired = self._runtime.store.items(self._owner, filter)
            gone.clear()
            gone.update(dict.fromkeys(item.id for item in expired))
            return [ItemDelete(item.namespace, item.key) for item in expired]

        if gone:
            self.change(find_expired)
        return len(gone)

    def _read(self, filter: ItemFilter, expired: bool) -> Sequence[Item]:
        self._catch_up()
        valid = filter if expired else replace(filter, valid_at=self._runtime.clock.now())
        return self._runtime.store.items(self._owner, valid)

    def _catch_up(self) -> None:
        self._runtime.ensure_open()
        self._runtime.ledger.catch_up(self._owner)

    def events(self, changes: Sequence[ItemPut | ItemDelete]) -> Sequence[Event]:
        """The events of these changes, in their order."""
        named = {item_id(_read_labels(change.namespace), check_text("key", change.key)) for change in changes}
        filter = ItemFilter(ids=tuple(sorted(named)))
        created = {item.id: item.created for item in self._runtime.store.items(self._owner, filter)}
        now = self._runtime.clock.now()
        events, gone = deque[Event](), deque[str]()

        def note_deletions() -> None:
            if gone:
                events.append(Event("item_deleted", now, {"items": [*gone]}, by="caller"))
                gone.clear()

        for change in changes:
            id = item_id(change.namespace, change.key)
            if isinstance(change, ItemPut):
                note_deletions()
                created.setdefault(id, now)
                events.append(put_event(change, created[id], now))
            elif created.pop(id, None) is not None:
                gone.append(id)
        note_deletions()
        return [*events]


def _would_gain(item: Item, now: datetime) -> timedelta:
    """How much later the item would expire if it were renewed now."""
    assert item.ttl is not None
    return item.ttl if item.expires is None else now + item.ttl - item.expires


def read_value(item: Item) -> Any:
    """The value of an item, as it was given."""
    return json.loads(item.value)


def put_event(change: ItemPut, created: datetime, now: datetime) -> Event:
    data: dict[str, Any] = {
        "namespace": list(change.namespace),
        "key": change.key,
        "value": to_json(change.value),
        "created": created.isoformat(),
    }
    if change.ttl is not None:
        data["ttl"] = change.ttl // timedelta(microseconds=1)
    return Event("item_put", now, data, by="caller")


def item_record(item: Item) -> dict[str, Any]:
    """An item as the data of its event, for an export."""
    record: dict[str, Any] = {
        "namespace": list(item.namespace),
        "key": item.key,
        "value": item.value,
        "created": item.created.isoformat(),
        "updated": item.updated.isoformat(),
    }
    if item.ttl is not None:
        record["ttl"] = item.ttl // timedelta(microseconds=1)
    if item.expires is not None:
        record["expires"] = item.expires.isoformat()
    return record


def check_item_record(record: Any) -> dict[str, Any]:
    """A record of an import, which must be an item that can be stored and read back."""
    if not isinstance(record, dict):
        raise InvalidInput("item", "error.not_object")
    known = {name: record[name] for name in ITEM_FIELDS if name in record}
    prove([Event("item_put", EPOCH, known)], {}, {})
    _read_labels(known["namespace"])
    try:
        json.loads(known["value"])
    except (ValueError, RecursionError) as fault:
        raise InvalidInput("item", "error.not_json", reason=str(fault)) from None
    return known


def to_json(value: object) -> str:
    """The value as JSON text. Python's own numbers come back as they were, and half a surrogate pair, too."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text if _is_writable(text) else json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as fault:
        raise InvalidInput("value", "error.not_json", reason=str(fault)) from None


def _is_writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_labels(labels: object) -> tuple[str, ...]:
    return tuple(check_text("namespace", label) for label in check_list("namespace", labels))
