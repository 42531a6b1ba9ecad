"""Explain in words what decided the place of a memory among the answers to a question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import log

from nagori.core.model import Recollection
from nagori.core.relevance import WEIGHTS
from nagori.errors import Notice

# The terms that say the same to a reader, by the name of the sentence.
WORDS = ("words", "answer_words", "window_words", "wide_words")
MEANING = ("meaning", "answer_meaning", "window_meaning")
SESSION = ("session_words", "session_meaning")
FACTORS = ("strength", "recalls", "validity", "archived", "resonance", "category", "outcome", "task")
LEAST = 0.04  # log odds: less decides nothing


def explain_ranking(found: Recollection) -> list[Notice]:
    """Sentences about what spoke for the memory, strongest first, and then what spoke against it."""
    terms = found.terms
    if "tied" in terms:
        return [Notice("why.tied")]
    if "match" in terms:
        match, feeling = terms["match"], terms.get("resonance", 0.0)
        return [Notice("why.priority", retention=found.retention, match=match, resonance=feeling)]
    if "role_fit" in terms:
        values = {name: terms[name] for name in ("importance", "recency", "role_fit", "outcome")}
        return [Notice("why.score", **values)]
    talked = found.memory.source.session is not None
    told = sorted(_reasons(terms, talked), key=lambda reason: -reason[0])
    return [notice for weight, notice in told if abs(weight) >= LEAST]


def _reasons(terms: Mapping[str, float], talked: bool) -> Iterator[tuple[float, Notice]]:
    """What each group of terms adds to the log odds, and its sentence."""
    words, meaning, session = (
        sum(WEIGHTS[name] * terms.get(name, 0.0) for name in names) for names in (WORDS, MEANING, SESSION)
    )
    share = terms.get("heard", 0.0)
    if terms.get("words", 0.0) > 0:
        yield words, Notice("why.words", share=share)
    else:
        yield min(words, -LEAST), Notice("why.no_words")
    if "nearness" in terms:
        yield meaning, Notice("why.near" if meaning > 0 else "why.not_near")
    if talked and session > abs(words) / 2:
        yield session, Notice("why.session")
    for name in ("time", "speaker", "told"):
        if terms.get(name):
            yield WEIGHTS[name] * terms[name], Notice(f"why.{name}")
    if terms.get("freshness"):
        yield terms["freshness"], Notice("why.newest")
    if terms.get("asks"):
        yield WEIGHTS["asks"], Notice("why.asks")
    for name in FACTORS:
        weight = log(terms.get(name, 1.0))
        if weight > 0:
            yield weight, Notice(f"why.{name}")
        elif weight < 0:
            yield weight, Notice(f"why.less_{name}")
