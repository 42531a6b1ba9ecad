"""The tests of the verbs, run again on a journal in PostgreSQL: with a local fold, and with everything there.

Collected from `tests/services`: those that use the memory they are given and no files of their own. Most of
them are in `make test-all`; here are the life cycle and recall, with everything in the database.
"""

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import pytest
from tests.postgres import Server
from tests.services import test_cycle, test_feedback, test_form, test_lasting, test_recall, test_verbs

from nagori import Nagori
from nagori.testing import FrozenClock, WordEmbedder

QUICK = (test_cycle, test_feedback, test_recall)
MODULES = (*QUICK, test_form, test_lasting, test_verbs)
FIXTURES = {"memory", "clock"}
# What is done to files, or to SQLite itself, has tests of its own; so has a doctor who compares the clock
# with the server's, which is not frozen.
ELSEWHERE = {
    "test_the_doctor_finds_a_healthy_house_healthy",
    "test_verify_notices_a_store_that_tells_another_story",
    "test_rebuild_refuses_to_lose_what_damaged_lines_say",
    "test_a_destroyed_store_is_set_aside_and_made_anew",
    "test_a_deleted_store_comes_back_by_itself",
    "test_a_newer_store_is_refused_and_left_alone",
}


@pytest.fixture(params=["postgres", pytest.param("sqlite", marks=pytest.mark.slow)])
def memory(
    request: pytest.FixtureRequest, postgres: Server, tmp_path: Path, clock: FrozenClock
) -> Iterator[Nagori]:
    address = postgres.url(store=request.param, folder=str(tmp_path / "node"))
    with Nagori.open(address, clock=clock, embedder=WordEmbedder()) as opened:
        yield opened


def _tests_of(module: ModuleType) -> Iterator[tuple[str, FunctionType]]:
    for name, test in vars(module).items():
        if name.startswith("test_") and name not in ELSEWHERE and inspect.isfunction(test):
            given = {word for mark in getattr(test, "pytestmark", ()) for word in _names_of(mark)}
            needed = set(inspect.signature(test).parameters) - given
            if "memory" in needed and needed <= FIXTURES:
                yield f"{name}_in_{module.__name__.rpartition('_')[2]}", test


def _names_of(mark: pytest.Mark) -> list[str]:
    if mark.name != "parametrize":
        return []
    names = mark.args[0]
    return [word.strip() for word in names.split(",")] if isinstance(names, str) else list(names)


def _copy(test: FunctionType) -> FunctionType:
    """A function of its own, so that a mark does not reach the original."""
    copy = FunctionType(test.__code__, test.__globals__, test.__name__, test.__defaults__, test.__closure__)
    copy.__kwdefaults__, copy.__annotations__ = test.__kwdefaults__, test.__annotations__
    copy.pytestmark = list(getattr(test, "pytestmark", ()))  # type: ignore[attr-defined]
    return copy


for _module in MODULES:
    for _name, _test in _tests_of(_module):
        globals()[_name] = _copy(_test) if _module in QUICK else pytest.mark.slow(_copy(_test))


def test_enough_is_collected() -> None:
    assert sum(name.startswith("test_") for name in globals()) > 120
