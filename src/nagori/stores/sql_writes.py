"""Writes that all SQL engines share, written once: rows and texts of memories, and everything beside them.

Words and vectors are indexed by each engine in its own way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from nagori.core.model import Memory, to_micros
from nagori.core.storage import Batch, Owner
from nagori.language.tokenizer import index_words
from nagori.stores.sql import (
    INSERT,
    INSERT_TURN,
    SQLITE,
    Dialect,
    ask,
    columns_of,
    differing_fields,
    item_values,
    turn_values,
    update,
    values_at,
    values_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Rows = Iterable[tuple[Any, ...]]

WORD_FIELDS = frozenset(("texts", "level", "source", "keywords"))  # they determine its words
PUT_TEXT = """
    INSERT INTO text (key, level, trigger, content) VALUES (?, ?, ?, ?)
    ON CONFLICT (key, level) DO UPDATE SET trigger = excluded.trigger, content = excluded.content"""
PUT_STATE = """
    INSERT INTO state (owner, key, value, plain) VALUES (?, ?, ?, ?)
    ON CONFLICT (owner, key) DO UPDATE SET value = excluded.value, plain = excluded.plain"""
PUT_LEASE = """
    INSERT INTO lease (tenant, "user", work, holder, until) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (tenant, "user", work) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE lease.holder = excluded.holder OR lease.until <= ? RETURNING holder"""
MOVE = """
    UPDATE owner SET seq = ?, mark = ?, journal = ?, next = next + ?, tokens = tokens + ?,
        erased = erased + ? WHERE id = ?"""


def put_rows(db: Any, statement: str, rows: Rows) -> None:
    """Run a statement for each row."""
    given = list(rows)
    if given:
        db.executemany(statement, given)


# --- memories -------------------------------------------------------------------------------------


def add_rows(
    db: Any, number: int, keyed: Sequence[tuple[int, Memory]], words: Mapping[int, Sequence[str]]
) -> None:
    """Add memories with their texts; the number of their words is stored with them."""
    rows = ((key, number, *values_of(memory, len(words[key]))) for key, memory in keyed)
    put_rows(db, INSERT, rows)
    put_rows(db, PUT_TEXT, (row for key, memory in keyed for row in _text_rows(key, memory)))


class MemoryChanges:
    """Changes of existing memories (key, old, new), grouped by statement."""

    def __init__(self, changes: Iterable[tuple[int, Memory, Memory]]) -> None:
        self.fields: dict[int, frozenset[str]] = {}  # that differ
        self.former: dict[int, list[str]] = {}  # words of memories whose words change
        self.words: dict[int, list[str]] = {}
        self._updates: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
        self._gone: list[tuple[int, int]] = []
        self._texts: list[tuple[Any, ...]] = []
        for key, old, memory in changes:
            self._add(key, old, memory)

    def _add(self, key: int, old: Memory, memory: Memory) -> None:
        fields = self.fields[key] = differing_fields(old, memory)
        tokens = None
        if not WORD_FIELDS.isdisjoint(fields) and _words_of(old) != _words_of(memory):
            self.former[key], self.words[key] = index_words(old), index_words(memory)
            tokens = len(self.words[key])
        if "texts" in fields:
            self._gone += [(key, int(level)) for level in old.texts.keys() - memory.texts.keys()]
            self._texts += _text_rows(key, memory, old)
        if columns := columns_of(fields, tokens is not None):
            self._updates.setdefault(columns, []).append((*values_at(columns, memory, tokens), key))

    @property
    def gained(self) -> int:
        """The change in tokens."""
        return sum(map(len, self.words.values())) - sum(map(len, self.former.values()))

    def write(self, db: Any, dialect: Dialect = SQLITE) -> None:
        """Write rows and texts; what the former words mentioned is removed."""
        for columns, rows in self._updates.items():
            put_rows(db, update(columns), rows)
        put_rows(db, "DELETE FROM text WHERE key = ? AND level = ?", self._gone)
        put_rows(db, PUT_TEXT, self._texts)
        forget_mentions(db, list(self.words), dialect)


def forget_mentions(db: Any, keys: Sequence[int], dialect: Dialect) -> None:
    """Remove the mentions of memories whose words are gone, and concepts that nothing else mentions."""
    if not keys:
        return
    among, these = dialect.among.format("key"), dialect.pack(list(keys))
    counts = ask(db, f"SELECT concept, count(*) FROM mention WHERE {among} GROUP BY concept", (these,))
    if counts:
        db.execute(f"DELETE FROM mention WHERE {among}", (these,))
        lower = "UPDATE concept SET memories = memories - ? WHERE id = ?"
        put_rows(db, lower, sorted(((count, id) for id, count in counts), key=lambda row: row[1]))
        ids = dialect.pack([id for id, _ in counts])
        db.execute(f"DELETE FROM concept WHERE memories <= 0 AND {dialect.among.format('id')}", (ids,))
    db.execute(f"DELETE FROM mention_done WHERE {among}", (these,))


def _text_rows(key: int, memory: Memory, old: Memory | None = None) -> Iterator[tuple[Any, ...]]:
    for level, text in memory.texts.items():
        if old is None or old.texts.get(level) != text:
            yield key, int(level), text.trigger, text.content


def _words_of(memory: Memory) -> tuple[str, tuple[str, ...]]:
    return memory.searchable, memory.keywords


# --- beside the memories --------------------------------------------------------------------------


def put_beside(db: Any, number: int, batch: Batch) -> None:
    """Relations, log, turns, origins, state and items of a batch."""
    rows = {link: (number, link.source, link.target, str(link.type)) for link in batch.links}
    put = "INSERT INTO relation VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
    cut = "DELETE FROM relation WHERE owner = ? AND source = ? AND target = ? AND type = ?"
    put_rows(db, put, (rows[link] for link, stands in batch.links.items() if stands))
    put_rows(db, cut, (rows[link] for link, stands in batch.links.items() if not stands))
    log = "INSERT INTO log (owner, seq, at, type, memory) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
    put_rows(db, log, ((number, e.seq, to_micros(e.at), e.type, id) for e in batch.log for id in e.memories))
    put_rows(db, INSERT_TURN, (turn_values(number, turn) for turn in batch.turns))
    done = "UPDATE turn SET processed = true WHERE owner = ? AND seq BETWEEN ? AND ? AND NOT processed"
    put_rows(db, done, ((number, *span) for span in batch.processed))
    origin = "INSERT INTO origin (owner, memory, turn) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    put_rows(db, origin, ((number, *each) for each in batch.origins))
    _put_state(db, number, batch.state)
    if batch.items or batch.renewals:
        _put_items(db, number, batch)


def _put_state(db: Any, number: int, state: Mapping[str, object]) -> None:
    removed = ((number, key) for key, value in state.items() if value is None)
    put_rows(db, "DELETE FROM state WHERE owner = ? AND key = ?", removed)
    for key, value in state.items():
        if value is not None:
            plain = value if isinstance(value, str) and "\0" not in value else None
            db.execute(PUT_STATE, (number, key, json.dumps(value, ensure_ascii=False), plain))


def _put_items(db: Any, number: int, batch: Batch) -> None:
    """Write, delete and renew items. One that is written again replaces the former."""
    put_rows(db, "DELETE FROM item WHERE owner = ? AND id = ?", ((number, id) for id in batch.items))
    rows = ((number, id, *item_values(item)) for id, item in batch.items.items() if item is not None)
    put_rows(db, f"INSERT INTO item VALUES ({', '.join('?' * 9)})", rows)
    renew = "UPDATE item SET expires = ? + ttl WHERE owner = ? AND id = ? AND ttl IS NOT NULL"
    put_rows(db, renew, ((to_micros(at), number, id) for id, at in batch.renewals.items()))


def move_owner(db: Any, number: int, batch: Batch, gained: tuple[int, int, int]) -> None:
    """Set the position, and count the new memories, tokens and erased memories."""
    db.execute(MOVE, (batch.after.seq, batch.after.mark, batch.after.journal, *gained, number))


def take_lease(db: Any, owner: Owner, work: str, holder: str, now: float, until: float) -> str | None:
    """None if the holder has it now; otherwise the present holder."""
    which = (*owner, work)
    if until > now and ask(db, PUT_LEASE, (*which, holder, until, now)):
        return None
    others = "SELECT holder FROM lease WHERE tenant = ? AND work = ? AND holder <> ? AND until > ?"
    for (other,) in ask(db, f'{others} AND "user" = ?', (owner[0], work, holder, now, owner[1])):
        return str(other)
    db.execute('DELETE FROM lease WHERE tenant = ? AND "user" = ? AND work = ?', which)
    return None
