"""What the buttons of the viewer do: one verb each, of the caller's memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nagori.app import SAME, Nagori
from nagori.core.model import Memory
from nagori.core.value_object import replace
from nagori.edges.locale import Translator
from nagori.edges.viewer.levels_plan_costs import show_policy
from nagori.edges.viewer.page_data import Fields, memory_rows, standing_changes
from nagori.errors import Conflict, InvalidInput, LimitReached, Notice
from nagori.services.cycle import note_stopped
from nagori.services.erasure_receipt import ErasureReceipt


def _id(fields: Fields) -> str:
    return str(fields.get("id", ""))


def _changed(memory: Nagori, after: Memory) -> dict[str, Any]:
    return {"row": memory_rows(memory, [after])[0], "version": after.version}


def edit_memory(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """Correct the words of a memory, or change what it is and who may see it."""
    given = {
        name: fields[name]
        for name in ("content", "trigger", "kind", "category", "privacy")
        if fields.get(name) is not None
    }
    project = (fields["project"] or None) if "project" in fields else SAME
    after = memory.edit(_id(fields), **given, project=project, version=fields.get("version"))
    return _changed(memory, after)


def protect_memory(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """Protect a memory. Where the limit is reached, say which ones could be released instead."""
    release = fields.get("release") or []
    try:
        return _changed(memory, memory.protect(_id(fields), release))
    except LimitReached as full:
        candidates = [memory.show(id) for id in full.candidates]
        return {"limit": full.limit, "candidates": memory_rows(memory, candidates)}


def _verb(name: str) -> Callable[[Nagori, Translator, Fields], dict[str, Any]]:
    """A change that needs nothing but the id."""

    def change(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
        return _changed(memory, getattr(memory, name)(_id(fields)))

    return change


def give_feedback(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """Say whether a memory was useful."""
    return _changed(memory, memory.feedback(_id(fields), fields.get("good") is True))


def undo_changes(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """Take back the change `seq` and all that came after it, last first. Conflict if that is no longer what
    the history says."""
    id, seq, steps = _id(fields), fields.get("seq"), fields.get("steps", 1)
    order = [event.seq for event in standing_changes(memory.why(id).history)]
    if not isinstance(steps, int) or not 1 <= steps <= len(order):
        raise InvalidInput("steps", "error.nothing_to_undo")
    if seq is not None and order[steps - 1] != seq:
        raise Conflict("error.memory_changed", id=id)
    undone = []
    for _ in range(steps):
        after, type = memory.undo(id)
        undone.append(translator.event(type))
    return {**_changed(memory, after), "undone": undone}


def run_cycle(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """Run tonight's cycle now; one that moves most of a large store waits for `confirmed`."""
    plan = memory.plan()
    if plan.asks and fields.get("confirmed") is not True:
        note_stopped(memory.runtime, memory.scope.owner, plan)
        return {"asks": True, "moves": plan.moves, "total": plan.census.total}
    night = memory.cycle(plan)
    words = Notice("cli.cycle_done", done=night.done, left=len(night.left))
    return {"asks": False, "done": night.done, "words": translator.say(words)}


def plan_erasure(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """What the erasure of one memory would remove, and the words that confirm it."""
    plan = memory.plan_erasure(memory=_id(fields))
    return {
        "token": plan.token,
        "parts": [
            {"part": translator(f"erase.{part}"), "n": count} for part, count in plan.counts.items() if count
        ],
        "rows": memory_rows(memory, plan.examples),
    }


def erase_memory(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """Erase what the plan said; the typed token has to be that of the plan."""
    plan = memory.plan_erasure(memory=_id(fields))
    typed = str(fields.get("token", "")).strip().lower()
    done = memory.erase(replace(plan, token=typed))
    return {"clean": done.clean, "receipt": done.to_dict(), "words": _describe_receipt(done, translator)}


def _describe_receipt(done: ErasureReceipt, translator: Translator) -> list[str]:
    return [
        *(
            f"{translator(f'erase.{step.part}')}: {step.removed:,}"
            for step in done.steps
            if step.removed or step.left
        ),
        *(translator.say(notice) for notice in done.remains),
    ]


def take_policy_back(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """Restore the settings before the last change. Conflict if that is no longer the one that was shown."""
    versions = memory.policy().versions
    if fields.get("seq") is not None and (not versions or versions[-1].seq != fields["seq"]):
        raise Conflict("error.policy_changed")
    memory.policy_back()
    return show_policy(memory, translator, {})


def switch_policy_off(memory: Nagori, translator: Translator, fields: Fields) -> dict[str, Any]:
    """Use the configured settings and learn no others."""
    memory.policy_off()
    return show_policy(memory, translator, {})


CHANGES = {
    "edit": edit_memory,
    "protect": protect_memory,
    "unprotect": _verb("unprotect"),
    "archive": _verb("archive"),
    "unarchive": _verb("unarchive"),
    "forget": _verb("forget"),
    "feedback": give_feedback,
    "undo": undo_changes,
    "cycle": run_cycle,
    "policy_back": take_policy_back,
    "policy_off": switch_policy_off,
    "erasure": plan_erasure,
    "erase": erase_memory,
}
