"""Association: what concepts, mentions and topics are, and how activation is weighed as it spreads.

Memories and the concepts they mention are a graph with two kinds of nodes. Activation starts at memories (the
answers to a question) or at concepts, and passes along mentions. A concept that many memories mention
connects everything with everything, so a rare one passes on more, and a very common one nothing at all. Each
step keeps a bounded number of nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log
from typing import NamedTuple

from nagori.core.model import Recollection
from nagori.core.value_object import Value

MOST_CONCEPTS = 200  # kept in one step
MOST_MEMORIES = 400
MOST_MENTIONS = 600  # followed in one step; rare concepts have few
ENTRIES = 20  # answers from which activation starts
MIN_HUB, MAX_HUB, HUB_SHARE = 20, 100, 10  # a concept is common from a tenth of all memories, within bounds
MAX_DEPTH = 6


class MemoryConcepts(Value):
    """The concepts that a memory mentions, with the weight of each mention. `digest` identifies the text."""

    digest: bytes
    weights: Mapping[str, float]


class MirroredMemory(Value):
    """A memory as a graph server holds it: what its node says, the concepts that it mentions with their
    weights, and its relations as (type, other memory). `version` changes with any of these."""

    id: str
    version: str
    fields: Mapping[str, str]
    concepts: Mapping[str, float]
    relations: tuple[tuple[str, str], ...] = ()


class ActiveConcept(NamedTuple):
    """A concept that activation reached, and the number of memories that mention it. A tuple, because a step
    makes hundreds."""

    name: str
    memories: int
    activation: float


class NearConcepts(Value):
    """The concepts nearest to a vector, by cosine, best first; mean and spread of the cosines of all."""

    cosines: Mapping[str, float]
    usual: tuple[float, float] = (0.0, 1.0)


class Topic(Value):
    """A topic that association led to: a word of the memories that mention it, how strongly it was reached
    (the strongest is 1), after how many steps, and the ids of memories that mention it."""

    name: str
    strength: float
    steps: int
    memories: tuple[str, ...] = ()


class Association(Value):
    """Where a text leads: topics, and memories that share them with the answers, strongest first."""

    topics: tuple[Topic, ...]
    memories: tuple[Recollection, ...]


def hub_size(total: int) -> int:
    """The number of memories from which a concept passes nothing on, of `total` memories."""
    return max(MIN_HUB, min(MAX_HUB, total // HUB_SHARE))


def rarity(total: int, memories: int) -> float:
    """How much a concept tells that so many memories mention."""
    return log(1 + total / (memories + 0.5))


def pass_on(concepts: Iterable[ActiveConcept], total: int) -> dict[str, float]:
    """What each concept passes to each memory that mentions it: its activation, shared among them. Concepts
    come with the most telling first; those beyond a number of mentions pass nothing on, which bounds what a
    step costs."""
    passed, left = dict[str, float](), MOST_MENTIONS
    for each in concepts:
        if each.memories <= left:
            left -= each.memories
            passed[each.name] = each.activation * rarity(total, each.memories) / each.memories
    return passed


def shares(activations: Mapping[str, float]) -> dict[str, float]:
    """Activations as shares of the highest."""
    highest = max(activations.values(), default=0.0)
    return {name: value / highest for name, value in activations.items()} if highest > 0 else {}
