"""Which words say nothing by themselves."""

import pytest

from nagori.language.passages import is_chatter


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
