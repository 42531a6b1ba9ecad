"""Protect and unprotect: what a person asked never to forget [E19]. There is room for fifty, so that it
means something; when it is full, a person chooses which one to let go."""

from __future__ import annotations

from collections.abc import Sequence

from nagori.core.fold import Event
from nagori.core.model import Filter, Memory, Scope
from nagori.errors import LimitReached, NotFound
from nagori.parts import Parts


def protect(parts: Parts, scope: Scope, id: str, release: Sequence[str] = ()) -> Memory:
    """Protect `id`; `release` are protected memories to let go in the same step."""

    def decide() -> list[Event]:
        now = parts.clock.now()
        released = [m for m in parts.store.get(scope, release) if m.protected]
        events = [Event("unprotected", now, {}, m.id) for m in released]
        [memory] = parts.store.get(scope, [id]) or _missing(id)
        if not memory.protected:
            ensure_room(parts, scope, 1 - len(released))
            events.append(Event("protected", now, {}, id))
        return events

    parts.ledger.write(scope.space, decide)
    return parts.store.get(scope, [id])[0]


def unprotect(parts: Parts, scope: Scope, id: str) -> Memory:
    """Let `id` fade like any other memory."""

    def decide() -> list[Event]:
        [memory] = parts.store.get(scope, [id]) or _missing(id)
        return [Event("unprotected", parts.clock.now(), {}, id)] if memory.protected else []

    parts.ledger.write(scope.space, decide)
    return parts.store.get(scope, [id])[0]


def ensure_room(parts: Parts, scope: Scope, more: int) -> None:
    """LimitReached if `more` protected memories do not fit; it names who could go, oldest first."""
    limit = parts.config.protection.max_protected_memories
    whole = Scope(user=scope.user, tenant=scope.tenant)  # the limit is the user's, not a project's
    if more > 0 and parts.store.count(whole).protected + more > limit:
        protected = parts.store.find(scope, Filter(protected=True), limit=limit)
        raise LimitReached(limit, [memory.id for memory in reversed(protected)])


def _missing(id: str) -> list[Memory]:
    raise NotFound(id)
