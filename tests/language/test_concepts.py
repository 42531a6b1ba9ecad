"""Concepts: the words of a text that tell what it is about, by names that agree across texts."""

from nagori.language.keywords import find_concepts


def test_words_of_one_stem_are_one_concept() -> None:
    books, book = find_concepts("She reads books about New York."), find_concepts("Every book is old.")
    assert books["book"][1] == "books"
    assert "book" in book
    assert {"new", "york"} <= books.keys()  # the parts of a name
    assert books["york"][0] > books["book"][0]  # a name tells more than a word


def test_a_repeated_word_keeps_its_highest_weight() -> None:
    assert (
        find_concepts("New bread from York, and york.")["york"] == find_concepts("Bread from York.")["york"]
    )


def test_small_talk_and_single_signs_are_no_concepts() -> None:
    assert find_concepts("Well, thanks, it was nice to see you!") == {}
    assert find_concepts("") == {}
    assert "7" not in find_concepts("room 7")


def test_japanese_concepts_are_whole_words_in_one_spelling() -> None:
    found = find_concepts("莉子ちゃんは11月3日に京都のラーメン屋へ行った。")
    assert {"莉子ちゃん", "11月3日", "京都"} <= found.keys()
    assert found["京都"][1] == "京都"
    assert find_concepts("ラーメン").keys() == find_concepts("ﾗｰﾒﾝ").keys() == {"らーめん"}
