"""Ties between memories, as events: what takes something back, what carries something on [E16, ruling 21]."""

from __future__ import annotations

from datetime import datetime

from nagori.core.fold import Event
from nagori.core.model import Memory, RelationType


def linking(source: Memory, target: Memory, type: RelationType, now: datetime, by: str = "user") -> Event:
    """`source` is tied to `target`."""
    return Event("linked", now, {"target": target.id, "type": str(type)}, source.id, by=by)


def superseding(new: Memory, old: Memory, now: datetime, by: str = "user") -> list[Event]:
    """`new` takes `old` back; both stay. The wish to protect was for the matter, not for the mistake."""
    events = [
        Event("superseded", now, {"by": new.id}, old.id, by=by),
        linking(new, old, RelationType.CONTRADICTS, now, by),
    ]
    if old.protected:
        events += [Event("unprotected", now, {}, old.id, by=by), Event("protected", now, {}, new.id, by=by)]
    return events
