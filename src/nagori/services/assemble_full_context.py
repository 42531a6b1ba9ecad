"""The full context of a turn: past conversations, recent sessions, the profile and knowledge, in one budget.

For a program that asks once per turn. A host with hooks gets the same in two parts: sessions and profile when
a session starts, conversations and knowledge for each prompt. Either way nothing is told twice: a sentence
that a memory tells is left out of the recent sessions, and what was shown in a session is not shown there
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from heapq import merge

from nagori.core.model import Filter, Kind, Memory, Scope, TurnFilter, is_thread_summary
from nagori.core.value_object import Value, check_whole
from nagori.language.passages import about_tokens, sentences
from nagori.language.tokenizer import query_tokens
from nagori.runtime import Runtime
from nagori.services.list_threads_and_view_working_memory import list_threads, recent_sessions
from nagori.services.memory_block import LONGER, block, escape
from nagori.services.prompt_context import (
    NOTHING,
    Context,
    PromptSelection,
    context_for_prompt,
    new_here,
    select_for_prompt,
)
from nagori.services.recall import STRENGTHENS, RecallRequest, mark_recalled, recall
from nagori.services.related_memories_and_stale_links import find_outdated
from nagori.services.session_start_context import describe_user
from nagori.services.summarize_ended_threads import summarise_thread

# Share of the budget for memories where too few of them are about the prompt to fill it, and where knowledge
# is asked for; what they leave is for the others.
CONVERSATIONS, BESIDE_KNOWLEDGE = 0.9, 0.6
SMALL = 500  # tokens: of less, memories get everything, in a small frame
MOST_MEMORIES = 60  # looked at; more fit no usual budget
RECENT_DAYS = 30.0  # of sessions
MOST_SESSIONS, TOPICS, MOST_PASSAGES = 5, 5, 3
LEAST_TOKENS = 12  # a shorter line says nothing


class FullContext(Value):
    """What an agent should know for a turn: the four parts as text, the memories in them, and `text`, all
    parts together."""

    past_conversations: str = ""
    recent_sessions: str = ""
    profile: str = ""
    knowledge: str = ""
    memories: Sequence[Memory] = ()

    @property
    def text(self) -> str:
        parts = (self.past_conversations, self.knowledge, self.recent_sessions, self.profile)
        return "\n".join(part for part in parts if part)

    def __bool__(self) -> bool:
        return bool(self.text)

    def __str__(self) -> str:
        return self.text


def full_context(
    runtime: Runtime,
    scope: Scope,
    prompt: str,
    session: str = "",
    tokens: int | None = None,
    *,
    knowledge: Sequence[str] = (),
    mark: bool = True,
    fill: bool = True,
) -> FullContext:
    """All parts for a prompt, together at most `tokens` long; `knowledge` names the knowledge bases. Without
    `fill` no more memories than a hook would give for the prompt."""
    left = runtime.config.retrieval.token_budget if tokens is None else check_whole("tokens", tokens)
    told = NOTHING
    if left and fill:
        told = _past_conversations(runtime, scope, prompt, session, left, bool(knowledge), mark)
    elif left:
        share = BESIDE_KNOWLEDGE if knowledge else CONVERSATIONS
        told = context_for_prompt(runtime, scope, prompt, session, mark=mark, tokens=int(left * share))
    left -= about_tokens(told.text)
    facts = _knowledge(runtime, scope.tenant, prompt, knowledge, told, left // 2) if knowledge else ""
    left -= about_tokens(facts)
    person = describe_user(runtime, scope, TOPICS)
    person = person if about_tokens(person) <= left // 2 else ""
    left -= about_tokens(person)
    recent, sources = _recent_sessions(runtime, scope, session, told, left)
    return FullContext(told.text, recent, person, facts, [*told.memories, *sources])


def _past_conversations(
    runtime: Runtime,
    scope: Scope,
    prompt: str,
    session: str,
    tokens: int,
    knowledge: bool,
    mark: bool,
) -> Context:
    """As many memories as recall finds and the budget holds, in the order of recall; then what a hook would
    give besides, but first what replaces an answer. A hook is silent where it is unsure; who gives a budget
    for one question wants it used. Memories leave room for the other parts only where those that are about
    the prompt do."""
    chosen = select_for_prompt(runtime, scope, prompt, session)
    if chosen.silent in ("no_question", "secret"):
        return NOTHING
    question = RecallRequest(
        chosen.text,
        MOST_MEMORIES,
        session=session or None,
        mark=False,
        thread_summaries=runtime.config.sessions.policy == "summaries",  # else what they quote is told
    )
    answers = recall(runtime, scope, question)
    found = new_here(runtime, scope, [each.memory for each in answers], session)
    known, replaced_by = {memory.id for memory in found}, {memory.superseded_by for memory in found}
    besides = [memory for memory in chosen.told if memory.id not in known]
    heirs = [memory for memory in besides if memory.id in replaced_by]
    others = [memory for memory in besides if memory.id not in replaced_by]
    told, small, words = [*heirs, *found, *others], tokens < SMALL, query_tokens(chosen.text)

    def tell(memories: Sequence[Memory], share: float) -> tuple[str, list[Memory]]:
        return block(
            memories,
            runtime.clock.zone,
            int(tokens * share),
            runtime.config.retrieval.char_budget,
            newest_first=True,
            words=words,
            length=LONGER,
            shorten=True,
            small=small,
        )

    share = BESIDE_KNOWLEDGE if knowledge else 1.0
    if not small and not knowledge:
        unsure = {each.memory.id for each in answers if each.terms.get("confidence", 1.0) < STRENGTHENS}
        about = [memory for memory in told if memory.id not in unsure]
        share = CONVERSATIONS if len(tell(about, CONVERSATIONS)[1]) == len(about) else 1.0
    text, shown = tell(told, share)
    if shown and mark:
        _mark_told(runtime, scope, chosen, shown, session)
    return Context(text, shown)


def _mark_told(
    runtime: Runtime, scope: Scope, chosen: PromptSelection, shown: Sequence[Memory], session: str
) -> None:
    """Note what was told. In a session the effect of what a hook would have given is observed; nothing is
    withheld, because what fills the budget is told anyway."""
    ids = [memory.id for memory in shown]
    order = [memory.id for memory in chosen.told if memory.id in ids]
    if not session or not order:
        mark_recalled(runtime, scope, ids, session=session or None, unasked=True)
        return
    trial: dict[str, object] = {
        "at": runtime.clock.now().isoformat(),
        "task": scope.task or scope.project or "",
        "sure": round(chosen.confidence, 3),
        "order": order,
    }
    mark_recalled(runtime, scope, ids, session=session, unasked=True, awaits=trial)


def _knowledge(
    runtime: Runtime, tenant: str, prompt: str, bases: Sequence[str], told: Context, tokens: int
) -> str:
    """Passages of knowledge bases about the prompt, each with its source."""
    from nagori.services.knowledge_base import search_knowledge  # only who names a base needs it

    head, tail = "<knowledge>", "</knowledge>"
    tokens -= about_tokens(f"{head}\n{tail}\n")
    lines: list[str] = []
    for each in search_knowledge(runtime, tenant, prompt, bases, MOST_PASSAGES) if prompt.strip() else ():
        text = escape(" ".join(each.text.split()))
        line = f"- [{escape(each.source)}] {text}"
        if text not in told.text and (cost := about_tokens(line + "\n")) <= tokens:
            lines.append(line)
            tokens -= cost
    return "\n".join([head, *lines, tail]) if lines else ""


def context_for_turn(
    runtime: Runtime, scope: Scope, prompt: str, session: str, *, mark: bool = True
) -> Context:
    """The context of a recorded turn: all parts for the first one of its session, later what is new. Nobody
    asked for it, so there are no more memories than a hook would give."""
    runtime.ledger.catch_up(scope.owner, turns=True)
    if len(runtime.store.turns(scope.owner, TurnFilter(session=session, first=2))) > 1:
        return context_for_prompt(runtime, scope, prompt, session, mark=mark)
    found = full_context(runtime, scope, prompt, session, mark=mark, fill=False)
    return Context(found.text, found.memories)


def _recent_sessions(
    runtime: Runtime, scope: Scope, session: str, told: Context, tokens: int
) -> tuple[str, list[Memory]]:
    """Summaries of recent threads of other sessions, newest first, without sentences that are told
    already."""
    head, tail = "<recent-sessions>", "</recent-sessions>"
    tokens -= about_tokens(f"{head}\n{tail}\n")
    if tokens < LEAST_TOKENS:
        return "", []
    known, lines, used = told.text, list[str](), list[Memory]()
    for at, text, memory in _thread_summaries(runtime, scope, session):
        new = [each for each in sentences(text) if escape(each) not in known]
        mark = f" ({escape(memory.id)})" if memory else ""
        day = at.astimezone(runtime.clock.zone).date().isoformat()
        line = f"- [{day}] {escape(' '.join(new))}{mark}"
        cost = about_tokens(line + "\n")
        if not new or cost > tokens or cost < LEAST_TOKENS:
            continue
        lines.append(line)
        used += [memory] if memory else []
        known, tokens = f"{known}\n{line}", tokens - cost
        if len(lines) == MOST_SESSIONS:
            break
    return ("\n".join([head, *lines, tail]), used) if lines else ("", [])


def _thread_summaries(
    runtime: Runtime, scope: Scope, session: str
) -> Iterator[tuple[datetime, str, Memory | None]]:
    """Recent threads of other sessions, newest first: the summary that is kept of one, or else one that is
    made now."""
    since = runtime.clock.now() - timedelta(days=RECENT_DAYS)
    found = runtime.store.find(scope, Filter(kinds=frozenset({Kind.SUMMARY}), since=since), limit=50)
    kept = [memory for memory in found if is_thread_summary(memory) and memory.source.session != session]
    outdated = find_outdated(runtime, scope, kept)
    told = sorted((m for m in kept if m.id not in outdated), key=lambda m: m.created, reverse=True)
    rows = merge(
        ((memory.created, memory.fullest.content, memory) for memory in told),
        _unkept_threads(runtime, scope, session, since),
        key=lambda row: row[0],
        reverse=True,
    )
    return (row for row in rows if row[1])


def _unkept_threads(
    runtime: Runtime, scope: Scope, session: str, since: datetime
) -> Iterator[tuple[datetime, str, None]]:
    """The summaries of ended threads of which none is kept, newest session first. Threads are found session
    by session, because a caller takes only a few."""
    for other in recent_sessions(runtime, scope, since):
        for each in reversed(list_threads(runtime, scope, other) if other != session else ()):
            if each.memory is None and each.thread.end and each.thread.latest >= since:
                yield each.thread.latest, summarise_thread(runtime, scope, each.thread)[1], None
