"""The documents' own scores, and the factors that may nudge a relevant memory (see `relevance`).

factors    retention, resonance, recalls … each `bounded`: relevance first, because an old loud memory
           must not bury the right answer [ruling 16]
exact      001's `priority` [E18] and 004's `recall_score` [S5], as their documents print them
resonance  how close two feelings are [E17]; `felt_resonance` leaves neutral ones out [ruling 19]
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from nagori.core.decay import Reinforcement
from nagori.core.knobs import knob
from nagori.core.model import Emotion, Valence
from nagori.core.salience import unit
from nagori.core.values import Value
from nagori.errors import InvalidInput

# ── settings ─────────────────────────────────────────────────────────────────────────────────────


class Resonance(Value):
    """001 `resonance` [E17]."""

    valence_match_bonus: float = knob(0.3, "for the same direction of feeling", lo=0.0, hi=1.0)
    arousal_proximity_bonus: float = knob(0.2, "at most, for equal excitement", lo=0.0, hi=1.0)
    tags_overlap_weight: float = knob(0.5, "for the same names of feeling", lo=0.0, hi=1.0)
    priority_weight_alpha: float = knob(0.3, "weight of resonance in 001's priority", lo=0.0, hi=10.0)


class Retrieval(Value):
    """001 `retrieval`, and the bounds of what is injected."""

    top_k: int = knob(5, "at most so many memories", lo=1, hi=1000)
    ranking: str = knob(
        "fused",
        "fused arms; or exactly 001's priority or 004's score",
        choices=("fused", "priority", "score"),
    )
    relevance_threshold: float = knob(5.0, "least score of 001's priority", lo=0.0, hi=1000.0)
    floor: float = knob(0.05, "least certainty that a memory is about the matter at all", lo=0.0, hi=1.0)
    token_budget: int = knob(1500, "at most so many tokens", lo=0, hi=10**6)
    char_budget: int = knob(9500, "at most so many characters; hosts cut at 10,000", lo=0, hi=9500)


class SelfRecall(Value):
    """004 "scoring formula": weights of its recall score [S5]."""

    importance: float = knob(0.4, "weight of importance", lo=0.0, hi=1.0)
    recency: float = knob(0.3, "weight of recency", lo=0.0, hi=1.0)
    role_fit: float = knob(0.2, "weight of the asker's role being the memory's", lo=0.0, hi=1.0)
    outcome: float = knob(0.1, "weight of having led to success", lo=0.0, hi=1.0)


# ── nearness ─────────────────────────────────────────────────────────────────────────────────────


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """Similarity of two vectors, -1 to 1; the zero vector is like nothing."""
    if len(a) != len(b):
        raise InvalidInput("vector", f"{len(a)} dimensions against {len(b)}")
    dot = math.fsum(x * y for x, y in zip(_direction(a), _direction(b), strict=True))
    return min(1.0, max(-1.0, dot))


def _direction(vector: Sequence[float]) -> Sequence[float]:
    """The vector at length 1; scaled first, because squares of extreme numbers leave the range of floats."""
    peak = max(map(abs, vector), default=0.0)
    if not peak:
        return vector
    scaled = [x / peak for x in vector]
    length = math.hypot(*scaled)
    return [x / length for x in scaled]


def resonance(current: Emotion, memory: Emotion, section: Resonance) -> float:
    """How close two feelings are, 0–1 by default: same direction, like excitement, same names [E17]."""
    valence = section.valence_match_bonus if current.valence is memory.valence else 0.0
    apart = abs(current.arousal - memory.arousal) / 100.0
    arousal = max(0.0, section.arousal_proximity_bonus * (1.0 - apart))
    mine, other = set(current.tags), set(memory.tags)
    overlap = len(mine & other) / max(len(mine), len(other), 1)
    return valence + arousal + section.tags_overlap_weight * overlap


def felt_resonance(current: Emotion | None, memory: Emotion | None, section: Resonance) -> float:
    """`resonance`, but 0 where either side is neutral or unknown.

    In 001's formula two flat sentences resonate at 0.5 for being equally flat; neutral neither helps
    nor hurts [ruling 19].
    """
    if current is None or memory is None:
        return 0.0
    if Valence.NEUTRAL in (current.valence, memory.valence):
        return 0.0
    return resonance(current, memory, section)


# ── the documents' own scores ────────────────────────────────────────────────────────────────────


def priority(
    retention: float, match: float, recalls: int, resonance: float, recall: Reinforcement, feeling: Resonance
) -> float:
    """001's reference priority [E18]; `match` is a cosine, and one below 0 counts as 0, as in its code."""
    base = retention * max(0.0, match) * (1.0 + recall.recall_count_weight * recalls)
    return base + feeling.priority_weight_alpha * resonance * retention


def recall_score(
    importance: float, recency: float, role_fit: float, outcome: float, weights: SelfRecall
) -> float:
    """004's recall score, 0–1; each input 0–1 [S5]."""
    return unit(
        weights.importance * unit(importance)
        + weights.recency * unit(recency)
        + weights.role_fit * unit(role_fit)
        + weights.outcome * unit(outcome)
    )


# ── nudging ──────────────────────────────────────────────────────────────────────────────────────


def bounded(value: float, low: float, high: float) -> float:
    """A factor from `low` (value 0) to `high` (value 1): however loud, it moves a score no further."""
    return low + (high - low) * unit(value)
