"""Shared by all SQL engines: conversion between values and rows, and scope and filter as SQL conditions.

Statements use `?` placeholders; a connection of an engine with others converts them. What else differs is in
the `Dialect`.

Values were checked when they were written, so reading does not check them again: a cycle reads tens of
thousands. Rows that cannot be right raise StoreDamaged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import cache, lru_cache

from nagori.core.events import RecordedTurn
from nagori.core.model import (
    ALIVE,
    ARCHIVE_REASONS,
    NO_CREDIT,
    Category,
    Credit,
    Emotion,
    Filter,
    Item,
    ItemFilter,
    Kind,
    Level,
    Memory,
    Privacy,
    Relation,
    RelationType,
    Scope,
    Source,
    TaskOutcome,
    Text,
    Trust,
    TurnFilter,
    Valence,
    from_micros,
    to_micros,
)
from nagori.core.serialize import TIMES
from nagori.core.storage_types import LogEntry, Owner
from nagori.core.value_object import Value, build_unchecked
from nagori.errors import InvalidInput, StoreDamaged
from nagori.language.tokenizer import asks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Condition = tuple[str, tuple[Any, ...]]
    _Parts = tuple[int, dict[Level, Text]]

KEY_BITS = 40  # a space holds up to 2^40 memories; see 0001_memories.sql


# --- engines --------------------------------------------------------------------------------------


class Dialect(Value):
    """The differences between SQL engines."""

    among: str  # SQL for: a column is one of a bound list
    pack: Callable[[Sequence[Any]], Any]  # converts the list for binding
    least: str = "min"  # functions: the least and the greatest of several values, and a power
    greatest: str = "max"
    power: str = "pow"


def _pack(values: Sequence[Any]) -> str:
    return json.dumps(values)


SQLITE = Dialect("{} IN (SELECT value FROM json_each(?))", _pack)


def ask(db: Any, sql: str, values: Sequence[Any] = ()) -> list[Any]:
    """All rows of a query."""
    rows: list[Any] = db.execute(sql, tuple(values)).fetchall()
    return rows


# --- damaged rows ---------------------------------------------------------------------------------

_TEXT, _WHOLE, _NUMBER = frozenset({str}), frozenset({int}), frozenset({float})
_NONE = type(None)
_TEXT_OR_NONE, _WHOLE_OR_NONE = _TEXT | {_NONE}, _WHOLE | {_NONE}


@contextmanager
def translate_decode_errors() -> Iterator[None]:
    """Report any error while decoding rows as damage."""
    try:
        yield
    except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, InvalidInput) as fault:
        reason = f"{type(fault).__name__}: {fault}"
        raise StoreDamaged("error.store_row", reason=reason) from fault


class RowTypes:
    """The expected types of a row's columns: SQLite accepts any type anywhere."""

    def __init__(self, *columns: frozenset[type]) -> None:
        self._columns = columns
        self._sound: set[tuple[type, ...]] = set()  # few combinations of types occur, in thousands of rows

    def check(self, rows: Iterable[Sequence[Any]]) -> None:
        """StoreDamaged unless every column has an expected type."""
        for shape in {tuple(map(type, row)) for row in rows} - self._sound:
            for number, (kind, allowed) in enumerate(zip(shape, self._columns, strict=True)):
                if kind not in allowed:
                    reason = f"column {number} holds a {kind.__name__}"
                    raise StoreDamaged("error.store_row", reason=reason)
            self._sound.add(shape)


APPLIED_ROW, OWNER_ROW = RowTypes(_WHOLE, _WHOLE, _TEXT), RowTypes(_TEXT, _TEXT)


# --- a memory as a row ----------------------------------------------------------------------------

_PLAIN = (
    "id",
    "version",
    "coefficient",
    "recalls",
    "mentions",
    "superseded_by",
    "appraised_by",
    "project",
    "agent",
    "role",
)
_COLUMNS = (*TIMES, *_PLAIN, "kind", "category", "level", "intensity", "protected", "privacy")
_SOURCE = ("session", "turn", "speaker", "trust")
_STORED = ("key", "owner", *_COLUMNS, *_SOURCE, "tokens", "chars", "asks", "digest", "rest")
# Plain columns first, then those that are looked up or parsed, which reveals damage.
_AS_THEY_ARE = (*_PLAIN, "intensity", "protected", "session", "turn", "speaker")
_READ = (*_AS_THEY_ARE, "key", "level", *TIMES, "kind", "category", "privacy", "trust", "rest")
_KEY = _READ.index("key")
_MEMORY_TYPES = RowTypes(
    *(_TEXT, _WHOLE, _NUMBER, _WHOLE, _WHOLE, *[_TEXT_OR_NONE] * 5),
    *(_NUMBER, _WHOLE, _TEXT_OR_NONE, _WHOLE_OR_NONE, _TEXT_OR_NONE),
)
_PART_TYPES = RowTypes(_WHOLE, _WHOLE, _TEXT, _TEXT)
INSERT = f"INSERT INTO memory ({', '.join(_STORED)}) VALUES ({', '.join('?' * len(_STORED))})"
SELECT = f"SELECT {', '.join(f'm.{column}' for column in _READ)} FROM memory m"
SKETCH = "m.key, m.id, m.session, m.turn, m.speaker, m.tokens, m.chars, m.asks, m.trust, m.created"
SKETCH_TYPES = RowTypes(
    *(_WHOLE, _TEXT, _TEXT_OR_NONE, _WHOLE_OR_NONE, _TEXT_OR_NONE),
    *(_WHOLE, _WHOLE, _WHOLE, _TEXT, _WHOLE),
)
LIFE_TYPES = RowTypes(
    *(_TEXT, _WHOLE, _WHOLE, _WHOLE, _WHOLE, _NUMBER, _NUMBER, _WHOLE, _WHOLE),
    *([_WHOLE_OR_NONE] * 6),
    _WHOLE,
)


def values_of(memory: Memory, tokens: int) -> tuple[Any, ...]:
    """The columns of a memory whose text has this many tokens."""
    source = memory.source
    return (
        *(to_micros(getattr(memory, name)) for name in TIMES),
        *(getattr(memory, name) for name in _PLAIN),
        str(memory.kind),
        str(memory.category) if memory.category else None,
        int(memory.level),
        memory.emotion.intensity,
        memory.protected,
        str(memory.privacy),
        *(source.session, source.turn, source.speaker, str(memory.trust)),
        *_word_columns(memory, tokens),
        _rest(memory),
    )


def _word_columns(memory: Memory, tokens: int) -> tuple[int, int, bool, bytes]:
    text = memory.searchable
    return tokens, len(text), asks(text), memory.digest


def _rest(memory: Memory) -> str:
    emotion = memory.emotion
    rest: dict[str, Any] = {
        "keywords": memory.keywords,
        "valence": emotion.valence,
        "arousal": emotion.arousal,
        "tags": emotion.tags,
        "uri": memory.source.uri,
        "archive_reason": memory.archive_reason,
    }
    if memory.metadata:
        rest["metadata"] = memory.metadata
    if memory.task is not None:
        rest["task"] = memory.task
    if memory.outcome is not None:
        rest["outcome"] = memory.outcome
    if memory.credit is not NO_CREDIT:
        rest["credit"] = list(memory.credit)
    return json.dumps(rest, ensure_ascii=False, separators=(",", ":"))


# --- what changed ---------------------------------------------------------------------------------

_MAKERS: dict[str, Callable[[Memory], Any]] = {
    **{name: lambda memory, name=name: to_micros(getattr(memory, name)) for name in TIMES},  # type: ignore[misc]
    **{name: lambda memory, name=name: getattr(memory, name) for name in _PLAIN},  # type: ignore[misc]
    "kind": lambda memory: str(memory.kind),
    "category": lambda memory: str(memory.category) if memory.category else None,
    "level": lambda memory: int(memory.level),
    "intensity": lambda memory: memory.emotion.intensity,
    "protected": lambda memory: memory.protected,
    "privacy": lambda memory: str(memory.privacy),
    "session": lambda memory: memory.source.session,
    "turn": lambda memory: memory.source.turn,
    "speaker": lambda memory: memory.source.speaker,
    "trust": lambda memory: str(memory.trust),
    "rest": _rest,
}
_FIELDS: dict[str, tuple[str, ...]] = {  # fields stored in other columns; the rest are columns themselves
    "texts": (),
    "emotion": ("intensity", "rest"),
    "source": ("session", "turn", "speaker", "rest"),
    "keywords": ("rest",),
    "archive_reason": ("rest",),
    "metadata": ("rest",),
    "task": ("rest",),
    "outcome": ("rest",),
    "credit": ("rest",),
}


def differing_fields(old: Memory, memory: Memory) -> frozenset[str]:
    """The fields in which they differ."""
    before = vars(old)
    return frozenset(
        [name for name, value in vars(memory).items() if value is not before[name] and value != before[name]]
    )


@cache
def columns_of(fields: frozenset[str], words: bool) -> tuple[str, ...]:
    """The columns of these fields, and of the words if they changed. Only these are written: each indexed
    column costs an index update, changed or not."""
    columns = {column for field in fields for column in _FIELDS.get(field, (field,))}
    return (*sorted(columns), *(("tokens", "chars", "asks", "digest") if words else ()))


def update(columns: tuple[str, ...]) -> str:
    """The statement that sets `columns` of a memory."""
    return f"UPDATE memory SET {', '.join(f'{column} = ?' for column in columns)} WHERE key = ?"


def values_at(columns: tuple[str, ...], memory: Memory, tokens: int | None) -> tuple[Any, ...]:
    """The values for `columns` of a memory; `tokens` if its words are among them."""
    plain = columns if tokens is None else columns[:-4]
    values = tuple(_MAKERS[column](memory) for column in plain)
    return values if tokens is None else (*values, *_word_columns(memory, tokens))


# --- a row as a memory ----------------------------------------------------------------------------

_KINDS, _LEVELS = {str(kind): kind for kind in Kind}, {int(level): level for level in Level}
_CATEGORIES: dict[str | None, Category | None] = {str(category): category for category in Category}
_CATEGORIES[None] = None
_LAST_WORDS = int(Level.TRACE)  # an archived memory shows its trace
_TRUSTS, _PRIVACIES = {str(trust): trust for trust in Trust}, {str(privacy): privacy for privacy in Privacy}


def load(db: Any, sql: str, values: Sequence[Any], dialect: Dialect = SQLITE) -> list[tuple[int, Memory]]:
    """Keys and memories of a query that begins with SELECT."""
    rows = ask(db, sql, values)
    _MEMORY_TYPES.check([row[:_KEY] for row in rows])
    texts = _texts_of(db, [row[_KEY] for row in rows], dialect)
    with translate_decode_errors():
        return [(row[_KEY], _memory(row, texts)) for row in rows]


def load_by_id(
    db: Any, number: int | None, ids: Iterable[str], dialect: Dialect = SQLITE
) -> list[tuple[int, Memory]]:
    """Keys and memories of an owner, whatever their visibility."""
    sql = f"{SELECT} WHERE m.owner = ? AND {dialect.among.format('m.id')}"
    return load(db, sql, (number, dialect.pack(list(ids))), dialect)


def _memory(row: Sequence[Any], texts: Mapping[int, _Parts]) -> Memory:
    *plain, intensity, protected, session, turn, speaker = row[:_KEY]
    key, level, *times, kind, category, privacy, trust, rest = row[_KEY:]
    keywords, valence, arousal, tags, uri, reason, metadata, task, outcome, credit = _parse_rest(rest)
    fullest, parts = texts[key]
    if fullest > level or fullest > _LAST_WORDS:
        raise ValueError(f"{plain[0]} has no text")
    fields = {
        **dict(zip(_PLAIN, plain)),  # noqa: B905 - a cycle reads tens of thousands
        **dict(zip(TIMES, [None if time is None else from_micros(time) for time in times])),  # noqa: B905
        "texts": parts,
        "kind": _KINDS[kind],
        "category": _CATEGORIES[category],
        "level": _LEVELS[level],
        "emotion": build_unchecked(
            Emotion, {"intensity": intensity, "valence": valence, "arousal": arousal, "tags": tags}
        ),
        "keywords": keywords,
        "trust": _TRUSTS[trust],
        "privacy": _PRIVACIES[privacy],
        "source": build_unchecked(Source, {"session": session, "turn": turn, "speaker": speaker, "uri": uri}),
        "protected": bool(protected),
        "archive_reason": reason,
        "metadata": dict(metadata),  # a copy: the parsed value is cached
        "task": task,
        "outcome": outcome,
        "credit": credit,
    }
    return build_unchecked(Memory, fields)


@lru_cache(1024)  # most memories share a few values: no keywords, no tag, no address
def _parse_rest(text: str) -> tuple[Any, ...]:
    rest = json.loads(text)
    felt = (Valence(rest["valence"]), float(rest["arousal"]), tuple(map(_as_text, rest["tags"])))
    metadata = dict(rest.get("metadata", ()))
    reason = ARCHIVE_REASONS.get(rest["archive_reason"], rest["archive_reason"])
    outcome = TaskOutcome(rest["outcome"]) if "outcome" in rest else None
    credit = Credit(*rest["credit"]) if "credit" in rest else NO_CREDIT
    task = _as_text(rest["task"]) if "task" in rest else None
    about = (rest["uri"], reason, metadata, task, outcome, credit)
    return tuple(map(_as_text, rest["keywords"])), *felt, *about


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise TypeError(f"{value!r} is not a text")


def _texts_of(db: Any, keys: Sequence[int], dialect: Dialect) -> dict[int, _Parts]:
    """The texts of memories, and the level of the fullest."""
    texts: dict[int, _Parts] = {}
    one = len(keys) == 1  # the common case when writing: no list needed
    if keys:
        among = "key = ?" if one else dialect.among.format("key")
        sql = f"SELECT key, level, trigger, content FROM text WHERE {among} ORDER BY key, level"
        rows = ask(db, sql, (keys[0] if one else dialect.pack(keys),))
        _PART_TYPES.check(rows)
        with translate_decode_errors():
            for key, level, trigger, content in rows:
                if key in texts:
                    texts[key][1][_LEVELS[level]] = Text(trigger, content)
                else:
                    texts[key] = (level, {_LEVELS[level]: Text(trigger, content)})
    return texts


# --- turns, relations and the log -----------------------------------------------------------------

_OF_A_TURN = (
    *("id", "seq", "at", "session", "role", "text", "idx", "speaker", "project", "agent", "agent_role"),
    *("host", "ref", "transcript", "uri", "processed"),  # in the order of RecordedTurn's fields
)
_TURN_TYPES = RowTypes(
    *(_TEXT, _WHOLE, _WHOLE, _TEXT, _TEXT, _TEXT, _WHOLE),
    *([_TEXT_OR_NONE] * 8),
    _WHOLE,
)
# A turn without an index gets the next one of its session; a known turn is skipped.
_NEXT_PLACE = "SELECT max(idx) + 1 FROM turn WHERE owner = ? AND session = ?"
INSERT_TURN = f"""
    INSERT INTO turn (owner, {", ".join(name for name in _OF_A_TURN if name != "idx")}, idx)
    VALUES ({", ".join("?" * len(_OF_A_TURN))}, coalesce(?, ({_NEXT_PLACE}), 0)) ON CONFLICT DO NOTHING"""
SELECT_TURN = f"SELECT {', '.join(_OF_A_TURN)} FROM turn"
SELECT_LOG = "SELECT seq, at, type, memory FROM log"
_LOG_TYPES = RowTypes(_WHOLE, _WHOLE, _TEXT, _TEXT)


def turn_values(number: int, turn: RecordedTurn) -> tuple[Any, ...]:
    """The values for INSERT_TURN."""
    id, seq, at, session, role, text, index, *rest = turn
    return (number, id, seq, to_micros(at), session, role, text, *rest, index, number, session)


def turns_of(rows: Sequence[Any]) -> list[RecordedTurn]:
    """The turns of a query that begins with SELECT_TURN."""
    _TURN_TYPES.check(rows)
    with translate_decode_errors():
        return [
            RecordedTurn(*(id, seq, from_micros(at), *rest, bool(processed)))
            for id, seq, at, *rest, processed in rows
        ]


def which_turns(number: int | None, filter: TurnFilter, dialect: Dialect = SQLITE) -> Condition:
    """The filter for turns as SQL."""
    parts, values = ["owner = ?", "seq > ?"], [number, filter.after]
    if filter.session is not None:
        parts.append("session = ?")
        values.append(filter.session)  # type: ignore[arg-type]
    if filter.seqs is not None:
        parts.append(dialect.among.format("seq"))
        values.append(dialect.pack(filter.seqs))
    if filter.ids is not None:
        parts.append(dialect.among.format("id"))
        values.append(dialect.pack(filter.ids))
    if filter.pending:
        parts.append("NOT processed")
    return " AND ".join(parts), tuple(values)


# --- items ----------------------------------------------------------------------------------------

_OF_AN_ITEM = ("namespace", "key", "value", "created", "updated", "ttl", "expires")
_ITEM_TYPES = RowTypes(_TEXT, _TEXT, _TEXT, _WHOLE, _WHOLE, _WHOLE_OR_NONE, _WHOLE_OR_NONE)
SELECT_ITEM = f"SELECT {', '.join(_OF_AN_ITEM)} FROM item"
_ITEM_ORDERS = {
    "key": "namespace, key",
    "last": "namespace DESC, key DESC",
    "newest": "updated DESC, namespace, key",
}
# Each label ends with a sign below all letters, so that the order of texts is that of labels and a prefix of
# labels is a prefix of the text. The two signs themselves are escaped.
_LABEL_END, _ESCAPE = "\x01", "\x02"


def join_namespace(labels: Sequence[str]) -> str:
    """The text that stands for a namespace in a column."""
    return "".join([_escape_label(label) + _LABEL_END for label in labels])


def _escape_label(label: str) -> str:
    if _ESCAPE in label or _LABEL_END in label:
        label = label.replace(_ESCAPE, _ESCAPE + "2").replace(_LABEL_END, _ESCAPE + "1")
    return label


def split_namespace(text: str) -> tuple[str, ...]:
    labels = text.split(_LABEL_END)[:-1]
    if _ESCAPE in text:
        labels = [
            label.replace(_ESCAPE + "1", _LABEL_END).replace(_ESCAPE + "2", _ESCAPE) for label in labels
        ]
    return tuple(labels)


def within_namespace(prefix: Sequence[str]) -> Condition:
    """The condition that a namespace begins with these labels."""
    if not prefix:
        return "", ()
    first = join_namespace(prefix)
    return "namespace >= ? AND namespace < ?", (first, first[:-1] + _ESCAPE)


def which_items(number: int | None, filter: ItemFilter, dialect: Dialect = SQLITE) -> Condition:
    """The filter for items as SQL, with its order; the limit and the offset are bound last."""
    within, bounds = within_namespace(filter.prefix)
    parts, values = filter_out_empty("owner = ?", within), [number, *bounds]
    for condition, value in (
        (dialect.among.format("id"), None if filter.ids is None else dialect.pack(filter.ids)),
        ("(expires IS NULL OR expires > ?)", to_micros(filter.valid_at)),
        ("expires <= ?", to_micros(filter.expired_at)),
    ):
        if value is not None:
            parts.append(condition)
            values.append(value)
    return f"{' AND '.join(parts)} ORDER BY {_ITEM_ORDERS[filter.order]}", tuple(values)


def item_values(item: Item) -> tuple[Any, ...]:
    """The columns of an item, after owner and id."""
    ttl = None if item.ttl is None else item.ttl // timedelta(microseconds=1)
    times = (to_micros(item.created), to_micros(item.updated), ttl, to_micros(item.expires))
    return (join_namespace(item.namespace), item.key, item.value, *times)


def items_of(rows: Sequence[Any]) -> list[Item]:
    """The items of a query that begins with SELECT_ITEM."""
    _ITEM_TYPES.check(rows)
    with translate_decode_errors():
        return [
            Item(
                split_namespace(namespace),
                *(key, value, from_micros(created), from_micros(updated)),
                *(None if ttl is None else timedelta(microseconds=ttl), from_micros(expires)),
            )
            for namespace, key, value, created, updated, ttl, expires in rows
        ]


def log_entries(rows: Sequence[Any]) -> list[LogEntry]:
    """The entries of a query that begins with SELECT_LOG and is ordered by number, then memory."""
    _LOG_TYPES.check(rows)
    entries: dict[int, tuple[int, str, list[str]]] = {}
    for seq, at, type, memory in rows:
        entries.setdefault(seq, (at, type, []))[2].append(memory)
    with translate_decode_errors():
        return [LogEntry(seq, from_micros(at), type, tuple(ids)) for seq, (at, type, ids) in entries.items()]


def relations_of(rows: Sequence[Any]) -> list[Relation]:
    """The relations of source, target and type."""
    with translate_decode_errors():
        return [Relation(source, target, RelationType(type)) for source, target, type in rows]


# --- scope and filter -----------------------------------------------------------------------------


def find_owner(db: Any, owner: Owner) -> int | None:
    """The number of an owner. It is looked up by name every time: a stale number would show one user the
    memories of another."""
    rows = ask(db, 'SELECT id FROM owner WHERE tenant = ? AND "user" = ?', owner)
    return rows[0][0] if rows else None


def keys(number: int | None) -> tuple[int, int]:
    """The key range of an owner; empty if it is unknown."""
    if number is None:
        return (1, 0)
    return (number << KEY_BITS, ((number + 1) << KEY_BITS) - 1)


class Model(Value):
    """An embedding model and its tables. Table names are made from its number alone."""

    id: int
    name: str
    dimension: int
    center: bytes | None

    @property
    def vectors(self) -> str:
        return f"vector_{self.id:d}"

    @property
    def bits(self) -> str:
        return f"bits_{self.id:d}"


def find_model(db: Any, name: str) -> Model | None:
    rows = ask(db, "SELECT id, name, dimension, center FROM model WHERE name = ?", (name,))
    return Model(*rows[0]) if rows else None


def all_models(db: Any) -> list[Model]:
    return [Model(*row) for row in ask(db, "SELECT id, name, dimension, center FROM model")]


def without_vector(model: Model | None) -> str:
    """SQL: the memory m has no vector of its present text."""
    if model is None:
        return "1 = 1"
    return f"NOT EXISTS (SELECT 1 FROM {model.vectors} v WHERE v.key = m.key AND v.digest = m.digest)"


class Selection(Value):
    """Selected memories of an owner: the rules of `core.visibility` as SQL."""

    number: int | None
    scope: Scope
    filter: Filter = ALIVE
    unembedded: str = ""  # SQL for `filter.unembedded`: see `without_vector`
    dialect: Dialect = SQLITE

    def visible(self, table: str = "m") -> Condition:
        """The condition of `sees`, without the owner."""
        scope = self.scope
        parts: list[str] = []
        values: list[Any] = []
        if scope.project is not None:
            parts.append(f"({table}.project IS NULL OR {table}.project = ?)")
            values.append(scope.project)
        if scope.agent is not None or scope.role is not None:
            parts.append(
                f"({table}.privacy = 'public' OR {table}.agent = ?"
                f" OR ({table}.privacy = 'agent-only' AND {table}.role = ?))"
            )
            values += [scope.agent, scope.role]
        elif scope.unnamed_agent:
            parts.append(f"{table}.privacy = 'public'")
        return " AND ".join(parts), tuple(values)

    def seen(self) -> Condition:
        """The rows of table m that the scope may see, whatever the filter."""
        visible, values = self.visible()
        return " AND ".join(filter_out_empty("m.owner = ?", visible)), (self.number, *values)

    def meant(self) -> Condition:
        """The selected rows of table m."""
        seen, values = self.seen()
        narrow, more = self.narrowed()
        archived = "" if self.filter.archived else "m.level <> 4"
        forgotten = "" if self.filter.forgotten else "m.forgotten_at IS NULL"
        return " AND ".join(filter_out_empty(seen, archived, forgotten, narrow)), (*values, *more)

    def narrowed(self) -> Condition:
        """The condition of `passes` on table m, without archived and forgotten."""
        filter, dialect = self.filter, self.dialect
        lists = (("kind", filter.kinds), ("level", filter.levels), ("category", filter.categories))
        parts = [dialect.among.format(f"m.{column}") for column, wanted in lists if wanted is not None]
        values: list[Any] = [dialect.pack(sorted(wanted)) for _, wanted in lists if wanted is not None]
        for condition, value in (
            ("m.created >= ?", to_micros(filter.since)),
            ("m.created < ?", to_micros(filter.until)),
            ("m.session = ?", filter.session),
            ("m.id >= ?", filter.prefix),
            ("m.id < ?", None if filter.prefix is None else filter.prefix + "\U0010ffff"),
        ):
            if value is not None:
                parts.append(condition)
                values.append(value)
        if filter.protected is not None:  # as literal, so that SQLite can use the partial index
            parts.append("m.protected" if filter.protected else "NOT m.protected")
        if filter.unappraised:
            parts.append("m.appraised_by IS NULL AND m.turn IS NOT NULL AND m.level = 1")
            parts.append("m.superseded_by IS NULL")
        return " AND ".join(filter_out_empty(*parts, self.unembedded)), tuple(values)


def filter_out_empty(*conditions: str) -> list[str]:
    return [condition for condition in conditions if condition]
