"""Association [T8], knowledge [T9] and consolidation [T7] with everything in PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres import Server

from nagori import Nagori, Scope
from nagori.config import load
from nagori.core.knowledge_base import Document, Section
from nagori.services import knowledge_base
from nagori.testing import FrozenClock, WordEmbedder

PIANO, SHOP = "Aki plays the piano every Sunday.", "The piano was bought from a shop in Kyoto."


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture(params=["postgres", "sqlite"])
def memory(
    request: pytest.FixtureRequest, postgres: Server, tmp_path: Path, clock: FrozenClock
) -> Iterator[Nagori]:
    address = postgres.url(store=request.param, folder=str(tmp_path / "node"))
    config = load(overrides={"consolidation.enabled": True}).config
    with Nagori.open(address, clock=clock, config=config, embedder=WordEmbedder(), llm=None) as opened:
        yield opened


def test_t8_association_leads_to_other_memories(memory: Nagori) -> None:
    for text in (PIANO, SHOP):
        memory.remember(text)
    found = memory.associate("Aki", depth=3)
    assert "piano" in [topic.name for topic in found.topics]
    recalled = [each.memory.text.content for each in memory.recall("Aki", spread=2)]
    assert recalled == [PIANO, SHOP]
    other = memory.with_scope(Scope(user="other"))
    assert other.associate("piano").topics == ()
    memory.cycle()
    model = memory.runtime.vectors.active(memory.scope.owner) or ""
    assert memory.runtime.store.concepts.without_vector(memory.scope.owner, model, 1) == []


def test_t9_a_document_is_replaced_and_told_with_its_source(memory: Nagori, clock: FrozenClock) -> None:
    for speed in (1, 2):
        sections = (Section("Turbine", f"The turbine runs at speed {speed}."),)
        knowledge_base.add_document(memory.runtime, "local", "plant", Document("t.md", str(speed), sections))
        clock.forward(days=1)
    [passage] = memory.search_knowledge("turbine speed", kb="plant")
    assert (passage.text, passage.version) == ("The turbine runs at speed 2.", 2)
    assert passage.source == "plant: t.md, Turbine"
    memory.remove_knowledge("t.md", kb="plant")
    assert memory.list_knowledge() == []


def test_t7_the_salient_fade_more_slowly(memory: Nagori, clock: FrozenClock) -> None:
    kept = [memory.remember(text) for text in (PIANO, SHOP, "Well, thanks.")]
    clock.forward(days=1)
    assert memory.cycle().consolidated == 2
    assert memory.show(kept[2].id).coefficient == kept[2].coefficient
