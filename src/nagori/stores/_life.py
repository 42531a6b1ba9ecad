"""What SQLite tells the cycle: counts, what is due, and the weakest of a level.

Strength is computed inside the query, from the same numbers as `core.decay` and to the same result, so that a
night reads a few thousand rows of a million and not all of them. A space is a range of keys, walked in the
order in which its rows lie: by an index of the space it would be a jump for every memory.
"""

from __future__ import annotations

from datetime import datetime

import apsw

from nagori.core.cycle import DAY, Census, LifeRow, Rules
from nagori.core.decay import DAYS_A_WEEK, FULL_SCALE
from nagori.core.model import Level, micros
from nagori.stores._search import keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FULL = "EXISTS (SELECT 1 FROM text t WHERE t.key = m.key AND t.level = 1)"
_ROW = (
    "m.id, m.version, m.level, m.created, m.anchor, m.intensity, m.coefficient, m.recalls, m.protected,"
    " m.recalled_at, m.strengthened_at, m.archived_at, m.keep_until, m.revival_at"
)
_ALIVE = "m.key BETWEEN :first AND :last AND m.forgotten_at IS NULL"


def census(db: apsw.Connection, number: int | None) -> Census:
    counted = ", ".join(f"sum(m.level = {level:d} AND NOT m.protected)" for level in Level)
    sql = f"SELECT sum(m.protected), {counted} FROM memory m WHERE {_ALIVE}"
    rows: list[Any] = db.execute(sql, _space(number)).fetchall()
    protected, *counts = rows[0]
    return Census({level: n for level, n in zip(Level, counts, strict=True) if n}, protected or 0)


def _space(number: int | None) -> dict[str, Any]:
    return dict(zip(("first", "last"), keys(number), strict=True))


def due(db: apsw.Connection, number: int | None, rules: Rules, now: datetime) -> list[LifeRow]:
    strength, values = _strength(rules, now)
    levels = rules.levels
    archive = rules.archive
    values |= {
        **_space(number),
        "full": levels.level1_threshold,
        "summary": levels.level2_threshold,
        "trace": levels.level3_threshold,
        "grace": values["now"] - int(archive.grace_days * DAY),
        "over": values["now"] - int(archive.retention_days * DAY)
        if archive.auto_delete_enabled
        else -(2**62),
    }
    limit = "CASE m.level WHEN 1 THEN :full WHEN 2 THEN :summary ELSE :trace END"
    sql = f"""
        SELECT {_ROW}, m.level < 4 OR {_FULL} FROM memory m WHERE {_ALIVE} AND (
            (m.level < 4 AND NOT m.protected AND {strength} <= {limit})
            OR (m.recalled_at IS NOT NULL
                AND (m.strengthened_at IS NULL OR m.recalled_at > m.strengthened_at) AND m.level < 4)
            OR (m.level = 4 AND m.revival_at <= :now)
            OR (m.level = 4 AND NOT m.protected AND m.revival_at IS NULL
                AND (m.archived_at < :over OR (m.archived_at < :grace AND {_FULL}))))"""
    return [LifeRow(*row) for row in db.execute(sql, values)]


def weakest(
    db: apsw.Connection, number: int | None, level: Level, n: int, rules: Rules, now: datetime
) -> list[LifeRow]:
    strength, values = _strength(rules, now)
    sql = f"""
        SELECT {_ROW}, 1 FROM memory m WHERE {_ALIVE} AND m.level = :level AND NOT m.protected
        ORDER BY {strength}, m.created, m.recalls, m.id LIMIT :n"""
    rows = db.execute(sql, values | _space(number) | {"level": int(level), "n": n}).fetchall()
    return [LifeRow(*row) for row in rows]


def _strength(rules: Rules, now: datetime) -> tuple[str, dict[str, Any]]:
    """`core.decay.Curve.at` as SQL."""
    values: dict[str, Any] = {"now": micros(now), "top": FULL_SCALE}
    if rules.retention.law == "emotional":
        start, rate, values["period"] = "m.intensity", "min(m.coefficient, 1.0)", float(DAY)
    else:
        weekly = rules.weekly
        values |= {"birth": weekly.birth, "boost": weekly.boost, "rate": min(weekly.decay, 1.0)}
        values["period"] = DAY * DAYS_A_WEEK
        added = ":birth + :boost * m.recalls"
        multiplied = ":birth * (1.0 + :boost * m.recalls)"
        start = f":top * ({multiplied if weekly.boost_mode == 'multiplicative' else added})"
        rate = ":rate"
    return f"min(:top, {start} * pow({rate}, max(0, :now - m.anchor) / :period))", values
