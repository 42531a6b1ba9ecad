"""Cycle queries and statistics over all memories of an owner.

A recall does not load this module. Retention is computed inside the query, with the same formula as
`core.decay`, so a cycle reads a few thousand rows of a million. An owner is a range of keys and is scanned in
storage order; an index would cost a jump for every memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from nagori.core.cycle import DAY, Census, CycleRules, LifeRow
from nagori.core.decay import DAYS_A_WEEK, FULL_SCALE
from nagori.core.levels import Tier, Tiers
from nagori.core.model import Level, to_micros
from nagori.core.storage_types import Counts, Measures
from nagori.stores.sql_rows import (
    LIFE_TYPES,
    SQLITE,
    Dialect,
    Selection,
    ask,
    filter_out_empty,
    keys,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nagori.stores.sql_rows import Condition

_FULL = "EXISTS (SELECT 1 FROM text t WHERE t.key = m.key AND t.level = 1)"
_ROW = (
    "m.id, m.version, m.level, m.created, m.anchor, m.intensity, m.coefficient, m.recalls, m.protected,"
    " m.recalled_at, m.reinforced_at, m.archived_at, m.keep_until, m.revival_at, m.forgotten_at"
)
_OWNED = "m.key BETWEEN :first AND :last"
_ALIVE = f"{_OWNED} AND m.forgotten_at IS NULL"


# --- for a cycle ----------------------------------------------------------------------------------


def census(db: Any, number: int | None) -> Census:
    counted = ", ".join(f"count(*) FILTER (WHERE m.level = {level:d} AND NOT m.protected)" for level in Level)
    sql = f"SELECT count(*) FILTER (WHERE m.protected), {counted} FROM memory m WHERE {_ALIVE}"
    rows: list[Any] = db.execute(sql, _span(number)).fetchall()
    protected, *counts = rows[0]
    return Census({level: n for level, n in zip(Level, counts, strict=True) if n}, protected)


def _span(number: int | None) -> dict[str, Any]:
    return dict(zip(("first", "last"), keys(number), strict=True))


def due(
    db: Any, number: int | None, rules: CycleRules, now: datetime, dialect: Dialect = SQLITE
) -> list[LifeRow]:
    """All rows that may need a step by themselves."""
    strength, values = _strength(rules, now, dialect)
    levels, archive = rules.thresholds, rules.archive
    retained = values["now"] - int(archive.retention_days * DAY)
    values |= {
        **_span(number),
        "full": levels.level1_threshold,
        "summary": levels.level2_threshold,
        "trace": levels.level3_threshold,
        "grace": values["now"] - int(archive.grace_days * DAY),
        "over": retained if archive.auto_delete_enabled else -(2**62),
    }
    limit = "CASE m.level WHEN 1 THEN :full WHEN 2 THEN :summary ELSE :trace END"
    sql = f"""
        SELECT {_ROW}, m.level < 4 OR {_FULL} FROM memory m WHERE {_OWNED} AND (m.forgotten_at < :grace
            OR m.forgotten_at IS NULL AND (
            (m.level < 4 AND NOT m.protected AND {strength} <= {limit})
            OR (m.recalled_at IS NOT NULL
                AND (m.reinforced_at IS NULL OR m.recalled_at > m.reinforced_at) AND m.level < 4)
            OR (m.level = 4 AND m.revival_at <= :now)
            OR (m.level = 4 AND NOT m.protected AND m.revival_at IS NULL
                AND (m.archived_at < :over OR (m.archived_at < :grace AND {_FULL})))))"""
    return _life_rows(db.execute(sql, values).fetchall())


def weakest(
    db: Any,
    number: int | None,
    level: Level,
    n: int,
    rules: CycleRules,
    now: datetime,
    dialect: Dialect = SQLITE,
) -> list[LifeRow]:
    """The n weakest unprotected memories of a level."""
    strength, values = _strength(rules, now, dialect)
    sql = f"""
        SELECT {_ROW}, 1 FROM memory m WHERE {_ALIVE} AND m.level = :level AND NOT m.protected
        ORDER BY {strength}, m.created, m.recalls, m.id LIMIT :n"""
    return _life_rows(db.execute(sql, values | _span(number) | {"level": int(level), "n": n}).fetchall())


def _life_rows(rows: Sequence[Any]) -> list[LifeRow]:
    LIFE_TYPES.check(rows)
    return [LifeRow(*row) for row in rows]


def _strength(rules: CycleRules, now: datetime, dialect: Dialect) -> tuple[str, dict[str, Any]]:
    """`core.decay.Curve.at` as SQL."""
    least, greatest, power = dialect.least, dialect.greatest, dialect.power
    values: dict[str, Any] = {"now": to_micros(now), "top": FULL_SCALE}
    if rules.retention.law == "emotional":
        start, rate, values["period"] = "m.intensity", f"{least}(m.coefficient, 1.0)", float(DAY)
    else:
        weekly = rules.weekly
        values |= {"birth": weekly.initial_score, "boost": weekly.boost, "rate": min(weekly.decay, 1.0)}
        values["period"] = DAY * DAYS_A_WEEK
        added = ":birth + :boost * m.recalls"
        multiplied = ":birth * (1.0 + :boost * m.recalls)"
        start = f":top * ({multiplied if weekly.boost_mode == 'multiplicative' else added})"
        rate = ":rate"
    return f"{least}(:top, {start} * {power}({rate}, {greatest}(0, :now - m.anchor) / :period))", values


# --- statistics -----------------------------------------------------------------------------------


def count(db: Any, selection: Selection, missing: str) -> Counts:
    """Counts, in one scan; `missing` is SQL for: without a vector."""
    seen, values = _scanned(selection)
    alive = "m.forgotten_at IS NULL"
    counted = (
        *(f"m.level = {level:d}" for level in Level),
        "m.protected",
        "m.superseded_by IS NOT NULL",
        missing,
    )
    sums = ", ".join(f"count(*) FILTER (WHERE {alive} AND {each})" for each in counted)
    sql = f"SELECT count(*) FILTER (WHERE m.forgotten_at IS NOT NULL), {sums} FROM memory m WHERE {seen}"
    [(forgotten, *levels, protected, superseded, unembedded)] = ask(db, sql, values)
    return Counts(
        levels={int(level): n for level, n in zip(Level, levels, strict=True) if n},
        protected=protected,
        forgotten=forgotten,
        superseded=superseded,
        unembedded=unembedded,
    )


def _scanned(selection: Selection) -> Condition:
    """The rows that the scope may see, found in storage order: an index of the owner would cost a jump for
    every memory."""
    visible, values = selection.visible()
    return " AND ".join(filter_out_empty("m.key BETWEEN ? AND ?", visible)), (
        *keys(selection.number),
        *values,
    )


def measure(db: Any, selection: Selection, now: datetime, tiers: Tiers) -> Measures:
    """Kinds, tiers and characters, in a few scans."""
    where, values = _scanned(selection)
    alive = f"{where} AND m.forgotten_at IS NULL"
    least, greatest = selection.dialect.least, selection.dialect.greatest
    # Same as `Memory.text`: the shortest text at or above the level, at most a trace.
    shown = f"""(SELECT length(t.trigger) + length(t.content) FROM text t
        WHERE t.key = m.key AND t.level <= {least}(m.level, 3) ORDER BY t.level DESC LIMIT 1)"""
    sums = f"""
        SELECT coalesce(sum({shown}), 0), coalesce(sum(length(f.trigger) + length(f.content)), 0)
        FROM memory m JOIN text f ON f.key = m.key AND f.level = 1 WHERE m.level > 1 AND {alive}"""
    [(short, whole)] = ask(db, sums, values)
    kinds = f"SELECT m.kind, count(*) FROM memory m WHERE {alive} GROUP BY 1 ORDER BY 1"
    # Same as `decay.memory_days`: the archive is frozen, and no age is negative.
    ages = f"""
        SELECT {greatest}(0, coalesce({least}(m.archived_at, p.now), p.now) - m.anchor) AS age
        FROM memory m CROSS JOIN (SELECT ? AS now) p WHERE {alive}"""
    by_tier = f"""
        SELECT CASE WHEN a.age < ? THEN '{Tier.HOT}' WHEN a.age < ? THEN '{Tier.WARM}' ELSE '{Tier.COLD}' END,
            count(*) FROM ({ages}) a GROUP BY 1 ORDER BY 1"""
    edges = (tiers.hot_days * DAY, tiers.warm_days * DAY, to_micros(now))
    return Measures(
        kinds=dict(ask(db, kinds, values)),
        tiers=dict(ask(db, by_tier, (*edges, *values))),
        shown=int(short),
        whole=int(whole),
    )
