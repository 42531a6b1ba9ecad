"""Hooks whose memory is on a server (`hooks.server`): what was said stays here until the server has it.

A turn is written to a file of this machine first, without private passages and secrets, and then sent, oldest
first. A turn has an id, so one that is sent twice counts once. If the server does not answer in time, the
host goes on without memories, and the next hook delivers what is left.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from nagori.adapters.credentials import needed_key
from nagori.adapters.http import post_json
from nagori.core.events import turn_id
from nagori.edges.hooks.call_types import SILENCE, Answer, At, Moment
from nagori.errors import ModelError
from nagori.language.redaction import WITHHELD
from nagori.services.record_turns_or_spool import OUTBOX, read_spool, spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nagori.config.sections import Hooks
    from nagori.core.events import Event
    from nagori.core.model import Scope

SECONDS = 2.0  # for one request: the host is waiting
PROCESS_SECONDS = 0.5  # the server goes on when nobody waits any more
AT_ONCE = 50  # turns that one hook delivers
REFUSED = (400, 413)  # statuses of a turn that no repetition makes better
USUAL_USER = "me"


def act_on_server(moment: Moment, hooks: Hooks, folder: Path, scope: Scope, event: Event | None) -> Answer:
    """Handle one call: keep what was said, deliver it, and ask for the context."""
    outbox = folder / OUTBOX
    if event is not None and event.data["role"] != "summary":  # a recap by the host is nobody's statement
        spool(outbox, scope.owner, [event], keys=folder)
    server = HookServer(hooks, scope)
    deliver(folder, server)
    if moment.at is At.SESSION_START:
        return Answer(server.ask("/v1/session-start", {"session": moment.session})["text"])
    if moment.at is At.PROMPT and event is not None and event.data["text"] != WITHHELD:
        asked = {"prompt": event.data["text"], "session": moment.session}
        return Answer(server.ask("/v1/context", asked)["text"])
    if moment.at in (At.TURN_END, At.SESSION_END):
        with suppress(ModelError):  # whoever has a worker needs no hook for it
            server.ask("/v1/turns/process", {}, seconds=PROCESS_SECONDS)
    return SILENCE


def deliver(folder: Path, server: HookServer) -> None:
    """Send the turns that are waiting, oldest first. ModelError if the server cannot take them now."""
    for number, (path, _, events) in enumerate(read_spool(folder / OUTBOX, folder)):
        if number == AT_ONCE:
            return
        for event in events:
            try:
                server.record(event)
            except ModelError as refused:
                if refused.values.get("status") not in REFUSED:
                    raise
                path.rename(path.with_suffix(".refused"))
        path.unlink(missing_ok=True)


class HookServer:
    """The server of `hooks.server`, asked with the scope of a call."""

    def __init__(self, hooks: Hooks, scope: Scope) -> None:
        self._url, self._key = hooks.server.rstrip("/"), needed_key(hooks.server_key_env)
        self._scope = {
            "user": scope.user if scope.user != USUAL_USER else None,  # else the key says who it is
            "project": scope.project,
            "agent": scope.agent,
            "role": scope.role,
            "unnamed-agent": "true" if scope.unnamed_agent else None,
        }

    def record(self, event: Event) -> None:
        """Record a turn in the project in which it was said."""
        data = event.data
        named = {"project": data.get("project"), "agent": data.get("agent"), "role": data.get("agent_role")}
        body = {name: data[name] for name in ("text", "role", "speaker") if data.get(name)}
        body |= {"session": data.get("session") or "hook", "at": event.at.isoformat()}
        body["ref"] = data.get("ref") or turn_id(data, event.at)
        self.ask("/v1/turns", body, scope={**self._scope, **named})

    def ask(
        self, path: str, body: Any, *, scope: dict[str, str | None] | None = None, seconds: float = SECONDS
    ) -> dict[str, Any]:
        """The answer to one request; it is not repeated here."""
        named = scope if scope is not None else self._scope
        headers = {f"nagori-{name}": quote(value, safe="") for name, value in named.items() if value}
        headers["authorization"] = f"Bearer {self._key}"
        return post_json(self._url + path, body, headers, timeout=seconds, tries=1)
