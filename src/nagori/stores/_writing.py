"""How SQLite keeps memories: rows, texts, words, relations and the log, each in the commit of the others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import apsw

from nagori.core.bookkeeping import LogEntry
from nagori.core.model import Memory, Relation, micros
from nagori.core.selection import index_words
from nagori.stores import _search as search
from nagori.stores._rows import INSERT, SELECT, UPDATE, load, values_of

ADD_WORDS = "INSERT INTO words (rowid, tokens) VALUES (?, ?)"
# A contentless index forgets a row only when told exactly what it was.
FORGET_WORDS = "INSERT INTO words (words, rowid, tokens) VALUES ('delete', ?, ?)"


def rows(db: apsw.Connection, number: int | None, ids: Iterable[str]) -> list[tuple[int, Memory]]:
    sql = f"{SELECT} WHERE m.space = ? AND m.id IN (SELECT value FROM json_each(?))"
    return load(db, sql, (number, json.dumps(list(ids))))


def add(db: apsw.Connection, number: int, first: int, memories: Sequence[Memory]) -> int:
    """New memories with their texts and words; how many tokens they have."""
    keyed = list(enumerate(memories, search.keys(number)[0] | first))
    words = [index_words(memory) for memory in memories]
    rows = zip(keyed, words, strict=True)
    db.executemany(INSERT, [(key, number, *values_of(memory, len(w))) for (key, memory), w in rows])
    put_texts(db, keyed)
    db.executemany(ADD_WORDS, [(key, " ".join(w)) for (key, _), w in zip(keyed, words, strict=True)])
    return sum(map(len, words))


def change(db: apsw.Connection, models: Sequence[search.Model], key: int, old: Memory, memory: Memory) -> int:
    """A memory that is known already, as it is from now on; how many tokens it gained."""
    words = index_words(memory)
    same = (old.searchable, old.keywords) == (memory.searchable, memory.keywords)
    was = words if same else index_words(old)
    db.execute(UPDATE, (*values_of(memory, len(words)), key))
    if old.texts != memory.texts:
        db.execute("DELETE FROM text WHERE key = ?", (key,))
        put_texts(db, [(key, memory)])
    if not same:
        db.execute(FORGET_WORDS, (key, " ".join(was)))
        db.execute(ADD_WORDS, (key, " ".join(words)))
    for model in models:
        search.refresh_vector(db, model, key, memory)
    return len(words) - len(was)


def forget_words(db: apsw.Connection, number: int) -> None:
    others = db.execute("SELECT 1 FROM memory WHERE space <> ? LIMIT 1", (number,)).fetchone()
    if not others:
        db.execute("INSERT INTO words (words) VALUES ('delete-all')")
        return
    for key, old in load(db, f"{SELECT} WHERE m.space = ?", (number,)):
        db.execute(FORGET_WORDS, (key, " ".join(index_words(old))))


def put_texts(db: apsw.Connection, keyed: Sequence[tuple[int, Memory]]) -> None:
    db.executemany(
        "INSERT INTO text (key, level, trigger, content) VALUES (?, ?, ?, ?)",
        [
            (key, int(level), text.trigger, text.content)
            for key, memory in keyed
            for level, text in memory.texts.items()
        ],
    )


def put_links(db: apsw.Connection, number: int, links: Mapping[Relation, bool]) -> None:
    for relation, stands in links.items():
        row = (number, relation.source, relation.target, str(relation.type))
        if stands:
            db.execute("INSERT OR IGNORE INTO relation VALUES (?, ?, ?, ?)", row)
        else:
            db.execute("DELETE FROM relation WHERE space = ? AND source = ? AND target = ? AND type = ?", row)


def put_log(db: apsw.Connection, number: int, log: Sequence[LogEntry]) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO log (space, seq, at, type, memory, segment, offset)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (number, entry.seq, micros(entry.at), entry.type, id, entry.place.segment, entry.place.offset)
            for entry in log
            for id in entry.memories
        ],
    )
