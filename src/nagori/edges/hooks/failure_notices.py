"""Notices about failures for the user of a host. Imported only after a failure."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from pathlib import Path
from zlib import crc32

from nagori.core.value_object import Value, default_factory
from nagori.edges.locale import language
from nagori.errors import NagoriError, Notice
from nagori.files import private_dir, sweep, write_private


def notice(trouble: BaseException) -> Notice:
    """One line: what failed, what was kept, what to do."""
    from nagori.edges.hooks import TookTooLong

    if isinstance(trouble, TookTooLong):
        return Notice("notice.late")
    if isinstance(trouble, NagoriError):
        return Notice("notice.trouble", reason=trouble.notice)
    reason = trouble.strerror if isinstance(trouble, OSError) else None
    return Notice("notice.trouble", reason=reason or type(trouble).__name__)


def say(notice: Notice) -> str:
    """One line in the user's language."""
    return notice.in_language(language())


def first_time(folder: Path | None, session: str, notice: Notice) -> bool:
    """Whether this was not told in this session yet. Where the data folder takes no note, or nobody knows
    where it is, the note goes to a folder of the user's own among the temporary ones."""
    for place in (folder, _elsewhere()):
        if place is not None:
            notes = Notes.of(place, session)
            if not notes.first_time(json.dumps(notice.to_record(), sort_keys=True)):
                return False
            try:
                notes.save(session)
            except OSError:
                continue
            if place != folder:
                sweep(place)
            return True
    return True  # unknown: better twice than never


def _elsewhere() -> Path | None:
    """A private temporary folder; it counts only if it is ours and closed to others."""
    user = os.getuid() if hasattr(os, "getuid") else None
    place = Path(tempfile.gettempdir()) / f"nagori-{'notes' if user is None else user}"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        known = place.lstat()
    except OSError:
        return None
    if user is None:
        return place
    ours = stat.S_ISDIR(known.st_mode) and known.st_uid == user and not known.st_mode & 0o077
    return place if ours else None


# --- once per session -----------------------------------------------------------------------------
# Notices shown in a session: one small file per session, so that nothing is shown twice. A file,
# because the store itself may have failed.


class Notes(Value, frozen=False):
    """The notices shown in a session. If the file is lost or damaged, they are shown again."""

    path: Path
    told: list[str] = default_factory(list)

    @classmethod
    def of(cls, folder: Path, session: str) -> Notes:
        path = folder / "hosts" / f"{crc32(session.encode('utf-8', 'replace')):08x}.json"
        try:
            known = json.loads(path.read_bytes())
            if known["session"] != session:  # another session with the same file name
                raise ValueError
            return cls(path, [str(what) for what in known["told"]])
        except (OSError, ValueError, KeyError, TypeError):
            return cls(path)

    def first_time(self, trouble: str) -> bool:
        """Whether this notice is new in this session; afterwards it is not."""
        if trouble in self.told:
            return False
        self.told.append(trouble)
        return True

    def save(self, session: str) -> None:
        private_dir(self.path.parent)
        write_private(self.path, json.dumps({"session": session, "told": self.told}).encode())
