"""Run concurrent calls together: what arrives while a batch is under way becomes the next one.

A write waits for the disk. A hundred coroutines that write one value each would wait a hundred times, one
after the other; together they wait once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Asked = TypeVar("Asked")
Given = TypeVar("Given")
MOST_CALLS = 256  # in one batch


class CallQueue(Generic[Asked, Given]):
    """The calls of one event loop. `execute` gets the requests of several calls, in the order of their
    arrival, and returns one result for each request."""

    def __init__(self, execute: Callable[[Sequence[Asked]], Awaitable[Sequence[Given]]]) -> None:
        self._execute = execute
        self._waiting: deque[tuple[Sequence[Asked], asyncio.Future[Sequence[Given]]]] = deque()
        self._worker: asyncio.Task[None] | None = None

    async def call(self, requests: Sequence[Asked]) -> Sequence[Given]:
        """The results of these requests. A caller that is cancelled does not stop what it asked for."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Sequence[Given]] = loop.create_future()
        self._waiting.append((requests, done))
        if self._worker is None or self._worker.done():
            self._worker = loop.create_task(self._work())
        return await done

    async def _work(self) -> None:
        while self._waiting:
            calls = [self._waiting.popleft() for _ in range(min(MOST_CALLS, len(self._waiting)))]
            await self._answer(calls)

    async def _answer(self, calls: Sequence[tuple[Sequence[Asked], asyncio.Future[Sequence[Given]]]]) -> None:
        """Answer several calls. If that fails, each of them alone: a wrong one fails by itself."""
        try:
            results = iter(await self._execute([request for requests, _ in calls for request in requests]))
        except Exception as fault:
            if len(calls) > 1:
                for call in calls:
                    await self._answer([call])
            elif not calls[0][1].done():
                calls[0][1].set_exception(fault)
            return
        for requests, done in calls:
            mine = [next(results) for _ in requests]
            if not done.done():
                done.set_result(mine)
