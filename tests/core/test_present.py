"""What holds now: which questions ask for it, which statements tell of a change, which comes first."""

from datetime import UTC, datetime, timedelta

import pytest

from nagori.core.relevance import Statement, asks_for_current, freshness, mentions_change, order_by_date

NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "question",
    [
        "今どこに住んでいる？",
        "現在の担当は？",
        "結局どれにした？",
        "Where does he work now?",
        "What is the latest price?",
    ],
)
def test_a_question_for_the_present_is_noticed(question: str) -> None:
    assert asks_for_current(question)


@pytest.mark.parametrize(
    "question",
    ["昨日どこに行った？", "今年の目標は？", "今週の予定は？", "When did she move?", "Do you know her name?"],
)
def test_other_questions_are_not(question: str) -> None:
    assert not asks_for_current(question)


@pytest.mark.parametrize(
    "text",
    [
        "やっぱり水曜にした",
        "会議は5時に変更",
        "月10万が8万に",
        "We switched to pnpm.",
        "The limit was raised to 20.",
    ],
)
def test_a_change_is_noticed(text: str) -> None:
    assert mentions_change(text)


@pytest.mark.parametrize("text", ["犬を飼っている", "I have two dogs.", "The knowledge base is big."])
def test_a_plain_statement_tells_no_change(text: str) -> None:
    assert not mentions_change(text)


def test_the_later_of_two_statements_by_one_speaker_is_lifted() -> None:
    old = Statement("old", 5.0, 1, "Aki", "We use npm.")
    new = Statement("new", 4.0, 2, "Aki", "We switched to pnpm.")
    lifts = freshness([old, new])
    assert lifts["new"] > 1
    assert "old" not in lifts


def test_a_change_that_follows_nothing_said_is_lifted_less() -> None:
    new = Statement("new", 4.0, 2, "Aki", "We switched to pnpm.")
    alone = freshness([new])["new"]
    assert freshness([Statement("old", 5.0, 1, "Aki", "npm"), new])["new"] > alone
    assert freshness([Statement("old", 5.0, 1, "Ken", "npm"), new])["new"] == alone
    assert freshness([Statement("old", 5.0, 3, "Aki", "npm"), new])["new"] == alone


def test_nothing_said_means_nothing_lifted() -> None:
    assert freshness([]) == {}


def said(id: str, hours: int, odds: float, words: float = 0.0) -> Statement:
    return Statement(id, odds, (NOON + timedelta(hours=hours), 0), "Aki", id, words)


def test_of_what_fits_about_equally_well_the_newest_gets_the_best_odds() -> None:
    old, new, other = said("old", 0, 5.0), said("new", 48, 4.5), said("other", 96, 4.0)
    odds = {"old": 5.5, "new": 4.6, "other": 4.0}
    assert order_by_date([old, new, other], odds) == {"new": 5.5, "old": 4.6}
    assert order_by_date([], odds) == {}


def test_a_statement_that_shares_the_words_of_the_question_may_fit_less_well() -> None:
    old, odds = said("old", 0, 5.0, words=4.0), {"old": 5.0, "new": 3.5}
    assert order_by_date([old, said("new", 48, 3.5, words=3.0)], odds) == {"new": 5.0, "old": 3.5}
    assert order_by_date([old, said("new", 48, 3.5, words=2.9)], odds) == {"old": 5.0}
    assert order_by_date([old, said("new", 48, 2.9, words=4.0)], odds) == {"old": 5.0}


def test_the_time_before_last_is_the_newest_of_an_earlier_occasion() -> None:
    matter = [said("first", 0, 5.0), said("second", 48, 4.9), said("third", 96, 4.8), said("same", 90, 4.7)]
    odds = {each.id: each.odds for each in matter}
    before = order_by_date(matter, odds, before_last=True)
    assert sorted(before, key=before.__getitem__, reverse=True) == ["second", "first", "third", "same"]
    assert sorted(before.values()) == sorted(odds.values())
