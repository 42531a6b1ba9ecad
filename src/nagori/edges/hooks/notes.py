"""Which troubles were told in a session: one small file each, so that nothing is told twice. In a file
because the store may be the trouble."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from zlib import crc32

from nagori.core.values import Value, fresh
from nagori.paths import private_dir, write_private

KEPT_SECONDS = 30 * 86_400


class Notes(Value, frozen=False):
    """What the user was told in a session. A file that is lost or damaged means that it is told again."""

    path: Path
    told: list[str] = fresh(list)

    @classmethod
    def of(cls, folder: Path, session: str) -> Notes:
        path = folder / "hosts" / f"{crc32(session.encode('utf-8', 'replace')):08x}.json"
        try:
            known = json.loads(path.read_bytes())
            if known["session"] != session:  # another session with the same short name
                raise ValueError
            return cls(path, [str(what) for what in known["told"]])
        except (OSError, ValueError, KeyError, TypeError):
            return cls(path)

    def first_time(self, trouble: str) -> bool:
        """Whether this was not told in this session yet; from now on it was."""
        if trouble in self.told:
            return False
        self.told.append(trouble)
        return True

    def save(self, session: str) -> None:
        private_dir(self.path.parent)
        write_private(self.path, json.dumps({"session": session, "told": self.told}).encode())


def sweep(folder: Path) -> None:
    """Sessions of a month ago are over."""
    old = time.time() - KEPT_SECONDS
    for path in (folder / "hosts").glob("*"):
        with suppress(FileNotFoundError):  # a hook has just put its notes in place
            if path.stat().st_mtime < old:
                path.unlink()
