"""A slice of `python -m bench.chaos`: whatever the model does, nothing is lost and the queue empties."""

from pathlib import Path

import pytest
from bench.chaos import live


@pytest.mark.parametrize("seed", [1, 2])
def test_a_failing_model_costs_nothing_but_its_help(tmp_path: Path, seed: int) -> None:
    told = live(tmp_path, 300, seed)
    assert told.questions >= 300
    assert sum(told.faults.values()) > 100
    assert told.turns > 50
    assert (told.lost, told.dropped, told.waiting) == (0, 0, 0)
