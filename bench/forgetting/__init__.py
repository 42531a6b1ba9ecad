"""Other ways to forget, each keeping as much text as nagori keeps: adapters for the scorer of lives.

    by_chance.py any memory may go
    oldest.py    what was told first goes first
    literal.py   the source document's law as it is written: a feeling's intensity, times the category's daily
                 coefficient; how much a statement matters counts for nothing

They form and recall as nagori does and differ only in what is gone: every night memories are forgotten until
no more characters are held than by nagori itself, which lives the same life beside them.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from bench.lives import Kept, Memory


class Forgetful(Memory):
    """Forgets in an order of its own."""

    def __init__(self, folder: str, timezone: str) -> None:
        super().__init__(str(Path(folder) / "own"), timezone)
        self.beside = Memory(str(Path(folder) / "beside"), timezone)

    def close(self) -> None:
        self.beside.close()
        super().close()

    def tell(self, at: datetime, session: str, project: str | None, user: str, assistant: str) -> None:
        super().tell(at, session, project, user, assistant)
        self.beside.tell(at, session, project, user, assistant)

    def end_session(self, at: datetime, session: str, project: str | None) -> None:
        super().end_session(at, session, project)
        self.beside.end_session(at, session, project)

    def night(self, at: datetime) -> None:
        self.beside.night(at)
        self._at(at)
        most, held = self.beside.size(), self._all()
        over = sum(len(each.text.whole) for each in held) - most
        for each in sorted(held, key=lambda one: self.order(one, at)):
            if over <= 0:
                break
            over -= len(each.text.whole)
            self.memory.forget(each.id)

    def order(self, memory: Kept, at: datetime) -> float:
        """What goes first has the least."""
        raise NotImplementedError("an order of forgetting")
