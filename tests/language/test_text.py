"""One tokeniser for Japanese and English: what it finds, what it keeps apart, and that it never fails."""

import re
from datetime import UTC, datetime

import apsw
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.profiles import examples

from nagori.core import value_object
from nagori.core.model import Level, Memory, Text
from nagori.core.value_object import clean_text
from nagori.language import passages, statement_or_question
from nagori.language import tokenizer as t
from nagori.language.passages import resemblance, sentences, shingles
from nagori.language.tokenizer import stem

WORDS = {
    "会議": "明日の会議は中止になった",
    "東京": "先月から東京都内に住んでいる",
    "電車": "満員電車が苦手だ",
    "料理": "家庭料理を習い始めた",
    "旅行": "新婚旅行は京都だった",
    "音楽": "古い音楽をよく聴く",
    "映画": "日本映画が好み",
    "病院": "大学病院で検査した",
    "薬局": "駅前の薬局に寄る",
    "約束": "友人との約束を守る",
    "予算": "来期予算が足りない",
    "締切": "原稿の締切は金曜",
    "面接": "最終面接に進んだ",
    "転職": "春に転職活動をした",
    "家族": "四人家族で暮らす",
    "母親": "彼の母親は教師だ",
    "寿司": "回転寿司へ行った",
    "野菜": "有機野菜を買う",
    "豆腐": "絹豆腐しか食べない",
    "牛乳": "低脂肪牛乳に替えた",
    "眼鏡": "眼鏡を新調した",
    "財布": "革財布を失くした",
    "写真": "集合写真を送る",
    "水泳": "毎朝水泳をする",
    "登山": "冬の登山計画",
    "お茶": "温かいお茶が欲しい",
    "食べ": "朝は何も食べない",
    "ビル": "あのビルの八階",
    "ねこ": "うちのねこは白い",
    "々木": "佐々木さんに会う",
}


def index(*texts: str) -> apsw.Connection:
    """A real FTS5 table over pre-tokenised text, as the store has it."""
    db = apsw.Connection(":memory:")
    db.execute(f'CREATE VIRTUAL TABLE words USING fts5 (tokens, tokenize = "{t.FTS5_TOKENIZE}")')
    for number, text in enumerate(texts):
        db.execute("INSERT INTO words (rowid, tokens) VALUES (?, ?)", (number, " ".join(t.tokens(text))))
    return db


def search(db: apsw.Connection, query: str) -> list[int]:
    match = " OR ".join(f'"{token}"' for token in t.query_tokens(query))
    found = db.execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank", (match,))
    return [row[0] for row in found]


def alike(a: str, b: str) -> float:
    return resemblance(shingles(a), shingles(b))


# ── searching ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("word", WORDS)
def test_every_two_character_japanese_word_finds_its_sentence_first(word: str) -> None:
    assert search(index(*WORDS.values()), word)[0] == list(WORDS).index(word)


@pytest.mark.parametrize("word", ["go", "ai", "tv", "pc", "ox", "uk"])
def test_two_letter_english_words_are_found(word: str) -> None:
    texts = ["we write Go here", "an AI wrote it", "the TV is loud", "my PC died", "an ox", "from the UK"]
    assert search(index(*texts), word) == [[x.lower().split().count(word) for x in texts].index(1)]


@pytest.mark.parametrize("query", ["ラーメン", "らーめん", "ﾗｰﾒﾝ", "ら〜めん", "ラ-メン", "ラ～メン"])
@pytest.mark.parametrize("stored", ["昨日ラーメンを食べた", "昨日ﾗｰﾒﾝを食べた", "昨日らーめん食べた"])
def test_kana_and_width_variants_find_each_other(query: str, stored: str) -> None:
    assert search(index(stored, "今日は蕎麦"), query) == [0]


def test_a_short_katakana_word_is_found_in_a_compound_and_in_hiragana() -> None:
    assert search(index("チーズケーキを焼いた", "めだかを飼う"), "チーズ") == [0]
    assert search(index("チーズケーキを焼いた", "めだかを飼う"), "メダカ") == [1]


def test_latin_words_inside_japanese_text_are_words() -> None:
    assert search(index("昨日GitHubでＤＢを移行", "紙の本"), "github") == [0]
    assert search(index("昨日GitHubでＤＢを移行", "紙の本"), "db") == [0]


def test_inflected_words_find_each_other() -> None:
    assert search(index("She was running two migrations", "a cat"), "run migration") == [0]


def test_iteration_and_long_vowel_marks_stay_inside_one_fts5_token() -> None:
    db = index("佐々木さんとラーメン")
    db.execute("CREATE VIRTUAL TABLE seen USING fts5vocab(words, 'row')")
    terms = {row[0] for row in db.execute("SELECT term FROM seen")}
    assert {"佐々", "々木", "らーめん"} <= terms


def test_a_question_is_reduced_to_what_it_asks_about() -> None:
    assert t.query_tokens("What did Alice say about the database?") == ["alic", "say", "databas"]
    found = t.query_tokens("田中さんは何時にどこでラーメンを食べましたか")
    assert {"田中", "らーめん", "食べ"} <= set(found)
    assert not {"さん", "どこ", "まし", "した", "何", "何時"} & set(found)
    assert t.query_tokens("めだかはどこですか") == ["めだか", "めだ", "だか"]


def test_a_query_of_stop_words_only_falls_back_to_all_of_them() -> None:
    assert t.query_tokens("what is it") == ["what", "is", "it"]
    assert "何" in t.query_tokens("何ですか")


def test_query_tokens_are_distinct_and_in_order() -> None:
    assert t.query_tokens("zebra apple Zebra") == ["zebra", "appl"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("snake_case", {"snake_case", "snake", "case"}),
        ("camelCase", {"camelcase", "camel", "case"}),
        ("HTTPServer", {"httpserver", "http", "server"}),
        ("file-name.py", {"file_name_py", "file", "name", "py"}),
        ("v1.2.3", {"v1_2_3", "v1", "2", "3"}),
        ("12.5", {"12_5"}),
        ("1,500", {"1500"}),
        ("2026", {"2026"}),
        ("user's", {"user"}),
        ("can’t", {"can", "not"}),
        ("café", {"cafe"}),
        ("C++", {"cpp"}),
        ("C#", {"csharp"}),
        ("GPUs", {"gpu"}),
        ("👍🏽", {"u1f44d"}),
        ("👨‍👩‍👧", {"u1f468u1f469u1f467"}),
        ("🇯🇵", {"u1f1efu1f1f5"}),
        ("猫", {"猫"}),
        ("한국어", {"한국어", "한국", "국어"}),
        ("привет", {"привет"}),
    ],
)
def test_words_and_identifiers_give_their_whole_and_their_parts(written: str, expected: set[str]) -> None:
    found = set(t.tokens(written))
    assert expected <= found
    assert len(found - expected) <= 1  # the stem of a camelCase whole


def test_tokens_keep_order_and_repetitions() -> None:
    assert t.tokens("cat dog cat") == ["cat", "dog", "cat"]
    assert t.tokens("食べた") == ["食", "食べ", "べた"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("consigned", "consign"), ("consistency", "consist"), ("knightly", "knight"),
        ("generously", "generous"), ("hopping", "hop"), ("hoping", "hope"), ("skies", "sky"),
        ("dying", "die"), ("proceed", "proceed"),
        ("communication", "communic"), ("happy", "happi"), ("say", "say"), ("ties", "tie"), ("gas", "gas"),
        ("relational", "relat"), ("university", "universiti"), ("organization", "organiz"),
        ("caresses", "caress"), ("inning", "inning"), ("outing", "outing"), ("succeed", "succeed"),
        ("agreed", "agre"), ("conflated", "conflat"), ("troubled", "troubl"), ("sized", "size"),
        ("happily", "happili"), ("family", "famili"), ("apology", "apolog"), ("region", "region"),
        ("opinion", "opinion"), ("controlling", "control"), ("rolled", "roll"), ("pedagogi", "pedagogi"),
        ("abli", "abli"), ("able", "abl"), ("ed", "ed"), ("oed", "o"), ("used", "use"), ("bed", "bed"),
    ],
)  # fmt: skip
def test_stems_are_those_of_porter2(word: str, expected: str) -> None:
    assert stem(word) == expected


# ── cleaning and normalising ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("dirty", "expected"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\0b\x07\x9fc\td", "abc\td"),
        ("\ud800x\udfff", "\ufffdx\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("x\u202ey\u2066z\u200f\u061c", "xyz"),
        ("\ufeffa\u200bb\u200dc", "abc"),
        ("👨‍👩‍👧", "👨‍👩‍👧"),
        ("ｶﾅ é", "ｶﾅ é"),
        # words in invisible characters, and the same characters where they belong
        ("a" + "".join(chr(0xE0000 + ord(letter)) for letter in "obey") + "b", "ab"),
        ("\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",) * 2,
        ("😀\U000e0101\U000e0102x\ufe01\ufe02", "😀x"),
        ("葛\U000e0100\U000e0101飾", "葛\U000e0100飾"),
        ("❤\ufe0f\ufe0e #\ufe0f\u20e3 ☎\ufe0e", "❤\ufe0f #\ufe0f\u20e3 ☎\ufe0e"),
        ("co\u00adop\u3164\uffa0\u034f\u2064\u206a\ufff9x\u180b", "coopx"),
        ("ᠠ\u180bᠡ", "ᠠ\u180bᠡ"),
    ],
)
def test_clean_removes_what_must_not_be_stored(dirty: str, expected: str) -> None:
    assert clean_text(dirty) == expected


def test_clean_names_the_field_that_is_no_text() -> None:
    with pytest.raises(TypeError, match="trigger must be str"):
        clean_text(b"x", field="trigger")  # type: ignore[arg-type]


@pytest.mark.parametrize("variant", ["ラーメン", "らーめん", "ﾗｰﾒﾝ", "ら〜めん", "ラ-メン", "らーーめん"])
def test_one_spelling_for_kana_variants(variant: str) -> None:
    assert t.normalise(variant) == "らーめん"


def test_normalise_folds_width_case_and_whitespace_and_keeps_kanji() -> None:
    assert t.normalise(" ＡＢＣ　髙橋\n佐々木 ") == "abc 髙橋 佐々木"
    assert t.normalise("3〜5時 well-known") == "3〜5時 well-known"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("これは日本語", True),
        ("GitHubのトークンを更新", True),
        ("plain English", False),
        ("The word 猫 means cat in Japanese", False),
        ("", False),
        ("123!?", False),
    ],
)
def test_japanese_is_recognised_by_its_share(text: str, expected: bool) -> None:
    assert t.is_japanese(text) is expected


# ── sentences and keywords ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("雨だ。寒い！本当？\nはい", ["雨だ。", "寒い！", "本当？", "はい"]),
        ("「行く。」と言った。帰った。", ["「行く。」と言った。", "帰った。"]),
        ("It works. It is 3.14! See v1.2.3?", ["It works.", "It is 3.14!", "See v1.2.3?"]),
        ("Open http://a.b/?q=1.2 now. Edit x.py. Hm", ["Open http://a.b/?q=1.2 now.", "Edit x.py.", "Hm"]),
        ("Mr. Smith met Dr. Who, e.g. today. Bye.", ["Mr. Smith met Dr. Who, e.g. today.", "Bye."]),
        ("1. Buy milk.\n2. Sleep.", ["1. Buy milk.", "2. Sleep."]),
        ("No. I will not. See No. 5.", ["No.", "I will not.", "See No. 5."]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


# ── near duplicates ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("ＡＢＣ ラーメンが好き。", "abc らーめんが　好き！！"),
        ("I like cats", "i LIKE cats."),
        ("It costs 1,500 yen", "it costs 1500 yen!"),
        ("期限は2026-05-01", "期限は２０２６/05/01。"),
        ("ら〜めん", "ラーメン"),
    ],
)
def test_width_case_kana_punctuation_and_space_do_not_make_another_text(a: str, b: str) -> None:
    assert alike(a, b) == 1.0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("会議は3時です", "会議は4時です"),
        ("I like cats", "I do not like cats"),
        ("I like cats", "I don't like cats"),
        ("コーヒーが好きです", "コーヒーが好きではない"),
        ("Alice is my boss", "Bob is my boss"),
        ("1.5倍にする", "15倍にする"),
        ("C++ is fine", "C# is fine"),
        ("気分は😀", "気分は😡"),
        (
            "The quarterly planning meeting of the whole platform team moved to room 12 in the main building",
            "The quarterly planning meeting of the whole platform team moved to room 14 in the main building",
        ),
    ],
)
def test_another_number_name_or_a_negation_makes_another_text(a: str, b: str) -> None:
    assert alike(a, b) < 0.9


def test_different_japanese_sentences_are_far_apart() -> None:
    sentences = list(WORDS.values())
    assert max(alike(a, b) for a in sentences for b in sentences if a != b) < 0.3


def test_empty_texts_are_the_same_text() -> None:
    assert alike("", "") == 1.0
    assert resemblance(frozenset(), frozenset()) == 1.0


# ── properties ───────────────────────────────────────────────────────────────────────────────────────

ANY = st.text(st.characters(exclude_categories=()), max_size=80)
CJK = st.text(
    st.one_of(
        st.characters(min_codepoint=0x3040, max_codepoint=0x30FF),
        st.characters(min_codepoint=0x4E00, max_codepoint=0x4E40),
        st.sampled_from("aZ9_-.'々ー〜 何お。😀"),
    ),
    max_size=40,
)
BOTH = st.one_of(ANY, CJK)
VERBS = (
    clean_text,
    t.normalise,
    t.tokens,
    t.query_tokens,
    shingles,
    sentences,
    t.is_japanese,
)


@given(BOTH)
def test_no_text_raises_and_everything_is_deterministic(text: str) -> None:
    for verb in VERBS:
        assert verb(text) == verb(text)


INVISIBLE = st.text(
    "a1#葛😀🀀🏴\u3164\u200b\u200d\u00ad\ufe0f\ufe00\u180bᠠ\U000e0067\U000e007f\U000e0100", max_size=12
)


def test_nothing_hidden_is_taken_for_ordinary_text() -> None:
    ordinary = [chr(code) for code in range(0x110000) if re.fullmatch(value_object._ORDINARY, chr(code))]
    assert len(ordinary) > 20_000
    assert not value_object._unwanted_characters().search("".join(ordinary))
    assert not [sign for sign in ordinary if sign in "\r\u2028\u2029" or "\ud800" <= sign <= "\udfff"]


@given(st.one_of(BOTH, INVISIBLE))
@example("\ufe0f\u200d🀀")  # a joiner behind a selector that goes
@example("\u3164\ufe0f")  # a selector behind a filler that goes
def test_clean_text_can_be_stored_and_stays_clean(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode()
    assert clean_text(cleaned) == cleaned


@given(BOTH)
@examples(300)
def test_every_token_survives_fts5_as_one_token(text: str) -> None:
    found = t.tokens(text)
    db = index(text)
    db.execute("CREATE VIRTUAL TABLE seen USING fts5vocab(words, 'instance')")
    assert [*db.execute("SELECT count(*) FROM seen")] == [(len(found),)]


@given(BOTH)
def test_a_text_is_found_by_its_own_words(text: str) -> None:
    wanted = t.query_tokens(text)
    assert bool(wanted) == bool(t.tokens(text))
    assert not wanted or set(wanted) & set(t.tokens(text))


PARTS = [*WORDS.values(), "She likes Kyoto", "GitHub", "12.5", "😀"]


@given(st.lists(st.sampled_from(PARTS), min_size=1), st.data())
def test_any_word_of_a_text_finds_it_in_fts5(parts: list[str], data: st.DataObject) -> None:
    text = "。".join(parts)
    part = data.draw(st.sampled_from(parts))
    assert search(index(text), part) == [0]


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=30))
def test_full_width_text_has_the_tokens_of_half_width_text(text: str) -> None:
    wide = "".join(chr(ord(char) + 0xFEE0) for char in text)
    assert t.tokens(wide) == t.tokens(text)


@given(st.text(st.characters(min_codepoint=0x3041, max_codepoint=0x3096), min_size=4, max_size=6))
def test_a_kana_word_has_the_same_tokens_in_both_scripts(word: str) -> None:
    katakana = "".join(chr(ord(char) + 0x60) for char in word)
    assume(katakana[0] not in "ヵヶ")
    assert t.tokens(katakana) == t.tokens(word)


@given(CJK)
@example("わ\u3099を\u3099")
def test_case_width_and_kana_script_never_change_the_shingles(text: str) -> None:
    variant = "".join(chr(ord(c) + 0x60) if "ぁ" <= c <= "ゖ" else c for c in text).swapcase()
    assert shingles(variant) == shingles(text)


@given(BOTH, BOTH)
def test_resemblance_is_symmetric_and_bounded(a: str, b: str) -> None:
    assert alike(a, b) == alike(b, a)
    assert 0.0 <= alike(a, b) <= 1.0


@pytest.mark.parametrize("unit", ["a", "a_", "1,", "漢", "あ", "ア-", "a'", "。」", "Mr. ", "a://", "1月"])
def test_hostile_repetition_is_read_to_its_end(unit: str) -> None:
    """A step that is not linear would never finish here."""
    text = unit * (100_000 // len(unit))
    for verb in VERBS:
        assert verb(text) == verb(text)


def test_a_text_says_the_same_as_its_capitals_but_not_as_a_much_longer_one() -> None:
    short, rest = "The kiln needs two hours.", " The hut has no electricity, and the boat sails at dawn."
    one = shingles(short)
    assert passages.alike(one, shingles(short.upper()))
    assert not passages.alike(one, shingles(short + rest))
    assert not passages.alike(one, shingles("The boat sails at dawn."))


def test_a_memory_is_found_by_its_text_and_by_its_keywords() -> None:
    at = datetime(2026, 7, 15, tzinfo=UTC)
    memory = Memory("1", at, at, {Level.FULL: Text("", "The kiln cools.")}, keywords=("pottery", "窯"))
    assert t.index_words(memory) == [*t.tokens("The kiln cools."), *t.tokens("pottery"), *t.tokens("窯")]


@pytest.mark.parametrize(
    "text",
    [
        "which tea was it?",
        "when was that again, I forgot",
        "Whats the size of the desk",
        "where’s the spare key",
        "お茶はどれだっけ。忘れた",
        "どのお茶？あとで買う",
        "明日の昼、どうしよう",
        "このお茶どう思う。",
        "緑茶とほうじ茶、どう使い分けるん",
        "お茶の缶、どこに置きましたかしら。棚にはありません。",
        "ほうじ茶は何度で淹れるのがええんやろ",
    ],
)
def test_a_question_is_noticed_wherever_it_stands(text: str) -> None:
    assert t.holds_question(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", "the desk is large", "somewhat late today", "お茶を買った"),
        *("誰かがお茶をくれた", "いつも緑茶", "どうも", "何度か行った。いい店"),
        *("どのお茶をあげるか一緒に考えて", "題と、だれが書いた本かを入れて"),
    ],
)
def test_a_statement_holds_no_question(text: str) -> None:
    assert not t.holds_question(text)


@pytest.mark.parametrize(
    ("text", "asking"),
    [
        ("subbase is 150 mm. how much gravel", True),
        ("the counter resets at boot. so what do I compare then", True),
        ("is it large?", True),
        ("which bolt? the old one broke", True),
        ("スリープ電流が38µA。何が残ってると思う?電源は切った", True),
        ("see example.org/search?q=bolt for the old one", False),
        ("お茶は三種類ある。どれが好きですか", True),
        ("how it went: fine. we sailed at dawn", False),
        ("the desk is large", False),
        ("", False),
        ("so", False),
        ("what " * 2000, False),
    ],
)
def test_a_text_asks_in_passing_with_and_without_a_mark(text: str, asking: bool) -> None:
    assert statement_or_question.asks_in_passing(text) is asking
