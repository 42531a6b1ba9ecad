"""Copilot CLI: a hooks file of its own, one line for each kind of shell, timeouts in seconds.

Its payload does not name the event, so the command line does.
"""

from __future__ import annotations

from nagori.edges.hosts.settings_patch import Json, Shape
from nagori.edges.hosts.spec import Host, patient, shell_line


def _handler(command: list[str], event: str, seconds: int) -> Json:
    line = [*command, "--event", event]
    quoted = " ".join("'" + word.replace("'", "''") + "'" for word in line)
    return {
        "type": "command",
        "bash": shell_line(line, "posix"),
        "powershell": f"& {quoted}",
        "timeoutSec": seconds,
    }


COPILOT = Host(
    name="copilot",
    title="Copilot CLI",
    program="copilot",
    folder="~/.copilot",
    folder_variable="COPILOT_HOME",
    settings="hooks/nagori.json",
    project_settings=None,
    events=patient(
        "sessionStart",
        "userPromptSubmitted",
        "postToolUse",
        "postToolUseFailure",
        "agentStop",
        "subagentStop",
        "preCompact",
        "sessionEnd",
    ),
    before_tool=patient("preToolUse"),
    handler=_handler,
    shape=Shape(grouped=False, version=1),
)
