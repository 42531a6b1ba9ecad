"""Which words say nothing by themselves."""

import pytest

from nagori.language.passages import is_chatter, prompt_text


@pytest.mark.parametrize(
    "text",
    [
        "thanks",
        "OK, go ahead!",
        "Thanks so much",
        "はい、続けて。",
        "ありがとうございます！",
        "",
        "!!!",
        "お願いします",
    ],
)
def test_chatter_is_noticed(text: str) -> None:
    assert is_chatter(text)


@pytest.mark.parametrize(
    "text",
    [
        "go to Berlin",
        "ok use port 8443",
        "続けてテストを書いて",
        "now deploy it",
        "notebook",
        "好き",
        "ok " * 40,
    ],
)
def test_what_says_something_is_not(text: str) -> None:
    assert not is_chatter(text)


@pytest.mark.parametrize(
    ("prompt", "question"),
    [
        ("  Where is the kettle?\n", "Where is the kettle?"),
        ("thanks, go ahead", ""),
        ("/clear everything", ""),
        ("/deploy the staging server", "the staging server"),
        ("/srv/app/main.py is broken", "/srv/app/main.py is broken"),
        ("/deploy thanks", ""),
        ("x" * 5000, "x" * 2000),
    ],
)
def test_the_question_of_a_prompt(prompt: str, question: str) -> None:
    assert prompt_text(prompt) == question
