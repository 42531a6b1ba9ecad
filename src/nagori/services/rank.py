"""Rankings by name: what is known about a question in, memories with a score and its terms out.

`fused` is the default and what measures best (docs/why/ranking.md); `priority` and `score` are the formulas
of 001 and 004, to the letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import exp, log

from nagori.core import decay, ranking
from nagori.core.model import Emotion, Filter, Memory, Recollection, Scope, micros
from nagori.core.present import Statement, asks_for_present, newness
from nagori.core.relevance import Evidence, Window, certainty, relevance, weighed
from nagori.core.text import is_japanese
from nagori.core.values import Value, replace
from nagori.parts import Parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.core.when import TimeWish

AFTER = 1e-6  # what replaced a memory comes just before it


class Asked(Value):
    """A question as it was understood."""

    text: str
    filter: Filter
    mood: Emotion | None
    wish: TimeWish | None
    only_time: bool = False  # it names a time and no matter: whatever was said then is an answer

    @property
    def window(self) -> Window | None:
        """The time that is named for certain; "recently" is no date."""
        wish = self.wish
        return (micros(wish.since), micros(wish.until)) if wish and wish.certain else None

    @property
    def present(self) -> bool:
        return bool(self.wish and self.wish.latest) or asks_for_present(self.text)


Ranking = Callable[[Parts, Scope, Asked, Evidence, int], Iterator[Recollection]]


def fused(parts: Parts, scope: Scope, asked: Asked, evidence: Evidence, n: int) -> Iterator[Recollection]:
    """The default. Weights add up to the logarithm of the odds, so a factor on the odds is added as its
    logarithm; the best answer scores 1."""
    named = _named(asked.text, {sketch.speaker for sketch in evidence.sketches.values()})
    terms = relevance(evidence, named, asked.window)
    odds = {id: weighed(these) for id, these in terms.items()}
    finalists = parts.store.get(scope, sorted(odds, key=lambda id: (-odds[id], id))[:n])
    lifts = newness([_statement(memory, odds[memory.id]) for memory in finalists]) if asked.present else {}
    least = min(evidence.cosines.values(), default=None)
    japanese = is_japanese(asked.text)
    found = {}
    for memory in finalists:
        id, strength = memory.id, retention(parts, memory)
        factors = _factors(parts, asked, memory, strength)
        same = is_japanese(memory.searchable) is japanese
        near = evidence.cosines.get(id, least)
        sure = certainty(terms[id]["heard"], near, evidence.unrelated, same_language=same)
        if asked.window and terms[id]["time"] == 1.0:  # said when it was asked for: that is a reason, too
            sure = 1.0 if asked.only_time else max(sure, THEN)
        told = terms[id] | factors | {"newness": lifts.get(id, 0.0), "certainty": sure}
        total = odds[id] + told["newness"] + sum(log(factor) for factor in factors.values())
        found[id] = Recollection(memory, total, strength, told)
    return _shares(_corrected(parts, scope, found))


def _statement(memory: Memory, odds: float) -> Statement:
    source = memory.source
    return Statement(
        memory.id, odds, (memory.created, source.turn or 0), source.speaker or memory.trust, memory.searchable
    )


def _corrected(parts: Parts, scope: Scope, found: Mapping[str, Recollection]) -> list[Recollection]:
    """What replaced a memory is as good an answer as the memory would have been, found or not."""
    heirs = {r.memory.superseded_by: r for r in found.values() if r.memory.superseded_by}
    missing = parts.store.get(scope, [id for id in heirs if id and id not in found])
    all_found = dict(found) | {
        m.id: Recollection(m, heirs[m.id].score, retention(parts, m), heirs[m.id].terms)
        for m in missing
        if not m.forgotten
    }
    for id, old in heirs.items():
        if id in all_found:
            heir = all_found[id]
            sure = max(heir.terms["certainty"], old.terms["certainty"])
            better = max(heir.score, old.score + AFTER - log(VALIDITY))
            all_found[id] = replace(heir, score=better, terms=heir.terms | {"certainty": sure})
    return list(all_found.values())


def _shares(found: Iterable[Recollection]) -> Iterator[Recollection]:
    best = max((r.score for r in found), default=0.0)
    return (replace(recollection, score=exp(recollection.score - best)) for recollection in found)


THEN = 0.3  # least certainty of what was said in the time that is named
ARCHIVED = 0.6  # a trace is dense and would win over the whole sentence
VALIDITY = 0.7  # what was replaced stays findable, below what replaced it


def _factors(parts: Parts, asked: Asked, memory: Memory, strength: float) -> dict[str, float]:
    felt = ranking.felt_resonance(asked.mood, memory.emotion, parts.config.resonance)
    return {
        "strength": ranking.bounded(strength / 100, 0.9, 1.1),
        "recalls": ranking.bounded(min(memory.recalls, 10) / 10, 1.0, 1.1),
        "validity": VALIDITY if memory.superseded_by else 1.0,
        "archived": ARCHIVED if memory.archived else 1.0,
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


def priority(parts: Parts, scope: Scope, asked: Asked, evidence: Evidence, n: int) -> Iterator[Recollection]:
    """001's reference priority to the letter [E18]. Its threshold with fall-back needs no code: a sorted
    list cut at k holds the same memories."""
    config = parts.config
    terms = relevance(evidence)
    for memory in parts.store.get(scope, list(terms)):
        strength = retention(parts, memory)
        match = evidence.cosines.get(memory.id, 0.0) if evidence.cosines else terms[memory.id]["words"]
        felt = ranking.resonance(asked.mood, memory.emotion, config.resonance) if asked.mood else 0.0
        score = ranking.priority(strength, match, memory.recalls, felt, config.recall, config.resonance)
        yield Recollection(memory, score, strength, {"match": match, "resonance": felt})


def score(parts: Parts, scope: Scope, asked: Asked, evidence: Evidence, n: int) -> Iterator[Recollection]:
    """004's recall score over the finalists [S5]. What is not known yet counts as the middle."""
    now = parts.clock.now()
    for recollection in fused(parts, scope, asked, evidence, n):
        memory = recollection.memory
        days = decay.memory_days(memory, now)
        terms = {
            "importance": recollection.retention / 100,
            "recency": 1 / (1 + days / parts.config.tiers.hot_days),
            "role_fit": 0.5 if None in (memory.role, scope.role) else float(memory.role == scope.role),
            "outcome": 0.5,
        }
        total = ranking.recall_score(**terms, weights=parts.config.self_recall)
        yield replace(recollection, score=total, terms=terms)


RANKINGS: dict[str, Ranking] = {"fused": fused, "priority": priority, "score": score}


def retention(parts: Parts, memory: Memory) -> float:
    """How strong a memory is at this moment."""
    return decay.retention(memory, parts.clock.now(), parts.config.retention, parts.config.weekly)
