"""What was told first goes first."""

from __future__ import annotations

from datetime import datetime

from bench.forgetting import Forgetful
from bench.lives import Kept


class Memory(Forgetful):
    def order(self, memory: Kept, at: datetime) -> float:
        return memory.created.timestamp()
