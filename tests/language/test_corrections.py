"""Whether a statement replaces an older one: the same matter, another value."""

import pytest

from nagori.language.corrections import (
    OF_ANOTHER,
    correction_features,
    news_of_change,
    replacement_odds,
    updates_subject,
)

NEAR, FAR = 3.0, 0.5  # spreads above unrelated texts
LEAD, BEHIND = 0.5, -0.5  # spreads above the nearest other statement, or below it


@pytest.mark.parametrize(
    ("old", "new", "other"),
    [
        (
            "the kiln is fired on Tuesdays",
            "we moved the firing of the kiln to Fridays",
            "the kiln was built by my uncle",
        ),
        (
            "My violin teacher is Mrs. Okoye",
            "Mrs. Lund teaches me violin now, Okoye moved away",
            "My violin was made in 1920",
        ),
        ("窯の担当は三宅さん", "三宅さんに代わって窯の担当は小暮さんになった", "窯は裏庭にある"),
    ],
)
def test_another_value_of_the_same_matter_is_likelier_to_replace(old: str, new: str, other: str) -> None:
    assert replacement_odds(old, new, NEAR, LEAD) > replacement_odds(other, new, NEAR, LEAD)
    assert replacement_odds(old, new, NEAR, LEAD) > replacement_odds(old, new, FAR, LEAD)
    assert replacement_odds(old, new, NEAR, LEAD) > replacement_odds(old, new, NEAR, BEHIND)


def test_news_of_a_change_makes_it_likelier_and_a_foreign_vector_tells_nothing() -> None:
    old, new = "the door code team meets on mondays", "tuesdays for the team since the holidays"
    assert replacement_odds(old, new, NEAR, LEAD, 0.8) > replacement_odds(old, new, NEAR, LEAD, 0.0)
    assert news_of_change(bytes(8), "another-model") is None
    assert news_of_change(bytes(4 * 384), "multilingual-e5-small-q4") is not None


def test_what_is_counted_has_names() -> None:
    found = correction_features("we close at six", "from now on we close at eight", NEAR, LEAD, 0.5)
    assert found["change"] == found["other_value"] == found["change_and_shared"] == 1.0
    assert found["old_value"] == found["japanese"] == 0.0
    kept = correction_features("the price is 40", "the price was 40, it's 45 now", NEAR, LEAD, 0.5)
    assert kept["old_value"] == 1.0
    assert kept["news"] == 0.5
    assert correction_features("", "", 0.0, LEAD, 0.0)["share_of_shorter"] == 0.0


@pytest.mark.parametrize(
    ("old", "new", "updates"),
    [
        ("My dentist is Dr. Weiss.", "My dentist is Dr. Okafor now.", True),
        ("うちの猫の名前はタマです。", "うちの猫の名前はミケに変わりました。", True),
        ("My dentist is Dr. Weiss.", "My dentist is very kind.", False),  # no word for change
        ("My dentist is Dr. Weiss.", "My doctor is Dr. Okafor now.", False),
        ("Dr. Weiss called.", "Dr. Okafor calls now.", False),
    ],
)
def test_the_same_subject_with_a_word_for_change_is_an_update(old: str, new: str, updates: bool) -> None:
    assert updates_subject(old, new) is updates


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My mother's birthday is May 3.", "My sister's birthday is June 9 now."),
        ("母の誕生日は5月3日です。", "姉の誕生日は6月9日になりました。"),
        ("Ken's desk is by the window.", "Mari's desk is by the door now."),
        ("田中さんの席は3階です。", "鈴木さんの席は4階に変わりました。"),
    ],
)
def test_what_is_said_of_one_person_replaces_nothing_of_another(old: str, new: str) -> None:
    assert replacement_odds(old, new, 5.0, 1.0) == OF_ANOTHER


def test_a_relative_has_several_names() -> None:
    assert replacement_odds("My mum lives in Leeds.", "My mother lives in York now.", 5.0, 1.0) > OF_ANOTHER
    assert (
        replacement_odds("母の病院は水曜です。", "お母さんの病院は木曜になりました。", 5.0, 1.0) > OF_ANOTHER
    )


@pytest.mark.parametrize(
    ("old", "new", "exception"),
    [
        ("the museum closes at six", "on Sundays the museum closes at two", True),
        ("図書館は八時まで", "土曜は図書館は五時まで", True),
        ("the museum closes at six", "the museum closes at two", False),
        ("on Mondays the museum closes at six", "on Sundays the museum closes at two", False),
        ("the museum closes at six", "on Sundays the museum now closes at two", False),
        ("choir practice is on Tuesday", "on Sundays from now on", False),
    ],
)
def test_what_holds_at_certain_times_replaces_nothing(old: str, new: str, exception: bool) -> None:
    assert (replacement_odds(old, new, 2.0, 1.0) == OF_ANOTHER) is exception
