"""Random conversations of every format, pruned: never over budget, never broken, never an exception."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.profiles import examples

from nagori import Config, Nagori
from nagori.core.window import STRATEGIES
from nagori.language.tokens import estimate_tokens
from nagori.services.window.formats import format_of
from nagori.testing.random_conversations import LIBRARIES, READ_AS, SCRIPTED, draw_history, faults

BUDGETS = (800, 1500, 3000, 8000)
MANY = 20_000


def wrong(memory: Nagori, draw: Random, name: str) -> list[str]:
    """What is wrong with a random conversation after pruning."""
    form = READ_AS.get(name, name)
    history, budget = draw_history(draw, name), draw.choice(BUDGETS)
    strategy = draw.choice(("scored", *STRATEGIES))
    done = memory.prune(history, format=form, budget=budget, strategy=strategy, remember=False)  # type: ignore[arg-type]
    sent = sum(each.tokens for each in format_of([], form).read(done.messages, estimate_tokens))
    over = [f"{sent} tokens of {budget}"] if sent > budget or sent > done.plan.tokens else []
    return over + (faults(history, done.messages, name) if done.was_pruned else [])


@pytest.fixture
def prune(tmp_path: Path) -> Iterator[Callable[[Random, str], list[str]]]:
    def pruned(draw: Random, name: str) -> list[str]:
        if name in LIBRARIES:
            reason = f"{LIBRARIES[name]} is not installed; `make test-frameworks` installs and runs it"
            pytest.importorskip(LIBRARIES[name], reason=reason)
        return wrong(memory, draw, name)

    with Nagori.open(tmp_path, config=Config(), embedder=None) as memory:
        yield pruned


@pytest.mark.parametrize("name", SCRIPTED)
def test_random_conversations_of_every_format_are_valid_after_pruning(
    prune: Callable[[Random, str], list[str]], name: str
) -> None:
    found = {seed: prune(Random(seed), name) for seed in range(15)}  # the first of thousands, below
    assert {seed: each for seed, each in found.items() if each} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTED)
def test_twenty_thousand_of_them_are(prune: Callable[[Random, str], list[str]], name: str) -> None:
    found = {seed: prune(Random(seed), name) for seed in range(MANY // len(SCRIPTED))}
    assert {seed: each for seed, each in found.items() if each} == {}


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    draw=st.integers(0, 2**64).map(Random),
    name=st.sampled_from([name for name in SCRIPTED if name not in LIBRARIES]),
)
def test_whatever_is_drawn_is_valid_after_pruning(
    prune: Callable[[Random, str], list[str]], draw: Random, name: str
) -> None:
    assert prune(draw, name) == []


def test_a_fault_would_be_found() -> None:
    history = draw_history(Random(3), "openai")
    calls = [at for at, message in enumerate(history) if message.get("tool_calls")]
    without = [message for at, message in enumerate(history) if at != calls[0]]
    assert any("without its call" in fault for fault in faults(history, without, "openai"))
    assert "out of order" in faults(history, history[::-1], "openai")
    assert any("lost" in fault for fault in faults(history, history[1:], "openai"))
    spoken = draw_history(Random(3), "anthropic")
    assert "turns do not alternate" in faults(spoken, [spoken[0], spoken[0], *spoken[1:]], "anthropic")
    assert any("begins" in fault for fault in faults(spoken, spoken[1:], "anthropic"))
