"""The command `chart`: draw decay curves, or the number of memories at each level, with a forecast."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from nagori.app import Nagori
from nagori.core.levels import levels_under
from nagori.core.model import Level
from nagori.core.simulate_future_cycles import FORGOTTEN, GROUPS
from nagori.edges.charts import DAY, ChartAxes, Series, life_series
from nagori.edges.charts.decay_curve_svg import svg_chart
from nagori.edges.charts.decay_curve_terminal import terminal_chart
from nagori.edges.charts.levels import ChartLabels, levels_svg, levels_text, rows_json
from nagori.edges.cli.context import CommandSession, Json, open_output, print_json
from nagori.errors import InvalidInput

MOST = 8  # curves that can still be told apart
USUALLY = 4
WIDEST = 120


def chart(
    context: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(help="help.chart.ids")] = None,
    levels: Annotated[bool, typer.Option("--levels", help="help.chart.levels")] = False,
    days: Annotated[int, typer.Option(min=0, max=3650, help="help.chart.days")] = 90,
    past: Annotated[int | None, typer.Option(min=0, max=36500, help="help.chart.past")] = None,
    svg: Annotated[Path | None, typer.Option(help="help.chart.svg")] = None,
    as_json: Json = False,
) -> None:
    """Draw how memories faded since they were born, where recalls lifted them, and what is to come."""
    session = CommandSession.of(context)
    if levels and ids:
        raise InvalidInput("ids", "error.levels_with_ids")
    draw = _levels if levels else _curves
    draw(session, ids or [], days, past, svg, as_json)


def _levels(
    session: CommandSession, ids: list[str], days: int, past: int | None, svg: Path | None, as_json: bool
) -> None:
    with session.memory() as memory:
        told = memory.populations(past, days)
    names = {
        place: session.translator(f"level.name{n}") for n, place in enumerate(GROUPS, 1) if place != FORGOTTEN
    }
    names[FORGOTTEN] = session.translator("chart.forgotten")
    words = ChartLabels(names, session.translator("chart.today"), session.translator("chart.forecast"))
    if svg is not None:
        _write(session, svg, levels_svg(told, session.translator("chart.levels"), words), as_json)
    if as_json:
        print_json({"days": rows_json(told)})
    elif svg is None and not any(any(one.counts.values()) for one in told):
        session.say("cli.no_memories")
    elif svg is None:
        for line in levels_text(told, words, min(session.out.width, WIDEST)):
            session.out.print(line)


def _curves(
    session: CommandSession, ids: list[str], days: int, past: int | None, svg: Path | None, as_json: bool
) -> None:
    with session.memory() as memory:
        chosen = [memory.show(id) for id in ids[:MOST]] if ids else list(memory.list(limit=USUALLY))
        if not chosen and not as_json:
            session.say("cli.no_memories")
            return
        now = memory.runtime.clock.now()
        start = min((each.created for each in chosen), default=now)
        whole = max((now - start) / DAY, 0.0) + max(days, 1)
        series = [_series(memory, each.id, start, whole) for each in chosen]
    axes = ChartAxes(
        days=whole,
        levels=levels_under(session.config.retention.law, session.config.levels),
        names={level: session.translator(f"level.name{int(level)}") for level in Level},
        unit=session.translator("chart.unit"),
        recalled=session.translator("chart.recalled"),
    )
    if svg is not None and series:
        _write(session, svg, svg_chart(series, session.translator("chart.title"), axes), as_json)
    if as_json:
        print_json({"start": start.isoformat(), "series": [_json(one) for one in series]})
    elif svg is None:
        for line in terminal_chart(series, min(session.out.width, WIDEST), 16, axes):
            session.out.print(line)


def _write(session: CommandSession, path: Path, picture: str, silently: bool) -> None:
    with open_output(path) as write:
        write(picture)
    if not silently:
        session.say("chart.written", path=path)


def _series(memory: Nagori, id: str, start: datetime, days: float) -> Series:
    history = memory.why(id).history
    return life_series(id, history, memory.runtime.config, start, days, max(days / 400, 0.05))


def _json(one: Series) -> dict[str, object]:
    points = [[round(point.day, 3), round(point.score, 3)] for point in one.points]
    marks = [[round(point.day, 3), round(point.score, 3)] for point in one.marks]
    return {"label": one.label, "points": points, "recalls": marks, "protected": one.protected}
