"""Cursor: `hooks.json` version 1, handlers without groups, a shell line per handler, timeouts in seconds."""

from __future__ import annotations

from nagori.edges.hosts.settings_patch import Json, Shape
from nagori.edges.hosts.spec import Host, patient, shell_line


def _handler(command: list[str], event: str, seconds: int) -> Json:
    return {"command": shell_line(command), "timeout": seconds}


CURSOR = Host(
    name="cursor",
    title="Cursor",
    program="cursor",
    folder="~/.cursor",
    folder_variable="",
    settings="hooks.json",
    project_settings=None,
    events=patient(
        "sessionStart",
        "beforeSubmitPrompt",
        "postToolUse",
        "postToolUseFailure",
        "afterAgentResponse",
        "stop",
        "subagentStop",
        "preCompact",
        "sessionEnd",
    ),
    before_tool=patient("preToolUse"),
    handler=_handler,
    shape=Shape(grouped=False, version=1),
)
