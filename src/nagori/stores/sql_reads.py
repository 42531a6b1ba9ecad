"""Reads that all SQL engines share, written once: relations, log, turns, origins, state, items and
statistics.

An engine gives a read transaction and the owner's number in it. What it does in its own way, such as finding
and searching, it writes itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager

from nagori.core.events import RecordedTurn
from nagori.core.model import ALIVE, Filter, Item, ItemFilter, Memory, Relation, Scope, TurnFilter, to_micros
from nagori.core.storage import LogEntry, Owner
from nagori.stores import sql
from nagori.stores.sql import SQLITE, Dialect, Selection, ask, find_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from nagori.core.cycle import CycleRows, CycleRules, LifeRow
    from nagori.core.levels import Tiers
    from nagori.core.model import Level
    from nagori.core.storage import Counts, Measures

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
        return sql.without_vector(find_model(db, model))

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
            rows = f"{sql.SELECT} WHERE {where} ORDER BY {by} {order}, m.id {order} LIMIT ?"
            return [memory for _, memory in sql.load(db, rows, (*values, limit), self.dialect)]

    def relations(self, scope: Scope, ids: Sequence[str]) -> list[Relation]:
        among, these = self.dialect.among, self.dialect.pack(list(ids))
        rows = f"""
            SELECT source, target, type FROM relation
            WHERE owner = ? AND ({among.format("source")} OR {among.format("target")})
            ORDER BY source, target, type"""
        with self.reading(scope.owner) as db:
            found = ask(db, rows, (self.number_of(db, scope.owner), these, these))
            relations = sql.relations_of(found)
            every = sorted({end for relation in relations for end in (relation.source, relation.target)})
            ends = {memory.id for memory in self.get(scope, every)}
        return [relation for relation in relations if {relation.source, relation.target} <= ends]

    def history(self, owner: Owner, id: str | None = None, limit: int | None = None) -> list[LogEntry]:
        which = "" if id is None else " AND memory = ?"
        newest = f"SELECT DISTINCT seq FROM log WHERE owner = ?{which} ORDER BY seq DESC LIMIT ?"
        rows = f"{sql.SELECT_LOG} WHERE owner = ? AND seq IN ({newest}) ORDER BY seq, memory"
        with self.asking(owner) as db:
            number = self.number_of(db, owner)
            mine = (number,) if id is None else (number, id)
            entries = sql.log_entries(ask(db, rows, (number, *mine, _limit(limit))))
        return entries[::-1] if id is None else entries

    def turns(self, owner: Owner, filter: TurnFilter) -> list[RecordedTurn]:
        with self.asking(owner) as db:
            where, values = sql.which_turns(self.number_of(db, owner), filter, self.dialect)
            order = "ASC" if filter.last is None else "DESC"
            rows = f"{sql.SELECT_TURN} WHERE {where} ORDER BY seq {order} LIMIT ?"
            limit = filter.first if filter.last is None else filter.last
            turns = sql.turns_of(ask(db, rows, (*values, _limit(limit))))
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
        with sql.translate_decode_errors():
            return json.loads(values[0][0]) if values else None

    def items(self, owner: Owner, filter: ItemFilter) -> list[Item]:
        with self.asking(owner) as db:
            where, values = sql.which_items(self.number_of(db, owner), filter, self.dialect)
            rows = f"{sql.SELECT_ITEM} WHERE {where} LIMIT ? OFFSET ?"
            return sql.items_of(ask(db, rows, (*values, _limit(filter.limit), filter.offset)))

    def item_namespaces(self, owner: Owner, prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
        within, bounds = sql.within_namespace(prefix)
        where = " AND ".join(sql.filter_out_empty("owner = ?", within))
        with self.asking(owner) as db:
            rows = f"SELECT DISTINCT namespace FROM item WHERE {where} ORDER BY namespace"
            return [
                sql.split_namespace(text) for (text,) in ask(db, rows, (self.number_of(db, owner), *bounds))
            ]

    def known_owners(self) -> list[Owner]:
        with self.asking() as db:
            rows = ask(db, 'SELECT tenant, "user" FROM owner WHERE seq > 0 ORDER BY tenant, "user"')
            sql.OWNER_ROW.check(rows)
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
