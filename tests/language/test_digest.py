"""What a message tells, for the choice of what stays in a long conversation."""

import pytest

from nagori.core.window.messages import ASSISTANT, USER, Message
from nagori.language.extractive_gist import MOST, gist, information, is_decision
from nagori.language.passages import about_tokens

KILN, BOILER = "The kiln in Leiden fires at 1240 degrees.", "Marten Oosterhuis repairs the boiler in May."


def message(text: str, role: str = USER) -> Message:
    return Message(role, text, about_tokens(text))


def test_a_gist_has_the_telling_sentences_once_and_in_their_order() -> None:
    said = [message("Hello there, how are you?"), message(BOILER, ASSISTANT), message(f"ok. {KILN}")]
    assert gist([*said, message(KILN, ASSISTANT)], 100, about_tokens) == f"{BOILER} {KILN}"


def test_a_gist_with_little_room_has_what_the_user_said() -> None:
    said = [message(BOILER, ASSISTANT), message(KILN)]
    assert gist(said, about_tokens(KILN) + 1, about_tokens) == KILN
    assert gist(said, 3, about_tokens) == ""


def test_of_a_long_gap_the_users_words_are_read() -> None:
    answers = [message(BOILER, ASSISTANT)] * MOST
    assert gist([*answers, message(KILN)], 100, about_tokens) == KILN
    assert gist([*answers, message(BOILER, ASSISTANT)], 100, about_tokens) == BOILER


def test_tokens_are_a_quarter_of_latin_letters_and_each_wide_one() -> None:
    assert [about_tokens(text) for text in ("", "abcd", "abcde", "鍵はA")] == [0, 1, 2, 3]


@pytest.mark.parametrize("text", ["We DECIDED to use Postgres.", "データベースはPostgresに決めた。"])
def test_a_decision_is_known_in_both_languages(text: str) -> None:
    assert is_decision(text)


@pytest.mark.parametrize("text", ["We went home.", "家に帰った。"])
def test_a_report_is_no_decision(text: str) -> None:
    assert not is_decision(text)


@pytest.mark.parametrize("text", ["食べる", "ちょっと", "we went on"])
def test_verbs_and_small_words_tell_nothing(text: str) -> None:
    assert information(text) == 0


def test_names_tell_the_same_with_a_verb_beside_them() -> None:
    assert information("横浜の工場を見る") == information("横浜の工場") > 0


def test_a_question_tells_nothing() -> None:
    assert information("横浜の工場はどこですか？") == 0
    assert information("横浜の工場はどこですか？ 鍵は大阪にある。") == information("鍵は大阪にある。") > 0
