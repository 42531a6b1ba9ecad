"""How a setting is declared: a dataclass field that carries its own bounds and its own sentence.

Sections are frozen dataclasses that stand beside the formulas they steer; `nagori.config` collects them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple


def knob(
    default: Any,
    doc: str,
    *,
    lo: float | None = None,
    hi: float | None = None,
    choices: tuple[str, ...] | None = None,
) -> Any:
    """A setting with its default, meaning and bounds (inclusive)."""
    meta = {"doc": doc, "lo": lo, "hi": hi, "choices": choices}
    if isinstance(default, dict | list):
        return dataclasses.field(default_factory=lambda: deepcopy(default), metadata=meta)
    return dataclasses.field(default=default, metadata=meta)


class Leaf(NamedTuple):
    """One single setting."""

    key: str  # dotted
    declared: dataclasses.Field[Any]
    value: object


def leaves(section: Any, prefix: str = "") -> Iterator[Leaf]:
    """Every single setting below `section`."""
    for declared in dataclasses.fields(section):
        value = getattr(section, declared.name)
        if dataclasses.is_dataclass(value):
            yield from leaves(value, f"{prefix}{declared.name}.")
        else:
            yield Leaf(prefix + declared.name, declared, value)


def faults(section: Any, prefix: str) -> Iterator[str]:
    """Every value of `section` that is outside its knob's bounds, in words."""
    for field in dataclasses.fields(section):
        value, meta = getattr(section, field.name), field.metadata
        name = f"{prefix}.{field.name}"
        if dataclasses.is_dataclass(value):
            yield from faults(value, name)
        elif meta.get("choices") and value not in meta["choices"]:
            yield f"{name}: {value!r} is none of {', '.join(meta['choices'])}"
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield from _out_of_bounds(name, value, meta.get("lo"), meta.get("hi"))


def _out_of_bounds(name: str, value: float, lo: float | None, hi: float | None) -> Iterator[str]:
    if value != value:
        yield f"{name}: not a number"
    elif lo is not None and value < lo:
        yield f"{name}: {value} is below {lo}"
    elif hi is not None and value > hi:
        yield f"{name}: {value} is above {hi}"
