"""Any memory may go."""

from __future__ import annotations

from datetime import datetime
from zlib import crc32

from bench.forgetting import Forgetful
from bench.lives import Kept


class Memory(Forgetful):
    def order(self, memory: Kept, at: datetime) -> int:
        return crc32(f"{memory.id} {at:%Y-%m-%d}".encode())
