"""Change a host's settings file safely: read, show a diff, keep a copy, replace it atomically.

Unknown structures are refused. A file is replaced only if it still has the content that was shown.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import stat
from datetime import datetime
from pathlib import Path

from nagori.core.value_object import Value
from nagori.edges.hosts.settings_patch import Json
from nagori.edges.hosts.spec import Host
from nagori.errors import Conflict, InvalidInput
from nagori.files import PRIVATE_FILE, private_dir

BACKUP = ".before-nagori-"  # settings.json.before-nagori-20260301T091500…: hosts ignore such names
SHOWN = 1  # context lines of a diff; settings may hold keys and tokens


class FileChange(Value):
    """The change of one file. None: the file does not exist."""

    host: Host
    path: Path
    before: bytes | None
    after: bytes | None
    backup: Path | None = None  # the backup that `after` was restored from

    @property
    def needed(self) -> bool:
        return self.before != self.after

    @property
    def plugin_too(self) -> bool:
        """Whether the file also enables our plugin, which would call nagori twice."""
        plugins = _parse(self.path, self.after or b"{}").get("enabledPlugins")
        return isinstance(plugins, dict) and any(plugins[key] for key in plugins if key.startswith("nagori@"))

    def diff(self) -> list[str]:
        """The change as a diff; a link is shown with its target."""
        name = str(_real(self.path))
        before, after = (_text(self.path, data).splitlines() for data in (self.before, self.after))
        return list(difflib.unified_diff(before, after, name, name, lineterm="", n=SHOWN))


def addition(host: Host, path: Path, command: list[str], before_tool: bool) -> FileChange:
    """Our entries added to a file."""
    before = _read(path)
    old = _parse(path, before) if before is not None else {}
    new = _patch(path, host, old, command, before_tool)
    after = before if before is not None and new == old else _to_bytes(new, _text(path, before))
    return FileChange(host, path, before, after)


def removal(host: Host, path: Path) -> FileChange:
    """Our entries removed from a file; byte for byte as before if nobody else changed it."""
    before = _read(path)
    if before is None or not host.holds_ours(old := _parse(path, before)):
        return FileChange(host, path, before, before)
    new = host.removed(old)
    backups = _backups(path)
    for backup in backups:
        data = _read(backup)
        if data is not None and _same(host, new, backup, data):
            return FileChange(host, path, before, data, backup)
    ours_alone = not (new or backups or path.is_symlink())  # no backup: the file did not exist before
    return FileChange(host, path, before, None if ours_alone else _to_bytes(new, _text(path, before)))


def apply(change: FileChange, now: datetime) -> Path | None:
    """Write the change; returns the backup, if one was made."""
    if _read(change.path) != change.before:
        raise Conflict("error.file_changed", path=change.path)
    kept = None
    if change.before is not None and change.backup is None and change.after is not None:
        kept = _back_up(change.path, change.before, now)
    if change.after is None:
        change.path.unlink()
    else:
        private_dir(change.path.parent)
        replace_file(_real(change.path), change.after, _mode(change.path))
    if change.backup is not None:
        change.backup.unlink()
    return kept


def replace_file(path: Path, data: bytes, mode: int) -> None:
    """Replace a file atomically."""
    part = path.with_name(f".{path.name}.nagori-{os.getpid()}")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            part.chmod(mode)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as fault:
        raise InvalidInput("path", "error.file", path=path, reason=fault.strerror) from fault


# ── looking ──────────────────────────────────────────────────────────────────────────────────────


def _real(path: Path) -> Path:
    """The file itself. A link is followed (for dotfiles), but only to a file of the user: otherwise a project
    could make us write anywhere."""
    if not path.is_symlink():
        return path
    target = path.resolve()
    if not target.is_file():
        raise InvalidInput("settings", "error.link_not_file", path=path, target=target)
    if hasattr(os, "getuid") and target.stat().st_uid != os.getuid():
        raise InvalidInput("settings", "error.link_not_yours", path=path, target=target)
    return target


def _read(path: Path) -> bytes | None:
    """The content; None without a file. A file that must not be changed is refused."""
    target = _real(path)
    try:
        if not target.exists():
            return None
        if not target.is_file():
            raise InvalidInput("settings", "error.not_file", path=path)
        if not target.stat().st_mode & stat.S_IWUSR:
            raise InvalidInput("settings", "error.file_read_only", path=path)
        return target.read_bytes()
    except OSError as fault:
        raise InvalidInput("settings", "error.file", path=path, reason=fault.strerror) from fault


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode) if path.exists() else PRIVATE_FILE


def _text(path: Path, data: bytes | None) -> str:
    try:
        return (data or b"").decode()
    except UnicodeDecodeError as fault:
        raise InvalidInput("settings", "error.file", path=path, reason=str(fault)) from fault


def _parse(path: Path, data: bytes) -> Json:
    text = _text(path, data)
    try:
        value = json.loads(text, object_pairs_hook=_no_twins, parse_constant=_no_constant)
    except json.JSONDecodeError as fault:
        raise InvalidInput(
            "settings",
            "error.json_line",
            path=path,
            line=fault.lineno,
            reason=fault.msg,
        ) from fault
    except (ValueError, RecursionError) as fault:
        raise InvalidInput("settings", "error.json_file", path=path, reason=str(fault)) from fault
    if not isinstance(value, dict):
        raise InvalidInput("settings", "error.json_not_object", path=path)
    return value


def _no_twins(pairs: list[tuple[str, object]]) -> Json:
    """Refuse duplicate keys, because one of them would be lost."""
    if len(value := dict(pairs)) != len(pairs):
        raise ValueError("a key is there twice")
    return value


def _no_constant(name: str) -> object:
    raise ValueError(name)


def _patch(path: Path, host: Host, old: Json, command: list[str], before_tool: bool) -> Json:
    try:
        return host.added(old, command, before_tool)
    except InvalidInput as fault:
        raise InvalidInput(
            "settings",
            "error.settings_shape_in",
            path=path,
            **fault.values,
        ) from fault


# ── writing ──────────────────────────────────────────────────────────────────────────────────────


def _to_bytes(value: Json, like: str) -> bytes:
    """`value` as JSON in the style of the present file: indentation, line ends, last line."""
    found = re.search(r'^([ \t]+)"', like, re.MULTILINE)
    indent = found[1] if found else 2
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if any("\ud800" <= character <= "\udfff" for character in text):  # a lone surrogate cannot be written
        text = json.dumps(value, indent=indent)
    if not like or like.endswith("\n"):
        text += "\n"
    return (text.replace("\n", "\r\n") if "\r\n" in like else text).encode()


def _back_up(path: Path, data: bytes, now: datetime) -> Path:
    """A copy beside the file, with the same permissions."""
    copy = path.with_name(f"{path.name}{BACKUP}{now:%Y%m%dT%H%M%S%f}")
    replace_file(copy, data, _mode(path))
    return copy


def _backups(path: Path) -> list[Path]:
    """Our backups, newest first."""
    beside = [each for each in path.parent.iterdir() if each.name.startswith(path.name + BACKUP)]
    return sorted(beside, reverse=True)


def _same(host: Host, now: Json, backup: Path, data: bytes) -> bool:
    """Whether a file without our entries equals a backup. Empty lists of hooks do not matter, so both are
    compared with our entries added; an unreadable file differs."""
    try:
        before = _parse(backup, data)
        if host.holds_ours(before):
            return False
        with_ours = [json.dumps(host.added(each, [""]), sort_keys=True) for each in (now, before)]
    except InvalidInput:
        return False
    return with_ours[0] == with_ours[1]
