"""Which memories are meant: the rules in plain Python. Engines say the same in their own query language
and are held to it by the contract suite."""

from __future__ import annotations

from nagori.core.model import Filter, Level, Memory, Scope
from nagori.core.privacy import visible
from nagori.core.text import tokens


def sees(scope: Scope, memory: Memory) -> bool:
    """Whether the scope may see a memory of its own space."""
    if scope.project is not None and memory.project not in (None, scope.project):
        return False
    return visible(
        memory.privacy,
        owner_agent=memory.agent,
        owner_role=memory.role,
        asker_agent=scope.agent,
        asker_role=scope.role,
    )


def passes(filter: Filter, memory: Memory) -> bool:
    """Whether a memory is among those meant; only an engine knows which have no vector."""
    return (
        (filter.kinds is None or memory.kind in filter.kinds)
        and (filter.levels is None or memory.level in filter.levels)
        and (filter.categories is None or memory.category in filter.categories)
        and (filter.since is None or memory.created >= filter.since)
        and (filter.until is None or memory.created < filter.until)
        and (filter.session is None or memory.source.session == filter.session)
        and (filter.protected is None or memory.protected is filter.protected)
        and (filter.archived or memory.level is not Level.ARCHIVED)
        and (filter.forgotten or not memory.forgotten)
        and (filter.prefix is None or memory.id.startswith(filter.prefix))
        and (not filter.unappraised or _is_unappraised(memory))
    )


def _is_unappraised(memory: Memory) -> bool:
    whole = memory.level is Level.FULL and memory.superseded_by is None
    return whole and memory.judged_by is None and memory.source.turn is not None


def index_words(memory: Memory) -> list[str]:
    """The tokens a memory is found by; every engine indexes exactly these."""
    return tokens(memory.searchable) + [token for word in memory.keywords for token in tokens(word)]
