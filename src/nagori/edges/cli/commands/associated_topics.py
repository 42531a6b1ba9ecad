"""The command `associate`: where a text leads, by the concepts that memories share."""

from __future__ import annotations

from typing import Annotated

import typer

from nagori.core.spreading_activation import MAX_DEPTH
from nagori.edges.cli import render
from nagori.edges.cli.context import CommandSession, Json, print_json


def associate(
    context: typer.Context,
    query: Annotated[list[str], typer.Argument(help="help.associate.query")],
    k: Annotated[int, typer.Option("-k", min=1, help="help.associate.k")] = 10,
    depth: Annotated[int, typer.Option(min=1, max=MAX_DEPTH, help="help.associate.depth")] = 3,
    as_json: Json = False,
) -> None:
    """Find the topics and memories that a text leads to."""
    session = CommandSession.of(context)
    with session.memory() as memory:
        found = memory.associate(" ".join(query), k, depth=depth)
        zone = memory.runtime.clock.zone
    if as_json:
        topics = [
            {"name": t.name, "strength": round(t.strength, 4), "steps": t.steps, "memories": list(t.memories)}
            for t in found.topics
        ]
        print_json({"topics": topics, "memories": [render.recollection_json(r) for r in found.memories]})
        return
    if not found.topics:
        session.say("cli.no_match")
        return
    session.out.print(render.topic_table(found.topics, session.translator))
    if found.memories:
        lines = [(r.memory, r.retention, None) for r in found.memories]
        session.out.print()
        session.out.print(render.memory_list(lines, session.translator, zone, session.out.width))
