"""Share lessons between agents: by one schema, as private as they were said to be, disclosed in steps.

    {"agent_id": "…", "role": "…", "task_id": "…", "outcome": "success", "lessons": ["…"],
     "privacy": "agent-only"}

Who speaks is decided by the scope, never by the record [ruling 30]. Timed disclosure is off by default. It
counts the nights in which a cycle ran, as well as the age, so a clock that jumps discloses nothing [ruling
31].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date

from nagori.core.events import Event
from nagori.core.model import (
    Category,
    Filter,
    Kind,
    Memory,
    Privacy,
    RelationType,
    Scope,
    TaskOutcome,
    Trust,
    days_between,
    parse_choice,
    strictest_privacy,
)
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, read_texts, replace
from nagori.errors import InvalidInput
from nagori.event_ledger import read_memories
from nagori.language.redaction import WITHHELD
from nagori.runtime import Runtime
from nagori.services import audit_log
from nagori.services.remember import Draft, remember_many

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_LESSONS = 100
PAGE = 500
BIRTHS = ("formed", "imported", "undone")
STEPS = {Privacy.PRIVATE: Privacy.AGENT_ONLY, Privacy.AGENT_ONLY: Privacy.PUBLIC}
REDACTED = ("[secret:", WITHHELD)  # marks in texts from which something was removed


class LessonReport(Value):
    """What an agent learned from a task. `agent_id` and `role` must be those of the scope, if given."""

    lessons: tuple[str, ...]
    outcome: TaskOutcome | None = None
    privacy: Privacy = Privacy.AGENT_ONLY
    task_id: str | None = None
    agent_id: str | None = None
    role: str | None = None

    def __post_init__(self) -> None:
        lessons = read_texts("lessons", self.lessons)
        if not 1 <= len(lessons) <= MOST_LESSONS:
            raise InvalidInput("lessons", "error.out_of_range", value=len(lessons))
        object.__setattr__(self, "lessons", lessons)
        object.__setattr__(self, "privacy", parse_choice(Privacy, self.privacy, "privacy"))
        if self.outcome is not None:
            object.__setattr__(self, "outcome", parse_choice(TaskOutcome, self.outcome, "outcome"))
        Scope(agent=self.agent_id, role=self.role, task=self.task_id)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> LessonReport:
        """The report of a plain object; unknown fields are refused."""
        if not isinstance(record, Mapping):
            raise InvalidInput("report", "error.not_object")
        unknown = sorted(str(name) for name in record if name not in cls._names)
        if unknown:
            raise InvalidInput("report", "error.unknown_fields", names=", ".join(unknown))
        if "lessons" not in record:
            raise InvalidInput("lessons", "error.missing")
        return cls(**record)


def share(runtime: Runtime, scope: Scope, report: LessonReport) -> list[Memory]:
    """Store the lessons of an agent. Whoever claims to be another agent is refused."""
    for name, claimed, own in (("agent_id", report.agent_id, scope.agent), ("role", report.role, scope.role)):
        if claimed is not None and claimed != own:
            raise InvalidInput(name, "error.not_scope", value=claimed)
    if report.privacy is not Privacy.PUBLIC and scope.agent is None:
        raise InvalidInput("privacy", "error.no_agent")
    at_work = replace(scope, task=report.task_id or scope.task)
    drafts = [
        Draft(text, kind=Kind.LESSON, trust=Trust.ASSISTANT, privacy=report.privacy, outcome=report.outcome)
        for text in report.lessons
    ]
    return remember_many(runtime, at_work, drafts)


# --- timed disclosure -----------------------------------------------------------------------------


def disclose(runtime: Runtime, owner: Owner) -> int:
    """Make lessons visible to more agents, one step after so many days and nights; returns their number. What
    is protected, emotional or had secrets removed never is, and nothing becomes more visible than what it was
    made from."""
    days = runtime.config.learning.disclose_after_days
    if days <= 0:
        return 0
    whole, now = Scope(tenant=owner[0], user=owner[1]), runtime.clock.now()
    lived = _nights_by_memory(runtime, owner)
    due = [
        memory
        for memory in _lessons(runtime, whole)
        if memory.privacy in STEPS
        and not is_flagged(memory)
        and lived.get(memory.id, 0) >= days
        and days_between(memory.created, now) >= days
    ]

    def decide() -> list[Event]:
        present = read_memories(runtime.store, owner, [memory.id for memory in due])
        same = [memory for memory in due if present.get(memory.id) == memory]
        return [
            Event("edited", now, {"privacy": str(step), "reason": "disclosed"}, memory.id, by="cycle")
            for memory in same
            if (step := _next_privacy(runtime, whole, memory)) is not memory.privacy
        ]

    count = len(runtime.ledger.write(owner, decide).events) if due else 0
    if count:
        audit_log.record_or_observe(runtime, "disclosed", owner, memories=count, by="cycle")
    return count


def is_flagged(memory: Memory) -> bool:
    """Whether a memory is never disclosed by time alone."""
    said = [text.whole for text in memory.texts.values()]
    marked = any(mark in text for mark in REDACTED for text in said)
    return memory.protected or memory.category is Category.EMOTIONAL or marked


def _lessons(runtime: Runtime, whole: Scope) -> Iterator[Memory]:
    yield from runtime.store.find(whole, Filter(kinds=frozenset({Kind.LESSON})), limit=100_000)


def _next_privacy(runtime: Runtime, whole: Scope, memory: Memory) -> Privacy:
    """One step further, but not beyond what it was derived from."""
    sources = [
        relation.target
        for relation in runtime.store.relations(whole, [memory.id])
        if relation.type is RelationType.DERIVED_FROM and relation.source == memory.id
    ]
    bounds = [source.privacy for source in runtime.store.get(whole, sources)]
    return Privacy(strictest_privacy([STEPS[memory.privacy], *bounds]))


def _nights_by_memory(runtime: Runtime, owner: Owner) -> dict[str, int]:
    """The number of nights with a cycle since each memory was formed or its privacy last changed. A clock
    that jumps adds one night, however far it jumps."""
    since: dict[str, int] = {}
    nights: list[date] = []
    for event in runtime.journal.read(owner):
        if event.type == "cycle_finished" and event.at.date() not in nights[-1:]:
            nights.append(event.at.date())
        elif event.memory is not None and (event.type in BIRTHS or "privacy" in event.data):
            since[event.memory] = len(nights)
    return {id: len(nights) - first for id, first in since.items()}
