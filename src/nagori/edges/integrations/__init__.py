"""Integrations with frameworks: prune a conversation before the model reads it. One module each.

Each gives a function for the framework. The framework's history stays as it is; the model gets the pruned
view, and the rest is remembered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any

from nagori.app import Nagori
from nagori.services.window.prune import PruneResult

MOST = 256  # conversations with a cached plan; others are planned again, with the same result


class Windows:
    """The windows of many conversations; each continues from its last plan."""

    def __init__(self, memory: Nagori, **more: Any) -> None:
        self._memory, self._more = memory, more
        self._last: OrderedDict[str, PruneResult] = OrderedDict()
        self._lock = Lock()

    def prune(self, messages: Sequence[Any], session: str | None = None, **more: Any) -> PruneResult:
        """The part of `messages` to send."""
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
