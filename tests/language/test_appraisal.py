"""What words alone tell, in both languages: feeling, situation, kind, wishes, corrections [E2-E4, E19]."""

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import examples

from nagori.core.model import TAGS, Category, Kind, Valence
from nagori.language import appraisal
from nagori.language.appraisal import AxisPosition, anchors, appraise, axes_from, project
from nagori.language.lexicon import english_words, japanese_words, read_feelings, signs

# Classified examples [E3]
CLASSIFIED = [
    ("やった、できた！", Valence.POSITIVE, 85, {"joy", "excitement", "pride"}),
    ("まあまあかな", Valence.POSITIVE, 25, {"satisfaction"}),
    ("ふざけんな！", Valence.NEGATIVE, 90, {"anger", "frustration"}),
    ("……そう、仕方ないね", Valence.NEGATIVE, 20, {"sadness", "resignation"}),
    ("了解、やっておく", Valence.NEUTRAL, 30, set()),
]

# Examples of intensity [E2]
SITUATIONS = {
    (15, 25): """
        READMEのtypoを直して
        変数名のタイポを修正しました
        末尾のカンマが抜けているので追加して
        インデントを揃えておいて
        There's a typo in the second heading, fix it please.
        Rename foo to bar in this file.
        Remove the trailing whitespace.
        Missing comma on line 12.
    """,
    (30, 40): """
        このAPIのレイテンシはインデックスを張れば下がると思う
        トランザクションの分離レベルはどうする？
        キャッシュとデータベースの整合性について議論した
        非同期処理でスレッドが競合してテストが落ちる
        The query is slow because the index doesn't cover the second column.
        Should the cache live in the client or in the server?
        We could retry the request with a timeout and log the exception.
        The parser builds a token list first and the compiler walks it.
    """,
    (40, 50): """
        データベースはPostgreSQLを採用することに決めた
        APIの認証はトークン方式でいくことにしました
        設計の結論として、サーバは二台に分割する方針にする
        We decided to use PostgreSQL for the storage layer.
        Let's go with the event-sourced architecture.
        The decision is to split the server into two services.
        After the meeting we agreed to drop support for Python 3.9.
    """,
    (50, 65): """
        来週は母の誕生日なんだ
        娘が来月小学校に入学します
        最近、妻と引っ越しについて話している
        子供の頃は海の近くで育ったんです
        My daughter starts school next week.
        I grew up in a small town by the sea with my grandparents.
        My wife and I are thinking about moving closer to my parents.
        My brother has been learning to cook lately.
    """,
    (70, 85): """
        父が亡くなってからずっと寂しくて、毎晩泣いている
        彼女と別れて本当に辛い、何をしても虚しい
        娘が生まれた、人生で一番幸せで涙が止まらない
        Since my mother died I feel so lonely that I cry every night.
        My husband left me and I am completely heartbroken.
        I love my daughter so much, I am so happy I could cry.
        I've never told anyone, but I hate myself and I feel worthless.
    """,
    (85, 100): """
        子供の頃、父に殴られ続けて今でも夢に見る
        性的暴行を受けたことが忘れられない
        震災で家族を失って、いまだに眠れない
        I was abused by my uncle as a child and I still have nightmares.
        My brother killed himself last year and I found him.
        I still get flashbacks of the night he stabbed me.
    """,
}


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize(("text", "valence", "arousal", "tags"), CLASSIFIED)
@pytest.mark.parametrize("frame", ["{}", "「{}」"])
def test_the_five_classified_sentences_of_the_source_come_out_right(frame, text, valence, arousal, tags):
    emotion = appraise(frame.format(text)).emotion
    assert emotion.valence is valence
    assert emotion.arousal == pytest.approx(arousal, abs=15)
    assert tags.intersection(emotion.tags) if tags else emotion.tags == ()


@pytest.mark.parametrize(
    ("band", "text"), [(band, text) for band, some in SITUATIONS.items() for text in lines(some)]
)
def test_a_situation_of_the_appendix_lands_in_its_band(band, text):
    assert band[0] <= appraise(text).emotion.intensity <= band[1]


def test_stronger_situations_are_more_intense_on_average():
    means = []
    for some in SITUATIONS.values():
        found = [appraise(text).emotion.intensity for text in lines(some)]
        means.append(sum(found) / len(found))
    assert all(weaker < stronger for weaker, stronger in pairwise(means))


# ── valence ──────────────────────────────────────────────────────────────────────────────────────────

POSITIVE = """
    The room was not bad at all.
    I can't wait to see you!
    No problem, it works.
    It was expensive, but the food was delicious.
    I'm sooooo happy today
    thank you so much 🙏
    悪くないね
    文句なしです
    高いけど、とても美味しい
    静かで落ち着けました
    スタッフの方がわざわざ案内してくださいました
    不満はありません
    すごーい
    美味しくなくはない
    助かりました(^^)
    また行きたいと思います
    おめでとう🎉
"""
NEGATIVE = """
    The room was not good.
    It isn't a happy story.
    The food was delicious, but the staff were rude and the room was filthy.
    I never enjoyed it.
    Nobody was helpful.
    We lost everything and I am devastated.
    so sad :(
    美味しくない
    快適ではありませんでした
    楽しくなかったです
    おすすめできません
    料理は美味しかったけど、部屋が汚くて最悪だった
    もう少し広ければよかった
    駅に近ければもっと便利です
    清潔感に欠けます
    食事は良かったのですが...
    売り切れで買えませんでした
    (´;ω;`)
"""
NEUTRAL = """
    The meeting is on Tuesday at ten.
    I put the file in the second folder.
    http://example.com/a/b
    会議は火曜の十時です。
    ファイルを二つ目のフォルダに置いた
    駅前に銀行があります
    変更してお願いします
"""


VALENCES = {Valence.POSITIVE: POSITIVE, Valence.NEGATIVE: NEGATIVE, Valence.NEUTRAL: NEUTRAL}


@pytest.mark.parametrize(
    ("text", "valence"),
    [(text, valence) for valence, some in VALENCES.items() for text in lines(some)],
)
def test_valence_sees_negation_contrast_and_signs(text, valence):
    assert appraise(text).emotion.valence == valence


WEAKER_THAN = [
    ("It was slightly good.", "It was good."),
    ("It was good.", "It was very good."),
    ("Is it good?", "It is good."),
    ("If it is good we stay", "It is good we stay"),
    ("If it is good, we stay", "It is good, we stay"),
    ("it got sadder", "it got bigger"),
    ("少し嬉しい", "嬉しい"),
    ("嬉しい", "とても嬉しい"),
    ("楽しいですか？", "楽しいです"),
    ("楽しいかもしれません", "楽しいです"),
    ("美味しければ買う", "美味しいから買う"),
    ("not bad", "good"),
    ("it was good but small", "it was good and small"),
    ("it was good today", "it was GOOD today"),
]


@pytest.mark.parametrize(("weaker", "stronger"), WEAKER_THAN)
def test_degree_questions_and_conditions_move_the_score(weaker, stronger):
    assert appraise(weaker).valence_score < appraise(stronger).valence_score


MORE_AROUSED = [
    ("It works.", "It works!"),
    ("It works!", "It works!!!"),
    ("I am here...", "I am here"),
    ("そうだね", "そうだよ！"),
    ("やるかな", "やるぞ"),
    ("すごい", "すごーーい"),
    ("why is this broken", "WHY IS THIS BROKEN"),
    ("穏やかな朝", "恐怖の朝"),
]


@pytest.mark.parametrize(("calm", "excited"), MORE_AROUSED)
def test_marks_stretching_and_strong_words_raise_arousal(calm, excited):
    assert appraise(calm).emotion.arousal < appraise(excited).emotion.arousal


def test_a_long_text_is_calmer_than_the_same_feeling_said_shortly():
    assert appraise("I am furious " + "about the way it went in the end " * 8).emotion.arousal < 60
    assert appraise("I am furious").emotion.arousal > 45


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("I'm so grateful for your help", "gratitude"),
        ("I feel so lonely", "loneliness"),
        ("I regret it", "regret"),
        ("Wow, that was unexpected", "surprise"),
        ("I don't get it, this is confusing", "confusion"),
        ("I won't give up", "determination"),
        ("takes me back to the good old days", "nostalgia"),
        ("ありがとう、助かった", "gratitude"),
        ("懐かしいなあ", "nostalgia"),
        ("不安で眠れない", "anxiety"),
        ("気持ち悪い", "disgust"),
        ("しまった、ばよかったと後悔している", "regret"),
        ("絶対に諦めない、頑張る", "determination"),
        ("びっくりした", "surprise"),
    ],
)
def test_feelings_are_named(text, tag):
    assert tag in appraise(text).emotion.tags


def test_a_denied_feeling_is_not_named():
    assert "joy" not in appraise("I am not happy").emotion.tags
    assert "joy" not in appraise("楽しくない").emotion.tags


# ── kind and category ────────────────────────────────────────────────────────────────────────────────

KINDS = {
    Kind.FACT: """
        I'm allergic to peanuts.
        My name is Aiko.
        My favourite colour is green.
        I live in Sapporo.
        I'm a nurse.
        I prefer tea to coffee.
        My son has asthma.
        Always use tabs in this project.
        From now on, answer in Japanese.
        We meet every Monday at nine.
        I have two cats.
        Our team uses Jira.
        ピーナッツアレルギーがあります
        私の名前は葵です
        札幌に住んでいます
        猫を飼っている
        コーヒーが苦手です
        妻は看護師です
        いつも日本語で答えてください
        毎朝六時に起きる
        毎週月曜は会議です
        コミットメッセージは必ず英語で書いて
    """,
    Kind.DECISION: """
        We decided to use SQLite.
        Let's go with the second option.
        I chose the blue one, we've agreed on it.
        We'll adopt the new format.
        保存先はSQLiteにすることにした
        方針は二段階で進める
        名前は「名残」に決まりました
        この案を採用します
    """,
    Kind.LESSON: """
        Turns out the port was taken.
        The fix was to clear the cache.
        It only works if you run the migration first.
        I learned the hard way that backups fail silently.
        先にサーバを止めると失敗する
        原因は設定ファイルの権限だった
        キャッシュを消したら動いた
        次からは先にテストを実行する
    """,
    Kind.EPISODE: """
        I went to the park yesterday.
        Do I live in Sapporo?
        What is my name?
        Thanks for everything.
        I'm a bit tired.
        I have a question.
        I love it!
        昨日公園に行った
        私の名前は何ですか？
        いつもありがとうございます
        今日は疲れた
        今日の昼はカレーだった
    """,
}


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, some in KINDS.items() for text in lines(some)]
)
def test_facts_decisions_and_lessons_are_told_from_episodes(kind, text):
    assert appraise(text).kind is kind


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("It's raining again.", Category.CASUAL),
        ("Good morning!", Category.CASUAL),
        ("The query times out when the index is cold.", Category.WORK),
        ("Fix the typo in the function name.", Category.WORK),
        ("We decided to drop the cache.", Category.DECISION),
        ("My wife and I decided to adopt a child.", Category.DECISION),
        ("My father is ill and I am scared.", Category.EMOTIONAL),
        ("ふざけんな！", Category.EMOTIONAL),
        ("おはよう", Category.CASUAL),
        ("今日は雨だね", Category.CASUAL),
        ("テストが落ちたのでログを見る", Category.WORK),
        ("認証はOAuthを採用することにした", Category.DECISION),
        ("母が入院して不安だ", Category.EMOTIONAL),
    ],
)
def test_a_text_gets_the_category_of_its_situation(text, category):
    assert appraise(text).category is category


# ── wishes ───────────────────────────────────────────────────────────────────────────────────────────

KEPT = """
    忘れないで
    これは覚えておいて
    絶対に忘れないで
    重要だから記憶して
    覚えておいてください
    覚えといてね
    私がピーナッツアレルギーなのを忘れないでね
    これ、覚えておいてくれる？
    パスポートの番号をメモしておいて
    「これは覚えておいて」
    Remember this.
    Please remember that I'm allergic to peanuts.
    Don't forget that the demo is on Friday.
    Don’t forget my birthday.
    Never forget: the key is in the blue box.
    Keep in mind that I only work mornings.
    I moved to Kyoto, so please keep that in mind.
    Can you remember this for me?
    I want you to remember my sister's name.
    Important: remember to use tabs.
    It's important that you remember this.
    これ大事だから覚えてて
    覚えておいてくれると嬉しい
    覚えておいてほしいんだけど、卵は食べられない
"""
NOT_KEPT = """
    覚えてる？
    覚えていない
    覚えてますか？
    忘れないでほしかった
    彼女は「忘れないで」と言った
    忘れないでと言われた
    あの日のことは忘れない
    傘を忘れないで行ったから助かった
    覚えておいてよかった
    忘れないでいてくれてありがとう
    先生に覚えておいてと言われた
    名前が覚えられない
    忘れていいよ
    覚えておかなくていい
    I can't remember.
    Do you remember the trip?
    Remember that time we went to Kyoto?
    I'll never forget that day.
    She said "never forget me".
    My mother always says, never forget where you come from.
    I remember it well.
    He told me to remember the milk.
    I'll keep that in mind.
    You don't have to remember this.
    Can you remember what I said?
"""


@pytest.mark.parametrize("text", lines(KEPT))
def test_an_imperative_asks_for_protection(text):
    assert appraise(text).protect


@pytest.mark.parametrize("text", lines(NOT_KEPT))
def test_reports_questions_and_quotations_ask_for_nothing(text):
    assert not appraise(text).protect


@pytest.mark.parametrize("role", ["assistant", "tool", "import"])
def test_only_a_user_can_ask_for_protection(role):
    assert not appraise("Remember this. 忘れないで", speaker_role=role).protect


CORRECTIONS = """
    Actually, make that Thursday.
    Correction: it's 15, not 50.
    I meant the second one.
    I no longer work at the bank.
    Use pnpm instead of npm.
    The meeting was moved to Friday.
    My number changed to 5521.
    It's not Tuesday but Wednesday.
    Scratch that.
    I don't live there anymore.
    I used to live in Osaka but now I'm in Nara.
    訂正します、金曜です
    さっきの日付は間違えた
    火曜じゃなくて水曜です
    会議は三時に変更になりました
    担当が佐藤さんに変わった
    もうあの会社では働いていません
    やっぱり青にする
    やっぱりキャンセルで
    大阪に引っ越しました
    勘違いしていました
    住所が変わりました
"""
NO_CORRECTIONS = """
    やっぱり美味しい
    やっぱり家は落ち着く
    道を間違えた
    安いだけじゃなくて美味しい
    もう我慢できない
    もう食べられない
    好きじゃなくて困る
    雨じゃなくてよかった
    We moved the couch to the left.
    The colour changed to red at sunset.
    Actually I love it.
    I was moved to tears.
    She is not only kind but funny.
    I meant it.
    I can't take it anymore.
    The weather is nice.
    He said "scratch that" and left.
    今日はいい天気
"""


@pytest.mark.parametrize("text", lines(CORRECTIONS))
def test_a_correction_is_noticed(text):
    assert appraise(text).correction


@pytest.mark.parametrize("text", lines(NO_CORRECTIONS))
def test_what_only_looks_like_a_correction_is_none(text):
    assert not appraise(text).correction


# ── leaning ──────────────────────────────────────────────────────────────────────────────────────────


def vector(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def made_up_vectors() -> list[bytes]:
    """An embedder whose first two numbers are the feeling itself, beside a constant."""
    return [vector(0.1 * anchor.valence, 0.1 * anchor.arousal, 0.9) for anchor in anchors()]


def test_axes_place_sentences_where_their_feeling_is():
    axes = axes_from(made_up_vectors())
    good, bad = project(vector(0.1, 0.0, 0.9), axes), project(vector(-0.1, 0.0, 0.9), axes)
    wild, calm = project(vector(0.0, 0.1, 0.9), axes), project(vector(0.0, -0.1, 0.9), axes)
    assert good.valence > 0.7
    assert bad.valence < -0.7
    assert wild.arousal > 0.7
    assert calm.arousal < -0.7


def test_vectors_that_tell_nothing_lean_nowhere():
    axes = axes_from([vector(0.5, 0.5)] * len(anchors()))
    assert project(vector(0.3, 0.9), axes) == AxisPosition(0.0, 0.0)


def test_axes_want_a_vector_for_every_anchor():
    with pytest.raises(ValueError, match="anchors"):
        axes_from([vector(1.0)])


def test_anchors_are_balanced_in_valence_and_come_in_both_languages():
    assert abs(sum(anchor.valence for anchor in anchors())) < 0.2 * len(anchors())
    assert sum(anchor.text.isascii() for anchor in anchors()) * 2 == len(anchors())


def test_a_leaning_decides_where_words_are_silent():
    text = "The door was open when we came."
    assert appraise(text).emotion.valence is Valence.NEUTRAL
    assert appraise(text, leaning=AxisPosition(0.9, 0.5)).emotion.valence is Valence.POSITIVE
    assert appraise(text, leaning=AxisPosition(-0.9, 0.5)).emotion.valence is Valence.NEGATIVE
    assert appraise(text, leaning=AxisPosition(0.1, 0.5)).emotion.valence is Valence.NEUTRAL
    assert appraise(text, leaning=AxisPosition(0, 1)).emotion.arousal > appraise(text).emotion.arousal


# ── the tables ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("table", ["english", "japanese", "emoji", "grammar"])
def test_every_row_of_a_table_is_in_range_and_names_known_tags(table):
    for feeling, words in read_feelings(table):
        assert -1 <= feeling.valence <= 1
        assert 0 <= feeling.arousal <= 100
        assert TAGS.issuperset(feeling.tags)
        assert words
        assert all(words.split(" "))


def test_the_tables_are_large_and_every_tag_can_be_felt():
    assert len(english_words()) > 1500
    assert len(japanese_words()[0]) > 1000
    assert len(signs()[1]) > 150
    named = {
        tag
        for table in ("english", "japanese")
        for feeling, _ in read_feelings(table)
        for tag in feeling.tags
    }
    assert named == TAGS


@examples(200)
@given(st.text(max_size=200), st.sampled_from(["user", "assistant"]))
def test_any_text_can_be_appraised(text, role):
    found = appraise(text, speaker_role=role)
    assert -1 <= found.valence_score <= 1
    assert found == appraise(text, speaker_role=role)


@pytest.mark.parametrize(
    "piece", ["\n", "and, ", "「", "i am a ", "not ", "もう", "なく", "(^", "!?", "use on at "]
)
def test_hostile_text_is_appraised_like_its_beginning(piece):
    """A step that is not linear would never finish here."""
    assert appraise(piece * 5000) == appraise((piece * 5000)[:4000])


def test_a_page_is_read_from_its_beginning():
    assert appraise("happy " * 10_000) == appraise("happy " * 10_000 + "sad")
    assert appraisal.LONGEST < 10_000
