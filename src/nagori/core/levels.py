"""Levels and transitions: two tables with what each level keeps and what can happen to a memory there.

No other module decides a level. `level_for` picks one from a score. `TRANSITIONS` lists every act of the
cycle and of the user with its source and target levels, and `diagram` draws it. Tests compare the cycle with
the table: every step is in it, and every transition in it occurs.

Both forgetting laws share this life cycle [ruling 15].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import pairwise

from nagori.core.model import Level
from nagori.core.value_object import Value, fault_beyond, fault_of, replace, setting
from nagori.errors import Notice

ROUNDING = 1e-9


# ── settings ─────────────────────────────────────────────────────────────────────────────────────


class Levels(Value):
    """A memory keeps its level while its retention is above the level's threshold."""

    level1_threshold: float = setting(
        50.0, "A memory is kept in full above this retention.", lo=0.0, hi=100.0
    )
    level2_threshold: float = setting(
        20.0, "A memory is kept as a summary above this retention.", lo=0.0, hi=100.0
    )
    level3_threshold: float = setting(
        5.0,
        "A memory is kept as a trace above this retention, and archived at or below it.",
        lo=0.0,
        hi=100.0,
    )

    def faults(self) -> Iterator[Notice]:
        """Thresholds must fall from level to level."""
        names = [rung.threshold for rung in LEVELS if rung.threshold]
        for upper, lower in pairwise(names):
            if getattr(self, lower) >= getattr(self, upper):
                values = (getattr(self, lower), upper, getattr(self, upper))
                yield fault_beyond(lower, "fault.not_below_other", *values)


WEEKLY_WHOLE = 30.0  # 000 compresses below 0.3


def levels_under(law: str, levels: Levels) -> Levels:
    """The thresholds of a forgetting law. Under the weekly law a new memory has 50 and stays whole to 30."""
    if law != "weekly" or levels.level1_threshold <= WEEKLY_WHOLE:
        return levels
    return replace(levels, level1_threshold=WEEKLY_WHOLE)


class Compression(Value):
    """The largest share of each level, and when the cycle runs."""

    level1_ratio: float = setting(0.15, "Maximum share of memories kept in full.", lo=0.0, hi=1.0)
    level2_ratio: float = setting(0.30, "Maximum share of memories kept as summaries.", lo=0.0, hi=1.0)
    level3_ratio: float = setting(0.35, "Maximum share of memories kept as traces.", lo=0.0, hi=1.0)
    delete_ratio: float = setting(
        0.20, "Share of memories in the archive: what remains of 1.", lo=0.0, hi=1.0
    )
    schedule_hour: int = setting(3, "Local hour of the daily cycle.", lo=0, hi=23)
    interval_hours: float = setting(
        24.0, "A hook runs the cycle if the last one is older than this.", lo=0.1, hi=8760.0
    )
    min_population: int = setting(100, "Shares apply from this number of memories on.", lo=0, hi=10**9)

    def faults(self) -> Iterator[Notice]:
        """The four shares must add up to 1."""
        whole = sum(getattr(self, rung.ratio) for rung in LEVELS)
        if abs(whole - 1.0) > ROUNDING:
            yield fault_of(", ".join(rung.ratio for rung in LEVELS), "fault.sum_not_one", sum=whole)


class Archive(Value):
    """The archive: revival, grace period and automatic deletion."""

    enable_archive_recall: bool = setting(True, "Let recall search the archive and request revival.")
    revival_decay_per_day: float = setting(
        0.995, "Share of the revival score that remains per day in the archive.", lo=0.01, hi=1.0
    )
    revival_min_margin: float = setting(
        3.0, "A revived memory starts this far above the archive threshold.", lo=0.0, hi=100.0
    )
    auto_delete_enabled: bool = setting(
        False, "Delete archived memories automatically by the conditions below."
    )
    retention_days: float = setting(
        365.0, "Deletion condition: archived for more days than this. Always required.", lo=0.0, hi=36500.0
    )
    delete_require_zero_recall: bool = setting(True, "Deletion condition: never recalled.")
    delete_max_intensity: float = setting(20.0, "Deletion condition: intensity below this.", lo=0.0, hi=100.0)
    delete_condition_mode: str = setting(
        "AND", "How the last two conditions are joined.", choices=("AND", "OR")
    )
    grace_days: float = setting(
        90.0,
        "Days for which the full text is kept after archiving, and a memory after it was forgotten.",
        lo=0.0,
        hi=36500.0,
    )


class Capacity(Value):
    """The number of memories one user may have, and what happens near the limit."""

    limit: int = setting(10_000, "Maximum number of memories per user.", lo=1, hi=10**9)
    trigger: float = setting(0.9, "Share of the limit at which archiving starts.", lo=0.01, hi=1.0)
    max_share_per_cycle: float = setting(
        0.1, "Maximum share of the limit that one cycle archives.", lo=0.001, hi=1.0
    )
    low_water: float = setting(0.8, "Share of the limit at which archiving stops.", lo=0.0, hi=1.0)

    def faults(self) -> Iterator[Notice]:
        """The low-water mark must not lie above the trigger."""
        if self.low_water > self.trigger:
            yield fault_beyond("low_water", "fault.above_other", self.low_water, "trigger", self.trigger)


class Protection(Value):
    """Memories that are protected from decay."""

    max_protected_memories: int = setting(50, "Maximum number of protected memories.", lo=0, hi=10**6)


class Relations(Value):
    """Relations between memories, and automatic linking."""

    score_proximity_threshold: float = setting(
        5.0,
        "Related memories come strongest first; where their retention differs by less than this, newest"
        " first.",
        lo=0.0,
        hi=100.0,
    )
    auto_link_similarity_threshold: float = setting(
        0.85, "Minimum cosine for automatic links.", lo=-1.0, hi=1.0
    )
    max_relations_per_memory: int = setting(10, "Maximum number of links per memory.", lo=0, hi=1000)
    relation_traversal_depth: int = setting(
        2, "Number of links that recall follows, one after the other.", lo=0, hi=10
    )
    enable_auto_linking: bool = setting(True, "Let the cycle link similar memories.")


class Tiers(Value):
    """Tiers by age in days: hot, warm and cold, in reports and, if wished, in the cycle."""

    hot_days: float = setting(
        7.0,
        "Memories younger than this are hot; at this age recency counts half in the `score` ranking.",
        lo=0.01,
        hi=36500.0,
    )
    warm_days: float = setting(
        30.0, "Memories younger than this are warm; older ones are cold.", lo=0.01, hi=36500.0
    )
    compress: bool = setting(
        False,
        "Also compress by tier: unimportant warm memories to a summary, unimportant cold ones to a trace.",
    )
    important: float = setting(
        0.5, "Importance from which a memory is never compressed by its tier.", lo=0.0, hi=1.0
    )

    def faults(self) -> Iterator[Notice]:
        """Warm must not end before hot."""
        if self.warm_days < self.hot_days:
            yield fault_beyond("warm_days", "fault.below_other", self.warm_days, "hot_days", self.hot_days)


class Threads(Value):
    """Threads: where the turns of a session are split by topic, and what is kept of a thread."""

    boundary: str = setting(
        "features",
        "How a change of topic is found: `features` of the words, `literal` (meaning alone), or `off`.",
        choices=("features", "literal", "off"),
    )
    threshold: float = setting(0.35, "Probability from which a turn opens another topic.", lo=0.0, hi=1.0)
    similarity: float = setting(
        0.75, "With `literal`, a thread ends below this cosine of neighbouring turns.", lo=-1.0, hi=1.0
    )
    idle_minutes: float = setting(
        10.0, "Minutes without a turn after which a thread ends.", lo=0.01, hi=525600.0
    )
    max_turns: int = setting(60, "Maximum number of turns of a thread.", lo=2, hi=10000)
    view_turns: int = setting(12, "Number of turns in working memory.", lo=1, hi=1000)
    summaries: bool = setting(False, "Keep a summary of every thread that ended, as a memory.")
    summary_tokens: int = setting(80, "Maximum number of tokens of such a summary.", lo=1, hi=10000)


# ── the levels ───────────────────────────────────────────────────────────────────────────────────


class LevelSpec(Value):
    """A level, the `Levels` setting its score must exceed, its share in `Compression`, and what it keeps."""

    level: Level
    threshold: str | None
    ratio: str
    keeps: str


LEVELS = (
    LevelSpec(Level.FULL, "level1_threshold", "level1_ratio", "the full text, its context and emotion"),
    LevelSpec(Level.SUMMARY, "level2_threshold", "level2_ratio", "one or two sentences"),
    LevelSpec(Level.TRACE, "level3_threshold", "level3_ratio", "keywords and emotion"),
    LevelSpec(Level.ARCHIVED, None, "delete_ratio", "frozen; a recall can still find it"),
)


def level_for(score: float, levels: Levels) -> Level:
    """The level for a retention of 0–100: above 50, above 20, above 5, or archived."""
    for rung in LEVELS:
        if rung.threshold and score > getattr(levels, rung.threshold):
            return rung.level
    return Level.ARCHIVED


def entry_scores(levels: Levels) -> dict[Level, float]:
    """For each level below the first, the score at which a decaying memory enters it."""
    return {
        below.level: getattr(levels, rung.threshold) for rung, below in pairwise(LEVELS) if rung.threshold
    }


# ── the moves ────────────────────────────────────────────────────────────────────────────────────

INITIAL_LEVEL = Level.FULL
ACTIVE = (Level.FULL, Level.SUMMARY, Level.TRACE)
NIGHT, HAND = "the cycle", "the user"


class Transition(Value):
    """An act on a memory: who does it, from which level to which (None: forgotten), and when."""

    act: str
    by: tuple[str, ...]
    ends: Mapping[Level, tuple[Level | None, ...]]
    when: str

    @property
    def moves(self) -> bool:
        """Whether the act changes the level."""
        return any(target is not level for level, targets in self.ends.items() for target in targets)


def _unchanged_levels(*levels: Level) -> dict[Level, tuple[Level | None, ...]]:
    return {level: (level,) for level in levels}


TRANSITIONS = (
    Transition("reinforce", (NIGHT,), _unchanged_levels(*ACTIVE), "it was recalled since the last cycle"),
    Transition(
        "compress",
        (NIGHT,),
        {Level.FULL: (Level.SUMMARY, Level.TRACE), Level.SUMMARY: (Level.TRACE,)},
        "its retention is below its level's threshold, or its level is over its share",
    ),
    Transition(
        "archive",
        (NIGHT, HAND),
        dict.fromkeys(ACTIVE, (Level.ARCHIVED,)),
        "its retention is below every threshold, or shares or capacity are exceeded",
    ),
    Transition("revive", (NIGHT,), {Level.ARCHIVED: (Level.TRACE,)}, "a recall requested its revival"),
    Transition(
        "defer_revival",
        (NIGHT,),
        _unchanged_levels(Level.ARCHIVED),
        "revival was requested, but there is no room yet",
    ),
    Transition(
        "purge",
        (NIGHT,),
        _unchanged_levels(Level.ARCHIVED),
        "its grace period is over: the full text is removed",
    ),
    Transition(
        "forget",
        (HAND,),
        {Level.ARCHIVED: (None,)} | dict.fromkeys(ACTIVE, (None,)),
        "the user forgot it: hidden from every recall until undone, and deleted after the grace period",
    ),
    Transition(
        "delete", (NIGHT,), {Level.ARCHIVED: (None,)}, "automatic deletion is enabled and its conditions hold"
    ),
    Transition(
        "restore",
        (HAND,),
        {level: (Level.FULL,) for level in Level if level is not Level.FULL},
        "the user restored it while its full text is kept",
    ),
)


def diagram() -> str:
    """`TRANSITIONS` as a mermaid state diagram. Acts between the same two states share an arrow."""
    arrows: dict[tuple[Level, Level | None], list[str]] = {}
    for move in TRANSITIONS:
        for level, targets in move.ends.items():
            for target in targets:
                arrows.setdefault((level, target), []).append(move.act)
    lines = ["stateDiagram-v2", f"    [*] --> {_state(INITIAL_LEVEL)}: form"]
    ends = ((f"{_state(level)} --> {_state(end)}", acts) for (level, end), acts in arrows.items())
    lines += [f"    {arrow}: {', '.join(acts)}" for arrow, acts in ends]
    lines += [f"    note right of {_state(rung.level)}: {rung.keeps}" for rung in LEVELS]
    return "\n".join(lines) + "\n"


def _state(level: Level | None) -> str:
    return "forgotten" if level is None else level.name.lower()


# ── the tiers ────────────────────────────────────────────────────────────────────────────────────


class Tier(StrEnum):
    """How recent a memory is. It says nothing about its retention."""

    HOT = "hot"
    WARM = "warm"
    COLD = "cold"


def tier_level(days: float, importance: float, tiers: Tiers) -> Level:
    """How much of a memory its tier keeps [S4]: all that is hot or important, a summary of what is warm, a
    trace of what is cold."""
    tier = tier_of(days, tiers)
    if tier is Tier.HOT or importance >= tiers.important:
        return Level.FULL
    return Level.SUMMARY if tier is Tier.WARM else Level.TRACE


def tier_of(days: float, tiers: Tiers) -> Tier:
    """The tier of an age in days: hot below 7, warm below 30, then cold."""
    if days < tiers.hot_days:
        return Tier.HOT
    return Tier.WARM if days < tiers.warm_days else Tier.COLD
