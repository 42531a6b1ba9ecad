"""Slash commands that are built into hosts: they and their output are nothing to remember or to recall by.

All other commands are work: their names and arguments are kept [ruling 26].
"""

from __future__ import annotations

BUILT_IN = frozenset(
    f"/{command}"
    for command in (
        *("add-dir", "agents", "allowed-tools", "bashes", "bug", "chrome", "clear", "color", "compact"),
        *("config", "context", "continue", "copy", "cost", "desktop", "diff", "doctor", "effort", "exit"),
        *("export", "extra-usage", "fast", "feedback", "fork", "help", "hooks", "ide", "init", "insights"),
        *("install-github-app", "install-slack-app", "keybindings", "login", "logout", "mcp", "memory"),
        *("migrate-installer", "mobile", "model", "new", "output-style", "passes", "permissions"),
        *("plugin", "plugins", "pr-comments", "privacy-settings", "quit", "rate-limit-options"),
        *("release-notes", "reload-plugins", "remote-control", "remote-env", "rename", "reset", "resume"),
        *("review", "rewind", "checkpoint", "sandbox", "security-review", "settings", "skills", "stats"),
        *("status", "statusline", "stickers", "tasks", "teleport", "terminal-setup", "theme", "todos"),
        *("upgrade", "usage", "vim", "voice"),
    )
)


def is_built_in(words: str) -> bool:
    """Whether a text is a built-in command of a host, with or without arguments."""
    return words.lstrip().startswith("/") and words.split(None, 1)[0] in BUILT_IN
