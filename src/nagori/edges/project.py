"""Which project a folder belongs to: the root of its git repository, or the folder itself."""

from __future__ import annotations

import os
from pathlib import Path

from nagori.core.model import LONGEST_NAME


def project_of(folder: str | None) -> str | None:
    """The name of the project that somebody works on in `folder`; a folder that is gone is its own."""
    if not folder:
        return None
    plain = "".join(char for char in folder if char.isprintable())
    return str(_root(Path(plain)))[-LONGEST_NAME:].strip() or None


def _root(folder: Path) -> Path:
    """The nearest folder with a `.git` in it: a directory, or a file in a worktree."""
    try:
        if folder.is_absolute() and folder.is_dir():
            return next((f for f in (folder, *folder.parents) if os.path.lexists(f / ".git")), folder)
    except (OSError, ValueError):  # a name that no file can have, a folder that may not be looked at
        pass
    return folder
