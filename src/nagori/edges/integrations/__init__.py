"""Integrations with frameworks: storage and sessions in their own interfaces, and pruning of conversations.

A module for pruning gives a function for the framework. The framework's history stays as it is; the model
gets the pruned view, and the rest is remembered. A module for storage gives a class with the framework's own
methods; what the framework wrote is kept as items (`nagori.services.items`) and read back unchanged.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

from nagori.app import Nagori
from nagori.services.window.prune import PruneResult

MOST = 256  # conversations with a cached plan; others are planned again, with the same result


@contextmanager
def open_memory(path: str | Path) -> Iterator[Nagori]:
    """The memory in the folder `path`, for interfaces that name a database file: beside an existing file the
    folder `path.nagori` is used, and `:memory:` is a temporary folder."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory())) if path == ":memory:" else Path(path)
        if folder.is_file():
            folder = folder.with_name(f"{folder.name}.nagori")
        yield stack.enter_context(Nagori.open(folder))


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
