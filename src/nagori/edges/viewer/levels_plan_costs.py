"""Pages about the life of memories: levels over time, tonight's plan, learned settings and costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nagori.app import Nagori
from nagori.core.cost_estimate import Usage, bill
from nagori.core.cycle import CyclePlan
from nagori.core.simulate_future_cycles import GROUPS
from nagori.edges.cli.commands.cost_estimate import paid_models
from nagori.edges.cli.commands.learned_settings import describe_settings, describe_version
from nagori.edges.cli.render import dollars, size
from nagori.edges.locale import Translator
from nagori.edges.viewer.page_data import Fields, memory_rows, minute, read_whole
from nagori.errors import Notice
from nagori.runtime import Progress, no_progress
from nagori.services.preview_next_cycle import Preview, PreviewGroup

PAST_DAYS, DAYS_AHEAD = 365, 90
SPEND_DAYS = 30


def show_life(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """How many memories are at each level now, and the room that is left."""
    status = memory.status()
    return {
        "levels": {str(level): n for level, n in status.counts.levels.items()},
        "total": status.counts.total,
        "protected": status.counts.protected,
        "protected_limit": memory.config.protection.max_protected_memories,
        "active": status.active,
        "capacity": status.capacity,
    }


def show_levels(
    memory: Nagori, translator: Translator, fields: Fields, progress: Progress = no_progress
) -> dict[str, Any]:
    """Levels over time with a forecast; reads the whole journal."""
    days = memory.populations(read_whole(fields, "past", PAST_DAYS, 3650), DAYS_AHEAD, progress)
    first = next((n for n, one in enumerate(days) if any(one.counts.values())), max(0, len(days) - 1))
    shown = days[max(0, first - 1) :]
    return {
        "days": [one.day.isoformat() for one in shown],
        "groups": {group: [one.counts[group] for one in shown] for group in GROUPS},
        "today": next((n for n, one in enumerate(shown) if one.forecast), len(shown)) - 1,
    }


def show_costs(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """What models cost so far and will, for all users of this machine; empty where none is paid for."""
    today = memory.runtime.clock.now().date()
    spent = memory.runtime.spend.days(today, SPEND_DAYS)
    prices, unknown = paid_models(memory.config)
    usage = memory.usage() or Usage()
    bills = [bill(price, usage, memory.config.compression) for price in prices]
    return {
        "spent": dollars(sum(day.usd for day in spent)) if spent else None,
        "days": SPEND_DAYS,
        "models": [
            {"model": each.price.model, "month": dollars(each.month), "year": dollars(each.year)}
            for each in bills
        ],
        "unknown": [translator("cli.cost_unknown", model=model) for model in unknown],
    }


def show_plan(
    memory: Nagori, translator: Translator, fields: Fields, progress: Progress = no_progress
) -> dict[str, Any]:
    """What the next cycle would do, and why; nothing is changed. Looks at every memory."""
    told = memory.preview(memory.plan())
    plan = told.plan
    return {
        "at": minute(plan.now, memory.runtime.clock.zone),
        "steps": len(plan.steps),
        "moves": plan.moves,
        "total": plan.census.total,
        "asks": plan.asks,
        "kinds": [
            {
                "act": kind.act,
                "reason": translator(f"reason.{kind.reason}", score=_strengths(plan, kind)),
                "n": kind.n,
                "examples": [
                    {
                        "row": memory_rows(memory, [found])[0],
                        "to": int(step.level) if step.level else None,
                        "why": translator(f"reason.{step.reason}", score=f"{step.score:.1f}"),
                    }
                    for step, found in kind.examples
                ],
            }
            for kind in told.kinds
        ],
        "notes": list(_plan_notes(memory, plan, told, translator)),
    }


def _strengths(plan: CyclePlan, kind: PreviewGroup) -> str:
    """The strengths of the memories of one kind of step, from the weakest to the strongest."""
    scores = [step.score for step in plan.steps if (step.act, step.reason) == (kind.act, kind.reason)]
    low, high = f"{min(scores):.0f}", f"{max(scores):.0f}"
    return low if low == high else f"{low}–{high}"


def _plan_notes(memory: Nagori, plan: CyclePlan, told: Preview, translator: Translator) -> Iterator[str]:
    """What the plan saves and costs, in sentences."""
    if told.shortened:
        basis = (
            Notice("cli.preview_exact") if told.exact else Notice("cli.preview_sample", looked=told.looked)
        )
        sizes = {"before": size(told.before), "after": size(told.after)}
        saved = size(max(0, told.before - told.after))
        yield translator("cli.preview_saves", n=told.shortened, saved=saved, basis=basis, **sizes)
    if told.purged:
        yield translator("cli.preview_purges", n=told.purged, freed=size(told.freed))
    if told.shortened and memory.runtime.llm is None:
        yield translator("cli.preview_free")
    if plan.over:
        yield translator("cli.cycle_over", n=plan.over, limit=memory.config.capacity.limit)


def show_policy(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """The settings that are learned or could be, and each change with its evidence, newest first."""
    known, zone = memory.policy(), memory.runtime.clock.zone
    versions = list(reversed(known.versions))
    return {
        "off": known.off,
        "settings": describe_settings(memory, known),
        "versions": [
            {
                "seq": each.seq,
                "words": [translator.say(notice).strip() for notice in describe_version(each, zone)],
            }
            for each in versions
        ],
        "can_go_back": bool(versions and (versions[0].parent is not None or versions[0].values or known.off)),
    }
