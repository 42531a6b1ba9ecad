"""How long a thoughtful person would want a statement kept: from what is said, not how loudly.

    text   -> rules over both languages: what lasts, what goes on only now  -> 0 to 100, kind, reasons
    vector -> a small linear head over the bundled embedder's vectors       -> 0 to 100, joined with the rules

The rules are the table `lexicon/lasting.tsv`, the head is `lexicon/importance.tsv`, learned by
`bench/train_importance.py` from statements written for it. Either table is read when first needed.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache

from nagori.core.decay import Retention, coefficient_of_worth
from nagori.core.model import Category, Emotion, Kind
from nagori.core.values import Value, replace
from nagori.language.appraisal import Appraisal
from nagori.language.learned_heads import head_score
from nagori.language.lexicon import JAPANESE, Bilingual, rows, strip_outer_quotes
from nagori.language.tokenizer import normal_form

LONGEST = 1500  # characters: what matters is said by then
BASE = 42.0  # of a statement of which no rule knows anything
HEAD_SHARE = 0.75  # of the score, where there is a vector
LONG = 50.0  # scores from here on are worth keeping for months
LOUD = -6.0  # two exclamation marks, words in capitals: a moment's feeling
WORDY, WORDY_WORDS = -5.0, 20.0  # facts are told in few words
SHORT, SHORT_WORDS = -14.0, 2.5  # too few words to state anything


class Matter(StrEnum):
    """What kind of thing a statement tells, by how long such things matter."""

    STANDING = "standing"  # facts, values, persons in charge, rules: as long as they hold
    PREFERENCE = "preference"
    DECISION = "decision"
    LIFE_EVENT = "life_event"
    PLAN = "plan"
    EPISODE = "episode"  # something that happened
    MOMENT = "moment"  # what goes on right now
    SMALL_TALK = "small_talk"


_MATTERS = {
    "health": Matter.STANDING,
    "identity": Matter.STANDING,
    "rule": Matter.STANDING,
    "value": Matter.STANDING,
    "preference": Matter.PREFERENCE,
    "decision": Matter.DECISION,
    "event": Matter.LIFE_EVENT,
    "date": Matter.PLAN,
    "moment": Matter.MOMENT,
    "once": Matter.EPISODE,
    "mood": Matter.SMALL_TALK,
    "loud": Matter.SMALL_TALK,
    "short": Matter.SMALL_TALK,
}


class Worth(Value):
    """How long a statement is worth keeping, and why."""

    kind: Matter
    score: float  # 0 to 100
    reasons: tuple[str, ...]  # groups of rules that spoke, the weightiest first; "vector" if one was used


def importance(text: str, vector: bytes | None = None, *, model: str | None = None) -> Worth:
    """How long this statement should last. A vector counts if it is one the head was learned for: of its
    size, and of its model where the model is named."""
    weights = _weights(text)
    scored = BASE + sum(weights.values())
    reasons = sorted(weights, key=lambda group: -abs(weights[group]))
    leaning = None if vector is None else head_score("importance", vector, model)
    if leaning is not None:
        leaning = max(0.0, min(100.0, leaning))
        scored = (1 - HEAD_SHARE) * max(0.0, min(100.0, scored)) + HEAD_SHARE * leaning
        reasons.append("vector")
    score = round(max(0.0, min(100.0, scored)), 1)
    return Worth(_kind(weights, score), score, tuple(reasons))


def _kind(weights: dict[str, float], score: float) -> Matter:
    """What the weightiest group on the winning side stands for."""
    lasting = score >= LONG
    sided = {
        group: weight for group, weight in weights.items() if group in _MATTERS and (weight > 0) == lasting
    }
    if sided:
        return _MATTERS[max(sided, key=lambda group: abs(sided[group]))]
    return Matter.STANDING if lasting else Matter.EPISODE


# ── strength at birth ────────────────────────────────────────────────────────────────────────────────

SMALL_TALK = 30.0  # scores below this are small talk: it keeps its days
LEAST_INTENSITY = 70.0  # of what is worth keeping: whole for a month at the least coefficient
FEELING = 0.04  # what a point of felt intensity adds: loudness is not importance
SMALL_INTENSITY = (12.0, 26.0)  # of small talk at scores 0 and `SMALL_TALK`
_KINDS = {Matter.STANDING: Kind.FACT, Matter.PREFERENCE: Kind.FACT, Matter.DECISION: Kind.DECISION}


class Birth(Value):
    """What a memory is born with."""

    kind: Kind
    category: Category
    emotion: Emotion
    coefficient: float  # the least; its category may give it a higher one


def weigh(felt: Appraisal, worth: Worth, retention: Retention) -> Birth:
    """Kind, category and strength from what is said; feeling adds a little. The formula of decay turns them
    into days."""
    if worth.score < SMALL_TALK:
        low, high = SMALL_INTENSITY
        intensity = low + (high - low) * worth.score / SMALL_TALK + FEELING * felt.emotion.intensity
        category = Category.CASUAL if felt.category is Category.EMOTIONAL else felt.category
        return Birth(Kind.EPISODE, category, _with_intensity(felt.emotion, intensity), 0.0)
    share = (worth.score - SMALL_TALK) / (100.0 - SMALL_TALK)
    intensity = LEAST_INTENSITY + (95.0 - LEAST_INTENSITY) * share + FEELING * felt.emotion.intensity
    kind = felt.kind
    if kind is Kind.EPISODE and worth.score >= LONG:
        kind = _KINDS.get(worth.kind, kind)
    emotion = _with_intensity(felt.emotion, intensity)
    return Birth(kind, felt.category, emotion, coefficient_of_worth(share, retention))


def _with_intensity(emotion: Emotion, intensity: float) -> Emotion:
    return replace(emotion, intensity=round(min(100.0, intensity), 1))


# ── rules ────────────────────────────────────────────────────────────────────────────────────────────

_CAPITALS = re.compile(r"\b[A-Z]{3,}\b[^a-z]{1,3}\b[A-Z]{2,}\b|\b[A-Z]{2,}\b[^a-z]{1,3}\b[A-Z]{3,}\b")


def _weights(text: str) -> dict[str, float]:
    """Group -> its weight in this text: that of its strongest rule."""
    plain = normal_form("NFKC", strip_outer_quotes(text[:LONGEST])).replace("’", "'").strip()
    found: dict[str, float] = {}
    for group, weight, pattern in _rules():
        if abs(weight) > abs(found.get(group, 0.0)) and pattern.occurs(plain):
            found[group] = weight
    words = len(JAPANESE.findall(plain)) / 2 + sum(1 for _ in re.finditer(r"[A-Za-z0-9']+", plain))
    if plain.count("!") > 1 or _CAPITALS.search(plain):
        found["loud"] = LOUD
    if words > WORDY_WORDS:
        found["wordy"] = WORDY
    elif words < SHORT_WORDS and not any(weight > 0 for weight in found.values()):
        found["short"] = SHORT
    return found


@cache
def _rules() -> tuple[tuple[str, float, Bilingual], ...]:
    """The table with one pattern for each group, weight and language."""
    joined: dict[tuple[str, float], tuple[list[str], list[str]]] = {}
    for group, weight, pattern in rows("lasting"):
        sides = joined.setdefault((group, float(weight)), ([], []))
        sides[bool(JAPANESE.search(pattern))].append(pattern)
    return tuple(
        (group, weight, Bilingual("|".join(english), "|".join(japanese)))
        for (group, weight), (english, japanese) in joined.items()
    )
