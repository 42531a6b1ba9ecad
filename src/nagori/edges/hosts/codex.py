"""Codex: `hooks.json`, Claude Code's event names, a shell line per handler, timeouts in seconds.

A session end may take three seconds at most. Codex runs a new hook only after its user has approved it.
"""

from __future__ import annotations

from nagori.edges.hosts.settings_patch import Json
from nagori.edges.hosts.spec import Host, patient, shell_line


def _handler(command: list[str], event: str, seconds: int) -> Json:
    return {"type": "command", "command": shell_line(command), "timeout": seconds}


CODEX = Host(
    name="codex",
    title="Codex",
    program="codex",
    folder="~/.codex",
    folder_variable="CODEX_HOME",
    settings="hooks.json",
    project_settings=None,
    events=patient(
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "Stop",
        "SubagentStop",
        "PreCompact",
        "PostCompact",
        SessionEnd=3,
    ),
    before_tool=patient("PreToolUse"),
    handler=_handler,
    hint="cli.codex_trust",
    mcp=("codex", "mcp", "add", "nagori", "--"),
)
