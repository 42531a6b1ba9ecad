"""Gemini CLI: `settings.json`, its own event names, a shell line per handler, timeouts in milliseconds."""

from __future__ import annotations

from nagori.edges.hosts.settings_patch import Json
from nagori.edges.hosts.spec import Host, patient, shell_line


def _handler(command: list[str], event: str, seconds: int) -> Json:
    return {"name": "nagori", "type": "command", "command": shell_line(command), "timeout": seconds * 1000}


GEMINI = Host(
    name="gemini",
    title="Gemini CLI",
    program="gemini",
    folder="~/.gemini",
    folder_variable="",
    settings="settings.json",
    project_settings=None,
    events=patient("SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "PreCompress", "SessionEnd"),
    before_tool=patient("BeforeTool"),
    handler=_handler,
    mcp=("gemini", "mcp", "add", "nagori"),
)
