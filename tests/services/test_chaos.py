"""A slice of `python -m bench.chaos`: whatever the model does, nothing is lost and the queue empties."""

from pathlib import Path

import pytest
from bench.chaos import live

LONG = [pytest.param(300, seed, marks=pytest.mark.slow) for seed in (1, 2)]


@pytest.mark.parametrize(("operations", "seed"), [(60, 1), *LONG])
def test_a_failing_model_costs_nothing_but_its_help(tmp_path: Path, operations: int, seed: int) -> None:
    told = live(tmp_path, operations, seed)
    assert told.questions >= operations
    assert sum(told.faults.values()) > operations / 3
    assert told.turns > operations / 6
    assert (told.lost, told.dropped, told.waiting) == (0, 0, 0)
