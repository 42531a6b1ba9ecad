"""What events of learning change: credit, notes of sessions, settings; and what redaction leaves of them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nagori.core.event_redaction import redaction_for
from nagori.core.events import (
    LEARNED,
    MOST_AWAITING,
    MOST_TASKS,
    MOST_VERSIONS,
    POLICY,
    SESSIONS,
    SKIPPABLE,
    Event,
    fold,
)
from nagori.core.levels import Tiers, tier_level
from nagori.core.model import NO_CREDIT, Credit, Level, Memory, TaskOutcome, Text
from nagori.core.serialize import from_record, to_record
from nagori.errors import InvalidInput

NOW = datetime(2026, 4, 1, 9, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
NUMBERS = [1.0, 2.0, 0.0, 0.5, -0.5, 0.0, 3, 1.5]


def memory(id: str = "m", **more: Any) -> Memory:
    return Memory(id, NOW, NOW, {Level.FULL: Text("", f"words of {id}")}, **more)


def recalled(seq: int = 3, **more: Any) -> Event:
    data = {"memories": ["m"], "unasked": True, "revival": True, "session": "s"}
    return Event(
        "recalled", LATER, data | {"awaits": {"order": ["m"], "at": NOW.isoformat()}} | more, seq=seq
    )


def credited(seq: int = 9, **more: Any) -> Event:
    return Event("credited", LATER, more, seq=seq)


def test_what_is_shown_unasked_awaits_its_credit_and_is_not_strengthened() -> None:
    out = fold([recalled()], {"m": memory()})
    assert out.memories["m"].recalled_at is None
    note = out.state[SESSIONS]["s"]
    assert (note["shown"], note["awaiting"]) == (["m"], [{"order": ["m"], "at": NOW.isoformat(), "seq": 3}])
    before = fold([recalled(awaits=None)], {"m": memory()})  # as older versions wrote it
    assert before.memories["m"].recalled_at == LATER
    assert "awaiting" not in before.state[SESSIONS]["s"]


def test_an_archived_memory_that_awaits_its_credit_still_asks_for_revival() -> None:
    out = fold([recalled()], {"m": memory(level=Level.ARCHIVED)})
    assert out.memories["m"].revival_at == LATER


def test_only_so_many_turns_await_their_credit_and_a_compaction_keeps_them() -> None:
    events = [recalled(seq) for seq in range(1, 2 * MOST_AWAITING)]
    compacted = Event("session_compacted", LATER, {"session": "s"}, seq=99)
    note = fold([*events, compacted], {"m": memory()}).state[SESSIONS]["s"]
    assert [turn["seq"] for turn in note["awaiting"]] == list(range(MOST_AWAITING, 2 * MOST_AWAITING))
    assert (note["shown"], note["compacted"]) == ([], True)


def test_a_provisional_credit_completes_the_note_of_its_turn_alone() -> None:
    seen = {"seq": 4, "outcome": 1.0, "seconds": 2.0, "used": {"m": 1.0}}
    out = fold([recalled(3), recalled(4), credited(session="s", provisional=seen)], {"m": memory()})
    first, second = out.state[SESSIONS]["s"]["awaiting"]
    assert "used" not in first
    assert (second["outcome"], second["used"]) == (1.0, {"m": 1.0})
    assert out.memories["m"].credit == NO_CREDIT
    assert LEARNED not in out.state


def test_a_final_credit_holds_the_numbers_and_closes_its_turns() -> None:
    final = credited(
        session="s",
        through=3,
        memories=["m", "gone"],
        credits={"m": NUMBERS, "gone": NUMBERS},
        strengthened=["m"],
        usual={"t": [1.0, 1.0, 2.0]},
        evidence={"hooks.max_memories": [1, 0, 0.0, 0.0, 1, 0]},
    )
    out = fold([recalled(3), recalled(4), final], {"m": memory()})
    kept = out.memories["m"]
    assert (kept.credit, kept.recalled_at, kept.version) == (Credit(*NUMBERS), LATER, 1)  # type: ignore[arg-type]
    assert [turn["seq"] for turn in out.state[SESSIONS]["s"]["awaiting"]] == [4]
    assert out.state[LEARNED]["usual"] == {"t": [1.0, 1.0, 2.0]}
    again = fold([credited(session="s", through=9)], {}, out.state)
    assert "awaiting" not in again.state[SESSIONS]["s"]
    assert fold([credited(session="unknown", through=9)], {}, out.state).state == {}
    other = fold([credited(credits={"m": NUMBERS})], {"m": memory()}).memories["m"]
    assert (other.credit.used, other.recalled_at) == (1.0, None)


def test_only_so_many_tasks_are_known_the_last_ones() -> None:
    state: dict[str, Any] = {}
    for n in range(MOST_TASKS + 5):
        state |= fold([credited(usual={f"t{n}": [1.0, 0.0, 0.0]})], {}, state).state
    state |= fold([credited(usual={"t10": [2.0, 0.0, 0.0]})], {}, state).state
    usual = state[LEARNED]["usual"]
    assert len(usual) == MOST_TASKS
    assert list(usual)[-1] == "t10"
    assert "t0" not in usual


@pytest.mark.parametrize("wrong", [[1.0], "x", [*NUMBERS[:-1], "x"], [*NUMBERS[:-1], float("nan")]])
def test_a_wrong_credit_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidInput):
        fold([credited(credits={"m": wrong})], {"m": memory()}, strict=True)


def test_a_policy_keeps_its_versions_and_spends_its_evidence() -> None:
    learned = {"usual": {}, "evidence": {"hooks.max_memories": [1, 0, 0.0, 0.0, 1, 0], "other": []}}
    step = Event(
        "policy_changed", NOW, {"values": {"hooks.max_memories": 5}, "setting": "hooks.max_memories"}, seq=7
    )
    out = fold([step], {}, {LEARNED: learned})
    policy = out.state[POLICY]
    assert (policy["values"], policy["off"]) == ({"hooks.max_memories": 5}, False)
    assert [(v["seq"], v["by"]) for v in policy["versions"]] == [(7, "user")]
    assert out.state[LEARNED]["evidence"] == {"other": []}
    off = fold([Event("policy_changed", NOW, {"values": {}, "off": True}, seq=8)], {}, {POLICY: policy})
    assert (off.state[POLICY]["off"], LEARNED in off.state) == (True, False)
    many = [Event("policy_changed", NOW, {"values": {}}, seq=n) for n in range(MOST_VERSIONS + 9)]
    assert len(fold(many, {}).state[POLICY]["versions"]) == MOST_VERSIONS


def test_nobody_else_may_write_what_these_events_write() -> None:
    for key in (LEARNED, POLICY):
        with pytest.raises(InvalidInput):
            fold([Event("state_changed", NOW, {"key": key, "value": 1})], {}, strict=True)


def test_a_version_that_does_not_know_them_may_skip_what_changes_no_memory() -> None:
    assert {"worked", "policy_changed"} <= SKIPPABLE
    assert "credited" not in SKIPPABLE


def test_results_of_tools_are_a_turn_outside_of_the_conversation() -> None:
    data = {"session": "s", "role": "work", "text": "[]", "index": -1, "task": "t"}
    (turn,) = fold([Event("worked", NOW, data, seq=2)], {}).turns
    assert (turn.role, turn.text, turn.index) == ("work", "[]", -1)


def test_an_erased_session_is_no_longer_named_by_its_credits() -> None:
    erasure = Event("erased", LATER, {"sessions": ["s"]}, seq=20)
    event = credited(session="s", credits={"m": NUMBERS}, through=3)
    left = redaction_for(erasure)(event)
    assert left.data == {"credits": {"m": NUMBERS}, "through": 3}
    assert fold([left], {"m": memory()}).memories["m"].credit.used == 1.0


def test_task_outcome_and_credit_are_part_of_the_record() -> None:
    kept = memory(task="t", outcome=TaskOutcome.FAILURE, credit=Credit(used=1.5, unused=2))
    assert from_record(to_record(kept)) == kept
    assert {"task", "outcome", "credit"}.isdisjoint(to_record(memory()))
    faults: list[dict[str, Any]] = [{"outcome": "maybe"}, {"credit": [1]}, {"credit": {}}, {"task": 1}]
    for wrong in faults:
        with pytest.raises(InvalidInput):
            from_record(to_record(kept) | wrong)


@pytest.mark.parametrize(
    ("days", "importance", "level"),
    [(0, 0.0, 1), (6.9, 0.0, 1), (7, 0.49, 2), (7, 0.5, 1), (29, 0.0, 2), (30, 0.49, 3), (300, 0.9, 1)],
)
def test_a_tier_keeps_what_is_hot_or_important(days: float, importance: float, level: int) -> None:
    """[S4]"""
    assert tier_level(days, importance, Tiers()) == level
