"""Commands of the HTTP server: `serve` and `keys`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from nagori.core.value_object import fields_of
from nagori.edges.cli.context import CommandSession, Json, print_json
from nagori.errors import InvalidInput, NagoriError
from nagori.files import read_secret

if TYPE_CHECKING:
    from nagori.app import Nagori
    from nagori.edges.http.access import Access
    from nagori.edges.http.keys import ApiKey

TOKEN_FILE = "http-token"  # noqa: S105 - the name of the file that holds it


class KeyAct(StrEnum):
    ADD = "add"
    LIST = "list"
    REVOKE = "revoke"


def serve(
    context: typer.Context,
    port: Annotated[int, typer.Option(min=1, max=65535, help="help.serve.port")] = 8438,
    host: Annotated[str, typer.Option(help="help.serve.host")] = "127.0.0.1",
    keys: Annotated[bool, typer.Option("--keys", help="help.serve.keys")] = False,
    log: Annotated[bool, typer.Option("--log", help="help.serve.log")] = False,
    mem0: Annotated[bool, typer.Option("--mem0", help="help.serve.mem0")] = False,
    jwks: Annotated[str, typer.Option("--jwks", help="help.serve.jwks")] = "",
    issuer: Annotated[str, typer.Option("--issuer", help="help.serve.issuer")] = "",
    audience: Annotated[str, typer.Option("--audience", help="help.serve.audience")] = "",
    tenant_claim: Annotated[str, typer.Option("--tenant-claim", help="help.serve.tenant_claim")] = "tenant",
) -> None:
    """Serve the memory over HTTP, to programs of this machine or to holders of an API key."""
    try:
        import uvicorn

        from nagori.edges.http.access import LOOPBACK, LocalAccess
        from nagori.edges.http.app import create_app, no_log
        from nagori.edges.http.keys import KeyAccess, KeyTable
        from nagori.edges.http.limits import Limits
        from nagori.edges.http.mem0 import mem0_routes
        from nagori.edges.viewer.routes import make_routes, no_findings
    except ModuleNotFoundError as missing:
        raise InvalidInput("serve", "error.http_missing", package=missing.name) from missing
    session = CommandSession.of(context)
    if host not in LOOPBACK and not keys:
        raise InvalidInput("host", "error.serve_host", host=host)
    if jwks and not (keys and issuer and audience):
        raise InvalidInput("jwks", "error.serve_jwks")
    with session.memory() as memory:
        path = session.folder / TOKEN_FILE
        token = read_secret(path)
        access: Access = KeyAccess(KeyTable(memory)) if keys else LocalAccess(token, session.scope)
        app = create_app(
            memory,
            _accept_tokens(access, jwks, issuer, audience, tenant_claim) if jwks else access,
            limits=Limits.of(session.config.server),
            routes=[*(mem0_routes() if mem0 else ()), *make_routes(None if keys else no_findings)],
            metrics_token=token,
            log=_write_line if log else no_log,
        )
        name = f"[{host}]" if ":" in host else host
        session.err.print(session.translator("cli.serve_at", url=f"http://{name}:{port}"), markup=False)
        if not keys:
            session.err.print(session.translator("cli.mcp_token", path=path), markup=False)
        with _following_erasures(memory):
            uvicorn.run(
                app,
                host=host,
                port=port,
                log_level="warning",
                access_log=False,
                server_header=False,
                ws="none",
            )


def _accept_tokens(access: Access, jwks: str, issuer: str, audience: str, claim: str) -> Access:
    """Tokens of an identity provider, beside the keys."""
    try:
        import cryptography  # noqa: F401 - it verifies signatures

        from nagori.edges.http.identity_tokens import SigningKeys, TokenAccess, TokenRules
    except ModuleNotFoundError as missing:
        raise InvalidInput("jwks", "error.jwt_missing", package=missing.name) from missing
    return TokenAccess(SigningKeys(jwks), TokenRules(issuer, audience, claim), access)


@contextmanager
def _following_erasures(memory: Nagori) -> Iterator[None]:
    """In the background, remove from this node what others erase."""
    if not hasattr(memory.runtime.store, "drop_fold"):
        yield
        return
    from nagori.services.follow_remote_erasures import FOLLOW_SECONDS, follow_erasures

    finished = Event()

    def follow() -> None:
        wait = 0.0
        while not finished.wait(wait):
            with suppress(NagoriError):  # the database is away: it will be back
                follow_erasures(memory.runtime)
            wait = FOLLOW_SECONDS

    thread = Thread(target=follow, name="nagori-erasures", daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()


def _write_line(line: dict[str, Any]) -> None:
    print(json.dumps(line, ensure_ascii=False), file=sys.stderr, flush=True)


def keys(
    context: typer.Context,
    act: Annotated[KeyAct, typer.Argument(help="help.keys.act")],
    name: Annotated[str, typer.Argument(help="help.keys.name")] = "",
    any_user: Annotated[bool, typer.Option("--any-user", help="help.keys.any_user")] = False,
    as_json: Json = False,
) -> None:
    """API keys of the server. A new key has the scope of --tenant, --user, --project, --agent and --role."""
    try:
        from nagori.edges.http.access import Grant
        from nagori.edges.http.keys import KeyTable
    except ModuleNotFoundError as missing:
        raise InvalidInput("keys", "error.http_missing", package=missing.name) from missing
    session = CommandSession.of(context)
    with session.memory() as memory:
        table = KeyTable(memory)
        if act is KeyAct.LIST:
            _show_keys(session, table.list(), as_json)
        elif not name:
            raise InvalidInput("name", "error.missing")
        elif act is KeyAct.REVOKE:
            revoked = table.revoke(name)
            _tell(session, as_json, _key_record(revoked), "cli.key_revoked", id=revoked.id)
        else:
            scope = session.scope
            user = None if any_user else scope.user
            grant = Grant(name, scope.tenant, user, scope.project, scope.agent, scope.role)
            secret, key = table.add(name, grant)
            told = {**_key_record(key), "key": secret}
            _tell(session, as_json, told, "cli.key_added", id=key.id, key=secret)


def _tell(
    session: CommandSession, as_json: bool, record: dict[str, Any], message: str, **values: object
) -> None:
    if as_json:
        print_json(record)
    else:
        session.say(message, **values)


def _show_keys(session: CommandSession, keys: Sequence[ApiKey], as_json: bool) -> None:
    if as_json:
        print_json({"keys": [_key_record(key) for key in keys]})
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("id", no_wrap=True)
    for column in ("name", "scope", "created", "last_used", "revoked"):
        table.add_column(session.translator(f"column.key_{column}"))
    for key in keys:
        scope = "/".join(part or "*" for part in (key.tenant, key.user, key.project, key.agent))
        days = (day[:10] if day else "–" for day in (key.created, key.last_used, key.revoked))
        table.add_row(*map(Text, (key.id, key.name, scope, *days)))
    session.out.print(table)


def _key_record(key: ApiKey) -> dict[str, Any]:
    """A key as people and programs may see it: without its hash."""
    return {name: getattr(key, name) for name in fields_of(key) if name != "hash"}
