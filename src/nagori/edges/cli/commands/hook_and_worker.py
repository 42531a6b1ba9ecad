"""Commands for hosts: `hook`; `process`, which runs the worker; `worker`, which works for a database."""

from __future__ import annotations

from typing import Annotated

import typer

from nagori.edges.cli.context import CommandSession, Json, print_json
from nagori.errors import InvalidInput


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
    if session.data_dir is None and session.config.general.database:
        worker(context, once=True, as_json=as_json)
        return
    if spawn.is_working(session.folder):
        session.say("cli.worker_busy")
        return
    formed = work_now(session.folder)
    if as_json:
        print_json({"turns": formed})
    else:
        session.say("cli.worked", n=formed)


def worker(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="help.worker.once")] = False,
    as_json: Json = False,
) -> None:
    """Work for all owners of a database: process turns and run cycles, until it is stopped."""
    import signal
    from threading import Event

    from nagori.edges.worker.postgres_worker import run

    session, stopped = CommandSession.of(context), Event()
    with session.memory() as memory:
        journal = memory.runtime.journal
        if not hasattr(journal, "claim_next"):
            raise InvalidInput("database", "error.worker_needs_database")
        for number in (signal.SIGTERM, signal.SIGINT):  # what has begun is finished first
            signal.signal(number, lambda *_: stopped.set())
        count = run(memory, journal, stopped.is_set, once=once)  # type: ignore[arg-type]
    if as_json:
        print_json({"owners": count.owners, "turns": count.turns, "failures": count.failures})
    else:
        session.say("cli.worker_done", owners=count.owners, turns=count.turns, failures=count.failures)
