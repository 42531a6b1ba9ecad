"""A conversation that stays within its budget: add each message, send what `messages` returns [C6].

    talk = memory.conversation(session="planning", budget=8000)
    talk.add({"role": "user", "content": "…"})
    client.messages.create(messages=talk.messages, …)
    talk.end()

`history` keeps all messages; `messages` is the pruned view. Pruning may wait for a language model; messages
that arrive meanwhile stand at the end of the view. A message may change after it was added, such as a
streamed answer: the next `add` or `end` reads it again.
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
        """Add messages, and prune the view if it is too long. The result reports what was done."""
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
        """End the conversation, and remember the messages that are still in the window."""
        return self._keep(self.add())

    @property
    def messages(self) -> list[Any]:
        """The messages to send: the last pruned view, and the messages that were added since."""
        with self._changing:
            if self.last is None:
                return list(self.history)
            return [*self.last.messages, *self.history[self.last.plan.count :]]

    @property
    def report(self) -> dict[str, Any]:
        """The figures of the last `add`; empty before the first."""
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
        """Recall memories that match a query, including those of messages that left the window."""
        return self._recall(query, k, filter=filter, tokens=tokens, min_confidence=min_confidence, mark=mark)
