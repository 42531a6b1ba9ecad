"""The importance of memories, from six measured terms [S6]."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from nagori.core.memory_scores import ImportanceTerms, importance_terms
from nagori.core.model import Memory, Scope
from nagori.runtime import Runtime


def terms_of(runtime: Runtime, scope: Scope, memories: Sequence[Memory]) -> dict[str, ImportanceTerms]:
    """The terms of each memory, by id."""
    others = _cross_impact(runtime, scope, memories)
    return {
        memory.id: importance_terms(
            memory.credit,
            recalls=memory.recalls,
            mentions=memory.mentions,
            intensity=memory.emotion.intensity,
            protected=memory.protected,
            others=others[memory.id],
        )
        for memory in memories
    }


def _cross_impact(runtime: Runtime, scope: Scope, memories: Sequence[Memory]) -> Counter[str]:
    """The number of relations of each memory to memories of other sessions."""
    own = {memory.id: memory for memory in memories}
    relations = runtime.store.relations(scope, sorted(own)) if own else []
    ends = {end for relation in relations for end in (relation.source, relation.target)}
    known = own | {memory.id: memory for memory in runtime.store.get(scope, sorted(ends - own.keys()))}
    counts: Counter[str] = Counter()
    for relation in relations:
        one, other = known.get(relation.source), known.get(relation.target)
        if one and other and (one.source.session is None or one.source.session != other.source.session):
            counts.update([one.id, other.id])
    return counts
