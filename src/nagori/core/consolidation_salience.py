"""Salience [T7]: which of the new memories a night makes stronger.

Salience = 0.4 emotion + 0.3 novelty + 0.2 relatedness + 0.1 repetition, each from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping

from nagori.core.value_object import Value, clamp_unit, setting

EMOTION, NOVELTY, RELATEDNESS, REPETITION = 0.4, 0.3, 0.2, 0.1
CONCEPTS = 5  # so many new concepts make a memory fully new, so many shared ones fully related
NEW_UP_TO = 2  # memories that mention a concept while it counts as new
MENTIONS = 10  # from so many mentions on repetition counts in full
GAIN = 0.25  # share of the way to no decay at all that a consolidated memory goes


class Consolidation(Value):
    """Consolidation of new memories by the cycle."""

    enabled: bool = setting(
        False,
        "Let the cycle make the most salient new memories fade more slowly than the others, and keep a"
        " summary of each thread that has ended.",
    )
    share: float = setting(0.7, "Share of the new memories that is consolidated.", lo=0.0, hi=1.0)


def salience(intensity: float, new: int, shared: int, mentions: int) -> float:
    """The salience of a memory, 0 to 1: the intensity of its emotion (0 to 100), the number of concepts that
    are new with it, the number of those that it shares with others, and how often it was said."""
    emotion, repetition = clamp_unit(intensity / 100), min(mentions / MENTIONS, 1.0)
    novelty, relatedness = min(new / CONCEPTS, 1.0), min(shared / CONCEPTS, 1.0)
    return EMOTION * emotion + NOVELTY * novelty + RELATEDNESS * relatedness + REPETITION * repetition


def most_salient(scores: Mapping[str, float], share: float) -> list[str]:
    """The ids of this share with the highest scores, highest first; equal ones by id."""
    ordered = sorted(scores, key=lambda id: (-scores[id], id))
    return ordered[: int(len(ordered) * share + 1e-9)]


def consolidated_coefficient(coefficient: float) -> float:
    """The daily coefficient of decay after consolidation."""
    return coefficient + GAIN * (1 - coefficient)
