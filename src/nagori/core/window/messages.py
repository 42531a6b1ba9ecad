"""Messages as the window sees them, whatever format they came in: who speaks, what is said, how many
tokens it takes, and which calls of tools belong to which results.

Structure is read from fields, never from words that somebody typed [ruling 35].
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from nagori.core.values import Value

SYSTEM, USER, ASSISTANT, TOOL = "system", "user", "assistant", "tool"


class Message(Value):
    """One message. `calls` and `answers` are the ids of tool calls that it makes and that it brings the
    results of; `fixed` is how many of its tokens cannot be cut: a call's arguments, a signed thought. `own`
    is what its role itself says, where words of a tool stand beside it; `about` says for each call which
    tool is called with what."""

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
        """What is said in the voice of its role."""
        return self.text if self.own is None else self.own


ASIDE = re.compile(r"\s*(<(system-reminder|environment_context|user_instructions)>.*?</\2>\s*)+", re.DOTALL)


def is_aside(text: str) -> bool:
    """Whether a message of the user's role is wholly a host's: agents remind their models that way."""
    return text.lstrip()[:1] == "<" and ASIDE.fullmatch(text) is not None


class Unit:
    """What stays or goes together: a message, or a call with its results. `waiting` are calls without a
    result; `stray` is a result whose call is not there. Made for every message, so it is not a Value."""

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
    """Messages as they arrive, put together into units."""

    def __init__(self) -> None:
        self.of: list[Unit] = []  # by message
        self._callers: dict[str, Unit] = {}  # the last unit that made a call of this id

    def arrive(self, message: Message) -> Unit:
        """The unit that a message belongs to: its own, or that of the call it answers. A result that
        answers two calls makes them one."""
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
        """The units whose calls these are. A provider may give an id a second time: the newest is meant."""
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
