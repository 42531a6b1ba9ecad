"""Threads and sessions of conversations: list them, and view the open thread as working memory.

Threads are computed from the recorded turns. State only says which of them have ended, so after a kill
anywhere the same threads are found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import mul
from struct import unpack

from nagori.core.events import RecordedTurn
from nagori.core.model import THREAD, Filter, Kind, Scope, TurnFilter
from nagori.core.storage_types import Owner
from nagori.core.threads import Thread, TopicShift, WorkingMemory, split_threads, view_thread
from nagori.core.value_object import Value, check_text
from nagori.language.topic_shift import has_topic_cue, topic_shift
from nagori.runtime import Runtime
from nagori.services.process_turns import MOST_TURNS
from nagori.services.record_turns_or_spool import WINDOW
from nagori.services.remember import embed_texts

MOST_MEMORIES = 1000  # of one session


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


def list_threads(runtime: Runtime, scope: Scope, session: str | None = None) -> list[ThreadSummary]:
    """The threads of one session, or of all recent ones, oldest first, as far as this scope may see them."""
    if session is not None:
        check_text("session", session)
    threads = find_threads(runtime, scope.owner, _visible_turns(runtime, scope, session))
    kept = runtime.store.find(
        scope, Filter(kinds=frozenset({Kind.SUMMARY}), session=session), limit=MOST_MEMORIES
    )
    known = {memory.source.uri: memory.id for memory in kept}
    return [ThreadSummary(thread, known.get(thread_uri(thread))) for thread in threads]


def list_sessions(runtime: Runtime, scope: Scope) -> list[SessionInfo]:
    """The recent sessions with their threads, newest first."""
    by_session: dict[str, list[Thread]] = {}
    for thread in find_threads(runtime, scope.owner, _visible_turns(runtime, scope, None)):
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
    threads = find_threads(runtime, scope.owner, _visible_turns(runtime, scope, session))
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


def find_threads(runtime: Runtime, owner: Owner, turns: Iterable[RecordedTurn]) -> list[Thread]:
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


def thread_uri(thread: Thread) -> str:
    """Where the summary of a thread says that it comes from."""
    return f"{THREAD}{thread.id}"
