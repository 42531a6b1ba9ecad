"""The real model, once for all tests here; where it cannot be had they are skipped and say why."""

from collections.abc import Iterator

import pytest

from .install import why_missing
from .real import served


@pytest.fixture(scope="session")
def model() -> Iterator[str]:
    """Its address."""
    if missing := why_missing():
        pytest.skip(missing)
    with served() as address:
        yield address
