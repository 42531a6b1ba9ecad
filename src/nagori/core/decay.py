"""How a memory fades, and what holds it back: two laws of forgetting, as values in, values out.

    emotional  intensity × coefficient ^ days                        001 "mathematical model" [E1], default
    weekly     (birth + boost × recalls) × decay ^ weeks, clipped    000 §5.1 [L1]

Both answer on one scale, 0–100 (000's 0–1 score is that / 100), and both measure age from the memory's
anchor, in elapsed time: how often a cycle ran in between changes nothing [ruling 1]. Both are the same
curve, an exponential, with different numbers: so one inverse serves both. The configuration picks a law
by its name in `LAWS`.

Two kinds of memory stand still. An *archived* one is frozen at the moment it was archived [E10]: its
age stops there. A *protected* one keeps its level whatever its score: `retention` still tells the
number, because ranking wants to know how old it feels, but `days_until` and `forecast` say "never".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from nagori.core.model import Category, Emotion, Kind, Level, Memory, days_between, utc
from nagori.core.values import Value, replace, setting

FULL_SCALE = 100.0
DAYS_A_WEEK = 7.0
EARLIEST = datetime.min.replace(tzinfo=UTC)
FEEDBACK_STEP = 10.0  # what one judgement of the user moves the intensity by, up or down


# ── settings ─────────────────────────────────────────────────────────────────────────────────────


class DecayRange(Value):
    """The daily coefficients of one category: `min` for what left one cold, `max` for what moved one most."""

    min: float = setting(0.0, "daily coefficient at intensity 0", lo=0.01, hi=1.0)
    max: float = setting(1.0, "daily coefficient at intensity 100", lo=0.01, hi=1.0)


class DecayByCategory(Value):
    """001 "decay coefficients": half-lives from a few days to nearly for ever [E4]."""

    casual: DecayRange = setting(DecayRange(0.70, 0.80), "chat and greetings: days")
    work: DecayRange = setting(DecayRange(0.85, 0.92), "tasks and technical talk: a week or two")
    decision: DecayRange = setting(DecayRange(0.93, 0.97), "decisions and designs: weeks to months")
    emotional: DecayRange = setting(DecayRange(0.98, 0.999), "personal matters: months to nearly for ever")


class Retention(Value):
    """001 `retention`: which law, and how fast the emotional one fades."""

    law: str = setting("emotional", "the law of forgetting", choices=("emotional", "weekly"))
    base_decay_coefficient: float = setting(
        0.995, "daily coefficient without a category, and the least for a fact", lo=0.01, hi=1.0
    )
    max_decay_coefficient: float = setting(0.999, "recall raises a coefficient up to here", lo=0.01, hi=1.0)
    decay_by_category: DecayByCategory = setting(DecayByCategory(), "range of coefficients of each category")

    def faults(self) -> Iterator[str]:
        """What is wrong between the settings of this section."""
        base, top = self.base_decay_coefficient, self.max_decay_coefficient
        if base > top:
            yield f"base_decay_coefficient: {base} is above max_decay_coefficient ({top})"
        for category in Category:
            span: DecayRange = getattr(self.decay_by_category, category)
            if span.min > span.max:
                yield f"decay_by_category.{category}.min: {span.min} is above max ({span.max})"
            if span.max > top:
                yield f"decay_by_category.{category}.max: {span.max} is above max_decay_coefficient ({top})"


class Weekly(Value):
    """000 §5.1: the weekly law, in that document's own scale of 0–1."""

    initial_score: float = setting(0.5, "score at birth", lo=0.0, hi=1.0)
    decay: float = setting(0.95, "what is left of the score after a week", lo=0.01, hi=1.0)
    boost: float = setting(0.1, "what one recall adds", lo=0.0, hi=1.0)
    boost_mode: str = setting(
        "additive",
        "additive: birth + boost × recalls; multiplicative: birth × (1 + boost × recalls)",
        choices=("additive", "multiplicative"),
    )


class Reinforcement(Value):
    """001 `recall`: what a recall does when the cycle comes by [E5]."""

    decay_coefficient_boost: float = setting(0.02, "added to the coefficient", lo=0.0, hi=1.0)
    memory_days_reduction: float = setting(0.5, "what is left of the age", lo=0.0, hi=1.0)
    recall_count_weight: float = setting(0.1, "weight of each past recall in 001's priority", lo=0.0, hi=10.0)


# ── the two laws ─────────────────────────────────────────────────────────────────────────────────


class Curve(Value):
    """A score that starts at `start` (0–100) and keeps the share `rate` of itself every `period` days."""

    start: float
    rate: float
    period: float = 1.0

    def at(self, days: float) -> float:
        """The score at an age; a rate above 1 counts as 1, because nothing grows by waiting."""
        return _clip(self.start * _clip(self.rate, 1.0) ** (max(0.0, days) / self.period), FULL_SCALE)

    def age(self, score: float) -> float:
        """The age in days at which it has fallen to `score`: 0 if it starts there, infinite if never."""
        if self.start <= score:
            return 0.0
        if score <= 0 or self.rate >= 1:
            return math.inf
        return self.period * math.log(score / self.start) / math.log(self.rate) if self.rate > 0 else 0.0

    def anchor(self, score: float, now: datetime) -> datetime:
        """Where the age must be measured from for `score` to hold at `now`; `now` if it cannot."""
        return utc(now, "now") if self.rate >= 1 else _before(utc(now, "now"), self.age(score))


def emotional(intensity: float, coefficient: float, days: float) -> float:
    """Retention 0–100 after `days` [E1]."""
    return Curve(intensity, coefficient).at(days)


def weekly(recalls: int, weeks: float, rule: Weekly) -> float:
    """Retention 0–100 after `weeks` with so many recalls; 000 calls them accesses [L1]."""
    return _weekly_curve(recalls, rule).at(weeks * DAYS_A_WEEK)


def _weekly_curve(recalls: int, rule: Weekly) -> Curve:
    """It may start above 100: the clip comes after the decay, so a much recalled memory rests at the top."""
    if rule.boost_mode == "multiplicative":
        strength = rule.initial_score * (1.0 + rule.boost * recalls)
    else:
        strength = rule.initial_score + rule.boost * recalls
    return Curve(FULL_SCALE * strength, rule.decay, DAYS_A_WEEK)


class Law(Value):
    """The curve from intensity, coefficient and recalls, and whether a recall makes a memory younger.

    001 halves the age and slows the decay; 000 counts the recalls inside its formula and leaves age alone.
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
    """The daily coefficient a memory is born with [E4]: its place in the range is its intensity.

    A fact keeps the base coefficient at least: "I am allergic to peanuts", said calmly, must not be
    gone in six days because the talk around it was casual [ruling 4].
    """
    base = retention.base_decay_coefficient
    if category is None:
        return base
    span: DecayRange = getattr(retention.decay_by_category, category)
    coefficient = span.min + (span.max - span.min) * (_clip(intensity, FULL_SCALE) / FULL_SCALE)
    return max(base, coefficient) if kind is Kind.FACT else coefficient


def memory_days(memory: Memory, now: datetime) -> float:
    """Age in days since the anchor; never negative, and standing still in the archive [ruling 1, E10]."""
    until = utc(now, "now")
    if memory.archived_at is not None:
        until = min(until, utc(memory.archived_at, "memory.archived_at"))
    return days_between(utc(memory.anchor, "memory.anchor"), until)


def retention(memory: Memory, now: datetime, law: Retention, rule: Weekly) -> float:
    """How strong the memory is at `now`, 0–100, by the configured law."""
    return LAWS[law.law].curve(memory, rule).at(memory_days(memory, now))


# ── recall, judgement, revival ───────────────────────────────────────────────────────────────────


def reinforce(memory: Memory, now: datetime, law: Retention, recall: Reinforcement) -> Memory:
    """The memory after one earned recall [E5]; never weaker than before, now or later.

    Under a law that rejuvenates the age shrinks and the coefficient grows; under both the recall counts.
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
    """Anchor and coefficient after one earned recall; `frozen` is when its age stopped."""
    anchor = utc(anchor, "memory.anchor")
    if not LAWS[law.law].rejuvenates:
        return anchor, coefficient
    age = days_between(anchor, min(now, frozen) if frozen else now)
    raised = min(law.max_decay_coefficient, coefficient + recall.decay_coefficient_boost)
    # an anchor in the future (a clock that ran ahead) or a coefficient above the limit stays
    return max(anchor, _before(now, age * recall.memory_days_reduction)), max(coefficient, raised)


def adjust_for_feedback(memory: Memory, good: bool, law: Retention) -> tuple[Emotion, float]:
    """Feeling and coefficient after the user said that a memory was useful, or was not [L11].

    The coefficient moves as far as it would have differed at birth: what recalls have earned stays, and
    praise never makes a memory fade faster.
    """
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
    """What a memory is worth on its return from the archive [E11].

    The longer it lay there the less, but always a margin above the archive's own threshold, so that it
    does not fall back the same night.
    """
    faded = intensity * revival_decay_per_day ** max(0.0, archived_days)
    return float(max(faded, level3_threshold + revival_min_margin))


def anchor_for_score(score: float, intensity: float, coefficient: float, now: datetime) -> datetime:
    """The anchor with which `emotional` gives `score` at `now`, so that a revival score holds [ruling 12].

    A score the intensity cannot reach, or a coefficient that never fades, gives `now`: as fresh as it gets.
    """
    return Curve(intensity, coefficient).anchor(score, now)


def anchor_holding(score: float, memory: Memory, now: datetime, law: Retention, rule: Weekly) -> datetime:
    """`anchor_for_score` under the configured law: with this anchor `retention` gives `score` at `now`."""
    return LAWS[law.law].curve(memory, rule).anchor(score, now)


# ── looking ahead ────────────────────────────────────────────────────────────────────────────────


def days_until(score: float, memory: Memory, now: datetime, law: Retention, rule: Weekly) -> float | None:
    """Days from `now` until the retention has fallen to `score`, if nobody recalls it.

    0.0 when it is there already; None when it never gets there: protected, archived (frozen), a
    coefficient of 1, or a score of 0, which a power of time approaches and never touches.
    """
    if memory.protected:
        return None
    if retention(memory, now, law, rule) <= score:
        return 0.0
    age = LAWS[law.law].curve(memory, rule).age(score)
    if memory.archived_at is not None or math.isinf(age):
        return None
    # an anchor in the future first has to be reached
    to_anchor = (utc(memory.anchor, "memory.anchor") - utc(now, "now")) / timedelta(days=1)
    return max(0.0, to_anchor + age)


def forecast(
    memory: Memory, now: datetime, entered_at: Mapping[Level, float], law: Retention, rule: Weekly
) -> list[tuple[Level, datetime]]:
    """When it falls to each deeper level, soonest first; `entered_at` is `life.entered_at(levels)`.

    Levels it never reaches, and those beyond the end of the calendar, are left out.
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
    """`days` earlier, or as far back as the calendar goes."""
    try:
        return moment - timedelta(days=days)
    except OverflowError:
        return EARLIEST
