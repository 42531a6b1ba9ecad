"""What we have to know about a program that calls us: where its settings are, what an entry looks like."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from nagori.core.values import Value
from nagori.edges.hosts import settings_patch
from nagori.edges.hosts.settings_patch import Json, Shape
from nagori.paths import expand_home

PATIENCE = 10  # seconds; a hook takes a fraction of one, and a host that waits longer has lost its user

# (command, event, seconds) -> one handler
Handler = Callable[[list[str], str, int], Json]


class Host(Value):
    """One program. `events` are the moments we are told of, each with the seconds it may take."""

    name: str  # as `nagori hook --host` knows it
    title: str
    program: str
    folder: str  # its own folder, below the home
    folder_variable: str  # … unless this variable names another
    settings: str  # the file below that folder
    project_settings: str | None  # the file of one project that stays on this machine, if it has such a thing
    events: Mapping[str, int]
    before_tool: Mapping[str, int]  # only with the setting `hooks.before_tool`: it delays every tool
    handler: Handler
    shape: Shape = Shape()
    hint: str = ""  # the sentence that tells what the person still has to do

    def home(self, env: Mapping[str, str]) -> Path:
        return expand_home(env.get(self.folder_variable) or self.folder, env)

    def file(self, env: Mapping[str, str]) -> Path:
        return self.home(env) / self.settings

    def present(self, env: Mapping[str, str]) -> bool:
        """Whether it seems to be used on this machine."""
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
    """Events with the usual patience, and some that get less."""
    return dict.fromkeys(events, PATIENCE) | shorter


def shell_line(command: list[str], platform: str = sys.platform) -> str:
    """`command` for hosts that hand a line to a shell."""
    return subprocess.list2cmdline(command) if platform == "win32" else shlex.join(command)
