"""Select and change items in plain dictionaries, by id: what every store does with them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from nagori.core.model import Item, ItemFilter
from nagori.core.values import replace


def select_items(items: Mapping[str, Item], filter: ItemFilter) -> list[Item]:
    """The items that a filter selects, in its order: what every store answers."""
    size, never = len(filter.prefix), datetime.max.replace(tzinfo=UTC)
    meant = [
        item
        for id, item in items.items()
        if item.namespace[:size] == filter.prefix
        and (filter.ids is None or id in filter.ids)
        and (filter.valid_at is None or (item.expires or never) > filter.valid_at)
        and (filter.expired_at is None or (item.expires or never) <= filter.expired_at)
    ]
    meant.sort(key=lambda item: (item.namespace, item.key), reverse=filter.order == "last")
    if filter.order == "newest":
        meant.sort(key=lambda item: item.updated, reverse=True)
    return meant[filter.offset :][: filter.limit]


def update_items(
    items: dict[str, Item], changes: Mapping[str, Item | None], renewals: Mapping[str, datetime]
) -> None:
    """Apply changes of items (None: deleted) and renewals to `items`, all by id."""
    for id, item in changes.items():
        items.pop(id, None)
        if item is not None:
            items[id] = item
    for id, at in renewals.items():
        if id in items and (ttl := items[id].ttl) is not None:
            items[id] = replace(items[id], expires=at + ttl)
