"""The demonstration: `make demo`. A small bilingual life is remembered, and time passes over it.

No key, no network, no model needed; everything happens in a temporary folder. Only `out/demo/decay.svg`
stays. What is lived and said stands in the tables of `demo_life`, where it is shown in `demo_stage`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

from nagori.app import AUTO, Nagori
from nagori.config import Config
from nagori.core.life import LADDER
from nagori.core.model import Kind, Level, Memory, Recollection
from nagori.edges import chart
from nagori.edges.chart_svg import svg_chart
from nagori.edges.chart_text import terminal_chart
from nagori.edges.demo_life import (
    ASKED,
    ASKED_ACROSS,
    CORRECTION,
    DAY_0,
    DAYS,
    DRAWN,
    EXPLAINED,
    JAPAN,
    LET_GO,
    LIFE,
    NEXT,
    RECALLED,
    moment,
    words,
)
from nagori.edges.demo_stage import SHADES, Stage, quiet_table, strength_bar
from nagori.edges.render import COLOURS, explanation_view, one_line
from nagori.edges.words import Voice, language
from nagori.errors import NagoriError
from nagori.protocols import Embedder
from nagori.testing.fakes import FrozenClock

WIDE = 110  # from so many columns on the bars have room
STEP = 0.1  # days between two points of a curve
SVG = Path("out") / "demo" / "decay.svg"


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
    table = quiet_table(("", "dim"), ("", "dim"), ("", ""))
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
    stage.clock.set(moment(at))
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
    table = quiet_table(("", "green"), ("", ""))
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
    table = quiet_table((stage.voice("memory"), ""), *((stage.words("day", n=n), "") for n in DAYS))
    table.columns[0].no_wrap, table.columns[0].overflow, table.columns[0].ratio = True, "ellipsis", 1
    table.expand = True
    for memory, recalls, left in _by_what_stays(stage):
        said = Text(one_line(memory))
        sign = "🔒 " if memory.protected else "↻ " if recalls else ""
        table.add_row(Text(sign) + said, *(strength_bar(*each, 8 if wide else 2) for each in left))
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
    stage.show(*terminal_chart(series, width, 18 if width > 90 else 15, axes))
    stage.say(stage.words("early"), "dim")
    svg.parent.mkdir(parents=True, exist_ok=True)
    svg.write_text(svg_chart(series, stage.words("svg_title"), axes), encoding="utf-8")
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
        table = quiet_table(*columns, (stage.voice("memory"), ""))
        for id, memory in memories.items():
            both = ((then.get(id), DAYS[0]), (later.get(id), DAYS[-1]))
            table.add_row(*(_found(stage, one, memory, n) for one, n in both), Text(one_line(memory)))
        stage.show(table)


def _found(stage: Stage, one: Recollection | None, memory: Memory, days: int) -> Text:
    if one is None:
        return Text("–", style="dim")
    left = stage.left(memory, stage.recalls(memory), DAY_0 + timedelta(days=days))
    return Text(f"{one.score:.2f}  ", style="green") + strength_bar(*left, 2)


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
    table = quiet_table(("", "cyan"), ("", "dim"))
    for command, english, japanese in NEXT:
        table.add_row(command, japanese if stage.voice.language == "ja" else english)
    stage.show(table)
    stage.gap()


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
        print(words(voice, "failed", reason=reason), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
