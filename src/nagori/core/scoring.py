"""Scores of memories: resonance, and the rankings `priority` and `score`.

The default ranking is in `relevance`. Retention, resonance and past recalls change it only within bounds, so
that an old and intense memory never hides the right answer [ruling 16].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from nagori.core.decay import Reinforcement
from nagori.core.model import Emotion, Memory, Valence
from nagori.core.values import Value, clamp_unit, setting
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


class SelfRecall(Value):
    """The weights of the `score` ranking."""

    importance: float = setting(0.4, "Weight of importance.", lo=0.0, hi=1.0)
    recency: float = setting(0.3, "Weight of recency.", lo=0.0, hi=1.0)
    role_fit: float = setting(0.2, "Weight of a matching role.", lo=0.0, hi=1.0)


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


def recall_score(importance: float, recency: float, role_fit: float, weights: SelfRecall) -> float:
    """The `score` ranking, 0–1; each input 0–1 [S5]."""
    return clamp_unit(
        weights.importance * clamp_unit(importance)
        + weights.recency * clamp_unit(recency)
        + weights.role_fit * clamp_unit(role_fit)
    )
