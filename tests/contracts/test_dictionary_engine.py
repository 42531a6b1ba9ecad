"""The protocol is small: an engine written from its docstrings alone keeps every promise in 250 lines."""

# mypy: disable-error-code="import-not-found"
# Because pytest puts its folder on the path.

from pathlib import Path

import dictionary_engine
import pytest

from nagori.protocols import Store
from nagori.testing.concept_index_contract import ConceptIndexContract
from nagori.testing.store_contract import StoreContract
from nagori.testing.vector_contract import VectorIndexContract


class TestDictionaryStore(StoreContract, VectorIndexContract, ConceptIndexContract):
    @pytest.fixture
    def store(self) -> Store:
        return dictionary_engine.DictionaryStore()


def test_an_engine_takes_no_more_than_250_lines() -> None:
    assert len(Path(dictionary_engine.__file__).read_text().splitlines()) <= 250
