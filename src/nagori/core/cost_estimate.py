"""Estimate the yearly cost of models, by stage [E24, L12].

    formation   every memory is read once, and its emotion named
    summary     what leaves level 1 is read, and a summary written       (1→2)
    trace       what leaves level 2 is read, and keywords written        (2→3)
    embedding   every stored text, and one question per memory, becomes a vector

The number of memories that leave a level follows from the shares in `compression`. It is an estimate, and
prices change; each price has a date.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from nagori.core.levels import Compression
from nagori.core.value_object import Value, default_factory

DAYS = 365
MONTHS = 12
MILLION = 1_000_000
FEELING = 100  # tokens of an answer that names an emotion: 3.7 million for 36,500 memories
STAGES = ("formation", "summary", "trace", "embedding")


class Usage(Value):
    """The number and size of memories, in characters. The defaults are those of the worked example in the
    tests."""

    per_day: float = 100.0
    full: float = 2200.0  # of a memory at level 1, trigger and content
    summary: float = 280.0
    trace: float = 50.0
    question: float = 150.0
    tokens_a_character: float = 1.5


class Tokens(Value):
    """Input and output tokens of a stage in a year."""

    input: float
    output: float


class Price(Value):
    """US dollars per million tokens. `tokens` is the model's token count relative to the reference
    tokeniser."""

    model: str
    does: str  # "llm" or "embedding"
    input: float
    output: float
    tokens: float = 1.0
    date: str = ""
    source: str = ""

    def of(self, tokens: Tokens) -> float:
        """The cost of this many tokens."""
        return self.tokens * (tokens.input * self.input + tokens.output * self.output) / MILLION


class Bill(Value):
    """The cost of one model for a year in US dollars, by stage."""

    price: Price
    memories: float
    stages: Mapping[str, float] = default_factory(dict)

    @property
    def year(self) -> float:
        return sum(self.stages.values())

    @property
    def month(self) -> float:
        return self.year / MONTHS

    @property
    def memory(self) -> float:
        """The cost of one memory, from formation to trace."""
        return self.year / self.memories if self.memories else 0.0


@cache
def prices() -> tuple[Price, ...]:
    """The price table (`prices.tsv`), in its order."""
    from importlib.resources import files

    lines = files("nagori.core").joinpath("prices.tsv").read_text("utf-8").splitlines()
    return tuple(_price(*line.split("\t")) for line in lines if line and not line.startswith("#"))


def price_of(model: str) -> Price | None:
    """The price of a model by its name; None if the table does not have it."""
    return next((price for price in prices() if price.model == model), None)


def stages(usage: Usage, shares: Compression) -> dict[str, Tokens]:
    """Input and output tokens of each stage in a year."""
    born = usage.per_day * DAYS
    summarised = born * (1 - shares.level1_ratio)
    traced = born * (1 - shares.level1_ratio - shares.level2_ratio)
    full, summary, trace, question = (
        size * usage.tokens_a_character for size in (usage.full, usage.summary, usage.trace, usage.question)
    )
    embedded = born * (full + question) + summarised * summary + traced * trace
    return {
        "formation": Tokens(born * full, born * FEELING),
        "summary": Tokens(summarised * full, summarised * summary),
        "trace": Tokens(traced * summary, traced * trace),
        "embedding": Tokens(embedded, 0),
    }


def bill(price: Price, usage: Usage, shares: Compression) -> Bill:
    """The cost of a model for the stages it supports."""
    told = {
        name: price.of(tokens)
        for name, tokens in stages(usage, shares).items()
        if (name == "embedding") == (price.does == "embedding")
    }
    return Bill(price, usage.per_day * DAYS, told)


def _price(model: str, does: str, into: str, out: str, tokens: str, date: str, source: str) -> Price:
    return Price(model, does, float(into), float(out), float(tokens), date, source)
