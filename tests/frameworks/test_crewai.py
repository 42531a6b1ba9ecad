"""CrewAI's memory on our storage: records come back, are found by their vectors, and are deleted.

CrewAI needs another version of `mcp` than the other frameworks: `make test-crewai` has an environment of its
own for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from nagori import Config, Nagori
from nagori.testing.fakes import WordEmbedder

pytest.importorskip("crewai", reason="crewai is not installed; `make test-crewai` installs and runs it")

from crewai import BaseLLM, Memory
from crewai.memory.storage.backend import EmbeddingDimensionMismatchError, StorageBackend
from crewai.memory.types import MemoryRecord

from nagori.edges.integrations.crewai_storage import NagoriStorage

FACT = "The staging server of project Zebra listens on port 8443."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Nagori]:
    with Nagori.open(tmp_path / "memory", config=Config(), embedder=WordEmbedder()) as opened:
        yield opened


@pytest.fixture
def storage(memory: Nagori) -> NagoriStorage:
    return NagoriStorage(memory)


def record(content: str, vector: Sequence[float] = (1.0, 0.0, 0.0), **more: Any) -> MemoryRecord:
    return MemoryRecord(content=content, embedding=list(vector), **more)


def test_it_is_a_storage_backend_and_records_come_back_as_they_were_saved(storage: NagoriStorage) -> None:
    assert isinstance(storage, StorageBackend)
    kept = record(FACT, scope="/team/a", categories=["ops"], metadata={"n": 1, "deep": {"k": ["v"]}})
    kept = kept.model_copy(update={"source": "mio", "private": True, "importance": 0.9})
    storage.save([kept])
    again = storage.get_record(kept.id)
    assert again == kept
    assert again.embedding == [1.0, 0.0, 0.0]
    assert storage.get_record("nobody") is None
    assert storage.get_record("") is None
    storage.update(kept.model_copy(update={"content": "Changed.", "scope": "/team/b"}))
    assert (storage.count(), storage.get_record(kept.id).content) == (1, "Changed.")
    assert storage.list_scopes("/team") == ["/team/b"]


def test_a_search_ranks_by_cosine_and_meets_every_condition(storage: NagoriStorage) -> None:
    near = record("near", (1, 0.1, 0), scope="/a/b", categories=["x"], metadata={"k": 1})
    far = record("far", (0, 1, 0), scope="/a", categories=["y"], metadata={"k": 2})
    beside = record("beside", (1, 0, 0), scope="/ab", categories=["x", "y"], metadata={"k": 1})
    blind = MemoryRecord(content="without a vector", scope="/a")
    storage.save([near, far, beside, blind])

    def names(**more: Any) -> list[str]:
        return [found.content for found, _ in storage.search([1.0, 0.0, 0.0], **more)]

    assert names() == ["beside", "near", "far"]
    assert names(scope_prefix="/") == ["beside", "near", "far"]
    assert names(scope_prefix="/a") == names(scope_prefix="a/") == ["near", "far"]
    assert names(categories=["y"]) == ["beside", "far"]
    assert names(metadata_filter={"k": 1}, limit=1) == ["beside"]
    assert names(min_score=0.5) == ["beside", "near"]
    [(_, best), (_, second), (_, worst)] = storage.search([1.0, 0.0, 0.0])
    assert best == pytest.approx(1.0)
    assert second == pytest.approx(1 / 1.01**0.5, abs=1e-6)
    assert worst == 0.0


def test_scopes_and_categories_are_counted(storage: NagoriStorage) -> None:
    begun = datetime(2026, 5, 1)  # noqa: DTZ001 - as CrewAI makes them
    for n, scope in enumerate(["/", "/a", "/a/b", "/a/b/c", "/d"]):
        storage.save([record(scope, scope=scope, categories=["x"], created_at=begun + timedelta(days=n))])
    assert storage.list_scopes() == ["/a", "/d"]
    assert storage.list_scopes("/a/") == ["/a/b"]
    assert storage.list_scopes("/d") == []
    told = storage.get_scope_info("/a")
    assert (told.path, told.record_count, told.child_scopes, told.categories) == ("/a", 3, ["/a/b"], ["x"])
    assert (told.oldest_record, told.newest_record) == (begun + timedelta(days=1), begun + timedelta(days=3))
    assert storage.get_scope_info("/nothing").record_count == 0
    assert storage.get_scope_info("/").record_count == storage.count() == 5
    assert storage.list_categories("/a") == {"x": 3}
    assert [each.content for each in storage.list_records("/a", limit=1, offset=1)] == ["/a/b"]
    assert storage.list_records(limit=0) == []


def test_deleting_needs_every_condition_and_leaves_the_disk_with_the_cycle(
    storage: NagoriStorage, memory: Nagori
) -> None:
    old = record("old words", scope="/a", created_at=datetime(2020, 1, 1, tzinfo=UTC))
    new = record("new words", scope="/a", categories=["x"])
    storage.save([old, new, record("other words", scope="/b")])
    assert storage.delete(scope_prefix="/a", categories=["y"]) == 0
    assert storage.delete(scope_prefix="/b", record_ids=[old.id]) == 0
    assert storage.delete(older_than=datetime(2021, 1, 1)) == 1  # noqa: DTZ001 - as CrewAI makes them
    assert storage.delete(record_ids=[new.id, "nobody"]) == 1
    memory.cycle()
    files = [path for path in memory.runtime.data_dir.rglob("*") if path.is_file()]
    assert not any(b"old words" in path.read_bytes() for path in files)
    storage.reset("/b")
    assert storage.count() == 0
    assert memory.verify().sound


def test_vectors_of_another_size_are_refused_and_nothing_is_saved(storage: NagoriStorage) -> None:
    storage.save([record("three")])
    with pytest.raises(EmbeddingDimensionMismatchError):
        storage.save([record("right"), record("four", (1, 0, 0, 0))])
    with pytest.raises(EmbeddingDimensionMismatchError):
        storage.search([1.0, 0.0])
    assert storage.count() == 1


def test_the_awaited_methods_do_the_same_and_accesses_are_noted(storage: NagoriStorage) -> None:
    kept = record("awaited", last_accessed=datetime(2020, 1, 1))  # noqa: DTZ001 - as CrewAI makes them

    async def run() -> tuple[list[Any], int]:
        await storage.asave([kept])
        storage.touch_records([kept.id, "nobody"])
        return await storage.asearch([1.0, 0.0, 0.0], limit=3), await storage.adelete(record_ids=[kept.id])

    [(found, _)], gone = asyncio.run(run())
    assert (found.content, gone, found.last_accessed.year > 2020) == ("awaited", 1, True)


def test_stores_and_users_are_apart(memory: Nagori) -> None:
    NagoriStorage(memory, name="one").save([record(FACT)])
    assert NagoriStorage(memory, name="two").count() == 0
    assert NagoriStorage(memory.with_scope(user="somebody else"), name="one").count() == 0


class NoModel(BaseLLM):
    """CrewAI wants a model; with all fields given it asks none."""

    def call(self, *more: Any, **named: Any) -> str:
        raise AssertionError("no model is asked")


def test_crewais_own_memory_remembers_recalls_and_forgets_on_it(memory: Nagori) -> None:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [list(map(float, WordEmbedder().embed_query(text))) for text in texts]

    crew = Memory(storage=NagoriStorage(memory, remember=True), embedder=embed, llm=NoModel(model="none"))
    try:
        told = {"scope": "/team", "categories": ["ops"], "metadata": {}, "importance": 0.8}
        kept = crew.remember(FACT, **told)
        crew.remember("Aki drinks only green tea from Uji.", **told)
        crew.drain_writes()
        [best, *_] = crew.recall("Which port does the staging server of Zebra use?", depth="shallow", limit=2)
        assert best.record.content == FACT
        assert crew.list_scopes("/") == ["/team"]
        assert any("8443" in each.text for each in memory.recall("Which port does Zebra use?"))
        assert crew.forget(record_ids=[kept.id]) == 1
        assert crew.info("/team").record_count == 1
    finally:
        crew.close()
