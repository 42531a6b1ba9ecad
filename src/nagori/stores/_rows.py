"""A memory as rows of SQLite and back. Reading trusts what was checked when it was written: a night reads
tens of thousands."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache

import apsw

from nagori.core.model import (
    Category,
    Emotion,
    Kind,
    Level,
    Memory,
    Privacy,
    Source,
    Text,
    Trust,
    Valence,
    micros,
)
from nagori.core.text import asks
from nagori.core.values import made
from nagori.stores._common import moment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TIMES = (
    "created",
    "anchor",
    "recalled_at",
    "strengthened_at",
    "archived_at",
    "keep_until",
    "revival_at",
    "forgotten_at",
)
_PLAIN = (
    "id",
    "version",
    "coefficient",
    "recalls",
    "mentions",
    "superseded_by",
    "judged_by",
    "project",
    "agent",
    "role",
)
_COLUMNS = (*_TIMES, *_PLAIN, "kind", "category", "level", "intensity", "protected", "privacy")
_SOURCE = ("session", "turn", "speaker", "trust")
_STORED = ("key", "space", *_COLUMNS, *_SOURCE, "tokens", "chars", "asks", "digest", "rest")
INSERT = f"INSERT INTO memory ({', '.join(_STORED)}) VALUES ({', '.join('?' * len(_STORED))})"
SELECT = f"SELECT m.key, {', '.join(f'm.{c}' for c in (*_COLUMNS, *_SOURCE))}, m.rest FROM memory m"
SKETCH = "m.key, m.id, m.session, m.turn, m.speaker, m.tokens, m.chars, m.asks, m.trust, m.created"


def ask(db: apsw.Connection, sql: str, values: Sequence[Any] = ()) -> list[Any]:
    """Every row of a question."""
    return db.execute(sql, tuple(values)).fetchall()


def load(db: apsw.Connection, sql: str, values: Sequence[Any]) -> list[tuple[int, Memory]]:
    """Keys and memories of a question that begins with SELECT."""
    found = ask(db, sql, values)
    texts = _texts_of(db, [row[0] for row in found])
    return [(row[0], _memory(row, texts)) for row in found]


def values_of(memory: Memory, tokens: int) -> tuple[Any, ...]:
    """The columns of a memory whose text has so many tokens."""
    source = memory.source
    return (
        *(micros(getattr(memory, name)) for name in _TIMES),
        *(getattr(memory, name) for name in _PLAIN),
        str(memory.kind),
        str(memory.category) if memory.category else None,
        int(memory.level),
        memory.emotion.intensity,
        int(memory.protected),
        str(memory.privacy),
        *(source.session, source.turn, source.speaker, str(memory.trust)),
        *_words(memory, tokens),
        _rest(memory),
    )


def _words(memory: Memory, tokens: int) -> tuple[int, int, int, bytes]:
    text = memory.searchable
    return tokens, len(text), int(asks(text)), memory.digest


def _rest(memory: Memory) -> str:
    emotion = memory.emotion
    rest = {
        "keywords": memory.keywords,
        "valence": emotion.valence,
        "arousal": emotion.arousal,
        "tags": emotion.tags,
        "uri": memory.source.uri,
        "archive_reason": memory.archive_reason,
    }
    return json.dumps(rest, ensure_ascii=False, separators=(",", ":"))


# --- what changed ---------------------------------------------------------------------------------

_MAKERS: dict[str, Callable[[Memory], Any]] = {
    **{name: lambda memory, name=name: micros(getattr(memory, name)) for name in _TIMES},  # type: ignore[misc]
    **{name: lambda memory, name=name: getattr(memory, name) for name in _PLAIN},  # type: ignore[misc]
    "kind": lambda memory: str(memory.kind),
    "category": lambda memory: str(memory.category) if memory.category else None,
    "level": lambda memory: int(memory.level),
    "intensity": lambda memory: memory.emotion.intensity,
    "protected": lambda memory: int(memory.protected),
    "privacy": lambda memory: str(memory.privacy),
    "session": lambda memory: memory.source.session,
    "turn": lambda memory: memory.source.turn,
    "speaker": lambda memory: memory.source.speaker,
    "trust": lambda memory: str(memory.trust),
    "rest": _rest,
}
_FIELDS: dict[str, tuple[str, ...]] = {  # of a memory, in which columns; the others are columns themselves
    "texts": (),
    "emotion": ("intensity", "rest"),
    "source": ("session", "turn", "speaker", "rest"),
    "keywords": ("rest",),
    "archive_reason": ("rest",),
}


def changed(old: Memory, memory: Memory) -> frozenset[str]:
    """The fields in which they differ."""
    before = vars(old)
    return frozenset(
        [name for name, value in vars(memory).items() if value is not before[name] and value != before[name]]
    )


@cache
def columns_of(fields: frozenset[str], words: bool) -> tuple[str, ...]:
    """The columns that tell of these fields, and of the words if they changed. No others are written: a
    column that stands in an index costs a place there, changed or not."""
    told = {column for field in fields for column in _FIELDS.get(field, (field,))}
    return (*sorted(told), *(("tokens", "chars", "asks", "digest") if words else ()))


def update(columns: tuple[str, ...]) -> str:
    return f"UPDATE memory SET {', '.join(f'{column} = ?' for column in columns)} WHERE key = ?"


def values_at(columns: tuple[str, ...], memory: Memory, tokens: int | None) -> tuple[Any, ...]:
    """What stands in `columns` of a memory; `tokens` if its words are among them."""
    plain = columns if tokens is None else columns[:-4]
    values = tuple(_MAKERS[column](memory) for column in plain)
    return values if tokens is None else (*values, *_words(memory, tokens))


# --- back -----------------------------------------------------------------------------------------

_KINDS, _LEVELS = {str(kind): kind for kind in Kind}, {int(level): level for level in Level}
_CATEGORIES: dict[str | None, Category | None] = {str(category): category for category in Category}
_CATEGORIES[None] = None
_TRUSTS, _PRIVACIES = {str(trust): trust for trust in Trust}, {str(privacy): privacy for privacy in Privacy}


def _memory(row: Sequence[Any], texts: Mapping[int, dict[Level, Text]]) -> Memory:
    fields = dict(zip(("key", *_COLUMNS, *_SOURCE, "rest"), row, strict=True))
    for name in _TIMES:
        if fields[name] is not None:
            fields[name] = moment(fields[name])
    keywords, valence, arousal, tags, uri, reason = _parsed(fields.pop("rest"))
    emotion = {"intensity": fields.pop("intensity"), "valence": valence, "arousal": arousal, "tags": tags}
    source = {name: fields.pop(name) for name in ("session", "turn", "speaker")} | {"uri": uri}
    fields |= {
        "texts": texts.get(fields.pop("key"), {}),
        "kind": _KINDS[fields["kind"]],
        "category": _CATEGORIES[fields["category"]],
        "level": _LEVELS[fields["level"]],
        "emotion": made(Emotion, emotion),
        "keywords": keywords,
        "trust": _TRUSTS[fields["trust"]],
        "privacy": _PRIVACIES[fields["privacy"]],
        "source": made(Source, source),
        "protected": bool(fields["protected"]),
        "archive_reason": reason,
    }
    return made(Memory, fields)


@lru_cache(1024)  # most memories have no keywords of their own, no tag and no address: one of few
def _parsed(text: str) -> tuple[Any, ...]:
    rest = json.loads(text)
    felt = (Valence(rest["valence"]), rest["arousal"], tuple(rest["tags"]))
    return tuple(rest["keywords"]), *felt, rest["uri"], rest["archive_reason"]


def _texts_of(db: apsw.Connection, keys: Sequence[int]) -> dict[int, dict[Level, Text]]:
    texts: dict[int, dict[Level, Text]] = {}
    one = len(keys) == 1  # the common case when writing; no list to unpack
    among = "= ?" if one else "IN (SELECT value FROM json_each(?))"
    if keys:
        sql = f"SELECT key, level, trigger, content FROM text WHERE key {among} ORDER BY key, level"
        for key, level, trigger, content in ask(db, sql, (keys[0] if one else json.dumps(list(keys)),)):
            texts.setdefault(key, {})[_LEVELS[level]] = Text(trigger, content)
    return texts
