"""Recall: the memories that answer a question, best first, and nothing below the floor.

Two arms look at the same time: words and meaning. Their scores are put on one scale and added; then
bounded factors (how strong it still is, how often it was wanted) may move a memory a little, never bury
the right answer under a loud old one [ruling 16]. 001's own priority can be chosen by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from nagori.core import decay, ranking
from nagori.core.fold import Event
from nagori.core.model import ALIVE, Emotion, Filter, Hit, Memory, Recollection, Scope
from nagori.core.text import clean, query_tokens
from nagori.core.values import Value, replace
from nagori.errors import InvalidInput
from nagori.parts import Parts

CANDIDATES = 50
LONGEST_QUERY = 2000
NARROW = 0.1

Arms = Mapping[str, Mapping[str, float]]


class Question(Value):
    """What is asked, and how the answer should be chosen."""

    text: str
    k: int | None = None
    filter: Filter = ALIVE
    ranking: str | None = None  # the configured one
    mood: Emotion | None = None
    mark: bool = True  # a recall strengthens; a look does not


def recall(parts: Parts, scope: Scope, question: Question) -> list[Recollection]:
    """The best memories for a question; they are marked as recalled."""
    parts.ledger.catch_up(scope.space)
    k = question.k if question.k is not None else parts.config.retrieval.top_k
    if not isinstance(k, int) or k < 1:
        raise InvalidInput("k", "{k} is not at least 1", k=k)
    name = question.ranking or parts.config.retrieval.ranking
    if name not in RANKINGS:
        choices = ", ".join(RANKINGS)
        raise InvalidInput("ranking", "{value!r} is none of {choices}", value=name, choices=choices)
    arms = _look(parts, scope, question)
    ids = list(dict.fromkeys(id for arm in arms.values() for id in arm))
    found = RANKINGS[name](parts, scope, question, parts.store.get(scope, ids), arms)
    best = sorted(found, key=lambda r: (-r.score, r.memory.id))
    best = [r for r in best if r.score > parts.config.retrieval.floor][:k]
    if question.mark and best:
        _mark(parts, scope, best)
    return best


def _look(parts: Parts, scope: Scope, question: Question) -> dict[str, dict[str, float]]:
    text = clean(question.text)[:LONGEST_QUERY]
    if not text.strip():
        raise InvalidInput("query", "nothing to look for: the text is empty")
    filter = question.filter
    if parts.config.archive.enable_archive_recall:
        filter = replace(filter, archived=True)
    arms = {"words": _scores(parts.store.match_text(scope, query_tokens(text), CANDIDATES, filter))}
    embedder = parts.embedder
    if embedder is not None:
        vector = embedder.embed_query(text)
        arms["meaning"] = _scores(parts.store.nearest(scope, vector, embedder.model, CANDIDATES, filter))
    return arms


def _scores(hits: Sequence[Hit]) -> dict[str, float]:
    return {hit.id: hit.score for hit in hits}


def _share_of_best(arm: Mapping[str, float]) -> dict[str, float]:
    best = max(arm.values(), default=1.0)
    return {id: score / best for id, score in arm.items()}


def _nearness_to_best(arm: Mapping[str, float]) -> dict[str, float]:
    """1 for the nearest, less by distance from it. Cosines of one model live in a narrow band, so the
    band that was seen is the scale; but a hair's breadth stays a hair's breadth."""
    best, worst = max(arm.values(), default=0.0), min(arm.values(), default=0.0)
    return {id: 1.0 - (best - score) / max(best - worst, NARROW) for id, score in arm.items()}


SCALES = {"words": _share_of_best, "meaning": _nearness_to_best}


def _fused(
    parts: Parts, scope: Scope, question: Question, memories: Sequence[Memory], arms: Arms
) -> Iterator[Recollection]:
    """The default: relevance first, then bounded factors."""
    scaled = {name: SCALES[name](arm) for name, arm in arms.items()}
    for memory in memories:
        strength = _retention(parts, memory)
        terms = {name: arm.get(memory.id, 0.0) for name, arm in scaled.items()}
        relevance = sum(terms.values()) / len(scaled)
        felt = ranking.felt_resonance(question.mood, memory.emotion, parts.config.resonance)
        factors = {
            "strength": ranking.bounded(strength / 100, 0.9, 1.1),
            "recalls": ranking.bounded(min(memory.recalls, 10) / 10, 1.0, 1.1),
            "validity": 0.7 if memory.superseded_by else 1.0,
            "resonance": ranking.bounded(felt, 1.0, 1.1),
        }
        yield Recollection(memory, relevance * prod(factors.values()), strength, terms | factors)


def _priority(
    parts: Parts, scope: Scope, question: Question, memories: Sequence[Memory], arms: Arms
) -> Iterator[Recollection]:
    """001's reference priority to the letter [E18]. Its threshold with fall-back needs no code: a sorted
    list cut at k holds the same memories."""
    config = parts.config
    for memory in memories:
        strength = _retention(parts, memory)
        match = arms.get("meaning", arms["words"]).get(memory.id, 0.0)
        felt = ranking.resonance(question.mood, memory.emotion, config.resonance) if question.mood else 0.0
        score = ranking.priority(strength, match, memory.recalls, felt, config.recall, config.resonance)
        yield Recollection(memory, score, strength, {"match": match, "resonance": felt})


def _score(
    parts: Parts, scope: Scope, question: Question, memories: Sequence[Memory], arms: Arms
) -> Iterator[Recollection]:
    """004's recall score over what the arms found [S5]. What is not known yet counts as the middle."""
    now = parts.clock.now()
    for memory in memories:
        strength = _retention(parts, memory)
        days = decay.memory_days(memory, now)
        terms = {
            "importance": strength / 100,
            "recency": 1 / (1 + days / parts.config.tiers.hot_days),
            "role_fit": 0.5 if None in (memory.role, scope.role) else float(memory.role == scope.role),
            "outcome": 0.5,
        }
        score = ranking.recall_score(**terms, weights=parts.config.self_recall)
        yield Recollection(memory, score, strength, terms)


RANKINGS = {"fused": _fused, "priority": _priority, "score": _score}


def _retention(parts: Parts, memory: Memory) -> float:
    return decay.retention(memory, parts.clock.now(), parts.config.retention, parts.config.weekly)


def _mark(parts: Parts, scope: Scope, best: Sequence[Recollection]) -> None:
    event = Event("recalled", parts.clock.now(), {"memories": [r.memory.id for r in best]})
    parts.ledger.write(scope.space, lambda: [event])
