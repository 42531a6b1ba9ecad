"""Pictures: `chart` draws how memories faded, and how they will."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from nagori.app import Nagori
from nagori.core.fold import fold
from nagori.core.model import Level, Memory
from nagori.edges.chart import DAY, Axes, Series, series_of
from nagori.edges.chart_svg import svg_chart
from nagori.edges.chart_text import terminal_chart
from nagori.edges.session import Json, Session, print_json, written

MOST = 8  # curves that can still be told apart
USUALLY = 4


def chart(
    context: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(help="Memories; default: the newest.")] = None,
    days: Annotated[int, typer.Option(min=1, max=3650, help="So many days ahead.")] = 90,
    svg: Annotated[Path | None, typer.Option(help="Write a picture to this file instead.")] = None,
    as_json: Json = False,
) -> None:
    """Draw how memories faded since they were born, where recalls lifted them, and what is to come."""
    session = Session.of(context)
    with session.memory() as memory:
        chosen = [memory.show(id) for id in ids[:MOST]] if ids else list(memory.list(limit=USUALLY))
        if not chosen:
            session.say("empty")
            return
        now = memory.parts.clock.now()
        start = min(each.created for each in chosen)
        whole = max((now - start) / DAY, 0.0) + days
        series = [_series(memory, each, start, whole) for each in chosen]
    names = {level: session.voice(f"level{int(level)}") for level in Level}
    axes = Axes(days=whole, levels=session.config.levels, names=names, unit=session.voice("chart_unit"))
    if as_json:
        print_json({"start": start.isoformat(), "series": [_json(one) for one in series]})
    elif svg is not None:
        with written(svg) as write:
            write(svg_chart(series, session.voice("chart_title"), axes))
        session.say("chart_written", path=svg)
    else:
        width = min(session.out.width, 120)
        for line in terminal_chart(series, width, 16, axes):
            session.out.print(line)


def _series(memory: Nagori, each: Memory, start: datetime, days: float) -> Series:
    """From its birth on: what it was then, and when a night counted its recalls."""
    history = memory.why(each.id).history
    born = fold(history[:1], {}).memories.get(each.id, each)
    lifted = [event.at for event in history if event.type == "strengthened"]
    return series_of(born, memory.parts.config, start, days, max(days / 400, 0.05), lifted)


def _json(one: Series) -> dict[str, object]:
    points = [[round(point.day, 3), round(point.score, 3)] for point in one.points]
    marks = [[round(point.day, 3), round(point.score, 3)] for point in one.marks]
    return {"label": one.label, "points": points, "recalls": marks, "protected": one.protected}
