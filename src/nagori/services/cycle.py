"""Run the cycle: plan first, then execute the steps. Archive and restore by hand.

    lease → plan (core.cycle, pure) → for each batch of steps:
        read the memories → make compressed texts and their vectors, outside any lock
        → lock, check that the memories are unchanged → one write

A memory that changed meanwhile is left for the next cycle. A killed cycle keeps what it has done, and the
next one plans the rest. A fault in one memory is reported, and the others go on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from nagori.core.cycle import (
    MOVES,
    REARCHIVE_AFTER,
    REVIVAL_RETRY,
    Census,
    CyclePlan,
    CycleRules,
    CycleStep,
    plan_cycle,
)
from nagori.core.decay import retention
from nagori.core.events import CYCLE, CYCLE_STOPPED, LEARNED, TO_ERASE, Event, fold
from nagori.core.knowledge_base import is_knowledge
from nagori.core.model import Level, Memory, Scope, Text
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, default_factory, replace, split_batches
from nagori.errors import InvalidInput, NagoriError, Notice
from nagori.event_ledger import Decision, read_memories
from nagori.language.compression import compress_to_summary, compress_to_trace
from nagori.leases import lease
from nagori.runtime import Progress, Runtime, no_progress
from nagori.services.edit_feedback_protect_link_forget_undo import change_seen, read_version
from nagori.services.key_value_items import Items
from nagori.services.link_similar_memories import link_new
from nagori.services.llm.summarize import Compressor
from nagori.services.redact_journal_and_compact_store import compact_if_due, redact_purged
from nagori.services.related_memories_and_stale_links import remove_stale_relations
from nagori.services.remember import embed
from nagori.services.upgrade_from_0_1 import adopt_notes
from nagori.services.vectors import embed_missing
from nagori.services.verify_and_rebuild import all_owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.core.outcomes_lessons_and_credit import PolicyStep

AT_ONCE = 250  # steps per write: small enough that nobody waits long
OLD_AT_BIRTH = timedelta(days=1)  # what is recorded so long after it happened was imported


class CycleReport(Value, frozen=False):
    """The result of a cycle."""

    plan: CyclePlan
    done: int = 0
    left: list[str] = default_factory(list)  # memories that changed meanwhile or failed
    steps_on: Counter[str] = default_factory(
        Counter
    )  # a memory may be reinforced and compressed in one cycle
    ties: int = 0  # new relations between memories of one topic
    unlinked: int = 0  # relations that were removed, to memories that are archived, forgotten or deleted
    bytes_before: int = 0  # of the compressed memories' texts
    bytes_after: int = 0
    waiting: dict[str, Notice] = default_factory(
        dict
    )  # for a model's shorter words, and why they are not there
    written: dict[str, Text] = default_factory(dict)  # by the model, for the steps at hand
    by_model: int = 0
    consolidated: int = 0  # new memories that fade more slowly from now on
    learned: PolicyStep | None = None  # the setting that moved tonight
    disclosed: int = 0  # lessons that more agents may see from now on

    def __str__(self) -> str:
        """What was done, step by step, in English."""
        from nagori.messages import render  # only for people

        acts = Counter(step.act for step in self.plan.steps)
        steps = [f"  {render(f'step.{act}', {})}: {n:,}" for act, n in acts.most_common()]
        done = render("cli.cycle_done", {"done": self.done, "left": len(self.left)})
        return "\n".join([done, *steps]) if steps else render("cli.cycle_nothing", {})


def rules_of(runtime: Runtime) -> CycleRules:
    config = runtime.config
    return CycleRules(
        retention=config.retention,
        weekly=config.weekly,
        recall=config.recall,
        levels=config.levels,
        compression=config.compression,
        archive=config.archive,
        capacity=config.capacity,
    )


def plan(runtime: Runtime, owner: Owner) -> CyclePlan:
    """The plan of a cycle at this moment."""
    runtime.ledger.catch_up(owner)
    rules, now, store = rules_of(runtime), runtime.clock.now(), runtime.store
    if is_knowledge(owner):  # what a document says does not fade
        return plan_cycle([], Census({}, 0), rules, now, lambda level, n: [])
    rows = store.cycle_rows(owner, rules, now)
    planned = plan_cycle(rows.due, rows.census, rules, now, rows.weakest)
    if runtime.config.tiers.compress:
        from nagori.services.plan_compression_by_age_and_importance import plan_tiers

        planned = replace(planned, steps=[*planned.steps, *plan_tiers(runtime, owner, planned)])
    return replace(planned, imported=_count_imported(runtime, owner, planned)) if planned.asks else planned


def _count_imported(runtime: Runtime, owner: Owner, planned: CyclePlan) -> int:
    """The moves of memories that came since the last cycle and were old already: an import is not a sign of a
    wrong clock or setting [ruling 49]."""
    old: set[str] = set()
    for event in runtime.journal.read(owner):
        if event.type == "cycle_finished" and event.data:  # without data it only starts the first day
            old = set()
        elif event.type in ("formed", "imported") and isinstance(event.data.get("memory"), dict):
            record = event.data["memory"]
            if event.at - datetime.fromisoformat(record["created"]) > OLD_AT_BIRTH:
                old.add(str(record["id"]))
    return sum(step.id in old for step in planned.steps if step.act in MOVES)


def note_stopped(runtime: Runtime, owner: Owner, planned: CyclePlan) -> None:
    """Record that a cycle waits for confirmation; `status` and `doctor` say so."""
    value = {"moves": planned.moves, "total": planned.census.total}
    runtime.ledger.set_state(owner, CYCLE_STOPPED, value, runtime.clock.now(), "cycle")


def run_all(
    runtime: Runtime, *, confirmed: bool = False, progress: Progress = no_progress
) -> dict[Owner, CycleReport | Notice]:
    """Run the cycle of every owner [L8]; returns what was done, or why nothing was. A failure stops no other
    owner's cycle."""
    reports: dict[Owner, CycleReport | Notice] = {}
    for owner in all_owners(runtime):
        if is_knowledge(owner):
            continue
        try:
            planned = plan(runtime, owner)
            if planned.asks and not confirmed:
                note_stopped(runtime, owner, planned)
                values = {"moves": planned.moves, "total": planned.census.total}
                reports[owner] = Notice("cli.cycle_asks", **values)
            else:
                reports[owner] = run(runtime, owner, planned, progress)
        except NagoriError as trouble:
            reports[owner] = trouble.notice
    _back_up(runtime)
    return reports


def _back_up(runtime: Runtime) -> None:
    """The nightly backup, where one is configured. A failure is reported and costs nothing else."""
    if not runtime.config.backup.folder:
        return
    from nagori.services import audit_log, backup

    try:
        if report := backup.backup_if_due(runtime):
            audit_log.record_or_observe(runtime, "backed_up", bytes=report.bytes)
    except (NagoriError, OSError) as trouble:
        runtime.observe("backup.failed", error=trouble)


def run(
    runtime: Runtime, owner: Owner, planned: CyclePlan | None = None, progress: Progress = no_progress
) -> CycleReport:
    """Plan and execute a cycle. Conflict if another process is running one."""
    _finish_erasures(runtime, owner)
    adopt_notes(runtime, owner)
    with lease(runtime, owner, "cycle") as renew:
        night = CycleReport(planned or plan(runtime, owner))
        steps = night.plan.steps
        model = Compressor(runtime, owner) if runtime.llm and runtime.config.llm.compress else None
        for bundle in split_batches(steps, AT_ONCE):
            renew()
            _do(runtime, owner, bundle, night, model)
            progress(min(night.done + len(night.left), len(steps)), len(steps))
        if model:
            model.save()
        embed_missing(runtime, owner)  # a kill between journal and store loses vectors and nothing else
        # Before new links are made: a night that is killed in between would find room for more of them.
        night.unlinked, checked = remove_stale_relations(runtime, owner)
        night.ties, linked = link_new(runtime, owner)
        _index_concepts(runtime, owner)
        if runtime.config.consolidation.enabled and not is_knowledge(owner):  # imported late: off by default
            from nagori.services.process_turns import keep_thread_summaries
            from nagori.services.slow_decay_of_salient_memories import consolidate

            night.consolidated = consolidate(runtime, owner)
            keep_thread_summaries(runtime, owner)
        renew()
        Items(runtime, owner).delete_expired()
        redact_purged(runtime, owner)
        if runtime.config.sessions.log_dir or runtime.config.sessions.cache:
            from nagori.services.redis_and_parquet_copies import copy_sessions

            copy_sessions(runtime, owner, clean=True)
        if runtime.config.graph.mirror:
            from nagori.services.graph_mirror import copy_graph

            copy_graph(runtime, owner)
        _learn(runtime, owner, night)
        note_time(runtime, owner, linked, checked, compacted=compact_if_due(runtime, owner))
    return night


def _index_concepts(runtime: Runtime, owner: Owner) -> None:
    """For owners who use association: concepts of new memories, and vectors of concepts."""
    if runtime.store.concepts.count(owner):
        from nagori.services.spreading_activation import index_if_used  # imported late: hardly ever needed

        index_if_used(runtime, owner)


def _learn(runtime: Runtime, owner: Owner, night: CycleReport) -> None:
    """The step of learned settings, and lessons that become visible to more agents."""
    rules = runtime.config.learning
    if rules.adapt and runtime.store.state(owner, LEARNED):
        from nagori.services.learned_settings import improve  # only where something was observed

        night.learned = improve(runtime, owner)
    if rules.disclose_after_days:
        from nagori.services.share_lessons_between_agents import disclose

        night.disclosed = disclose(runtime, owner)


def _finish_erasures(runtime: Runtime, owner: Owner) -> None:
    """What a killed process has not erased."""
    runtime.ledger.catch_up(owner)
    if runtime.journal.unfinished_erasures() or runtime.store.state(owner, TO_ERASE):
        from nagori.services import erase  # imported late: hardly ever needed

        erase.resume_owners(runtime)
        erase.finish_parts(runtime, owner)


def hours_since(runtime: Runtime, owner: Owner) -> float | None:
    """Hours since the last cycle; None if there was none or if its time lies in the future [ruling 6]."""
    adopt_notes(runtime, owner)
    last = runtime.store.state(owner, CYCLE)
    if last is None:
        return None
    hours = (runtime.clock.now() - datetime.fromisoformat(last)) / timedelta(hours=1)
    return hours if hours >= 0 else None


def note_time(
    runtime: Runtime,
    owner: Owner,
    linked: int | None = None,
    checked: int | None = None,
    *,
    compacted: bool = False,
) -> None:
    """Record that a cycle ended now, and up to which events relations were made and checked."""
    numbers = {"linked": linked, "relations_checked": checked}
    data: dict[str, object] = {name: seq for name, seq in numbers.items() if seq is not None}
    data |= {"compacted": True} if compacted else {}
    event = Event("cycle_finished", runtime.clock.now(), data, by="cycle")
    runtime.ledger.write(owner, lambda: [event])


# --- doing ----------------------------------------------------------------------------------------


def _do(
    runtime: Runtime,
    owner: Owner,
    steps: Sequence[CycleStep],
    night: CycleReport,
    model: Compressor | None = None,
) -> None:
    """Execute one batch: texts and vectors first, then one write."""
    seen = read_memories(runtime.store, owner, [step.id for step in steps])
    if model:
        _write_shorter(model, steps, seen, night)
    after, twice = dict(seen), Counter(step.id for step in steps)
    embeds = runtime.embedder_for(owner) is not None
    events: list[Event] = []
    for step in steps:
        memory = after.get(step.id)
        if memory is None or memory.version != step.version + night.steps_on[step.id]:
            night.left.append(step.id)
            continue
        if step.act == "compress" and step.id in night.waiting:
            night.left.append(step.id)
            continue
        event = _event(memory, step, night)
        if twice[step.id] > 1 or embeds:  # otherwise its state after the step is not needed
            after |= fold([event], after).memories
        events.append(event)
        night.steps_on[step.id] += 1
    vectors = {}
    if embeds:
        changed = [memory for id, memory in after.items() if memory.digest != seen[id].digest]
        vectors = embed(runtime, Scope(tenant=owner[0], user=owner[1]), changed)

    def decide() -> Decision:
        known = read_memories(runtime.store, owner, list(seen))
        moved = {id for id, memory in seen.items() if id not in known or known[id].version != memory.version}
        return Decision([event for event in events if event.memory not in moved], moved)

    written = runtime.ledger.write(owner, decide, vectors)
    night.left.extend(written.result)
    night.done += len(written.events)


def _write_shorter(
    model: Compressor, steps: Sequence[CycleStep], seen: Mapping[str, Memory], night: CycleReport
) -> None:
    """Get the model's texts for compression. Compression can wait for them; archiving cannot."""
    fade = {step.id: step.level or Level.TRACE for step in steps if step.act == "compress"}
    away = {step.id: Level.TRACE for step in steps if step.act == "archive" and not model.by_post}
    wanted = [(seen[id], level) for id, level in fade.items() if id in seen]
    wanted += [(seen[id], level) for id, level in away.items() if id in seen and level not in seen[id].texts]
    made = model.shorten(wanted)
    night.written = made.texts
    night.waiting |= made.waiting


def _event(memory: Memory, step: CycleStep, night: CycleReport) -> Event:
    data = ACTS[step.act](memory, step, night)
    type = TYPES[step.act]
    return Event(type, night.plan.now, {**data, "reason": step.reason}, memory.id, by="cycle")


def _reinforce(memory: Memory, step: CycleStep, night: CycleReport) -> dict[str, object]:
    assert step.anchor is not None
    return {"anchor": step.anchor.isoformat(), "coefficient": step.coefficient, **_change_of_score(step)}


def _change_of_score(step: CycleStep) -> dict[str, object]:
    """The retention before and after a step that changes it [L7]."""
    assert step.before is not None
    return {"score_before": round(step.before, 3), "score_after": round(step.score, 3)}


def _compress(memory: Memory, step: CycleStep, night: CycleReport) -> dict[str, object]:
    assert step.level is not None
    written = night.written.get(step.id)
    text = written or compress_memories(memory, step.level)
    night.by_model += written is not None
    before, after = len(memory.text.whole.encode()), len(text.whole.encode())
    night.bytes_before += before
    night.bytes_after += after
    sizes = {"score": round(step.score, 3), "before": before, "after": after}
    return {"level": int(step.level), "text": {"trigger": text.trigger, "content": text.content}, **sizes}


def _archive(memory: Memory, step: CycleStep, night: CycleReport) -> dict[str, object]:
    """Archive a memory. A trace is made in any case, because it stays after the purge."""
    if Level.TRACE in memory.texts:
        return {"score": round(step.score, 3)}
    told = _compress(
        memory, CycleStep(step.id, step.version, "compress", step.reason, step.score, Level.TRACE), night
    )
    del told["level"]
    return told


def _revive(memory: Memory, step: CycleStep, night: CycleReport) -> dict[str, object]:
    assert step.anchor is not None
    keep = night.plan.now + timedelta(microseconds=REARCHIVE_AFTER)
    times = {"anchor": step.anchor.isoformat(), "keep_until": keep.isoformat()}
    return {**times, "score": round(step.score, 3), **_change_of_score(step)}


def _defer_revival(memory: Memory, step: CycleStep, night: CycleReport) -> dict[str, object]:
    return {"until": (night.plan.now + timedelta(microseconds=REVIVAL_RETRY)).isoformat()}


def _nothing(memory: Memory, step: CycleStep, night: CycleReport) -> dict[str, object]:
    return {"score": round(step.score, 3)}


ACTS: dict[str, Callable[[Memory, CycleStep, CycleReport], dict[str, object]]] = {
    "reinforce": _reinforce,
    "compress": _compress,
    "archive": _archive,
    "revive": _revive,
    "defer_revival": _defer_revival,
    "purge": _nothing,
    "delete": _nothing,
}
TYPES = {
    "reinforce": "reinforced",
    "compress": "compressed",
    "archive": "archived",
    "revive": "revived",
    "defer_revival": "revival_deferred",
    "purge": "purged",
    "delete": "deleted",
}


def compress_memories(memory: Memory, level: Level) -> Text:
    """The text of a memory at `level`, made from its fullest text."""
    fullest = memory.texts[min(memory.texts)]
    if level is Level.SUMMARY:
        return compress_to_summary(fullest, memory.emotion)
    return compress_to_trace(fullest, memory.emotion)


# --- by hand --------------------------------------------------------------------------------------


def archive(runtime: Runtime, scope: Scope, id: str) -> Memory:
    """Archive a memory by hand; it can still be found and restored."""
    runtime.ledger.catch_up(scope.owner, wait=True)
    memory = read_version(runtime, scope, id)
    if memory.is_archived:
        return memory
    if memory.protected:
        raise InvalidInput("id", "error.archive_protected", id=memory.id)
    night = CycleReport(CyclePlan(runtime.clock.now(), Census({})))
    score = retention(memory, night.plan.now, runtime.config.retention, runtime.config.weekly)
    step = CycleStep(memory.id, memory.version, "archive", "manual", score, Level.ARCHIVED)
    return change_seen(runtime, scope, memory, _event(memory, step, night))


def unarchive(runtime: Runtime, scope: Scope, id: str) -> Memory:
    """Restore a memory while its full text is kept [L5]. It has the retention it was archived with and is not
    archived again for a week."""
    runtime.ledger.catch_up(scope.owner, wait=True)
    memory, now = read_version(runtime, scope, id), runtime.clock.now()
    if memory.level is Level.FULL:
        return memory
    if Level.FULL not in memory.texts:
        raise InvalidInput("id", "error.full_text_purged", id=memory.id)
    stood_still = now - memory.archived_at if memory.archived_at else timedelta()
    keep = now + timedelta(microseconds=REARCHIVE_AFTER)
    data = {"anchor": (memory.anchor + stood_still).isoformat(), "keep_until": keep.isoformat()}
    return change_seen(runtime, scope, memory, Event("restored", now, data, memory.id))
