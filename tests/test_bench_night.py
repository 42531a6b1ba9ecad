"""The benchmark of nights, on stores so small that their figures can be looked through."""

import json
from pathlib import Path
from typing import Any

import pytest
from bench import cycle, filling, ties

from nagori import Config, Level
from nagori.testing import FrozenClock


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("bench")
    options = ("--sizes", "1200", "--links", "5000", "--new", "60", "--lines", "2", "--min-confidence")
    cycle.main([*options, "--cache", str(folder / "cache"), "--json", str(folder / "figures.json")])
    told: dict[str, Any] = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    assert [path.name for path in sorted((folder / "cache").iterdir())] == [
        f"{filling.MADE_BY}-1200-2",
        f"{filling.MADE_BY}-5000-ties-60",
    ]
    return told


@pytest.mark.slow
def test_a_normal_night_changes_a_few_memories_in_a_hundred(figures: dict[str, Any]) -> None:
    [night] = figures["figures"]
    assert night["memories"] == 1200
    assert 0.01 * 1200 < night["steps"] < 0.05 * 1200
    assert 0 < night["longest_write_s"] <= night["longest_lock_s"]
    assert night["sqlite_s"] > 0
    assert figures["machine"]


@pytest.mark.slow
def test_every_pair_above_the_threshold_is_tied(figures: dict[str, Any]) -> None:
    [links] = figures["links"]
    assert (links["memories"], links["new"]) == (5000, 60)
    assert links["pairs"] == links["ties"] > 10
    assert links["recall"] == 1


def test_a_filled_store_is_as_nights_would_have_left_it(tmp_path: Path) -> None:
    clock = FrozenClock()
    with filling.opened(tmp_path, 400, clock) as memory:
        kept = list(filling.settled(400, clock.now()))
        events = [
            filling.Event("imported", clock.now(), {"memory": filling.to_record(m)}, m.id) for m in kept
        ]
        memory.runtime.ledger.write(filling.OWNER, lambda: events)
        assert memory.plan().steps == []
        assert {m.level for m in kept} == set(Level)
        assert memory.verify().sound


def test_levels_are_given_to_the_strongest_while_there_is_room() -> None:
    strengths = [90.0, 80.0, 70.0, 60.0, 3.0, 40.0, 30.0, 55.0, 10.0, 9.0]
    given = filling.levels(strengths, Config())
    assert [int(level) for level in given] == [1, 2, 2, 2, 4, 3, 3, 3, 4, 4]


def test_new_vectors_lie_where_they_were_put() -> None:
    first = next(ties.old_vectors(50))
    cosines = (ties.new_vectors(first, 20) @ first.T).max(axis=1)
    assert all(cosine > 0.79 for cosine in cosines[::2])
    assert all(cosine < 0.5 for cosine in cosines[1::2])
