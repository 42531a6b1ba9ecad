"""Long messages in pieces: nothing is lost, nothing is too long."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagori.language.passages import SIZE, pieces
from nagori.language.tokenizer import asks


def test_a_short_text_stays_whole() -> None:
    assert pieces("Hello.\n\nHow are you?") == ["Hello.\n\nHow are you?"]


def test_a_text_a_little_too_long_stays_whole() -> None:
    text = "x" * int(SIZE * 1.2)
    assert pieces(text) == [text]


def test_paragraphs_stay_together_while_there_is_room() -> None:
    paragraphs = [f"{n} " + "word " * 60 for n in range(6)]
    cut = pieces("\n".join(paragraphs))
    assert all(piece.split()[0].isdigit() for piece in cut)
    assert len(cut) == 3


def test_a_long_paragraph_is_cut_at_a_sentence() -> None:
    cut = pieces("This is a sentence of some length. " * 60)
    assert all(piece.endswith(".") for piece in cut)


def test_japanese_is_cut_at_its_full_stops() -> None:
    cut = pieces("今日は京都へ出張に行きました。" * 150)
    assert all(piece.endswith("。") for piece in cut)


def test_without_sentences_words_are_kept_whole() -> None:
    assert all(set(piece.split()) == {"word"} for piece in pieces("word " * 500))


def test_one_endless_word_is_cut_where_it_must_be() -> None:
    assert [len(piece) for piece in pieces("x" * 2000)] == [800, 800, 400]


@given(st.text(alphabet="ab。. \n!?日本", max_size=4000))
def test_nothing_but_white_space_is_lost_and_no_piece_is_too_long(text: str) -> None:
    cut = pieces(text, 100)
    assert re.sub(r"\s", "", "".join(cut)) == re.sub(r"\s", "", text)
    assert all(len(piece) <= 130 for piece in cut)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where is it?", True),
        ("どこですか", True),
        ("何時だっけ。", True),
        ("いいの？」", True),
        ("Did you see this? [shares image: a cat]", True),
        ("It is here.", False),
        ("そうですね。", False),
        ("", False),
    ],
)
def test_a_question_is_known_by_its_end(text: str, expected: bool) -> None:
    assert asks(text) is expected
