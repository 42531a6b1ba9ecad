"""Specification of a host program: its settings file, its events, the format of an entry."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from nagori.core.value_object import Value
from nagori.edges.hosts import settings_patch
from nagori.edges.hosts.settings_patch import Json, Shape
from nagori.files import expand_home

PATIENCE = 10  # seconds; a hook takes a fraction of one

# (command, event, seconds) -> one handler
Handler = Callable[[list[str], str, int], Json]


class Host(Value):
    """One host program. `events` are the events we subscribe to, each with its timeout in seconds."""

    name: str  # name for `nagori hook --host`
    title: str
    program: str
    folder: str  # its folder in the home
    folder_variable: str  # variable that names another folder
    settings: str  # settings file in that folder
    project_settings: str | None  # local settings file of a project, if supported
    events: Mapping[str, int]
    before_tool: Mapping[str, int]  # only with `hooks.before_tool`, because it delays every tool
    handler: Handler
    shape: Shape = Shape()
    hint: str = ""  # message about what the person still has to do
    mcp: tuple[str, ...] = ()  # its own command that adds an MCP server

    def home(self, env: Mapping[str, str]) -> Path:
        return expand_home(env.get(self.folder_variable) or self.folder, env)

    def file(self, env: Mapping[str, str]) -> Path:
        return self.home(env) / self.settings

    def present(self, env: Mapping[str, str]) -> bool:
        """Whether it seems to be in use on this machine."""
        return self.home(env).is_dir() or shutil.which(self.program, path=env.get("PATH")) is not None

    def added(self, settings: Json, command: list[str], before_tool: bool = False) -> Json:
        events = {**self.events, **(self.before_tool if before_tool else {})}
        wanted = {event: self.handler(command, event, seconds) for event, seconds in events.items()}
        return settings_patch.add_handlers(settings, wanted, self.shape)

    def removed(self, settings: Json) -> Json:
        return settings_patch.remove_handlers(settings, self.shape)

    def holds_ours(self, settings: Json) -> bool:
        return settings_patch.holds_ours(settings, self.shape)


def patient(*events: str, **shorter: int) -> dict[str, int]:
    """Events with the usual timeout, and some with a shorter one."""
    return dict.fromkeys(events, PATIENCE) | shorter


def shell_line(command: list[str], platform: str = sys.platform) -> str:
    """`command` as a shell line."""
    return subprocess.list2cmdline(command) if platform == "win32" else shlex.join(command)
