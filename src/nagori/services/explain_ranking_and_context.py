"""Explain in words what decided the place of a memory among the answers, and what a prompt is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log

from nagori.core.model import Memory, Recollection, Scope
from nagori.core.relevance import WEIGHTS
from nagori.core.value_object import Value
from nagori.errors import Notice
from nagori.language.passages import about_tokens
from nagori.language.temporal import TimeExpression, read_time
from nagori.runtime import Runtime
from nagori.services.memory_block import SEPARATOR
from nagori.services.prompt_context import (
    NOTHING,
    Context,
    PromptSelection,
    select_for_prompt,
    show_selection,
)

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


# --- the context of a prompt -----------------------------------------------------------------------

TOLD = "told"


class ContextCandidate(Value):
    """A memory that was considered for a prompt. `outcome` is "told", or why it was left out: weak, shown,
    same_session, says_little, weaker, too_many, budget or unsure."""

    memory: Memory
    outcome: str
    confidence: float | None = None
    fit: float | None = None
    tokens: int = 0  # that it takes in the block
    reasons: Sequence[Notice] = ()


class ContextExplanation(Value):
    """What a prompt would be given, and why. `silent` says why it is nothing: no_question, secret,
    nothing_found, unsure or all_left_out."""

    context: Context
    question: str
    silent: str
    confidence: float
    required: float
    tokens: int
    time: TimeExpression | None
    candidates: Sequence[ContextCandidate]


def explain_context(runtime: Runtime, scope: Scope, prompt: str, session: str = "") -> ContextExplanation:
    """What `context_for_prompt` would give now, and why; nothing is recorded."""
    chosen = select_for_prompt(runtime, scope, prompt, session)
    context = show_selection(runtime, scope, chosen, session, mark=False) if chosen.told else NOTHING
    silent = chosen.silent or ("" if context else "all_left_out")
    time = read_time(chosen.text, runtime.clock.now(), runtime.clock.zone) if chosen.text else None
    return ContextExplanation(
        context=context,
        question=chosen.text,
        silent=silent,
        confidence=chosen.confidence,
        required=chosen.required,
        tokens=about_tokens(context.text),
        time=time,
        candidates=list(_explain_candidates(chosen, context)),
    )


def _explain_candidates(chosen: PromptSelection, context: Context) -> Iterator[ContextCandidate]:
    """What is told, in the order of the block, then what is not, best first."""
    ranked = {found.memory.id: (fit, found) for fit, found in chosen.ranked}
    sizes = _tokens_by_id(context)
    for memory in context.memories:
        fit, found = ranked.get(memory.id, (None, None))
        if found is None:  # a later statement that may replace one of the best
            yield ContextCandidate(memory, TOLD, tokens=sizes[memory.id], reasons=[Notice("why.update")])
        else:
            reasons = explain_ranking(found)
            yield ContextCandidate(memory, TOLD, found.confidence, fit, sizes[memory.id], reasons)
    for id, (fit, found) in ranked.items():
        if id not in sizes:
            outcome = _outcome(chosen, found.memory)
            yield ContextCandidate(
                found.memory, outcome, found.confidence, fit, reasons=explain_ranking(found)
            )


def _outcome(chosen: PromptSelection, memory: Memory) -> str:
    """Why a candidate is not in the block: the stage at which it was left out."""
    if chosen.silent:
        return chosen.silent
    if memory.id in chosen.left_out:
        return chosen.left_out[memory.id]
    if memory not in chosen.near:
        return "weaker"
    return "budget" if memory in chosen.told else "too_many"


def _tokens_by_id(context: Context) -> dict[str, int]:
    """The tokens of each memory's piece of the block; pieces end with the id."""
    sizes, start = dict[str, int](), context.text.find("\n") + 1
    for memory in context.memories:
        mark = f"({memory.id})"
        ends = [context.text.find(mark + after, start) for after in (SEPARATOR, "\n")]
        end = min((end for end in ends if end >= 0), default=start) + len(mark)
        sizes[memory.id] = about_tokens(context.text[start:end])
        start = end
    return sizes
