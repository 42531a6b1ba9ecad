"""Whose matter a statement is: the person's, everywhere, or the project's."""

from __future__ import annotations

import pytest

from nagori.language.appraisal import importance, is_personal


@pytest.mark.parametrize(
    "text",
    [
        "I'm allergic to shellfish.",
        "My daughter Nora was born in March.",
        "I prefer short answers, no bullet points.",
        "Please call me Bea from now on.",
        "I live in Utrecht and work as a nurse.",
        "Our son starts school in autumn, he has asthma.",
        "I'm left-handed.",
        "私はそばアレルギーです。",
        "娘の誕生日は5月2日です。",
        "返事は敬語なしでお願いします。",
        "僕は辛いものが苦手です。",
        "これからはハルと呼んで。",
        "I always want commit messages in plain English.",
        "I never use semicolons in my tests.",
        "僕はコミットメッセージをいつも英語で書きたい。",
    ],
)
def test_who_somebody_is_belongs_to_the_person(text: str) -> None:
    assert is_personal(text, importance(text))


@pytest.mark.parametrize(
    "text",
    [
        "The staging server listens on port 9100.",
        "We decided to use tabs in this repository.",
        "I prefer `black` for formatting src/app.py.",
        "My service account for the database is read-only.",
        "Always run the tests before a commit.",
        "My branch is ready for a review.",
        "The auditors come on Monday.",
        "I want our releases on Thursdays.",
        "本番のポートは9100です。",
        "このプロジェクトではタブを使うことにした。",
        "私はこの資料の表紙が嫌いです。",
        "会議は毎週月曜です。",
    ],
)
def test_hosts_decisions_and_conventions_belong_to_the_project(text: str) -> None:
    assert not is_personal(text, importance(text))
