"""The demonstration: `make demo`. A small bilingual life is remembered, and time passes over it.

No key, no network, no model needed; everything happens in a temporary folder. Only the pictures in
`out/demo` stay. What is lived and said stands in the tables of `story`, the nights are in `nights`,
where it is shown in `stage`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory

from examples.demo.nights import crowded, pass_time, replaced, shorten
from examples.demo.stage import Stage, quiet_table, strength_bar
from examples.demo.story import (
    AHEAD,
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
    RECALLED_NAME,
    TAKEN_BACK,
    moment,
    words,
)
from rich.console import Console
from rich.text import Text

from nagori.app import AUTO, Nagori
from nagori.config import Config
from nagori.core.model import Kind, Level, Recollection
from nagori.core.simulate_future_cycles import FORGOTTEN, GROUPS
from nagori.edges import charts
from nagori.edges.charts.decay_curve_svg import svg_chart
from nagori.edges.charts.decay_curve_terminal import terminal_chart
from nagori.edges.charts.levels import ChartLabels, levels_svg, levels_text
from nagori.edges.cli.render import explanation_view, one_line
from nagori.edges.locale import Translator, language
from nagori.errors import NagoriError
from nagori.protocols import Embedder
from nagori.testing.fakes import FrozenClock

STEP = 0.2  # days between two points of a curve
PICTURES = Path("out") / "demo"
WIDEST = 120


def perform(
    console: Console, translator: Translator, data_dir: Path, pictures: Path, embedder: Embedder | None = AUTO
) -> None:
    """The whole story, in the order in which it is lived."""
    clock = FrozenClock(LIFE[0].moment, JAPAN)
    with Nagori.open(data_dir, config=Config(), clock=clock, embedder=embedder) as memory:
        stage = Stage(console, translator, memory, clock)
        console.print(f"\n   {stage.words('title')}\n", style="bold")
        stage.say(stage.words("about"), "dim")
        live(stage)
        before = ask(stage)
        pass_time(stage)
        shorten(stage)
        replaced(stage)
        ask_again(stage, before)
        explain(stage)
        crowded(stage, data_dir.with_name("room"))
        let_go(stage)
        draw(stage, pictures)
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
        kept = stage.keep(turn)
        sort = stage.words("fact" if turn.kind is Kind.FACT or not turn.category else turn.category)
        said = Text(one_line(kept, 58))
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
    stage.show(Text(f"− {one_line(wrong)}", style="strike dim"), Text(f"+ {one_line(right)}"))


def ask(stage: Stage) -> dict[str, list[Recollection]]:
    """The questions on the first evening. Only a look: it strengthens nothing."""
    stage.clock.set(DAY_0)
    stage.heading("before")
    stage.say(stage.words("before_text"))
    if stage.memory.runtime.embedder is None:
        stage.say(stage.words("by_words"), "yellow")
    answers = {question: stage.memory.recall(question, k=3, mark=False) for question in ASKED}
    for question, found in answers.items():
        stage.gap()
        _answer(stage, question, found)
    if stage.memory.runtime.embedder is not None:
        stage.gap()
        stage.say(stage.words("across"), "dim")
        _answer(stage, ASKED_ACROSS, stage.memory.recall(ASKED_ACROSS, k=1, mark=False))
    return answers


def _answer(stage: Stage, question: str, found: Sequence[Recollection]) -> None:
    stage.say(f"» {question}", "bold cyan")
    table = quiet_table(("", "green"), ("", ""))
    for one in found:
        table.add_row(f"{one.confidence:.0%}", Text(one_line(one.memory)))
    stage.show(table if found else Text(stage.translator("cli.no_match"), style="dim"))


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
        table = quiet_table(*columns, (stage.translator("column.memory"), ""))
        for id, memory in memories.items():
            both = ((then.get(id), DAYS[0]), (later.get(id), DAYS[-1]))
            now = later[id].memory if id in later else memory
            table.add_row(*(_found(stage, one, n) for one, n in both), Text(one_line(now)))
        stage.show(table)


def _found(stage: Stage, one: Recollection | None, days: int) -> Text:
    if one is None:
        return Text("–", style="dim")
    name = next(name for name, id in stage.ids.items() if id == one.memory.id)
    memory, score = stage.days[name][days]
    return Text(f"{one.confidence:4.0%}  ", style="green") + strength_bar(score, memory.level, 2)


def explain(stage: Stage) -> None:
    """One memory explains itself, and says when it will fade."""
    stage.heading("why")
    why = stage.memory.why(stage.ids[EXPLAINED])
    stage.show(explanation_view(why, stage.translator, JAPAN, asked=False, width=stage.console.width))


def let_go(stage: Stage) -> None:
    """Forgetting hides, a night shortens; undo takes either back."""
    stage.heading("let_go")
    id = stage.ids[LET_GO]
    stage.say(f"» {one_line(stage.seen(LET_GO))}", "bold cyan")
    stage.memory.forget(id)
    stage.say(stage.translator("cli.forgotten", id=id, days=stage.memory.config.archive.grace_days))
    stage.say(stage.words("sees", n=len(stage.memory.list())), "dim")
    _, what = stage.memory.undo(id)
    stage.say(stage.translator("cli.undone", what=stage.translator.event(what), id=id))
    stage.say(stage.words("sees", n=len(stage.memory.list())), "dim")
    stage.gap()
    faded = stage.seen(TAKEN_BACK)
    stage.say(stage.words("undone_fade"))
    before, what = stage.memory.undo(faded.id)
    table = quiet_table(("", ""), ("", ""))
    for memory in (faded, before):
        table.add_row(stage.translator(f"level.name{int(memory.level)}"), Text(one_line(memory)))
    stage.show(table)
    stage.say(stage.translator("cli.undone", what=stage.translator.event(what), id=faded.id))


def draw(stage: Stage, pictures: Path) -> None:
    """Decay curves and levels, here and in files."""
    stage.heading("chart")
    pictures.mkdir(parents=True, exist_ok=True)
    _draw_curves(stage, pictures / "decay.svg")
    stage.gap()
    _draw_levels(stage, pictures / "levels.svg")


def _draw_curves(stage: Stage, svg: Path) -> None:
    series = []
    for name in DRAWN:
        history = stage.memory.why(stage.ids[name]).history
        series.append(charts.life_series(stage.ids[name], history, stage.config, DAY_0, DAYS[-1], STEP))
        if name == RECALLED_NAME:
            alone = charts.curve_points(stage.born[name], stage.config, DAY_0, DAYS[-1], STEP)
            series.append(charts.Series(stage.words("unrecalled"), alone, ghost=True))
    axes = charts.ChartAxes(
        days=DAYS[-1],
        ticks=DAYS,
        early=True,
        levels=stage.config.levels,
        names={level: stage.translator(f"level.name{int(level)}") for level in Level},
        unit=stage.words("unit"),
        recalled=stage.words("recalled"),
    )
    width = min(stage.console.width, WIDEST) - 4
    stage.show(*terminal_chart(series, width, 18 if width > 90 else 15, axes))
    stage.say(stage.words("early"), "dim")
    _save(stage, svg, svg_chart(series, stage.words("svg_title"), axes))


def _draw_levels(stage: Stage, svg: Path) -> None:
    stage.say(stage.words("levels_text"))
    stage.gap()
    told = stage.memory.populations(ahead=AHEAD)
    names = {
        place: stage.translator(f"level.name{n}") for n, place in enumerate(GROUPS, 1) if place != FORGOTTEN
    }
    names[FORGOTTEN] = stage.translator("chart.forgotten")
    said = ChartLabels(names, stage.translator("chart.today"), stage.translator("chart.forecast"))
    stage.show(*levels_text(told, said, min(stage.console.width, WIDEST) - 4))
    _save(stage, svg, levels_svg(told, stage.translator("chart.levels"), said))


def _save(stage: Stage, path: Path, picture: str) -> None:
    path.write_text(picture, encoding="utf-8")
    stage.gap()
    stage.console.print(f"   {stage.words('written')} {path}", markup=False, soft_wrap=True)


def prove(stage: Stage) -> None:
    """The store and the journal tell the same story."""
    stage.heading("proof")
    if not stage.memory.verify().sound:
        raise RuntimeError(stage.words("unsound"))
    stage.say("✓ " + stage.translator("cli.sound", events=stage.memory.status().events), "green")


def farewell(stage: Stage) -> None:
    stage.heading("end")
    table = quiet_table(("", "cyan"), ("", "dim"))
    for command, english, japanese in NEXT:
        table.add_row(command, japanese if stage.translator.language == "ja" else english)
    stage.show(table)
    stage.gap()


# ── the door ─────────────────────────────────────────────────────────────────────────────────────


def main() -> int:
    """Tell the story in a temporary folder; 0 if all went well."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show Japanese still sees the rest
    translator = Translator(language(os.environ.get("NAGORI_LANG", "auto")))
    try:
        with TemporaryDirectory(prefix="nagori-demo-") as folder:
            perform(Console(highlight=False), translator, Path(folder) / "life", PICTURES)
    except KeyboardInterrupt:
        return 130
    except (NagoriError, OSError, RuntimeError) as trouble:
        reason = translator.say(trouble) if isinstance(trouble, NagoriError) else str(trouble)
        print(words(translator, "failed", reason=reason), file=sys.stderr)
        return 1
    return 0
