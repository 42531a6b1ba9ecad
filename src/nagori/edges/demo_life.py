"""What the demonstration tells: a small bilingual life (`LIFE`), and the sentences around it (`SAID`)."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from nagori.core.model import Category, Emotion, Kind, Valence
from nagori.edges.words import Voice

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
        "Lunch with Sefa by the canal. Wonderful dumplings!",
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
ASKED_ACROSS = "How did my mother's surgery go?"  # answered by a Japanese memory; only meaning can do that
RECALLED = ("What was the port of staging again?", (3, 9, 16, 24))  # on these days
DRAWN = ("grandmother", "wedding", "allergy", "database", "staging", "dumplings")
EXPLAINED, LET_GO = "wedding", "train"

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
    "wish": ("🔒 was asked for: it does not fade.", "🔒 は願われた記憶。薄れません。"),
    "before": ("What comes to mind today", "今日、思い出すこと"),
    "before_text": (
        "Two questions on the evening of day 0; the number is the score of the answer.",
        "0日目の夜に、ふたつの問い。数字は答えの点です。",
    ),
    "across": (
        "And across languages, by meaning:",
        "言葉がちがっても、意味で見つかります:",
    ),
    "by_words": (
        "No embedding model here: recall is by words alone (pip install 'nagori[local]').",
        "埋め込みモデルがないので、語の一致だけで思い出します\n（pip install 'nagori[local]'）。",
    ),
    "days": ("Time passes", "時が過ぎる"),
    "days_text": (
        "How much is left of each memory after so many days.\n"
        "↻ was recalled on days {days}: each time younger, slower to fade.",
        "日がたつと、それぞれの記憶はどれだけ残るか。\n"
        "↻ は{days}日目に思い出した記憶。そのたびに若返り、薄れにくくなります。",
    ),
    "and": (", ", "・"),
    "day": ("{n} d", "{n}日"),
    "left": ("left", "残り"),
    "above": ("{level} > {n:g}", "{level} > {n:g}"),
    "not_yet": (
        "These levels are computed ahead of time, beside the stored memories;\n"
        "`nagori cycle` makes them real, one night after the other.",
        "これは先回りして計算した段階です。\n実際の記憶は nagori cycle が一晩ずつ動かします。",
    ),
    "chart": ("The same as a picture", "絵で見ると"),
    "unit": ("days", "日"),
    "recalled": ("recalled", "思い出した日"),
    "unrecalled": ("the same, had it never been recalled", "もし一度も思い出さなかったら"),
    "svg_title": ("How memories fade: what stays, what goes", "記憶の薄れ方: 残るもの、去るもの"),
    "early": (
        "(the first days are drawn wider)",
        "（はじめの日々は広めに描いてあります）",
    ),
    "written": ("The picture as SVG:", "SVG の絵:"),
    "after": ("The same questions, {n} days later", "{n}日後、同じ問い"),
    "after_text": (
        "Relevance comes first: the right answer is still found, only fainter.",
        "関連の強さが先に立つので、答えは今も見つかります。ただ、薄くなっています。",
    ),
    "on_day": ("day {n}", "{n}日目"),
    "why": ("Why is this one so strong?", "なぜ、これは強く残るのか"),
    "let_go": ("Let go, and take it back", "手放して、取り戻す"),
    "sees": ("{n} memories can be found", "見つけられる記憶は {n} 件"),
    "proof": ("Nothing was lost", "何も失われていない"),
    "unsound": ("verify found faults", "verify が異常を見つけました"),
    "end": ("Your turn", "つぎは、あなたの番"),
    "failed": ("the demonstration failed: {reason}", "デモが失敗しました: {reason}"),
}

NEXT = (
    ("nagori remember …", "keep something", "覚える"),
    ("nagori recall …", "ask", "思い出す"),
    ("nagori list", "see what there is", "一覧を見る"),
    ("nagori why ID", "when will it fade, and why", "いつ、なぜ薄れるかを見る"),
    ("nagori --help", "everything else", "ほかのすべて"),
)


def words(voice: Voice, name: str, **values: object) -> str:
    english, japanese = SAID[name]
    return (japanese if voice.language == "ja" else english).format(**values)
