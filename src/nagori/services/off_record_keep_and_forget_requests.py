"""Wishes: what the user asks of the memory is done, whoever brings the turn.

not to keep   no memory of the exchange is formed, and its words leave the journal and the store
to forget     what the wish names is forgotten; `undo` brings it back. Of several that fit, the best one goes
              and the others are named when the next session starts
to keep       the memory is protected; where the limit is reached, the wish waits and is told
"""

from __future__ import annotations

from collections.abc import Sequence

from nagori.core.event_redaction import without_words
from nagori.core.events import WAITING_WISHES, Event, RecordedTurn
from nagori.core.model import Filter, Memory, Scope
from nagori.core.storage_types import Owner
from nagori.language.speech_acts import Wish
from nagori.runtime import Runtime

SURE, SURE_HERE = 0.5, 0.05  # least certainty of what is forgotten because it was named; in the same session
SURE_OF_ALL = 0.3  # the same where only all words of the wish together tell what is meant
NEAR = 5  # memories that are looked at for what is to be forgotten
MOST_WAITING = 50


def withhold_turns(runtime: Runtime, owner: Owner, seqs: Sequence[int]) -> None:
    """Leave no word of these turns in the journal or the store."""
    if not seqs:
        return
    runtime.ledger.redact(owner, sorted(seqs), lambda event: without_words(event, keep_trace=False))
    event = Event("redacted", runtime.clock.now(), {"memories": [], "turns": sorted(seqs)}, by="user")
    runtime.ledger.write(owner, lambda: [event])
    runtime.observe("wish.not_kept", turns=len(seqs))


def obey_forget(runtime: Runtime, scope: Scope, wish: Wish, asked: RecordedTurn) -> list[Memory]:
    """Forget what a wish names; the memories that are forgotten now."""
    named = _last_of_session(runtime, scope, asked) if wish.last or not wish.matter else []
    others: list[Memory] = []
    if not named and wish.matter:
        named, others = _named_memories(runtime, scope, wish.matter, asked.session)
        if not named and not others:  # the rest of the wish may tell what it means
            named = _find_in_session(runtime, scope, asked)
    events = [Event("forgotten", runtime.clock.now(), {"wish": asked.id}, memory.id) for memory in named]
    if events:
        runtime.ledger.write(scope.owner, lambda: events)
    if others:
        _wait(runtime, scope.owner, {"forget": [memory.id for memory in others]})
    runtime.observe("wish.forgotten", memories=len(named), asked_back=len(others))
    return named


def _last_of_session(runtime: Runtime, scope: Scope, asked: RecordedTurn) -> list[Memory]:
    """What was said last before the wish, in the same session."""
    found = runtime.store.find(scope, Filter(session=asked.session), limit=NEAR) if asked.session else []
    earlier = [memory for memory in found if memory.created < asked.at and not memory.is_forgotten]
    last = max((memory.created for memory in earlier), default=None)
    return [memory for memory in earlier if memory.created == last]


def _named_memories(
    runtime: Runtime, scope: Scope, matter: str, session: str
) -> tuple[list[Memory], list[Memory]]:
    """The memory that fits best, and the others that may be meant as well. What was said in the same session
    is near enough to be meant by less."""
    from nagori.services.recall import RecallRequest, recall

    found = recall(runtime, scope, RecallRequest(matter, NEAR, min_confidence=SURE_HERE, mark=False))
    fitting = [r for r in found if r.terms.get("confidence", 0.0) >= SURE]
    here = [r for r in found if session and r.memory.source.session == session]
    return [r.memory for r in (fitting or here)[:1]], [r.memory for r in fitting[1:]]


def _find_in_session(runtime: Runtime, scope: Scope, asked: RecordedTurn) -> list[Memory]:
    """The memory of the same session that shares most with all words of the wish."""
    from nagori.services.recall import RecallRequest, recall

    here = Filter(session=asked.session)
    if not asked.session or not asked.text.strip():
        return []
    request = RecallRequest(asked.text, 1, filter=here, min_confidence=SURE_OF_ALL, mark=False)
    return [found.memory for found in recall(runtime, scope, request) if found.memory.created < asked.at]


# --- what waits -----------------------------------------------------------------------------------


def queue_protection(runtime: Runtime, owner: Owner, ids: Sequence[str]) -> None:
    """These memories were to be protected, and there is no room."""
    _wait(runtime, owner, {"protect": list(ids)})


def waiting_wishes(runtime: Runtime, owner: Owner) -> list[dict[str, list[str]]]:
    """What the user asked for and nobody could do yet, oldest first."""
    return list(runtime.store.state(owner, WAITING_WISHES) or [])


def clear_waiting(runtime: Runtime, owner: Owner) -> None:
    """They were told."""
    runtime.ledger.set_state(owner, WAITING_WISHES, None, runtime.clock.now(), "host")


def _wait(runtime: Runtime, owner: Owner, wish: dict[str, list[str]]) -> None:
    waiting = [*waiting_wishes(runtime, owner), wish][-MOST_WAITING:]
    runtime.ledger.set_state(owner, WAITING_WISHES, waiting, runtime.clock.now(), "user")
