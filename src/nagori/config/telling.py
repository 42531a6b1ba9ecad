"""The configuration tells about itself: the reference page, `nagori config`, the JSON schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from typing import Any, NamedTuple

from nagori.config import NOT_KEYS, Config, Loaded
from nagori.config.reading import TYPES
from nagori.core.knobs import leaves


class Setting(NamedTuple):
    """One line of the reference page."""

    key: str
    type: str
    default: object
    bounds: str
    doc: str


def describe() -> list[Setting]:
    """Every setting with its type, default, bounds and meaning."""
    return [
        Setting(key, TYPES[it.type].words, default, _bounds(it.metadata), it.metadata["doc"])
        for key, it, default in leaves(Config())
    ]


def rows(loaded: Loaded) -> list[tuple[str, object, str]]:
    """(key, value, origin) of every setting, for `nagori config`."""
    return [(key, value, loaded.origins[key]) for key, _, value in leaves(loaded.config)]


def schema() -> dict[str, Any]:
    """The JSON schema of a configuration file (draft 2020-12)."""
    whole = _schema(Config())
    whole["properties"] |= {key: {"type": "string"} for key in NOT_KEYS}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "nagori", **whole}


def _schema(section: Any) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for it in fields(section):
        value = getattr(section, it.name)
        properties[it.name] = _schema(value) if is_dataclass(value) else _leaf_schema(it, value)
    about = (type(section).__doc__ or "").partition("\n")[0]
    return {"type": "object", "description": about, "additionalProperties": False, "properties": properties}


def _leaf_schema(it: Field[Any], default: object) -> dict[str, Any]:
    words = {"minimum": "lo", "maximum": "hi", "enum": "choices", "description": "doc"}
    told = {word: it.metadata[name] for word, name in words.items() if it.metadata[name] is not None}
    shown = list(default) if isinstance(default, tuple) else default
    return TYPES[it.type].schema | {"default": shown} | told


def _bounds(meta: Mapping[str, Any]) -> str:
    if meta["choices"]:
        return " | ".join(meta["choices"])
    return "" if meta["lo"] is None else f"{meta['lo']:g} to {meta['hi']:g}"
