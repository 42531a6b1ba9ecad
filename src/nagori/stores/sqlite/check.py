"""Check a SQLite store: whether tables agree and every row can be read."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from nagori.stores.sql import SELECT, SELECT_TURN, Model, all_models, ask, load, turns_of

AT_ONCE = 1_000


def faults(db: apsw.Connection) -> Iterator[str]:
    """A description of each fault."""
    broken = [text for (text,) in ask(db, "PRAGMA integrity_check(20)") if text != "ok"]
    if broken:
        yield from broken
        return
    for fault, sql in _questions(all_models(db)).items():
        count = len(ask(db, sql))
        if count:
            yield f"{count} {fault}"
    read_everything(db)


def _questions(models: list[Model]) -> dict[str, str]:
    """Queries that must return no rows."""
    questions = {
        "memories without words": "SELECT key FROM memory EXCEPT SELECT id FROM words_docsize",
        "words without a memory": "SELECT id FROM words_docsize EXCEPT SELECT key FROM memory",
        "memories without text": "SELECT key FROM memory EXCEPT SELECT key FROM text",
        "text without a memory": "SELECT key FROM text EXCEPT SELECT key FROM memory",
    }
    for model in models:
        every, size = f"SELECT key FROM {model.vectors}", 4 * model.dimension
        questions |= {
            f"vectors without a memory ({model.name})": f"{every} EXCEPT SELECT key FROM memory",
            f"vectors of another length ({model.name})": f"{every} WHERE length(v) <> {size:d}",
        }
        if model.center is not None:
            bits = f"{every} EXCEPT SELECT key FROM {model.bits}"
            questions[f"vectors without bits ({model.name})"] = bits
    return questions


def read_everything(db: apsw.Connection) -> None:
    """StoreDamaged if a memory or a turn cannot be read."""
    last = -1
    while rows := load(db, f"{SELECT} WHERE m.key > ? ORDER BY m.key LIMIT ?", (last, AT_ONCE)):
        last = rows[-1][0]
    row = -1
    while spots := ask(db, "SELECT rowid FROM turn WHERE rowid > ? ORDER BY rowid LIMIT ?", (row, AT_ONCE)):
        turns_of(ask(db, f"{SELECT_TURN} WHERE rowid BETWEEN ? AND ?", (row + 1, spots[-1][0])))
        row = spots[-1][0]
