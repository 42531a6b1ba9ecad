"""Whether words of a memory were used, and whether an answer was rejected."""

import pytest

from nagori.language.passages import shares_own_words
from nagori.language.speech_acts import rejects_answer

LESSON = "Bash `make kettle FUEL=gas` worked; Bash `make kettle` failed: no fuel for the kettle"


@pytest.mark.parametrize(
    ("words", "prompt", "text", "share", "used"),
    [
        (LESSON, "make the kettle hot", "make kettle FUEL=gas", 0.1, True),
        (LESSON, "make the kettle hot", "make kettle", 0.1, False),
        (LESSON, "make the kettle with gas as fuel", "make kettle FUEL=gas", 0.1, False),
        ("Port 8443.", "Which port does staging use?", "It is 8443.", 0.3, True),
        ("ステージングのポートは8443です。", "ステージングのポートは？", "8443番です。", 0.3, True),
        ("", "", "", 0.1, False),
    ],
)
def test_a_memory_is_used_where_its_own_words_stand(
    words: str, prompt: str, text: str, share: float, used: bool
) -> None:
    assert shares_own_words(words, prompt, text, share) is used


@pytest.mark.parametrize(
    "text",
    [
        "No, that's wrong.",
        "no",
        "Wrong, the port is 9443.",
        "That's not right, try again",
        "It didn't work.",
        "That is incorrect",
        "違います。9443です。",
        "いや、そうじゃない",
        "それは間違いです",
        "動かないよ",
    ],
)
def test_a_prompt_that_begins_by_rejecting_the_answer_is_known(text: str) -> None:
    assert rejects_answer(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No problem, thanks!",
        "No one is here.",
        "Now run it.",
        "Norway is cold",
        "That's right.",
        "いい感じです",
        "違いを説明して",
    ],
)
def test_other_prompts_are_no_rejection(text: str) -> None:
    assert not rejects_answer(text)
