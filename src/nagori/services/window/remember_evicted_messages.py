"""Messages that leave a window are recorded as turns and become memories [C8].

The journal comes first (a turn with the raw text), then the memories, which the next recall finds. After a
crash in between, the worker forms the pending memories. The same message is recorded once, because its id is
made from its place and its text.

A caller waits for the view, so one call makes vectors for only a few memories. When many messages leave at
once, their memories are first found by words; later calls (or the cycle) add the vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from nagori.core.events import Event
from nagori.core.model import Memory, Scope, TurnFilter
from nagori.core.value_object import clean_text, fields_of
from nagori.core.window.messages import Message
from nagori.errors import StoreError
from nagori.event_ledger import record_turns
from nagori.language.redaction import without_memories
from nagori.runtime import Runtime, no_model
from nagori.services.process_turns import WINDOW, ingest
from nagori.services.record_turns_or_spool import turn_event
from nagori.services.remember import redact_text
from nagori.services.vectors import catch_up_on_vectors

QUICK = ("local", "none")  # nobody who waits for a view waits for a network
AT_ONCE = 24  # memories that are given vectors in one call: a second or so of a small machine
LONGEST_NAME = 256
LONGEST = 200_000  # characters of one turn; a longer message is several


def note_down(runtime: Runtime, scope: Scope, session: str, said: Mapping[int, Message]) -> list[Memory]:
    """Record messages as turns as soon as they arrive. Memories are formed later: when the messages leave
    the window, or by the worker. So the list is empty."""
    events = [event for at in sorted(said) for event in _events(runtime, scope, session, at, said[at])]
    known = {
        turn.id for turn in runtime.store.turns(scope.owner, TurnFilter(ids=tuple(map(turn_name, events))))
    }
    record_turns(runtime.journal, scope.owner, [event for event in events if turn_name(event) not in known])
    return []


def turn_name(event: Event) -> str:
    return str(event.data["turn"])


def leave(runtime: Runtime, scope: Scope, session: str, leaving: Mapping[int, Message]) -> list[Memory]:
    """Record the messages at these places of a session, and form memories of them."""
    said = [event for at in sorted(leaving) for event in _events(runtime, scope, session, at, leaving[at])]
    quick = runtime.config.embedding.provider in QUICK
    try:
        formed = ingest(runtime if quick and len(said) <= AT_ONCE else _by_words(runtime), scope, said)
        if quick and said:
            catch_up_on_vectors(runtime, scope, AT_ONCE - len(said))
    except StoreError as trouble:  # what was recorded is formed by the worker, when the store is well
        runtime.observe("store.behind", owner=scope.owner, reason=trouble.notice)
        return []
    return formed


def _by_words(runtime: Runtime) -> Runtime:
    """The same runtime without an embedding model."""
    known = dict(zip(fields_of(runtime), runtime, strict=True))
    return Runtime(**known | {"open_embedder": lambda: None, "open_model": no_model})


def _events(runtime: Runtime, scope: Scope, session: str, at: int, message: Message) -> list[Event]:
    """The turns of a message: one, or several for a very long text."""
    whole = message.text
    starts = range(0, max(1, len(whole)), LONGEST)
    made = [_event(runtime, scope, session, at, message, start) for start in starts]
    return [event for event in made if event is not None]


def _event(
    runtime: Runtime, scope: Scope, session: str, at: int, message: Message, start: int
) -> Event | None:
    text = redact_text(runtime, without_memories(message.text[start : start + LONGEST]))
    role = clean_text(message.role)
    place = f"{at}+{start}" if start else str(at)
    name = sha256("\x1f".join((session, place, role, text)).encode()).hexdigest()[:20]
    return turn_event(
        scope,
        runtime.config.privacy,
        text=text,
        role=role,
        at=message.at or runtime.clock.now(),
        session=session,
        by=WINDOW,
        host=WINDOW,
        speaker=clean_text(message.speaker)[:LONGEST_NAME] if message.speaker else None,
        ref=f"turn_{name}",
        turn=f"turn_{name}",
        index=at,
        uri=f"{WINDOW}:{session}#{at}",
    )
