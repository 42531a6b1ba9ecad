"""One turn at a time, for programs that talk: record what the user said, then what was answered."""

from __future__ import annotations

from datetime import datetime

from nagori.core.bookkeeping import Space
from nagori.core.model import Scope, Trust, one_of, utc
from nagori.core.values import Value
from nagori.errors import InvalidInput
from nagori.ledger import record_turns
from nagori.parts import Parts
from nagori.services.record import turn_event


class OpenTurn(Value):
    """A recorded turn that waits for its answer."""

    parts: Parts
    scope: Scope
    session: str

    def answer(self, text: str, *, speaker: str | None = None, at: datetime | None = None) -> None:
        """Record what was answered. When this returns it is kept."""
        record_turn(self.parts, self.scope, text, self.session, "assistant", speaker, at)


def record_turn(
    parts: Parts,
    scope: Scope,
    text: str,
    session: str,
    role: str = "user",
    speaker: str | None = None,
    at: datetime | None = None,
) -> OpenTurn:
    """Record one turn of a session."""
    for name, value in (("text", text), ("session", session)):
        if not isinstance(value, str) or not value.strip():
            raise InvalidInput(name, "{value!r} is not a text", value=value)
    who = one_of(Trust, role, "role")
    when = utc(at, "at") if at else parts.clock.now()
    event = turn_event(
        scope, parts.config.privacy, text=text, role=str(who), at=when, session=session, speaker=speaker
    )
    space: Space = scope.space
    record_turns(parts.journal, space, [event] if event else [])
    return OpenTurn(parts, scope, session)
