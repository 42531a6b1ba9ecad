"""The command `serve`: the memory over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from nagori.edges.cli.context import CommandSession
from nagori.errors import InvalidInput
from nagori.paths import read_secret

TOKEN_FILE = "http-token"  # noqa: S105 - the name of the file that holds it


def serve(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=1, max=65535, help="help.serve.port")] = 8438,
    host: Annotated[str, typer.Option(help="help.serve.host")] = "127.0.0.1",
) -> None:
    """Serve the memory over HTTP, to programs of this machine or to holders of an API key."""
    try:
        import uvicorn

        from nagori.edges.http.access import LOOPBACK, LocalAccess
        from nagori.edges.http.app import create_app
    except ModuleNotFoundError as missing:
        raise InvalidInput("serve", "error.http_missing", package=missing.name) from missing
    session = CommandSession.of(context)
    if host not in LOOPBACK:
        raise InvalidInput("host", "error.serve_host", host=host)
    with session.memory() as memory:
        path = session.folder / TOKEN_FILE
        app = create_app(memory, LocalAccess(read_secret(path), session.scope))
        name = f"[{host}]" if ":" in host else host
        session.err.print(session.translator("cli.serve_at", url=f"http://{name}:{port}"), markup=False)
        session.err.print(session.translator("cli.mcp_token", path=path), markup=False)
        uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)
