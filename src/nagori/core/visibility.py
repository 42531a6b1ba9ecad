"""Visibility: which memories a scope may see [ruling 31] and a filter selects.

Stores express the same rules in their own query language; the contract suite compares them.
"""

from __future__ import annotations

from nagori.core.model import Filter, Level, Memory, Scope


def can_see(scope: Scope, memory: Memory) -> bool:
    """Whether a scope may see a memory of its owner."""
    if scope.project is not None and memory.project not in (None, scope.project):
        return False
    return is_visible(
        memory.privacy,
        owner_agent=memory.agent,
        owner_role=memory.role,
        asker_agent=scope.agent,
        asker_role=scope.role,
        unnamed_agent=scope.unnamed_agent,
    )


def matches_filter(filter: Filter, memory: Memory) -> bool:
    """Whether a filter selects a memory; only a store knows which ones have no vector."""
    return (
        (filter.kinds is None or memory.kind in filter.kinds)
        and (filter.levels is None or memory.level in filter.levels)
        and (filter.categories is None or memory.category in filter.categories)
        and (filter.since is None or memory.created >= filter.since)
        and (filter.until is None or memory.created < filter.until)
        and (filter.session is None or memory.source.session == filter.session)
        and (filter.protected is None or memory.protected is filter.protected)
        and (filter.archived or memory.level is not Level.ARCHIVED)
        and (filter.forgotten or not memory.is_forgotten)
        and (filter.prefix is None or memory.id.startswith(filter.prefix))
        and (not filter.unappraised or _is_unappraised(memory))
    )


def _is_unappraised(memory: Memory) -> bool:
    whole = memory.level is Level.FULL and memory.superseded_by is None
    return whole and memory.appraised_by is None and memory.source.turn is not None


def is_visible(
    privacy: str,
    *,
    owner_agent: str | None,
    owner_role: str | None,
    asker_agent: str | None,
    asker_role: str | None,
    unnamed_agent: bool = False,
) -> bool:
    """Whether a caller may see a memory. The user (no agent, no role) sees all of their own, an agent without
    a name what is public; an unknown privacy counts as private."""
    if privacy == "public":
        return True
    if asker_agent is None and asker_role is None:
        return not unnamed_agent
    if asker_agent is not None and asker_agent == owner_agent:
        return True
    return privacy == "agent-only" and asker_role is not None and asker_role == owner_role
