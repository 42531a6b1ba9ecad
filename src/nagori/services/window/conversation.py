"""A conversation that keeps itself within its budget: add what is said, send what `messages` gives [C6].

    talk = memory.conversation(session="planning", budget=8000)
    talk.add({"role": "user", "content": "…"})
    client.messages.create(messages=talk.messages, …)
    talk.end()

The whole history stays in `history`; `messages` is a view of it. What arrives while it is being pruned (a
language model may be asked for a summary, which takes its time) stands at the end of the view. A message may
be filled in after it was added, as a streamed answer is: the next `add` notices, and so does `end`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from nagori.core.model import ALIVE, Filter, Memory, Recollection
from nagori.services.window.prune import PruneResult

Prune = Callable[[Sequence[Any], PruneResult | None], PruneResult]
Keep = Callable[[PruneResult], list[Memory]]
Recall = Callable[..., list[Recollection]]


class Conversation:
    """Messages of one session, in any format that `prune` reads."""

    def __init__(self, prune: Prune, keep: Keep, recall: Recall, history: Sequence[Any] = ()) -> None:
        self._prune, self._keep, self._recall = prune, keep, recall
        self._pruning, self._changing = Lock(), Lock()
        self.history: list[Any] = list(history)
        self.last: PruneResult | None = None  # what was done last time

    def add(self, *messages: Any) -> PruneResult:
        """Add what was said, and leave out what no longer fits; the report says what was done."""
        with self._changing:
            self.history.extend(messages)
        with self._pruning:  # one at a time; whoever waited prunes what came meanwhile
            with self._changing:
                history = list(self.history)
            done = self._prune(history, self.last)
            with self._changing:
                self.last = done
        return done

    def end(self) -> list[Memory]:
        """It is over: what is still in the window is remembered, too."""
        return self._keep(self.add())

    @property
    def messages(self) -> list[Any]:
        """What to send: the view as it was pruned last, and whatever was added since."""
        with self._changing:
            if self.last is None:
                return list(self.history)
            return [*self.last.messages, *self.history[self.last.plan.count :]]

    @property
    def report(self) -> dict[str, Any]:
        """The figures of the last time; empty before the first."""
        return self.last.report if self.last else {}

    def recall(
        self,
        query: str,
        k: int | None = None,
        *,
        filter: Filter = ALIVE,
        tokens: int | None = None,
        min_confidence: float | None = None,
        mark: bool = True,
    ) -> list[Recollection]:
        """What left the window, and everything else that is remembered, by what it is about."""
        return self._recall(query, k, filter=filter, tokens=tokens, min_confidence=min_confidence, mark=mark)
