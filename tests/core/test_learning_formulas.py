"""The formulas of learning: tables worked out by hand, and bounds that hold whatever comes."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import examples

from nagori.core.memory_scores import (
    ImportanceTerms,
    choose_withheld,
    contribution,
    importance,
    importance_terms,
    is_excluded,
)
from nagori.core.model import NO_CREDIT, Credit
from nagori.core.outcomes_lessons_and_credit import (
    FEWEST,
    LEVERS,
    Evidence,
    ToolLesson,
    ToolResult,
    UsualOutcome,
    bundle_results,
    credit_turn,
    find_lessons,
    next_step,
    outcome_of,
    target_of,
)
from nagori.errors import InvalidInput

TERMS = ("outcome", "reuse", "cross_impact", "novelty", "user_signal", "saving")


# --- importance


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0, 0, 0, 0, 0, 0), 0.0),
        ((1, 0, 0, 0, 0, 0), 0.25),
        ((0, 1, 0, 0, 0, 0), 0.20),
        ((0, 0, 1, 0, 0, 0), 0.20),
        ((0, 0, 0, 1, 0, 0), 0.15),
        ((0, 0, 0, 0, 1, 0), 0.15),
        ((0, 0, 0, 0, 0, 1), 0.05),
        ((1, 1, 1, 1, 1, 1), 1.0),
        ((0.8, 0.5, 0.2, 1.0, 0.6, 0.4), 0.2 + 0.1 + 0.04 + 0.15 + 0.09 + 0.02),
        ((9, -9, 0, 0, 0, 0), 0.25),
    ],
)
def test_importance_follows_its_six_weights(values: tuple[float, ...], expected: float) -> None:
    """[S6]"""
    terms = ImportanceTerms(**dict(zip(TERMS, values, strict=True)))
    assert importance(terms) == pytest.approx(expected)


def test_each_term_of_importance_is_measured() -> None:
    """[S6]"""
    plain: dict[str, Any] = {"recalls": 0, "mentions": 1, "intensity": 40.0, "protected": False, "others": 0}
    new = importance_terms(NO_CREDIT, **plain)
    assert tuple(new) == (0.5, 0.0, 0.0, 1.0, 0.4, 0.5)
    credit = Credit(used=4, ignored=0, used_sum=0, saved=120.0)
    old = importance_terms(credit, **(plain | {"recalls": 3, "mentions": 4, "protected": True, "others": 2}))
    assert tuple(old) == pytest.approx((0.5, 0.7, 0.4, 0.25, 1.0, 0.75))


# --- outcomes and lessons


def call(target: str, ok: bool = True, tool: str = "Bash", times: int = 1) -> ToolResult:
    return ToolResult(tool, target, ok, 10, "" if ok else "no", times)


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([], None),
        ([call("a")], 1.0),
        ([call("a", False)], 0.0),
        ([call("a", False), call("a")], 1 - 0.25 / 2),
        ([call("a"), call("b", False)], 0.5 * (1 - 0.25 / 2)),
        ([call("a", False, times=3), call("a")], 1 - 0.25 * 3 / 4),
    ],
)
def test_the_outcome_of_a_turn_is_the_last_result_of_each_target_less_what_was_wasted(
    results: list[ToolResult], expected: float | None
) -> None:
    assert outcome_of(results) == (None if expected is None else pytest.approx(expected))


def test_repetitions_in_a_row_are_bundled_with_their_time() -> None:
    """[S3]"""
    a, b = ("Bash", "a", True, 5, ""), ("Bash", "b", False, 7, "no")
    assert bundle_results([a, a, b, a]) == [(("Bash", "a", True, 10, ""), 2), (b, 1), (a, 1)]
    assert bundle_results([]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/srv/app/main.py", "/srv/app/main.py"),
        ("npm test", "npm test -- --runInBand"),
        ("make kettle", "FUEL=gas make -j2 kettle"),
        ("cd /srv && make kettle", "make kettle"),
        ("cd /srv ; make kettle", "make kettle FUEL=gas"),
    ],
)
def test_calls_on_one_target_are_known_as_such(one: str, other: str) -> None:
    assert target_of(one) == target_of(other)


def test_calls_on_different_targets_are_told_apart() -> None:
    assert target_of("make kettle") != target_of("make pot")
    assert target_of("git push") != target_of("git pull")
    assert target_of("cd /srv") == "cd /srv"
    assert target_of("FUEL=gas") == "FUEL=gas"


def test_a_failure_that_is_followed_by_success_on_the_same_target_is_a_lesson() -> None:
    bad, good, fix = call("make x", False), call("make x"), call("/x.py", tool="Edit")
    assert find_lessons([bad, fix, good, good]) == [ToolLesson(bad, good, fix)]
    assert find_lessons([bad, good]) == [ToolLesson(bad, good, None)]
    first, other = call("make x --fast", False), call("make x --slow")
    assert find_lessons([first, bad, fix, other]) == [ToolLesson(first, other, None)]
    assert find_lessons([good, bad]) == []
    assert find_lessons([bad, call("make y")]) == []


# --- contribution

GOLDEN = [
    # used, ignored, withheld, and the sums of their outcomes above the usual one → contribution
    (Credit(), 0.0),
    (Credit(used=10, used_sum=3), 0.0),  # nothing to compare with
    (Credit(used=5, ignored=5, used_sum=2.5, ignored_sum=-2.5), 0.5 * 1.0 * 2.5 / 6.5),
    (Credit(used=5, ignored=5, used_sum=-2.5, ignored_sum=2.5), -0.5 * 1.0 * 2.5 / 6.5),
    (Credit(ignored=10, withheld=10, ignored_sum=2, withheld_sum=-3), 0.5 * 5 / 9),
    (Credit(used=10, withheld=10, used_sum=2, withheld_sum=-3), 0.5 * 5 / 9),
    (
        Credit(used=5, ignored=5, withheld=10, used_sum=2.5, ignored_sum=-2.5, withheld_sum=-5),
        0.5 * 5 / 9 + 0.5 * 2.5 / 6.5,
    ),
]


@pytest.mark.parametrize(("credit", "expected"), GOLDEN)
def test_contribution_is_the_difference_shrunk_towards_zero(credit: Credit, expected: float) -> None:
    """[S7]"""
    assert contribution(credit) == pytest.approx(expected)


def test_each_turn_fades_those_before_it() -> None:
    """[S7]"""
    one = credit_turn(NO_CREDIT, 0.5, used=True, saved=2.0)
    assert one == Credit(used=1, used_sum=0.5, saved=2.0)
    two = credit_turn(one, -0.25)
    assert two == Credit(0.98, 1.0, 0.0, 0.49, -0.25, 0.0, 1, 1.96)
    three = credit_turn(two, 0.1, withheld=True, saved=9.0)
    assert (three.withheld, three.withheld_sum, three.unused) == (1.0, 0.1, 1)
    assert three.saved == pytest.approx(1.96 * 0.98)
    assert credit_turn(three, 0.0, used=True).unused == 0


@examples(200)
@given(st.lists(st.tuples(st.floats(-1, 1), st.sampled_from(["used", "ignored", "withheld"])), max_size=60))
def test_contribution_stays_within_bounds_whatever_happens(turns: list[tuple[float, str]]) -> None:
    credit = NO_CREDIT
    for surplus, what in turns:
        credit = credit_turn(credit, surplus, used=what == "used", withheld=what == "withheld")
    assert -1 <= contribution(credit) <= 1


def test_what_does_harm_or_is_shown_in_vain_is_excluded() -> None:
    """[S8]"""
    assert not is_excluded(NO_CREDIT, 12)
    assert is_excluded(Credit(unused=12), 12)
    assert not is_excluded(Credit(unused=12), 0)
    assert is_excluded(Credit(used=20, ignored=20, used_sum=-10, ignored_sum=10), 0)


def test_a_credit_is_made_of_numbers_that_every_store_can_hold() -> None:
    for wrong in (math.nan, math.inf, 1e300, "1", True, None):
        with pytest.raises(InvalidInput):
            Credit(used=wrong)  # type: ignore[arg-type]


def test_the_usual_outcome_begins_in_the_middle_and_follows_what_happens() -> None:
    assert (UsualOutcome().outcome, UsualOutcome().usual_seconds) == (0.5, 0.0)
    once = UsualOutcome().after(1.0, 8.0)
    assert (once.outcome, once.usual_seconds) == (pytest.approx(0.6), 8.0)
    usual = UsualOutcome()
    for _ in range(500):
        usual = usual.after(1.0, 2.0)
    assert usual.outcome > 0.95
    assert usual.usual_seconds == pytest.approx(2.0)


def test_withholding_happens_as_often_as_it_is_wanted_and_to_all_alike() -> None:
    """[S7, ruling 52]"""
    assert choose_withheld(0, 0.1, bytes(8)) == (None, 0.0)
    assert choose_withheld(3, 0.0, bytes(8)) == (None, 0.0)
    assert choose_withheld(3, 0.1, bytes(8)) == (0, pytest.approx(0.1 / 3))
    assert choose_withheld(3, 0.1, b"\0\0\0\0\0\0\0\5")[0] == 2
    assert choose_withheld(3, 0.1, b"\x1a" + bytes(7))[0] is None  # just above a tenth
    assert choose_withheld(3, 0.1, b"\x19" + bytes(7))[0] == 0


# --- policy


def outcomes(effect: float, turns: int = 4000, share: float = 0.05) -> Evidence:
    """Evidence in which withholding changes the outcome by `effect`, without chance."""
    seen, every = Evidence(), round(1 / share)
    for n in range(turns):
        withheld = n % every == 0
        seen = seen.after_outcome(effect if withheld else 0.0, withheld, share)
    return seen


def uses(shown: int, used: int) -> Evidence:
    seen = Evidence()
    for n in range(shown):
        seen = seen.after_showing(n < used)
    return seen


def test_evidence_counts_what_is_withheld_by_how_likely_it_was() -> None:
    seen = Evidence().after_outcome(0.5, True, 0.1).after_outcome(0.5, False, 0.1).after_showing(True)
    assert (seen.turns, seen.withheld, seen.shown, seen.used) == (2, 1, 1, 1)
    assert seen.total == pytest.approx(0.5 / 0.1 - 0.5 / 0.9)
    assert outcomes(0.3).total / outcomes(0.3).turns == pytest.approx(0.3)


def test_a_setting_moves_only_if_the_bound_of_the_gain_is_above_zero() -> None:
    """[S8]"""
    at = {"hooks.max_memories": 6.0}
    assert next_step(at, {}) is None
    assert next_step(at, {"hooks.max_memories": uses(100, 1)}) is None
    step = next_step(at, {"hooks.max_memories": uses(2000, 10)})
    assert step is not None
    assert (step.value, step.reason) == (5.0, "use")
    assert step.gain == pytest.approx(0.1 - uses(2000, 10).use[1])
    better = next_step(at, {"hooks.max_memories": outcomes(0.9)})
    worse = next_step(at, {"hooks.max_memories": outcomes(-0.9)})
    assert better is not None
    assert worse is not None
    assert (better.value, better.reason, worse.value) == (5.0, "outcome", 7.0)
    few = outcomes(0.9, turns=20 * (FEWEST - 1))
    assert few.effect == (-1.0, 1.0)
    assert next_step(at, {"hooks.max_memories": few}) is None


def test_a_setting_never_leaves_its_bounds_and_one_moves_at_a_time() -> None:
    """[S8]"""
    idle = uses(2000, 10)
    for name, lever in LEVERS.items():
        end = lever.hi if lever.step > 0 else lever.lo
        assert next_step({name: end}, {name: idle}) is None
        step = next_step({name: end}, {name: outcomes(-0.9)})
        assert step is not None
        assert lever.lo <= step.value <= lever.hi
    assert (
        next_step({"learning.credit_weight": 3.0}, {"learning.credit_weight": idle}) is None
    )  # saves nothing
    both = {"hooks.max_memories": 6.0, "learning.exclude_unused_after": 12.0}
    step = next_step(both, {"hooks.max_memories": idle, "learning.exclude_unused_after": uses(2000, 0)})
    assert step is not None
    assert (step.setting, step.value) == ("learning.exclude_unused_after", 10.0)


def test_no_showing_says_nothing() -> None:
    assert Evidence().use == (0.0, 1.0)
