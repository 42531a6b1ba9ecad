"""What is left of a memory as it fades: facts survive, nothing is invented, and a summary stays a summary."""

import re
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.profiles import examples

from nagori.core.model import Emotion, Text, Valence
from nagori.language.compression import (
    CLAUSE,
    KEYWORD_CHARACTERS,
    KEYWORDS,
    LONGEST,
    REPLY_CHARACTERS,
    compress_to_summary,
    compress_to_trace,
)
from nagori.language.keywords import find_keywords
from nagori.language.passages import sentences
from nagori.language.tokenizer import normalise, tokens

CALM = Emotion()
HAPPY = Emotion(70, Valence.POSITIVE, 60, ("joy",))
UPSET = Emotion(75, Valence.NEGATIVE, 70, ("frustration",))


def level2(text: str, emotion: Emotion = CALM) -> str:
    return compress_to_summary(Text("", text), emotion).content


def level3(text: str, emotion: Emotion = CALM) -> str:
    return compress_to_trace(compress_to_summary(Text("", text), emotion), emotion).content


# Small talk, then the fact, then more small talk: what must be left of it in a summary and in a trace.
FACTS = [
    (
        "Hey John! Long time no see! On Friday I moved to Oslo with my sister Ana Ruiz. You? How are you?",
        ("Friday", "Oslo", "Ana Ruiz"),
    ),
    (
        "Thanks so much for asking! That means a lot. By the way, I'm allergic to peanuts. Anyway, it was "
        "good to see you yesterday.",
        ("allergic", "peanuts"),
    ),
    (
        "Wow, that sounds great! We decided to go with PostgreSQL 16 on port 5432. It took a long time to "
        "get there. Let me know what you think!",
        ("PostgreSQL", "16", "5432"),
    ),
    ("Oh, sure. The rent is $2,400 a month. I know, right? That is what it is.", ("rent", "$2,400")),
    ("Okay. The deadline is March 29, 2025. Good luck! See you then.", ("deadline", "March 29, 2025")),
    (
        "Sounds good. The root cause was a stale lock in src/app/worker.py. Nice work. Thanks again!",
        ("lock", "src/app/worker.py"),
    ),
    ("Right. I don't eat meat any more. It is what it is. How about you?", ("don't eat", "meat")),
    (
        "そうなんですね。ありがとうございます。来週の11月3日に莉子ちゃんと京都へ行くことにしました。またね。",
        ("11月3日", "莉子ちゃん", "京都"),
    ),
    ("うん、なるほど。私は卵アレルギーなんです。ごめんね。またあとで。", ("卵", "アレルギー")),
    (
        "はい。本番のポートは8080番にすることに決まりました。なるほど。それでいいと思います。",
        ("ポート", "8080番"),
    ),
    ("いいね。家賃は月9万8千円です。そっか。なるほどね。", ("家賃", "9万8千円")),
    ("えっ、そうなの。バンド名は「夜更かし三丁目」です。いいね。へえ。", ("夜更かし三丁目",)),
    ("なるほど。お酒は全く飲まないです。うん。そうですね。", ("飲まない",)),
    (
        "おお。原因は config.yaml の DATABASE_URL の誤りでした。なるほど。よかった。",
        ("config.yaml", "DATABASE_URL"),
    ),
]


@pytest.mark.parametrize(("text", "facts"), FACTS)
def test_facts_survive_to_the_summary_and_to_the_trace(text: str, facts: tuple[str, ...]) -> None:
    summary, trace = level2(text), level3(text)
    assert len(summary) < len(text)
    assert all(fact.casefold() in summary.casefold() for fact in facts), summary
    assert all(fact.casefold() in trace.casefold() for fact in facts), trace


PAGE = (
    "Certainly! Here's an overview to help you get started.\n\n### Step 1: Plan\n"
    "- **Scope**: think about it.\n```python\nvalue = compute(a[0], b[1]) if (x == y) else {}\n```\n"
    "The first sprint ends on March 29 and covers user registration. Next, make sure everything works well "
    "and looks good. It is important to keep people in the loop, because they want to know what is going on. "
    "We decided to use Flask-Login 0.6.2 for sessions. Then take your time and try it out, and see whether "
    "it works the way you want it to work. Good luck!"
)


def test_a_page_becomes_two_sentences_less_than_a_third_as_long() -> None:
    summary = level2(PAGE)
    assert summary == (
        "The first sprint ends on March 29 and covers user registration. "
        "We decided to use Flask-Login 0.6.2 for sessions."
    )
    assert len(summary) < 0.3 * len(PAGE)


def test_what_is_a_summary_already_stays_as_it_is() -> None:
    for text in ("Moved to Oslo.", "卵アレルギーです。", "Ana moved to Oslo. Her rent is $900."):
        assert level2(text) == text


def test_a_greeting_goes_and_what_was_said_stays() -> None:
    assert level2("Hey Mel! I got the job at Google.") == "I got the job at Google."
    assert level2("なるほど。健診は12月です。") == "健診は12月です。"


def test_when_all_is_small_talk_some_of_it_stays() -> None:
    assert level2("Hey! Okay. Sure. Good!") == "Hey! Okay."


def test_lines_without_a_full_stop_stay_apart() -> None:
    assert level2("Buy tofu at Lidl\nsee you\nCall Ana about Oslo") == "Buy tofu at Lidl\nCall Ana about Oslo"
    assert sentences(level2("Send it to Acme Inc.\nok\nAna is in Oslo.")) == [
        "Send it to Acme Inc.",
        "Ana is in Oslo.",
    ]


def test_the_halves_fade_by_the_same_rule() -> None:
    text = Text("Hey Mel! Where is Ana?", "なるほど。京都です。")
    assert compress_to_summary(text, CALM) == Text("Where is Ana?", "京都です。")
    assert compress_to_trace(text, CALM) == Text("Ana", "京都")
    assert compress_to_summary(Text("", ""), CALM) == compress_to_trace(Text("", ""), CALM) == Text("", "")


# ── cutting ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_long_sentence_is_cut_at_clauses_around_its_most_telling_place() -> None:
    text = (
        "I was thinking about it for a long time and then some, and it seems to be the way to go if you ask, "
        "so on May 3, 2024 we moved db-prod-02.internal:6432 to Frankfurt, which is good, and it works well, "
        "so that is what it is and we will see how it goes, and I think that is all there is to say about it."
    )
    summary = level2(text)
    assert "on May 3, 2024 we moved db-prod-02.internal:6432 to Frankfurt" in summary
    assert summary in text
    assert len(summary) <= LONGEST


def test_a_japanese_sentence_is_cut_at_its_commas() -> None:
    text = (
        "そういうことがいろいろあってそれはそれでよかったのだけれど、" * 4
        + "結局11月3日に京都の本社へ行った。"
    )
    summary = level2(text)
    assert "11月3日に京都の本社へ行った" in summary
    assert len(summary) < len(text) * 0.8


def test_without_clauses_words_and_names_stay_whole() -> None:
    text = "then " * 60 + "Ana Ruiz paid $2,400 to Acme " + "again " * 60
    summary = level2(text)
    assert "Ana Ruiz paid $2,400 to Acme" in summary
    assert set(summary.split()) <= set(text.split())


def test_without_commas_japanese_is_cut_after_a_particle() -> None:
    text = "東京本社で設計資料を鈴木課長に提出後大阪支社で予算会議を開催予定" * 6
    summary = level2(text)
    assert len(summary) < len(text)
    assert summary[-1] in "でをに定"


def test_what_cannot_be_cut_stays_whole() -> None:
    address = "https://example.org/" + "a1b2c3/" * 60 + "end"
    assert level2(address) == address
    assert level3(address) == address


def test_a_second_sentence_without_room_gives_way_to_a_shorter_one() -> None:
    long = "Ana Ruiz and Ben Okafor and Carla Diaz and Dan Weiss and Eva Lind met somewhere nice in Oslo."
    text = f"{long} {long.replace('met', 'danced')} We fly on May 3."
    assert level2(text).endswith("We fly on May 3.")


def test_endless_names_and_marks_come_to_an_end() -> None:
    for scrap in ("Ana ", "Ana. ", "**a** ", "- ", "1. ", "a, ", "第"):
        assert 0 < len(level2(scrap * 2000)) <= len(scrap * 2000)


# ── trace ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_trace_has_few_keywords_in_the_order_of_the_text() -> None:
    words = compress_to_trace(Text("", PAGE), CALM).content.split(", ")
    assert len(words) <= KEYWORDS
    assert len(", ".join(words)) <= KEYWORD_CHARACTERS
    places = [PAGE.index(word) for word in words]
    assert places == sorted(places)


def test_a_long_japanese_clause_with_a_negation_is_cut_to_its_width() -> None:
    text = (
        "町外れの古い倉庫の二階の奥にある青い棚の上のほうの段に置いてある赤い工具箱の中の六角レンチの一式は"
        "組合の寄り合いで持ち出し禁止と決まったので鍵を持っている人は必ず覚えておくこと"
    )
    clause = level3(text).split(", ")[0]
    assert "禁止" in clause
    assert clause in text
    assert len(clause) < len(text)


def test_a_long_clause_with_a_negation_is_cut_between_words() -> None:
    text = (
        "At the end of the meeting about the harbour district and its wooden bridges the committee did not "
        "approve the plan that Marten Oosterhuis proposed for the canal beside the grain store"
    )
    clause = level3(text).split(", ")[0]
    assert "the committee did not approve the plan" in clause
    assert len(clause) <= CLAUSE
    assert f" {clause} " in text


def test_of_a_reply_to_a_statement_less_is_left_than_of_an_answer() -> None:
    reply = "Oak by Tiselius in Lund takes six weeks, birch by Marklund in Malmö takes three; both fit."
    asked = compress_to_trace(Text("Which shelves fit the alcove?", reply), CALM)
    stated = compress_to_trace(Text("The shelves for the alcove must be 212 cm wide.", reply), CALM)
    assert "212 cm" in stated.trigger
    assert len(stated.content) <= REPLY_CHARACTERS < len(asked.content)


def test_each_keyword_is_told_once() -> None:
    assert level3("Ana Ruiz likes Oslo. Later Ana moved to Oslo.").count("Ana") == 1
    assert level3("健診結果が届いた。健診は12月。") == "健診結果, 12月"
    assert level3("Saved DB dumps of 2016 on db-02 at 16") == "Saved, DB, dumps, 2016, db-02, 16"


def test_words_of_feeling_are_kept_when_it_was_felt() -> None:
    assert "relieved" in level3("We shipped v2.1 in May and I was relieved.", HAPPY)
    assert "嬉しかった" in level3(
        "先週は京都の会議で部長に設計を褒められたので、それがとても嬉しかった。", HAPPY
    )
    assert "喜んでいた" in level3("説明したら、それを聞いたユーザーはとても喜んでいた。", HAPPY)
    assert "joy" not in level3(
        "先週は京都の会議で部長に設計を褒められたので、それがとても嬉しかった。", HAPPY
    )


def test_a_feeling_without_a_word_is_named_by_its_tag_once() -> None:
    text = Text("The build of nagori ran", "The build of nagori ran once more on port 8080 of that old box")
    assert compress_to_trace(text, UPSET).content.endswith(", frustration")
    assert "frustration" not in compress_to_trace(text, UPSET).trigger
    assert compress_to_trace(Text(text.content, ""), UPSET).trigger.endswith(", frustration")


def test_a_trace_of_small_talk_is_what_was_said() -> None:
    assert level3("はい") == "はい"
    assert level3("You are so what you are") == "You are so what you are"
    assert level3("!!") == "!!"


# ── the document's own examples ──────────────────────────────────────────────────────────────────────

# Level 2 is written by a language model there: 「ストレージの選択肢について相談を受けた」 has words that
# were never said (選択肢, 相談), and 「Python文法」 generalises. Extraction can meet neither of them:
# it keeps the sentence. Of its level 3, every keyword that was said must be there (相談 and 文法 were not).


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("「記憶システムのストレージ、MongoDBにしたらどう思う？」と聞かれた", {"ストレージ", "MongoDB"}),
        (
            "技術選定について意見を求められた。JSONで十分という結論になり、設計の妥当性が確認できて少し安心した",
            {"技術選定", "JSON", "安心"},
        ),
        ("Pythonのリスト内包表記について質問された", {"Python", "リスト内包表記", "質問"}),
        (
            "基本的な書き方と条件付きの例を説明した。ユーザーは理解できたようで喜んでいた。",
            {"説明", "喜んでいた"},
        ),
    ],
)
def test_the_seeds_keywords_are_found_where_they_were_said(text: str, keywords: set[str]) -> None:
    emotion = Emotion(50, Valence.POSITIVE, 40, ("relief",))
    assert level2(text, emotion) == text  # one or two short sentences already
    assert keywords <= set(level3(text, emotion).split(", "))


# ── telling words ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I live in New York with Ana Ruiz", "live|New York|Ana Ruiz"),
        ("We met in Oslo, Norway", "met|Oslo|Norway"),
        ("We meet at 10:30 and pay 5% or 4 weeks", "meet|10:30|pay|5%|4 weeks"),
        ("on 3rd of May 2024 at 20 °C", "3rd of May 2024|20 °C"),
        ("Last week in C++ and node.js", "Last week|C++|node.js"),
        ("It is not ready and isn't tested", "not ready|isn't tested"),
        ("Never, Ana said, x", "Ana|said"),
        ("5.8キロで１５歳、1万8千円", "5.8キロ|１５歳|1万8千円"),
        ("ゴン太は大野先生と走る", "大野先生|走る"),
        ("Ana's plan", "Ana|plan"),
        ("We close at 7 PM. Not on 第4土曜", "close|7 PM|第4土曜"),
        ("卵アレルギーと16-bitの機械", "卵|アレルギー|16-bit|機械"),
        ("Москва и 서울에서", "Москва|서울에서"),
    ],
)
def test_telling_words(text: str, words: str) -> None:
    assert "|".join(word.text for word in find_keywords(text) if word.text in words.split("|")) == words
    assert all(text[word.start : word.end] == word.text for word in find_keywords(text))


def test_a_name_that_is_only_greeted_tells_nothing() -> None:
    greeted, told = find_keywords("Hey Mel, I saw Mel")[1], find_keywords("Hey Mel, I saw Mel")[-1]
    assert greeted.text == told.text == "Mel"
    assert greeted.weight < 0.5 < told.weight


def test_a_weak_word_is_no_feeling_and_neither_is_the_end_of_another() -> None:
    assert not any(word.felt for word in find_keywords("It was a table", 1.0))
    assert not any(word.felt for word in find_keywords("たいくつでもない机", 1.0) if word.text == "いくつ")


# ── whatever the text ────────────────────────────────────────────────────────────────────────────────

_SCRAPS = st.sampled_from(
    [
        *(
            "Ana Ruiz",
            "moved",
            "to",
            "the",
            "port 8080",
            "May 3, 2024",
            "src/app.py",
            "not",
            "good",
            "hey",
            "Mr.",
        ),
        *(
            "etc.",
            "1.",
            "- ",
            "## ",
            "**bold**",
            "```",
            "e.g.",
            "No.",
            "don't",
            "Acme Inc.",
            "$2,400",
            "so",
            "?",
        ),
        *(
            ". ",
            "! ",
            "? ",
            ", ",
            "; ",
            " — ",
            "\n",
            "\n\n",
            " ",
            " ",
            " ",
            "(",
            ")",
            '"',
            "…",
            "\t",
            "word " * 40,
        ),
        *(
            "京都",
            "へ",
            "行った",
            "。",
            "、",
            "「",
            "」",
            "と言った",
            "11月3日",
            "嬉しかった",
            "なるほど",
            "アレルギー",
        ),
        *("は", "を", "ではない", "きなこ", "！", "？", "８０８０", "😀", "引っ越し", "本日の会議を" * 9),
    ]
)
SPOKEN = st.lists(_SCRAPS, max_size=40).map(
    lambda scraps: "".join(
        f"{scrap} " if scrap[-1].isascii() and scrap[-1].isalnum() else scrap for scrap in scraps
    )
)
TEXTS = st.one_of(st.text(max_size=300), SPOKEN)
EMOTIONS = st.sampled_from([CALM, HAPPY, UPSET])


@examples(300)
@given(TEXTS, TEXTS, EMOTIONS)
@example("", " \n ", CALM)
def test_never_longer_and_never_empty(trigger: str, content: str, emotion: Emotion) -> None:
    for short in (
        compress_to_summary(Text(trigger, content), emotion),
        compress_to_trace(Text(trigger, content), emotion),
    ):
        for left, whole in ((short.trigger, trigger), (short.content, content)):
            assert len(left) <= len(whole)
            assert bool(left.strip()) == bool(whole.strip())


@examples(300)
@given(TEXTS, EMOTIONS)
def test_a_summary_of_a_summary_is_the_summary(text: str, emotion: Emotion) -> None:
    once = level2(text, emotion)
    assert level2(once, emotion) == once


@examples(300)
@given(SPOKEN, EMOTIONS)
def test_no_word_is_new(text: str, emotion: Emotion) -> None:
    said, spelled = set(tokens(text)), re.sub("[-._]+", "_", normalise(text))
    summary, trace = level2(text, emotion), compress_to_trace(Text("", text), emotion).content
    for token in {*tokens(summary), *tokens(trace)} - said - set(tokens(" ".join(emotion.tags))):
        assert token in spelled  # kana that were cut out of a longer run


@examples(300)
@given(TEXTS)
@example(";\n- :")
def test_what_is_left_was_there_letter_by_letter(text: str) -> None:
    summary, trace = level2(text), compress_to_trace(Text("", text), CALM).content
    assert not (Counter(summary) - Counter(text)).keys() - set(" \n")
    letters = re.sub(r"[\s*-]", "", text)  # the marks of Markdown go
    assert all(re.sub(r"[\s*-]", "", piece) in letters for piece in trace.split(", "))


@examples(200)
@given(TEXTS, EMOTIONS)
def test_both_halves_of_the_same_text_leave_the_same(text: str, emotion: Emotion) -> None:
    short = compress_to_summary(Text(text, text), emotion)
    assert short.trigger == short.content
    assert (
        compress_to_trace(Text(text, ""), emotion).trigger
        == compress_to_trace(Text("", text), emotion).content
    )
