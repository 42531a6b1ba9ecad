"""The contract, on every engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres import Server

from nagori.protocols import Store
from nagori.stores.memory import MemoryStore
from nagori.stores.sqlite import SqliteStore, writes
from nagori.testing.store_contract import StoreContract
from nagori.testing.vector_contract import VectorIndexContract


class TestMemoryStore(StoreContract, VectorIndexContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()


class TestSqliteStore(StoreContract, VectorIndexContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return SqliteStore(tmp_path / "nagori.db")


class TestSqliteStoreWithShortlist(StoreContract, VectorIndexContract):
    """The same, with the bit shortlist in use from the first vector on."""

    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
        monkeypatch.setattr(writes, "MANY", 1)
        return SqliteStore(tmp_path / "nagori.db")


class TestPostgresStore(StoreContract, VectorIndexContract):
    @pytest.fixture
    def store(self, postgres: Server) -> Iterator[Store]:
        from nagori.postgres import parse_address
        from nagori.stores.postgres import PostgresStore

        store = PostgresStore(parse_address(postgres.url()))
        yield store
        store.close()
