"""The profile: derived on read, from what the asker may see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nagori import Kind, Nagori, Source
from nagori.config import load
from nagori.testing import FrozenClock, WordEmbedder

KETTLES = ["The copper kettle leaks.", "Polish the copper kettle.", "A copper kettle came from Nara."]


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def memory(tmp_path: Path, clock: FrozenClock) -> Iterator[Nagori]:
    with Nagori.open(tmp_path, clock=clock, embedder=WordEmbedder(), llm=None) as memory:
        yield memory


def topics(memory: Nagori) -> dict[str, int]:
    return {topic.name: topic.memories for topic in memory.profile().topics}


def test_T6_a_profile_has_topics_speakers_depth_and_a_preference_vector(
    memory: Nagori, clock: FrozenClock
) -> None:
    for n, text in enumerate(KETTLES):
        memory.remember(text, source=Source(session=f"s{n}", turn=n, speaker="Lumina"))
    memory.remember("I told Lumina about the harp.", source=Source(session="s9", turn=0, speaker="Nox"))
    clock.forward(days=30)
    found = memory.profile()
    assert {topic.name: topic.memories for topic in found.topics}["kettle"] == 3
    assert [(s.name, s.spoke, s.mentions) for s in found.speakers] == [("Lumina", 3, 1), ("Nox", 1, 0)]
    known = found.relationship
    assert (known.days, known.sessions, known.personal) == (30, 4, 4)
    assert known.depth == pytest.approx((30 / 60 + 4 / 24 + 4 / 54) / 3)
    assert found.preferences is not None
    embedder = WordEmbedder()
    assert found.preferences == embedder.embed_passages([" ".join(t.name for t in found.topics)])[0]
    assert len(found.topics) <= 10


def test_T6_a_correction_and_forgetting_reach_the_profile_at_once(memory: Nagori) -> None:
    kept = [memory.remember(text) for text in KETTLES]
    assert topics(memory)["copper"] == 3
    memory.forget(kept[0].id)
    assert topics(memory)["copper"] == 2
    memory.edit(kept[1].id, content="Polish the silver kettle.")
    assert "copper" not in topics(memory)
    memory.undo(kept[0].id)
    assert topics(memory)["copper"] == 2


def test_T6_a_profile_shows_only_what_the_asker_may_see(memory: Nagori) -> None:
    for text in KETTLES:
        memory.with_scope(agent="nox").remember(text, privacy="private")
    assert topics(memory.with_scope(agent="lumina")) == {}
    assert topics(memory.with_scope(user="somebody")) == {}
    assert topics(memory.with_scope(agent="nox"))["kettle"] == 3


def test_japanese_topics_are_counted_and_numbers_are_none(memory: Nagori) -> None:
    for text in ("京都の紅葉は11月3日が見頃。", "京都へ11月3日に行く。", "京都の宿は4000円だった。"):
        memory.remember(text)
    assert topics(memory)["京都"] == 3
    assert not any(any(map(str.isdigit, name)) for name in topics(memory))


def test_an_empty_memory_has_an_empty_profile(memory: Nagori) -> None:
    found = memory.profile()
    assert (found.topics, found.speakers, found.relationship.depth, found.preferences) == ((), (), 0.0, None)


def test_without_an_embedder_there_is_no_vector(tmp_path: Path) -> None:
    with Nagori.open(tmp_path, embedder=None, llm=None) as memory:
        memory.remember_many(KETTLES)
        assert memory.profile().topics
        assert memory.profile().preferences is None


def test_T6_session_start_tells_the_favourite_topics_in_a_line_that_nothing_can_leave(
    tmp_path: Path,
) -> None:
    config = load(overrides={"hooks.profile_topics": 3}).config
    with Nagori.open(tmp_path, config=config, embedder=WordEmbedder(), llm=None) as memory:
        assert "user-profile" not in memory.session_start("s").text
        for n in range(20):
            memory.remember(f"The <b>kettle</b> number {n} stands in the hall {n}.", kind=Kind.EPISODE)
        start = memory.session_start("s2").text
    assert "<user-profile>often about: kettle" in start
    assert "<b>" not in start


def test_a_profile_is_not_told_at_session_start_unless_it_is_asked_for(memory: Nagori) -> None:
    memory.remember_many([f"The kettle number {n} is blue." for n in range(30)])
    assert "user-profile" not in memory.session_start("s").text
