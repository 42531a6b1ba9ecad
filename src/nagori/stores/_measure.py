"""How SQLite looks closely at a whole space: kinds, tiers, characters. Two scans, and no memory is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import apsw

from nagori.core.bookkeeping import Measures
from nagori.core.life import Tier, Tiers
from nagori.core.model import Scope, micros
from nagori.stores._rows import ask
from nagori.stores._search import seen_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Values = tuple[Any, ...]

DAY = timedelta(days=1) // timedelta(microseconds=1)
# What `decay.memory_days` says: the archive stands still, and nothing is younger than new.
AGE = "max(0, coalesce(min(m.archived_at, ?1), ?1) - m.anchor)"
TIER = f"CASE WHEN {AGE} < ?2 THEN '{Tier.HOT}' WHEN {AGE} < ?3 THEN '{Tier.WARM}' ELSE '{Tier.COLD}' END"
# What `Memory.text` says: the deepest text at or above the level, and never deeper than a trace.
SHOWN = """(SELECT length(t.trigger) + length(t.content) FROM text t
            WHERE t.key = m.key AND t.level <= min(m.level, 3) ORDER BY t.level DESC LIMIT 1)"""


def measure(db: apsw.Connection, scope: Scope, number: int | None, now: datetime, tiers: Tiers) -> Measures:
    where, values = seen_by(scope, number)
    alive = f"{where} AND m.forgotten_at IS NULL"
    edges = (micros(now), tiers.hot_days * DAY, tiers.warm_days * DAY)
    sums = f"""
        SELECT total({SHOWN}), total(length(f.trigger) + length(f.content))
        FROM memory m JOIN text f ON f.key = m.key AND f.level = 1 WHERE m.level > 1 AND {alive}"""
    [(shown, whole)] = ask(db, sums, values)
    return Measures(
        kinds=_groups(db, "m.kind", alive, (), values),
        tiers=_groups(db, TIER, alive, edges, values),
        shown=int(shown),
        whole=int(whole),
    )


def _groups(db: apsw.Connection, by: str, where: str, first: Values, values: Values) -> Mapping[str, int]:
    """How many of each; the values of `where` come after those of `by`."""
    sql = f"SELECT {by}, count(*) FROM memory m WHERE {where} GROUP BY 1 ORDER BY 1"
    return dict(ask(db, sql, (*first, *values)))
