"""Selecting turns, measuring memories and keeping a log in plain collections."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from nagori.core.events import RecordedTurn
from nagori.core.in_memory_queries import extend_log, extend_origins, measure_memories, select_turns
from nagori.core.levels import Tiers
from nagori.core.model import Level, Memory, Text, TurnFilter
from nagori.core.storage_types import AppliedPosition, Batch, LogEntry

NOW = datetime(2026, 4, 1, 9, 0, tzinfo=UTC)


def turn(seq: int, session: str = "s", processed: bool = False) -> RecordedTurn:
    return RecordedTurn(f"t{seq}", seq, NOW, session, "user", f"word {seq}", seq, processed=processed)


TURNS = {seq: turn(seq, "s" if seq < 4 else "other", processed=seq == 2) for seq in range(5, 0, -1)}


def seqs(**chosen: object) -> list[int]:
    return [one.seq for one in select_turns(TURNS, TurnFilter(**chosen))]  # type: ignore[arg-type]


def test_turns_are_selected_oldest_first() -> None:
    assert seqs() == [1, 2, 3, 4, 5]
    assert seqs(after=3) == [4, 5]
    assert seqs(session="s") == [1, 2, 3]
    assert seqs(seqs=[5, 1]) == [1, 5]
    assert seqs(ids=["t4"]) == [4]
    assert seqs(pending=True) == [1, 3, 4, 5]
    assert seqs(first=2) == [1, 2]
    assert seqs(last=2) == [4, 5]
    assert seqs(last=9) == [1, 2, 3, 4, 5]


def test_compression_is_measured_where_the_full_text_is_kept() -> None:
    texts = {Level.FULL: Text("asked", "12345"), Level.SUMMARY: Text("", "123")}
    whole = Memory(id="a", created=NOW, anchor=NOW, texts={Level.FULL: Text("", "short")})
    summary = Memory(id="b", created=NOW, anchor=NOW, texts=texts, level=Level.SUMMARY)
    measures = measure_memories([whole, summary], NOW + timedelta(days=1), Tiers())
    assert measures.kinds == {"episode": 2}
    assert sum(measures.tiers.values()) == 2
    assert (measures.shown, measures.whole) == (3, 10)


def test_of_an_erased_memory_log_and_origins_keep_nothing_earlier() -> None:
    log = [LogEntry(1, NOW, "formed", ("mem_b", "mem_a", "mem_b")), LogEntry(2, NOW, "recalled", ("mem_a",))]
    entries = [LogEntry(3, NOW, "erased", ("mem_a",)), LogEntry(4, NOW, "formed", ("mem_a",))]
    entries += [LogEntry(5, NOW, "state_changed", ()), LogEntry(6, NOW, "deleted", ("mem_b",))]
    after = AppliedPosition(6)
    batch = Batch(2, after, log=entries, origins=[("mem_a", 4)], erasures=[("mem_a", 3)])
    kept = extend_log(log, batch)
    assert [(entry.seq, entry.memories) for entry in kept] == [
        (1, ("mem_b",)),
        (3, ("mem_a",)),
        (4, ("mem_a",)),
        (6, ("mem_b",)),
    ]
    assert extend_origins([("mem_a", 1), ("mem_b", 1)], batch) == {("mem_b", 1), ("mem_a", 4)}
