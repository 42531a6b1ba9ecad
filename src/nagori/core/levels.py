"""The life of a memory as two tables: what each level keeps, and what can happen to a memory there.

Nothing else in the house decides a level. A score picks one through `level_for`; `TRANSITIONS` lists every act of a
night and of a hand with where it leads, `diagram` draws it, and tests hold the cycle to it: no step outside
the table, no arrow that nobody ever goes. So the picture in the docs cannot lie.

One life cycle serves both laws of forgetting: 000's "compress below 0.3" is a threshold of 30 here
[rulings 3, 15].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import pairwise

from nagori.core.model import Level
from nagori.core.values import Value, setting

ROUNDING = 1e-9


# ── settings ─────────────────────────────────────────────────────────────────────────────────────


class Levels(Value):
    """001 `levels`: a memory keeps its level while its retention is above the threshold [E6]."""

    level1_threshold: float = setting(50.0, "above it a memory is kept in full", lo=0.0, hi=100.0)
    level2_threshold: float = setting(20.0, "above it a memory is kept as a summary", lo=0.0, hi=100.0)
    level3_threshold: float = setting(
        5.0, "above it a trace is left; at or below it, archived", lo=0.0, hi=100.0
    )

    def faults(self) -> Iterator[str]:
        """Thresholds must fall from level to level."""
        names = [rung.threshold for rung in LEVELS if rung.threshold]
        for upper, lower in pairwise(names):
            if getattr(self, lower) >= getattr(self, upper):
                yield f"{lower}: {getattr(self, lower)} is not below {upper} ({getattr(self, upper)})"


class Compression(Value):
    """001 `compression`: how the whole divides over the levels, and when the cycle runs [E9, E13]."""

    level1_ratio: float = setting(0.15, "largest share kept in full", lo=0.0, hi=1.0)
    level2_ratio: float = setting(0.30, "largest share kept as summaries", lo=0.0, hi=1.0)
    level3_ratio: float = setting(0.35, "largest share kept as traces", lo=0.0, hi=1.0)
    delete_ratio: float = setting(0.20, "the rest, in the archive", lo=0.0, hi=1.0)
    schedule_hour: int = setting(3, "local hour of the daily cycle", lo=0, hi=23)
    interval_hours: float = setting(
        24.0, "a hook runs the cycle when the last one is older", lo=0.1, hi=8760.0
    )
    min_population: int = setting(100, "ratios apply from so many memories on [ruling 11]", lo=0, hi=10**9)

    def faults(self) -> Iterator[str]:
        """The four shares are one whole."""
        whole = sum(getattr(self, rung.ratio) for rung in LEVELS)
        if abs(whole - 1.0) > ROUNDING:
            yield f"{', '.join(rung.ratio for rung in LEVELS)}: the sum is {whole:g}, not 1"


class Archive(Value):
    """001 `archive`: the frozen tier, the way back, and the way out [E10–E12, L5]."""

    enable_archive_recall: bool = setting(True, "recall looks into the archive and may wish memories back")
    revival_decay_per_day: float = setting(
        0.995, "what a day in the archive leaves of the score", lo=0.01, hi=1.0
    )
    revival_min_margin: float = setting(3.0, "a revived memory starts so far above level 3", lo=0.0, hi=100.0)
    auto_delete_enabled: bool = setting(False, "delete old archived memories by the conditions below")
    retention_days: float = setting(365.0, "… archived longer than this; always required", lo=0.0, hi=36500.0)
    delete_require_zero_recall: bool = setting(True, "… never recalled")
    delete_max_intensity: float = setting(20.0, "… intensity below this", lo=0.0, hi=100.0)
    delete_condition_mode: str = setting("AND", "how the last two are joined", choices=("AND", "OR"))
    grace_days: float = setting(90.0, "the full text is kept so long after archiving", lo=0.0, hi=36500.0)


class Capacity(Value):
    """000 §5.3: how many memories one user may have, and what happens near the limit [L6]."""

    limit: int = setting(10_000, "memories of one user", lo=1, hi=10**9)
    trigger: float = setting(0.9, "tidying starts at this share of the limit", lo=0.01, hi=1.0)
    max_share_per_cycle: float = setting(
        0.1, "at most this share of the limit goes in one pass", lo=0.001, hi=1.0
    )
    low_water: float = setting(0.8, "tidying stops at this share of the limit", lo=0.0, hi=1.0)

    def faults(self) -> Iterator[str]:
        """Tidying that stops above where it starts would never stop."""
        if self.low_water > self.trigger:
            yield f"low_water: {self.low_water} is above trigger ({self.trigger})"


class Protection(Value):
    """001 `protection` [E19]."""

    max_protected_memories: int = setting(50, "so many memories may be protected", lo=0, hi=10**6)


class Relations(Value):
    """001 `relations` [E16]."""

    score_proximity_threshold: float = setting(5.0, "closer scores are ordered by age", lo=0.0, hi=100.0)
    auto_link_similarity_threshold: float = setting(0.85, "cosine from which memories link", lo=-1.0, hi=1.0)
    max_relations_per_memory: int = setting(10, "links of one memory", lo=0, hi=1000)
    relation_traversal_depth: int = setting(1, "steps a recall follows links", lo=0, hi=10)
    enable_auto_linking: bool = setting(True, "the cycle links similar memories by itself")


class Tiers(Value):
    """004 "tier structure": how closely a memory is looked at by its age in days [S4]."""

    hot_days: float = setting(7.0, "younger is hot: kept as it is, lightly summarised", lo=0.0, hi=36500.0)
    warm_days: float = setting(
        30.0, "younger is warm: the important in detail; older is cold", lo=0.0, hi=36500.0
    )

    def faults(self) -> Iterator[str]:
        """Warm comes after hot."""
        if self.warm_days < self.hot_days:
            yield f"warm_days: {self.warm_days} is below hot_days ({self.hot_days})"


# ── the levels [E6] ──────────────────────────────────────────────────────────────────────────────


class LevelSpec(Value):
    """A level, the `Levels` setting its score must exceed, its `Compression` share, and what it keeps."""

    level: Level
    threshold: str | None
    ratio: str
    keeps: str


LEVELS = (
    LevelSpec(Level.FULL, "level1_threshold", "level1_ratio", "the conversation, its context and feeling"),
    LevelSpec(Level.SUMMARY, "level2_threshold", "level2_ratio", "one or two sentences"),
    LevelSpec(Level.TRACE, "level3_threshold", "level3_ratio", "keywords and feeling"),
    LevelSpec(Level.ARCHIVED, None, "delete_ratio", "frozen; found only when searched for"),
)


def level_for(score: float, levels: Levels) -> Level:
    """The level a retention of 0–100 deserves: above 50, above 20, above 5, or archived."""
    for rung in LEVELS:
        if rung.threshold and score > getattr(levels, rung.threshold):
            return rung.level
    return Level.ARCHIVED


def entry_scores(levels: Levels) -> dict[Level, float]:
    """For each level below the first, the score at which a fading memory enters it."""
    return {
        below.level: getattr(levels, rung.threshold) for rung, below in pairwise(LEVELS) if rung.threshold
    }


# ── the moves ────────────────────────────────────────────────────────────────────────────────────

INITIAL_LEVEL = Level.FULL
ACTIVE = (Level.FULL, Level.SUMMARY, Level.TRACE)
NIGHT, HAND = "a night", "a hand"


class Transition(Value):
    """Something that is done to a memory: by whom, from where to where (None: it is forgotten), and when."""

    act: str
    by: tuple[str, ...]
    ends: Mapping[Level, tuple[Level | None, ...]]
    when: str

    @property
    def moves(self) -> bool:
        """Whether it changes the level at all."""
        return any(target is not level for level, targets in self.ends.items() for target in targets)


def _unchanged_levels(*levels: Level) -> dict[Level, tuple[Level | None, ...]]:
    return {level: (level,) for level in levels}


TRANSITIONS = (
    Transition(
        "reinforce", (NIGHT,), _unchanged_levels(*ACTIVE), "it was recalled since the last night [E5]"
    ),
    Transition(
        "compress",
        (NIGHT,),
        {Level.FULL: (Level.SUMMARY, Level.TRACE), Level.SUMMARY: (Level.TRACE,)},
        "its strength is too low for its level, or its level too full [E6, E9]",
    ),
    Transition(
        "archive",
        (NIGHT, HAND),
        dict.fromkeys(ACTIVE, (Level.ARCHIVED,)),
        "it is too weak for any level, or there is no room [E9, L4, L6]",
    ),
    Transition("revive", (NIGHT,), {Level.ARCHIVED: (Level.TRACE,)}, "a recall wished it back [E11]"),
    Transition(
        "defer_revival",
        (NIGHT,),
        _unchanged_levels(Level.ARCHIVED),
        "it was wished back, but there is no room yet [E11]",
    ),
    Transition(
        "purge",
        (NIGHT,),
        _unchanged_levels(Level.ARCHIVED),
        "its grace is over: the full words go [ruling 8]",
    ),
    Transition(
        "forget",
        (HAND,),
        {Level.ARCHIVED: (None,)} | dict.fromkeys(ACTIVE, (None,)),
        "hidden from every recall until it is undone",
    ),
    Transition(
        "delete", (NIGHT,), {Level.ARCHIVED: (None,)}, "too old, if that is switched on: its words go [E12]"
    ),
    Transition(
        "restore",
        (HAND,),
        {level: (Level.FULL,) for level in Level if level is not Level.FULL},
        "brought back whole while its full words are kept [L5, ruling 8]",
    ),
)


def diagram() -> str:
    """`TRANSITIONS` as a mermaid state diagram, for the docs; acts between the same two states share an arrow."""
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


# ── the tiers [S4] ───────────────────────────────────────────────────────────────────────────────


class Tier(StrEnum):
    """How recent a memory is; it says nothing about how strong it is."""

    HOT = "hot"
    WARM = "warm"
    COLD = "cold"


def tier_of(days: float, tiers: Tiers) -> Tier:
    """004's tier of an age in days: hot up to 7, warm up to 30, cold from then on."""
    if days < tiers.hot_days:
        return Tier.HOT
    return Tier.WARM if days < tiers.warm_days else Tier.COLD
