"""The contract, on every engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.postgres import Server

from nagori.config.postgres_address import parse_address
from nagori.protocols import Store
from nagori.stores.memory import MemoryStore
from nagori.stores.sqlite import SqliteStore, writes
from nagori.testing.concept_index_contract import ConceptIndexContract
from nagori.testing.store_contract import StoreContract
from nagori.testing.vector_contract import VectorIndexContract


class TestMemoryStore(StoreContract, VectorIndexContract, ConceptIndexContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()


class TestSqliteStore(StoreContract, VectorIndexContract, ConceptIndexContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return SqliteStore(tmp_path / "nagori.db")


class TestSqliteStoreWithShortlist(StoreContract, VectorIndexContract, ConceptIndexContract):
    """The same, with the bit shortlist in use from the first vector on."""

    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
        monkeypatch.setattr(writes, "MANY", 1)
        return SqliteStore(tmp_path / "nagori.db")


# --- PostgreSQL -----------------------------------------------------------------------------------

FEW_SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]


class FewHistories(StoreContract, VectorIndexContract, ConceptIndexContract):
    """A server is asked a thousand times for each random history: most of them are in `make test-all`."""

    @pytest.mark.parametrize("seed", FEW_SEEDS)
    def test_random_histories_agree_with_the_oracle(self, store: Store, seed: int) -> None:
        super().test_random_histories_agree_with_the_oracle(store, seed)

    @pytest.mark.parametrize("seed", FEW_SEEDS)
    def test_neighbours_in_random_histories_agree_with_the_oracle(self, store: Store, seed: int) -> None:
        super().test_neighbours_in_random_histories_agree_with_the_oracle(store, seed)

    @pytest.mark.parametrize("seed", FEW_SEEDS[:4])
    def test_words_that_come_and_go_are_found_while_they_are_there(self, store: Store, seed: int) -> None:
        super().test_words_that_come_and_go_are_found_while_they_are_there(store, seed)


class TestPostgresStore(FewHistories):
    @pytest.fixture
    def store(self, postgres: Server) -> Iterator[Store]:
        from nagori.stores.postgres import PostgresStore

        store = PostgresStore(parse_address(postgres.url()))
        yield store
        store.close()


class TestNodeStore(FewHistories):
    """A fold keeps the contract of stores, with leases in the database. No other node has made a vector."""

    @pytest.fixture
    def store(self, postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
        from nagori.journals.postgres import PostgresJournal
        from nagori.stores.sqlite_replica import NodeStore

        journal = PostgresJournal(parse_address(postgres.url()))
        store = NodeStore(tmp_path / "nagori.db", journal.database)
        monkeypatch.setattr(store.shared, "find", lambda owner, model, digests: {})
        yield store
        store.close()
        journal.close()
