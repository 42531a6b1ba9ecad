"""The source document's law as written: intensity times the category's coefficient to the power of days."""

from __future__ import annotations

from datetime import datetime, timedelta

from bench.forgetting import Forgetful
from bench.lives import Kept

from nagori.config import Config
from nagori.core.decay import coefficient_for
from nagori.language.appraisal import appraise


class Memory(Forgetful):
    def order(self, memory: Kept, at: datetime) -> float:
        felt = appraise(memory.fullest.trigger or memory.fullest.content)
        coefficient = coefficient_for(felt.category, felt.emotion.intensity, felt.kind, Config().retention)
        days = (at - (memory.recalled_at or memory.created)) / timedelta(days=1)
        return felt.emotion.intensity * coefficient ** max(0.0, days)
