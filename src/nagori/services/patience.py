"""How often a model failed on which memory, and what its last trouble was: a note in a space's folder.

Derived, like all but the journal: without it a memory waits a little longer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from functools import cached_property
from pathlib import Path

from nagori.core.bookkeeping import Space
from nagori.core.values import Value, fresh
from nagori.parts import Parts
from nagori.paths import private_dir, write_private

FILE = "model.json"
MOST = 50_000  # memories remembered as waiting


class Patience(Value, frozen=False):
    """`failed` counts by stage and memory; `trouble` is the last one, in words."""

    path: Path
    failed: dict[str, int] = fresh(dict)
    trouble: str = ""
    since: str = ""
    most: int = 0  # memories in one question that a slow model answered in time; 0: no trouble with that

    @classmethod
    def of(cls, parts: Parts, space: Space) -> Patience:
        return cls._read(private_dir(parts.journal.folder(space)) / FILE)

    @classmethod
    def _read(cls, path: Path) -> Patience:
        try:
            known = json.loads(path.read_bytes())
            failed = {str(name): int(count) for name, count in known["failed"].items()}
            return cls(path, failed, str(known["trouble"]), str(known["since"]), int(known.get("most", 0)))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls(path)

    @cached_property
    def _touched(self) -> set[str]:
        return set()

    _noted = False

    def count(self, stage: str, id: str) -> int:
        return self.failed.get(f"{stage}:{id}", 0)

    def fail(self, stage: str, ids: Iterable[str]) -> None:
        for id in ids:
            self.failed[f"{stage}:{id}"] = self.count(stage, id) + 1
            self._touched.add(f"{stage}:{id}")

    def done(self, stage: str, ids: Iterable[str]) -> None:
        for id in ids:
            self.failed.pop(f"{stage}:{id}", None)
            self._touched.add(f"{stage}:{id}")

    def note(self, trouble: str, now: datetime) -> None:
        """A trouble with the model itself; empty: it answers again."""
        self._noted = True
        if trouble != self.trouble:
            self.trouble, self.since = trouble, now.isoformat() if trouble else ""

    def size(self, wished: int) -> int:
        """How many memories to ask about at once."""
        return min(wished, self.most) if self.most else wished

    def too_slow(self, asked: int) -> None:
        """So many took too long: half of them the next time."""
        self.most = max(1, asked // 2)

    def in_time(self, wished: int) -> None:
        """All went well: twice as many the next time, up to what is wished."""
        self.most = 0 if 2 * self.most >= wished else 2 * self.most

    def save(self) -> None:
        """Write it down. Judging and the night may do so at once: each changes only what it has touched."""
        now = self._read(self.path)
        others = {name: count for name, count in now.failed.items() if name not in self._touched}
        self.failed = others | {name: self.failed[name] for name in self._touched if name in self.failed}
        if not self._noted:
            self.trouble, self.since = now.trouble, now.since
        while len(self.failed) > MOST:
            del self.failed[next(iter(self.failed))]
        said = {"failed": self.failed, "trouble": self.trouble, "since": self.since, "most": self.most}
        write_private(self.path, json.dumps(said).encode())
