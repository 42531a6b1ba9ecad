"""Threads on a real memory: summaries, working memory, one call for a turn, and a kill anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nagori import Filter, Kind, Memory, Nagori, Scope
from nagori.config import load
from nagori.core.model import is_thread_summary
from nagori.core.threads import ThreadEnd
from nagori.testing import FailingPart, FrozenClock, WordEmbedder

KITCHEN = [
    ("We painted the kitchen on Sunday in light green.", "Light green makes a kitchen brighter."),
    ("The paint came from the shop of Ms Mori.", "Her shop in Elm Street mixes colours."),
    ("The kitchen ceiling still needs a second coat of paint.", "Wait a day before the second coat."),
]
TRIP = [
    ("By the way, I booked the night train to Vienna for 3 May.", "The night train leaves at 21:40."),
    ("My brother Ken meets me in Vienna at the station.", "Vienna has two large stations."),
]


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


def opened(folder: Path, clock: FrozenClock, **settings: object) -> Nagori:
    """A memory that keeps summaries of threads."""
    named = {name.replace("__", "."): value for name, value in settings.items()}
    config = load(overrides={"threads.summaries": True} | named).config
    return Nagori.open(folder, clock=clock, config=config, embedder=WordEmbedder(), llm=None)


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Nagori]:
    with opened(tmp_path, clock) as memory:
        yield memory


def talk(memory: Nagori, clock: FrozenClock, exchanges: list[tuple[str, str]], session: str = "s") -> None:
    for said, answer in exchanges:
        turn = memory.turn(said, session=session)
        clock.forward(seconds=20)
        turn.answer(answer)
        clock.forward(seconds=20)


def summaries(memory: Nagori) -> list[Memory]:
    return [each for each in memory.list(Filter(kinds=frozenset({Kind.SUMMARY}))) if is_thread_summary(each)]


def quoted_by(memory: Nagori, summary: Memory) -> Memory:
    """One of the memories that a summary quotes."""
    pairs = memory.runtime.store.origins(memory.scope.owner, [summary.id])
    return memory.show(next(id for id, _ in pairs if id != summary.id))


def test_T1_working_memory_holds_twelve_turns_and_counts_speakers(memory: Nagori, clock: FrozenClock) -> None:
    for n in range(15):
        memory.turn(f"Brick {n} of the wall is laid.", session="s", speaker=("lumina", "nox")[n % 2])
        clock.forward(seconds=5)
    view = memory.working_memory("s")
    assert [turn.text for turn in view.turns] == [f"Brick {n} of the wall is laid." for n in range(3, 15)]
    assert (view.speakers, view.flushed) == ({"lumina": 8, "nox": 7}, 3)
    clock.forward(minutes=10)
    assert memory.working_memory("s").turns == ()


def test_T2_threads_end_by_cue_and_by_pause_and_say_why(memory: Nagori, clock: FrozenClock) -> None:
    talk(memory, clock, KITCHEN + TRIP)
    assert [(len(t.thread.turns), t.thread.end) for t in memory.threads("s")] == [
        (6, ThreadEnd.CUE),
        (4, None),
    ]
    clock.forward(minutes=10)
    assert memory.threads()[-1].thread.end is ThreadEnd.IDLE
    [session] = memory.sessions()
    assert (session.session, session.turns, session.threads) == ("s", 10, 2)


def test_T2_threads_by_the_rule_of_the_original_design(tmp_path: Path, clock: FrozenClock) -> None:
    with opened(tmp_path, clock, threads__boundary="literal") as memory:
        talk(memory, clock, [("The red kettle leaks.", "The red kettle leaks again.")] * 2)
        talk(memory, clock, [("Snow fell over Norway yesterday.", "Yesterday snow fell over Norway.")])
        ends = [(len(t.thread.turns), t.thread.end) for t in memory.threads("s")]
    assert ends == [(4, ThreadEnd.TOPIC), (2, None)]


def test_T3_an_ended_thread_becomes_a_summary_with_keywords_and_a_vector(
    memory: Nagori, clock: FrozenClock
) -> None:
    talk(memory, clock, KITCHEN)
    memory.process()
    assert summaries(memory) == []  # it is still open
    clock.forward(minutes=10)
    memory.process()
    [summary] = summaries(memory)
    assert "kitchen" in summary.text.content
    assert len(summary.keywords) > 2
    assert memory.status().counts.unembedded == 0
    assert quoted_by(memory, summary).text.whole
    assert memory.threads("s")[0].memory == summary.id
    memory.process()
    assert summaries(memory) == [summary]


def test_T3_japanese_threads_have_japanese_summaries(memory: Nagori, clock: FrozenClock) -> None:
    talk(memory, clock, [("台所の壁を日曜に薄い緑に塗りました。", "薄い緑だと台所が明るくなりますね。")])
    talk(memory, clock, [("塗料は森さんの店で買いました。", "森さんの店は色を混ぜてくれます。")])
    talk(memory, clock, [("ところで、車検は来月の三日です。", "予約は済みましたか。")])
    memory.process()
    [summary] = summaries(memory)
    assert "台所" in summary.text.content
    assert "車検" not in summary.text.content


def test_T14_a_turn_is_one_call(memory: Nagori, clock: FrozenClock) -> None:
    memory.remember("The staging server listens on port 8443.")
    with memory.turn("Which port does the staging server listen on?", session="s") as turn:
        assert "8443" in turn.context.text
        turn.answer("It listens on 8443.")
    assert memory.process() == 0  # everything is formed
    with pytest.raises(ValueError, match="model"), memory.turn("I moved to Nara in March.", session="s"):
        raise ValueError("the model is down")
    assert memory.process() == 1  # the turn was kept
    assert memory.recall("Where did I move?")


def test_what_is_forgotten_or_corrected_leaves_the_summary_at_once(
    memory: Nagori, clock: FrozenClock
) -> None:
    talk(memory, clock, KITCHEN)
    clock.forward(minutes=10)
    memory.process()
    [summary] = summaries(memory)
    assert summary.id in {found.id for found in memory.recall("kitchen paint light green", 10)}
    quoted = quoted_by(memory, summary)
    memory.forget(quoted.id)
    assert summary.id not in {found.id for found in memory.recall("kitchen paint light green", 10)}
    memory.undo(quoted.id)
    assert summary.id in {found.id for found in memory.recall("kitchen paint light green", 10)}
    memory.edit(quoted.id, privacy="private")
    assert summary.id not in {found.id for found in memory.recall("kitchen paint light green", 10)}


def test_a_summary_leaves_out_what_was_forgotten_before_it_was_made(
    memory: Nagori, clock: FrozenClock
) -> None:
    talk(memory, clock, KITCHEN)
    memory.process()
    [mori] = [each for each in memory.list() if "Mori" in each.text.whole]
    memory.forget(mori.id)
    clock.forward(minutes=10)
    memory.process()
    [summary] = summaries(memory)
    assert "Mori" not in summary.text.content
    assert not any("Mori" in word for word in summary.keywords)


def test_erasing_a_memory_erases_the_summary_that_quotes_it_and_no_other_turn(
    memory: Nagori, clock: FrozenClock
) -> None:
    talk(memory, clock, KITCHEN)
    clock.forward(minutes=10)
    memory.process()
    [summary] = summaries(memory)
    quoted = quoted_by(memory, summary)
    before = len(memory.threads("s")[0].thread.turns)
    plan = memory.plan_erasure(memory=quoted.id)
    assert summary.id in plan.memories
    memory.erase(plan)
    assert summaries(memory) == []
    memory.process()
    assert summaries(memory) == []
    assert before - sum(len(each.thread.turns) for each in memory.threads("s")) == len(plan.turns) == 2


def test_a_summary_is_as_private_as_what_it_quotes(tmp_path: Path, clock: FrozenClock) -> None:
    with opened(tmp_path, clock) as memory:
        nox = memory.with_scope(agent="nox")
        talk(nox, clock, KITCHEN)
        nox.process()
        for each in nox.list():
            nox.edit(each.id, privacy="private")
        clock.forward(minutes=10)
        nox.process()
        [summary] = summaries(nox)
        assert summary.privacy == "private"
        assert summaries(memory.with_scope(agent="lumina")) == []
        assert memory.with_scope(agent="lumina").threads() == []


def test_a_session_of_one_project_is_not_shown_in_another(memory: Nagori, clock: FrozenClock) -> None:
    talk(memory.with_scope(project="/a"), clock, KITCHEN)
    assert memory.with_scope(project="/b").sessions() == []
    assert len(memory.sessions()) == 1


class Killed(BaseException):
    """The process ends here."""


def tell_everything(memory: Nagori, clock: FrozenClock) -> None:
    talk(memory, clock, KITCHEN + TRIP)
    clock.forward(minutes=11)


def state(memory: Nagori) -> Any:
    threads = [(t.thread.session, len(t.thread.turns), t.thread.end) for t in memory.threads()]
    kept = sorted((each.id, each.mentions, each.text.content, each.keywords) for each in summaries(memory))
    return threads, kept


def test_a_kill_anywhere_gives_the_same_threads_and_summaries(tmp_path: Path) -> None:
    clock = FrozenClock()
    with opened(tmp_path / "whole", clock) as memory:
        tell_everything(memory, clock)
        memory.process()
        usual = state(memory)
    assert len(usual[1]) == 2
    at, kills = 1, 0
    while True:
        clock = FrozenClock()
        folder = tmp_path / f"killed-{at}"
        with opened(folder, clock) as memory:
            tell_everything(memory, clock)
            failing = FailingPart(memory.runtime.store, "commit", at, Killed)
            memory.runtime.store = memory.runtime.ledger.store = failing  # type: ignore[assignment]
            try:
                memory.process()
                finished = True
            except Killed:
                finished, kills = False, kills + 1
        with opened(folder, clock) as memory:
            memory.process()
            assert state(memory) == usual, f"killed at commit {at}"
        if finished:
            break
        at += 1
    assert kills > 4


def test_a_rebuilt_store_has_the_same_threads(memory: Nagori, clock: FrozenClock) -> None:
    tell_everything(memory, clock)
    memory.process()
    usual = state(memory)
    memory.rebuild()
    assert state(memory) == usual
    memory.process()
    assert state(memory) == usual


def test_threads_of_an_owner_are_theirs(memory: Nagori, clock: FrozenClock) -> None:
    tell_everything(memory, clock)
    assert memory.with_scope(Scope(user="somebody else")).threads() == []
