"""The documents' own scores, and the factors that may nudge a relevant memory (see `relevance`).

factors    retention, resonance, recalls … each `bounded`: relevance first, because an old loud memory
           must not bury the right answer [ruling 16]
exact      001's `priority` [E18] and 004's `recall_score` [S5], as their documents print them
resonance  how close two feelings are [E17]; `felt_resonance` leaves neutral ones out [ruling 19]
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
    """001 `resonance` [E17]."""

    valence_match_bonus: float = setting(0.3, "for the same direction of feeling", lo=0.0, hi=1.0)
    arousal_proximity_bonus: float = setting(0.2, "at most, for equal excitement", lo=0.0, hi=1.0)
    tags_overlap_weight: float = setting(0.5, "for the same names of feeling", lo=0.0, hi=1.0)
    priority_weight_alpha: float = setting(0.3, "weight of resonance in 001's priority", lo=0.0, hi=10.0)


class Retrieval(Value):
    """001 `retrieval`, and the bounds of what is injected."""

    top_k: int = setting(5, "at most so many memories", lo=1, hi=1000)
    ranking: str = setting(
        "fused",
        "fused arms; or exactly 001's priority or 004's score",
        choices=("fused", "priority", "score"),
    )
    relevance_threshold: float = setting(5.0, "least score of 001's priority", lo=0.0, hi=1000.0)
    min_confidence: float = setting(
        0.05, "least certainty that a memory is about the matter at all", lo=0.0, hi=1.0
    )
    token_budget: int = setting(1500, "at most so many tokens", lo=0, hi=10**6)
    char_budget: int = setting(9500, "at most so many characters; hosts cut at 10,000", lo=0, hi=9500)


class SelfRecall(Value):
    """004 "scoring formula": weights of its recall score [S5]."""

    importance: float = setting(0.4, "weight of importance", lo=0.0, hi=1.0)
    recency: float = setting(0.3, "weight of recency", lo=0.0, hi=1.0)
    role_fit: float = setting(0.2, "weight of the asker's role being the memory's", lo=0.0, hi=1.0)
    outcome: float = setting(0.1, "weight of having led to success", lo=0.0, hi=1.0)


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
    return clamp_unit(
        weights.importance * clamp_unit(importance)
        + weights.recency * clamp_unit(recency)
        + weights.role_fit * clamp_unit(role_fit)
        + weights.outcome * clamp_unit(outcome)
    )


# ── nudging ──────────────────────────────────────────────────────────────────────────────────────


# --- how much something matters when it is new ----------------------------------------------------
# Two weighted sums, both 0–1, from two documents:
#
#     salience     002 §7   does it enter long-term memory at all? [T7]
#     importance   004      what is it worth to the work? [S6]
#
# Neither knows about time; fading is `decay`'s business. Inputs outside their range are clipped, not
# refused: they come from models and counters, and a number slightly off must not cost a memory.


class Salience(Value):
    """002 §7: weights of salience, and how much of it is kept."""

    emotion: float = setting(0.4, "weight of the emotional impact", lo=0.0, hi=1.0)
    novelty: float = setting(0.3, "weight of being new", lo=0.0, hi=1.0)
    relatedness: float = setting(0.2, "weight of the ties to other memories", lo=0.0, hi=1.0)
    repetition: float = setting(0.1, "weight of being said again", lo=0.0, hi=1.0)
    mentions_full: int = setting(10, "so many mentions count in full", lo=1, hi=10**6)
    neighbours: int = setting(5, "so many similar memories leave no novelty", lo=1, hi=1000)
    neighbour_similarity: float = setting(
        0.8, "cosine from which a memory counts as similar", lo=-1.0, hi=1.0
    )
    long_term_share: float = setting(
        0.7, "this share, the most salient, goes to long-term memory", lo=0.0, hi=1.0
    )


class Importance(Value):
    """004 "importance score": weights of what a memory did for the work."""

    outcome: float = setting(0.25, "weight of success", lo=0.0, hi=1.0)
    reuse: float = setting(0.20, "weight of being used again", lo=0.0, hi=1.0)
    cross_impact: float = setting(0.20, "weight of mattering to other tasks and agents", lo=0.0, hi=1.0)
    novelty: float = setting(0.15, "weight of being new", lo=0.0, hi=1.0)
    user_signal: float = setting(0.15, "weight of what the user said about it", lo=0.0, hi=1.0)
    saving: float = setting(0.05, "weight of time and cost saved", lo=0.0, hi=1.0)


def salience(emotion: float, novelty: float, relatedness: float, mentions: int, weights: Salience) -> float:
    """002's importance of an event, 0–1 [T7]. `emotion` is a valence, -1 to 1: joy and grief weigh alike."""
    return clamp_unit(
        weights.emotion * clamp_unit(abs(emotion))
        + weights.novelty * clamp_unit(novelty)
        + weights.relatedness * clamp_unit(relatedness)
        + weights.repetition * clamp_unit(mentions / weights.mentions_full)
    )


def novelty(similar: int, weights: Salience) -> float:
    """002's novelty: 1 when nothing similar is known, 0 when all the nearest neighbours are similar."""
    return clamp_unit(1.0 - similar / weights.neighbours)


def consolidate(scored: Iterable[tuple[Item, float]], share: float = 0.7) -> list[Item]:
    """The `share` of items with the highest scores, best first; equals keep their order [T7].

    Rounded down, as in 002: of one item nothing is kept, so give it whole threads, not single turns.
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
    """004's importance, 0–1; each input 0–1 [S6]."""
    return clamp_unit(
        weights.outcome * clamp_unit(outcome)
        + weights.reuse * clamp_unit(reuse)
        + weights.cross_impact * clamp_unit(cross_impact)
        + weights.novelty * clamp_unit(novelty)
        + weights.user_signal * clamp_unit(user_signal)
        + weights.saving * clamp_unit(saving)
    )
