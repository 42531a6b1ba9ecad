"""Whether a turn opens another topic: cues, and the features of the words around it."""

from __future__ import annotations

import pytest

from nagori.language.topic_shift import FEATURES, WEIGHTS, has_topic_cue, shift_features, topic_shift


@pytest.mark.parametrize(
    "text",
    [
        "By the way, did the parcel arrive?",
        "btw the lease ends in May",
        "Anyway, about the garden",
        "On another note, I sold the car.",
        "ところで、来週の件ですが",
        "そういえば、傘を忘れた",
        "話は変わりますが、車検はいつですか",
        "すみません、別件です。",
    ],
)
def test_a_cue_at_the_start_changes_the_subject(text: str) -> None:
    assert has_topic_cue(text)


@pytest.mark.parametrize(
    "text",
    [
        "The bridge by the way to the station is closed.",
        "I was going to say something about that, by the way.",
        "昨日のことを思い出して、そのとき話していたのは、そういえば田中さんでした。",
        "",
    ],
)
def test_the_same_words_later_on_do_not(text: str) -> None:
    assert not has_topic_cue(text)


ENGLISH = ["We painted the kitchen on Sunday.", "Which colour did you choose for the kitchen?"]
JAPANESE = ["台所の壁を塗り替えました。", "台所は何色にしたんですか。"]


def test_an_answer_is_less_likely_to_open_a_topic_than_a_question_about_something_else() -> None:
    answer = topic_shift(ENGLISH, "A light green, it makes the kitchen brighter.", "Nice.")
    other = topic_shift([*ENGLISH, "A light green."], "Do you have any pets at home?", "Two cats.")
    assert answer < other
    answer = topic_shift(JAPANESE, "薄い緑です。台所が明るくなりました。", "いいですね。")
    other = topic_shift(
        [*JAPANESE, "薄い緑です。"], "来月の旅行の切符はもう取りましたか。", "はい、取りました。"
    )
    assert answer < other


def test_words_of_before_and_after_count() -> None:
    values = dict(
        zip(FEATURES, shift_features(ENGLISH, "The kitchen is green?", "Green kitchen"), strict=True)
    )
    assert values["repeats_near"] > 0
    assert values["next_goes_on"] == 1.0
    assert values["answers"] == values["asks"] == 1.0
    alone = dict(zip(FEATURES, shift_features(["…"], "!!"), strict=True))
    assert alone["repeats_near"] == alone["next_goes_back"] == alone["asked_before"] == 0.0


def test_every_language_has_a_weight_for_each_feature() -> None:
    assert {len(weights) for weights in WEIGHTS.values()} == {1 + len(FEATURES)}
