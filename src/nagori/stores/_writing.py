"""How SQLite keeps memories: rows, texts, words, relations and the log, each in the commit of the others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import apsw

from nagori.core.bookkeeping import LogEntry
from nagori.core.model import Memory, Relation, micros
from nagori.core.selection import index_words
from nagori.stores import _search as search
from nagori.stores._rows import INSERT, SELECT, changed, columns_of, load, update, values_at, values_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Known = tuple[int, Memory]

ADD_WORDS = "INSERT INTO words (rowid, tokens) VALUES (?, ?)"
# A contentless index forgets a row only when told exactly what it was.
FORGET_WORDS = "INSERT INTO words (words, rowid, tokens) VALUES ('delete', ?, ?)"


PUT_TEXT = "INSERT OR REPLACE INTO text (key, level, trigger, content) VALUES (?, ?, ?, ?)"
SWEEP_WORDS = "INSERT INTO words (words, rank) VALUES ('secure-delete', ?)"
SPOKEN = frozenset(("texts", "level", "source", "keywords"))  # what its words hang on
SEEN = frozenset(("level", "forgotten_at", "project", "agent", "role", "privacy"))  # beside the bits


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


def change(
    db: apsw.Connection, models: Sequence[search.Model], changes: Sequence[tuple[int, Memory, Memory]]
) -> int:
    """Memories that are known already (key, old, new), as they are from now on; how many tokens more."""
    gained, told = 0, Told()
    for key, old, memory in changes:
        gained += told.take(key, old, memory)
    told.write(db)
    for model in models:
        search.refresh_vectors(db, model, told.moved)
    return gained


class Told:
    """Changes of many memories, sorted by the statements that write them."""

    def __init__(self) -> None:
        self.updates: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
        self.gone: list[tuple[int, int]] = []
        self.texts: list[tuple[int, int, str, str]] = []
        self.kept_words: list[tuple[int, str, str]] = []  # what was said stands in the memory's other texts
        self.lost_words: list[tuple[int, str, str]] = []
        self.moved: list[int] = []  # of which vectors must hear

    def take(self, key: int, old: Memory, memory: Memory) -> int:
        """How many tokens it gained."""
        fields = changed(old, memory)
        spoken = not SPOKEN.isdisjoint(fields) and _says(old) != _says(memory)
        if "texts" in fields:
            self._take_texts(key, old, memory)
        if spoken or not SEEN.isdisjoint(fields):
            self.moved.append(key)
        tokens, gained = self._take_words(key, old, memory) if spoken else (None, 0)
        columns = columns_of(fields, spoken)
        if columns:
            self.updates.setdefault(columns, []).append((*values_at(columns, memory, tokens), key))
        return gained

    def _take_words(self, key: int, old: Memory, memory: Memory) -> tuple[int, int]:
        was, words = index_words(old), index_words(memory)
        kept = old.text in memory.texts.values() and (old.keywords, old.source) == (
            memory.keywords,
            memory.source,
        )
        (self.kept_words if kept else self.lost_words).append((key, " ".join(was), " ".join(words)))
        return len(words), len(words) - len(was)

    def _take_texts(self, key: int, old: Memory, memory: Memory) -> None:
        self.gone += [(key, int(level)) for level in old.texts.keys() - memory.texts.keys()]
        for level, text in memory.texts.items():
            if old.texts.get(level) != text:
                self.texts.append((key, int(level), text.trigger, text.content))

    def write(self, db: apsw.Connection) -> None:
        for columns, values in self.updates.items():
            db.executemany(update(columns), values)
        db.executemany("DELETE FROM text WHERE key = ? AND level = ?", self.gone)
        db.executemany(PUT_TEXT, self.texts)
        if self.kept_words:
            # Not overwritten in the index yet, for that is the most work of a night: the words are still
            # told in full beside it. `compact` takes them out.
            db.execute(SWEEP_WORDS, (0,))
            _exchange_words(db, self.kept_words)
            db.execute(SWEEP_WORDS, (1,))
        _exchange_words(db, self.lost_words)


def _says(memory: Memory) -> tuple[str, tuple[str, ...]]:
    return memory.searchable, memory.keywords


def _exchange_words(db: apsw.Connection, words: Sequence[tuple[int, str, str]]) -> None:
    for key, was, now in words:
        db.execute(FORGET_WORDS, (key, was))
        db.execute(ADD_WORDS, (key, now))


def forget_words(db: apsw.Connection, number: int) -> None:
    others = db.execute("SELECT 1 FROM memory WHERE space <> ? LIMIT 1", (number,)).fetchone()
    if not others:
        db.execute("INSERT INTO words (words) VALUES ('delete-all')")
        return
    for key, old in load(db, f"{SELECT} WHERE m.space = ?", (number,)):
        db.execute(FORGET_WORDS, (key, " ".join(index_words(old))))


def put_texts(db: apsw.Connection, keyed: Sequence[tuple[int, Memory]]) -> None:
    db.executemany(
        PUT_TEXT,
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
