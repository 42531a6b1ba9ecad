"""Convert a memory to plain JSON and back: the one format for journal, export and `--json`.

`to_record` is canonical: the same memory gives the same record. `from_record` checks everything, because
people and other programs write such files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from nagori.core.model import (
    ARCHIVE_REASONS,
    LARGEST_TOLD,
    NO_CREDIT,
    Category,
    Credit,
    Emotion,
    Kind,
    Level,
    Memory,
    Privacy,
    Relation,
    RelationType,
    Source,
    TaskOutcome,
    Text,
    Trust,
    utc,
)
from nagori.core.value_object import read_metadata
from nagori.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Record = dict[str, Any]


TIMES = (
    "created",
    "anchor",
    "recalled_at",
    "reinforced_at",
    "archived_at",
    "keep_until",
    "revival_at",
    "forgotten_at",
)
PLAIN = (
    "id",
    "coefficient",
    "project",
    "agent",
    "role",
    "protected",
    "mentions",
    "recalls",
    "superseded_by",
    "appraised_by",
    "archive_reason",
    "version",
    "task",
)
RENAMED = {"judged_by": "appraised_by", "strengthened_at": "reinforced_at"}  # as version 0.1 wrote them
ENUMS: dict[str, Callable[[Any], Any]] = {"kind": Kind, "trust": Trust, "privacy": Privacy}


def to_record(memory: Memory) -> Record:
    """`memory` as JSON-ready data, without empty values."""
    record: Record = {name: getattr(memory, name) for name in PLAIN}
    record |= {name: _iso(getattr(memory, name)) for name in TIMES}
    record |= {name: str(getattr(memory, name)) for name in ENUMS}
    source = memory.source
    record["level"] = int(memory.level)
    record["category"] = str(memory.category) if memory.category else None
    record["outcome"] = str(memory.outcome) if memory.outcome else None
    record["credit"] = list(memory.credit) if memory.credit != NO_CREDIT else None
    record["keywords"] = list(memory.keywords)
    record["texts"] = {
        str(int(level)): {"trigger": text.trigger, "content": text.content}
        for level, text in sorted(memory.texts.items())
    }
    record["emotion"] = emotion_record(memory.emotion)
    record["source"] = _without_none(
        session=source.session, turn=source.turn, speaker=source.speaker, uri=source.uri
    )
    if memory.metadata:  # empty metadata is omitted, as in older records
        record["metadata"] = {key: memory.metadata[key] for key in sorted(memory.metadata)}
    return _without_none(**record)


def from_record(record: object) -> Memory:
    """The memory of a record; InvalidInput names the first wrong field."""
    if not isinstance(record, Mapping):
        raise InvalidInput("memory", "error.not_object")
    fields: dict[str, Any] = {}
    if not RENAMED.keys().isdisjoint(record):
        record = {RENAMED.get(name, name): value for name, value in record.items()}
    for name in PLAIN:
        if record.get(name) is not None:
            fields[name] = _plain(name, record[name])
    for name in TIMES:
        if record.get(name) is not None:
            fields[name] = _time(name, record[name])
    for name, enum in ENUMS.items():
        if record.get(name) is not None:
            fields[name] = _choice(name, enum, record[name])
    if record.get("category") is not None:
        fields["category"] = _choice("category", Category, record["category"])
    if record.get("outcome") is not None:
        fields["outcome"] = _choice("outcome", TaskOutcome, record["outcome"])
    if record.get("credit") is not None:
        fields["credit"] = read_credit(record["credit"])
    fields["level"] = _choice("level", Level, record.get("level", 1))
    fields["texts"] = _texts(record.get("texts"))
    fields["emotion"] = _part("emotion", Emotion, record.get("emotion", {}))
    fields["source"] = _part("source", Source, record.get("source", {}))
    fields["keywords"] = _strings("keywords", record.get("keywords", ()))
    fields["metadata"] = read_metadata(record.get("metadata", {}), "memory.metadata")
    for name in ("id", "created"):
        if name not in fields:
            raise InvalidInput(f"memory.{name}", "error.missing")
    fields.setdefault("anchor", fields["created"])
    return Memory(**fields)


def read_credit(value: object) -> Credit:
    """The credit of a list of its numbers."""
    if not isinstance(value, list | tuple) or len(value) != len(NO_CREDIT._names):
        raise InvalidInput("memory.credit", "error.not_numbers")
    return Credit(*value)


def emotion_record(emotion: Emotion) -> Record:
    return {
        "intensity": emotion.intensity,
        "valence": str(emotion.valence),
        "arousal": emotion.arousal,
        "tags": list(emotion.tags),
    }


def relation_record(relation: Relation) -> Record:
    return {"source": relation.source, "target": relation.target, "type": str(relation.type)}


def relation_of(source: str, data: Mapping[str, Any]) -> Relation:
    return Relation(
        _plain("source", source),
        _plain("target", data.get("target")),
        _choice("type", RelationType, data.get("type")),
    )


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _without_none(**values: Any) -> Record:
    return {name: value for name, value in values.items() if value is not None}


_NUMBERS = {"coefficient": float, "mentions": int, "recalls": int, "version": int}


def _plain(name: str, value: object) -> Any:
    if name in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidInput(f"memory.{name}", "error.not_number", value=value)
        if not 0 <= value <= LARGEST_TOLD or (name == "coefficient" and not 0 < value <= 1):
            raise InvalidInput(f"memory.{name}", "error.out_of_range", value=value)
        return _NUMBERS[name](value)
    if name == "protected":
        if not isinstance(value, bool):
            raise InvalidInput("memory.protected", "error.not_bool", value=value)
        return value
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"memory.{name}", "error.not_text", value=value)
    return ARCHIVE_REASONS.get(value, value) if name == "archive_reason" else value


def _time(name: str, value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(value)  # type: ignore[arg-type]
        return utc(moment, f"memory.{name}")
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"memory.{name}", "error.not_iso_time", value=value) from None


def _choice(name: str, enum: Callable[[Any], Any], value: object) -> Any:
    try:
        return enum(value)
    except (ValueError, TypeError):
        raise InvalidInput(f"memory.{name}", "error.not_member", value=value) from None


def _texts(value: object) -> dict[Level, Text]:
    if not isinstance(value, Mapping) or not value:
        raise InvalidInput("memory.texts", "error.missing")
    texts = {}
    for key, text in value.items():
        level = _choice("texts", lambda k: Level(int(k)), key)
        if not isinstance(text, Mapping):
            raise InvalidInput("memory.texts", "error.level_not_object", level=key)
        texts[level] = Text(
            *(_string(f"texts.{half}", text.get(half, "")) for half in ("trigger", "content"))
        )
    return texts


def _part(name: str, make: Callable[..., Any], value: object) -> Any:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"memory.{name}", "error.not_object")
    values = dict(value)
    if "tags" in values:
        values["tags"] = _strings(f"{name}.tags", values["tags"])
    try:
        return make(**values)
    except TypeError:
        raise InvalidInput(
            f"memory.{name}", "error.unknown_fields", names=", ".join(map(str, values))
        ) from None


def _strings(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise InvalidInput(f"memory.{name}", "error.not_texts")
    return tuple(value)


def _string(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"memory.{name}", "error.not_text", value=value)
    return value
