"""What an utterance does: state, ask, order, thank, or keep the talk going."""

import pytest

from nagori.language.speech_acts import SpeechAct, asks_for_several, is_question, speech_act

SAID = {
    SpeechAct.QUESTION: """
        What port does staging use?
        do you know where the keys are
        how does this work
        ok, and why is it slow
        Is the build green?
        tell me what changed last week
        any idea why it fails
        thanks! which one is faster?
        ステージングのポートは何番ですか
        鍵はどこにあるんだっけ
        なんで遅いの?
        ビルドの手順を教えて
        この関数は何をしてる?
        どっちが速いかな
        あの店の名前、覚えてる?
        なんだっけ
        can you remember the name of the inn?
        ???
    """,
    SpeechAct.ORDER: """
        run the tests again
        please fix the typo in the header
        Could you translate this into French?
        ok now deploy it
        Make it shorter.
        can you check the logs please
        go ahead and merge
        let's try the other branch
        show me the diff
        rename foo to bar and run the linter
        テストをもう一度流して
        見出しの誤字を直してください
        これをフランス語に訳してくれる?
        じゃあデプロイして
        もっと短くしてほしい
        ログを見てもらえますか
        次に進みましょう
        表にまとめて
        Check that the tests are green.
        次の章を訳してもらっていい?
        再実行
        would you mind restarting the worker
    """,
    SpeechAct.THANKS: """
        thanks a lot!
        Thank you so much for your help
        great, thanks
        perfect, thank you, that helps
        cheers mate
        much appreciated
        ありがとう!
        本当にありがとうございました
        助かりました、ありがとう
        どうもありがとうございます
        サンキュー
        thanks for the quick fix, you're a star
    """,
    SpeechAct.SMALL_TALK: """
        haha
        good morning
        that's so cool
        ok
        see you tomorrow!
        one sec
        続きをお願いします
        おはよう
        なるほど
        すごい!
        ちょっと待って
        笑
        お疲れ様です
        ...
        うーん
        how are you?
    """,
    SpeechAct.STATEMENT: """
        Our staging port is 8443.
        I moved to Leeds last year.
        Always run the linter before you commit.
        from now on write in British English
        remember that I'm allergic to nuts
        thanks, I fixed it by pinning the version
        Run times are much better now.
        Test results are stored in the bucket.
        let's go with Postgres then
        we decided to drop it. can you update the docs?
        I wonder no more: it was the cache.
        Use of the lift is forbidden after ten
        My sister can't come on Friday.
        When I was young we had no phone.
        ステージングのポートは8443です
        去年リーズに引っ越した
        コミット前に必ずリンターを流して
        今後は敬体で書いてください
        ナッツアレルギーなので覚えておいて
        ありがとう、版を固定したら直った
        じゃあPostgresでいくことにした
        姉は金曜来られない
        テストは毎晩二時に流れる
        妹が看護師をしている
        雨が降っていて外に出られない
        コードの説明は短い文で書いてください
        私のことは下の名前で呼んで
        use spaces everywhere please
        卒業式は三月だって
        叔母は女性医師なんだ
        母が毎週野菜を送ってくれます。
        隣の山田さんが雪かきをしてくれる
        Check marks are drawn in green.
    """,
}
CASES = [(line.strip(), act) for act, lines in SAID.items() for line in lines.strip().splitlines()]


@pytest.mark.parametrize(("text", "act"), CASES)
def test_what_an_utterance_does(text: str, act: SpeechAct) -> None:
    assert speech_act(text) is act
    assert is_question(text) is (act is SpeechAct.QUESTION)


def test_nothing_and_very_much() -> None:
    assert speech_act("") is SpeechAct.SMALL_TALK
    assert speech_act("why? " * 2000) is SpeechAct.STATEMENT


@pytest.mark.parametrize(
    "text",
    [
        "Which cities has Aki visited?",
        "What has Aki planted?",
        "What instruments does Aki play?",
        "What old red bicycles were sold?",
        "How many times did it rain?",
        "What do they have in common?",
        "What does Aki do on Sundays?",
        "What well-known people has Aki met?",
        "What does Aki's brother like?",
        "What is Aki afraid of?",
        "How has Aki tried to sleep better?",
        "アキは何回引っ越しましたか。",
        "二人に共通する趣味は？",
    ],
)
def test_a_question_for_several_things(text: str) -> None:
    assert asks_for_several(text)


@pytest.mark.parametrize(
    "text",
    [
        "What is the name of the cat?",
        "When did Aki move?",
        "What does this bus cost?",
        "Which class was missed?",
        "Where was the harp bought?",
        "What does Aki like most?",
        "What is the cat in the box called?",
        "アキの猫の名前は何ですか。",
    ],
)
def test_a_question_for_one_thing(text: str) -> None:
    assert not asks_for_several(text)
