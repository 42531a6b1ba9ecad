"""What a user wishes of the memory: keep, do not keep, forget, or nothing. All sentences are invented."""

import pytest

from nagori.language.speech_acts import NO_WISH, Wish, WishKind, classify_wish, without_wishes

ENGLISH = {
    WishKind.KEEP: """
        Please remember that my train card expires in June.
        Remember: the blue valve is the hot one.
        remember this for me: locker 212
        Always remember to never email the landlord, he only reads letters.
        Make a note that the piano tuner comes in spring.
        Could you take a note of that, my shoe size is 39.
        Keep in mind I work nights.
        and bear in mind that our printer can't do A3
        For future reference, the gate code changes every year.
        For later: the spare tyre is in the shed.
        Jot this down please, the plumber is called Dorsey.
        Write that down, I'll ask again.
        Add this to your memory: we invoice in Swiss francs.
        Please commit this to memory, Ida is the new treasurer.
        store this for later: the hut has no electricity
        Don't forget that I can't have dairy.
        never forget my wedding day, 3 October
        don't ever let me forget that the kiln needs two hours
        I want you to remember that I'm left-handed.
        You should always remember that the tenants upstairs sleep early.
        I'll need this again next year, the seed order number is 4471.
        hold on to this for me: the lawyer's name is Brandl
        Please note that our office moved to the second floor.
        help me remember that Tuesday is bin day
        this is worth remembering: the boiler resets with the green switch
        Will you remember that I take my tea black?
        Don't forget what I told you about the fuse box.
        Just so you have it on file, our VAT number begins with NL.
        Mental note for you: I get migraines from neon light.
        Please retain the following: the meeting is always in Dutch.
        Remember I'm vegetarian when you suggest recipes.
        Log this somewhere permanent: the well is 40 metres deep
        I'd appreciate it if you remembered that I only work mornings.
        Let's note for next time that the oven runs hot.
        Quick thing to remember - Ana is the new lead.
        You'll want to remember this: the cellar floods in March.
        This is important, don't lose it: policy number 88-12.
        can you keep track of the fact that we owe Lou 40 euros
        Save to memory: my kids are Ben and Lottie.
        Add to your notes that the bridge is closed to lorries.
        so from here on remember, no meat on Fridays
        Store my preference: dark theme everywhere.
        please keep a note of my membership number, 7782
        It would help if you kept in mind that I'm dyslexic
        remember, I asked for metric units everywhere
        make sure you remember my daughter's name is Ruth
        Could you memorise my order: two flat whites, one decaf
        don't you dare forget that I hate surprises
        You might want to write down that the lift is out of order until May
        so, to remember: bins go out on Wednesday night
        File this under important: the vet closes at five
        I want this remembered: we never ship on Sundays
    """,
    WishKind.NOT_KEEP: """
        Please don't remember this, but I was fired once.
        do not save this anywhere: my account is overdrawn
        Off the record, I think the merger is a mistake.
        This stays between us, I applied somewhere else.
        keep this to yourself, she is leaving him
        Don't write that down, it's only gossip.
        Just for this chat, my weight is 81.
        No need to remember the next part.
        You don't need to keep this, I only want to check the sum.
        I don't want this stored, it's about my neighbour.
        Please leave this out of your memory, it is not my secret.
        nothing of this should be remembered, I'm only venting
        can you help me with this without saving it?
        This should not be recorded: he drinks.
        never memorize this, it's a one time code
        don't take notes, please, this is private
        Answer me and then forget it.
        Forget this right after you have answered.
        What follows isn't for your notes: I stole a pen.
        <private>the alarm code is on the fridge</private>
        [private]
        Don't put any of this in your notes.
        I'd prefer that you not record this.
        Please don't keep a record of this conversation.
        I'd rather this wasn't saved.
        Not for the record: the director cried.
        Could you not store what I'm about to say?
        between you and me and nobody else, we're broke
        This is confidential, don't log it.
        Please treat this as off-record.
        don't commit any of this to memory
        I'm just thinking out loud, no need to note it.
        You needn't remember that.
        Let's keep this one out of the memory.
        skip saving this one
        Don't hold on to this, it's a throwaway address.
        Don't tell anyone and don't save it, but I got the part
        please do not add this to my profile
        this is only for now, don't store it
        keep this confidential and don't record it
        I'd like to say something that you won't remember
        Please make no record of this
        this one's off the record
        I'm telling you this in confidence, don't save it
    """,
    WishKind.FORGET: """
        Forget what I said about the inheritance.
        please forget everything I told you about my sister's illness
        Delete what you know about my former flatmate.
        Could you erase the phone number I gave you?
        Never mind what I said about Thursday.
        Scratch that.
        no wait, strike that, I meant the other one
        Pretend I never said that.
        Please wipe my address from your memory.
        forget that I wanted to move to Cork
        I don't want you to know about my debts any more.
        Disregard what I told you earlier about the budget.
        drop the thing about the lottery, it was a joke
        Can you forget my birthday?
        Forget about my trip to Riga, it is cancelled.
        I shared our bank details. Please delete them.
        As for my knee, please forget it.
        I take back what I said about Colin.
        Stop reminding me of the exam.
        Erase what I just said.
        please forget that
        you can get rid of everything you have on my old landlord
        I'd rather you didn't know my salary.
        Can you remove what I told you about Paul?
        Let's forget everything about the Lisbon plan.
        I'd like you to delete my medical history from your memory.
        Please un-remember my ex's name.
        that thing I said about quitting, forget it
        Kindly discard the details I shared about my loan.
        You no longer need to remember my old address.
        Ignore what I said before about the colour.
        Everything about the lawsuit: please delete it.
        Clear anything you've stored about my health.
        The story about Gran, please erase that from memory.
        Purge all records of my visit to the clinic.
        Actually scratch that last bit
        please forget the name of my therapist
        I want you to forget that I ever mentioned Jonas
        delete the memory of my interview
        could you please remove my ex from your memory
        what I told you about the cabin isn't true, please forget it
        Can you drop what I said about the neighbours
        erase everything about my former boss
        hmm no, scratch that
        I'd like to take back what I said about the teacher
    """,
    WishKind.NONE: """
        Do you remember the name of the bakery?
        Did I ever tell you about my uncle?
        Don't forget to run the tests before you push.
        don't forget the closing bracket in line 9
        I forgot my keys at the gym.
        I'll remember that.
        I can't remember where I put the ladder.
        She told me to remember that every day counts.
        He said: never forget this.
        My teacher wrote "remember this" on the board.
        How do I make the browser remember my password?
        Remember when we got lost in the dunes?
        remember to close the file handle
        Save this file as plain text.
        Delete the third paragraph, it repeats the second.
        delete the part about pricing from the draft
        forget it
        Never mind.
        The function forget() clears the cell state.
        `git rm --cached` makes git forget a file
        Keep the tone friendly.
        Keep this function as it is.
        Don't save the file yet.
        don't store the password in plain text
        never log the request body
        Don't write this in C, use Rust.
        What did I say about the garden last week?
        I never forgot what he said about my drawings.
        We were asked to keep records for ten years.
        The song is called Forget What I Said.
        This photo brings back memories.
        He recorded an album in two days.
        is there a way to store this without saving a copy?
        I wish I could forget that evening.
        Remove the unused import.
        They kept the secret between them for years.
        Write down the steps for me.
        note the difference between the two curves
        I made a note yesterday and lost it.
        The memory of that summer never faded.
        Drop the table and create it again.
        # remember this when refactoring
        Why did you forget what I said about tabs?
        take that file out of the cache
        I don't remember saying that.
        Please don't forget your umbrella.
        Can you remember any good puns?
        Don't keep me waiting.
        Let me write this down first.
        I need to remember to call the vet.
        Save me a seat.
        Drop me a line when you're done.
        Erase the whiteboard in the mock-up and redraw it.
        How does an LSTM decide what to forget?
        He asked that we keep this between us.
        Strike three, he's out.
        The record store is off the main road.
        Keep in touch!
        The doctor said not to forget the pills.
        Clear the screen and start again.
        forget about the tests for now, let's fix the build
        Does the app store this on the server?
        Make sure the cache forgets old entries.
        I keep a note of every book I read.
        What would you do if I told you to forget everything?
        I'd never forget my mother's cooking.
        Remove my name from the list in section 2.
        Could you take notes during the meeting and send them around?
        Record the demo and upload it.
        please delete the old branch
        This function should not be kept in main.
        I always forget what I said in meetings
        did you save what I wrote?
        keep calm and carry on
        I will never forget this trip
        please remove the duplicates from the list
        store the result in a variable
        can you write this down as a formula?
        Let's drop the subject line
        delete everything after line 50
        forget the tests, ship it
        the teacher made a note of it
        he wants to be remembered as a poet
        could you keep the answer short?
        make a note-taking app in react
        wipe the disk and reinstall
        remember the Alamo
        I told him to forget it
        the app should remember the last window position
        please note the attached invoice
        don't save me any cake
    """,
}
JAPANESE = {
    WishKind.KEEP: """
        これ、覚えておいて。更新日は六月です
        母は甘いものがだめって覚えといてください
        メモしといて、合鍵は植木鉢の下
        控えておいてください。担当は沢渡さんです
        頭に入れておいてほしいんだけど、火曜は休み
        この番号は記録しておいてね、また使うから
        会議は第二会議室に変わったこと、忘れないでね
        絶対に忘れないでください。青い弁がお湯です
        心に留めておいてください
        念頭に置いておいてください、私は夜型です
        大事なことなので保存しておいて。暗い色は使わない
        書き留めておいてもらえますか、弁護士は番場さん
        今後のために覚えててくれる?
        記憶しておいてください
        これはメモっておいて
        うちの犬は右耳が聞こえないって覚えておいてくれると助かる
        次回から前提にしてください、税率は十パーセント
        覚えといてや、鍵は二本ある
        忘れんといてな、これ大事やから
        念のため控えといて、予備のヒューズは廊下の棚
        これ、残しといて。後で聞くから
        肝に銘じておいて
        これだけは頭の片隅に置いといて、水曜は電話に出られない
        ちゃんと覚えてよ、うちの子は卵アレルギーだからね
        次に会うとき聞くから覚えててね、合言葉は山
        私の呼び方、「まこ」でよろしく。忘れないで
        重要なのでメモ取っておいてください。口座は名義変更済み
        このことはしっかり記憶しといて
        今後もこの条件で進めるので覚えておいてもらえると助かります
        会社の締め日は25日、控えといてくれる?
        インプットしといて、会議は英語でやる
        長期的に覚えておいてほしいことがあります。父は耳が遠いです
        これから先も使う情報だから保管しといて、型番はX200
        備忘録として残しておいてください、鍵の番号は12
        明日の約束、ちゃんと覚えておいてね
        うちの住所が変わったので登録しておいてください
        これは今後も必要だから書いておいて
        妻の誕生日は三月三日。忘れないように頼む
        忘れないでおいてほしいのは、彼がベジタリアンだということ
        私はコーヒーが飲めないので、覚えておいていただけますか
        この先ずっと、名前はカタカナで書くって覚えておいて
    """,
    WishKind.NOT_KEEP: """
        これは覚えなくていいよ
        今から話すことは記録しないでください
        オフレコで。実は異動の話がある
        ここだけの話、彼は辞めるらしい
        メモしないでね、ただの噂だから
        この会話だけにしてほしい、体重は81キロ
        保存しなくて大丈夫です
        覚える必要はありません、検算したいだけ
        履歴に残さないでください
        記憶に残さないでほしいんだけど、借金がある
        他言無用でお願いします
        聞き流して。ただの独り言
        控えなくていいです
        書き留めないでください
        内緒にしといてね、引っ越すかもしれない
        これは記録なしでお願いします
        答えたらすぐ忘れて
        メモリに入れないで
        学習に使わないでください
        覚えんといて、恥ずかしいから
        <private>口座の番号は別紙</private>
        これ、記録には残さないでもらえますか
        ただの愚痴だから忘れていいよ
        誰にも言わないで、あと保存もしないでほしい
        今日の話は秘密にしておいて
        メモらなくていいからね
        一回きりの番号なので記憶不要です
        ログ残さんといてな
        内密にお願いします、合併の話があります
        この件は覚えてくれなくて結構です
        記憶しないでほしい話なんだけど
        この話はここだけで
        この話は残しておかないで
        記録はとらないでください
        すぐ変わるから覚えておかなくていいよ
        保存せずに聞いてほしいんだけど
        今回の内容はメモリに保存しないでください
        誰にも言わないでね、ここだけの秘密
        この番号はメモしなくていい
    """,
    WishKind.FORGET: """
        さっきの話は忘れて
        前に言った引っ越しの件、忘れてください
        今のなし
        昨日話した病気のことは消しておいてほしい
        先週伝えた電話番号、削除してください
        私の年齢に関する情報は破棄してください
        あの約束の話はなかったことにして
        元の職場のことは忘れてくれる?
        この前教えた住所、もう消して
        妹の名前は記憶から外してください
        今言ったことは取り消して
        さっきのはなしで
        覚えてる私の病名、消してもらえますか
        以前話した借金のことは全部忘れて
        彼の件は聞かなかったことにして
        私の給料の話、消去でお願いします
        前回の相談内容は捨ててください
        娘のことはもう忘れてほしい
        先日送った口座の情報は抹消してください
        離婚の話は忘れてもらえますか
        さっきの住所の話、取り消します
        ごめん、今のは忘れて
        先月の体調の話、記憶から消してくれない?
        前に言ってた副業のこと、もう忘れていいよ
        彼女の名前、データから削除しといて
        おととい話した件は白紙に戻して
        私が話した病歴を全部消してください
        うちの住所、覚えてたら消しておいて
        やっぱりさっきの発言は撤回で
        猫の名前の件、間違いなので破棄でお願いします
        あれ、聞かなかったことにしといて
        昨日の件は忘れてください
        父の病気について話したこと、消してくれますか
        前の会社の名前は削除してほしい
        彼とのことは全部なかったことにしてください
        さっき送った番号は破棄して
        今の発言は取り消します
        子どもの学校の話、忘れてもらっていい?
    """,
    WishKind.NONE: """
        パン屋の名前、覚えてる?
        鍵をジムに忘れた
        テストを回すのを忘れないで
        牛乳買うの忘れないでね
        その曲は覚えてないなあ
        祖父は何でも覚えている
        先生に「忘れないで」と言われた
        ブラウザにパスワードを覚えさせる方法は?
        ファイルをUTF-8で保存して
        三行目を消して
        不要な変数を削除してください
        この段落は消しといて
        キャッシュを捨てて作り直して
        あの夏のことは忘れられない
        忘れ物センターはどこですか
        記録を更新した選手がいる
        記憶があいまいだ
        メモ帳を買った
        昨日の日記を読み返した
        覚えることが多くて大変
        九九は覚えたほうがいい?
        彼は約束を忘れていた
        パスワードを忘れたので再設定した
        嫌なことを忘れて飲もう
        保存先を変えたい
        この画像を保存しておいて
        議事録を残しておいて
        ログを出力しないで実行して
        ボタンの色はこのままにして
        覚えたての言葉を使いたがる年頃
        忘れたころに届いた
        この設定、記録しないとどうなりますか
        内緒話が好きな子だった
        控えの選手が出た
        取り消し線の書き方を教えて
        昨日のコミットは消して
        よく覚えてて偉いね
        忘れないうちに書いておくか
        弟は「今のなし」とよく言う
        写真を消してしまった
        思い出すと泣ける
        忘れたいのに忘れられない
        この前言ってた店の名前、何だっけ
        データを消して容量を空けたい
        電気を消してから出て
        覚えてくれてありがとう
        記録は残っていますか
        メモを取るのが苦手です
        パスワードは覚えなくていいようにしたい
        昨日の会議の内容を教えて
        忘れずに薬を飲んだ
        古いバックアップは削除して
        彼に「忘れて」と頼まれた
        覚えておいてと言われたけど無理だった
        新人に手順を覚えてもらう
        この行はなかったことにできる?
        保存しないで閉じた
        秘密の花園を読んだ
        その映画の内容は全部忘れた
        テーブルの記録を消して
        財布を忘れないように鞄に入れた
        資料、印刷しておいて
        間違えて送ったメールを取り消したい
        なしの皮をむいた
        会話履歴を消す方法を教えて
        昔のことは忘れて前を向こう
        覚えてもらえて嬉しい
        忘れてた、明日は休みだ
        この文の最後を消して
        記録を消す機能を作って
        メモリを解放してください
        予定を忘れないようにする工夫はある?
        ここだけフォントが違う
        昔話を聞かせて
        名前を付けて保存して
        削除済みのファイルを戻したい
        この歌詞、覚えにくい
        今のコードの二行目はなしで
        秘密鍵を作って
        資料を控室に置いておいて
        古い議事録は捨てていいですか
        単語を毎日十個覚えています
        さっきの話は忘れてくださいと言われた
        単語を覚えて、すぐ寝た
    """,
}
CASES = [
    (line.strip(), kind)
    for table in (ENGLISH, JAPANESE)
    for kind, lines in table.items()
    for line in lines.strip().splitlines()
]


@pytest.mark.parametrize(("text", "kind"), CASES)
def test_a_wish_is_told_from_its_look_alikes(text: str, kind: WishKind) -> None:
    assert classify_wish(text).kind is kind


@pytest.mark.parametrize(
    ("text", "matter"),
    [
        ("Forget what I said about the inheritance.", "the inheritance"),
        ("Could you erase the phone number I gave you?", "phone number"),
        ("please wipe my address from your memory", "my address"),
        ("I shared our bank details. Please delete them.", "our bank details"),
        ("As for my knee, please forget it.", "my knee"),
        ("that thing I said about quitting, forget it", "quitting"),
        ("I want you to forget that I ever mentioned Jonas", "Jonas"),
        ("この前教えた住所、もう消して", "住所"),
        ("以前話した借金のことは全部忘れて", "借金"),
        ("おととい話した件は白紙に戻して", "おととい話した件"),
        ("彼の件は聞かなかったことにして", "彼"),
    ],
)
def test_a_wish_to_forget_names_its_matter(text: str, matter: str) -> None:
    assert classify_wish(text) == Wish(WishKind.FORGET, matter)


@pytest.mark.parametrize(
    "text",
    [
        "Scratch that.",
        "no wait, strike that",
        "今のなし",
        "さっきのはなしで",
        "forget I said that",
        "あれ、聞かなかったことにして",
    ],
)
def test_a_wish_that_names_nothing_means_the_last_thing_said(text: str) -> None:
    assert classify_wish(text) == Wish(WishKind.FORGET, last=True)


def test_a_wish_stands_before_or_after_a_long_text() -> None:
    paste = "\n".join(f"line {number} of the log" for number in range(2000))
    assert classify_wish(f"Don't save this:\n{paste}").kind is WishKind.NOT_KEEP
    assert classify_wish(f"{paste}\nPlease remember this for next time.").kind is WishKind.KEEP
    assert classify_wish(f"{paste}\n\n!!") == NO_WISH
    assert classify_wish("…") == NO_WISH


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("The kiln needs two hours. Please remember that.", "The kiln needs two hours."),
        (
            "Forget what I said about Ida. The hut has no electricity! Is it cold there?",
            "The hut has no electricity! Is it cold there?",
        ),
        ("窯は二時間かかる。これを覚えておいて。", "窯は二時間かかる。"),
        ("Please remember this.", ""),
    ],
)
def test_without_its_wishes_a_text_is_what_else_was_said(text: str, rest: str) -> None:
    assert without_wishes(text) == rest


def test_of_a_long_text_the_wishes_at_both_ends_are_left_out() -> None:
    paste = "\n".join(f"line {number} of the log" for number in range(2000))
    for text in (f"Forget what I said about Ida.\n{paste}", f"{paste}\nForget what I said about Ida."):
        rest = without_wishes(text)
        assert "Ida" not in rest
        assert all(f"line {number} of" in rest for number in (0, 1000, 1999))
