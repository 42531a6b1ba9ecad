"""Health of a language model: failures per memory, and the last error, as state in the store."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import cached_property

from nagori.core.events import Event
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, default_factory
from nagori.errors import Notice, StoreError
from nagori.runtime import Runtime

KEY = "model_health"
MOST = 50_000  # maximum number of memories tracked


class ModelHealth(Value, frozen=False):
    """`failed` counts failures by stage and memory; `trouble` is the last error."""

    runtime: Runtime
    owner: Owner
    failed: dict[str, int] = default_factory(dict)
    trouble: Notice | None = None
    since: str = ""
    most: int = 0  # batch size that a slow model can handle; 0: no limit

    @classmethod
    def of(cls, runtime: Runtime, owner: Owner) -> ModelHealth:
        try:
            known = runtime.store.state(owner, KEY)
            failed = {str(name): int(count) for name, count in known["failed"].items()}
            trouble = Notice.from_record(known["trouble"]) if known["trouble"] else None
            return cls(runtime, owner, failed, trouble, str(known["since"]), int(known.get("most", 0)))
        except (StoreError, ValueError, KeyError, TypeError, AttributeError):
            return cls(runtime, owner)

    @cached_property
    def _touched_ids(self) -> set[str]:
        return set()

    _noted = False

    def count(self, stage: str, id: str) -> int:
        return self.failed.get(f"{stage}:{id}", 0)

    def fail(self, stage: str, ids: Iterable[str]) -> None:
        for id in ids:
            self.failed[f"{stage}:{id}"] = self.count(stage, id) + 1
            self._touched_ids.add(f"{stage}:{id}")

    def clear(self, stage: str, ids: Iterable[str]) -> None:
        for id in ids:
            self.failed.pop(f"{stage}:{id}", None)
            self._touched_ids.add(f"{stage}:{id}")

    def note(self, trouble: Notice | None, now: datetime) -> None:
        """Record an error of the model itself; empty: it answers again."""
        self._noted = True
        if trouble != self.trouble:
            self.trouble, self.since = trouble, now.isoformat() if trouble else ""

    def size(self, wished: int) -> int:
        """The batch size to use."""
        return min(wished, self.most) if self.most else wished

    def too_slow(self, asked: int) -> None:
        """A timeout: halve the batch size."""
        self.most = max(1, asked // 2)

    def in_time(self, wished: int) -> None:
        """Success: double the batch size, up to `wished`."""
        self.most = 0 if 2 * self.most >= wished else 2 * self.most

    def save(self) -> None:
        """Save the state. Appraisal and cycle may save at the same time: each writes only its own changes."""
        self.runtime.ledger.write(self.owner, self._decide)

    def _decide(self) -> list[Event]:
        now = ModelHealth.of(self.runtime, self.owner)
        failed = {name: count for name, count in now.failed.items() if name not in self._touched_ids}
        failed |= {name: self.failed[name] for name in sorted(self._touched_ids) if name in self.failed}
        last = self if self._noted else now
        while len(failed) > MOST:
            del failed[next(iter(failed))]
        value: dict[str, object] | None
        trouble = last.trouble.to_record() if last.trouble else None
        value = {"failed": failed, "trouble": trouble, "since": last.since, "most": self.most}
        if not any(value.values()):
            value = None
        if value == self.runtime.store.state(self.owner, KEY):
            return []
        at = self.runtime.clock.now()
        return [Event("state_changed", at, {"key": KEY, "value": value}, by="model")]
