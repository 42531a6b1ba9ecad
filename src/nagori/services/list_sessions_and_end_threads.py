"""Threads of a conversation: list them, view the open one as working memory, keep a summary of ended ones.

Threads are computed from the recorded turns. State only says which of them have ended, so after a kill
anywhere the same threads are found, and ending one again adds nothing. The summary of a thread is a memory:
its most telling sentences, with keywords and a vector, formed from the turns that it quotes. What was
forgotten or corrected before is left out; what is later, `find_outdated` finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import mul
from struct import unpack

from nagori.core.events import THREADS, Event, RecordedTurn
from nagori.core.model import (
    THREAD,
    Emotion,
    Filter,
    Kind,
    Memory,
    Privacy,
    Scope,
    Source,
    Trust,
    TurnFilter,
    is_thread_summary,
    strictest_privacy,
)
from nagori.core.storage_types import Owner
from nagori.core.threads import Thread, TopicShift, WorkingMemory, split_threads, view_thread
from nagori.core.value_class import Value, check_text
from nagori.core.window.messages import Message
from nagori.language.extractive_gist import gist
from nagori.language.keywords import NOUN, find_keywords
from nagori.language.passages import about_tokens, sentences
from nagori.language.topic_shift import has_topic_cue, topic_shift
from nagori.runtime import Runtime
from nagori.services.process_turns import LEAST_TURNS, MOST_TURNS, WINDOW
from nagori.services.remember import Draft, embed_texts, remember_many

MOST_KEYWORDS = 8
INTENSITY = 20.0  # weaker than what it quotes, so that it fades before that
MOST_MEMORIES = 1000  # of one session
MOST_OPEN = 400  # ended threads that are noted while an older one is open


class ThreadSummary(Value):
    """A thread with what is kept of it: `memory` is the id of its summary, if there is one."""

    thread: Thread
    memory: str | None = None


class SessionInfo(Value):
    """A session: its times, its turns and who spoke, and how many threads it has."""

    session: str
    began: datetime
    latest: datetime
    turns: int
    threads: int
    speakers: Mapping[str, int]
    project: str | None = None


# --- looking --------------------------------------------------------------------------------------


def list_threads(runtime: Runtime, scope: Scope, session: str | None = None) -> list[ThreadSummary]:
    """The threads of one session, or of all recent ones, oldest first, as far as this scope may see them."""
    if session is not None:
        check_text("session", session)
    threads = _find_threads(runtime, scope.owner, _visible_turns(runtime, scope, session))
    kept = runtime.store.find(
        scope, Filter(kinds=frozenset({Kind.SUMMARY}), session=session), limit=MOST_MEMORIES
    )
    known = {memory.source.uri: memory.id for memory in kept}
    return [ThreadSummary(thread, known.get(_uri(thread))) for thread in threads]


def list_sessions(runtime: Runtime, scope: Scope) -> list[SessionInfo]:
    """The recent sessions with their threads, newest first."""
    by_session: dict[str, list[Thread]] = {}
    for thread in _find_threads(runtime, scope.owner, _visible_turns(runtime, scope, None)):
        by_session.setdefault(thread.session, []).append(thread)
    found = [_describe_session(session, threads) for session, threads in by_session.items()]
    return sorted(found, key=lambda each: each.latest, reverse=True)


def recent_sessions(runtime: Runtime, scope: Scope, since: datetime) -> list[str]:
    """The names of sessions with turns since a moment, newest first, without looking for their threads."""
    latest: dict[str, datetime] = {}
    for turn in _visible_turns(runtime, scope, None):
        if turn.session and turn.at >= since:
            latest[turn.session] = max(turn.at, latest.get(turn.session, turn.at))
    return sorted(latest, key=lambda session: latest[session], reverse=True)


def _describe_session(session: str, threads: Sequence[Thread]) -> SessionInfo:
    speakers: Counter[str] = Counter()
    for thread in threads:
        speakers.update(thread.speakers)
    return SessionInfo(
        session=session,
        began=threads[0].began,
        latest=threads[-1].latest,
        turns=sum(len(thread.turns) for thread in threads),
        threads=len(threads),
        speakers=dict(speakers),
        project=threads[-1].domain,
    )


def working_memory(runtime: Runtime, scope: Scope, session: str) -> WorkingMemory:
    """The last turns of the open thread of a session."""
    check_text("session", session)
    threads = _find_threads(runtime, scope.owner, _visible_turns(runtime, scope, session))
    return view_thread(threads[-1] if threads else None, runtime.config.threads.view_turns)


def _visible_turns(runtime: Runtime, scope: Scope, session: str | None) -> list[RecordedTurn]:
    """The turns of the scope's own project and agent. The user sees all of their own."""
    runtime.ledger.catch_up(scope.owner, turns=True)
    filter = TurnFilter(session=session) if session else TurnFilter(last=MOST_TURNS)
    return [turn for turn in runtime.store.turns(scope.owner, filter) if _can_see(scope, turn)]


def _can_see(scope: Scope, turn: RecordedTurn) -> bool:
    if scope.project is not None and turn.project not in (None, scope.project):
        return False
    return scope.is_user or turn.agent in (None, scope.agent)


def _find_threads(runtime: Runtime, owner: Owner, turns: Iterable[RecordedTurn]) -> list[Thread]:
    """The threads of turns of any sessions, by their beginning."""
    by_session: dict[str, list[RecordedTurn]] = {}
    for turn in turns:
        if turn.session and turn.role in ("user", "assistant", "import") and turn.host != WINDOW:
            by_session.setdefault(turn.session, []).append(turn)
    rules, now = runtime.config.threads, runtime.clock.now()
    threads: list[Thread] = []
    for said in by_session.values():
        shift = _literal_shift(runtime, owner, said) if rules.boundary == "literal" else topic_shift
        threads += split_threads(said, rules, now, shift, has_topic_cue)
    return sorted(threads, key=lambda thread: thread.turns[0].seq)


def _literal_shift(runtime: Runtime, owner: Owner, turns: Sequence[RecordedTurn]) -> TopicShift:
    """The rule of the original design: a topic ends where neighbours are less similar than a fixed cosine.
    Without vectors none ends."""
    scope, least = Scope(tenant=owner[0], user=owner[1]), runtime.config.threads.similarity
    made = embed_texts(runtime, scope, [turn.text for turn in turns])
    vectors = {text: unpack(f"<{len(v.data) // 4}f", v.data) for text, v in made.items()}

    def shift(before: Sequence[str], text: str, after: str | None) -> float:
        one, other = vectors.get(before[-1]), vectors.get(text)
        known = one is not None and other is not None
        return float(known and sum(map(mul, one, other)) < least)  # type: ignore[arg-type]

    return shift


# --- ending ---------------------------------------------------------------------------------------


def end_threads(runtime: Runtime, owner: Owner, turns: Sequence[RecordedTurn]) -> list[Memory]:
    """Keep summaries of the threads that have ended among `turns`, which no ended thread holds yet; returns
    them. Summaries are kept before the note that says so: after a kill they are made again, with the same
    ids."""
    note = runtime.store.state(owner, THREADS) or {}
    known = {int(seq) for seq in note.get("ended", ())}
    threads = [t for t in _find_threads(runtime, owner, turns) if t.turns[0].seq not in known]
    ended = [thread for thread in threads if thread.end is not None]
    if not ended:
        return []
    kept = [memory for thread in ended if (memory := _keep_summary(runtime, owner, thread)) is not None]
    if kept and runtime.config.sessions.policy == "summaries":
        summed = {memory.source.uri for memory in kept}
        _erase_words(runtime, owner, [thread for thread in ended if _uri(thread) in summed])
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
        keywords=thread_keywords(turn.text for turn in said),
        created=thread.latest,
        source=Source(thread.session, _place_of(thread), None, _uri(thread)),
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


def thread_keywords(texts: Iterable[str]) -> tuple[str, ...]:
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


def _uri(thread: Thread) -> str:
    return f"{THREAD}{thread.id}"
