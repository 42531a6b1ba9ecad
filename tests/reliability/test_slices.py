"""Slices of the reliability programs: a little of each, with a fixed and a fresh seed."""

import shutil
import sys
from random import Random

import pytest
from tests.reliability import (
    t02_kills_inside,
    t03_disk_faults,
    t04_power_loss,
    t06_processes,
    t09_fuzz,
    t10_soak,
    t12_injection,
    t14_backups,
    t19_state_machine,
)
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
def test_what_is_killed_inside_a_long_work_is_finished_by_the_next() -> None:
    assert_kept(t02_kills_inside.run(7, kills=12), {"kills": 10, "places": 500})


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


@pytest.fixture
def without_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program sets the environment of hooks; it is as before afterwards."""
    for name in ("NAGORI_DATA_DIR", "NAGORI_HOOKS__WORKER", "NAGORI_EMBEDDING__PROVIDER", "HOME"):
        monkeypatch.setenv(name, "")


@pytest.mark.usefixtures("without_settings")
@pytest.mark.parametrize("seed", SEEDS)
def test_odd_payloads_and_transcripts_raise_nothing(chosen: int) -> None:
    assert_kept(t09_fuzz.run(chosen, payloads=150), {"transcripts": 15})


@pytest.mark.parametrize("seed", SEEDS)
def test_no_text_leaves_its_block_or_gains_rights(chosen: int) -> None:
    assert_kept(t12_injection.run(chosen, count=40), {"payloads": 40})


def test_backups_while_somebody_writes_are_whole() -> None:
    assert_kept(t14_backups.run(7, backups=3), {"backups": 3})


@pytest.mark.slow
@needs_disk
@pytest.mark.parametrize("seed", SEEDS)
def test_more_kills_inside_long_works(chosen: int) -> None:
    assert_kept(t02_kills_inside.run(chosen, kills=120), {"kills": 100})


@pytest.mark.slow
@pytest.mark.usefixtures("without_settings")
def test_more_odd_payloads_and_a_large_transcript() -> None:
    assert_kept(t09_fuzz.run(7, payloads=2_000, large_mb=50), {"large MB": 50})


@pytest.mark.slow
def test_eight_processes_at_once_disturb_nobody() -> None:
    assert_kept(t06_processes.run(7, seconds=20), {"facts": 10, "contexts": 20})


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
