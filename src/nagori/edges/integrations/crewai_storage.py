"""CrewAI: a storage backend for its memory.

    crew = Crew(…, memory=Memory(storage=NagoriStorage(memory)))

CrewAI makes the records and their vectors, and ranks what is found. A record comes back as it was saved; a
search compares vectors by their exact cosine. With `remember=True` the content of each saved record becomes a
memory, too, and `recall` finds it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from nagori.app import Nagori
from nagori.core.model import Item
from nagori.edges.integrations import finish_in_thread
from nagori.edges.integrations.vector_json import pack_vector, score_vectors, unpack_vector
from nagori.services.key_value_items import ItemDelete, ItemPut, read_value

SPACE = "crewai"


class NagoriStorage:
    """A `StorageBackend` of CrewAI on a `Nagori` memory. Each `name` is a store of its own."""

    def __init__(self, memory: Nagori, *, name: str = "memory", remember: bool = False) -> None:
        self._memory, self._remember, self._place = memory, remember, (SPACE, name)

    # --- writing --------------------------------------------------------------------------------

    def save(self, records: Sequence[Any]) -> None:
        """Save records, all of them or none; one with a known id replaces it."""

        def decide() -> list[ItemPut]:
            self._check_sizes(len(record.embedding) for record in records if record.embedding)
            return [self._put(record) for record in records]

        if records:
            self._memory.items.change(decide)
            for record in records if self._remember else ():
                self._memory.remember(record.content, trust="assistant")

    def update(self, record: Any) -> None:
        """Replace the record with the same id."""
        self.save([record])

    def touch_records(self, record_ids: Sequence[str]) -> None:
        """Note that these records were accessed now."""
        now = self._memory.runtime.clock.now().astimezone(UTC).replace(tzinfo=None)

        def decide() -> list[ItemPut]:
            items = [self._memory.items.get(self._place, id) for id in dict.fromkeys(record_ids)]
            known = [(item.key, read_value(item)) for item in items if item is not None]
            return [
                ItemPut(self._place, key, {**said, "last_accessed": now.isoformat()}) for key, said in known
            ]

        self._memory.items.change(decide)

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the records that meet every condition; returns their number."""
        fits = _condition(scope_prefix, categories, metadata_filter)
        ids = None if record_ids is None else set(record_ids)
        gone: list[str] = []

        def is_meant(key: str, said: Mapping[str, Any]) -> bool:
            late = older_than is not None and _moment(said["created_at"]) >= _moment(older_than)
            return fits(said) and (ids is None or key in ids) and not late

        def decide() -> list[ItemDelete]:
            gone[:] = [item.key for item, said in self._rows() if is_meant(item.key, said)]
            return [ItemDelete(self._place, key) for key in gone]

        self._memory.items.change(decide)
        return len(gone)

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete all records of a scope."""
        self.delete(scope_prefix)

    # --- reading --------------------------------------------------------------------------------

    def search(
        self,
        query_embedding: Sequence[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> list[tuple[Any, float]]:
        """The nearest records with their cosine (not below 0), nearest first."""
        fits = _condition(scope_prefix, categories, metadata_filter)
        rows = [said for _, said in self._rows() if said.get("vector") and fits(said)]
        vectors = [unpack_vector(said["vector"]) for said in rows]
        for size in {len(vector) for vector in vectors} - {len(query_embedding)}:
            raise _mismatch(size, len(query_embedding))
        scores = [max(0.0, score) for score in score_vectors(query_embedding, vectors)]
        best = sorted(zip(rows, scores, strict=True), key=lambda each: -each[1])
        return [(_record(said), score) for said, score in best if score >= min_score][: max(0, limit)]

    def get_record(self, record_id: str) -> Any:
        """One record; None if there is none."""
        item = self._memory.items.get(self._place, record_id) if record_id else None
        return None if item is None else _record(read_value(item))

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[Any]:
        """The records of a scope, newest first."""
        if limit <= 0 or offset < 0:
            return []
        return [_record(said) for said in self._within(scope_prefix)[offset : offset + limit]]

    def get_scope_info(self, scope: str) -> Any:
        """How many records a scope has, of which categories, from when to when, and its parts."""
        from crewai.memory.types import ScopeInfo

        found = self._within(scope)
        times = [datetime.fromisoformat(said["created_at"]) for said in found]
        return ScopeInfo(
            path=_read_scope(scope) or "/",
            record_count=len(found),
            categories=sorted({category for said in found for category in said["categories"]}),
            oldest_record=min(times, key=_moment, default=None),
            newest_record=max(times, key=_moment, default=None),
            child_scopes=self.list_scopes(scope),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """The scopes directly below one."""
        above = f"{_read_scope(parent)}/"
        paths = [_read_scope(said["scope"]) for said in self._within(parent)]
        return sorted({above + path[len(above) :].split("/")[0] for path in paths if len(path) > len(above)})

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """The categories of a scope, and how many records have each."""
        return dict(Counter(each for said in self._within(scope_prefix) for each in said["categories"]))

    def count(self, scope_prefix: str | None = None) -> int:
        """The number of records in a scope and below."""
        return len(self._within(scope_prefix))

    # --- the same, awaited ----------------------------------------------------------------------

    async def asave(self, records: Sequence[Any]) -> None:
        await finish_in_thread(lambda: self.save(records))

    async def asearch(self, query_embedding: Sequence[float], *more: Any, **named: Any) -> list[Any]:
        return await asyncio.to_thread(self.search, query_embedding, *more, **named)

    async def adelete(self, *more: Any, **named: Any) -> int:
        return await finish_in_thread(lambda: self.delete(*more, **named))

    # --- rows -----------------------------------------------------------------------------------

    def _rows(self) -> list[tuple[Item, dict[str, Any]]]:
        return [(item, read_value(item)) for item in self._memory.items.list(self._place)]

    def _within(self, scope: str | None) -> list[dict[str, Any]]:
        fits = _condition(scope, None, None)
        found = [said for _, said in self._rows() if fits(said)]
        return sorted(found, key=lambda said: _moment(said["created_at"]), reverse=True)

    def _put(self, record: Any) -> ItemPut:
        said = record.model_dump(mode="json", exclude={"embedding"})
        vector = pack_vector(record.embedding) if record.embedding else None
        return ItemPut(self._place, record.id, {**said, "scope": record.scope, "vector": vector})

    def _check_sizes(self, sizes: Iterable[int]) -> None:
        """All vectors of a store have one size."""
        kept = next((said["vector"] for _, said in self._rows() if said.get("vector")), None)
        known = len(unpack_vector(kept)) if kept else None
        for size in sizes:
            if known not in (None, size):
                raise _mismatch(known, size)
            known = size


def _record(said: Mapping[str, Any]) -> Any:
    from crewai.memory.types import MemoryRecord

    vector = said.get("vector")
    fields = {name: value for name, value in said.items() if name != "vector"}
    return MemoryRecord(**fields, embedding=list(unpack_vector(vector)) if vector else None)


def _condition(
    scope: str | None, categories: list[str] | None, metadata: Mapping[str, Any] | None
) -> Callable[[Mapping[str, Any]], bool]:
    """Whether a record is in the scope or below, has one of the categories, and all of the metadata."""
    path = _read_scope(scope)

    def fits(said: Mapping[str, Any]) -> bool:
        within = f"{_read_scope(said['scope'])}/".startswith(f"{path}/")
        fitting = not categories or any(each in said["categories"] for each in categories)
        return (
            within
            and fitting
            and all(said["metadata"].get(k) == each for k, each in (metadata or {}).items())
        )

    return fits


def _read_scope(scope: str | None) -> str:
    """The path with one slash before each label; empty for the root."""
    return "".join(f"/{label}" for label in (scope or "").split("/") if label)


def _moment(time: str | datetime) -> datetime:
    """A time that can be compared; CrewAI writes UTC without a zone."""
    at = datetime.fromisoformat(time) if isinstance(time, str) else time
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _mismatch(known: int | None, size: int) -> Exception:
    try:
        from crewai.memory.storage.backend import EmbeddingDimensionMismatchError
    except ImportError:  # before 1.15
        return ValueError(f"vectors of {known} numbers are stored, this one has {size}")
    error: Exception = EmbeddingDimensionMismatchError(known, size)
    return error
