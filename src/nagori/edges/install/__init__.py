"""Programs that can call nagori by themselves, one file each. A new one is a file and a line here."""

from __future__ import annotations

from nagori.edges.install.claude_code import CLAUDE_CODE
from nagori.edges.install.codex import CODEX
from nagori.edges.install.copilot import COPILOT
from nagori.edges.install.cursor import CURSOR
from nagori.edges.install.gemini import GEMINI
from nagori.edges.install.host import Host

HOSTS: dict[str, Host] = {host.name: host for host in (CLAUDE_CODE, CODEX, GEMINI, CURSOR, COPILOT)}
