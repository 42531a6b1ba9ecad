"""A memory as rows of SQLite and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

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
UPDATE = f"UPDATE memory SET {', '.join(f'{c} = ?' for c in _STORED[2:])} WHERE key = ?"
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
    emotion, source, text = memory.emotion, memory.source, memory.searchable
    rest = {
        "keywords": memory.keywords,
        "valence": emotion.valence,
        "arousal": emotion.arousal,
        "tags": emotion.tags,
        "uri": source.uri,
        "archive_reason": memory.archive_reason,
    }
    return (
        *(micros(getattr(memory, name)) for name in _TIMES),
        *(getattr(memory, name) for name in _PLAIN),
        str(memory.kind),
        str(memory.category) if memory.category else None,
        int(memory.level),
        emotion.intensity,
        int(memory.protected),
        str(memory.privacy),
        *(source.session, source.turn, source.speaker, str(memory.trust)),
        *(tokens, len(text), int(asks(text))),
        memory.digest,
        json.dumps(rest, ensure_ascii=False, separators=(",", ":")),
    )


def _memory(row: Sequence[Any], texts: Mapping[int, dict[Level, Text]]) -> Memory:
    key, *columns, rest_json = row
    values = dict(zip((*_COLUMNS, *_SOURCE), columns, strict=True))
    rest = json.loads(rest_json)
    fields: dict[str, Any] = {name: moment(values[name]) for name in _TIMES}
    fields |= {name: values[name] for name in _PLAIN}
    return Memory(
        **fields,
        texts=texts.get(key, {}),
        kind=Kind(values["kind"]),
        category=Category(values["category"]) if values["category"] else None,
        level=Level(values["level"]),
        emotion=Emotion(values["intensity"], Valence(rest["valence"]), rest["arousal"], tuple(rest["tags"])),
        keywords=tuple(rest["keywords"]),
        trust=Trust(values["trust"]),
        privacy=Privacy(values["privacy"]),
        source=Source(values["session"], values["turn"], values["speaker"], rest["uri"]),
        protected=bool(values["protected"]),
        archive_reason=rest["archive_reason"],
    )


def _texts_of(db: apsw.Connection, keys: Sequence[int]) -> dict[int, dict[Level, Text]]:
    texts: dict[int, dict[Level, Text]] = {}
    one = len(keys) == 1  # the common case when writing; no list to unpack
    among = "= ?" if one else "IN (SELECT value FROM json_each(?))"
    if keys:
        sql = f"SELECT key, level, trigger, content FROM text WHERE key {among} ORDER BY key, level"
        for key, level, trigger, content in ask(db, sql, (keys[0] if one else json.dumps(list(keys)),)):
            texts.setdefault(key, {})[Level(level)] = Text(trigger, content)
    return texts
