"""Turn encryption of a data folder on and off, change its keys, and save them.

Each step can be repeated: after a kill, the same call goes on. Lines are written anew owner by owner under
the owner's lock; others write in between. Copies that were put aside and backups made before stay as they
are, and the report names them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from nagori import encryption
from nagori.core.value_object import Value
from nagori.encryption import KEY_BYTES, KeySource
from nagori.errors import EncryptionError, InvalidInput, StoreError
from nagori.files import ENCRYPTION_NOTE, private_dir, write_durably
from nagori.journals.file import FileJournal
from nagori.runtime import Progress, Runtime, no_progress
from nagori.services.backup import folders_aside
from nagori.services.record_turns_or_spool import SPOOL, take_spool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class EncryptionReport(Value):
    """The state of a folder's encryption. `plain`: files and folders that still hold plain text."""

    on: bool
    source: str = ""
    owners: int = 0
    plain: tuple[str, ...] = ()


def turn_on(
    runtime: Runtime, source: KeySource | None = None, progress: Progress = no_progress
) -> EncryptionReport:
    """Encrypt everything, with a new master key at `source`. If it is on already, an interrupted call is
    finished."""
    folder = _folder(runtime)
    if not (folder / ENCRYPTION_NOTE).exists():
        _require_libraries()
        source = source or KeySource()
        master = encryption.command_key(source) if source.command else os.urandom(KEY_BYTES)
        id = os.urandom(8).hex()
        encryption.write_masters(id, source, [master])
        _write_note(folder, id, [master], [os.urandom(KEY_BYTES)], on=True)
    elif not encryption.open_keys(folder).on:
        _change_note(folder, on=True)
    _rewrite_everything(runtime, progress)
    _remove_plain_copies(runtime)
    return describe(runtime)


def turn_off(runtime: Runtime, progress: Progress = no_progress) -> EncryptionReport:
    """Write everything plainly again and forget the keys."""
    folder = _folder(runtime)
    if (folder / ENCRYPTION_NOTE).exists():
        id = encryption.open_keys(folder).id
        _change_note(folder, on=False)
        _rewrite_everything(runtime, progress)
        for owner in _journal(runtime).owners():
            (_journal(runtime).key_folder(owner) / encryption.OWNER_KEYS).unlink(missing_ok=True)
        (folder / ENCRYPTION_NOTE).unlink()
        encryption.forget_masters(id)
    return describe(runtime)


def rotate(runtime: Runtime, progress: Progress = no_progress) -> EncryptionReport:
    """New keys for every owner, for the store, and a new master key. A command's master key stays: change
    the command's own secret, then turn encryption off and on."""
    folder = _folder(runtime)
    keys = _require_keys(folder)
    id, source = keys.id, encryption.read_source(keys.id)
    masters = encryption.read_masters(id)
    if not source.command and len(masters) == 1:
        masters = [os.urandom(KEY_BYTES), *masters]
        encryption.write_masters(id, source, masters)
    stores = keys.stores if len(keys.stores) > 1 else (os.urandom(KEY_BYTES), *keys.stores)
    _write_note(folder, id, masters, stores, on=True)
    keys, journal = encryption.open_keys(folder), _journal(runtime)
    for owner in journal.owners():
        with journal.locked(owner):
            known = keys.owner_keys(journal.key_folder(owner))
            if len(known) < 2:
                known[max(known, default=0) + 1] = os.urandom(KEY_BYTES)
            keys.write_owner_keys(journal.key_folder(owner), known)
    _rewrite_everything(runtime, progress)
    for owner in journal.owners():
        with journal.locked(owner):
            known = keys.owner_keys(journal.key_folder(owner))
            newest = max(known)
            keys.write_owner_keys(journal.key_folder(owner), {newest: known[newest]})
    _write_note(folder, id, masters[:1], stores[:1], on=True)
    if not source.command:
        encryption.write_masters(id, source, masters[:1])
    return describe(runtime)


def describe(runtime: Runtime) -> EncryptionReport:
    """Whether the folder is encrypted, where the key is, and what is plain nevertheless."""
    folder = _folder(runtime)
    if not (folder / ENCRYPTION_NOTE).exists():
        return EncryptionReport(on=False)
    keys = encryption.open_keys(folder)
    source = encryption.read_source(keys.id)
    kind = "command" if source.command else "keyring" if source.keyring else "file"
    return EncryptionReport(keys.on, kind, len(_journal(runtime).owners()), tuple(_plain_copies(folder)))


def save_keys(runtime: Runtime, path: Path) -> None:
    """Write all keys into one private file. With it, backups can be read on another machine."""
    folder, journal = _folder(runtime), _journal(runtime)
    keys = _require_keys(folder)
    if path.exists():
        raise InvalidInput("path", "error.file_exists", path=path)
    owners = {}
    for owner in journal.owners():
        place = journal.key_folder(owner) / encryption.OWNER_KEYS
        if place.exists():
            owners[place.relative_to(folder).as_posix()] = json.loads(place.read_bytes())
    masters = [master.hex() for master in encryption.read_masters(keys.id)]
    said = {"note": encryption.read_note(folder), "masters": masters, "owners": owners}
    write_durably(path, json.dumps(said).encode())


def load_keys(folder: Path, path: Path) -> None:
    """Install saved keys in a data folder without keys, before a backup is restored there."""
    if (folder / ENCRYPTION_NOTE).exists():
        raise InvalidInput("path", "error.file_exists", path=folder / ENCRYPTION_NOTE)
    try:
        said: dict[str, Any] = json.loads(path.read_bytes())
        note, masters = said["note"], [bytes.fromhex(master) for master in said["masters"]]
        owners = {str(name): dict(keys) for name, keys in said["owners"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
        raise InvalidInput("path", "error.not_keys", path=path, reason=fault) from None
    journal = folder.resolve() / "journal"
    if any(not (folder / name).resolve().is_relative_to(journal) for name in owners):
        raise InvalidInput("path", "error.not_keys", path=path, reason="..")
    private_dir(folder)
    for name, keys in owners.items():
        encryption.write_note(folder / name, keys)
    encryption.write_note(folder / ENCRYPTION_NOTE, note)
    encryption.write_masters(encryption.read_note(folder)["id"], KeySource(), masters)


# --- internal -------------------------------------------------------------------------------------


def _folder(runtime: Runtime) -> Path:
    _journal(runtime)
    return runtime.data_dir


def _journal(runtime: Runtime) -> FileJournal:
    if not isinstance(runtime.journal, FileJournal):
        raise StoreError("error.encryption_needs_files")
    return runtime.journal


def _require_keys(folder: Path) -> encryption.FolderKeys:
    if not (folder / ENCRYPTION_NOTE).exists():
        raise EncryptionError("error.not_encrypted", folder=folder)
    return encryption.open_keys(folder)


def _require_libraries() -> None:
    """Fail before anything is changed if a library is missing."""
    import apsw

    if not hasattr(apsw, "mc_version"):
        raise EncryptionError("error.encryption_library", library="apsw-sqlite3mc")
    encryption.OwnerCipher({1: bytes(KEY_BYTES)})


def _write_note(
    folder: Path, id: str, masters: list[bytes], stores: tuple[bytes, ...] | list[bytes], *, on: bool
) -> None:
    empty = {"format": encryption.FORMAT, "id": id, "on": on, "store": []}
    keys = encryption.FolderKeys(folder, empty, masters)
    wrapped = [keys.wrap(store, b"store") for store in stores]
    encryption.write_note(folder / ENCRYPTION_NOTE, {**empty, "store": wrapped})


def _change_note(folder: Path, *, on: bool) -> None:
    encryption.write_note(folder / ENCRYPTION_NOTE, {**encryption.read_note(folder), "on": on})


def _rewrite_everything(runtime: Runtime, progress: Progress) -> None:
    journal = _journal(runtime)
    owners = journal.owners()
    take_spool(journal, runtime.data_dir)
    for done, owner in enumerate(owners):
        progress(done, len(owners) + 1)
        with journal.locked(owner):
            journal.reencrypt(owner)
    stamp = runtime.clock.now().strftime("%Y%m%dT%H%M%S")
    rewrite_store: Callable[[str], None] | None = getattr(runtime.store, "reencrypt", None)
    if rewrite_store is not None:
        rewrite_store(stamp)
    progress(len(owners) + 1, len(owners) + 1)


def _remove_plain_copies(runtime: Runtime) -> None:
    """Logs, cache and graph are plain text, and copies: they go. One that cannot be reached now goes with the
    next turns or the next cycle."""
    if runtime.logs is not None or runtime.session_cache is not None:
        from nagori.services.redis_and_parquet_copies import copy_sessions

        for owner in _journal(runtime).owners():
            copy_sessions(runtime, owner)
    if runtime.config.graph.mirror:
        from nagori.services.graph_mirror import copy_graph

        for owner in _journal(runtime).owners():
            copy_graph(runtime, owner)


def _plain_copies(folder: Path) -> list[str]:
    """What was put aside before, and still is plain text."""
    found = [str(path) for path in folders_aside(folder) if not (path / ENCRYPTION_NOTE).exists()]
    for path in sorted(folder.glob("nagori.db*")):
        with path.open("rb") as file:
            if file.read(len(encryption.PLAIN_STORE)) == encryption.PLAIN_STORE:
                found.append(str(path))
    found += [str(path) for path in sorted((folder / SPOOL).glob("*")) if b'"enc"' not in path.read_bytes()]
    return found
