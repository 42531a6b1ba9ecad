"""Whether a statement replaces an older one: the same matter, another value."""

import pytest

from nagori.language.corrections import correction_features, replacement_odds, updates_subject

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
    talk = (
        f"{new}. We sat in the garden until late and talked about the holidays, and nobody wanted to go home"
    )
    assert replacement_odds(old, new, NEAR, LEAD) > replacement_odds(old, talk, NEAR, LEAD)


def test_what_is_counted_has_names() -> None:
    found = correction_features("we close at six", "from now on we close at eight", NEAR, LEAD)
    assert found["change"] == found["other_value"] == found["change_and_shared"] == 1.0
    assert found["old_value"] == found["japanese"] == 0.0
    kept = correction_features("the price is 40", "the price was 40, it's 45 now", NEAR, LEAD)
    assert kept["old_value"] == 1.0
    assert correction_features("", "", 0.0, LEAD)["share_of_shorter"] == 0.0


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
