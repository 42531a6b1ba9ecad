"""The cycle: what happens to memories while nobody asks for them. A plan first, then its steps.

    lease → plan (core.cycle, pure) → for each handful of steps:
        read the memories → make the shorter words and their vectors, outside any lock
        → lock, look whether they are still the ones that were read → one write

A memory that changed meanwhile is left for the next night. A cycle that is killed leaves what it has done;
the next one plans the rest. The first thing that went wrong with a memory is told and the others go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from nagori.core.cycle import AGAIN_AFTER, POSTPONED, Census, Plan, Rules, Step, plan_cycle
from nagori.core.events import CYCLE, Event, fold
from nagori.core.model import Level, Memory, Scope, Text
from nagori.core.storage import Space
from nagori.core.values import Value, batched, fresh
from nagori.errors import InvalidInput
from nagori.language.compression import summarised, traced
from nagori.ledger import Decision, look
from nagori.locks import lease
from nagori.runtime import Parts, Progress, no_progress
from nagori.services.edit import change_seen, see
from nagori.services.linking import link_new
from nagori.services.llm.summarize import Shortener
from nagori.services.purge import compact_if_due, redact_purged
from nagori.services.remember import embed
from nagori.services.upgrade import adopt_notes
from nagori.services.vectors import embed_missing

AT_ONCE = 250  # steps of one write: short enough that nobody waits long for it


class Night(Value, frozen=False):
    """What a cycle did."""

    plan: Plan
    done: int = 0
    left: list[str] = fresh(list)  # changed meanwhile, or could not be done
    steps_on: Counter[str] = fresh(Counter)  # a memory may be strengthened and fade in one night
    ties: int = 0  # made between memories of one topic
    bytes_before: int = 0  # of the words of what faded
    bytes_after: int = 0
    waiting: dict[str, str] = fresh(dict)  # for a model's shorter words, and why they are not there
    written: dict[str, Text] = fresh(dict)  # by the model, for the steps at hand
    by_model: int = 0


def rules_of(parts: Parts) -> Rules:
    config = parts.config
    return Rules(
        retention=config.retention,
        weekly=config.weekly,
        recall=config.recall,
        levels=config.levels,
        compression=config.compression,
        archive=config.archive,
        capacity=config.capacity,
    )


def plan(parts: Parts, space: Space) -> Plan:
    """What a cycle would do now."""
    parts.ledger.catch_up(space)
    rules, now, store = rules_of(parts), parts.clock.now(), parts.store
    rows = store.cycle_rows(space, rules, now)
    return plan_cycle(rows.due, rows.census, rules, now, rows.weakest)


def run(parts: Parts, space: Space, planned: Plan | None = None, progress: Progress = no_progress) -> Night:
    """Plan and do it. Conflict when somebody else is at it."""
    adopt_notes(parts, space)
    with lease(parts, space, "cycle") as renew:
        night = Night(planned or plan(parts, space))
        steps = night.plan.steps
        model = Shortener(parts, space) if parts.llm and parts.config.llm.shorten else None
        for bundle in batched(steps, AT_ONCE):
            renew()
            _do(parts, space, bundle, night, model)
            progress(min(night.done + len(night.left), len(steps)), len(steps))
        if model:
            model.save()
        embed_missing(parts, space)  # a kill between journal and store costs vectors, nothing else
        night.ties, linked = link_new(parts, space)
        renew()
        redact_purged(parts, space)
        note_time(parts, space, linked, compacted=compact_if_due(parts, space))
    return night


def hours_since(parts: Parts, space: Space) -> float | None:
    """How long ago the last cycle ended; None if never, or if that lies in the future [ruling 6]."""
    adopt_notes(parts, space)
    last = parts.store.state(space, CYCLE)
    if last is None:
        return None
    hours = (parts.clock.now() - datetime.fromisoformat(last)) / timedelta(hours=1)
    return hours if hours >= 0 else None


def note_time(parts: Parts, space: Space, linked: int | None = None, *, compacted: bool = False) -> None:
    """The last night ended now."""
    data: dict[str, object] = {} if linked is None else {"linked": linked}
    data |= {"compacted": True} if compacted else {}
    event = Event("cycle_finished", parts.clock.now(), data, by="cycle")
    parts.ledger.write(space, lambda: [event])


# --- doing ----------------------------------------------------------------------------------------


def _do(
    parts: Parts, space: Space, steps: Sequence[Step], night: Night, model: Shortener | None = None
) -> None:
    """One handful of steps: words and vectors first, then one write."""
    seen = look(parts.store, space, [step.id for step in steps])
    if model:
        _write_shorter(model, steps, seen, night)
    after, twice = dict(seen), Counter(step.id for step in steps)
    embeds = parts.embedder_for(space) is not None
    events: list[Event] = []
    for step in steps:
        memory = after.get(step.id)
        if memory is None or memory.version != step.version + night.steps_on[step.id]:
            night.left.append(step.id)
            continue
        if step.act == "fade" and step.id in night.waiting:
            night.left.append(step.id)
            continue
        event = _event(memory, step, night)
        if twice[step.id] > 1 or embeds:  # otherwise nobody asks what became of it
            after |= fold([event], after).memories
        events.append(event)
        night.steps_on[step.id] += 1
    vectors = {}
    if embeds:
        changed = [memory for id, memory in after.items() if memory.digest != seen[id].digest]
        vectors = embed(parts, Scope(tenant=space[0], user=space[1]), changed)

    def decide() -> Decision:
        known = look(parts.store, space, list(seen))
        moved = {id for id, memory in seen.items() if id not in known or known[id].version != memory.version}
        return Decision([event for event in events if event.memory not in moved], moved)

    written = parts.ledger.write(space, decide, vectors)
    night.left.extend(written.result)
    night.done += len(written.events)


def _write_shorter(model: Shortener, steps: Sequence[Step], seen: Mapping[str, Memory], night: Night) -> None:
    """The model's words for what fades. What fades can wait for them; what is put away cannot."""
    fade = {step.id: step.level or Level.TRACE for step in steps if step.act == "fade"}
    away = {step.id: Level.TRACE for step in steps if step.act == "archive" and not model.by_post}
    wanted = [(seen[id], level) for id, level in fade.items() if id in seen]
    wanted += [(seen[id], level) for id, level in away.items() if id in seen and level not in seen[id].texts]
    made = model.shorten(wanted)
    night.written = made.texts
    night.waiting |= made.waiting


def _event(memory: Memory, step: Step, night: Night) -> Event:
    data = ACTS[step.act](memory, step, night)
    type = TYPES[step.act]
    return Event(type, night.plan.now, {**data, "reason": step.reason}, memory.id, by="cycle")


def _strengthen(memory: Memory, step: Step, night: Night) -> dict[str, object]:
    assert step.anchor is not None
    return {"anchor": step.anchor.isoformat(), "coefficient": step.coefficient}


def _fade(memory: Memory, step: Step, night: Night) -> dict[str, object]:
    assert step.level is not None
    written = night.written.get(step.id)
    text = written or shorter(memory, step.level)
    night.by_model += written is not None
    before, after = len(memory.text.whole.encode()), len(text.whole.encode())
    night.bytes_before += before
    night.bytes_after += after
    sizes = {"score": round(step.score, 3), "before": before, "after": after}
    return {"level": int(step.level), "text": {"trigger": text.trigger, "content": text.content}, **sizes}


def _archive(memory: Memory, step: Step, night: Night) -> dict[str, object]:
    """A trace is made even of what goes from the top: it is what will be left [L4]."""
    if Level.TRACE in memory.texts:
        return {"score": round(step.score, 3)}
    told = _fade(memory, Step(step.id, step.version, "fade", step.reason, step.score, Level.TRACE), night)
    del told["level"]
    return told


def _revive(memory: Memory, step: Step, night: Night) -> dict[str, object]:
    assert step.anchor is not None
    keep = night.plan.now + timedelta(microseconds=AGAIN_AFTER)
    return {"anchor": step.anchor.isoformat(), "keep_until": keep.isoformat(), "score": round(step.score, 3)}


def _postpone(memory: Memory, step: Step, night: Night) -> dict[str, object]:
    return {"until": (night.plan.now + timedelta(microseconds=POSTPONED)).isoformat()}


def _nothing(memory: Memory, step: Step, night: Night) -> dict[str, object]:
    return {"score": round(step.score, 3)}


ACTS: dict[str, Callable[[Memory, Step, Night], dict[str, object]]] = {
    "strengthen": _strengthen,
    "fade": _fade,
    "archive": _archive,
    "revive": _revive,
    "postpone": _postpone,
    "purge": _nothing,
    "delete": _nothing,
}
TYPES = {
    "strengthen": "strengthened",
    "fade": "faded",
    "archive": "archived",
    "revive": "revived",
    "postpone": "postponed",
    "purge": "purged",
    "delete": "deleted",
}


def shorter(memory: Memory, level: Level) -> Text:
    """What is left of a memory at `level`, made from the fullest words there are."""
    fullest = memory.texts[min(memory.texts)]
    if level is Level.SUMMARY:
        return summarised(fullest, memory.emotion)
    return traced(fullest, memory.emotion)


# --- by hand --------------------------------------------------------------------------------------


def archive(parts: Parts, scope: Scope, id: str) -> Memory:
    """Put a memory away by hand [L4]; it can still be found, and brought back."""
    parts.ledger.catch_up(scope.space, wait=True)
    memory = see(parts, scope, id)
    if memory.archived:
        return memory
    night = Night(Plan(parts.clock.now(), Census({})))
    step = Step(memory.id, memory.version, "archive", "manual", level=Level.ARCHIVED)
    return change_seen(parts, scope, memory, _event(memory, step, night))


def unarchive(parts: Parts, scope: Scope, id: str) -> Memory:
    """Bring a memory back whole, while its full words are kept [L5]. It is as strong as when it was put
    away, and is left alone for a week."""
    parts.ledger.catch_up(scope.space, wait=True)
    memory, now = see(parts, scope, id), parts.clock.now()
    if memory.level is Level.FULL:
        return memory
    if Level.FULL not in memory.texts:
        raise InvalidInput("id", "the full words of {id} are gone: its grace is over", id=memory.id)
    stood_still = now - memory.archived_at if memory.archived_at else timedelta()
    keep = now + timedelta(microseconds=AGAIN_AFTER)
    data = {"anchor": (memory.anchor + stood_still).isoformat(), "keep_until": keep.isoformat()}
    return change_seen(parts, scope, memory, Event("restored", now, data, memory.id))
