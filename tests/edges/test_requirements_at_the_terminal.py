"""Requirements as a person at a terminal meets them, each test named after its row."""

from __future__ import annotations

from typing import Any

import pytest
from tests.edges.test_cli import Run, kept, run  # noqa: F401 - a fixture


def data(run: Run, *words: str) -> Any:  # noqa: F811
    """What a command says as JSON."""
    return run(*words, "--json").json


def test_l4_show_and_why_tell_the_archive(run: Run) -> None:  # noqa: F811
    id = kept(run, "The spare key hangs behind the clock in the hall.")
    run("archive", id)
    told = run("why", id)
    assert "by hand" in told.out
    assert "full text is kept until" in told.out
    entry = data(run, "why", id)["archive"]
    assert entry["reason"] == "manual"
    assert entry["retention_until"] > entry["at"]
    assert {"final_score", "original_bytes", "compressed_bytes", "compression_ratio"} <= entry.keys()
    assert data(run, "show", id)["retention_until"] == entry["retention_until"]


def test_l6_status_names_the_capacity(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("NAGORI_CAPACITY__LIMIT", "20")
    kept(run, "tea")
    assert "1 of 20 (5%)" in run("status").out
    told = data(run, "status")
    assert (told["active"], told["capacity"], told["capacity_usage"]) == (1, 20, 0.05)
    assert "1 of 20 memories" in run("doctor").out
    assert "memory_capacity{" in run("status", "--prometheus").out


def test_l7_the_log_shows_numbers_before_and_after(run: Run) -> None:  # noqa: F811
    id = kept(run, "The kettle is green.")
    run("feedback", "up", id)
    assert "strength 80.0 → 90.0" in run("log").out
    [event] = data(run, "log", "--type", "edited")["events"]
    assert (event["details"]["score_before"], event["details"]["score_after"]) == (80.0, 90.0)
    assert event["memories"] == [id]
    assert "Nothing of this kind" in run("log", "--type", "deleted").out
    assert run("log", "--type", "nonsense").code == 2
    history = data(run, "why", id)["history"]
    assert history[1]["details"]["feedback"] == "up"
    assert "kettle" not in str(history)


def test_l8_cycle_all_names_every_user(run: Run) -> None:  # noqa: F811
    kept(run, "tea")
    run("--user", "aki", "remember", "coffee")
    told = run("cycle", "--all")
    assert told.code == 0
    assert "local/me" in told.out
    assert "local/aki" in told.out
    assert run("cycle", "--all", "--dry-run").code == 2


def test_e16_links_are_made_shown_and_cut(run: Run) -> None:  # noqa: F811
    one, other = kept(run, "The kettle is green."), kept(run, "It was bought in Rome.")
    assert "continues" in run("link", other, one, "--type", "continues").out
    assert f"{other} —continues→ {one}" in run("why", one).out
    assert "Removed 1" in run("unlink", one, other).out
    assert "continues" not in run("why", one).out.partition("history")[0]


def test_e23_compact_tells_the_sizes(run: Run) -> None:  # noqa: F811
    kept(run, "tea")
    assert "Compacted the store" in run("compact").out
