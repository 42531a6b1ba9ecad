"""What models cost is counted before it is spent, shared by all processes, and never over the day's limit."""

import multiprocessing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from nagori.errors import ModelError
from nagori.spend import KEPT_DAYS, SpendBook, SpendEntry

NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)


def settle(book: SpendBook, hold: str, usd: float, at: datetime = NOON, **more: object) -> None:
    book.settle(at, hold, SpendEntry(at, "judge", "m", usd, **more))  # type: ignore[arg-type]


def test_a_question_is_counted_with_the_most_it_can_cost_until_it_is_settled(tmp_path: Path) -> None:
    book = SpendBook(tmp_path)
    hold = book.hold(NOON, "judge", "m", 0.5, cap=1.0)
    assert [(a.usd, a.settled) for a in book.asked(NOON.date())] == [(0.5, False)]
    settle(book, hold, 0.1, input_tokens=100, output_tokens=10)
    assert [(a.usd, a.settled, a.input_tokens) for a in book.asked(NOON.date())] == [(0.1, True, 100)]


def test_a_question_that_could_break_the_limit_is_not_asked(tmp_path: Path) -> None:
    book = SpendBook(tmp_path)
    book.hold(NOON, "judge", "m", 0.7, cap=1.0)
    with pytest.raises(ModelError) as full:
        book.hold(NOON, "summary", "m", 0.4, cap=1.0)
    assert full.value.wait == 12 * 3600
    book.hold(NOON, "summary", "m", 0.3, cap=1.0)
    book.hold(NOON + timedelta(days=1), "summary", "m", 0.9, cap=1.0)  # a new day


def test_what_costs_nothing_is_asked_whatever_the_limit(tmp_path: Path) -> None:
    book = SpendBook(tmp_path)
    book.hold(NOON, "judge", "local", 0.0, cap=0.0)
    assert len(book.asked(NOON.date())) == 1


def test_an_answer_after_midnight_settles_the_day_it_was_asked_on(tmp_path: Path) -> None:
    book, late = SpendBook(tmp_path), datetime(2026, 4, 1, 23, 59, 59, tzinfo=UTC)
    hold = book.hold(late, "judge", "m", 0.5, cap=1.0)
    settle(book, hold, 0.2, late + timedelta(seconds=5))
    assert [day.usd for day in book.days(date(2026, 4, 2), 2)] == [0.2]


def test_torn_and_foreign_lines_are_passed_over_and_holds_still_count(tmp_path: Path) -> None:
    book = SpendBook(tmp_path)
    hold = book.hold(NOON, "judge", "m", 0.5, cap=1.0)
    path = next((tmp_path / "spend").glob("*.jsonl"))
    with path.open("a") as file:
        file.write('{"settles": "' + hold + '", "usd"\n[1]\n{"hold": "x"}\n{"settles": "y", "at": 3')
    assert [a.usd for a in book.asked(NOON.date())] == [0.5]
    settle(book, hold, 0.1)
    assert [a.usd for a in book.asked(NOON.date())] == [0.1]
    assert path.stat().st_mode & 0o077 == 0


def test_days_are_added_up_by_stage_and_model(tmp_path: Path) -> None:
    book = SpendBook(tmp_path)
    for stage, fault in (("judge", None), ("judge", "cut"), ("summary", None)):
        hold = book.hold(NOON, stage, "m", 0.2, cap=1.0)
        book.settle(NOON, hold, SpendEntry(NOON, stage, "m", 0.1, 5, 2, fault))
    (day,) = book.days(NOON.date(), 30)
    assert (day.questions, round(day.usd, 6)) == (3, 0.3)
    judged = day.sums["judge", "m"]
    assert (judged.questions, judged.faults, judged.input_tokens, judged.output_tokens) == (2, 1, 10, 4)


def test_what_is_older_than_a_year_is_swept(tmp_path: Path) -> None:
    book = SpendBook(tmp_path)
    book.hold(NOON, "judge", "m", 0.1, cap=1.0)
    later = NOON + timedelta(days=KEPT_DAYS + 1)
    book.hold(later, "judge", "m", 0.1, cap=1.0)
    assert book.asked(NOON.date()) == []
    assert len(book.asked(later.date())) == 1


def _spend(folder: Path) -> int:
    book, asked = SpendBook(folder), 0
    for _ in range(20):
        try:
            hold = book.hold(NOON, "judge", "m", 0.05, cap=1.0)
        except ModelError:
            continue
        asked += 1
        settle(book, hold, 0.04)
    return asked


def test_many_processes_together_stay_below_the_limit(tmp_path: Path) -> None:
    with multiprocessing.get_context("fork").Pool(4) as pool:
        asked = sum(pool.map(_spend, [tmp_path] * 4))
    spent = sum(a.usd for a in SpendBook(tmp_path).asked(NOON.date()))
    assert asked == len(SpendBook(tmp_path).asked(NOON.date()))
    assert 0.9 < spent <= 1.0
