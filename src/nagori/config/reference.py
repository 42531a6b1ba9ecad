"""Describe the configuration: for the reference page, `nagori config` and the JSON schema."""

from __future__ import annotations

from nagori.config import NOT_KEYS, Config, LoadedConfig
from nagori.config.loader import TYPES
from nagori.core.value_object import Setting, SettingLeaf, Value, fields_of, leaves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class SettingRow(Value):
    """One setting of the reference page."""

    key: str
    type: str
    default: object
    bounds: str
    doc: str


def describe() -> list[SettingRow]:
    """Every setting with its type, default, bounds and meaning."""
    return [
        SettingRow(key, TYPES[type].words, default, _bounds(knob), knob.doc)
        for key, type, knob, default in leaves(Config())
    ]


def rows(loaded: LoadedConfig) -> list[tuple[str, object, str]]:
    """(key, value, origin) of every setting, for `nagori config`."""
    return [(key, value, loaded.origins[key]) for key, _, _, value in leaves(loaded.config)]


def schema() -> dict[str, Any]:
    """The JSON schema of a configuration file (draft 2020-12)."""
    whole = _schema(Config())
    whole["properties"] |= {key: {"type": "string"} for key in NOT_KEYS}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "nagori", **whole}


def _schema(section: Any) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name in fields_of(section):
        value = getattr(section, name)
        properties[name] = _schema(value) if isinstance(value, Value) else {}
    for leaf in leaves(section):
        if leaf.key in properties:
            properties[leaf.key] = _leaf_schema(leaf)
    about = (type(section).__doc__ or "").partition("\n")[0]
    return {"type": "object", "description": about, "additionalProperties": False, "properties": properties}


def _leaf_schema(leaf: SettingLeaf) -> dict[str, Any]:
    knob, default = leaf.knob, leaf.value
    words = {"minimum": knob.lo, "maximum": knob.hi, "enum": knob.choices, "description": knob.doc}
    told = {word: value for word, value in words.items() if value is not None}
    shown = list(default) if isinstance(default, tuple) else default
    return TYPES[leaf.type].schema | {"default": shown} | told


def _bounds(knob: Setting) -> str:
    if knob.choices:
        return " | ".join(knob.choices)
    return "" if knob.lo is None else f"{knob.lo:g} to {knob.hi:g}"
