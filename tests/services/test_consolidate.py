"""Consolidation [T7]: the most salient of a night's new memories fade more slowly; nothing is dropped."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nagori import Emotion, Filter, Kind, Nagori
from nagori.config import load
from nagori.testing import FrozenClock

SALIENT = ["Aki moved to Kyoto with Ken.", "Ken bought a piano in Kyoto.", "Aki sold the boat to Mika."]
PLAIN = ["Well, thanks, it was nice."]


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Nagori]:
    config = load(overrides={"consolidation.enabled": True}).config
    with Nagori.open(tmp_path, clock=clock, config=config, embedder=None, llm=None) as memory:
        yield memory


def test_t7_the_salient_fade_more_slowly_and_nothing_is_dropped(memory: Nagori, clock: FrozenClock) -> None:
    kept = [memory.remember(text, emotion=Emotion(50)) for text in (*PLAIN, *SALIENT)]
    clock.forward(days=1)
    report = memory.cycle()
    assert report.consolidated == 2  # 70 % of four, rounded down
    after = {one.text.content: memory.show(one.id).coefficient / one.coefficient for one in kept}
    assert after[PLAIN[0]] == 1.0
    assert sum(ratio > 1 for ratio in after.values()) == 2
    assert len(memory.list()) == 4
    assert {event.event.type for event in memory.log(types=["consolidated"])} == {"consolidated"}


def test_t7_a_memory_is_consolidated_once(memory: Nagori, clock: FrozenClock) -> None:
    for text in SALIENT:
        memory.remember(text)
    assert memory.cycle().consolidated == 2
    clock.forward(days=1)
    assert memory.cycle().consolidated == 0
    memory.remember("Mika painted the boat red in May.")
    memory.remember("Mika sailed to Otaru.")
    clock.forward(days=1)
    assert memory.cycle().consolidated == 1


def test_t7_what_was_said_in_one_thread_is_summarised_together(memory: Nagori, clock: FrozenClock) -> None:
    for text in (*SALIENT, "The piano went to Mika's school."):
        with memory.turn(text, session="evening") as turn:
            turn.answer("I see.")
    memory.process()
    assert not memory.list(Filter(kinds=frozenset({Kind.SUMMARY})))
    clock.forward(days=1)
    memory.cycle()
    [summary] = memory.list(Filter(kinds=frozenset({Kind.SUMMARY})))
    assert "piano in Kyoto" in summary.text.content
    clock.forward(days=1)
    memory.cycle()
    assert len(memory.list(Filter(kinds=frozenset({Kind.SUMMARY})))) == 1


def test_protected_memories_need_no_consolidation(memory: Nagori) -> None:
    for text in SALIENT:
        memory.remember(text, protect=True)
    assert memory.cycle().consolidated == 0


def test_a_rebuild_gives_the_same_coefficients(memory: Nagori) -> None:
    ids = [memory.remember(text).id for text in SALIENT]
    memory.cycle()
    before = [memory.show(id).coefficient for id in ids]
    memory.rebuild()
    assert [memory.show(id).coefficient for id in ids] == before
