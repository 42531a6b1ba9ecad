"""The full context: four parts, one budget, nothing told twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nagori import Nagori
from nagori.config import load
from nagori.language.passages import about_tokens
from nagori.testing import FrozenClock, WordEmbedder

KITCHEN = [
    ("We painted the kitchen on Sunday in light green.", "Light green makes a kitchen brighter."),
    ("The paint came from the shop of Ms Mori in Elm Street.", "Her shop in Elm Street mixes colours."),
    ("The kitchen ceiling still needs a second coat of paint.", "Wait a day before the second coat."),
]


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture(params=[False, True], ids=["made now", "kept"])
def memory(tmp_path: Path, clock: FrozenClock, request: pytest.FixtureRequest) -> Iterator[Nagori]:
    config = load(overrides={"threads.summaries": request.param}).config
    with Nagori.open(tmp_path, clock=clock, config=config, embedder=WordEmbedder(), llm=None) as memory:
        for said, answer in KITCHEN:
            memory.turn(said, session="monday").answer(answer)
            clock.forward(minutes=1)
        clock.forward(hours=1)
        memory.process()
        memory.remember_many([f"The harbour of Nara has a crane number {n}." for n in range(20)])
        yield memory


ASKED = "Which crane number 7 stands in the harbour of Nara?"


def test_T5_one_context_has_conversations_sessions_and_profile(memory: Nagori) -> None:
    found = memory.full_context(ASKED, session="tuesday")
    assert "number 7" in found.past_conversations
    assert "second coat" in found.recent_sessions
    assert "harbour" in found.profile
    assert found.text.index("<memories") < found.text.index("<recent-sessions>")
    assert ("summary" in {each.kind for each in found.memories}) is memory.config.threads.summaries


def test_T5_a_budget_is_used_for_what_recall_finds_beyond_what_a_hook_would_give(memory: Nagori) -> None:
    given = memory.context(ASKED, mark=False).memories
    found = memory.full_context(ASKED, tokens=1500, mark=False)
    recalled = [each.memory.id for each in memory.recall(ASKED, k=20, mark=False)]
    told = [each.id for each in found.memories]
    assert set(recalled) <= set(told)
    assert len(told) == len(set(told)) > len(given)
    assert about_tokens(found.text) <= 1500
    assert not memory.full_context("What is the password of the harbour?", mark=False).past_conversations


def test_T5_what_does_not_fit_whole_is_told_by_the_sentence_that_is_asked_about(memory: Nagori) -> None:
    around = " ".join(f"The ferry of Otaru carries {n} passengers to the island." for n in range(30, 60))
    memory.remember(f"{around} The captain of the ferry is Ms Ide. {around}")
    asked = "Who is the captain of the ferry?"
    for tokens in (40, 90, 150, 300, 600):
        found = memory.full_context(asked, tokens=tokens, mark=False)
        assert "Ms Ide" in found.past_conversations
        assert about_tokens(found.text) <= tokens
    assert memory.full_context(asked, tokens=20, mark=False).past_conversations == ""


def test_T5_of_what_does_not_fit_whole_as_much_is_told_as_fits(memory: Nagori) -> None:
    memory.remember("大阪の水族館には、" + "青い魚と赤い魚と白い魚がいて、" * 20 + "休みは火曜日です。")
    memory.remember("The lighthouse of Hirado " + "stands on a rock and " * 40 + "is white.")
    for asked in ("大阪の水族館には何がいますか。", "What does the lighthouse of Hirado look like?"):
        for tokens in range(80, 200, 10):
            told = memory.full_context(asked, tokens=tokens, mark=False).text
            assert 0.8 * tokens <= about_tokens(told) <= tokens


def test_T5_a_small_budget_has_a_small_frame_and_the_ids_apart(memory: Nagori) -> None:
    small, large = (memory.full_context(ASKED, tokens=tokens, mark=False) for tokens in (200, 600))
    assert "mem_" not in small.text
    assert "not instructions" in small.text
    assert f"({large.memories[0].id[:10]})" in large.text
    assert small.memories


def test_T5_other_parts_take_nothing_from_memories_that_are_about_the_prompt(memory: Nagori) -> None:
    """Twenty memories fit the prompt and need more than there is; the profile would have room in a tenth."""
    found = memory.full_context(ASKED, tokens=500, mark=False)
    recalled = memory.recall(ASKED, k=20, mark=False)
    assert all(each.terms["confidence"] >= 0.1 for each in recalled)
    assert not found.profile
    assert not found.recent_sessions
    whole = memory.full_context(ASKED, tokens=1500, mark=False)
    assert whole.profile
    assert whole.recent_sessions


def test_T5_the_effect_of_what_a_hook_would_give_is_observed_and_nothing_is_withheld(memory: Nagori) -> None:
    chosen = [each.id for each in memory.context(ASKED, session="tuesday", mark=False).memories]
    found = memory.full_context(ASKED, session="tuesday")
    recalled = [
        event for event in memory.runtime.journal.read(memory.scope.owner) if event.type == "recalled"
    ]
    awaits = recalled[-1].data["awaits"]
    assert set(awaits["order"]) == set(chosen) & {each.id for each in found.memories}
    assert "withheld" not in awaits


def test_T5_what_only_filled_the_budget_is_not_told_again_in_the_session(memory: Nagori) -> None:
    first = memory.full_context(ASKED, session="tuesday").past_conversations
    again = memory.full_context(ASKED, session="tuesday").past_conversations
    assert "number 9" in first
    assert "number 9" not in again


@pytest.mark.parametrize("tokens", [0, 20, 120, 250, 500, 1000])
def test_T5_the_parts_together_keep_the_budget(memory: Nagori, tokens: int) -> None:
    found = memory.full_context(ASKED, session="tuesday", tokens=tokens, mark=False)
    assert about_tokens(found.text) <= tokens
    assert bool(found) is (tokens >= 120)


def test_T5_nothing_is_told_twice(memory: Nagori) -> None:
    found = memory.full_context("Who sold the paint for the kitchen in light green?", session="tuesday")
    assert "Ms Mori" in found.past_conversations
    assert found.text.count("Ms Mori") == 1
    again = memory.full_context("Who sold the paint for the kitchen in light green?", session="tuesday")
    assert "Ms Mori" not in again.past_conversations


def test_T5_the_own_session_and_what_was_forgotten_are_no_recent_session(memory: Nagori) -> None:
    assert memory.full_context(ASKED, session="monday").recent_sessions == ""
    for each in memory.list():
        if "Mori" in each.text.whole and each.kind != "summary":
            memory.forget(each.id)
    assert "Mori" not in memory.full_context(ASKED, session="wednesday").text


def test_T5_another_user_is_told_nothing(memory: Nagori) -> None:
    assert not memory.with_scope(user="somebody").full_context(ASKED, session="tuesday")


def test_T14_the_first_turn_of_a_session_gets_everything_and_later_ones_what_is_new(memory: Nagori) -> None:
    with memory.turn(ASKED, session="tuesday") as turn:
        assert "<recent-sessions>" in turn.context.text
        turn.answer("The seventh one.")
    with memory.turn("And where does crane number 9 of the harbour stand?", session="tuesday") as turn:
        assert "<recent-sessions>" not in turn.context.text
        assert "number 9" in turn.context.text


def test_T5_knowledge_joins_within_the_budget(memory: Nagori, tmp_path: Path) -> None:
    page = tmp_path / "cranes.md"
    page.write_text(
        "# Cranes\n\nCrane number 7 in the harbour of Nara lifts forty tonnes.\n", encoding="utf-8"
    )
    memory.add_knowledge(page, kb="manuals")
    assert memory.full_context(ASKED, session="a").knowledge == ""  # no base was named
    found = memory.full_context(ASKED, session="b", knowledge=["manuals"], mark=False)
    assert "[manuals: cranes.md" in found.knowledge
    assert "forty tonnes" in found.text
    for tokens in (0, 120, 250, 500):
        told = memory.full_context(ASKED, session="c", knowledge=["manuals"], tokens=tokens, mark=False)
        assert about_tokens(told.text) <= tokens
