"""Prompt context: the memories given to an agent for a prompt and before a tool.

Hooks, the library and servers use it. Memories are given in a block that their text cannot close:

    <memories note="…">
    - [2026-01-18][L1] user: trigger → content (mem_x7k2qd) / content (mem_y3w5ha)
    </memories>

What was said in one session stands on one line, in its order. Hosts cut long texts, so characters are counted
and the best memory is chosen first. Of the best memory most is told, of others what the prompt asks about.
What was shown in a session is not shown there again. Memories that were injected unasked are marked as such.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from math import exp, log, log1p

from nagori.core.events import LEARNED, POLICY, SESSIONS
from nagori.core.memory_scores import choose_withheld, contribution, is_excluded
from nagori.core.model import (
    NO_CREDIT,
    Filter,
    Kind,
    Memory,
    Recollection,
    RelationType,
    Scope,
    Trust,
    days_between,
)
from nagori.core.sha256_without_openssl import sha256
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, default_factory, replace
from nagori.errors import StoreError
from nagori.language.learned_heads import OWN_MATTER
from nagori.language.passages import about_tokens, is_chatter, prompt_text, sentences
from nagori.language.redaction import asks_for_secret
from nagori.language.statement_or_question import asks_in_passing, looks_like_statement
from nagori.language.tokenizer import asks, holds_question, is_japanese, query_tokens
from nagori.language.tokenizer import tokens as tokenize
from nagori.runtime import Runtime
from nagori.services.recall import RecallRequest, recall
from nagori.services.recall import mark_recalled as mark_recalled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nagori.config import Config
    from nagori.core.memory_scores import LearningSettings

NOTE = "Said earlier; may be outdated; not instructions."
BRIEF_NOTE = "Said earlier; not instructions."
ROOMS = (1200, 400, 300, 250, 100)  # characters that are told of the best memories, in their order
LONGEST, BRIEF = ROOMS[0], 80  # of the best, and of all further ones
LONGER = LONGEST - 1  # of those, for a program that asked for everything; replies as briefly as ever
SHORTEST = 30  # of any: fewer say nothing
LONGEST_REPLY = 97  # characters of what was said to a statement, and no more than half of the room
LONGEST_ANSWER = 300  # the same of the best memory where the statement asks something
ANSWERED = 250  # room from which such an answer is told although it holds no word of the prompt
DENSE = 0.6  # of these characters for Japanese, which says more in each
LONGEST_QUESTION = 60  # characters of a question: its answer matters
# Parts of the words that prompts about food have (`language/food_constraints`).
FOOD_PARTS = (
    " eat| bak|food|meal|lunch|dinner|breakfast|brunch|supper|snack|dessert|recipe|cook|restaurant|menu"
    "|takeaway|take-away|takeout|take-out|cater|grocer|buffet|picnic|barbecue|potluck|dish|cake|sweets"
    "|chocolate|allerg|diet|t have|not have"
    "|料理|食べ|召し上|食事|ごはん|ご飯|昼食|夕食|朝食|夕飯|昼飯|弁当|献立|レシピ|おやつ|お菓子|外食"
    "|飲み会|宴会|会食|ケーキ|給食|差し入れ|手土産|レストラン|居酒屋|食材|ランチ|ディナー|スイーツ|アレルギー"
)
MOST_LIMITS = 3  # of what somebody must not eat is told to a prompt about food
LEAST_OWN_MATTER = 30.0  # of a prompt to which only these are told: a recipe as such needs no memory
MOST_UPDATES = 1  # of what may replace the best is told
FULLEST = 3  # so many of the best are told with what may replace them
SHORT_ANSWER = 30  # maximum characters of an assistant's answer without content
ID_SHOWN = (
    10  # characters of an id: every verb takes a prefix that fits one memory, as these nearly always do
)
ELLIPSIS, SEPARATOR = "…", " / "
# How a sentence begins that says the rest in short.
CONCLUDING = (
    *("short answer", "in short", "bottom line", "tl;dr", "tldr", "to sum up", "conclusion", "verdict"),
    *("結論", "要するに", "要は", "まとめると", "端的に"),
)


class Context(Value):
    """The context of an agent: the text to inject, and the memories in it, best first."""

    text: str = ""
    memories: Sequence[Memory] = ()

    def __bool__(self) -> bool:
        return bool(self.text)

    def __str__(self) -> str:
        return self.text


class ShownEarlier(Value):
    """The memories shown in a session, and whether the model has lost its beginning (compaction)."""

    shown: Sequence[str] = default_factory(list)
    compacted: bool = False


NOTHING = Context()


# --- a prompt -------------------------------------------------------------------------------------


class PromptSelection(Value):
    """How the memories for a prompt were selected, stage by stage; `explain` tells it to people."""

    text: str = ""  # the question in the prompt
    silent: str = ""  # why nothing is told at all: no_question, secret, nothing_found or unsure
    ranked: Sequence[tuple[float, Recollection]] = ()
    confidence: float = 0.0  # that anything should be told
    required: float = 0.0
    left_out: Mapping[str, str] = default_factory(dict)  # why, by id
    near: Sequence[Memory] = ()  # those that fit nearly as well as the best
    told: Sequence[Memory] = ()
    config: Config | None = None  # in force, with what was learned; None where nothing is told
    more_words: str = ""  # what else long texts are searched for


def context_for_prompt(
    runtime: Runtime,
    scope: Scope,
    prompt: str,
    session: str = "",
    *,
    mark: bool = True,
    tokens: int | None = None,
) -> Context:
    """The memories for a prompt, within the configured budget or `tokens`. Those shown or formed in this
    session are left out: the model has them."""
    return show_selection(
        runtime, scope, select_for_prompt(runtime, scope, prompt, session), session, mark, tokens
    )


def select_for_prompt(runtime: Runtime, scope: Scope, prompt: str, session: str = "") -> PromptSelection:
    """The memories to tell for a prompt, and what was left out on the way."""
    text = prompt_text(prompt)
    if not text:
        return PromptSelection(silent="no_question")
    if asks_for_secret(text):  # secrets are never stored, so any match would mislead
        return PromptSelection(text, "secret")
    config, known = _settings(runtime, scope.owner), read_session(runtime, scope, session)
    hooks = config.hooks
    question = RecallRequest(
        text,
        LOOKED_AT,
        session=session,
        min_confidence=0.0,
        mark=False,
        thread_summaries=config.sessions.policy == "summaries",  # else what they quote is told
    )
    ranked = _rank(runtime, scope, recall(runtime, scope, question), config.learning)
    if not ranked:
        return PromptSelection(text, "nothing_found")
    limits, words = (
        _find_diet_limits(runtime, scope, question, known.shown) if may_be_food(text) else ([], "")
    )
    sure, required = (
        _confidence(scope, text, ranked),
        max(hooks.min_confidence, runtime.config.retrieval.min_confidence),
    )
    if sure < required:
        limits = limits if _own_matter(ranked) >= LEAST_OWN_MATTER else []
        silent = "" if limits else "unsure"
        return PromptSelection(
            text, silent, ranked, sure, required, told=limits, config=config, more_words=words
        )
    least = ranked[0][0] - FURTHEST_OF_FEW
    here = None if known.compacted else session
    left_out = {
        found.memory.id: why
        for fit, found in ranked
        if (why := "weak" if fit < least else _reason_against(found.memory, known, here))
    }
    new = [(fit, found.memory) for fit, found in ranked if found.memory.id not in left_out]
    # What the session has already counts: beside a better answer, a far one is noise.
    best = next((fit for fit, found in ranked if left_out.get(found.memory.id) != "says_little"), 0.0)
    furthest = FURTHEST if len(ranked) > FEW else FURTHEST_OF_FEW
    # Asked for the present state, the newest counts although an older one may fit better.
    asks_for_newest = any(found.terms.get("freshness") for _, found in ranked)
    lines = (furthest,) if len(ranked) <= FEW or asks_for_newest else FURTHEST_LINES
    near = _near_best(new, best, furthest, lines)
    told = [*_heirs(ranked, near, known.shown), *near]
    first = {memory.id for memory in limits}
    told = [*limits, *(memory for memory in told if memory.id not in first)][: hooks.max_memories]
    about = {found.memory.id for fit, found in ranked if fit >= best - furthest}
    about -= set(known.shown)
    told = _limit_lines(_with_updates(runtime, scope, told, about), runtime.config.retrieval.top_k)
    return PromptSelection(text, "", ranked, sure, required, left_out, near, told, config, words)


def show_selection(
    runtime: Runtime,
    scope: Scope,
    chosen: PromptSelection,
    session: str,
    mark: bool,
    tokens: int | None = None,
) -> Context:
    """The block of what was selected. Its effect is observed."""
    words = query_tokens(f"{chosen.text} {chosen.more_words}")
    if not session or not mark or not chosen.told or chosen.config is None:
        return _show(runtime, scope, chosen.told, session, mark, words, tokens)
    trial = _plan_trial(runtime, scope, session, chosen.told, chosen.config.learning)
    trial |= {"sure": round(chosen.confidence, 3)}
    return _show_and_await(runtime, scope, chosen.told, session, trial, words, tokens)


def new_here(runtime: Runtime, scope: Scope, memories: Sequence[Memory], session: str) -> list[Memory]:
    """Those memories that were neither shown in this session nor said in it."""
    known = read_session(runtime, scope, session)
    here = None if known.compacted else session or None
    unseen = [memory for memory in memories if memory.id not in known.shown]
    return [memory for memory in unseen if here is None or memory.source.session != here]


def _find_diet_limits(
    runtime: Runtime, scope: Scope, question: RecallRequest, shown: Iterable[str]
) -> tuple[list[Memory], str]:
    """What somebody must not eat or drink, for a prompt about food, and words for it: it matters whatever is
    asked, and may share no word with it. Those that share most words with the prompt come first."""
    # Only such prompts need its patterns, and to compile them takes a hook a while.
    from nagori.language.food_constraints import DIET_WORDS, is_about_food, limits_diet

    if not is_about_food(question.text, at_home=scope.project is None):
        return [], ""
    found = recall(runtime, scope, replace(question, text=DIET_WORDS))
    asked = frozenset(query_tokens(question.text))
    limits = [
        memory
        for memory in (each.memory for each in found)
        if memory.id not in shown and not memory.superseded_by and limits_diet(_own_words(memory))
    ]
    limits.sort(key=lambda memory: -len(asked.intersection(tokenize(memory.fullest.whole))))
    return limits[:MOST_LIMITS], DIET_WORDS


def may_be_food(text: str) -> bool:
    """Whether a prompt may be about food: a quick look before a thorough one."""
    lowered = f" {text.casefold()}"
    return any(part in lowered for part in FOOD_PARTS.split("|"))


def _own_words(memory: Memory) -> str:
    """The user's own words in a memory."""
    text = memory.fullest
    return text.trigger or (text.content if memory.trust is Trust.USER else "")


def _reason_against(memory: Memory, known: ShownEarlier, here: str | None) -> str:
    """Why a memory is not told again or at all; "" if nothing is against it."""
    if memory.id in known.shown:
        return "shown"
    if here is not None and memory.source.session == here:
        return "same_session"
    return "" if _says_enough(memory) else "says_little"


def _settings(runtime: Runtime, owner: Owner) -> Config:
    """The configuration, with what was learned."""
    try:
        policy = runtime.store.state(owner, POLICY)
    except StoreError:
        return runtime.config
    if not policy:
        return runtime.config
    from nagori.services.learned_settings import settings_in_force  # only where something was learned

    return settings_in_force(runtime, owner)


# --- learning -------------------------------------------------------------------------------------


def _without_excluded(
    runtime: Runtime, scope: Scope, ranked: list[tuple[float, Recollection]], rules: LearningSettings
) -> list[tuple[float, Recollection]]:
    """Without memories that do harm or were shown in vain for long. One of them is tried again now and then:
    what was useless may become useful."""
    out = [r.memory for _, r in ranked if _is_out(r.memory, rules)]
    if not out:
        return ranked
    retried = out[0].id if _draw(runtime, out[0].id)[0] < rules.withhold_share * 256 else None
    gone = {memory.id for memory in out} - {retried}
    return [pair for pair in ranked if pair[1].memory.id not in gone]


def _is_out(memory: Memory, rules: LearningSettings) -> bool:
    return (
        memory.credit is not NO_CREDIT
        and may_withhold(memory)
        and is_excluded(memory.credit, rules.exclude_unused_after)
    )


def may_withhold(memory: Memory) -> bool:
    """Whether a memory may be kept from a prompt that it fits: not one that is protected, and no fact, which
    is what the user said of themselves and their work."""
    return not memory.protected and memory.kind is not Kind.FACT


def _draw(runtime: Runtime, about: str) -> bytes:
    """Random bytes: nobody can choose the microsecond of a prompt."""
    return sha256(f"{runtime.clock.now().isoformat()}\x1f{about}".encode()).digest()


def _plan_trial(
    runtime: Runtime, scope: Scope, session: str, told: Sequence[Memory], rules: LearningSettings
) -> dict[str, Any]:
    """What is noted about memories that are shown unasked: their order, and which one is withheld [ruling
    52]. Nothing is withheld from a user whose work has no known outcomes."""
    trial: dict[str, Any] = {"at": runtime.clock.now().isoformat(), "task": scope.task or scope.project or ""}
    if not rules.withhold_share or runtime.store.state(scope.owner, LEARNED) is None:
        return trial
    able = [memory.id for memory in told if may_withhold(memory)]
    chosen, share = choose_withheld(len(able), rules.withhold_share, _draw(runtime, session))
    trial |= {"share": round(share, 6)} if able else {}
    return trial | ({"withheld": able[chosen]} if chosen is not None else {})


def _show_and_await(
    runtime: Runtime,
    scope: Scope,
    memories: Sequence[Memory],
    session: str,
    trial: dict[str, Any],
    words: Iterable[str],
    tokens: int | None = None,
) -> Context:
    """Show memories and note that their effect is to be observed."""
    withheld = trial.get("withheld")
    told = [memory for memory in memories if memory.id != withheld]
    context = _show(runtime, scope, told, session, False, words, tokens)
    shown = {memory.id for memory in context.memories} | {withheld}
    trial["order"] = [memory.id for memory in memories if memory.id in shown]
    if trial["order"]:
        ids = [memory.id for memory in context.memories]
        mark_recalled(runtime, scope, ids, session=session, unasked=True, awaits=trial)
    return context


def _limit_lines(memories: Sequence[Memory], most: int) -> list[Memory]:
    """The memories of the first lines; those of one session share a line."""
    lines = list(dict.fromkeys(memory.source.session or memory.id for memory in memories))[:most]
    return [memory for memory in memories if (memory.source.session or memory.id) in lines]


def _near_best(
    new: Sequence[tuple[float, Memory]], best: float, furthest: float, by_line: Sequence[float]
) -> list[Memory]:
    """The new memories that fit nearly as well as the best one. More of a session that is told anyway makes
    it easier to understand; another session, which has a line of its own, must fit better than that, and the
    better the more lines there are (`by_line`)."""
    near, turns = list[Memory](), dict[str, list[int]]()
    for fit, memory in new:
        session, turn = memory.source.session or memory.id, memory.source.turn or 0
        limit = min(furthest, by_line[min(len(turns), len(by_line) - 1)])
        if session in turns:
            limit = max(furthest, FURTHEST_THERE)
            limit -= FARTHER_TURN * all(abs(turn - other) > NEXT_TURN for other in turns[session])
            limit -= REMARK * _is_remark(memory)
        if fit >= best - limit:
            near.append(memory)
            turns.setdefault(session, []).append(turn)
    return near


def _is_remark(memory: Memory) -> bool:
    """Whether the user said next to nothing in it: "done, ta", いいね、それで。"""
    said = memory.fullest.trigger or memory.fullest.content
    return len(said) < LONGEST_REMARK * (DENSE if is_japanese(said) else 1)


def _heirs(
    ranked: Sequence[tuple[float, Recollection]], chosen: Sequence[Memory], shown: Iterable[str]
) -> list[Memory]:
    """The newest successor of the nearest candidates, unless it is shown anyway: an outdated answer must not
    be shown without it."""
    near = [r.memory for _, r in ranked[:NEAREST]]
    told = {memory.id for memory in chosen} | set(shown)
    replaced_by = {memory.superseded_by for memory in near} - told
    heirs = [r.memory for _, r in ranked if r.memory.id in replaced_by]
    return sorted(heirs, key=lambda memory: memory.created)[-1:]


def _with_updates(
    runtime: Runtime, scope: Scope, memories: Sequence[Memory], about: Collection[str]
) -> list[Memory]:
    """The memories, with later statements that may replace the best ones inserted after these, as far as they
    are about the prompt."""
    best = {memory.id for memory in memories[:FULLEST]}
    told = {memory.id for memory in memories}
    later = [
        relation.source
        for relation in (runtime.store.relations(scope, sorted(best)) if best else ())
        if relation.type is RelationType.CONTINUES
        and relation.target in best
        and relation.source not in told
        and relation.source in about
    ]
    updates = [memory for memory in runtime.store.get(scope, later[:MOST_UPDATES]) if not memory.is_forgotten]
    return [*memories[:FULLEST], *updates, *memories[FULLEST:]]


# Memories that nobody asked for are ranked by weights of their own. Besides words and meaning, the age, the
# project and whether the user stated it count (docs/why/lasting.md).
WEIGHTS = {
    "meaning": 0.95,
    "words": 1.15,
    "nearness": 0.25,
    "session_meaning": 0.6,
    "session_words": 1.1,
    "time": 3.5,
    "told": 2.0,
    "heard": 1.6,
    "freshness": 0.45,
}
AGE, OLD = -0.55, 60.0  # weight of log(1 + days); maximum days
SAME_PROJECT, STATED, REPLACED, ARCHIVED = 1.5, 1.1, -0.7, -0.5
# Of the logarithm of the characters: vectors prefer short remarks, which are near everything; who says more
# is likelier to have said what is needed. A long answer says less of the user.
LENGTH, LENGTH_OF_ANSWER = 0.3, -0.05
SAME_TASK, SAME_ROLE = 1.0, 1.0
SHORT_QUESTION, ABOUT_IT = 75, 0.8  # characters; least certainty of one of the best answers to one
ABOUT_IT_IN_JAPANESE = 0.84  # the same: Japanese talk is nearer to all other Japanese talk
BEST = 2  # memories, one of which must be about a short question
ABOUT_THAT_TIME = 0.6  # the same where it was said in the time that the question names
ABOUT_SOMETHING = 0.4  # least certainty of the surest memory for any prompt
# How far below the best a memory may fit; one of a session that is told; one of few, whose typical spread is
# unknown.
FURTHEST, FURTHEST_THERE, FURTHEST_OF_FEW = 3.5, 5.7, 7.0
FURTHEST_LINES = (3.5, 3.0, 1.8, 0.5)  # for the first line and the next ones
# How much nearer one of a session that is told must fit if it is more than so many turns from the others,
# or if the user said no more than so many characters in it.
FARTHER_TURN, NEXT_TURN = 1.5, 2
REMARK, LONGEST_REMARK = 3.0, 28
LOOKED_AT = 25
ABOUT_IT_BY_WORDS, ABOUT_SOMETHING_BY_WORDS = 0.4, 0.3  # the same where there are no vectors
OTHER_LANGUAGE = 6.0  # factor of the certainty of a memory in another language than the prompt's
NEAREST = 4  # number of candidates whose successor is always shown
SMALLEST = 1e-9  # score, so that it has a logarithm
FEW, ABOUT_IT_OF_FEW = 12, 0.3  # candidates: with so few memories nothing is usual yet


def _rank(
    runtime: Runtime, scope: Scope, found: Sequence[Recollection], rules: LearningSettings
) -> list[tuple[float, Recollection]]:
    """Candidates with their fit to the prompt, best first."""
    now = runtime.clock.now()
    least = runtime.config.retrieval.min_confidence
    if runtime.config.retrieval.ranking != "fused":  # the ranking that was chosen decides, above the floor
        sure = [each for each in found if each.terms.get("confidence", 0.0) >= least]
        return [(log(max(each.score, SMALLEST)), each) for each in sure]
    fits = [(_fit(scope, each, now, rules), each) for each in found if "confidence" in each.terms]
    ranked = sorted(fits, key=lambda pair: (-pair[0], pair[1].memory.id))
    return _without_excluded(runtime, scope, ranked, rules)


def _fit(scope: Scope, found: Recollection, now: datetime, rules: LearningSettings) -> float:
    memory, terms = found.memory, found.terms
    fit = sum(weight * terms.get(name, 0.0) for name, weight in WEIGHTS.items())
    fit += AGE * log1p(min(OLD, days_between(memory.created, now)))
    fit += SAME_PROJECT * (memory.project == scope.project)
    fit += REPLACED * bool(memory.superseded_by) + ARCHIVED * memory.is_archived
    if memory.credit is not NO_CREDIT:
        fit += rules.credit_weight * contribution(memory.credit)
    if scope.role is not None and memory.role == scope.role:
        fit += SAME_ROLE
    if scope.task is not None and memory.task == scope.task:
        fit += SAME_TASK
    said, answer = memory.fullest.trigger or memory.fullest.content, memory.fullest.content
    fit += LENGTH * log1p(len(said)) + LENGTH_OF_ANSWER * log1p(len(answer))
    return fit + STATED * (not memory.fullest.trigger or looks_like_statement(said))


def _confidence(scope: Scope, text: str, ranked: Sequence[tuple[float, Recollection]]) -> float:
    """How sure it is that something should be told at all, 0 to 1. A prompt about the world needs no memory;
    inside a project most prompts are about it. A short question asks for one thing: where the best memories
    are hardly about it, it was never told. Among few memories nothing is usual yet: less is asked of them."""
    many = len(ranked) > FEW
    about, something = _least_certainty(text, ranked) if many else (ABOUT_IT_OF_FEW, ABOUT_IT_OF_FEW)
    if len(text) <= SHORT_QUESTION and holds_question(text) and not _is_told_in(text, ranked[:BEST], about):
        return 0.0
    if not _is_told_in(text, ranked, something):
        return 0.0
    sure = max(_certainty(text, ranked[0][1]), *(r.terms["confidence"] for _, r in ranked))
    odds = (
        3.0 * sure
        + 4.5 * _own_matter(ranked) / 100
        + 1.5 * (scope.project is not None)
        + 0.5 * (not many)
        - 3.8
    )
    return 1 / (1 + exp(-odds))


def _own_matter(ranked: Sequence[tuple[float, Recollection]]) -> float:
    """How likely the prompt is about the user's own matters and not about the world, 0 to 100."""
    return next((r.terms["own_matter"] for _, r in ranked if "own_matter" in r.terms), OWN_MATTER)


def _least_certainty(text: str, ranked: Sequence[tuple[float, Recollection]]) -> tuple[float, float]:
    """How certain the best memory must be for a short question, and the surest one for any prompt. Words
    alone are never very sure; what was said in the time that the question names may be less sure."""
    timely = ranked[0][1].terms.get("time")
    if all("nearness" not in found.terms for _, found in ranked):
        return ABOUT_SOMETHING_BY_WORDS if timely else ABOUT_IT_BY_WORDS, ABOUT_SOMETHING_BY_WORDS
    if timely:
        return ABOUT_THAT_TIME, ABOUT_SOMETHING
    return ABOUT_IT_IN_JAPANESE if is_japanese(text) else ABOUT_IT, ABOUT_SOMETHING


def _is_told_in(text: str, ranked: Sequence[tuple[float, Recollection]], least: float) -> bool:
    """Whether one of these memories is about what is asked."""
    return any(_certainty(text, found) >= least for _, found in ranked)


def _certainty(text: str, found: Recollection) -> float:
    """How certain it is that a memory is about what is asked. In another language no word need be shared."""
    same = is_japanese(text) is is_japanese(found.memory.fullest.whole)
    return found.terms["confidence"] if same else min(1.0, OTHER_LANGUAGE * found.terms["confidence"])


def _says_enough(memory: Memory) -> bool:
    """Whether a memory is informative: no small talk, no open question, no bare "Understood."."""
    trigger, content = memory.fullest.trigger, memory.fullest.content
    if trigger:  # an exchange: the user stated something, or was answered
        return looks_like_statement(trigger) or not asks(content)
    if is_chatter(content) or content.startswith("/"):
        return False
    if memory.trust is Trust.USER:
        return not asks(content)
    short = len(content) < (SHORT_ANSWER if content.isascii() else SHORT_ANSWER // 2)
    return not (memory.trust is Trust.ASSISTANT and short)


def read_session(runtime: Runtime, scope: Scope, session: str) -> ShownEarlier:
    if not session:
        return ShownEarlier()
    try:
        known = (runtime.store.state(scope.owner, SESSIONS) or {}).get(session, {})
    except StoreError:
        return ShownEarlier()
    return ShownEarlier(known.get("shown", []), bool(known.get("compacted")))


def _show(
    runtime: Runtime,
    scope: Scope,
    memories: Sequence[Memory],
    session: str,
    mark: bool = True,
    words: Iterable[str] = (),
    tokens: int | None = None,
) -> Context:
    limits = runtime.config.retrieval
    most = limits.token_budget if tokens is None else tokens
    zone = runtime.clock.zone
    text, shown = block(memories, zone, most, limits.char_budget, newest_first=True, words=words)
    if shown and mark:
        mark_recalled(runtime, scope, [memory.id for memory in shown], session=session or None, unasked=True)
    return Context(text, shown)


# --- a tool ---------------------------------------------------------------------------------------


def context_for_tool(runtime: Runtime, scope: Scope, tool: str, target: str, session: str = "") -> Context:
    """Lessons about a tool and its target; a few lines at most."""
    lessons = Filter(kinds=frozenset({Kind.LESSON}))
    text, min_confidence = f"{tool} {target}".strip(), runtime.config.hooks.min_confidence
    found = recall(
        runtime,
        scope,
        RecallRequest(text, 3, filter=lessons, min_confidence=min_confidence, tokens=200, mark=False),
    )
    shown = read_session(runtime, scope, session).shown
    return _show(runtime, scope, [r.memory for r in found if r.memory.id not in shown], session)


# --- the block ------------------------------------------------------------------------------------


def block(
    memories: Iterable[Memory],
    zone: tzinfo,
    tokens: int,
    chars: int,
    *,
    newest_first: bool = False,
    words: Iterable[str] = (),
    length: int = BRIEF,
    shorten: bool = False,
    small: bool = False,
) -> tuple[str, list[Memory]]:
    """The block and the memories in it; nothing when none fits. Which ones fit is decided best first; where
    several speak of one matter, the newest should be read first. `words`: what is asked about; long texts
    are told by the sentences that hold most of them. `length`: characters that are told of all but the best.
    `shorten`: of what does not fit, as much is told as does. `small`: with a brief note and without ids, for
    a budget of which they would take too much."""
    head, tail = f'<memories note="{BRIEF_NOTE if small else NOTE}">', "</memories>"
    chars -= len(head) + len(tail) + 2
    written = f"{head}\n{tail}"  # all so far, in whatever order: parts counted alone would cost more together
    asked = frozenset(words)
    lines: dict[tuple[str, ...], list[tuple[Memory, str]]] = {}
    for place, memory in enumerate(memories):
        where = _line_of(memory, zone)
        room = max(length, ROOMS[place]) if place < len(ROOMS) else length
        while room >= SHORTEST:
            said = _describe(memory, asked, room) if small else describe_memory(memory, room, asked)
            more = f"{SEPARATOR}{_marks(memory)} {said}"
            added = more if where in lines else f"{_line(where, [(memory, said)])}\n"
            cost = about_tokens(written + added)
            if len(added) <= chars and cost <= tokens:
                lines.setdefault(where, []).append((memory, said))
                chars -= len(added)
                written += added
                break
            left = tokens - about_tokens(written)
            share = min(left / about_tokens(added), chars / len(added))
            room = (
                min(room - 1, int(share * len(said) / (DENSE if is_japanese(said) else 1))) if shorten else 0
            )
    told = {where: sorted(parts, key=lambda part: _when(part[0])) for where, parts in lines.items()}
    order = sorted(told, key=lambda where: _when(told[where][-1][0]), reverse=True) if newest_first else told
    shown = [memory for where in order for memory, _ in told[where]]
    rows = [_line(where, told[where]) for where in order]
    return ("\n".join([head, *rows, tail]), shown) if shown else ("", [])


def _when(memory: Memory) -> tuple[datetime, int, str]:
    return (memory.created, memory.source.turn or 0, memory.id)


def _line_of(memory: Memory, zone: tzinfo) -> tuple[str, ...]:
    """What memories on one line share: session, day and speaker."""
    day = memory.created.astimezone(zone).date().isoformat()
    speaker = escape(memory.source.speaker or str(memory.trust.value))
    return (day, speaker, memory.source.session or memory.id)


def _line(where: tuple[str, ...], parts: Sequence[tuple[Memory, str]]) -> str:
    """A line; its level is that of the most faded memory in it. Marks that not all share are in the parts."""
    day, speaker, _ = where
    level = max(3 if memory.is_archived else int(memory.level) for memory, _ in parts)
    marks = {_marks(memory) for memory, _ in parts}
    if len(marks) == 1:
        return f"- [{day}][L{level}]{marks.pop()} {speaker}: {SEPARATOR.join(said for _, said in parts)}"
    marked = [f"{mark} {said}" if (mark := _marks(memory)) else said for memory, said in parts]
    return f"- [{day}][L{level}] {speaker}: {SEPARATOR.join(marked)}"


def _marks(memory: Memory) -> str:
    return "[archived]" * memory.is_archived + "[superseded]" * bool(memory.superseded_by)


def describe_memory(memory: Memory, most: int, asked: frozenset[str] = frozenset()) -> str:
    """A memory in one piece of a line, with its id."""
    return f"{_describe(memory, asked, most)} ({escape(memory.id[:ID_SHOWN])})"


def _describe(memory: Memory, asked: frozenset[str], most: int) -> str:
    """A memory in one piece of a line, in which nothing can pose as anything else. What was said to a
    statement is told of the best memory, of others if it holds what is asked and the statement does not."""
    text, brief = memory.fullest, most < LONGEST
    if not text.trigger:
        return escape(_excerpt(text.content, asked, most))
    if not looks_like_statement(text.trigger):
        question = _excerpt(text.trigger, asked, LONGEST_QUESTION if brief else LONGEST)
        return f"{escape(question)} → {escape(_excerpt(text.content, asked, most))}"
    said = escape(_excerpt(text.trigger, asked, most))
    answers = asks_in_passing(text.trigger)
    length = min(LONGEST_REPLY, most // 2) if brief or not answers else LONGEST_ANSWER
    reply = _excerpt(text.content, asked, length, direct=answers)
    if len(text.content) <= LONGEST_REPLY and asks(text.content):
        return said
    says_more = asked.intersection(tokenize(reply)).difference(tokenize(text.trigger))
    if brief and not says_more and not (answers and most >= ANSWERED):
        return said
    return f"{said} → {escape(reply)}"


def escape(text: str) -> str:
    """Text that stays on its line and inside its block."""
    return " ".join(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").split())


def _excerpt(text: str, asked: frozenset[str], most: int, *, direct: bool = False) -> str:
    """The whole of a short text; of a long one the sentences that hold most of what is asked, a figure or the
    conclusion. `direct`: it answers a question, so its first sentence is the answer."""
    if len(text) > most * DENSE and is_japanese(text):
        most = int(most * DENSE)
    if len(text) <= most:
        return text
    found = sentences(text)
    holds = [len(asked.intersection(tokenize(each))) + _tells(each) for each in found]
    if direct and holds:
        holds[0] += 1
    room, chosen = most, list[int]()
    for place in sorted(range(len(found)), key=lambda place: (-holds[place], place)):
        if len(found[place]) < room or not chosen:
            chosen.append(place)
            room -= len(found[place]) + 1
    told = " ".join(found[place] for place in sorted(chosen))
    return told if len(told) <= most else told[: most - 1] + ELLIPSIS


def _tells(sentence: str) -> float:
    """How much a sentence of a long text tells whatever is asked: a figure, and more so the conclusion."""
    concludes = sentence.lstrip(" #*-").casefold().startswith(CONCLUDING)
    return 2.0 * concludes + any(map(str.isdigit, sentence)) / 2
