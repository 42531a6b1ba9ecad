"""Association [T8]: concepts that memories share lead from answers to other memories and topics."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp
from pathlib import Path

import pytest

from nagori import Filter, Nagori, Scope
from nagori.config import Config
from nagori.core.model import ALIVE, Recollection, Source
from nagori.errors import InvalidInput, StoreError
from nagori.protocols import ConceptIndex
from nagori.services.spreading_activation import index_concepts, spread_recall
from nagori.stores.memory import MemoryStore
from nagori.testing import FrozenClock, WordEmbedder

PIANO, SHOP, DINNER = (
    "Aki plays the piano every Sunday.",
    "The piano was bought from a shop in Kyoto.",
    "Kyoto has a small restaurant that is called Luna.",
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Nagori]:
    with Nagori.open(tmp_path, clock=FrozenClock(), config=Config(), embedder=None, llm=None) as memory:
        for text in (PIANO, SHOP, DINNER):
            memory.remember(text)
        yield memory


def texts(found: object) -> list[str]:
    return [each.memory.text.content for each in found]  # type: ignore[attr-defined]


def topic_names(memory: Nagori, depth: int) -> list[str]:
    return [topic.name for topic in memory.associate("Aki", depth=depth).topics]


def test_t8_association_leads_from_answers_over_shared_concepts_to_other_memories(memory: Nagori) -> None:
    assert texts(memory.recall("What does Aki do?", mark=False)) == [PIANO]
    assert texts(memory.recall("What does Aki do?", mark=False, spread=2)) == [PIANO, SHOP]
    assert texts(memory.associate("Aki", depth=2).memories) == [SHOP]
    assert texts(memory.associate("Aki", depth=4).memories) == [SHOP, DINNER]


def test_t8_a_question_for_several_things_counts_the_session_less_and_the_length_more(memory: Nagori) -> None:
    first, second, _ = memory.list()
    found = [
        Recollection(first, 0.9, 1.0, {"session_meaning": 1.0}),
        Recollection(second, 0.8, 1.0, {"length": 1.0}),
    ]

    def scores(text: str) -> list[float]:
        told = spread_recall(memory.runtime, memory.scope, text, ALIVE, found, 1)
        return [each.score for each in told]

    assert scores("Which harbour was named?") == pytest.approx([1.0, 0.8 / 0.9])
    assert scores("Which harbours were named?") == pytest.approx([0.9 / 0.8 * exp(-0.8), 1.0])


def test_t8_a_question_for_several_things_is_also_compared_without_the_name_it_asks_about(
    tmp_path: Path,
) -> None:
    greeting, violin, rain = "Hello Mika, Mika here.", "Strings: violin, harp.", "It rained."
    with Nagori.open(tmp_path, clock=FrozenClock(), embedder=WordEmbedder(256), llm=None) as talk:
        for text in (greeting, violin, rain):
            talk.remember(text, source=Source(speaker="Mika"))
        several, one = [
            {
                each.memory.text.content: each.terms["association"]
                for each in talk.recall(question, k=3, mark=False, spread=1, min_confidence=0.0)
            }
            for question in ("What strings does Mika play?", "Which string did Mika play?")
        ]
    assert several[violin] - one[violin] == pytest.approx(3.0, abs=0.5)
    assert several[greeting] - one[greeting] < 0.5


def test_a_model_whose_dimension_changed_costs_only_its_nearness(tmp_path: Path) -> None:
    class Changed(WordEmbedder):
        def embed_query(self, text: str) -> bytes:
            return WordEmbedder(64).embed_query(text)

    with Nagori.open(tmp_path, clock=FrozenClock(), embedder=WordEmbedder(256), llm=None) as memory:
        memory.remember("Strings: violin, harp.")
    changed = Changed(256)
    changed.dimension = 64
    with Nagori.open(tmp_path, clock=FrozenClock(), embedder=changed, llm=None) as memory:
        assert texts(memory.recall("What strings are there?", mark=False, spread=1))


def test_t8_topics_develop_with_every_step(memory: Nagori) -> None:
    assert topic_names(memory, 1) == ["Sunday", "piano", "plays"]
    assert set(topic_names(memory, 3)) == {"Sunday", "piano", "plays", "Kyoto", "shop", "bought"}
    topics = {topic.name: topic for topic in memory.associate("Aki", depth=3).topics}
    assert (topics["piano"].steps, topics["Kyoto"].steps) == (1, 3)
    assert len(topics["piano"].memories) == 2
    assert topics["piano"].strength > topics["shop"].strength


def test_t8_japanese_concepts_associate_too(memory: Nagori) -> None:
    for text in ("莉子ちゃんは京都の大学に通っている。", "京都の大学には古い図書館がある。"):
        memory.remember(text)
    found = memory.associate("莉子ちゃん", depth=2)
    assert "京都" in [topic.name for topic in found.topics]
    assert "京都の大学には古い図書館がある。" in texts(found.memories)


def test_t8_links_of_one_topic_are_followed(memory: Nagori) -> None:
    one = memory.remember("The bicycle has a flat tyre.")
    other = memory.remember("A pump stands in the cellar.")
    memory.link(one.id, other.id, "same_topic")
    assert other.text.content not in texts(memory.recall("bicycle tyre", mark=False))
    assert other.text.content in texts(memory.associate("bicycle tyre").memories)
    spread = memory.recall("bicycle tyre", mark=False, spread=1)
    assert other.text.content in texts(spread)


def test_t8_a_concept_near_in_meaning_is_an_entry_point(tmp_path: Path) -> None:
    class Instruments(WordEmbedder):
        """Instruments of any name mean the same."""

        def embed_passages(self, texts: object) -> list[bytes]:
            return super().embed_passages(
                [text.replace("violin", "instrument").replace("cello", "instrument") for text in texts]  # type: ignore[attr-defined]
            )

    kept = [
        "The violin is red.",
        "The cello is in the attic.",
        *(f"Box {n} holds word{n}." for n in range(40)),
    ]
    with Nagori.open(
        tmp_path, clock=FrozenClock(), config=Config(), embedder=Instruments(), llm=None
    ) as memory:
        for text in kept:
            memory.remember(text)
        index_concepts(memory.runtime, memory.scope.owner, vectors=1_000)
        plain = memory.recall("Which instrument is there?", k=50, mark=False, min_confidence=0)
        spread = memory.recall("Which instrument is there?", k=50, mark=False, min_confidence=0, spread=2)
        gains = {each.memory.text.content: each.terms.get("association", 0) for each in spread}
        assert all("association" not in each.terms for each in plain)
        assert min(gains[text] for text in kept[:2]) > max(gains.get(text, 0) for text in kept[2:])


def test_the_scope_is_part_of_every_step(memory: Nagori) -> None:
    other = memory.with_scope(user="other")
    other.remember("The piano stands in a secret room.")
    assert "secret" not in str(memory.associate("piano"))
    mine = memory.with_scope(project="a")
    mine.with_scope(project="b").remember("The piano of project b is purple.")
    assert "purple" not in str(mine.associate("piano"))
    assert "purple" in str(memory.with_scope(project="b").associate("piano"))


def test_nothing_is_indexed_before_association_is_used(memory: Nagori) -> None:
    index: ConceptIndex = memory.runtime.store.concepts
    memory.recall("piano")
    memory.cycle()
    assert index.count(memory.scope.owner) == 0
    memory.associate("piano")
    assert index.count(memory.scope.owner) > 5


def test_a_cycle_completes_the_index_of_who_uses_it(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    with Nagori.open(tmp_path, config=Config(), embedder=embedder, llm=None) as memory:
        memory.remember(PIANO)
        owner, index = memory.scope.owner, memory.runtime.store.concepts
        index_concepts(memory.runtime, owner, vectors=0)
        memory.remember("The kettle is green.")
        assert index.without_vector(owner, embedder.model, 1)
        memory.cycle()
        assert index.missing(owner, 1) == []
        assert index.without_vector(owner, embedder.model, 1) == []


def test_an_embedder_that_fails_costs_only_the_entry_points(tmp_path: Path) -> None:
    class Broken(WordEmbedder):
        broken = False

        def embed_passages(self, texts: object) -> list[bytes]:
            if self.broken:
                raise RuntimeError("out of order")
            return super().embed_passages(texts)  # type: ignore[arg-type]

    embedder = Broken()
    with Nagori.open(tmp_path, config=Config(), embedder=embedder, llm=None) as memory:
        for text in (PIANO, SHOP):
            memory.remember(text)
        embedder.broken = True
        assert SHOP in texts(memory.recall("Aki", spread=2))


def test_a_store_that_cannot_be_written_answers_with_what_is_indexed(tmp_path: Path) -> None:
    heard: list[str] = []
    with Nagori.open(
        tmp_path,
        config=Config(),
        embedder=None,
        llm=None,
        store=MemoryStore(),
        observe=lambda name, **_: heard.append(name),
    ) as memory:
        memory.remember(PIANO)
        index = type(memory.runtime.store.concepts)
        original = index.put
        try:
            index.put = _fail  # type: ignore[method-assign,assignment]
            assert memory.associate("Aki").topics == ()
        finally:
            index.put = original  # type: ignore[method-assign]
    assert "association.behind" in heard


def _fail(*_: object) -> int:
    raise StoreError("error.store_busy", path="x", seconds=1)


@pytest.mark.parametrize("depth", [-1, 7, True, "2"])
def test_a_number_of_steps_that_is_none_is_refused(memory: Nagori, depth: object) -> None:
    with pytest.raises(InvalidInput):
        memory.associate("piano", depth=depth)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        memory.recall("piano", spread=depth)  # type: ignore[arg-type]


def test_erased_words_leave_the_concepts_and_their_bytes(memory: Nagori, tmp_path: Path) -> None:
    secret = memory.remember("The zanzibar cupboard is locked.")
    memory.associate("cupboard")
    database = tmp_path / "nagori.db"
    assert b"zanzibar" in database.read_bytes() + database.with_name("nagori.db-wal").read_bytes()
    memory.erase(memory.plan_erasure(memory=secret.id))
    left = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"zanzibar" not in left
    assert memory.runtime.store.concepts.counts(memory.scope.owner, ["zanzibar", "piano"]) == {"piano": 2}


def test_an_erased_owner_leaves_no_concept_beside_others(memory: Nagori, tmp_path: Path) -> None:
    other = memory.with_scope(Scope(user="other"))
    other.remember("The zanzibar cupboard is locked.")
    other.items.put(("notes",), "a", {"text": "marrakesh"})
    for one in (memory, other):
        one.associate("cupboard")
    other.erase(other.plan_erasure(everything=True))
    left = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"zanzibar" not in left
    assert b"marrakesh" not in left
    assert memory.associate("piano", filter=Filter(archived=True)).topics
