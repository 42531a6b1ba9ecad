"""What a prompt is given is explained: the same block, why each memory, and what was left out and why."""

import pytest

from nagori import Nagori
from nagori.core.value_object import replace
from nagori.services.explain_ranking_and_context import TOLD
from nagori.testing import WordEmbedder


@pytest.fixture
def told(memory: Nagori) -> Nagori:
    for text in (
        "The staging server listens on port 8443.",
        "The deploy key of staging is kept in the vault.",
        "Lunch was curry with rice.",
    ):
        memory.remember(text)
    return memory


def test_the_explanation_has_exactly_what_the_hook_gives(told: Nagori) -> None:
    prompt = "Which port does the staging server use?"
    given = told.context(prompt, mark=False)
    explained = told.explain_context(prompt)
    assert given.text
    assert explained.context == given
    assert [c.memory.id for c in explained.candidates if c.outcome == TOLD] == [m.id for m in given.memories]


def test_every_candidate_says_why_and_those_told_have_tokens(told: Nagori) -> None:
    explained = told.explain_context("Which port does the staging server use?")
    best = next(c for c in explained.candidates if "8443" in c.memory.text.content)
    assert best.outcome == TOLD
    assert best.reasons
    pieces = sum(candidate.tokens for candidate in explained.candidates)
    assert 0 < pieces <= explained.tokens
    assert all(c.tokens == 0 for c in explained.candidates if c.outcome != TOLD)


def test_explaining_records_nothing(told: Nagori) -> None:
    before = told.status().events
    told.explain_context("Which port does the staging server use?", session="s")
    assert told.status().events == before


def test_what_was_shown_in_the_session_is_left_out_and_says_so(told: Nagori) -> None:
    prompt = "Which port does the staging server use?"
    shown = {memory.id for memory in told.context(prompt, session="s").memories}
    explained = told.explain_context(prompt, session="s")
    outcomes = {c.memory.id: c.outcome for c in explained.candidates}
    assert {outcomes[id] for id in shown} == {"shown"}


@pytest.mark.parametrize(
    ("prompt", "silent"),
    [
        ("ok", "no_question"),
        ("What is my password for the bank?", "secret"),
        ("How do volcanoes erupt?", "unsure"),
    ],
)
def test_silence_says_why(told: Nagori, prompt: str, silent: str) -> None:
    explained = told.explain_context(prompt)
    assert explained.silent == silent
    assert not explained.context


def test_an_empty_memory_finds_nothing(memory: Nagori) -> None:
    assert memory.explain_context("Which port does staging use?").silent == "nothing_found"


def test_words_of_time_are_told_as_understood(told: Nagori) -> None:
    time = told.explain_context("What did we decide yesterday about staging?").time
    assert time is not None
    assert time.phrase == "yesterday"
    assert time.certain


def test_what_does_not_fit_the_budget_is_told(told: Nagori) -> None:
    prompt = "Which port does the staging server use, and where is its deploy key?"
    whole = told.explain_context(prompt)
    assert [c.outcome for c in whole.candidates].count(TOLD) == 2
    tight = replace(told.config.retrieval, token_budget=whole.tokens - 1)
    config = replace(told.config, retrieval=tight)
    with Nagori.open(
        told.runtime.data_dir, config=config, clock=told.runtime.clock, embedder=WordEmbedder()
    ) as other:
        outcomes = [c.outcome for c in other.explain_context(prompt).candidates]
    assert outcomes.count(TOLD) == 1
    assert outcomes.count("budget") == 1
