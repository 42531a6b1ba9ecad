"""Decay and reinforcement: two forgetting laws, as functions from values to values.

    emotional  intensity × coefficient ^ days                                [E1], default
    weekly     (initial_score + boost × recalls) × decay ^ weeks, clipped    [L1]

Both laws use one scale, 0–100. Both measure age as the time elapsed since the memory's anchor, so the number
of cycles in between makes no difference [ruling 1]. Both are exponential curves, so one inverse serves both.
The configuration selects a law by its name in `LAWS`.

Two kinds of memory do not decay. An *archived* memory is frozen: its age stops when it is archived [E10]. A
*protected* memory keeps its level whatever its score. `retention` still computes its score, because ranking
uses it, but `days_until` and `forecast` answer "never".
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from nagori.core.model import DAY, Category, Emotion, Kind, Level, Memory, days_between, utc
from nagori.core.value_object import Value, fault_beyond, replace, setting
from nagori.errors import Notice

FULL_SCALE = 100.0
DAYS_A_WEEK = 7.0
EARLIEST = datetime.min.replace(tzinfo=UTC)
FEEDBACK_STEP = 10.0  # change of intensity, or of the weekly score, by one feedback, up or down
LEAST_SCORE = 1.0  # feedback lowers no weekly score below this: an exponential curve never reaches 0


# ── settings ─────────────────────────────────────────────────────────────────────────────────────


class DecayRange(Value):
    """The range of daily coefficients of one category: `min` at intensity 0, `max` at intensity 100."""

    min: float = setting(0.0, "Daily coefficient at intensity 0.", lo=0.01, hi=1.0)
    max: float = setting(1.0, "Daily coefficient at intensity 100.", lo=0.01, hi=1.0)


class DecayOfWhatMatters(Value):
    """Minimum daily coefficients of memories that matter, by importance."""

    min: float = setting(
        0.99, "Minimum daily coefficient of the least important memory that matters.", lo=0.01, hi=1.0
    )
    max: float = setting(0.998, "Minimum daily coefficient of the most important memory.", lo=0.01, hi=1.0)


class DecayByCategory(Value):
    """Daily coefficients by category: half-lives from a few days to many years [E4]."""

    casual: DecayRange = setting(DecayRange(0.70, 0.80), "chat and greetings: days")
    work: DecayRange = setting(DecayRange(0.85, 0.92), "tasks and technical talk: a week or two")
    decision: DecayRange = setting(DecayRange(0.93, 0.97), "decisions and designs: weeks to months")
    emotional: DecayRange = setting(DecayRange(0.98, 0.999), "personal matters: months to nearly for ever")


class Retention(Value):
    """The forgetting law, and the decay rates of the emotional law."""

    law: str = setting("emotional", "Forgetting law.", choices=("emotional", "weekly"))
    base_decay_coefficient: float = setting(
        0.995, "Daily coefficient without a category; also the minimum for a fact.", lo=0.01, hi=1.0
    )
    max_decay_coefficient: float = setting(
        0.999, "Maximum coefficient that reinforcement can reach.", lo=0.01, hi=1.0
    )
    decay_by_category: DecayByCategory = setting(DecayByCategory(), "range of coefficients of each category")
    decay_of_what_matters: DecayOfWhatMatters = setting(
        DecayOfWhatMatters(), "minimum coefficients of memories that matter, by importance"
    )

    def faults(self) -> Iterator[Notice]:
        """Contradictions between the settings of this section."""
        base, top = self.base_decay_coefficient, self.max_decay_coefficient
        if base > top:
            yield fault_beyond(
                "base_decay_coefficient", "fault.above_other", base, "max_decay_coefficient", top
            )
        spans = {f"decay_by_category.{name}": getattr(self.decay_by_category, name) for name in Category}
        for name, span in (*spans.items(), ("decay_of_what_matters", self.decay_of_what_matters)):
            if span.min > span.max:
                yield fault_beyond(f"{name}.min", "fault.above_other", span.min, "max", span.max)
            if span.max > top:
                limit = "max_decay_coefficient"
                yield fault_beyond(f"{name}.max", "fault.above_other", span.max, limit, top)


class Weekly(Value):
    """The weekly forgetting law. Its scores are on a scale of 0–1."""

    initial_score: float = setting(0.5, "Initial score.", lo=0.0, hi=1.0)
    decay: float = setting(0.95, "Share of the score that remains after a week.", lo=0.01, hi=1.0)
    boost: float = setting(0.1, "Score added by one recall.", lo=0.0, hi=1.0)
    boost_mode: str = setting(
        "additive",
        "`additive`: initial_score + boost × recalls;"
        " `multiplicative`: initial_score × (1 + boost × recalls).",
        choices=("additive", "multiplicative"),
    )


class Reinforcement(Value):
    """Reinforcement: what the cycle does to a memory that was recalled."""

    decay_coefficient_boost: float = setting(
        0.02, "Added to the coefficient by reinforcement.", lo=0.0, hi=1.0
    )
    memory_days_reduction: float = setting(
        0.5, "Share of the age that remains after reinforcement.", lo=0.0, hi=1.0
    )
    recall_count_weight: float = setting(
        0.1, "Weight of each past recall in the `priority` ranking.", lo=0.0, hi=10.0
    )


# ── the two laws ─────────────────────────────────────────────────────────────────────────────────


class Curve(namedtuple("Curve", "start rate period", defaults=(1.0,))):
    """An exponential curve: it starts at `start` (0–100) and keeps the share `rate` every `period` days. A
    tuple, because every score of every memory makes one."""

    __slots__ = ()
    start: float
    rate: float
    period: float

    def at(self, days: float) -> float:
        """The score at an age. A rate above 1 counts as 1: no score grows with age."""
        return _clip(self.start * _clip(self.rate, 1.0) ** (max(0.0, days) / self.period), FULL_SCALE)

    def age(self, score: float) -> float:
        """The age in days at which the score reaches `score`: 0 if it starts there, infinite if it never
        does."""
        if self.start <= score:
            return 0.0
        if score <= 0 or self.rate >= 1:
            return math.inf
        return self.period * math.log(score / self.start) / math.log(self.rate) if self.rate > 0 else 0.0

    def anchor(self, score: float, now: datetime) -> datetime:
        """The anchor that makes the score `score` at `now`; `now` if no anchor does."""
        return utc(now, "now") if self.rate >= 1 else _before(utc(now, "now"), self.age(score))


def emotional(intensity: float, coefficient: float, days: float) -> float:
    """Retention 0–100 after `days` [E1]."""
    return Curve(intensity, coefficient).at(days)


def weekly(recalls: int, weeks: float, rule: Weekly) -> float:
    """Retention 0–100 after `weeks` with a number of recalls [L1]."""
    return _weekly_curve(recalls, rule).at(weeks * DAYS_A_WEEK)


def _weekly_curve(recalls: int, rule: Weekly) -> Curve:
    """The curve may start above 100: clipping comes after decay, so a memory that is often recalled stays at
    100 for some time."""
    if rule.boost_mode == "multiplicative":
        strength = rule.initial_score * (1.0 + rule.boost * recalls)
    else:
        strength = rule.initial_score + rule.boost * recalls
    return Curve(FULL_SCALE * strength, rule.decay, DAYS_A_WEEK)


class Law(Value):
    """A forgetting law: its curve, and whether a recall makes a memory younger.

    The emotional law halves the age and slows the decay. The weekly law counts recalls in its formula and
    leaves the age unchanged.
    """

    of: Callable[[float, float, int, Weekly], Curve]
    rejuvenates: bool

    def curve(self, memory: Memory, rule: Weekly) -> Curve:
        return self.of(memory.emotion.intensity, memory.coefficient, memory.recalls, rule)


LAWS: dict[str, Law] = {
    "emotional": Law(lambda intensity, coefficient, *_: Curve(intensity, coefficient), rejuvenates=True),
    "weekly": Law(lambda _, __, recalls, rule: _weekly_curve(recalls, rule), rejuvenates=False),
}


def coefficient_for(category: Category | None, intensity: float, kind: Kind, retention: Retention) -> float:
    """The initial daily coefficient [E4]: intensity picks the place in the category's range.

    A fact gets at least the base coefficient: "I am allergic to peanuts", said calmly in a casual talk, must
    not fade within six days [ruling 4].
    """
    base = retention.base_decay_coefficient
    if category is None:
        return base
    span: DecayRange = getattr(retention.decay_by_category, category)
    coefficient = span.min + (span.max - span.min) * (_clip(intensity, FULL_SCALE) / FULL_SCALE)
    return max(base, coefficient) if kind is Kind.FACT else coefficient


def coefficient_of_worth(worth: float, retention: Retention) -> float:
    """The minimum daily coefficient of a memory that matters; `worth` is its importance, 0 to 1."""
    span = retention.decay_of_what_matters
    return span.min + (span.max - span.min) * _clip(worth, 1.0)


def memory_days(memory: Memory, now: datetime) -> float:
    """Age in days since the anchor; never negative, and frozen in the archive."""
    until = utc(now, "now")
    if memory.archived_at is not None:
        until = min(until, utc(memory.archived_at, "memory.archived_at"))
    return max(0.0, (until - utc(memory.anchor, "memory.anchor")) / DAY)


def retention(memory: Memory, now: datetime, law: Retention, rule: Weekly) -> float:
    """Retention 0–100 of a memory at `now`, by the configured law."""
    return LAWS[law.law].curve(memory, rule).at(memory_days(memory, now))


# ── recall, judgement, revival ───────────────────────────────────────────────────────────────────


def reinforce(memory: Memory, now: datetime, law: Retention, recall: Reinforcement) -> Memory:
    """The memory after reinforcement [E5]; its retention never falls by it, now or later.

    Under a law that rejuvenates, the age shrinks and the coefficient grows. Under both laws the recall
    counts.
    """
    moment = utc(now, "now")
    frozen = memory.archived_at and utc(memory.archived_at, "memory.archived_at")
    anchor, coefficient = rejuvenate(memory.anchor, memory.coefficient, moment, law, recall, frozen)
    return memory.evolve(
        anchor=anchor, coefficient=coefficient, recalls=memory.recalls + 1, reinforced_at=moment
    )


def rejuvenate(
    anchor: datetime,
    coefficient: float,
    now: datetime,
    law: Retention,
    recall: Reinforcement,
    frozen: datetime | None = None,
) -> tuple[datetime, float]:
    """Anchor and coefficient after reinforcement; `frozen` is the time at which its age stopped."""
    anchor = utc(anchor, "memory.anchor")
    if not LAWS[law.law].rejuvenates:
        return anchor, coefficient
    age = days_between(anchor, min(now, frozen) if frozen else now)
    raised = min(law.max_decay_coefficient, coefficient + recall.decay_coefficient_boost)
    # an anchor in the future (a clock was ahead) or a coefficient above the limit stays as it is
    return max(anchor, _before(now, age * recall.memory_days_reduction)), max(coefficient, raised)


def adjust_for_feedback(memory: Memory, good: bool, now: datetime, law: Retention, rule: Weekly) -> Memory:
    """The memory after feedback of the user [L11]; good feedback never weakens it, now or later."""
    if LAWS[law.law].rejuvenates:
        emotion, coefficient = _adjust_intensity(memory, good, law)
        return replace(memory, emotion=emotion, coefficient=coefficient)
    return _adjust_score(memory, good, utc(now, "now"), law, rule)


def _adjust_score(memory: Memory, good: bool, now: datetime, law: Retention, rule: Weekly) -> Memory:
    """The weekly law knows no intensity: its score itself moves by a step. Where no age gives a score so
    high, the feedback counts as one more recall."""
    until = min(now, memory.archived_at) if memory.archived_at else now
    step = FEEDBACK_STEP if good else -FEEDBACK_STEP
    wanted = min(FULL_SCALE, max(LEAST_SCORE, retention(memory, now, law, rule) + step))
    if good and _weekly_curve(memory.recalls, rule).start < wanted:
        memory = replace(memory, recalls=memory.recalls + 1)
    anchor = _weekly_curve(memory.recalls, rule).anchor(wanted, until)
    return replace(memory, anchor=max(memory.anchor, anchor) if good else min(memory.anchor, anchor))


def _adjust_intensity(memory: Memory, good: bool, law: Retention) -> tuple[Emotion, float]:
    """Emotion and coefficient. The coefficient changes by the same amount as the initial coefficient would
    have; reinforcement earned so far stays."""
    before = memory.emotion.intensity
    after = _clip(before + (FEEDBACK_STEP if good else -FEEDBACK_STEP), FULL_SCALE)
    born, reborn = (coefficient_for(memory.category, value, memory.kind, law) for value in (before, after))
    top = max(law.max_decay_coefficient, memory.coefficient)
    coefficient = min(top, max(0.0, memory.coefficient + reborn - born))
    return replace(memory.emotion, intensity=after), coefficient


def revival_score(
    intensity: float,
    archived_days: float,
    *,
    revival_decay_per_day: float,
    revival_min_margin: float,
    level3_threshold: float,
) -> float:
    """The score of a memory that is revived from the archive [E11].

    It falls with the time in the archive, but stays a margin above the archive threshold, so that the memory
    is not archived again in the same cycle.
    """
    faded = intensity * revival_decay_per_day ** max(0.0, archived_days)
    return float(max(faded, level3_threshold + revival_min_margin))


def anchor_for_score(score: float, intensity: float, coefficient: float, now: datetime) -> datetime:
    """The anchor with which `emotional` gives `score` at `now`.

    Where the intensity cannot reach the score, or the coefficient does not decay, it is `now`.
    """
    return Curve(intensity, coefficient).anchor(score, now)


def anchor_holding(score: float, memory: Memory, now: datetime, law: Retention, rule: Weekly) -> datetime:
    """The anchor with which `retention` gives `score` at `now` under the configured law."""
    return LAWS[law.law].curve(memory, rule).anchor(score, now)


# ── looking ahead ────────────────────────────────────────────────────────────────────────────────


def days_until(score: float, memory: Memory, now: datetime, law: Retention, rule: Weekly) -> float | None:
    """Days from `now` until retention falls to `score` without any recall.

    0.0 if it is there already. None if it never gets there: the memory is protected or archived, its
    coefficient is 1, or the score is 0, which exponential decay never reaches.
    """
    if memory.protected:
        return None
    if retention(memory, now, law, rule) <= score:
        return 0.0
    age = LAWS[law.law].curve(memory, rule).age(score)
    if memory.archived_at is not None or math.isinf(age):
        return None
    # age starts to count at an anchor that lies in the future
    to_anchor = (utc(memory.anchor, "memory.anchor") - utc(now, "now")) / timedelta(days=1)
    return max(0.0, to_anchor + age)


def forecast(
    memory: Memory, now: datetime, entered_at: Mapping[Level, float], law: Retention, rule: Weekly
) -> list[tuple[Level, datetime]]:
    """When the memory falls to each lower level, soonest first; `entered_at` is `levels.entered_at(levels)`.

    Levels that it never reaches are left out, and so are dates beyond the calendar.
    """
    moment = utc(now, "now")
    ahead: list[tuple[Level, datetime]] = []
    for level in sorted(entered_at):
        days = days_until(entered_at[level], memory, moment, law, rule) if level > memory.level else None
        if days is not None and days < (datetime.max.replace(tzinfo=UTC) - moment) / timedelta(days=1):
            ahead.append((level, moment + timedelta(days=days)))
    return ahead


# ── arithmetic ───────────────────────────────────────────────────────────────────────────────────


def _clip(value: float, top: float) -> float:
    return min(top, max(0.0, value))


def _before(moment: datetime, days: float) -> datetime:
    """The moment `days` earlier, or the first moment of the calendar."""
    try:
        return moment - timedelta(days=days)
    except OverflowError:
        return EARLIEST
