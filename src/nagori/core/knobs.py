"""How a setting is declared: a field that carries its own bounds and its own sentence.

Sections are plain values that stand beside the formulas they steer; `nagori.config` collects them.
"""

from __future__ import annotations

from collections.abc import Iterator

from nagori.core.values import Knob, Value, fresh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def knob(
    default: Any,
    doc: str,
    *,
    lo: float | None = None,
    hi: float | None = None,
    choices: tuple[str, ...] | None = None,
) -> Any:
    """A setting with its default, meaning and bounds (inclusive)."""
    if isinstance(default, dict | list):  # no two sections share one table
        from copy import deepcopy
        from functools import partial

        default = fresh(partial(deepcopy, default))
    return Knob(default, doc, lo, hi, choices)


class Leaf(Value):
    """One single setting."""

    key: str  # dotted
    type: str  # as it is written in the section
    knob: Knob
    value: object


def leaves(section: Value, prefix: str = "") -> Iterator[Leaf]:
    """Every single setting below `section`."""
    for name in section._names:
        value = getattr(section, name)
        if isinstance(value, Value):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield Leaf(prefix + name, type(section).__annotations__[name], section._knobs[name], value)


def faults(section: Value, prefix: str) -> Iterator[str]:
    """Every value of `section` that is outside its knob's bounds, in words."""
    for key, _, knob, value in leaves(section, f"{prefix}."):
        if knob.choices and value not in knob.choices:
            yield f"{key}: {value!r} is none of {', '.join(knob.choices)}"
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield from _out_of_bounds(key, value, knob)


def _out_of_bounds(name: str, value: float, knob: Knob) -> Iterator[str]:
    if value != value:
        yield f"{name}: not a number"
    elif knob.lo is not None and value < knob.lo:
        yield f"{name}: {value} is below {knob.lo}"
    elif knob.hi is not None and value > knob.hi:
        yield f"{name}: {value} is above {knob.hi}"
