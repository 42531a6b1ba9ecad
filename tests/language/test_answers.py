"""Only an answer of the right shape, about what was asked and in its language, is taken."""

# mypy: disable-error-code="index"
# Because JSON is looked into.

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagori.language.llm_answer_checks import belongs, exactly, fits, strays
from nagori.language.tokenizer import tokens

SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 0, "maximum": 10},
        "share": {"type": "number"},
        "name": {"type": ["string", "null"], "maxLength": 3},
        "mood": {"type": "string", "enum": ["calm", "glad"]},
        "tags": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
        "on": {"type": "boolean"},
    },
    "required": ["n"],
}


@pytest.mark.parametrize(
    "value",
    [
        {"n": 0},
        {"n": 10, "name": None, "extra": "is passed over"},
        {"n": 1, "name": "abc", "mood": "calm", "tags": ["a", "b"], "on": True, "share": 0.5},
        {"n": 1, "share": 3},
    ],
)
def test_what_was_asked_for_fits(value: object) -> None:
    assert fits(value, SCHEMA) is None


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ([], "answer: not a object"),
        ({}, "answer: without n"),
        ({"n": "1"}, "answer.n: not a integer"),
        ({"n": True}, "answer.n: not a integer"),
        ({"n": 11}, "answer.n: out of bounds"),
        ({"n": -1}, "answer.n: out of bounds"),
        ({"n": 1.5}, "answer.n: not a integer"),
        ({"n": 1, "name": "abcd"}, "answer.name: too long"),
        ({"n": 1, "name": 4}, "answer.name: not a string or null"),
        ({"n": 1, "mood": "cross"}, "answer.mood: none of its choices"),
        ({"n": 1, "tags": ["a", "b", "c"]}, "answer.tags: too many"),
        ({"n": 1, "tags": ["a", 2]}, "answer.tags[1]: not a string"),
        ({"n": 1, "on": 1}, "answer.on: not a boolean"),
    ],
)
def test_what_does_not_fit_is_named(value: object, fault: str) -> None:
    assert fits(value, SCHEMA) == fault


MOVED = (
    "We decided yesterday that the staging server should be moved from port 8080 to port 8443, because"
    " the firewall at Aoyama blocks everything else. Keiko runs it with deploy_all.sh on Friday."
)
MOVED_JA = (
    "昨日の夜、ステージングのサーバーをポート8080から8443へ移すことに決めた。青山のファイアウォールがほかを全部止めているから。"
    "金曜日に佐藤さんがデプロイする予定で、少し不安だと言っていた。"
)


@pytest.mark.parametrize(
    "text",
    [
        "Staging moves from port 8080 to 8443.",
        "Decided to move staging to 8443 because of the firewall; Keiko runs it on Friday.",
        "Team moved staging. Keiko's deploy_all.sh runs Friday.",
        "User: staging is on 8443 now.",
    ],
)
def test_an_english_summary_of_its_source_stands(text: str) -> None:
    assert strays(text, MOVED) is None


@pytest.mark.parametrize(
    "text", ["ステージングを8443へ移すと決定。", "佐藤さんが金曜日にデプロイ。少し不安。"]
)
def test_a_japanese_summary_of_its_source_stands(text: str) -> None:
    assert strays(text, MOVED_JA) is None


@pytest.mark.parametrize(
    ("text", "source", "fault"),
    [
        ("", MOVED, "empty"),
        (" \n", MOVED, "empty"),
        ("I'm sorry, but I cannot help with that.", MOVED, "refuses"),
        ("申し訳ありませんが、お答えできません。", MOVED_JA, "refuses"),
        (MOVED, MOVED, "longer"),
        (MOVED + " And more.", MOVED, "longer"),
        ("サーバーを8443へ移した。", MOVED, "language"),
        ("Staging moves to 8443.", MOVED_JA, "language"),
        ("服务器迁移到8443端口。", MOVED_JA, "language"),
        ("Le serveur de test a été déplacé vers le port 8443.", MOVED, "language"),
        ("Staging moves to port 9443.", MOVED, "invents"),
        ("Staging moves to 8443; Hiroshi runs it.", MOVED, "invents"),
        ("Hiroshi moves staging to 8443.", MOVED, "invents"),
        ("Staging moves with deploy_none.sh to 8443.", MOVED, "invents"),
        ("ステージングを9443へ移すと決定。", MOVED_JA, "invents"),
        ("田中さんが金曜日にデプロイ。", MOVED_JA, "invents"),
        ("ジェンキンスで金曜日にデプロイ。", MOVED_JA, "invents"),
    ],
)
def test_what_strays_from_its_source_is_no_summary(text: str, source: str, fault: str) -> None:
    assert strays(text, source) == fault


def test_of_two_languages_either_will_do() -> None:
    source = MOVED + " 昨日の会議で決めたことを書いておく。"
    assert strays("Staging moves to 8443.", source) is None
    assert strays("昨日の会議で決めたこと。", source) is None


def test_a_source_that_refuses_may_be_told_so() -> None:
    source = "I'm sorry, I cannot come to the meeting on Friday, because my train was cancelled again."
    assert strays("I'm sorry, I cannot come on Friday.", source) is None


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_get_a_verdict(text: str, source: str) -> None:
    verdict = strays(text, source)
    assert verdict in {None, "empty", "refuses", "longer", "language", "invents"}
    if verdict is None:
        assert len(text.strip()) <= len(source) * 18  # NFKC may unfold a sign to eighteen


# --- many in one answer

LISTED = {
    "type": "object",
    "properties": {
        "items": {
            "type": "array",
            "maxItems": 9,
            "items": {
                "type": "object",
                "properties": {"i": {"type": "integer", "minimum": 0, "maximum": 9}},
                "required": ["i"],
            },
        }
    },
    "required": ["items"],
}


def test_a_question_says_how_many_items_it_wants_and_which() -> None:
    items = exactly(LISTED, range(3, 5))["properties"]["items"]
    assert (items["minItems"], items["maxItems"]) == (2, 2)
    assert items["items"]["properties"]["i"] == {"type": "integer", "minimum": 3, "maximum": 4}
    assert items["items"]["required"] == ["i"]
    assert LISTED["properties"]["items"]["maxItems"] == 9  # the shape that answers are held against stays


TEXTS = [
    frozenset(tokens(text))
    for text in (
        "Good morning, nice weather again.",
        "I am allergic to walnuts, please never suggest them.",
        "屋根の修理が終わり、北側の瓦が割れていた。",
        "娘が高校に合格した。",
    )
]


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("walnuts allergic", 1),
        ("屋根 瓦", 2),
        ("娘は高校に合格", 3),
        ("", 0),
        ("something else entirely", 0),  # it stands nowhere
        ("walnuts weather", 0),  # some of it does stand there
    ],
)
def test_words_of_a_text_belong_to_it(words: str, place: int) -> None:
    assert belongs(words, place, TEXTS)


@pytest.mark.parametrize(("words", "place"), [("walnuts allergic", 0), ("屋根 修理", 3), ("娘の合格", 2)])
def test_words_of_another_text_do_not(words: str, place: int) -> None:
    assert not belongs(words, place, TEXTS)
