"""Scores of memories: resonance, and the rankings `priority` and `score`.

The default ranking is in `relevance`. Retention, resonance and past recalls change it only within bounds, so
that an old and intense memory never hides the right answer [ruling 16].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from nagori.core.decay import Reinforcement
from nagori.core.model import Credit, Emotion, Memory, Valence
from nagori.core.value_object import Value, clamp_unit, setting
from nagori.errors import InvalidInput

Ranked = tuple[float, Memory]  # a memory and its retention

# ── settings ─────────────────────────────────────────────────────────────────────────────────────


class Resonance(Value):
    """Emotional resonance: how close two emotions are."""

    valence_match_bonus: float = setting(0.3, "Bonus for the same valence.", lo=0.0, hi=1.0)
    arousal_proximity_bonus: float = setting(0.2, "Maximum bonus for similar arousal.", lo=0.0, hi=1.0)
    tags_overlap_weight: float = setting(0.5, "Weight of shared emotion tags.", lo=0.0, hi=1.0)
    priority_weight_alpha: float = setting(
        0.3, "Weight of resonance in the `priority` ranking.", lo=0.0, hi=10.0
    )


class Retrieval(Value):
    """What recall returns: number, ranking and limits."""

    top_k: int = setting(5, "Maximum number of memories returned.", lo=1, hi=1000)
    ranking: str = setting(
        "fused",
        "`fused` combines words, meaning and time; `priority` and `score` are single formulas.",
        choices=("fused", "priority", "score"),
    )
    relevance_threshold: float = setting(5.0, "Minimum score in the `priority` ranking.", lo=0.0, hi=1000.0)
    min_confidence: float = setting(
        0.05, "Minimum confidence that a memory is about the question.", lo=0.0, hi=1.0
    )
    token_budget: int = setting(1500, "Maximum number of tokens injected for a prompt.", lo=0, hi=10**6)
    char_budget: int = setting(
        9500, "Maximum number of characters injected for a prompt; hosts cut at 10,000.", lo=0, hi=9500
    )
    index_megabytes: int = setting(
        256,
        "Memory for the search indexes of owners that a running process asks about often; 0: none.",
        lo=0,
        hi=10**6,
    )


class SelfRecall(Value):
    """The weights of the `score` ranking."""

    importance: float = setting(0.4, "Weight of importance.", lo=0.0, hi=1.0)
    recency: float = setting(0.3, "Weight of recency.", lo=0.0, hi=1.0)
    role_fit: float = setting(0.2, "Weight of a matching role.", lo=0.0, hi=1.0)
    outcome: float = setting(0.1, "Weight of what a memory contributed to outcomes.", lo=0.0, hi=1.0)


class LearningSettings(Value):
    """Learning from outcomes: what agents do with the memories they are shown."""

    withhold_share: float = setting(
        0.1,
        "Share of prompts for which one memory is withheld at random, to measure what it contributes.",
        lo=0.0,
        hi=0.5,
    )
    credit_weight: float = setting(
        3.0,
        "How much the measured contribution of a memory counts when prompts get memories.",
        lo=0.0,
        hi=6.0,
    )
    exclude_unused_after: int = setting(
        12,
        "Number of times in a row that a memory is shown and not used, after which prompts no longer get it;"
        " 0: never.",
        lo=0,
        hi=1000,
    )
    adapt: bool = setting(True, "Let the nightly cycle move settings of recall by what was measured.")
    session_summaries: bool = setting(
        False, "Store a summary of each session when it ends, as a memory of its own."
    )
    disclose_after_days: float = setting(
        0.0,
        "Days after which lessons of an agent become visible to its role, and after as many again to all"
        " agents; 0: never.",
        lo=0.0,
        hi=36500.0,
    )


# ── nearness ─────────────────────────────────────────────────────────────────────────────────────


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """Cosine similarity of two vectors, -1 to 1; 0 for the zero vector."""
    if len(a) != len(b):
        raise InvalidInput("vector", "error.vector_lengths", a=len(a), b=len(b))
    dot = math.fsum(x * y for x, y in zip(_direction(a), _direction(b), strict=True))
    return min(1.0, max(-1.0, dot))


def _direction(vector: Sequence[float]) -> Sequence[float]:
    """The vector scaled to length 1. It is divided by its peak first, because squares of extreme values
    overflow."""
    peak = max(map(abs, vector), default=0.0)
    if not peak:
        return vector
    scaled = [x / peak for x in vector]
    length = math.hypot(*scaled)
    return [x / length for x in scaled]


def resonance(current: Emotion, memory: Emotion, section: Resonance) -> float:
    """How close two emotions are, 0–1 by default: same valence, similar arousal, shared tags [E17]."""
    valence = section.valence_match_bonus if current.valence is memory.valence else 0.0
    apart = abs(current.arousal - memory.arousal) / 100.0
    arousal = max(0.0, section.arousal_proximity_bonus * (1.0 - apart))
    mine, other = set(current.tags), set(memory.tags)
    overlap = len(mine & other) / max(len(mine), len(other), 1)
    return valence + arousal + section.tags_overlap_weight * overlap


def felt_resonance(current: Emotion | None, memory: Emotion | None, section: Resonance) -> float:
    """`resonance`, but 0 where either emotion is neutral or unknown.

    The formula gives two neutral sentences 0.5 for equal arousal; neutral must neither help nor hurt [ruling
    19].
    """
    if current is None or memory is None:
        return 0.0
    if Valence.NEUTRAL in (current.valence, memory.valence):
        return 0.0
    return resonance(current, memory, section)


def order_by_strength(items: Iterable[Ranked], near: float) -> list[Ranked]:
    """Items strongest first; of those whose strength differs by less than `near` from the strongest of them,
    the newest first [E16]."""
    ordered: list[Ranked] = []
    group: list[Ranked] = []
    for item in sorted(items, key=lambda item: -item[0]):
        if group and group[0][0] - item[0] >= near:
            ordered += _newest_first(group)
            group = []
        group.append(item)
    return ordered + _newest_first(group)


def _newest_first(group: list[Ranked]) -> list[Ranked]:
    return sorted(group, key=lambda item: (item[1].created, item[1].id), reverse=True)


# ── the rankings `priority` and `score` ──────────────────────────────────────────────────────────


def priority(
    retention: float, match: float, recalls: int, resonance: float, recall: Reinforcement, feeling: Resonance
) -> float:
    """The `priority` ranking [E18]. `match` is a cosine; a negative one counts as 0."""
    base = retention * max(0.0, match) * (1.0 + recall.recall_count_weight * recalls)
    return base + feeling.priority_weight_alpha * resonance * retention


def recall_score(
    importance: float, recency: float, role_fit: float, outcome: float, weights: SelfRecall
) -> float:
    """The `score` ranking, 0–1; each input 0–1 [S5]."""
    return clamp_unit(
        weights.importance * clamp_unit(importance)
        + weights.recency * clamp_unit(recency)
        + weights.role_fit * clamp_unit(role_fit)
        + weights.outcome * clamp_unit(outcome)
    )


# ── contribution ─────────────────────────────────────────────────────────────────────────────────

EXPECTED = 4.0  # observations without any effect that are assumed before the first
HARM = 0.12  # a memory that costs more than this is not shown unasked


def contribution(credit: Credit) -> float:
    """What a memory contributes to outcomes, -1 to 1; 0 where nothing is known. It is the effect of showing
    it at random, plus the direct sign: outcomes where it was used against those where it was ignored, as far
    as it is used at all. Both are shrunk towards zero."""
    shown = credit.showings
    effect = _difference(shown, credit.used_sum + credit.ignored_sum, credit.withheld, credit.withheld_sum)
    direct = _difference(credit.used, credit.used_sum, credit.ignored, credit.ignored_sum)
    share = credit.used / shown if shown else 0.0
    return max(-1.0, min(1.0, effect + share * direct))


def _difference(many: float, total: float, others: float, other_total: float) -> float:
    """The difference of two means, shrunk towards zero as far as it rests on few observations."""
    if many <= 0 or others <= 0:
        return 0.0
    size = many * others / (many + others)
    return (total / many - other_total / others) * size / (size + EXPECTED)


def is_excluded(credit: Credit, unused_limit: int) -> bool:
    """Whether prompts no longer get the memory: it does harm, or was shown in vain for long."""
    return 0 < unused_limit <= credit.unused or contribution(credit) < -HARM


def choose_withheld(count: int, share: float, dice: bytes) -> tuple[int | None, float]:
    """Which of `count` memories is withheld, if any, and how likely each was to be. `dice` are random
    bytes."""
    if not count or share <= 0:
        return None, 0.0
    first, second = int.from_bytes(dice[:4], "big"), int.from_bytes(dice[4:8], "big")
    chosen = second % count if first < share * 2**32 else None
    return chosen, share / count


# ── importance ───────────────────────────────────────────────────────────────────────────────────

MOST_REUSED, MOST_SESSIONS, MOST_SAVED = 10, 5, 60.0


class ImportanceTerms(Value):
    """The six terms of importance [S6], each 0 to 1 and from something measured."""

    outcome: float = 0.5  # contribution to outcomes
    reuse: float = 0.0  # reinforcements and uses
    cross_impact: float = 0.0  # relations to memories of other sessions
    novelty: float = 1.0  # how rarely it was repeated
    user_signal: float = 0.0  # protection, and how intense the user made it
    saving: float = 0.5  # seconds that turns with it saved


IMPORTANCE = {
    "outcome": 0.25,
    "reuse": 0.20,
    "cross_impact": 0.20,
    "novelty": 0.15,
    "user_signal": 0.15,
    "saving": 0.05,
}


def importance(terms: ImportanceTerms) -> float:
    """The importance of a memory, 0 to 1 [S6]."""
    return clamp_unit(sum(weight * clamp_unit(getattr(terms, name)) for name, weight in IMPORTANCE.items()))


def importance_terms(
    credit: Credit, *, recalls: int, mentions: int, intensity: float, protected: bool, others: int
) -> ImportanceTerms:
    """The terms of a memory; `others` is the number of its relations to memories of other sessions."""
    per_turn = credit.saved / credit.showings if credit.showings else 0.0
    return ImportanceTerms(
        outcome=(1 + contribution(credit)) / 2,
        reuse=clamp_unit((recalls + credit.used) / MOST_REUSED),
        cross_impact=clamp_unit(others / MOST_SESSIONS),
        novelty=1 / max(1, mentions),
        user_signal=1.0 if protected else clamp_unit(intensity / 100),
        saving=clamp_unit(0.5 + per_turn / (2 * MOST_SAVED)),
    )
