"""Recall: the memories that answer a question, best first, and nothing below the floor.

Two arms look at the same time: words and meaning. Their scores are put on one scale and added; then
bounded factors (how strong it still is, how often it was wanted) may move a memory a little, never bury
the right answer under a loud old one [ruling 16]. 001's own priority can be chosen by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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
    ranking: str = "fused"
    mood: Emotion | None = None
    mark: bool = True  # a recall strengthens; a look does not


def recall(parts: Parts, scope: Scope, question: Question) -> list[Recollection]:
    """The best memories for a question; they are marked as recalled."""
    parts.ledger.catch_up(scope.space)
    k = question.k if question.k is not None else parts.config.retrieval.top_k
    if not isinstance(k, int) or k < 1:
        raise InvalidInput("k", "{k} is not at least 1", k=k)
    if question.ranking not in RANKINGS:
        choices = ", ".join(RANKINGS)
        raise InvalidInput(
            "ranking", "{value!r} is none of {choices}", value=question.ranking, choices=choices
        )
    arms = _look(parts, scope, question)
    ids = list(dict.fromkeys(id for arm in arms.values() for id in arm))
    rank = RANKINGS[question.ranking]
    found = [rank(parts, question, memory, arms) for memory in parts.store.get(scope, ids)]
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


def _words_scale(arm: Mapping[str, float], id: str) -> float:
    """Share of the best word score."""
    return arm.get(id, 0.0) / max(arm.values(), default=1.0)


def _meaning_scale(arm: Mapping[str, float], id: str) -> float:
    """1 for the nearest, less by distance from it. Cosines of one model live in a narrow band, so the
    band that was seen is the scale; but a hair's breadth stays a hair's breadth."""
    if id not in arm:
        return 0.0
    best = max(arm.values())
    return 1.0 - (best - arm[id]) / max(best - min(arm.values()), NARROW)


SCALES = {"words": _words_scale, "meaning": _meaning_scale}


def _fused(parts: Parts, question: Question, memory: Memory, arms: Arms) -> Recollection:
    """The default: relevance first, then bounded factors."""
    strength = _retention(parts, memory)
    terms = {name: SCALES[name](arm, memory.id) for name, arm in arms.items()}
    relevance = sum(terms.values()) / len(arms)
    terms["strength"] = ranking.bounded(strength / 100, 0.9, 1.1)
    terms["recalls"] = ranking.bounded(min(memory.recalls, 10) / 10, 1.0, 1.1)
    terms["validity"] = 0.7 if memory.superseded_by else 1.0
    felt = ranking.felt_resonance(question.mood, memory.emotion, parts.config.resonance)
    terms["resonance"] = ranking.bounded(felt, 1.0, 1.1)
    score = relevance * terms["strength"] * terms["recalls"] * terms["validity"] * terms["resonance"]
    return Recollection(memory, score, strength, terms)


def _priority(parts: Parts, question: Question, memory: Memory, arms: Arms) -> Recollection:
    """001's reference priority to the letter [E18]."""
    strength = _retention(parts, memory)
    match = max(0.0, arms.get("meaning", arms["words"]).get(memory.id, 0.0))
    felt = ranking.felt_resonance(question.mood, memory.emotion, parts.config.resonance)
    config = parts.config
    score = ranking.priority(strength, match, memory.recalls, felt, config.recall, config.resonance)
    return Recollection(memory, score, strength, {"match": match, "resonance": felt})


RANKINGS: dict[str, Callable[[Parts, Question, Memory, Arms], Recollection]] = {
    "fused": _fused,
    "priority": _priority,
}


def _retention(parts: Parts, memory: Memory) -> float:
    return decay.retention(memory, parts.clock.now(), parts.config.retention, parts.config.weekly)


def _mark(parts: Parts, scope: Scope, best: Sequence[Recollection]) -> None:
    event = Event("recalled", parts.clock.now(), {"memories": [r.memory.id for r in best]})
    parts.ledger.write(scope.space, lambda: [event])
