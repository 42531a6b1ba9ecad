"""The demonstration: `make demo`. A small bilingual life is remembered, and time passes over it.

No key, no network, no model needed; everything happens in a temporary folder. Only `out/demo/decay.svg`
stays. The life is one table (`LIFE`), the words are another (`SAID`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from nagori.app import AUTO, Nagori
from nagori.config import Config
from nagori.core.life import LADDER, level_for
from nagori.core.model import Category, Emotion, Kind, Level, Memory, Recollection, Valence
from nagori.edges import chart
from nagori.edges.render import COLOURS, bar, explanation_view, one_line
from nagori.edges.words import Voice, language
from nagori.errors import NagoriError
from nagori.protocols import Embedder
from nagori.testing.fakes import FrozenClock

# ── the life ─────────────────────────────────────────────────────────────────────────────────────

JAPAN = timezone(timedelta(hours=9))
DAY_0 = datetime(2026, 4, 5, 21, 0, tzinfo=JAPAN)  # the evening from which days are counted
STEP = 0.1  # days between two points of a curve
DAYS = (0, 7, 30, 90, 180, 400)
GOOD, BAD, CALM = Valence.POSITIVE, Valence.NEGATIVE, Valence.NEUTRAL


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
        return datetime.strptime(f"2026-04-{self.at}+0900", "%Y-%m-%d %H:%M%z")


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
        "Today these levels are computed beside the stored memories;\n"
        "the nightly cycle of a later version will make them real.",
        "いまは、保存された記憶の傍らで計算した段階です。\nのちの版の「夜の巡回」が、これを本物にします。",
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

SHADES = {Level.FULL: "█", Level.SUMMARY: "▓", Level.TRACE: "▒", Level.ARCHIVED: "░"}
WIDE = 110  # from so many columns on the bars have room
SVG = Path("out") / "demo" / "decay.svg"


# ── what is left ─────────────────────────────────────────────────────────────────────────────────


def what_is_left(memory: Memory, now: datetime, config: Config) -> tuple[float, Level]:
    """Strength and level of a memory at `now`. The life cycle, once there is one, answers this itself."""
    score = chart.strength(memory, now, config)
    return score, memory.level if memory.protected else level_for(score, config.levels)


# ── the story ────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Stage:
    """Where the story is told, and what has been told so far."""

    console: Console
    voice: Voice
    memory: Nagori
    clock: FrozenClock
    ids: dict[str, str]
    chapter: int = 0

    @property
    def config(self) -> Config:
        return self.memory.parts.config

    def words(self, name: str, **values: object) -> str:
        return _words(self.voice, name, **values)

    def heading(self, name: str, **values: object) -> None:
        self.chapter += 1
        self.console.print(f"\n\n{self.chapter}  {self.words(name, **values)}", style="bold", markup=False)
        self.console.print()

    def say(self, text: str, style: str = "") -> None:
        self.console.print(Padding(Text(text, style=style), (0, 0, 0, 3), expand=False))

    def show(self, *things: Any) -> None:
        self.console.print(Padding(Group(*things), (0, 0, 0, 3), expand=False))

    def gap(self) -> None:
        self.console.print()

    def seen(self, name: str) -> Memory:
        return self.memory.show(self.ids[name])

    def recalls(self, memory: Memory) -> list[datetime]:
        """When it was recalled, read from the journal."""
        return [event.at for event in self.memory.why(memory.id).history if event.type == "recalled"]

    def left(self, memory: Memory, recalls: Sequence[datetime], now: datetime) -> tuple[float, Level]:
        """What is left of it after the recalls so far; the cycle will do the strengthening."""
        return what_is_left(chart.after_recalls(memory, recalls, now, self.config), now, self.config)


def perform(
    console: Console, voice: Voice, data_dir: Path, svg: Path, embedder: Embedder | None = AUTO
) -> None:
    """The whole story, in the order in which it is lived."""
    clock = FrozenClock(LIFE[0].moment, JAPAN)
    with Nagori.open(data_dir, config=Config(), clock=clock, embedder=embedder) as memory:
        stage = Stage(console, voice, memory, clock, {})
        console.print(f"\n   {stage.words('title')}\n", style="bold")
        stage.say(stage.words("about"), "dim")
        live(stage)
        before = ask(stage)
        pass_time(stage)
        draw(stage, svg)
        ask_again(stage, before)
        explain(stage)
        let_go(stage)
        prove(stage)
        farewell(stage)


def live(stage: Stage) -> None:
    """Every turn is kept at its own time; one is corrected."""
    stage.heading("life")
    stage.say(stage.words("life_text", n=len(LIFE)))
    stage.gap()
    name, at, better = CORRECTION
    table = _table(("", "dim"), ("", "dim"), ("", ""))
    for turn in LIFE:
        stage.clock.set(turn.moment)
        kept = stage.memory.remember(
            turn.said, kind=turn.kind, category=turn.category, emotion=turn.emotion, protect=turn.protect
        )
        stage.ids[turn.name] = kept.id
        sort = stage.words("fact" if turn.kind is Kind.FACT or not turn.category else turn.category)
        said = Text(one_line(kept))
        if turn.protect:
            said.append("  🔒", style="green")
        table.add_row(f"{turn.moment:%m-%d}", sort, said)
    stage.show(table)
    stage.gap()
    stage.say(stage.words("wish"), "green")
    stage.gap()
    stage.clock.set(Turn(name, at, better, Kind.FACT, None, Emotion()).moment)
    wrong = stage.seen(name)
    right = stage.memory.edit(wrong.id, content=better)
    stage.say(stage.words("corrected"), "dim")
    stage.show(Text(one_line(wrong), style="strike dim"), Text(one_line(right)))


def ask(stage: Stage) -> dict[str, list[Recollection]]:
    """The questions on the first evening. Only a look: it strengthens nothing."""
    stage.clock.set(DAY_0)
    stage.heading("before")
    stage.say(stage.words("before_text"))
    if stage.memory.parts.embedder is None:
        stage.say(stage.words("by_words"), "yellow")
    answers = {question: stage.memory.recall(question, k=3, mark=False) for question in ASKED}
    for question, found in answers.items():
        stage.gap()
        _answer(stage, question, found)
    if stage.memory.parts.embedder is not None:
        stage.gap()
        stage.say(stage.words("across"), "dim")
        _answer(stage, ASKED_ACROSS, stage.memory.recall(ASKED_ACROSS, k=1, mark=False))
    return answers


def _answer(stage: Stage, question: str, found: Sequence[Recollection]) -> None:
    stage.say(f"» {question}", "bold cyan")
    table = _table(("", "green"), ("", ""))
    for one in found:
        table.add_row(f"{one.score:.2f}", Text(one_line(one.memory)))
    stage.show(table if found else Text(stage.voice("nothing"), style="dim"))


def pass_time(stage: Stage) -> None:
    """The clock is moved; a row for each memory, a column for each day."""
    question, days = RECALLED
    for number in days:
        stage.clock.set(DAY_0 + timedelta(days=number))
        stage.memory.recall(question, k=1)
    stage.clock.set(DAY_0 + timedelta(days=DAYS[-1]))
    stage.heading("days")
    stage.say(stage.words("days_text", days=stage.words("and").join(map(str, days))))
    stage.gap()
    stage.show(_shades(stage))
    stage.gap()
    wide = stage.console.width >= WIDE
    table = _table((stage.voice("memory"), ""), *((stage.words("day", n=n), "") for n in DAYS))
    table.columns[0].no_wrap, table.columns[0].overflow, table.columns[0].ratio = True, "ellipsis", 1
    table.expand = True
    for memory, recalls, left in _by_what_stays(stage):
        said = Text(one_line(memory))
        sign = "🔒 " if memory.protected else "↻ " if recalls else ""
        table.add_row(Text(sign) + said, *(_strength(*each, 8 if wide else 2) for each in left))
    stage.show(table)
    stage.gap()
    stage.say(stage.words("not_yet"), "dim")


Row = tuple[Memory, Sequence[datetime], list[tuple[float, Level]]]


def _by_what_stays(stage: Stage) -> list[Row]:
    rows: list[Row] = []
    for name in stage.ids:
        memory = stage.seen(name)
        recalls = stage.recalls(memory)
        rows.append((memory, recalls, [stage.left(memory, recalls, DAY_0 + timedelta(days=n)) for n in DAYS]))
    return sorted(rows, key=lambda row: (not row[0].protected, *(-score for score, _ in reversed(row[2]))))


def _strength(score: float, level: Level, width: int) -> Text:
    """A bar shaded and coloured by level, and the number."""
    eighths = bar(score, width)
    shaded = SHADES[level] * (width if width < 4 else max(1, len(eighths)))
    return Text(f"{shaded:<{width}} {score:2.0f}", style=COLOURS[level])


def _shades(stage: Stage) -> Text:
    line = Text()
    for rung in LADDER:
        name = stage.voice(f"level{int(rung.level)}")
        limit = getattr(stage.config.levels, rung.threshold) if rung.threshold else None
        words = name if limit is None else stage.words("above", level=name, n=limit)
        line.append(f"{SHADES[rung.level] * 2} {words}   ", style=COLOURS[rung.level])
    return line


def draw(stage: Stage, svg: Path) -> None:
    """The decay curves, here and in a file."""
    stage.heading("chart")
    series = []
    for name in DRAWN:
        memory = stage.seen(name)
        recalls = stage.recalls(memory)
        curve = chart.series_of(memory, stage.config, DAY_0, DAYS[-1], STEP, recalls)
        series.append(curve)
        if recalls:
            alone = chart.curve_points(memory, stage.config, DAY_0, DAYS[-1], STEP)
            series.append(chart.Series(stage.words("unrecalled"), alone, ghost=True))
    names = {level: stage.voice(f"level{int(level)}") for level in Level}
    axes = chart.Axes(
        days=DAYS[-1],
        ticks=DAYS,
        early=True,
        levels=stage.config.levels,
        names=names,
        unit=stage.words("unit"),
        recalled=stage.words("recalled"),
    )
    width = min(stage.console.width, 120) - 4
    stage.show(*chart.terminal_chart(series, width, 18 if width > 90 else 15, axes))
    stage.say(stage.words("early"), "dim")
    svg.parent.mkdir(parents=True, exist_ok=True)
    svg.write_text(chart.svg_chart(series, stage.words("svg_title"), axes), encoding="utf-8")
    stage.gap()
    stage.console.print(f"   {stage.words('written')} {svg}", markup=False, soft_wrap=True)


def ask_again(stage: Stage, before: dict[str, list[Recollection]]) -> None:
    """The same questions at the end, side by side with the beginning."""
    stage.heading("after", n=DAYS[-1])
    stage.say(stage.words("after_text"))
    for question, first in before.items():
        stage.gap()
        stage.say(f"» {question}", "bold cyan")
        later = {one.memory.id: one for one in stage.memory.recall(question, k=3, mark=False)}
        memories = {one.memory.id: one.memory for one in (*first, *later.values())}
        then = {one.memory.id: one for one in first}
        columns = [(stage.words("on_day", n=n), "") for n in (DAYS[0], DAYS[-1])]
        table = _table(*columns, (stage.voice("memory"), ""))
        for id, memory in memories.items():
            both = ((then.get(id), DAYS[0]), (later.get(id), DAYS[-1]))
            table.add_row(*(_found(stage, one, memory, n) for one, n in both), Text(one_line(memory)))
        stage.show(table)


def _found(stage: Stage, one: Recollection | None, memory: Memory, days: int) -> Text:
    if one is None:
        return Text("–", style="dim")
    left = stage.left(memory, stage.recalls(memory), DAY_0 + timedelta(days=days))
    return Text(f"{one.score:.2f}  ", style="green") + _strength(*left, 2)


def explain(stage: Stage) -> None:
    """One memory explains itself, and says when it will fade."""
    stage.heading("why")
    why = stage.memory.why(stage.ids[EXPLAINED])
    stage.show(explanation_view(why, stage.voice, JAPAN, asked=False))


def let_go(stage: Stage) -> None:
    """Forgetting hides; undo brings back."""
    stage.heading("let_go")
    id = stage.ids[LET_GO]
    stage.say(f"» {one_line(stage.seen(LET_GO))}", "bold cyan")
    stage.memory.forget(id)
    stage.say(stage.voice("forgotten", id=id))
    stage.say(stage.words("sees", n=len(stage.memory.list())), "dim")
    _, what = stage.memory.undo(id)
    stage.say(stage.voice("undone", what=stage.voice.event(what), id=id))
    stage.say(stage.words("sees", n=len(stage.memory.list())), "dim")


def prove(stage: Stage) -> None:
    """The store and the journal tell the same story."""
    stage.heading("proof")
    if not stage.memory.verify().sound:
        raise RuntimeError(stage.words("unsound"))
    stage.say("✓ " + stage.voice("sound", events=stage.memory.status().events), "green")


def farewell(stage: Stage) -> None:
    stage.heading("end")
    table = _table(("", "cyan"), ("", "dim"))
    for command, english, japanese in NEXT:
        table.add_row(command, japanese if stage.voice.language == "ja" else english)
    stage.show(table)
    stage.gap()


def _words(voice: Voice, name: str, **values: object) -> str:
    english, japanese = SAID[name]
    return (japanese if voice.language == "ja" else english).format(**values)


def _table(*columns: tuple[str, str]) -> Table:
    """A quiet table: headings only if there are some, all but the last column kept on one line."""
    headed = any(heading for heading, _ in columns)
    table = Table(box=None, pad_edge=False, show_header=headed, header_style="dim", padding=(0, 2, 0, 0))
    for number, (heading, style) in enumerate(columns):
        table.add_column(heading, style=style, no_wrap=number < len(columns) - 1, overflow="fold")
    return table


# ── the door ─────────────────────────────────────────────────────────────────────────────────────


def main() -> int:
    """Tell the story in a temporary folder; 0 if all went well."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show Japanese still sees the rest
    voice = Voice(language(os.environ.get("NAGORI_LANG", "auto")))
    try:
        with TemporaryDirectory(prefix="nagori-demo-") as folder:
            perform(Console(highlight=False), voice, Path(folder), SVG)
    except KeyboardInterrupt:
        return 130
    except (NagoriError, OSError, RuntimeError) as trouble:
        reason = voice.error(trouble) if isinstance(trouble, NagoriError) else str(trouble)
        print(_words(voice, "failed", reason=reason), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
