"""Threads: split the turns of a session where a topic ends, and view the last turns as working memory.

A thread is computed from recorded turns alone, so a restart gives the same threads. It ends for one of five
reasons, looked at in this order: a pause, another project, the limit, a cue such as "by the way", another
topic. Whether a turn opens another topic may depend on the turn after it, so the newest turn belongs to the
open thread until that one is there, or until the pause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from nagori.core.events import RecordedTurn
from nagori.core.levels import Threads
from nagori.core.value_object import Value

SHORTEST = 2  # turns of a thread before a topic can end it

TopicShift = Callable[[Sequence[str], str, str | None], float]
HasCue = Callable[[str], bool]


class ThreadEnd(StrEnum):
    """Why a thread ended."""

    IDLE = "idle"  # nothing was said for `threads.idle_minutes`
    DOMAIN = "domain"  # the next turn belongs to another project or agent
    LIMIT = "limit"  # it reached `threads.max_turns`
    CUE = "cue"  # the next turn said that it changes the subject
    TOPIC = "topic"  # the next turn opened another topic


class Thread(Value):
    """Turns about one topic. `end` is None while it is open."""

    session: str
    turns: tuple[RecordedTurn, ...]
    end: ThreadEnd | None = None

    @property
    def id(self) -> str:
        """The session and the number of its first turn."""
        return f"{self.session}#{self.turns[0].seq}"

    @property
    def domain(self) -> str | None:
        return self.turns[0].project

    @property
    def began(self) -> datetime:
        return self.turns[0].at

    @property
    def latest(self) -> datetime:
        return self.turns[-1].at

    @property
    def speakers(self) -> Mapping[str, int]:
        """How often each speaker spoke; without a name, by role."""
        return dict(Counter(turn.speaker or turn.role for turn in self.turns))


class WorkingMemory(Value):
    """The end of the open thread of a session: at most `threads.view_turns` turns, and who spoke in the whole
    thread how often. `flushed` turns of the thread are no longer in view."""

    thread: str | None = None
    domain: str | None = None
    turns: tuple[RecordedTurn, ...] = ()
    speakers: Mapping[str, int] = {}
    began: datetime | None = None
    latest: datetime | None = None
    flushed: int = 0


def view_thread(thread: Thread | None, most: int) -> WorkingMemory:
    """The working memory of an open thread; empty without one."""
    if thread is None or thread.end is not None:
        return WorkingMemory()
    turns = thread.turns[-most:] if most else ()
    return WorkingMemory(
        thread=thread.id,
        domain=thread.domain,
        turns=turns,
        speakers=thread.speakers,
        began=thread.began,
        latest=thread.latest,
        flushed=len(thread.turns) - len(turns),
    )


def split_threads(
    turns: Iterable[RecordedTurn], rules: Threads, now: datetime, shift: TopicShift, has_cue: HasCue
) -> list[Thread]:
    """The threads of one session's turns, oldest first; the last one is open unless the pause has ended
    it."""
    said = sorted(turns, key=lambda turn: turn.seq)
    idle = timedelta(minutes=rules.idle_minutes)
    threads: list[Thread] = []
    begin = 0
    for place in range(1, len(said)):
        if end := _end_before(said, begin, place, rules, shift, has_cue):
            threads.append(Thread(said[begin].session, tuple(said[begin:place]), end))
            begin = place
    if said:
        last = ThreadEnd.IDLE if now - said[-1].at >= idle else None
        threads.append(Thread(said[begin].session, tuple(said[begin:]), last))
    return threads


def _end_before(
    said: Sequence[RecordedTurn], begin: int, place: int, rules: Threads, shift: TopicShift, has_cue: HasCue
) -> ThreadEnd | None:
    """Why the thread that began at `begin` ends before the turn at `place`; None if it goes on."""
    idle = timedelta(minutes=rules.idle_minutes)
    turn, before = said[place], said[place - 1]
    if turn.at - before.at >= idle:
        return ThreadEnd.IDLE
    if _place(turn) != _place(before):
        return ThreadEnd.DOMAIN
    if place - begin >= rules.max_turns:
        return ThreadEnd.LIMIT
    if rules.boundary == "off" or not _may_open(turn):
        return None
    if has_cue(turn.text):
        return ThreadEnd.CUE
    follows = said[place + 1] if place + 1 < len(said) else None
    after = follows.text if follows is not None and follows.at - turn.at < idle else None
    if place - begin < SHORTEST:
        return None
    texts = [each.text for each in said[begin:place]]
    return ThreadEnd.TOPIC if shift(texts, turn.text, after) >= rules.threshold else None


def _place(turn: RecordedTurn) -> tuple[str | None, ...]:
    return (turn.project, turn.agent, turn.agent_role)


def _may_open(turn: RecordedTurn) -> bool:
    """Whether a topic can begin here: with an assistant, its user opens the topics; among people, anybody."""
    return turn.role != "assistant" or turn.speaker is not None
