"""Small learned heads over the bundled embedder's vectors: a bias and one weight for each component.

Each head is a table `lexicon/NAME.tsv` of one line: the model it was learned for, the bias and the weights,
all in tenths. The scripts that learn them are in `bench/`. A table is read when first needed. Another such
table tells the language of a vector.
"""

from __future__ import annotations

from functools import cache
from operator import mul
from struct import pack, unpack

OWN_MATTER = 75.0  # without a vector a prompt counts as one about the user's own matters


def head_score(name: str, vector: bytes, model: str | None = None) -> float | None:
    """What the head makes of a vector; None if it was not learned for such vectors."""
    known, bias, weights = _head(name)
    if len(vector) != 4 * len(weights) or model not in (None, known):
        return None
    return bias + float(sum(map(mul, weights, unpack(f"<{len(weights)}f", vector))))


def own_matter(vector: bytes, model: str | None = None) -> float:
    """How likely a prompt is about the user's own matters, 0 to 100: somebody who asks for the capital of a
    country needs no memory. `bench/train_prompts.py` learned it from prompts written for it."""
    score = head_score("prompts", vector, model)
    return OWN_MATTER if score is None else max(0.0, min(100.0, score))


def in_other_language(vector: bytes, model: str) -> tuple[bytes, float] | None:
    """The vector of a question as if it were asked in the other language, English or Japanese, and what is to
    be added to its cosines; None for a model whose vectors are not known so well.

    Along one direction the bundled model's vectors tell little but the language. Memories in another language
    than the question are as far from it as unrelated ones, so the question is moved to their side.
    """
    known, middle, english, japanese, direction = _languages()
    if model != known or len(vector) != 4 * len(direction):
        return None
    numbers = unpack(f"<{len(direction)}f", vector)
    along = sum(map(mul, numbers, direction))
    target, offset = japanese if along > middle else english
    moved = target - along
    return pack(
        f"<{len(direction)}f", *(x + moved * y for x, y in zip(numbers, direction, strict=True))
    ), offset


Side = tuple[float, float]  # where questions of a language are, and what is added to their cosines


@cache
def _languages() -> tuple[str, float, Side, Side, tuple[float, ...]]:
    model, middle, english, japanese, direction = _read_table("languages").split("\t")
    sides = [tuple(int(part) / 10_000 for part in side.split(" ")) for side in (english, japanese)]
    numbers = tuple(int(part) / 10_000 for part in direction.split(" "))
    return model, int(middle) / 10_000, (sides[0][0], sides[0][1]), (sides[1][0], sides[1][1]), numbers


@cache
def _head(name: str) -> tuple[str, float, tuple[float, ...]]:
    model, bias, weights = _read_table(name).split("\t")
    return model, int(bias) / 10, tuple(int(weight) / 10 for weight in weights.split(" "))


def _read_table(name: str) -> str:
    """The only line of the table, read by this module's loader: `importlib.resources` is slow to import."""
    spec = __spec__
    assert spec is not None
    assert spec.origin is not None
    folder = spec.origin.removesuffix("learned_heads.py")
    data: bytes = spec.loader.get_data(f"{folder}lexicon/{name}.tsv")  # type: ignore[union-attr]
    return next(line for line in data.decode().splitlines() if line and not line.startswith("#"))
