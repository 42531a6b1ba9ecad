"""The contract, on both engines."""

from pathlib import Path

import pytest

from nagori.protocols import Store
from nagori.stores import _search
from nagori.stores.memory import MemoryStore
from nagori.stores.sqlite import SqliteStore
from nagori.testing.contract import StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return SqliteStore(tmp_path / "nagori.db")


class TestSqliteStoreWithShortlist(StoreContract):
    """The same, with the bit shortlist in use from the first vector on."""

    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
        monkeypatch.setattr(_search, "MANY", 1)
        return SqliteStore(tmp_path / "nagori.db")
