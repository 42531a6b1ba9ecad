"""What was shown and told in a session: one small file each, so that nothing is said twice.

Only a help: a file that is lost or damaged means that something is shown again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from zlib import crc32

from nagori.core.values import Value, fresh
from nagori.paths import private_dir, write_private

KEPT_SECONDS = 30 * 86_400
MOST_SHOWN = 2_000


class Notes(Value, frozen=False):
    path: Path
    shown: list[str] = fresh(list)  # memories
    told: list[str] = fresh(list)  # troubles
    changed: bool = False

    @classmethod
    def of(cls, folder: Path, session: str) -> Notes:
        path = folder / "hosts" / f"{crc32(session.encode('utf-8', 'replace')):08x}.json"
        try:
            known = json.loads(path.read_bytes())
            if known["session"] != session:  # another session with the same short name
                raise ValueError
            return cls(path, [str(id) for id in known["shown"]], [str(what) for what in known["told"]])
        except (OSError, ValueError, KeyError, TypeError):
            return cls(path)

    def show(self, ids: Iterable[str]) -> None:
        self.shown = [*self.shown, *ids][-MOST_SHOWN:]
        self.changed = True

    def first_time(self, trouble: str) -> bool:
        """Whether this was not told in this session yet; from now on it was."""
        if trouble in self.told:
            return False
        self.told.append(trouble)
        self.changed = True
        return True

    def start_over(self) -> None:
        """After a compaction the model has forgotten what it was shown."""
        self.shown, self.changed = [], True

    def save(self, session: str) -> None:
        if not self.changed:
            return
        private_dir(self.path.parent)
        said = json.dumps({"session": session, "shown": self.shown, "told": self.told})
        write_private(self.path, said.encode())


def sweep(folder: Path) -> None:
    """Sessions of a month ago are over."""
    old = time.time() - KEPT_SECONDS
    for path in (folder / "hosts").glob("*"):
        with suppress(FileNotFoundError):  # a hook has just put its notes in place
            if path.stat().st_mtime < old:
                path.unlink()
