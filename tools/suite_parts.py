"""Parts for the suites of other projects that need something in the memory before they begin."""

from __future__ import annotations

from atexit import register
from contextlib import ExitStack
from typing import Any

from nagori.edges.integrations import open_memory

NOTES = ("The first kettle is red.", "The second kettle is blue.", "The third kettle is green.", "Two cups.")


def make_retriever(**more: Any) -> Any:
    """A LangChain retriever over four memories that always returns as many as it is asked for."""
    from nagori.edges.integrations.langchain_retriever import NagoriRetriever

    opened = ExitStack()
    register(opened.close)
    memory = opened.enter_context(open_memory(":memory:"))
    memory.remember_many(NOTES)
    return NagoriRetriever(memory=memory, min_confidence=0, **more)
