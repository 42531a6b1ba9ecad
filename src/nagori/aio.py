"""The same verbs for async callers: each runs in a worker thread, none is written a second time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import Any, Self

from nagori.app import Nagori
from nagori.core.model import Memory, Recollection, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.services.window.conversation import Conversation
    from nagori.services.window.prune import Pruned

WORKERS = 4


class AsyncConversation:
    """A `Conversation` whose `add`, `recall` and `end` are awaited; meanwhile others may add to it."""

    def __init__(self, conversation: Conversation, run: Callable[..., Awaitable[Any]]) -> None:
        self._conversation, self._run = conversation, run

    async def add(self, *messages: Any) -> Pruned:
        """Like `Conversation.add`."""
        done: Pruned = await self._run(partial(self._conversation.add, *messages))
        return done

    async def end(self) -> list[Memory]:
        """Like `Conversation.end`."""
        kept: list[Memory] = await self._run(self._conversation.end)
        return kept

    async def recall(self, query: str, k: int | None = None, **more: Any) -> list[Recollection]:
        """Like `Conversation.recall`."""
        found: list[Recollection] = await self._run(partial(self._conversation.recall, query, k, **more))
        return found

    @property
    def messages(self) -> list[Any]:
        """What to send."""
        return self._conversation.messages

    @property
    def report(self) -> dict[str, Any]:
        """The figures of the last time."""
        return self._conversation.report


class AsyncNagori:
    """`await memory.recall(…)`: every method of `Nagori`, awaited.

    The iterator of `export` comes back as a list, because a thread cannot hand out one line at a time.
    """

    def __init__(self, memory: Nagori, workers: ThreadPoolExecutor) -> None:
        self._memory = memory
        self._workers = workers

    @classmethod
    async def open(cls, *args: Any, **more: Any) -> Self:
        """Like `Nagori.open`."""
        workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="nagori")
        loop = asyncio.get_running_loop()
        memory = await loop.run_in_executor(workers, partial(Nagori.open, *args, **more))
        return cls(memory, workers)

    def within(self, scope: Scope | None = None, **changes: Any) -> Self:
        """Like `Nagori.within`: nothing to wait for."""
        return type(self)(self._memory.within(scope, **changes), self._workers)

    async def close(self) -> None:
        await self._run(self._memory.close)
        self._workers.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def conversation(self, *args: Any, **more: Any) -> AsyncConversation:
        """Like `Nagori.conversation`: what prunes or recalls is awaited, what is only looked at is not."""
        return AsyncConversation(
            await self._run(partial(self._memory.conversation, *args, **more)), self._run
        )

    async def export(self, format: str = "jsonl") -> list[str]:
        """Like `Nagori.export`, all lines at once."""
        lines: list[str] = await self._run(lambda: list(self._memory.export(format)))
        return lines

    def __getattr__(self, verb: str) -> Callable[..., Awaitable[Any]]:
        if verb.startswith("_"):
            raise AttributeError(verb)
        method = getattr(self._memory, verb)

        @wraps(method)
        async def awaited(*args: Any, **more: Any) -> Any:
            return await self._run(partial(method, *args, **more))

        return awaited

    async def _run(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._workers, work)
