"""Slices of the reliability programs: a little of each, with a fixed and a fresh seed."""

import shutil
import sys
from random import Random

import pytest
from tests.reliability import t03_disk_faults, t04_power_loss, t10_soak, t19_state_machine
from tests.reliability.harness import NO_COMPILER, Outcome

FRESH = -1
SEEDS = [pytest.param(7, id="fixed"), pytest.param(FRESH, id="fresh")]
needs_disk = pytest.mark.skipif(
    not (shutil.which("cc") or shutil.which("gcc")) or not sys.platform.startswith("linux"),
    reason=NO_COMPILER,
)


@pytest.fixture
def chosen(seed: int) -> int:
    """The fixed seed, or another one each time; a failure tells it."""
    return Random().randrange(1_000_000) if seed == FRESH else seed


def assert_kept(outcome: Outcome, least: dict[str, int]) -> None:
    assert outcome.violations == [], outcome.line()
    assert all(outcome.figures[name] >= size for name, size in least.items()), outcome.line()


@needs_disk
@pytest.mark.parametrize("seed", SEEDS)
def test_a_failing_operation_of_the_disk_loses_nothing_acknowledged(chosen: int) -> None:
    assert_kept(t03_disk_faults.run(chosen, step=150), {"faults": 8, "acknowledged": 20})


@needs_disk
@pytest.mark.parametrize("seed", SEEDS)
def test_power_loss_loses_nothing_acknowledged(chosen: int) -> None:
    assert_kept(t04_power_loss.run(chosen, images=40), {"acknowledged": 100})


@needs_disk
def test_a_journal_that_nobody_syncs_would_be_noticed() -> None:
    assert t04_power_loss.run(7, images=20, without_syncs=True).violations


@pytest.mark.parametrize("seed", SEEDS)
def test_random_calls_agree_with_a_dictionary(chosen: int) -> None:
    assert_kept(t19_state_machine.run(chosen, steps=120), {"steps": 120})


@pytest.mark.slow
@needs_disk
@pytest.mark.parametrize("seed", SEEDS)
def test_more_failing_operations(chosen: int) -> None:
    assert_kept(t03_disk_faults.run(chosen, step=8), {"faults": 200})


@pytest.mark.slow
@needs_disk
@pytest.mark.parametrize("seed", SEEDS)
def test_more_power_losses(chosen: int) -> None:
    assert_kept(t04_power_loss.run(chosen, images=600), {"acknowledged": 1_000})


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_more_random_calls(chosen: int) -> None:
    assert_kept(t19_state_machine.run(chosen, steps=3_000), {"steps": 3_000})


@pytest.mark.slow
def test_a_long_life_leaves_no_files_and_threads_open() -> None:
    assert_kept(t10_soak.run(7, operations=4_800), {"days": 12})
