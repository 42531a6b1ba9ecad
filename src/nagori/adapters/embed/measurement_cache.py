"""Saved data about embedding models: their settings and their measured cosines.

One small file in the data folder, by model name. It holds no key, and losing it costs a measurement.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from nagori.config.sections import Embedding
from nagori.core.value_object import Value, fields_of
from nagori.files import open_private

FILE = "embedders.json"


class Facts(Value):
    """`unrelated`: mean and spread of the cosines of unrelated texts. `answers_as`: the model's own name; if
    it changes, the vectors have changed."""

    dimension: int
    unrelated: tuple[float, float]
    answers_as: str = ""


def facts_of(folder: Path | None, model: str) -> Facts | None:
    """The saved data of a model; None if it was never used here."""
    known = _read(folder).get(model, {})
    try:
        mean, spread = map(float, known["unrelated"])
        facts = Facts(int(known["dimension"]), (mean, spread), str(known["answers_as"]))
    except (KeyError, TypeError, ValueError):
        return None
    return facts if -1 <= mean <= 1 and 0 < spread <= 1 and facts.dimension > 0 else None


def recipe_of(folder: Path | None, model: str) -> Embedding | None:
    """The settings that `model` was opened with."""
    recipe = _read(folder).get(model, {}).get("recipe")
    if not isinstance(recipe, dict):
        return None
    usual = Embedding()
    given = {name: value for name, value in recipe.items() if name in fields_of(usual)}
    if any(type(value) is not type(getattr(usual, name)) for name, value in given.items()):
        return None
    return Embedding(**given)


def note(folder: Path | None, model: str, facts: Facts, recipe: Embedding) -> None:
    """Save the data atomically. A folder that cannot be written is not an error."""
    if folder is None:
        return
    known = {
        "recipe": {name: getattr(recipe, name) for name in fields_of(recipe)},
        "dimension": facts.dimension,
        "unrelated": list(facts.unrelated),
        "answers_as": facts.answers_as,
    }
    unfinished = folder / f"{FILE}.{os.getpid()}"
    try:
        with os.fdopen(
            open_private(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8"
        ) as file:
            json.dump({**_read(folder), model: known}, file, ensure_ascii=False, indent=1)
        unfinished.replace(folder / FILE)
    except OSError:
        unfinished.unlink(missing_ok=True)


def _read(folder: Path | None) -> dict[str, dict[str, Any]]:
    try:
        known = json.loads((folder / FILE).read_bytes()) if folder else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return (
        {name: facts for name, facts in known.items() if isinstance(facts, dict)}
        if isinstance(known, dict)
        else {}
    )
