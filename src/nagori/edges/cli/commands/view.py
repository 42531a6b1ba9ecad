"""The command `view`: look at the memory in a browser."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from nagori.edges.cli.commands import setup
from nagori.edges.cli.commands.schedule import nights
from nagori.edges.cli.context import CommandSession
from nagori.errors import InvalidInput
from nagori.services.doctor import Finding


def view(
    context: typer.Context,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="help.view.open")] = True,
    port: Annotated[int, typer.Option(min=0, max=65535, help="help.view.port")] = 0,
    idle: Annotated[float, typer.Option(min=0, help="help.view.idle")] = 15,
) -> None:
    """Show the memory in a browser, on this machine only."""
    try:
        from nagori.edges.viewer.serve import ViewerServer
    except ModuleNotFoundError as missing:
        raise InvalidInput("view", "error.http_missing", package=missing.name) from missing
    session = CommandSession.of(context)
    with session.memory() as memory:

        def findings() -> list[Finding]:
            hosts = setup.findings(session)
            return [*hosts, *nights(session, memory, called=any(each.name == "hooks" for each in hosts))]

        try:
            viewer = ViewerServer(memory, port=port, language=session.translator.language, findings=findings)
        except OSError as fault:
            raise InvalidInput("port", "error.port_taken", port=port, reason=fault.strerror) from fault
        if not open_ or not webbrowser.open(viewer.url):
            session.out.print(viewer.url, markup=False, highlight=False, soft_wrap=True)
        ends = session.translator("cli.view_ends", minutes=f"{idle:g}")
        session.err.print(ends if idle else session.translator("cli.view_stays"), markup=False)
        viewer.run(idle * 60 or None)
