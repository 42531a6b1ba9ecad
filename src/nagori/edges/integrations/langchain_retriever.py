"""LangChain: a retriever over the memories of a user.

    retriever = NagoriRetriever(memory=memory, k=5)
    chain = {"context": retriever, "question": RunnablePassthrough()} | prompt | model

A document is a memory: its words, its id, and in its metadata date, kind and confidence. Below the memory's
own minimum confidence nothing is returned, so fewer than `k` documents may come. With `min_confidence=0`
there are always `k`, however weak, if there are so many memories.
"""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from nagori.core.model import Memory


class NagoriRetriever(BaseRetriever):  # type: ignore[misc, unused-ignore] # langchain may not be installed
    """What `recall` finds, as documents."""

    memory: Any
    k: int = 5
    min_confidence: float | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any = None, k: int | None = None
    ) -> list[Any]:
        most = self.k if k is None else k
        found = self.memory.recall(query, most, min_confidence=self.min_confidence)
        documents = [_document(each.memory, each.confidence, each.text) for each in found]
        if self.min_confidence == 0:
            known = {document.id for document in documents}
            newest = self.memory.list(limit=most + len(known))
            others = [
                _document(memory, None, memory.text.whole) for memory in newest if memory.id not in known
            ]
            documents += others[: most - len(documents)]
        return documents

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: Any = None, k: int | None = None
    ) -> list[Any]:
        return await asyncio.to_thread(self._get_relevant_documents, query, k=k)


def _document(memory: Memory, confidence: float | None, text: str) -> Any:
    about = {
        "created": memory.created.isoformat(),
        "kind": str(memory.kind),
        "superseded_by": memory.superseded_by,
        "confidence": confidence,
    }
    return Document(page_content=text, metadata=about, id=memory.id)
