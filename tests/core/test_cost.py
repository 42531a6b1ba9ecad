"""Costs: the worked example gives its own totals [E24]."""

import math

import pytest

from nagori.core.cost_estimate import Price, Tokens, Usage, bill, price_of, prices, stages
from nagori.core.levels import Compression
from nagori.core.value_object import replace

HAIKU = Price("claude-haiku-4-5", "llm", 1.00, 5.00)
SMALL = Price("text-embedding-3-small", "embedding", 0.02, 0.0)
DOCUMENT = stages(Usage(), Compression())  # the defaults are the appendix's premises


def rounded(tokens: Tokens) -> Tokens:
    """The appendix multiplies what it shows: millions with one place, halves rounded up."""
    return Tokens(*(math.floor(count / 1e5 + 0.5) * 1e5 for count in tokens))


@pytest.mark.parametrize(
    ("stage", "input", "output", "dollars"),
    [("formation", 120.5, 3.7, 139.00), ("summary", 102.4, 13.0, 167.40), ("trace", 8.4, 1.5, 15.90)],
)
def test_the_stages_are_those_of_the_appendix(
    stage: str, input: float, output: float, dollars: float
) -> None:
    shown = rounded(DOCUMENT[stage])
    assert (shown.input / 1e6, shown.output / 1e6) == pytest.approx((input, output))
    assert round(HAIKU.of(shown), 2) == dollars
    assert HAIKU.of(DOCUMENT[stage]) == pytest.approx(dollars, rel=0.005)


def test_the_totals_are_those_of_the_appendix() -> None:
    llm, vectors = (bill(price, Usage(), Compression()) for price in (HAIKU, SMALL))
    assert DOCUMENT["embedding"].input / 1e6 == pytest.approx(143.2, abs=0.05)
    assert round(vectors.year, 2) == 2.86
    as_shown = sum(HAIKU.of(rounded(DOCUMENT[stage])) for stage in ("formation", "summary", "trace"))
    assert round(as_shown, 2) == 322.30
    assert round(as_shown + vectors.year, 2) == 325.16
    assert llm.year == pytest.approx(322.30, rel=0.001)
    assert llm.year + vectors.year == pytest.approx(325.16, rel=0.001)
    assert round(llm.month + vectors.month) == 27
    assert llm.memory + vectors.memory == pytest.approx(325.16 / 36_500, rel=0.001)


def test_other_models_follow_from_the_same_tokens() -> None:
    # The appendix tells $1,225 and $1,735 for these, which its own tokens do not give at any price list we
    # know ($3/$15 and $5/$25): here stands what they do give.
    for model, dollars in (("claude-sonnet-4-5", 966.6), ("claude-opus-4-5", 1611.0)):
        price = price_of(model)
        assert price is not None
        assert bill(price, Usage(), Compression()).year == pytest.approx(dollars, abs=0.5)


def test_a_compression_costs_its_tokens() -> None:
    # 1,000 tokens read at $0.25 and 200 written at $1.25 a million make $0.0005.
    assert Price("haiku of old", "llm", 0.25, 1.25).of(Tokens(1000, 200)) == pytest.approx(0.0005)


def test_a_model_does_either_words_or_vectors() -> None:
    assert set(bill(HAIKU, Usage(), Compression()).stages) == {"formation", "summary", "trace"}
    assert set(bill(SMALL, Usage(), Compression()).stages) == {"embedding"}


def test_a_finer_tokeniser_costs_more() -> None:
    finer = replace(HAIKU, tokens=1.3)
    assert finer.of(Tokens(100, 10)) == pytest.approx(1.3 * HAIKU.of(Tokens(100, 10)))


def test_nothing_remembered_costs_nothing() -> None:
    nothing = bill(HAIKU, Usage(per_day=0), Compression())
    assert (nothing.year, nothing.month, nothing.memory) == (0, 0, 0)


def test_what_stays_whole_is_never_summed_up() -> None:
    whole = Compression(level1_ratio=1.0, level2_ratio=0.0, level3_ratio=0.0, delete_ratio=0.0)
    assert bill(HAIKU, Usage(), whole).stages["summary"] == 0


def test_every_price_has_a_date_a_source_and_a_sensible_number() -> None:
    assert len({price.model for price in prices()}) == len(prices()) >= 8
    for price in prices():
        assert price.does in ("llm", "embedding")
        assert 0 < price.input < 100
        assert price.output >= price.input or price.does == "embedding"
        assert len(price.date) == 10
        assert price.source
        assert "://" not in price.source
    assert price_of("nobody") is None
