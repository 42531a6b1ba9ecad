"""Host programs that can call nagori, one module each. A new one is a module and a line here."""

from __future__ import annotations

from nagori.edges.hosts.claude_code import CLAUDE_CODE
from nagori.edges.hosts.codex import CODEX
from nagori.edges.hosts.copilot import COPILOT
from nagori.edges.hosts.cursor import CURSOR
from nagori.edges.hosts.gemini import GEMINI
from nagori.edges.hosts.spec import Host

HOSTS: dict[str, Host] = {host.name: host for host in (CLAUDE_CODE, CODEX, GEMINI, CURSOR, COPILOT)}
