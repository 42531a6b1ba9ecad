"""What leaves a window is not lost: its words are written down as they were, then become memories [C8].

First the journal (an event `heard`, the raw words), then the memories, which a recall in the same
conversation finds at once. A crash in between is healed by the worker, which forms whatever was heard. The
same message is written down once, however often it is told: its name, made from where it stands and what
it says, is in the log.

Somebody waits for the view, so vectors are made for a few memories at a time; when a long past leaves at
once, its memories are found by their words first, and the following calls (or the cycle) give them vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from nagori.core.bookkeeping import Vector
from nagori.core.chatter import is_chatter
from nagori.core.fold import Event
from nagori.core.model import Memory, Scope, Trust, Turn
from nagori.core.privacy import without_memories
from nagori.core.text import clean
from nagori.core.values import fields_of
from nagori.core.window.messages import ASSISTANT, TOOL, USER, Message
from nagori.errors import StoreError
from nagori.parts import Parts, no_model
from nagori.services.form import form
from nagori.services.remember import scrubbed

HOST = "window"
QUICK = ("local", "none")  # nobody who waits for a view waits for a network
AT_ONCE = 24  # memories that are given vectors in one call: a second or so of a small machine
LONGEST_NAME = 256
LONGEST = 200_000  # characters of one message: nobody says more, programs do
TOLD = (500, 250)  # characters from the beginning and the end of a tool's result that become a memory
SPEAKERS = {USER: Trust.USER, ASSISTANT: Trust.ASSISTANT, TOOL: Trust.TOOL}


def leave(parts: Parts, scope: Scope, session: str, leaving: Mapping[int, Message]) -> list[Memory]:
    """Write down the messages at these places of a session, and form memories of them."""
    events = [_heard(parts, scope, session, at, message) for at, message in sorted(leaving.items())]
    fresh = _unknown(parts, scope, [event for event in events if event.data["text"]])
    if not fresh:
        return []
    parts.ledger.write(scope.space, lambda: fresh, blind=True)
    turns = said(fresh)
    quick = parts.config.embedding.provider in QUICK
    try:
        kept = form(parts if quick and len(turns) <= AT_ONCE else _by_words(parts), scope, turns)
        if quick:
            _catch_up_on_vectors(parts, scope, AT_ONCE - len(turns))
    except StoreError as trouble:  # what was written down is formed by the worker, when the store is well
        parts.tell("store.behind", space=scope.space, reason=str(trouble))
        return []
    return kept


def _by_words(parts: Parts) -> Parts:
    """The same parts without a model that makes vectors."""
    known = dict(zip(fields_of(parts), parts, strict=True))
    return Parts(**known | {"open_embedder": lambda: None, "open_model": no_model})


def _catch_up_on_vectors(parts: Parts, scope: Scope, most: int) -> None:
    """Vectors for some of the memories that have none yet."""
    embedder = parts.embedder_for(scope.space)
    if embedder is None or most <= 0:
        return
    try:
        waiting = parts.store.unembedded(scope.space, embedder.model, most)
        vectors = embedder.embed_passages([memory.searchable for memory in waiting])
        made = zip(waiting, vectors, strict=True)
        by_id = {each.id: Vector(embedder.model, each.digest, vector) for each, vector in made}
        parts.store.add_vectors(scope.space, by_id)
    except StoreError as trouble:
        parts.tell("store.behind", space=scope.space, reason=str(trouble))


def _heard(parts: Parts, scope: Scope, session: str, at: int, message: Message) -> Event:
    text = scrubbed(parts, without_memories(message.text[:LONGEST]))
    role = clean(message.role)
    name = sha256("\x1f".join((session, str(at), role, text)).encode()).hexdigest()[:20]
    data = {
        "host": HOST,
        "session": session,
        "role": role,
        "text": text,
        "speaker": clean(message.speaker)[:LONGEST_NAME] if message.speaker else None,
        "project": scope.project,
        "agent": scope.agent,
        "agent_role": scope.role,
        "ref": f"turn_{name}",
        "turn": f"turn_{name}",
        "index": at,
    }
    known = {key: value for key, value in data.items() if value is not None}
    return Event("heard", message.at or parts.clock.now(), known, by=HOST)


def _unknown(parts: Parts, scope: Scope, events: Sequence[Event]) -> list[Event]:
    """Those that were not written down before; all of them when the store cannot say."""
    try:
        parts.ledger.catch_up(scope.space)
        return [event for event in events if not parts.store.history(scope.space, event.data["turn"])]
    except StoreError:
        return list(events)


def said(events: Iterable[Event]) -> list[Turn]:
    """The turns that events of this kind tell of: what people and tools said, without mere noises."""
    turns = (turn_of(event.data, event.at) for event in events)
    return [turn for turn in turns if turn is not None]


def turn_of(data: Mapping[str, Any], at: datetime) -> Turn | None:
    """The turn to be remembered of one event; of a tool's result the beginning and the end."""
    role, text = SPEAKERS.get(str(data["role"])), str(data["text"])
    if role is None or is_chatter(text):
        return None
    if role is Trust.TOOL and len(text) > sum(TOLD):
        text = f"{text[: TOLD[0]]}\n…\n{text[-TOLD[1] :]}"
    session, index = str(data["session"]), int(data["index"])
    uri = f"{HOST}:{session}#{index}"
    return Turn(text, at, session, index, speaker=data.get("speaker"), role=role, uri=uri)
