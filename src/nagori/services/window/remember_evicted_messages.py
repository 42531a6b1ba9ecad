"""Messages that leave a window are recorded as turns, and become memories [C8].

A caller waits for the view, so pruning only records: one write to the journal. Their memories are formed
before the next verb of the same program reads anything, when it closes the memory, or by `process` and the
worker. The same message is recorded once, because its id is made from its place and its text.

Whoever reads waits, too, so only a few memories get vectors at once. When many messages have left, their
memories are first found by words; later calls (or the cycle) add the vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

from nagori.core.events import Event
from nagori.core.model import Memory, Scope, TurnFilter
from nagori.core.storage_types import Owner
from nagori.core.value_object import clean_text, fields_of
from nagori.core.window.messages import Message
from nagori.errors import NagoriError
from nagori.language.redaction import fit_to_keep, without_memories
from nagori.runtime import Runtime, no_model
from nagori.services.record_turns_or_spool import WINDOW, record_new, turn_event

QUICK = ("local", "none")  # nobody who waits for an answer waits for a network
AT_ONCE = 24  # memories that are given vectors in one call: a second or so of a small machine
LONGEST_NAME = 256
LONGEST = 200_000  # characters of one turn; a longer message is several


def record_messages(runtime: Runtime, scope: Scope, session: str, said: Mapping[int, Message]) -> list[str]:
    """Record the messages at these places of a session; returns the ids of their turns that have no memories
    yet."""
    events = [event for at in sorted(said) for event in _events(runtime, scope, session, at, said[at])]
    return [turn.id for turn in record_new(runtime, scope.owner, events) if not turn.processed]


def form_later(runtime: Runtime, scope: Scope, turns: Sequence[str]) -> None:
    """Let `form_evicted` form the memories of these turns."""
    with runtime.unformed_lock:
        runtime.unformed.setdefault(scope, {}).update(dict.fromkeys(turns))


def form_evicted(runtime: Runtime, owner: Owner | None = None) -> None:
    """Form the memories that wait, of one owner or of all."""
    with runtime.unformed_lock:
        waiting = {scope: list(turns) for scope, turns in runtime.unformed.items()}
    for scope, turns in waiting.items():
        if owner is None or scope.owner == owner:
            form_messages(runtime, scope, turns)
            _drop_formed(runtime, scope, turns)  # only now: another thread that reads meanwhile forms, too


def _drop_formed(runtime: Runtime, scope: Scope, turns: Sequence[str]) -> None:
    with runtime.unformed_lock:
        rest = runtime.unformed.pop(scope, {})
        for turn in turns:
            rest.pop(turn, None)
        if rest:
            runtime.unformed[scope] = rest


def form_messages(runtime: Runtime, scope: Scope, turns: Sequence[str]) -> list[Memory]:
    """Form memories of recorded messages. Those that were erased or formed meanwhile are passed over. If it
    fails, whoever reads gets what there is: the turns stay recorded, and the worker forms them."""
    try:
        return _form_pending(runtime, scope, turns)
    except NagoriError as trouble:
        runtime.observe("store.behind", owner=scope.owner, reason=trouble.notice)
        return []


def _form_pending(runtime: Runtime, scope: Scope, turns: Sequence[str]) -> list[Memory]:
    from nagori.services.process_turns import form_recorded
    from nagori.services.vectors import catch_up_on_vectors

    runtime.ledger.catch_up(scope.owner, turns=True)
    pending = runtime.store.turns(scope.owner, TurnFilter(ids=tuple(turns), pending=True))
    quick = runtime.config.embedding.provider in QUICK
    formed = form_recorded(
        runtime if quick and len(pending) <= AT_ONCE else _by_words(runtime), scope, pending
    )
    if quick and pending:
        catch_up_on_vectors(runtime, scope, AT_ONCE - len(pending))
    return formed


def _by_words(runtime: Runtime) -> Runtime:
    """The same runtime without an embedding model."""
    known = dict(zip(fields_of(runtime), runtime, strict=True))
    return Runtime(**known | {"open_embedder": lambda: None, "open_model": no_model})


def _events(runtime: Runtime, scope: Scope, session: str, at: int, message: Message) -> Iterator[Event]:
    """The turns of a message: one, or several for a very long text."""
    for start in range(0, max(1, len(message.text)), LONGEST):
        event = _event(runtime, scope, session, at, message, start)
        if event is not None:
            yield event


def _event(
    runtime: Runtime, scope: Scope, session: str, at: int, message: Message, start: int
) -> Event | None:
    rules = runtime.config.privacy
    text = fit_to_keep(
        without_memories(message.text[start : start + LONGEST]),
        strip=rules.strip_private,
        redact=rules.redact_secrets,
    )
    role = clean_text(message.role)
    place = f"{at}+{start}" if start else str(at)
    name = sha256("\x1f".join((session, place, role, text)).encode()).hexdigest()[:20]
    return turn_event(
        scope,
        rules,
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
