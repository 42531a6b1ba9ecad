"""The quick look at what a text does, for the prompt hook."""

import pytest

from nagori.language.speech_acts import is_statement
from nagori.language.statement_or_question import LONGEST, looks_like_statement

STATED = [
    "The staging server moved to port 8443.",
    "I never drink coffee.",
    "Okay, the tests run in a container now.",
    "Always write commit messages in English!",
    "Fix the build. The new runner has two cores.",
    "ステージングのポートは8443番です。",
    "今後は必ず敬語で話してください。",
    "締め切りは金曜まで",
]
NOT_STATED = [
    "Which port does staging use?",
    "what did we decide about the login",
    "Please run the tests again.",
    "let's do the deployment",
    "Can you fix the build?",
    "ステージングのポートは何番ですか？",
    "申請の締め切りはいつ",
    "テストをもう一度実行して。",
    "それをお願いします。",
    "",
    "…",
    "ok",
]


@pytest.mark.parametrize("text", STATED)
def test_a_statement_looks_like_one(text: str) -> None:
    assert looks_like_statement(text)
    assert is_statement(text)


@pytest.mark.parametrize("text", NOT_STATED)
def test_a_question_or_an_order_does_not(text: str) -> None:
    assert not looks_like_statement(text)
    assert not is_statement(text)


def test_whoever_says_much_states_something() -> None:
    assert looks_like_statement("run it again " * LONGEST)
