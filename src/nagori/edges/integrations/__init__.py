"""Frameworks that let somebody look at a conversation before a model reads it: one thin file each.

Every one of them gives a function to hand to the framework. The framework keeps its history as it is; the
model is sent the pruned view, and what it is not sent is remembered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any

from nagori.app import Nagori
from nagori.services.window.prune import Pruned

MOST = 256  # conversations whose last plan is at hand; the plan of another is made anew, and is the same


class Windows:
    """The windows of many conversations: each goes on from its last plan."""

    def __init__(self, memory: Nagori, **more: Any) -> None:
        self._memory, self._more = memory, more
        self._last: OrderedDict[str, Pruned] = OrderedDict()
        self._lock = Lock()

    def prune(self, messages: Sequence[Any], session: str | None = None, **more: Any) -> Pruned:
        """What of `messages` is sent."""
        name = session or ""
        with self._lock:
            before = self._last.get(name)
        asked = {"session": session, **self._more, **more}
        done = self._memory.prune(messages, before=before, **asked)
        with self._lock:
            self._last[name] = done
            self._last.move_to_end(name)
            while len(self._last) > MOST:
                self._last.popitem(last=False)
        return done
