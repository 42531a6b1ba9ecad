"""Recall: the memories that answer a question, best first.

The store hands over what it knows about the question's words and meaning; `core.relevance` weighs it. Only
then may bounded factors (how strong a memory still is, how often it was wanted, whether it still holds)
move it a little: relevance first, so that a loud old memory never buries the right answer [ruling 16].
001's priority and 004's score can be chosen by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import exp, log

from nagori.core import decay, ranking
from nagori.core.fold import Event
from nagori.core.model import ALIVE, Emotion, Filter, Memory, Recollection, Scope
from nagori.core.relevance import Evidence, relevance, weighed
from nagori.core.text import clean, query_tokens
from nagori.core.values import Value, replace
from nagori.errors import InvalidInput
from nagori.parts import Parts

CANDIDATES = 400  # nearest in meaning that are looked at; every memory with a telling word is, too
FINALISTS = 20  # at least so many whole memories are read; twice as many as are wanted
LONGEST_QUERY = 2000


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
    text = clean(question.text)[:LONGEST_QUERY]
    if not text.strip():
        raise InvalidInput("query", "nothing to look for: the text is empty")
    evidence = _look(parts, scope, text, question.filter)
    found = RANKINGS[name](parts, scope, question, evidence, max(2 * k, FINALISTS))
    best = sorted(found, key=lambda r: (-r.score, r.memory.id))
    best = [r for r in best if r.score > parts.config.retrieval.floor][:k]
    if question.mark and best:
        _mark(parts, scope, best)
    return best


def _look(parts: Parts, scope: Scope, text: str, filter: Filter) -> Evidence:
    if parts.config.archive.enable_archive_recall:
        filter = replace(filter, archived=True)
    embedder = parts.embedder
    vector = embedder.embed_query(text) if embedder else None
    model = embedder.model if embedder else None
    return parts.store.evidence(scope, query_tokens(text), vector, model, CANDIDATES, filter)


def _fused(
    parts: Parts, scope: Scope, question: Question, evidence: Evidence, n: int
) -> Iterator[Recollection]:
    """The default. Weights add up to the logarithm of the odds, so a factor on the odds is added as its
    logarithm; the best answer scores 1."""
    named = _named(question.text, {sketch.speaker for sketch in evidence.sketches.values()})
    terms = relevance(evidence, named)
    scores = {id: weighed(these) for id, these in terms.items()}
    finalists = sorted(scores, key=lambda id: (-scores[id], id))[:n]
    found = []
    for memory in parts.store.get(scope, finalists):
        strength = _retention(parts, memory)
        factors = _factors(parts, question, memory, strength)
        odds = scores[memory.id] + sum(log(factor) for factor in factors.values())
        found.append(Recollection(memory, odds, strength, terms[memory.id] | factors))
    best = max((r.score for r in found), default=0.0)
    for recollection in found:
        yield replace(recollection, score=exp(recollection.score - best))


def _factors(parts: Parts, question: Question, memory: Memory, strength: float) -> dict[str, float]:
    felt = ranking.felt_resonance(question.mood, memory.emotion, parts.config.resonance)
    return {
        "strength": ranking.bounded(strength / 100, 0.9, 1.1),
        "recalls": ranking.bounded(min(memory.recalls, 10) / 10, 1.0, 1.1),
        "validity": 0.3 if memory.superseded_by else 1.0,
        "resonance": ranking.bounded(felt, 1.0, 1.1),
    }


def _named(text: str, speakers: Iterable[str | None]) -> list[str]:
    """The speakers whose name, or part of it, stands in the question."""
    asked = text.casefold()
    return [speaker for speaker in speakers if speaker and any(part in asked for part in _parts_of(speaker))]


def _parts_of(name: str) -> list[str]:
    """What people call somebody: a word of the name; of an unspaced name its beginning or its end."""
    words = re.findall(r"\w{2,}", name.casefold())
    cut = [part for word in words if not word.isascii() and len(word) > 2 for part in (word[:2], word[-2:])]
    return [*words, *cut]


def _priority(
    parts: Parts, scope: Scope, question: Question, evidence: Evidence, n: int
) -> Iterator[Recollection]:
    """001's reference priority to the letter [E18]. Its threshold with fall-back needs no code: a sorted
    list cut at k holds the same memories."""
    config = parts.config
    terms = relevance(evidence)
    for memory in parts.store.get(scope, list(terms)):
        strength = _retention(parts, memory)
        match = evidence.cosines.get(memory.id, 0.0) if evidence.cosines else terms[memory.id]["words"]
        felt = ranking.resonance(question.mood, memory.emotion, config.resonance) if question.mood else 0.0
        score = ranking.priority(strength, match, memory.recalls, felt, config.recall, config.resonance)
        yield Recollection(memory, score, strength, {"match": match, "resonance": felt})


def _score(
    parts: Parts, scope: Scope, question: Question, evidence: Evidence, n: int
) -> Iterator[Recollection]:
    """004's recall score over the finalists [S5]. What is not known yet counts as the middle."""
    now = parts.clock.now()
    for recollection in _fused(parts, scope, question, evidence, n):
        memory = recollection.memory
        days = decay.memory_days(memory, now)
        terms = {
            "importance": recollection.retention / 100,
            "recency": 1 / (1 + days / parts.config.tiers.hot_days),
            "role_fit": 0.5 if None in (memory.role, scope.role) else float(memory.role == scope.role),
            "outcome": 0.5,
        }
        score = ranking.recall_score(**terms, weights=parts.config.self_recall)
        yield replace(recollection, score=score, terms=terms)


RANKINGS = {"fused": _fused, "priority": _priority, "score": _score}


def _retention(parts: Parts, memory: Memory) -> float:
    return decay.retention(memory, parts.clock.now(), parts.config.retention, parts.config.weekly)


def _mark(parts: Parts, scope: Scope, best: Sequence[Recollection]) -> None:
    event = Event("recalled", parts.clock.now(), {"memories": [r.memory.id for r in best]})
    parts.ledger.write(scope.space, lambda: [event])
