"""Which model a space is searched with in SQLite, and how one model makes room for another.

Apart from searching: a recall needs none of this.
"""

from __future__ import annotations

import apsw

from nagori.stores import _search as search
from nagori.stores._rows import ask


def use(db: apsw.Connection, number: int, name: str, model: search.Model | None) -> bool:
    """Search with `model` from now on, if every memory has its vector."""
    sql = f"SELECT 1 FROM memory m WHERE m.space = ? AND {search.without_vector(model)} LIMIT 1"
    if ask(db, sql, (number,)):
        return False
    db.execute("UPDATE space SET model = ? WHERE id = ?", (name, number))
    return True


def counts(db: apsw.Connection, number: int | None, models: list[search.Model]) -> dict[str, int]:
    """How many vectors of each model a space has; none is left out."""
    sql = "SELECT count(*) FROM {} WHERE key BETWEEN ? AND ?"
    found = {model.name: ask(db, sql.format(model.vectors), search.keys(number))[0][0] for model in models}
    return {name: count for name, count in found.items() if count}


def drop(db: apsw.Connection, number: int, model: search.Model, limit: int) -> int:
    """Take away at most `limit` vectors of a model, unless the space is searched with it."""
    [(used,)] = ask(db, "SELECT model FROM space WHERE id = ?", (number,))
    if used == model.name:
        return 0
    some = f"SELECT key FROM {model.vectors} WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?"
    chosen = ask(db, f"SELECT min(key), max(key), count(*) FROM ({some})", (*search.keys(number), limit))
    low, high, count = chosen[0]
    if count:
        db.execute(f"DELETE FROM {model.vectors} WHERE key BETWEEN ? AND ?", (low, high))
        db.execute(f"DELETE FROM {model.bits} WHERE key BETWEEN ? AND ?", (low, high))
        db.execute("UPDATE model SET vectors = vectors - ? WHERE id = ?", (count, model.id))
    return int(count)
