"""Commands for hosts: `hook`, and `process`, which runs the worker."""

from __future__ import annotations

from typing import Annotated

import typer

from nagori.edges.cli.context import CommandSession, Json, print_json


def hook(
    host: Annotated[str | None, typer.Option(help="help.hook.host")] = None,
    event: Annotated[str | None, typer.Option(help="help.hook.event")] = None,
) -> None:
    """Answer a host: JSON on standard input, JSON on standard output; always ends with 0."""
    from nagori.edges import hooks

    options = {"--host": host, "--event": event}
    hooks.main([word for name, value in options.items() if value for word in (name, value)])


def process(context: typer.Context, as_json: Json = False) -> None:
    """Make memories now of what hosts said, instead of in the background."""
    from nagori.edges.worker import spawn
    from nagori.edges.worker.run import work as work_now

    session = CommandSession.of(context)
    if spawn.is_working(session.folder):
        session.say("cli.worker_busy")
        return
    formed = work_now(session.folder)
    if as_json:
        print_json({"turns": formed})
    else:
        session.say("cli.worked", n=formed)
