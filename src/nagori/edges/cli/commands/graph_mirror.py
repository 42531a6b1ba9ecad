"""The command `graph`: bring the copy of the memories in a graph server up to date."""

from __future__ import annotations

from typing import Annotated

import typer

from nagori.edges.cli.context import CommandSession, Json, print_json, progress


def graph(
    context: typer.Context,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="help.graph.rebuild")] = False,
    as_json: Json = False,
) -> None:
    """Copy memories, concepts and relations to a graph server."""
    session = CommandSession.of(context)
    with session.memory() as memory, progress(session) as bar:
        done = memory.mirror_graph(rebuild=rebuild, progress=bar)
    if as_json:
        print_json({"memories": done.memories, "written": done.written, "removed": done.removed})
    else:
        session.say("cli.graph_mirrored", n=done.memories, written=done.written, removed=done.removed)
