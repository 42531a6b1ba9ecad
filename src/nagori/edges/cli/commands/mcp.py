"""The command `mcp`: serve the memory to programs that speak the Model Context Protocol."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from nagori.core.value_object import replace
from nagori.edges.cli.context import CommandSession
from nagori.errors import InvalidInput


def mcp(
    context: typer.Context,
    http: Annotated[bool, typer.Option("--http", help="help.mcp.http")] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help="help.mcp.port")] = 8437,
    host: Annotated[str, typer.Option(help="help.mcp.host")] = "127.0.0.1",
    token: Annotated[bool, typer.Option("--token/--no-token", help="help.mcp.token")] = True,
    dropin: Annotated[bool, typer.Option("--dropin", help="help.mcp.dropin")] = False,
) -> None:
    """Serve the memory to MCP clients, on standard input and output or on a local port."""
    try:
        from nagori.edges.mcp import Served, serve_stdio_or_http
        from nagori.edges.mcp.dropin import make_dropin
        from nagori.edges.mcp.tools import make_server
    except ModuleNotFoundError as missing:
        raise InvalidInput("mcp", "error.mcp_missing", package="mcp") from missing
    session = CommandSession.of(context)
    if http and host not in serve_stdio_or_http.LOOPBACK:
        raise InvalidInput("host", "error.mcp_host", host=host)
    with session.memory() as memory:
        graph = os.environ.get("MEMORY_FILE_PATH", "")
        scope = replace(memory.scope, unnamed_agent=memory.scope.is_user)  # an agent asks, not the user
        served = Served(memory.with_scope(scope), session.translator, session.scope.project, graph)
        server = make_dropin(served) if dropin else make_server(served)
        if not http:
            serve_stdio_or_http.serve_stdio(server)
            return
        secret, path = serve_stdio_or_http.read_token(session.folder) if token else (None, None)
        name = f"[{host}]" if ":" in host else host
        session.err.print(session.translator("cli.mcp_at", url=f"http://{name}:{port}/mcp"), markup=False)
        if path is not None:
            session.err.print(session.translator("cli.mcp_token", path=path), markup=False)
        serve_stdio_or_http.serve_http(server, host, port, secret)
