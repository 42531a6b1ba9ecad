"""Folders and files of this machine, readable by their owner alone, and locks on them.

    Linux     $XDG_DATA_HOME/nagori       $XDG_CONFIG_HOME/nagori     (~/.local/share, ~/.config)
    macOS     ~/Library/Application Support/nagori, both
    Windows   %LOCALAPPDATA%\\nagori, both

The environment is an argument, so a test never touches the real home. The system releases a lock with its
process.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from errno import ENOSPC
from pathlib import Path

from nagori.errors import InvalidInput, JournalError

APP = "nagori"
PRIVATE_DIR = 0o700
PRIVATE_FILE = 0o600
ERASED = "=erased"  # folder of the tombstones in a journal; no tenant's folder has this name
ENCRYPTION_NOTE = "encryption.json"  # in a data folder that is encrypted
SECRET_BYTES = 32
HOT = "hot"  # folder of what tools did in turns that are not over
KEPT_SECONDS = 30 * 86_400  # how long session files are kept


def data_dir(env: Mapping[str, str], chosen: str = "", platform: str = sys.platform) -> Path:
    """The data folder: `chosen` (the setting `general.data_dir`) or the platform's default."""
    if chosen:
        return expand_home(chosen, env)
    return _place(env, platform, "XDG_DATA_HOME", ".local/share")


def config_dir(env: Mapping[str, str], platform: str = sys.platform) -> Path:
    """The folder of `config.toml`."""
    return _place(env, platform, "XDG_CONFIG_HOME", ".config")


def expand_home(path: str, env: Mapping[str, str]) -> Path:
    """`path` with a leading ~/ replaced by the home of `env`."""
    return _home(env) / path[2:] if path.startswith("~/") else Path(path)


def private_dir(path: Path) -> Path:
    """`path` as a folder; created folders, parents included, are private to the owner."""
    if not path.is_dir():
        try:
            private_dir(path.parent)  # ends at the root or at "." at the latest
            path.mkdir(mode=PRIVATE_DIR, exist_ok=True)
        except FileNotFoundError:  # an erasure has just removed the empty parent: create it again
            private_dir(path.parent)
            path.mkdir(mode=PRIVATE_DIR, exist_ok=True)
    return path


def open_private(path: Path, flags: int) -> int:
    """A file descriptor, as from `os.open`; a created file is private to the owner."""
    return os.open(path, flags, PRIVATE_FILE)


def write_private(path: Path, content: bytes) -> None:
    """Write a private file atomically. Of two concurrent writers one wins."""
    unfinished = path.with_suffix(f".{os.getpid()}.new")
    with os.fdopen(open_private(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(content)
    unfinished.replace(path)


def write_durably(path: Path, content: bytes) -> None:
    """Write a private file and wait until it is on the disk."""
    descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        if os.write(descriptor, content) != len(content):
            raise OSError(ENOSPC, os.strerror(ENOSPC))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_secret(path: Path) -> str:
    """The random secret in a private file; the first call makes it."""
    if not path.exists():
        from secrets import token_urlsafe

        with suppress(FileExistsError):  # another process has just made it
            write_new(path, token_urlsafe(SECRET_BYTES).encode())
    return path.read_text(encoding="ascii").strip()


def write_new(path: Path, content: bytes) -> None:
    """Write a private file that does not exist yet, all of it or nothing; FileExistsError if it does."""
    unfinished = path.with_suffix(f".{os.getpid()}.new")
    write_durably(unfinished, content)
    try:
        os.link(unfinished, path)
    finally:
        unfinished.unlink()


def sync_folder(folder: Path) -> None:
    """Sync a folder: a new file name is durable only after that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep(folder: Path) -> None:
    """Remove session files older than a month."""
    old = time.time() - KEPT_SECONDS
    for path in (folder / "hosts").glob("*"):
        with suppress(FileNotFoundError):  # a hook has just replaced the file
            if path.stat().st_mtime < old:
                path.unlink()


def _place(env: Mapping[str, str], platform: str, variable: str, default: str) -> Path:
    if platform == "win32":
        local = env.get("LOCALAPPDATA")
        return (Path(local) if local else _home(env) / "AppData/Local") / APP
    if platform == "darwin":
        return _home(env) / "Library/Application Support" / APP
    chosen = Path(env.get(variable, ""))
    # the XDG specification: a relative path is invalid and must be ignored
    return (chosen if chosen.is_absolute() else _home(env) / default) / APP


def _home(env: Mapping[str, str]) -> Path:
    for variable in ("HOME", "USERPROFILE"):
        if env.get(variable):
            return Path(env[variable])
    try:
        return Path.home()
    except RuntimeError as error:
        raise InvalidInput("HOME", "error.no_home") from error


# --- locks ----------------------------------------------------------------------------------------

if sys.platform == "win32":  # pragma: no cover - Windows
    import msvcrt

    def try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        with suppress(OSError):
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Release a lock for every copy of the descriptor; a forked child would otherwise keep it."""
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def wait_for_lock(descriptor: int, patience: float) -> None:
    deadline, pause = time.monotonic() + patience, 0.0005
    while not try_lock(descriptor):
        if time.monotonic() > deadline:
            raise JournalError("error.lock_busy", seconds=patience)
        time.sleep(pause)
        pause = min(pause * 1.5, 0.004)


def take_lock(path: Path) -> int | None:
    """A locked file, as an open descriptor; None if another process has it."""
    private_dir(path.parent)
    descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
    if try_lock(descriptor):
        return descriptor
    os.close(descriptor)
    return None


def release_lock(descriptor: int) -> None:
    """Release the lock for every process with a copy of the descriptor."""
    unlock(descriptor)
    os.close(descriptor)


@contextmanager
def lock_folder(folder: Path, patience: float) -> Iterator[None]:
    """Hold the lock of a folder itself, which needs no file of its own. Where a system cannot lock folders
    (Windows, some network drives), nothing is locked."""
    if os.name == "nt":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            wait_for_lock(descriptor, patience)
        yield
    finally:
        release_lock(descriptor)


def package_folder(name: str) -> Path | None:
    """The folder of an installed package, which is not imported. The finders are asked directly: importing
    `importlib.util` takes a prompt hook as long as a query."""
    if sys.modules.get(name, sys) is None:  # as Python has it: nobody may import it
        return None
    for finder in sys.meta_path:
        spec = finder.find_spec(name, None)
        if spec is not None:
            return next(map(Path, spec.submodule_search_locations or ()), None)
    return None
