"""Claude Code: `settings.json`, grouped handlers, timeouts in seconds.

The exec form (`command` and `args`) needs no shell and no quoting. A session end gets 1.5 seconds unless the
settings say otherwise; a plugin cannot, so `nagori init` is preferable.
"""

from __future__ import annotations

from nagori.edges.hosts.settings_patch import Json
from nagori.edges.hosts.spec import Host, patient


def _handler(command: list[str], event: str, seconds: int) -> Json:
    return {"type": "command", "command": command[0], "args": command[1:], "timeout": seconds}


CLAUDE_CODE = Host(
    name="claude-code",
    title="Claude Code",
    program="claude",
    folder="~/.claude",
    folder_variable="CLAUDE_CONFIG_DIR",
    settings="settings.json",
    project_settings=".claude/settings.local.json",
    events=patient(
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
        "SubagentStop",
        "PreCompact",
        "PostCompact",
        "SessionEnd",
    ),
    before_tool=patient("PreToolUse"),
    handler=_handler,
    mcp=("claude", "mcp", "add", "nagori", "--"),
)
