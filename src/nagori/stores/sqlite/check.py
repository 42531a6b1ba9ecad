"""Check a SQLite store: whether tables agree and every row can be read."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from nagori.errors import Notice
from nagori.stores.sql_rows import (
    SELECT,
    SELECT_ITEM,
    SELECT_TURN,
    Model,
    all_models,
    ask,
    items_of,
    load,
    turns_of,
)

AT_ONCE = 1_000


def faults(db: apsw.Connection) -> Iterator[Notice]:
    """A description of each fault."""
    broken = [text for (text,) in ask(db, "PRAGMA integrity_check(20)") if text != "ok"]
    if broken:
        yield from (Notice("check.integrity", text=text) for text in broken)
        return
    for fault, sql in _questions(all_models(db)):
        count = len(ask(db, sql))
        if count:
            yield Notice(fault.id, n=count, **fault.values)
    read_everything(db)


def _questions(models: list[Model]) -> Iterator[tuple[Notice, str]]:
    """Queries that must return no rows."""
    yield from {
        Notice("check.memories_without_words"): "SELECT key FROM memory EXCEPT SELECT id FROM words_docsize",
        # row 0 belongs to nobody (writes.NOBODYS_ROW)
        Notice("check.words_without_memory"): "SELECT id FROM words_docsize WHERE id > 0"
        " EXCEPT SELECT key FROM memory",
        Notice("check.memories_without_text"): "SELECT key FROM memory EXCEPT SELECT key FROM text",
        Notice("check.text_without_memory"): "SELECT key FROM text EXCEPT SELECT key FROM memory",
    }.items()
    for model in models:
        every, size, name = f"SELECT key FROM {model.vectors}", 4 * model.dimension, model.name
        lost = Notice("check.vectors_without_memory", model=name)
        yield lost, f"{every} EXCEPT SELECT key FROM memory"
        yield Notice("check.vectors_of_other_length", model=name), f"{every} WHERE length(v) <> {size:d}"
        if model.center is not None:
            unindexed = Notice("check.vectors_without_bits", model=name)
            yield unindexed, f"{every} EXCEPT SELECT key FROM {model.bits}"


def read_everything(db: apsw.Connection) -> None:
    """StoreDamaged if a memory, a turn or an item cannot be read."""
    last = -1
    while rows := load(db, f"{SELECT} WHERE m.key > ? ORDER BY m.key LIMIT ?", (last, AT_ONCE)):
        last = rows[-1][0]
    row = -1
    while spots := ask(db, "SELECT rowid FROM turn WHERE rowid > ? ORDER BY rowid LIMIT ?", (row, AT_ONCE)):
        turns_of(ask(db, f"{SELECT_TURN} WHERE rowid BETWEEN ? AND ?", (row + 1, spots[-1][0])))
        row = spots[-1][0]
    row = -1
    while spots := ask(db, "SELECT rowid FROM item WHERE rowid > ? ORDER BY rowid LIMIT ?", (row, AT_ONCE)):
        items_of(ask(db, f"{SELECT_ITEM} WHERE rowid BETWEEN ? AND ?", (row + 1, spots[-1][0])))
        row = spots[-1][0]
