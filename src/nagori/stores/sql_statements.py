"""Statements that all SQL engines share, written once: reads of everything but the search, and writes of
everything but the indexes.

An engine gives transactions and the owner's number in them. How it finds memories by words and by meaning, it
writes itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from nagori.core.events import RecordedTurn
from nagori.core.model import ALIVE, Filter, Item, ItemFilter, Memory, Relation, Scope, TurnFilter, to_micros
from nagori.core.storage_types import Batch, LogEntry, Owner
from nagori.language.tokenizer import index_words
from nagori.stores import sql_rows
from nagori.stores.sql_rows import (
    INSERT,
    INSERT_TURN,
    SQLITE,
    Dialect,
    Selection,
    ask,
    columns_of,
    differing_fields,
    find_model,
    item_values,
    turn_values,
    update,
    values_at,
    values_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from nagori.core.cycle import CycleRows, CycleRules, LifeRow
    from nagori.core.levels import Tiers
    from nagori.core.model import Level
    from nagori.core.storage_types import Counts, Measures

    Rows = Iterable[tuple[Any, ...]]

NO_LIMIT = 2**62


class SqlReads:
    """The shared part of a store over SQL."""

    dialect: Dialect = SQLITE

    def reading(self, owner: Owner | None = None) -> AbstractContextManager[Any]:
        """A read transaction for this owner's rows; without an owner, for what concerns all of them."""
        raise NotImplementedError("an engine opens its own transactions")

    def asking(self, owner: Owner | None = None) -> AbstractContextManager[Any]:
        """The same for a single statement, which sees one snapshot anyway."""
        return self.reading(owner)

    def number_of(self, db: Any, owner: Owner) -> int | None:
        """The number of the owner in this transaction."""
        raise NotImplementedError("an engine finds its own owners")

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Memory]:
        raise NotImplementedError("an engine reads memories by id itself")

    def without_vector(self, db: Any, model: str) -> str:
        """SQL: the memory m has no vector of its present text."""
        return sql_rows.without_vector(find_model(db, model))

    def selection(self, db: Any, scope: Scope, filter: Filter = ALIVE) -> Selection:
        missing = "" if filter.unembedded is None else self.without_vector(db, filter.unembedded)
        return Selection(self.number_of(db, scope.owner), scope, filter, missing, self.dialect)

    def find(
        self,
        scope: Scope,
        filter: Filter = ALIVE,
        *,
        limit: int = 100,
        older_than: Memory | None = None,
        oldest_first: bool = False,
    ) -> list[Memory]:
        beyond, order = (">", "ASC") if oldest_first else ("<", "DESC")
        with self.reading(scope.owner) as db:
            where, values = self.selection(db, scope, filter).meant()
            if older_than is not None:
                where += f" AND (m.created, m.id) {beyond} (?, ?)"
                values = (*values, to_micros(older_than.created), older_than.id)
            # Use the index for a few of many: an engine would scan all memories in order.
            few = filter.session or filter.protected or filter.prefix
            by = "+m.created" if few else "m.created"
            rows = f"{sql_rows.SELECT} WHERE {where} ORDER BY {by} {order}, m.id {order} LIMIT ?"
            return [memory for _, memory in sql_rows.load(db, rows, (*values, limit), self.dialect)]

    def relations(self, scope: Scope, ids: Sequence[str]) -> list[Relation]:
        among, these = self.dialect.among, self.dialect.pack(list(ids))
        end = "SELECT source, target, type FROM relation WHERE owner = ? AND"
        # Two searches by index: one condition with OR, or an order, would read every relation of the owner.
        rows = f"{end} {among.format('source')} UNION ALL {end} {among.format('target')}"
        with self.reading(scope.owner) as db:
            number = self.number_of(db, scope.owner)
            found = ask(db, rows, (number, these, number, these))
            relations = sql_rows.relations_of(sorted(set(found)))
            every = sorted({end for relation in relations for end in (relation.source, relation.target)})
            ends = {memory.id for memory in self.get(scope, every)}
        return [relation for relation in relations if {relation.source, relation.target} <= ends]

    def history(self, owner: Owner, id: str | None = None, limit: int | None = None) -> list[LogEntry]:
        which = "" if id is None else " AND memory = ?"
        newest = f"SELECT DISTINCT seq FROM log WHERE owner = ?{which} ORDER BY seq DESC LIMIT ?"
        rows = f"{sql_rows.SELECT_LOG} WHERE owner = ? AND seq IN ({newest}) ORDER BY seq, memory"
        with self.asking(owner) as db:
            number = self.number_of(db, owner)
            mine = (number,) if id is None else (number, id)
            entries = sql_rows.log_entries(ask(db, rows, (number, *mine, _limit(limit))))
        return entries[::-1] if id is None else entries

    def turns(self, owner: Owner, filter: TurnFilter) -> list[RecordedTurn]:
        with self.asking(owner) as db:
            where, values = sql_rows.which_turns(self.number_of(db, owner), filter, self.dialect)
            order = "ASC" if filter.last is None else "DESC"
            rows = f"{sql_rows.SELECT_TURN} WHERE {where} ORDER BY seq {order} LIMIT ?"
            limit = filter.first if filter.last is None else filter.last
            turns = sql_rows.turns_of(ask(db, rows, (*values, _limit(limit))))
            return turns if filter.last is None else turns[::-1]

    def origins(self, owner: Owner, ids: Sequence[str]) -> list[tuple[str, int]]:
        rows = f"""
            SELECT memory, turn FROM origin WHERE owner = ? AND memory IN (
                SELECT memory FROM origin WHERE owner = ? AND turn IN (
                    SELECT turn FROM origin WHERE owner = ? AND {self.dialect.among.format("memory")}))
            ORDER BY memory, turn"""
        with self.asking(owner) as db:
            number = self.number_of(db, owner)
            return ask(db, rows, (number, number, number, self.dialect.pack(list(ids))))

    def state(self, owner: Owner, key: str) -> Any:
        rows = """SELECT value FROM owner JOIN state ON owner.id = state.owner
                  WHERE tenant = ? AND "user" = ? AND key = ?"""
        with self.asking(owner) as db:
            values = ask(db, rows, (*owner, key))
        with sql_rows.translate_decode_errors():
            return json.loads(values[0][0]) if values else None

    def items(self, owner: Owner, filter: ItemFilter) -> list[Item]:
        with self.asking(owner) as db:
            where, values = sql_rows.which_items(self.number_of(db, owner), filter, self.dialect)
            rows = f"{sql_rows.SELECT_ITEM} WHERE {where} LIMIT ? OFFSET ?"
            return sql_rows.items_of(ask(db, rows, (*values, _limit(filter.limit), filter.offset)))

    def item_namespaces(self, owner: Owner, prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        within, bounds = sql_rows.within_namespace(prefix)
        where = " AND ".join(sql_rows.filter_out_empty("owner = ?", within))
        with self.asking(owner) as db:
            rows = f"SELECT DISTINCT namespace FROM item WHERE {where} ORDER BY namespace"
            return [
                sql_rows.split_namespace(text)
                for (text,) in ask(db, rows, (self.number_of(db, owner), *bounds))
            ]

    def known_owners(self) -> list[Owner]:
        with self.asking() as db:
            rows = ask(db, 'SELECT tenant, "user" FROM owner WHERE seq > 0 ORDER BY tenant, "user"')
            sql_rows.OWNER_ROW.check(rows)
        return rows

    def owners_due(self, key: str, before: str) -> list[Owner]:
        rows = """SELECT tenant, "user" FROM state JOIN owner ON owner.id = state.owner
                  WHERE key = ? AND plain IS NOT NULL AND plain < ? ORDER BY tenant, "user\""""
        with self.asking() as db:
            return ask(db, rows, (key, before))

    # --- a whole owner --------------------------------------------------------------------------

    def cycle_rows(self, owner: Owner, rules: CycleRules, now: datetime) -> CycleRows:
        from nagori.core.cycle import CycleRows
        from nagori.stores import cycle_queries as cycle  # imported late: recall does not need it

        def weakest(level: Level, n: int) -> list[LifeRow]:
            with self.reading(owner) as db:
                return cycle.weakest(db, self.number_of(db, owner), level, n, rules, now, self.dialect)

        with self.reading(owner) as db:
            number = self.number_of(db, owner)
            due = cycle.due(db, number, rules, now, self.dialect)
            return CycleRows(cycle.census(db, number), due, weakest)

    def count(self, scope: Scope, model: str | None = None) -> Counts:
        from nagori.stores import cycle_queries as cycle

        with self.reading(scope.owner) as db:
            missing = self.without_vector(db, model) if model else "1 = 0"
            return cycle.count(db, self.selection(db, scope), missing)

    def measure(self, scope: Scope, now: datetime, tiers: Tiers) -> Measures:
        from nagori.stores import cycle_queries as cycle

        with self.reading(scope.owner) as db:
            return cycle.measure(db, self.selection(db, scope), now, tiers)


def _limit(limit: int | None) -> int:
    return NO_LIMIT if limit is None else limit


# --- writes ---------------------------------------------------------------------------------------

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
    delete_history(db, number, batch.erasures)
    _put_state(db, number, batch.state)
    if batch.items or batch.renewals:
        _put_items(db, number, batch)


def delete_history(db: Any, number: int, erasures: Sequence[tuple[str, int]]) -> None:
    """Delete what the log and the origins say of erased memories before the event of the erasure."""
    before = [(number, id, seq) for id, seq in erasures]
    put_rows(db, "DELETE FROM log WHERE owner = ? AND memory = ? AND seq < ?", before)
    put_rows(db, "DELETE FROM origin WHERE owner = ? AND memory = ? AND turn < ?", before)


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
