"""Summaries of threads that have ended: each becomes a memory, made from the turns that it quotes.

It holds the most telling sentences of the thread, with keywords and a vector. Ending a thread again adds
nothing. What was forgotten or corrected before is left out; what is later, `find_outdated` finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nagori.core.events import THREADS, Event, RecordedTurn
from nagori.core.model import (
    Emotion,
    Filter,
    Kind,
    Memory,
    Privacy,
    Scope,
    Source,
    Trust,
    is_thread_summary,
    strictest_privacy,
)
from nagori.core.storage_types import Owner
from nagori.core.threads import Thread
from nagori.core.window.messages import Message
from nagori.language.extractive_gist import gist
from nagori.language.keywords import NOUN, find_keywords
from nagori.language.passages import about_tokens, sentences
from nagori.runtime import Runtime
from nagori.services.list_threads_and_view_working_memory import MOST_MEMORIES, find_threads, thread_uri
from nagori.services.process_turns import LEAST_TURNS
from nagori.services.remember import Draft, remember_many

MOST_KEYWORDS = 8
INTENSITY = 20.0  # weaker than what it quotes, so that it fades before that
MOST_OPEN = 400  # ended threads that are noted while an older one is open


def end_threads(runtime: Runtime, owner: Owner, turns: Sequence[RecordedTurn]) -> list[Memory]:
    """Keep summaries of the threads that have ended among `turns`, which no ended thread holds yet; returns
    them. Summaries are kept before the note that says so: after a kill they are made again, with the same
    ids."""
    note = runtime.store.state(owner, THREADS) or {}
    known = {int(seq) for seq in note.get("ended", ())}
    threads = [t for t in find_threads(runtime, owner, turns) if t.turns[0].seq not in known]
    ended = [thread for thread in threads if thread.end is not None]
    if not ended:
        return []
    kept = [memory for thread in ended if (memory := _keep_summary(runtime, owner, thread)) is not None]
    if kept and runtime.config.sessions.policy == "summaries":
        summed = {memory.source.uri for memory in kept}
        _erase_words(runtime, owner, [thread for thread in ended if thread_uri(thread) in summed])
    begun = min((thread.turns[0].seq for thread in threads if thread.end is None), default=None)
    upto = begun - 1 if begun is not None else max(turn.seq for turn in turns)
    known |= {thread.turns[0].seq for thread in ended}
    value = {"upto": upto, "ended": sorted(seq for seq in known if seq > upto)[-MOST_OPEN:]}
    runtime.ledger.set_state(owner, THREADS, value, runtime.clock.now(), "worker")
    return kept


def _keep_summary(runtime: Runtime, owner: Owner, thread: Thread) -> Memory | None:
    """The summary of a thread as a memory; None if it says too little."""
    first = thread.turns[0]
    whole = Scope(tenant=owner[0], user=owner[1])
    scope = Scope(
        tenant=owner[0], user=owner[1], project=first.project, agent=first.agent, role=first.agent_role
    )
    said, text = summarise_thread(runtime, whole, thread)
    if not text:
        return None
    sources = _sources(runtime, whole, thread)
    told = [memory for turn in said for memory in sources.get(turn.seq, ())]
    draft = Draft(
        text,
        kind=Kind.SUMMARY,
        emotion=Emotion(INTENSITY),
        keywords=_keywords(turn.text for turn in said),
        created=thread.latest,
        source=Source(thread.session, _place_of(thread), None, thread_uri(thread)),
        trust=Trust.ASSISTANT,
        privacy=Privacy(strictest_privacy(memory.privacy for memory in told)),
    )
    # It shares turns with the memories that it quotes; what is forgotten or erased is found by them.
    used = [turn.seq for turn in said if _is_quoted(turn, text)]
    [memory] = remember_many(runtime, scope, [draft], origins={0: used})
    return memory


def summarise_thread(runtime: Runtime, scope: Scope, thread: Thread) -> tuple[Sequence[RecordedTurn], str]:
    """The turns of a thread that may be told to this scope, and their most telling sentences, without what
    was forgotten, corrected or is private to somebody else; "" if too little is left."""
    if len(thread.turns) < LEAST_TURNS:
        return (), ""
    sources = _sources(runtime, Scope(tenant=scope.tenant, user=scope.user), thread)
    ids = sorted({memory.id for told in sources.values() for memory in told})
    seen = {memory.id for memory in runtime.store.get(scope, ids)}
    left_out = {
        seq
        for seq, told in sources.items()
        if any(m.is_forgotten or m.superseded_by or m.id not in seen for m in told)
    }
    said = [turn for turn in thread.turns if turn.seq not in left_out]
    if len(said) < LEAST_TURNS:
        return (), ""
    messages = [Message(turn.role, turn.text, 0) for turn in said]
    return said, gist(messages, runtime.config.threads.summary_tokens, about_tokens)


def _is_quoted(turn: RecordedTurn, text: str) -> bool:
    """Whether a sentence of a turn stands in the summary."""
    return any(" ".join(each.split()) in text for each in sentences(turn.text))


def _erase_words(runtime: Runtime, owner: Owner, threads: Sequence[Thread]) -> None:
    """Keep only the summaries of these threads: their turns leave journal and store, and the episodes formed
    from them. Facts, decisions, lessons and protected memories stay; so does a thread without a summary."""
    from nagori.services.off_record_keep_and_forget_requests import withhold_turns
    from nagori.services.redact_journal_and_compact_store import redact_purged

    whole, now = Scope(tenant=owner[0], user=owner[1]), runtime.clock.now()
    formed = [m for thread in threads for told in _sources(runtime, whole, thread).values() for m in told]
    episodes = {m.id for m in formed if m.kind is Kind.EPISODE and not m.protected}
    events = [Event("deleted", now, {}, id, by="worker") for id in sorted(episodes)]
    if events:
        runtime.ledger.write(owner, lambda: events)
    withhold_turns(runtime, owner, [turn.seq for thread in threads for turn in thread.turns])
    redact_purged(runtime, owner)


def _keywords(texts: Iterable[str]) -> tuple[str, ...]:
    """The heaviest words of some texts, with those that recur first."""
    weights: dict[str, float] = {}
    for text in texts:
        found = {word.text: word.weight for word in find_keywords(text) if word.weight >= NOUN}
        for word, weight in found.items():
            weights[word] = weights.get(word, 0.0) + weight
    return tuple(sorted(weights, key=lambda word: (-weights[word], word))[:MOST_KEYWORDS])


def _sources(runtime: Runtime, scope: Scope, thread: Thread) -> dict[int, list[Memory]]:
    """The memories that were formed from each turn of a thread."""
    here = Filter(session=thread.session, archived=True, forgotten=True)
    everything = runtime.store.find(scope, here, limit=MOST_MEMORIES)
    found = {memory.id: memory for memory in everything if not is_thread_summary(memory)}
    sources: dict[int, list[Memory]] = {}
    for id, seq in runtime.store.origins(scope.owner, sorted(found)):
        if id in found:
            sources.setdefault(seq, []).append(found[id])
    return sources


def _place_of(thread: Thread) -> int:
    """The index of its last turn. A turn that is read twice was said once, and so is its summary."""
    last = thread.turns[-1]
    return last.index if last.index is not None else last.seq
