"""How much something matters when it is new: two weighted sums, both 0–1, from two documents.

    salience     002 §7   does it enter long-term memory at all? [T7]
    importance   004      what is it worth to the work? [S6]

Neither knows about time; fading is `decay`'s business. Inputs outside their range are clipped, not
refused: they come from models and counters, and a number slightly off must not cost a memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from nagori.core.knobs import knob
from nagori.core.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    Item = TypeVar("Item")


class Salience(Value):
    """002 §7: weights of salience, and how much of it is kept."""

    emotion: float = knob(0.4, "weight of the emotional impact", lo=0.0, hi=1.0)
    novelty: float = knob(0.3, "weight of being new", lo=0.0, hi=1.0)
    relatedness: float = knob(0.2, "weight of the ties to other memories", lo=0.0, hi=1.0)
    repetition: float = knob(0.1, "weight of being said again", lo=0.0, hi=1.0)
    mentions_full: int = knob(10, "so many mentions count in full", lo=1, hi=10**6)
    neighbours: int = knob(5, "so many similar memories leave no novelty", lo=1, hi=1000)
    neighbour_similarity: float = knob(0.8, "cosine from which a memory counts as similar", lo=-1.0, hi=1.0)
    share: float = knob(0.7, "this share, the most salient, goes to long-term memory", lo=0.0, hi=1.0)


class Importance(Value):
    """004 "importance score": weights of what a memory did for the work."""

    outcome: float = knob(0.25, "weight of success", lo=0.0, hi=1.0)
    reuse: float = knob(0.20, "weight of being used again", lo=0.0, hi=1.0)
    cross_impact: float = knob(0.20, "weight of mattering to other tasks and agents", lo=0.0, hi=1.0)
    novelty: float = knob(0.15, "weight of being new", lo=0.0, hi=1.0)
    user_signal: float = knob(0.15, "weight of what the user said about it", lo=0.0, hi=1.0)
    saving: float = knob(0.05, "weight of time and cost saved", lo=0.0, hi=1.0)


def salience(emotion: float, novelty: float, relatedness: float, mentions: int, weights: Salience) -> float:
    """002's importance of an event, 0–1 [T7]. `emotion` is a valence, -1 to 1: joy and grief weigh alike."""
    return unit(
        weights.emotion * unit(abs(emotion))
        + weights.novelty * unit(novelty)
        + weights.relatedness * unit(relatedness)
        + weights.repetition * unit(mentions / weights.mentions_full)
    )


def novelty(similar: int, weights: Salience) -> float:
    """002's novelty: 1 when nothing similar is known, 0 when all the nearest neighbours are similar."""
    return unit(1.0 - similar / weights.neighbours)


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
    return unit(
        weights.outcome * unit(outcome)
        + weights.reuse * unit(reuse)
        + weights.cross_impact * unit(cross_impact)
        + weights.novelty * unit(novelty)
        + weights.user_signal * unit(user_signal)
        + weights.saving * unit(saving)
    )


def unit(value: float) -> float:
    """`value` clipped to 0–1; what is not a number counts as 0."""
    return min(1.0, max(0.0, value))
