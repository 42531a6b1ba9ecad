"""Messages in the one form that the window reads, whatever format they came in.

A message has a role, a text, a number of tokens, and the ids of its tool calls and tool results. These come
from the fields of the original, never from words that somebody typed [ruling 35].
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from nagori.core.value_object import Value

SYSTEM, USER, ASSISTANT, TOOL = "system", "user", "assistant", "tool"


class Message(Value):
    """One message. `calls` are the ids of the tool calls that it makes, `answers` the ids of the calls whose
    results it holds. `fixed` counts the tokens that cannot be cut: arguments of a call, signed reasoning.
    `own` is the text of its own role, if the message also holds text of a tool. `about` names the tool and
    the arguments of each call."""

    role: str
    text: str
    tokens: int
    fixed: int = 0
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    failed: bool = False  # the result of a call that went wrong, as its field says
    pinned: bool = False
    at: datetime | None = None
    speaker: str | None = None
    own: str | None = None
    about: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The text of its own role, without text of a tool."""
        return self.text if self.own is None else self.own


ASIDE = re.compile(r"\s*(<(system-reminder|environment_context|user_instructions)>.*?</\2>\s*)+", re.DOTALL)


def is_aside(text: str) -> bool:
    """Whether the host wrote all of a user message. Agents send reminders to their models in this way."""
    return text.lstrip()[:1] == "<" and ASIDE.fullmatch(text) is not None


class Unit:
    """Messages that are kept or dropped together: one message, or a tool call with its results. `waiting` are
    calls without a result; `stray` marks a result without a call. Every message makes one, so for speed it
    is not a Value."""

    __slots__ = ("calls", "members", "stray", "waiting")

    def __init__(self, member: int, stray: bool = False) -> None:
        self.members = [member]
        self.calls: list[str] = []
        self.waiting: list[str] = []
        self.stray = stray

    @property
    def is_broken(self) -> bool:
        """Whether a provider would refuse it: a result without its call, a call without its result."""
        return self.stray or bool(self.waiting)


class Units:
    """Groups arriving messages into units."""

    def __init__(self) -> None:
        self.of: list[Unit] = []  # by message
        self._callers: dict[str, Unit] = {}  # the last unit that made a call of this id

    def arrive(self, message: Message) -> Unit:
        """Return the unit of a message: a new one, or the unit of the call that it answers. A result that
        answers two calls joins their units."""
        at = len(self.of)
        asked = self._calls_of(message.answers)
        if asked:
            unit = asked[0]
            for other in asked[1:]:
                self._join(unit, other)
            unit.members.append(at)
            unit.waiting = [id for id in unit.waiting if id not in message.answers]
        else:
            unit = Unit(at, stray=bool(message.answers))
        self.of.append(unit)
        if message.calls:
            unit.calls += message.calls
            unit.waiting += message.calls
            self._callers.update(dict.fromkeys(message.calls, unit))
        return unit

    def _calls_of(self, ids: Iterable[str]) -> list[Unit]:
        """The units that made these calls. If a provider used an id twice, the newest call counts."""
        callers = (self._callers[id] for id in ids if id in self._callers)
        return list({id(unit): unit for unit in callers}.values())

    def _join(self, unit: Unit, other: Unit) -> None:
        unit.members = sorted((*unit.members, *other.members))
        unit.calls += other.calls
        unit.waiting += other.waiting
        for at in other.members:
            self.of[at] = unit
        for call in other.calls:
            if self._callers[call] is other:
                self._callers[call] = unit
