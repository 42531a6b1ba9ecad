"""How well memories fit a prompt that did not ask for them, and whether it should be told any.

Both are sums of named signs times weights, which `bench/train_selection.py` learns from lives
(docs/why/lasting.md): `WEIGHTS` of the signs of a memory, `TELLING` of the signs of a prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import exp, log, log1p

from nagori.core.memory_scores import contribution
from nagori.core.model import NO_CREDIT, Recollection, Scope, days_between
from nagori.core.relevance import asks_for_current
from nagori.language.learned_heads import OWN_MATTER
from nagori.language.statement_or_question import looks_like_statement
from nagori.language.tokenizer import holds_question, is_japanese
from nagori.runtime import Runtime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.core.memory_scores import LearningSettings

Ranked = Sequence[tuple[float, Recollection]]  # memories with their fit to a prompt, best first

# Terms of recall that count here as well, with weights of their own.
TERMS = (
    *("meaning", "nearness", "words", "heard", "window_words", "wide_words"),
    *("session_meaning", "session_words", "time", "told", "freshness", "confidence"),
)
WEIGHTS = {
    "meaning": 0.88,
    "nearness": 0.12,
    "words": 1.11,
    "heard": 0.8,
    "window_words": -0.25,
    "wide_words": 0.3,
    "session_meaning": 0.62,
    "session_words": 1.08,
    "time": 3.36,
    "told": 2.01,
    "freshness": 0.38,
    "confidence": 0.31,
    "stated": 0.55,
    "age": -0.62,
    "same_project": 1.36,
    "replaced": -0.7,
    "archived": -0.27,
    "protected": 0.31,
    "figure": 0.17,
    "length": 0.86,
    "length_of_answer": -0.14,
    "same_task": 1.0,
    "same_role": 1.0,
}
OLD = 60.0  # days: older ones count as old as this
SMALLEST = 1e-9  # score, so that it has a logarithm

# Log odds that a prompt should be told something: with vectors, and by words alone.
TELLING = {
    "always": -20.6,
    "length": 4.28,
    "sure": 0.59,
    "lead": 0.58,
    "question": -2.77,
    "present": 1.62,
    "time": 0.41,
    "definite": 0.98,
    "general": -1.61,
    "project": 1.46,
    "own_matter": 2.79,
    "nearness": 0.99,
    "usual": -0.48,
}
TELLING_BY_WORDS = {
    "always": -21.64,
    "length": 5.72,
    "sure": 0.68,
    "lead": 0.58,
    "question": -2.08,
    "present": 2.39,
    "time": 1.03,
    "definite": -0.13,
    "general": -2.23,
    "project": 1.07,
}
SHORT_PROMPT, LONG_PROMPT, DENSE_PROMPT = 40, 100, 0.45  # characters; of these for Japanese
BEST = 2  # memories, the surer one of which counts
SURE_BY_WORDS = 0.9  # certainty that suffices where there are only words
SMOOTH, RIVAL = 0.01, 4  # the fit of the best is compared with that of this place
# Who speaks of "that house" or "her" speaks of something known.
DEFINITE = "the|that|those|his|her|their|he|she|they"
DEFINITE_IN_JAPANESE = "あの|その|例の|あれ|彼|あいつ"
# Who asks how things are done in general needs no memory.
GENERAL = (
    "how do|how to|how can|how would|how does|what is a|what is an|what's a|what's an|what does"
    "|difference between|explain|convert|translate|regex|synonym|recipe"
)
GENERAL_IN_JAPANESE = "方法|とは|違い|どうやって|って何|教えて|正規表現|読み方|意味|由来|例文|言い換え"
OTHER_LANGUAGE = 6.0  # factor of the certainty of a memory in another language than the prompt's
FEW, ABOUT_IT_OF_FEW = 12, 0.3  # memories: with so few nothing is usual yet


# --- a memory -------------------------------------------------------------------------------------


def rank_for_prompt(
    runtime: Runtime, scope: Scope, found: Sequence[Recollection], rules: LearningSettings
) -> list[tuple[float, Recollection]]:
    """Candidates with their fit to the prompt, best first."""
    now, limits = runtime.clock.now(), runtime.config.retrieval
    if limits.ranking != "fused":  # the ranking that was chosen decides, above the floor
        sure = [each for each in found if each.terms.get("confidence", 0.0) >= limits.min_confidence]
        return [(log(max(each.score, SMALLEST)), each) for each in sure]
    fits = [(fit_to_prompt(scope, each, now, rules), each) for each in found if "confidence" in each.terms]
    return sorted(fits, key=lambda pair: (-pair[0], pair[1].memory.id))


def fit_to_prompt(scope: Scope, found: Recollection, now: datetime, rules: LearningSettings) -> float:
    """How well a memory fits, in log odds to any other; what it contributed before counts as well."""
    fit = sum(WEIGHTS[name] * sign for name, sign in fitting_signs(scope, found, now).items())
    if found.memory.credit is NO_CREDIT:
        return fit
    return fit + rules.credit_weight * contribution(found.memory.credit)


def fitting_signs(scope: Scope, found: Recollection, now: datetime) -> dict[str, float]:
    """What speaks for a memory, or against it, by name. Who says more is likelier to have said what is
    needed, whereas vectors prefer short remarks, which are near everything."""
    memory, terms = found.memory, found.terms
    content = memory.fullest.content
    said = memory.fullest.trigger or content
    return {name: terms.get(name, 0.0) for name in TERMS} | {
        "stated": float(not memory.fullest.trigger or looks_like_statement(said)),
        "age": log1p(min(OLD, days_between(memory.created, now))),
        "same_project": float(memory.project == scope.project),
        "replaced": float(bool(memory.superseded_by)),
        "archived": float(memory.is_archived),
        "protected": float(memory.protected),
        "figure": float(any(map(str.isdigit, content))),
        "length": log1p(len(said)),
        "length_of_answer": log1p(len(content)),
        "same_task": float(scope.task is not None and memory.task == scope.task),
        "same_role": float(scope.role is not None and memory.role == scope.role),
    }


# --- a prompt -------------------------------------------------------------------------------------


def confidence_in_telling(scope: Scope, text: str, ranked: Ranked) -> float:
    """How sure it is that something should be told at all, 0 to 1: a prompt about the world needs no memory,
    and what was never told is in none. Among few memories nothing is usual yet: less is asked of them."""
    if is_almost_empty(ranked):
        return _confidence_among_few(scope, text, ranked)
    signs = telling_signs(scope, text, ranked)
    by_words = "nearness" not in signs
    weights = TELLING_BY_WORDS if by_words else TELLING
    odds = weights["always"] + sum(weights[name] * sign for name, sign in signs.items())
    sure = max(_certainty(text, found) for _, found in ranked[:BEST])
    return max(_probability(odds), sure if by_words and sure >= SURE_BY_WORDS else 0.0)


def is_almost_empty(ranked: Ranked) -> bool:
    """Whether there are hardly any memories yet. Words alone may find few of many."""
    return next((found.terms["stored"] for _, found in ranked if "stored" in found.terms), len(ranked)) <= FEW


def _confidence_among_few(scope: Scope, text: str, ranked: Ranked) -> float:
    if not any(_certainty(text, found) >= ABOUT_IT_OF_FEW for _, found in ranked):
        return 0.0
    sure = max(_certainty(text, ranked[0][1]), *(found.terms["confidence"] for _, found in ranked))
    return _probability(3.0 * sure + 4.5 * own_matter(ranked) / 100 + 1.5 * (scope.project is not None) - 3.3)


def telling_signs(scope: Scope, text: str, ranked: Ranked) -> dict[str, float]:
    """What speaks for telling something to a prompt, or against it, by name."""
    terms = [found.terms for _, found in ranked]
    sure = max(_certainty(text, found) for _, found in ranked[:BEST])
    length = len(text) / (DENSE_PROMPT if is_japanese(text) else 1)
    signs = {
        "length": log(max(SHORT_PROMPT, min(LONG_PROMPT, length))),
        "sure": log((sure + SMOOTH) / (1 + SMOOTH - sure)),
        "lead": ranked[0][0] - ranked[min(RIVAL, len(ranked) - 1)][0],
        "question": float(holds_question(text)),
        "present": float(asks_for_current(text) or any(each.get("freshness") for each in terms)),
        "time": float(any(each.get("time") for each in terms)),
        "definite": float(_says(text, DEFINITE, DEFINITE_IN_JAPANESE)),
        "general": float(_says(text, GENERAL, GENERAL_IN_JAPANESE)),
        "project": float(scope.project is not None),
    }
    if any("usual" in each for each in terms):
        signs |= {
            "own_matter": own_matter(ranked) / 100,
            "nearness": max(each["nearness"] for each in terms if "nearness" in each),
            "usual": next(each["usual"] for each in terms if "usual" in each),
        }
    return signs


def own_matter(ranked: Ranked) -> float:
    """How likely the prompt is about the user's own matters and not about the world, 0 to 100."""
    return next((found.terms["own_matter"] for _, found in ranked if "own_matter" in found.terms), OWN_MATTER)


def _says(text: str, english: str, japanese: str) -> bool:
    """Whether a text holds one of these English words or Japanese letters. A hook has no time to compile a
    pattern for it."""
    lowered = text.casefold().replace("’", "'")
    words = "".join(letter if letter.isalnum() or letter == "'" else " " for letter in lowered).split()
    spaced = f" {' '.join(words)} "
    return any(f" {each} " in spaced for each in english.split("|")) or any(
        each in text for each in japanese.split("|")
    )


def _certainty(text: str, found: Recollection) -> float:
    """How certain it is that a memory is about what is asked. In another language no word need be shared."""
    same = is_japanese(text) is is_japanese(found.memory.fullest.whole)
    return found.terms["confidence"] if same else min(1.0, OTHER_LANGUAGE * found.terms["confidence"])


def _probability(odds: float) -> float:
    return 1 / (1 + exp(-max(-50.0, min(50.0, odds))))
