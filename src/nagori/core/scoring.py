"""Scores of memories: resonance, the `priority` and `score` rankings, salience and importance.

The default ranking is in `relevance`. Retention, resonance and past recalls change it only within bounds, so
that an old and intense memory never hides the right answer [ruling 16].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from nagori.core.decay import Reinforcement
from nagori.core.model import Emotion, Valence
from nagori.core.values import Value, clamp_unit, setting
from nagori.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Item = TypeVar("Item")

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
    token_budget: int = setting(1500, "Maximum number of tokens returned.", lo=0, hi=10**6)
    char_budget: int = setting(
        9500, "Maximum number of characters returned; hosts cut at 10,000.", lo=0, hi=9500
    )


class SelfRecall(Value):
    """The weights of the `score` ranking."""

    importance: float = setting(0.4, "Weight of importance.", lo=0.0, hi=1.0)
    recency: float = setting(0.3, "Weight of recency.", lo=0.0, hi=1.0)
    role_fit: float = setting(0.2, "Weight of a matching role.", lo=0.0, hi=1.0)
    outcome: float = setting(0.1, "Weight of past success.", lo=0.0, hi=1.0)


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


# ── nudging ──────────────────────────────────────────────────────────────────────────────────────


# --- salience and importance ----------------------------------------------------------------------
# Two weighted sums, both 0–1:
#
#     salience     whether an item enters long-term memory [T7]
#     importance   what a memory is worth to the work [S6]
#
# Neither depends on time; that is `decay`. Inputs outside their range are clipped, because they come from
# models and counters, and a slightly wrong number must not cost a memory.


class Salience(Value):
    """The weights of salience, and the share of items that is consolidated."""

    emotion: float = setting(0.4, "Weight of emotional impact.", lo=0.0, hi=1.0)
    novelty: float = setting(0.3, "Weight of novelty.", lo=0.0, hi=1.0)
    relatedness: float = setting(0.2, "Weight of relations to other memories.", lo=0.0, hi=1.0)
    repetition: float = setting(0.1, "Weight of repetition.", lo=0.0, hi=1.0)
    mentions_full: int = setting(
        10, "Number of mentions that gives the full weight of repetition.", lo=1, hi=10**6
    )
    neighbours: int = setting(5, "Number of similar memories that leaves no novelty.", lo=1, hi=1000)
    neighbour_similarity: float = setting(0.8, "Minimum cosine of a similar memory.", lo=-1.0, hi=1.0)
    long_term_share: float = setting(
        0.7, "Share of the most salient items that is consolidated into long-term memory.", lo=0.0, hi=1.0
    )


class Importance(Value):
    """The weights of importance: what a memory contributed to the work."""

    outcome: float = setting(0.25, "Weight of success.", lo=0.0, hi=1.0)
    reuse: float = setting(0.20, "Weight of reuse.", lo=0.0, hi=1.0)
    cross_impact: float = setting(0.20, "Weight of impact on other tasks and agents.", lo=0.0, hi=1.0)
    novelty: float = setting(0.15, "Weight of novelty.", lo=0.0, hi=1.0)
    user_signal: float = setting(0.15, "Weight of user feedback.", lo=0.0, hi=1.0)
    saving: float = setting(0.05, "Weight of time and cost saved.", lo=0.0, hi=1.0)


def salience(emotion: float, novelty: float, relatedness: float, mentions: int, weights: Salience) -> float:
    """Salience of an item, 0–1. `emotion` is a valence, -1 to 1; its sign does not matter."""
    return clamp_unit(
        weights.emotion * clamp_unit(abs(emotion))
        + weights.novelty * clamp_unit(novelty)
        + weights.relatedness * clamp_unit(relatedness)
        + weights.repetition * clamp_unit(mentions / weights.mentions_full)
    )


def novelty(similar: int, weights: Salience) -> float:
    """Novelty: 1 without similar memories, 0 when all nearest neighbours are similar."""
    return clamp_unit(1.0 - similar / weights.neighbours)


def consolidate(scored: Iterable[tuple[Item, float]], share: float = 0.7) -> list[Item]:
    """The `share` of items with the highest scores, best first; ties keep their order.

    The number is rounded down, so a single item is never kept. Pass whole threads, not single turns.
    """
    ranked = sorted(scored, key=lambda pair: -pair[1])
    return [item for item, _ in ranked[: int(len(ranked) * share)]]


def importance(
    outcome: float,
    reuse: float,
    cross_impact: float,
    novelty: float,
    user_signal: float,
    saving: float,
    weights: Importance,
) -> float:
    """Importance, 0–1; each input 0–1."""
    return clamp_unit(
        weights.outcome * clamp_unit(outcome)
        + weights.reuse * clamp_unit(reuse)
        + weights.cross_impact * clamp_unit(cross_impact)
        + weights.novelty * clamp_unit(novelty)
        + weights.user_signal * clamp_unit(user_signal)
        + weights.saving * clamp_unit(saving)
    )
