"""Integrations with frameworks: storage and sessions in their own interfaces, and pruning of conversations.

A module for pruning gives a function for the framework. The framework's history stays as it is; the model
gets the pruned view, and the rest is remembered. A module for storage gives a class with the framework's own
methods; what the framework wrote is kept as items (`services.key_value_items`) and read back unchanged.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, TypeVar

from nagori.app import Nagori
from nagori.services.chat_recorder import read_turns
from nagori.services.window.prune import PruneResult

Done = TypeVar("Done")
FILES = (".db", ".sqlite", ".sqlite3")  # names of databases, in which a program may have its own tables
MOST = 256  # conversations with a cached plan; others are planned again, with the same result


@contextmanager
def open_memory(path: str | Path) -> Iterator[Nagori]:
    """The memory in the folder `path`, for interfaces that name a database file: beside a file, or instead of
    one that may come (`app.db`), the folder `path.nagori` is used. `:memory:` is a temporary folder."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory())) if path == ":memory:" else Path(path)
        if folder.is_file() or (folder.suffix in FILES and not folder.is_dir()):
            folder = folder.with_name(f"{folder.name}.nagori")
        yield stack.enter_context(Nagori.open(folder))


def record_messages(memory: Nagori, session: str, messages: Iterable[Any]) -> None:
    """Record what user and assistant said as turns, from which `process` forms memories."""
    for message in messages:
        if isinstance(message, Mapping) and message.get("role") in ("user", "assistant"):
            for turn in read_turns(memory.runtime, [message]):
                memory.turn(turn.text, session=session, role=turn.role)


async def run_in_thread(work: Callable[..., Done], *given: Any) -> Done:
    """Run a read in a thread, on asyncio or on trio."""
    if _is_asyncio_running():
        return await asyncio.to_thread(work, *given)
    from anyio.to_thread import run_sync  # every framework that runs on trio, too, brings it

    return await run_sync(work, *given)


async def finish_in_thread(work: Callable[[], Done]) -> Done:
    """Run a write in a thread. When the caller is cancelled, it is finished first, so that nobody has to
    guess whether it was done."""
    if not _is_asyncio_running():
        return await run_in_thread(work)  # on trio a thread is always finished first
    task = asyncio.ensure_future(asyncio.to_thread(work))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as fault:
            cancelled = cancelled or fault
    if cancelled is not None:
        task.exception()  # it is known now; the cancellation is what the caller asked for
        raise cancelled
    return task.result()


def _is_asyncio_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


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
