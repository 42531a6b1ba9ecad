"""Experiments on the life of memories: forgetting, levels, the cycle, the archive, protection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tests.settings.lab import LESS, MORE, Experiment, Lab, family, from_to

from nagori import Category, Draft, Emotion, Kind, Level, Memory, Nagori
from nagori.core.cycle import CycleStep
from nagori.core.events import CYCLE
from nagori.edges.worker.run import work
from nagori.errors import InvalidConfig, LimitReached
from nagori.testing import FrozenClock

TEXT = "The ferry to Otaru leaves from the second pier."


def keep(memory: Nagori, intensity: float = 60, category: Category | None = None) -> Memory:
    return memory.remember(TEXT, kind=Kind.EPISODE, category=category, emotion=Emotion(intensity))


# --- forgetting -----------------------------------------------------------------------------------


def retention_at_once(lab: Lab) -> float:
    memory = lab.open()
    return memory.why(keep(memory, 90).id).retention


def retention_after(
    days: float, category: Category | None = None, recall: bool = False
) -> Callable[[Lab], float]:
    """The retention of a memory of medium intensity after some days, perhaps recalled at half time."""

    def observe(lab: Lab) -> float:
        memory = lab.open()
        kept = keep(memory, 50, category)
        lab.clock.forward(days=days / 2)
        if recall:
            assert memory.recall("ferry to Otaru")
            memory.cycle()
        lab.clock.forward(days=days / 2)
        return memory.why(kept.id).retention

    return observe


def retention_of_what_matters(lab: Lab) -> float:
    """The retention of an event of a life after a month; it was said in passing."""
    memory = lab.open()
    [kept] = memory.form([{"role": "user", "content": "I moved to Kyoto."}], session="talk")
    lab.clock.forward(days=30)
    return memory.why(kept.id).retention


WEEKLY = {"retention.law": "weekly"}
OTHER_RATES = {
    "casual": (0.6, 0.9),
    "work": (0.7, 0.95),
    "decision": (0.8, 0.98),
    "emotional": (0.9, 0.985),
}
FORGETTING = [
    Experiment("retention.law", "weekly", retention_at_once, from_to(90.0, 50.0)),
    Experiment("retention.base_decay_coefficient", 0.9, retention_after(10), LESS),
    Experiment("retention.max_decay_coefficient", 1.0, retention_after(90, recall=True), MORE),
    Experiment("recall.decay_coefficient_boost", 0.0, retention_after(10, Category.WORK, recall=True), LESS),
    Experiment("recall.memory_days_reduction", 1.0, retention_after(10, recall=True), LESS),
    *family(
        "retention.decay_of_what_matters",
        retention_of_what_matters,
        [("min", 0.95, LESS), ("max", 0.999, MORE)],
    ),
    *family(
        "weekly",
        retention_after(4, recall=True),
        [
            ("initial_score", 0.8, MORE),
            ("decay", 0.5, LESS),
            ("boost", 0.4, MORE),
            ("boost_mode", "multiplicative", LESS),
        ],
        WEEKLY,
    ),
]
for name, (low, high) in OTHER_RATES.items():
    observed = retention_after(4, Category(name))
    FORGETTING += family(
        f"retention.decay_by_category.{name}",
        observed,
        [("min", low, LESS), ("max", high, LESS if name == "emotional" else MORE)],
    )


# --- levels and shares ----------------------------------------------------------------------------


def level_of(intensity: float) -> Callable[[Lab], Level]:
    """The level of a memory of this retention after a cycle."""

    def observe(lab: Lab) -> Level:
        memory = lab.open()
        kept = keep(memory, intensity)
        memory.cycle()
        return memory.show(kept.id).level

    return observe


def fill(lab: Lab, count: int, days: float = 0) -> Nagori:
    """A memory that holds `count` vivid memories of some days: no share concerns those of the first day."""
    memory = lab.open(embedder=None)
    memory.remember_many([Draft(f"Fact number {n} of {count}.", emotion=Emotion(90)) for n in range(count)])
    lab.clock.forward(days=days)
    return memory


def counts_by_level(lab: Lab) -> Counter[int] | None:
    """How many of twenty memories are at each level after a cycle; None where the settings are refused."""
    try:
        memory = fill(lab, 20, days=2)
    except InvalidConfig:
        return None
    memory.cycle()
    return Counter(memory.status().counts.levels)


def more_at(level: Level) -> Callable[[Counter[int], Counter[int]], bool]:
    return lambda usual, other: other[level] == usual[level] + 2


def admits(usual: Counter[int] | None, other: Counter[int] | None) -> bool:
    """The shares add up only with the other value, and then three tenths are archived."""
    return usual is None and other is not None and other[Level.ARCHIVED] == 6


SMALL = {"compression.min_population": 10}
LEVELS = [
    Experiment("levels.level1_threshold", 70.0, level_of(60), from_to(Level.FULL, Level.SUMMARY)),
    Experiment("levels.level2_threshold", 45.0, level_of(40), from_to(Level.SUMMARY, Level.TRACE)),
    Experiment("levels.level3_threshold", 15.0, level_of(10), from_to(Level.TRACE, Level.ARCHIVED)),
    *family(
        "compression",
        counts_by_level,
        [
            ("level1_ratio", 0.25, more_at(Level.FULL), {"compression.delete_ratio": 0.1}),
            ("level2_ratio", 0.40, more_at(Level.SUMMARY), {"compression.delete_ratio": 0.1}),
            ("level3_ratio", 0.45, more_at(Level.TRACE), {"compression.delete_ratio": 0.1}),
        ],
        SMALL,
    ),
    Experiment(
        "compression.delete_ratio", 0.3, counts_by_level, admits, SMALL | {"compression.level3_ratio": 0.25}
    ),
    Experiment(
        "compression.min_population",
        10,
        lambda lab: fill(lab, 20, days=2).plan().moves,
        lambda usual, other: usual == 0 < other,
    ),
]


# --- when the cycle runs --------------------------------------------------------------------------


def hour_of_schedule(lab: Lab) -> str:
    """The time in the timer that the schedule would write."""
    lab.export()
    text = lab.command("schedule", "install", "--kind", "systemd", "--dry-run")
    return next(line.rpartition(" ")[2] for line in text.splitlines() if "OnCalendar=" in line)


def runs_a_cycle(lab: Lab) -> bool:
    """Whether a worker runs a cycle thirty hours after the last one."""
    lab.export()
    last = datetime.now(UTC) - timedelta(hours=30)
    memory = lab.open(clock=FrozenClock(last), embedder=None)
    keep(memory)
    memory.cycle()
    work(lab.folder / "data")
    state = memory.runtime.store.state(memory.scope.owner, CYCLE)
    return datetime.fromisoformat(str(state)) > last


SCHEDULE = [
    Experiment("compression.schedule_hour", 22, hour_of_schedule, from_to("03:00:00", "22:00:00")),
    Experiment("compression.interval_hours", 48.0, runs_a_cycle, from_to(True, False)),
]


# --- the archive ----------------------------------------------------------------------------------


def revival(days: float) -> Callable[[Lab], float]:
    """The score of a memory that is revived after `days` in the archive."""

    def observe(lab: Lab) -> float:
        memory = lab.open()
        memory.remember(TEXT, kind=Kind.EPISODE, category=Category.CASUAL, emotion=Emotion(30))
        lab.clock.forward(days=20)
        memory.cycle()
        lab.clock.forward(days=days)
        assert memory.recall("ferry to Otaru")
        [step] = memory.plan().steps
        assert step.act == "revive"
        return step.score

    return observe


def steps_in_archive(days: float, recall: bool = False) -> Callable[[Lab], list[str]]:
    """What the cycle does to a memory of intensity 10 that was archived some days ago."""

    def observe(lab: Lab) -> list[str]:
        memory = lab.open()
        kept = keep(memory, 10)
        if recall:
            assert memory.recall("ferry to Otaru")
            memory.cycle()
        memory.archive(kept.id)
        lab.clock.forward(days=days)
        steps: list[CycleStep] = memory.plan().steps
        return [step.act for step in steps]

    return observe


def recalled_from_archive(lab: Lab) -> int:
    memory = lab.open()
    memory.archive(keep(memory).id)
    return len(memory.recall("ferry to Otaru"))


DELETES = {"archive.auto_delete_enabled": True, "archive.grace_days": 1000.0}
GOES, STAYS = ["delete"], list[str]()
ARCHIVE = [
    Experiment("archive.enable_archive_recall", False, recalled_from_archive, from_to(1, 0)),
    Experiment("archive.revival_decay_per_day", 0.95, revival(10), LESS),
    Experiment("archive.revival_min_margin", 10.0, revival(1000), from_to(8.0, 15.0)),
    Experiment("archive.grace_days", 10.0, steps_in_archive(30), from_to([], ["purge"])),
    Experiment(
        "archive.auto_delete_enabled",
        True,
        steps_in_archive(400),
        from_to(STAYS, GOES),
        {"archive.grace_days": 1000.0},
    ),
    Experiment("archive.retention_days", 500.0, steps_in_archive(400), from_to(GOES, STAYS), DELETES),
    Experiment(
        "archive.delete_require_zero_recall",
        False,
        steps_in_archive(400, recall=True),
        from_to(STAYS, GOES),
        DELETES,
    ),
    Experiment("archive.delete_max_intensity", 5.0, steps_in_archive(400), from_to(GOES, STAYS), DELETES),
    Experiment(
        "archive.delete_condition_mode",
        "OR",
        steps_in_archive(400, recall=True),
        from_to(STAYS, GOES),
        DELETES,
    ),
]


# --- limits ---------------------------------------------------------------------------------------


def archived_by_capacity(lab: Lab) -> int:
    steps = fill(lab, 19).plan().steps
    return sum(step.reason == "capacity" for step in steps)


def count_protected(lab: Lab) -> int:
    memory = lab.open()
    for text in (TEXT, "The kettle is green.", "Ken plays the cello."):
        try:
            memory.protect(memory.remember(text).id)
        except LimitReached:
            break
    return memory.status().counts.protected


TIGHT = {"capacity.limit": 20, "capacity.max_share_per_cycle": 1.0}
LIMITS = [
    Experiment("capacity.limit", 10, archived_by_capacity, from_to(0, 1)),
    Experiment("capacity.trigger", 1.0, archived_by_capacity, from_to(3, 0), TIGHT),
    Experiment(
        "capacity.max_share_per_cycle", 0.15, archived_by_capacity, from_to(2, 3), {"capacity.limit": 20}
    ),
    Experiment("capacity.low_water", 0.5, archived_by_capacity, from_to(3, 9), TIGHT),
    Experiment("protection.max_protected_memories", 1, count_protected, from_to(3, 1)),
]


def tiers(lab: Lab) -> dict[str, int]:
    """How many memories of ten days are hot, warm and cold."""
    memory = lab.open(embedder=None)
    keep(memory)
    lab.clock.forward(days=10)
    return {name: count for name, count in memory.measure().tiers.items() if count}


TIERS = [
    Experiment("tiers.hot_days", 20.0, tiers, from_to({"warm": 1}, {"hot": 1})),
    Experiment("tiers.warm_days", 8.0, tiers, from_to({"warm": 1}, {"cold": 1})),
]

EXPERIMENTS = [*FORGETTING, *LEVELS, *SCHEDULE, *ARCHIVE, *LIMITS, *TIERS]
