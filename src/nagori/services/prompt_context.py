"""Prompt context: the memories given to an agent for a prompt and before a tool.

Hooks, the library and servers use it. What was shown in a session is not shown there again. Memories that
were injected unasked are marked as such. How they are written: `memory_block`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from nagori.core.events import LEARNED, POLICY, SESSIONS
from nagori.core.memory_scores import choose_withheld, is_excluded
from nagori.core.model import (
    NO_CREDIT,
    Filter,
    Kind,
    Memory,
    Recollection,
    RelationType,
    Scope,
    Trust,
)
from nagori.core.sha256_without_openssl import sha256
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, default_factory, replace
from nagori.errors import StoreError
from nagori.language.passages import is_chatter, prompt_text
from nagori.language.redaction import asks_for_secret
from nagori.language.statement_or_question import looks_like_statement
from nagori.language.tokenizer import asks, is_japanese, query_tokens
from nagori.language.tokenizer import tokens as tokenize
from nagori.runtime import Runtime
from nagori.services.memory_block import DENSE, block
from nagori.services.prompt_ranking import confidence_in_telling, is_almost_empty, own_matter, rank_for_prompt
from nagori.services.recall import RecallRequest, recall
from nagori.services.recall import mark_recalled as mark_recalled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nagori.config import Config
    from nagori.core.memory_scores import LearningSettings

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
MOST_UPDATES = 2  # of what may replace the best are told
FULLEST = 3  # so many of the best are told with what may replace them
SHORT_ANSWER = 30  # maximum characters of an assistant's answer without content
# How far below the best a memory may fit; one of a session that is told; one of few, whose typical spread is
# unknown.
FURTHEST, FURTHEST_THERE, FURTHEST_OF_FEW = 3.5, 5.7, 7.0
FURTHEST_LINES = (2.5, 2.5, 1.5, 0.5)  # for the first line and the next ones
# How much nearer one of a session that is told must fit if it is more than so many turns from the others,
# or if the user said no more than so many characters in it.
FARTHER_TURN, NEXT_TURN = 2.5, 2
REMARK, LONGEST_REMARK = 3.0, 28
LOOKED_AT = 25
NEAREST = 4  # number of candidates whose successor is always shown


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
    found = recall(runtime, scope, question)
    ranked = _without_excluded(
        runtime, rank_for_prompt(runtime, scope, found, config.learning), config.learning
    )
    if not ranked:
        return PromptSelection(text, "nothing_found")
    limits, words = (
        _find_diet_limits(runtime, scope, question, known.shown) if may_be_food(text) else ([], "")
    )
    sure, required = (
        confidence_in_telling(scope, text, ranked),
        max(hooks.min_confidence, runtime.config.retrieval.min_confidence),
    )
    if sure < required:
        limits = limits if own_matter(ranked) >= LEAST_OWN_MATTER else []
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
    few = is_almost_empty(ranked)
    furthest = FURTHEST_OF_FEW if few else FURTHEST
    # Asked for the present state, the newest counts although an older one may fit better.
    asks_for_newest = any(found.terms.get("freshness") for _, found in ranked)
    lines = (furthest,) if few or asks_for_newest else FURTHEST_LINES
    near = _near_best(new, best, furthest, lines)
    told = [*_successors(runtime, scope, ranked, near, known.shown), *near]
    first = {memory.id for memory in limits}
    told = [*limits, *(memory for memory in told if memory.id not in first)][: hooks.max_memories]
    about = {found.memory.id for fit, found in ranked if fit >= best - furthest}
    about -= set(known.shown)
    told = _with_updates(runtime, scope, told, about, [memory.id for memory in near[:1]])
    candidates = {found.memory.id for _, found in ranked}
    told = [
        memory
        for memory in told
        if memory.id not in known.shown
        and not _is_said_in(memory, here)
        and (memory.id in candidates or not _is_out(memory, config.learning))
    ]
    told = _limit_lines(told, runtime.config.retrieval.top_k)
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
    if _is_said_in(memory, here):
        return "same_session"
    return "" if _says_enough(memory) else "says_little"


def _is_said_in(memory: Memory, session: str | None) -> bool:
    return session is not None and memory.source.session == session


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
    runtime: Runtime, ranked: list[tuple[float, Recollection]], rules: LearningSettings
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
    better the more lines there are (`by_line`). A second look adds what came before its session was told."""
    near, turns = dict[str, Memory](), dict[str, list[int]]()
    for again in (False, True):
        for fit, memory in new:
            session, turn = memory.source.session or memory.id, memory.source.turn or 0
            limit = min(furthest, by_line[min(len(turns), len(by_line) - 1)])
            if session in turns:
                limit = max(furthest, FURTHEST_THERE)
                limit -= FARTHER_TURN * all(abs(turn - other) > NEXT_TURN for other in turns[session])
                limit -= REMARK * _is_remark(memory)
            if fit >= best - limit and memory.id not in near and (session in turns or not again):
                near[memory.id] = memory
                turns.setdefault(session, []).append(turn)
    return [memory for _, memory in new if memory.id in near]


def _is_remark(memory: Memory) -> bool:
    """Whether the user said next to nothing in it: "done, ta", いいね、それで。"""
    said = memory.fullest.trigger or memory.fullest.content
    return len(said) < LONGEST_REMARK * (DENSE if is_japanese(said) else 1)


def _successors(
    runtime: Runtime,
    scope: Scope,
    ranked: Sequence[tuple[float, Recollection]],
    chosen: Sequence[Memory],
    shown: Iterable[str],
) -> list[Memory]:
    """The newest successor of the nearest candidates, unless it is shown anyway: an outdated answer must not
    be shown without it."""
    told = {memory.id for memory in chosen} | set(shown)
    replaced_by = {found.memory.superseded_by for _, found in ranked[:NEAREST]} - told - {None}
    if not replaced_by:
        return []
    found = runtime.store.get(scope, sorted(filter(None, replaced_by)))
    alive = [memory for memory in found if not memory.is_forgotten]
    return sorted(alive, key=lambda memory: memory.created)[-1:]


def _with_updates(
    runtime: Runtime, scope: Scope, memories: Sequence[Memory], about: Collection[str], best_of_all: list[str]
) -> list[Memory]:
    """The memories, with later statements that may replace the best ones inserted after these: of the best of
    all the newest two, as it may have told several things; of the others what is about the prompt."""
    best = [memory.id for memory in memories[:FULLEST]]
    told = {memory.id for memory in memories}
    later = {
        relation.source: best.index(relation.target)
        for relation in (runtime.store.relations(scope, sorted(best)) if best else ())
        if relation.type is RelationType.CONTINUES
        and relation.target in best
        and relation.source not in told
        and (relation.target in best_of_all or relation.source in about)
    }
    if not later:
        return list(memories)
    found = [memory for memory in runtime.store.get(scope, sorted(later)) if not memory.is_forgotten]
    found.sort(key=lambda memory: (-later[memory.id], memory.created, memory.id))
    return [*memories[:FULLEST], *found[-MOST_UPDATES:], *memories[FULLEST:]]


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
