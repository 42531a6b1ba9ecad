"""OpenAI Agents SDK: a session that keeps its items, and a filter of the model's input.

    session = NagoriSession("talk-7", memory=memory, remember=True)
    config = RunConfig(call_model_input_filter=input_filter(memory, budget=8000))
    Runner.run(agent, "…", session=session, run_config=config)

The items of a session come back as they were added. With `remember=True` what was said is recorded as turns,
too, and `memory.process()` forms memories of it. The filter runs right before the model, so the session keeps
every item. A filter of the session's own input would save our notices as if somebody had said them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from nagori.app import Nagori
from nagori.core.model import Item
from nagori.edges.integrations import Windows, finish_in_thread, open_memory, record_messages
from nagori.errors import InvalidInput
from nagori.services.key_value_items import Decide, ItemDelete, ItemPut, read_value
from nagori.services.window.formats.count_and_cut_content import OVERHEAD

SPACE = "openai_agents"


class NagoriSession:
    """A `Session` of the Agents SDK: in `memory`, or in the memory of the folder `db_path`."""

    def __init__(
        self,
        session_id: str,
        db_path: str | Path = ":memory:",
        *,
        memory: Nagori | None = None,
        session_settings: Any = None,
        remember: bool = False,
    ) -> None:
        from agents.memory.session_settings import SessionSettings, coerce_session_settings

        self.session_id, self._remember = session_id, remember
        self.session_settings = (
            SessionSettings() if session_settings is None else coerce_session_settings(session_settings)
        )
        self._opened = ExitStack()
        self._memory = memory if memory is not None else self._opened.enter_context(open_memory(db_path))
        self._place = (SPACE, session_id)
        self._closed = False

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The last `limit` items, oldest first; without a limit (or below 0) all."""
        from agents.memory.session_settings import resolve_session_limit

        self._check_open()
        most = resolve_session_limit(limit, self.session_settings)
        most = None if most is not None and most < 0 else most
        rows = await asyncio.to_thread(self._list_last, most)
        return [read_value(row) for row in reversed(rows)]

    async def add_items(self, items: list[Any]) -> None:
        """Add items at the end; all of them or none."""
        self._check_open()
        if items:
            await finish_in_thread(lambda: self._add(list(items)))

    async def pop_item(self) -> Any:
        """Remove the last item and return it; None if there is none."""
        self._check_open()
        return await finish_in_thread(self._pop)

    async def clear_session(self) -> None:
        """Remove all items."""
        self._check_open()
        await finish_in_thread(lambda: self._change(self._deletions))

    async def _atomic_replace_items(self, items: list[Any]) -> bool:
        """Replace all items in one step. `OpenAIResponsesCompactionSession` looks for this name; else it
        clears the session and then adds the compacted items, and a kill in between would lose all."""
        if type(self) is not NagoriSession:
            return False  # a subclass may have its own ways to clear and to add
        self._check_open()
        await finish_in_thread(lambda: self._change(lambda: [*self._deletions(), *self._puts(list(items))]))
        return True

    def close(self) -> None:
        """End this session, and close the memory if the session opened it."""
        self._closed = True
        self._opened.close()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"{type(self).__name__} is closed")  # as the SDK's own sessions refuse it

    def _list_last(self, limit: int | None) -> Sequence[Item]:
        return self._memory.items.list(self._place, order="last", limit=limit)

    def _add(self, items: list[Any]) -> None:
        self._change(lambda: self._puts(items))
        if self._remember:
            record_messages(self._memory, self.session_id, items)

    def _change(self, decide: Decide) -> None:
        try:
            self._memory.items.change(decide)
        except InvalidInput as fault:
            raise TypeError(str(fault)) from fault  # as the SDK's own sessions refuse it

    def _puts(self, items: list[Any]) -> list[ItemPut]:
        """These items after the last one."""
        last = self._list_last(1)
        first = int(last[0].key) + 1 if last else 0
        return [ItemPut(self._place, f"{first + n:012d}", item) for n, item in enumerate(items)]

    def _deletions(self) -> list[ItemDelete]:
        return [ItemDelete(row.namespace, row.key) for row in self._memory.items.list(self._place)]

    def _pop(self) -> Any:
        popped: list[Any] = []

        def decide() -> list[ItemDelete]:
            last = self._list_last(1)
            popped[:] = [read_value(row) for row in last]
            return [ItemDelete(row.namespace, row.key) for row in last]

        self._memory.items.change(decide)
        return popped[0] if popped else None


def input_filter(memory: Nagori, **more: Any) -> Callable[[Any], Any]:
    """A `call_model_input_filter`; `more` as for `Nagori.prune`. The budget includes the instructions."""
    from nagori.adapters.tokens import open_counter

    count = more.get("count") or open_counter(more.get("model") or memory.runtime.config.window.model)
    windows = Windows(memory, format="responses", **more)

    def filter(data: Any) -> Any:
        from agents.run import ModelInputData

        told = data.model_data.instructions
        beside = more.get("beside", 0) + (count(told) + OVERHEAD if told else 0)
        done = windows.prune(data.model_data.input, **{"beside": beside})
        return ModelInputData(input=done.messages, instructions=told)

    return filter
