"""The page of knowledge bases: their documents, and the passages that answer a query."""

from __future__ import annotations

from typing import Any

from nagori.app import Nagori
from nagori.edges.cli.render import passage_json
from nagori.edges.locale import Translator
from nagori.edges.viewer.page_data import Fields

MOST_DOCUMENTS = 500
PASSAGES = 8


def show_knowledge(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """The documents of all knowledge bases, by base; with `query`, also the passages that answer it."""
    zone, query = memory.runtime.clock.zone, str(fields.get("query") or "").strip()
    documents = memory.list_knowledge()
    found = memory.search_knowledge(query, kb=fields.get("kb") or None, k=PASSAGES) if query else []
    return {
        "bases": list(dict.fromkeys(each.base for each in documents)),
        "documents": [
            {
                "base": each.base,
                "name": each.name,
                "version": each.version,
                "passages": each.passages,
                "added": each.added.astimezone(zone).date().isoformat(),
            }
            for each in documents[:MOST_DOCUMENTS]
        ],
        "count": len(documents),
        "query": query,
        "passages": [passage_json(each) for each in found],
    }
