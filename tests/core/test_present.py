"""What holds now: which questions ask for it, which statements tell of a change, which comes first."""

import pytest

from nagori.core.relevance import Statement, asks_for_current, freshness, mentions_change


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
