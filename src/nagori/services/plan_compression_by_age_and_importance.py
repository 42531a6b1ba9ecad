"""Compress by tier: what is unimportant and no longer new, besides what decay compresses [S4]."""

from __future__ import annotations

from collections.abc import Iterator

from nagori.core.cycle import CyclePlan, CycleStep
from nagori.core.decay import retention
from nagori.core.levels import tier_level
from nagori.core.memory_scores import importance
from nagori.core.model import Filter, Level, Scope, days_between
from nagori.core.storage_types import Owner
from nagori.core.value_object import split_batches
from nagori.runtime import Runtime
from nagori.services.importance_factors import terms_of

MOST, AT_ONCE = 1_000_000, 500


def plan_tiers(runtime: Runtime, owner: Owner, planned: CyclePlan) -> Iterator[CycleStep]:
    """The steps for memories that the plan leaves alone: each moves at most once a cycle."""
    whole, config, now = Scope(tenant=owner[0], user=owner[1]), runtime.config, planned.now
    moved = {step.id for step in planned.steps}
    levels = frozenset({Level.FULL, Level.SUMMARY})
    found = runtime.store.find(whole, Filter(levels=levels, until=now, protected=False), limit=MOST)
    old = [m for m in found if m.id not in moved and not (m.keep_until and m.keep_until > now)]
    for some in split_batches(old, AT_ONCE):
        terms = terms_of(runtime, whole, some)
        for memory in some:
            worth = importance(terms[memory.id])
            level = tier_level(days_between(memory.created, now), worth, config.tiers)
            if level > memory.level:
                score = retention(memory, now, config.retention, config.weekly)
                yield CycleStep(memory.id, memory.version, "compress", "tier", score, level)
