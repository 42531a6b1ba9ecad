"""Strands Agents: a `MemoryStore` for its memory manager.

    agent = Agent(memory_manager=MemoryManager(stores=[NagoriMemoryStore(memory, session="talk-7")]))

Searching is `recall`, adding is `remember`. With `extraction=True` the manager hands over the messages of the
conversation; they are recorded as turns, and `memory.process()` forms memories of them without a model.
"""

from __future__ import annotations

import asyncio
from typing import Any

from nagori.app import Nagori
from nagori.core.value_object import read_metadata
from nagori.edges.integrations import finish_in_thread, record_messages


class NagoriMemoryStore:
    """A memory store on a `Nagori` memory."""

    def __init__(
        self,
        memory: Nagori,
        *,
        name: str = "nagori",
        description: str | None = "Long-term memory of the user, across sessions.",
        max_search_results: int | None = None,
        writable: bool = True,
        extraction: Any = None,
        session: str = "strands",
    ) -> None:
        self.name, self.description, self.max_search_results = name, description, max_search_results
        self.writable, self.extraction = writable, extraction
        self._memory, self._session = memory, session

    async def search(self, query: str, options: Any = None) -> list[Any]:
        """What is remembered about a question, best first; nothing if nothing is known for sure."""
        from strands.memory.types import MemoryEntry

        most = (options or {}).get("max_search_results") or self.max_search_results
        found = await asyncio.to_thread(self._memory.recall, query, most)
        return [
            MemoryEntry(
                content=each.text,
                metadata={
                    **each.memory.metadata,
                    "id": each.id,
                    "created": each.created.isoformat(),
                    "confidence": each.confidence,
                },
            )
            for each in found
        ]

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> str:
        """Remember something; the same again is stored once. Returns its id."""
        if not self.writable:
            raise ValueError(f"the memory store {self.name} is not writable")
        about = read_metadata(metadata or {})
        kept = await finish_in_thread(
            lambda: self._memory.remember(content, trust="assistant", metadata=about)
        )
        return kept.id

    async def add_messages(self, messages: list[Any], context: Any = None) -> None:
        """Record what was said."""
        if not self.writable:
            raise ValueError(f"the memory store {self.name} is not writable")
        await finish_in_thread(lambda: record_messages(self._memory, self._session, messages))
