"""What the demonstration tells: a small bilingual life (`LIFE`), and the sentences around it (`SAID`)."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from nagori.core.model import Category, Emotion, Kind, Valence
from nagori.edges.locale import Translator
from nagori.services.remember import Draft

# ── the life ─────────────────────────────────────────────────────────────────────────────────────

JAPAN = timezone(timedelta(hours=9))
DAY_0 = datetime(2026, 4, 5, 21, 0, tzinfo=JAPAN)  # the evening from which days are counted
DAYS = (0, 7, 30, 90, 180, 400)
GOOD, BAD, CALM = Valence.POSITIVE, Valence.NEGATIVE, Valence.NEUTRAL


def moment(at: str) -> datetime:
    """`"05 20:55"` in April 2026."""
    return datetime.strptime(f"2026-04-{at}+0900", "%Y-%m-%d %H:%M%z")


class Turn(NamedTuple):
    """Something said in April 2026, and how it is judged. Appraisal will one day fill the last four."""

    name: str
    at: str  # day and hour
    said: str
    kind: Kind
    category: Category | None
    emotion: Emotion
    protect: bool = False

    @property
    def moment(self) -> datetime:
        return moment(self.at)


LIFE = (
    Turn(
        "surgery",
        "01 22:30",
        "母の手術が無事に終わった。廊下でほっとして泣いた。",
        Kind.EPISODE,
        Category.EMOTIONAL,
        Emotion(92, BAD, 85, ("relief", "fear")),
    ),
    Turn(
        "birthday",
        "02 10:00",
        "Mirela's birthday is on 12 June.",
        Kind.FACT,
        None,
        Emotion(62, GOOD, 30),
    ),
    Turn(
        "allergy",
        "02 12:10",
        "ピーナッツのアレルギーがある。少しも食べられない。",
        Kind.FACT,
        Category.CASUAL,
        Emotion(58, CALM, 20),
    ),
    Turn(
        "database",
        "03 11:00",
        "保存先はSQLiteに決めた。運用がいちばん軽いから。",
        Kind.DECISION,
        Category.DECISION,
        Emotion(82, GOOD, 45, ("determination",)),
    ),
    Turn(
        "release",
        "03 16:00",
        "Decided: we release every second Thursday, Mirela signs.",
        Kind.DECISION,
        Category.DECISION,
        Emotion(70, CALM, 35),
    ),
    Turn(
        "grandmother",
        "04 08:00",
        "11月3日は祖母の命日。花を持っていく。忘れないで。",
        Kind.FACT,
        Category.EMOTIONAL,
        Emotion(80, BAD, 40, ("nostalgia", "love")),
        protect=True,
    ),
    Turn(
        "wedding",
        "04 20:00",
        "Kojo asked, I said yes! We are getting married in October.",
        Kind.EPISODE,
        Category.EMOTIONAL,
        Emotion(98, GOOD, 95, ("joy", "love")),
    ),
    Turn(
        "staging",
        "05 10:30",
        "Staging moved; it now answers on port 8443.",
        Kind.EPISODE,
        Category.WORK,
        Emotion(70, CALM, 30),
    ),
    Turn(
        "tests",
        "05 11:15",
        "取り込みテストを直した。不安定なものが、あと三つ。",
        Kind.EPISODE,
        Category.WORK,
        Emotion(60, BAD, 40, ("frustration",)),
    ),
    Turn(
        "dumplings",
        "05 13:00",
        "Lunch with Sefa by the canal, and what wonderful dumplings! We shared twelve of them at Lin's for"
        " 980 yen. She begins at the harbour museum in May. It rained a little on the way home.",
        Kind.EPISODE,
        Category.CASUAL,
        Emotion(64, GOOD, 55, ("joy",)),
    ),
    Turn(
        "train",
        "05 18:40",
        "帰りの電車が十分遅れた。",
        Kind.EPISODE,
        Category.CASUAL,
        Emotion(34, BAD, 30),
    ),
    Turn(
        "greeting",
        "05 20:50",
        "こんばんは。今日は暖かかったね。",
        Kind.EPISODE,
        Category.CASUAL,
        Emotion(22, GOOD, 15),
    ),
)

CORRECTION = ("birthday", "05 20:55", "Mirela's birthday is on 21 June, not on the 12th.")
ASKED = ("アレルギーで食べられないものは？", "Which port does staging answer on?")
REPLACED = (
    "release",
    12,
    Turn(
        "friday",
        "17 21:00",
        "Correction: we release every second Friday, Mirela signs.",
        Kind.DECISION,
        Category.DECISION,
        Emotion(72, CALM, 35),
    ),
)
ASKED_ACROSS = "How did my mother's surgery go?"  # answered by a Japanese memory; only meaning can do that
RECALLED = ("What was the port of staging again?", (3, 9, 16, 24))  # on these days
MISSED = ("What did I have for lunch with Sefa by the canal?", 60)  # long after it was put away
SHORTENED = "dumplings"
CROWD, ROOM = 60, 50  # so many notes, in a store for so many
DRAWN = ("grandmother", "wedding", "allergy", "database", "staging", "dumplings")
EXPLAINED, LET_GO, TAKEN_BACK, RECALLED_NAME = "wedding", "birthday", "allergy", "staging"
AHEAD = 90  # days of the forecast

# ── the words ────────────────────────────────────────────────────────────────────────────────────

SAID: dict[str, tuple[str, str]] = {
    "title": ("nagori · what remains after something has passed", "名残 · 過ぎたあとに残るもの"),
    "about": (
        "A memory for agents that forgets like a person and loses nothing.\n"
        "All of this happens in a temporary folder; the clock is moved by hand.",
        "人のように忘れ、しかし何も失わない、エージェントのための記憶です。\n"
        "すべて一時フォルダーの中で、時計を手で進めながら行います。",
    ),
    "life": ("A small life", "ささやかな日々"),
    "life_text": (
        "{n} things were said in five days. What kind of thing each is, and how\n"
        "strongly it was felt, decides how fast it fades.",
        "五日間に{n}のことが語られました。\n何であるか、どれほど心が動いたかで、薄れる速さが決まります。",
    ),
    "casual": ("small talk", "雑談"),
    "work": ("work", "仕事"),
    "decision": ("decision", "決定"),
    "emotional": ("feeling", "心の動き"),
    "fact": ("fact", "事実"),
    "corrected": ("Corrected on the last day:", "最後の日に訂正:"),
    "wish": ("🔒 was asked for: it does not fade.", "🔒 は保護を頼まれた記憶。薄れません。"),
    "before": ("What comes to mind today", "今日、思い出すこと"),
    "before_text": (
        "Two questions on the evening of day 0; the number is the confidence of the answer.",
        "0日目の夜に、ふたつの問い。数字は答えの確信度です。",
    ),
    "across": (
        "And across languages, by meaning:",
        "言葉がちがっても、意味で見つかります:",
    ),
    "by_words": (
        "No embedding model here: recall is by words alone (pip install 'nagori[local]').",
        "埋め込みモデルがないので、語の一致だけで思い出します\n（pip install 'nagori[local]'）。",
    ),
    "days": ("{n} nights", "{n}の夜"),
    "days_text": (
        "After each day a night, as `nagori cycle` does it; {n} were run just now.\n"
        "↻ was recalled (staging on days {days}): younger, slower to fade.\n"
        "🔒 never moves. ⊘ was replaced by something said later.",
        "一日が終わるごとに nagori cycle の夜が来ます。いま {n} 回、実際に過ごしました。\n"
        "↻ は思い出した記憶（staging は{days}日目）。若返り、薄れにくくなります。\n"
        "🔒 は動きません。⊘ はあとの言葉に置き換わった記憶です。",
    ),
    "and": (", ", "・"),
    "day": ("{n} d", "{n}日"),
    "above": ("{level} > {n:g}", "{level} > {n:g}"),
    "shorter": ("What is left of one lunch", "ある昼食から、残るもの"),
    "shorter_text": (
        "Its words as it faded. On day {n} somebody asked after all:\n» {question}",
        "薄れていくときの言葉です。{n}日目に、ふと尋ねられました:\n» {question}",
    ),
    "put_away": ("(put away; it is still found when asked for)", "（しまわれた。尋ねれば、今も見つかる）"),
    "came_back": ("(came back, because it was asked for)", "（尋ねられて、戻ってきた）"),
    "put_away_again": ("(nobody asked again)", "（もう誰も尋ねなかった）"),
    "kept_whole": (
        "Its full words are still kept: `nagori unarchive` would bring them back.",
        "全文はまだ残っています。nagori unarchive で元に戻せます。",
    ),
    "purged": (
        "After ninety days in the archive its full words were let go; the trace stays.",
        "保管庫で九十日を過ぎたので、全文は手放されました。痕跡は残ります。",
    ),
    "replaced": ("What holds now", "いま、正しいこと"),
    "replaced_text": (
        "On day {n} something was corrected in passing.\nBoth stay; the new one is told first.",
        "{n}日目に、話の中で訂正がありました。\nどちらも残り、新しいほうが先に語られます。",
    ),
    "not_replaced": (
        "(which memory a correction means is found by meaning: it takes the embedding model)",
        "（訂正がどの記憶を指すかは意味で探すため、埋め込みモデルが要ります）",
    ),
    "room": ("More than there is room for", "入りきらないとき"),
    "room_text": (
        "Another store, {n} notes, but room for {limit}: the weakest are put away,\n"
        "a tenth of the room a night, until there is some to spare.",
        "別のストアに {n} 件。しかし入るのは {limit} 件まで。\n"
        "弱いものから、一晩に一割ずつ、余裕ができるまでしまわれます。",
    ),
    "night": ("night", "夜"),
    "in_use": ("in use", "手元"),
    "room_end": (
        "Put away: intensity up to {away:.0f}. Stayed: from {stays:.0f} on.",
        "しまわれたのは強度 {away:.0f} まで。残ったのは {stays:.0f} から。",
    ),
    "chart": ("The whole life as pictures", "絵で見る、すべての日々"),
    "levels_text": ("How many stood at each level, and will:", "それぞれの段階にいくつあったか、これからは:"),
    "unit": ("days", "日"),
    "recalled": ("recalled", "思い出した日"),
    "unrecalled": ("the same, had it never been recalled", "もし一度も思い出さなかったら"),
    "svg_title": ("How memories fade: what stays, what goes", "記憶の薄れ方: 残るもの、去るもの"),
    "early": (
        "(the first days are drawn wider)",
        "（はじめの日々は広めに描いてあります）",
    ),
    "written": ("As SVG:", "SVG の絵:"),
    "after": ("The same questions, {n} days later", "{n}日後、同じ問い"),
    "after_text": (
        "Relevance comes first: the answer is still found, in the words that are left.",
        "関連性を優先するので、答えは今も、残った言葉で見つかります。",
    ),
    "on_day": ("day {n}", "{n}日目"),
    "undone_fade": (
        "A night's step can be taken back, too:",
        "夜のあいだのことも、取り消せます:",
    ),
    "why": ("Why is this one so strong?", "なぜ、これは強く残るのか"),
    "let_go": ("Let go, and take it back", "手放して、取り戻す"),
    "sees": ("{n} memories are active", "有効な記憶は {n} 件"),
    "proof": ("Checked against the journal", "ジャーナルとの照合"),
    "unsound": ("verify found faults", "verify が異常を見つけました"),
    "end": ("Your turn", "つぎは、あなたの番"),
    "failed": ("the demonstration failed: {reason}", "デモが失敗しました: {reason}"),
}

NEXT = (
    ("nagori remember …", "keep something", "覚える"),
    ("nagori recall …", "ask", "思い出す"),
    ("nagori list", "see what there is", "一覧を見る"),
    ("nagori cycle --dry-run", "what the next night would do", "つぎの夜に起きることを見る"),
    ("nagori chart --levels", "how many stand where, and will", "段階ごとの数と、これから"),
    ("nagori why ID", "when will it fade, and why", "いつ、なぜ薄れるかを見る"),
    ("nagori --help", "everything else", "ほかのすべて"),
)


def crowd() -> list[Draft]:
    """Notes that differ only in how much they matter."""
    return [Draft(f"Note {n}: shelf {n * 7 % CROWD}", emotion=Emotion(30 + n)) for n in range(CROWD)]


def words(translator: Translator, name: str, **values: object) -> str:
    english, japanese = SAID[name]
    return (japanese if translator.language == "ja" else english).format(**values)
