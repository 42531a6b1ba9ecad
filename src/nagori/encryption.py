"""Encrypt data at rest: a key for each owner and one for the store, wrapped by a master key kept elsewhere.

    <data>/encryption.json     this folder is encrypted: its id, and the wrapped keys of the store
    <data>/journal/…/key       the wrapped keys of an owner: in no backup, and removed with the owner
    <config>/keys/<id>.json    the master key, or where it is: another file, the keyring, a command

Keys have 256 bits; lines and keys are encrypted with AES-256-GCM, the store with ChaCha20-Poly1305 by SQLite3
Multiple Ciphers. A line is bound to its number, a wrapped key to its purpose. Nothing of this is imported
where a folder is not encrypted. Several master keys or keys of an owner exist only while they are changed.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from nagori.core.value_object import Value
from nagori.errors import EncryptionError
from nagori.files import ENCRYPTION_NOTE, config_dir, private_dir, sync_folder, write_durably

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
OWNER_KEYS = "key"  # as in `journals.file`
KEY_BYTES, NONCE_BYTES = 32, 12
COMMAND_SECONDS = 30.0
PLAIN_STORE = b"SQLite format 3\0"
SERVICE = "nagori"


class KeySource(Value):
    """Where the master key is: in our own file (nothing given), in another file, in the system's keyring, or
    the output of a command."""

    file: str = ""
    keyring: bool = False
    command: tuple[str, ...] = ()


class OwnerCipher:
    """Encrypts and decrypts the lines of one owner; the newest key encrypts."""

    def __init__(self, keys: Mapping[int, bytes]) -> None:
        self._ciphers = {number: _aead(key) for number, key in keys.items()}
        self.newest = max(keys)

    def encrypt(self, text: bytes, seq: int) -> dict[str, Any]:
        """The encrypted line's fields."""
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._ciphers[self.newest].encrypt(nonce, text, b"%d" % seq)
        return {"key": self.newest, "enc": base64.b64encode(nonce + sealed).decode()}

    def decrypt(self, body: Mapping[str, Any]) -> bytes:
        """The text of an encrypted line; ValueError if it was changed."""
        cipher = self._ciphers.get(body["key"])
        if cipher is None:
            raise EncryptionError("error.owner_key_missing")
        sealed = base64.b64decode(body["enc"], validate=True)
        try:
            opened: bytes = cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], b"%d" % body["seq"])
        except Exception as fault:  # the library's InvalidTag, whose import costs more than all of this
            raise ValueError(f"it was changed ({type(fault).__name__})") from None
        return opened


class FolderKeys:
    """The keys of one data folder."""

    def __init__(self, folder: Path, note: Mapping[str, Any], masters: Sequence[bytes]) -> None:
        self.folder, self.id, self.on = folder, str(note["id"]), bool(note["on"])
        self._masters = tuple(_aead(master) for master in masters)
        self.stores = tuple(self.unwrap(wrapped, b"store") for wrapped in note["store"])

    def wrap(self, key: bytes, purpose: bytes) -> str:
        nonce = os.urandom(NONCE_BYTES)
        return base64.b64encode(nonce + self._masters[0].encrypt(nonce, key, purpose)).decode()

    def unwrap(self, wrapped: str, purpose: bytes) -> bytes:
        sealed = base64.b64decode(wrapped)
        for master in self._masters:
            try:
                opened: bytes = master.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], purpose)
            except Exception:  # noqa: S112 - the next one may be right
                continue
            return opened
        raise EncryptionError("error.key_wrong", folder=self.folder)

    def owner_keys(self, place: Path) -> dict[int, bytes]:
        """The keys of an owner, by number; none if the owner has none yet."""
        try:
            said = json.loads((place / OWNER_KEYS).read_bytes())
        except FileNotFoundError:
            return {}
        return {int(number): self.unwrap(wrapped, b"owner") for number, wrapped in said["keys"].items()}

    def write_owner_keys(self, place: Path, keys: Mapping[int, bytes]) -> None:
        wrapped = {str(number): self.wrap(key, b"owner") for number, key in keys.items()}
        write_note(place / OWNER_KEYS, {"format": FORMAT, "keys": wrapped})

    def cipher(self, place: Path, *, create: bool = False) -> OwnerCipher:
        """The cipher of the owner whose journal is in `place`."""
        keys = self.owner_keys(place)
        if not keys:
            if not create:
                raise EncryptionError("error.owner_key_missing")
            self._create_owner_key(place)
            keys = self.owner_keys(place)
        return OwnerCipher(keys)

    def _create_owner_key(self, place: Path) -> None:
        """The first key of an owner. Of two processes that create it at once, one wins: a hook that spools
        does not hold the lock."""
        fresh = private_dir(place) / f"{OWNER_KEYS}.{os.getpid()}-{os.urandom(4).hex()}.new"
        said = {"format": FORMAT, "keys": {"1": self.wrap(os.urandom(KEY_BYTES), b"owner")}}
        write_durably(fresh, json.dumps(said).encode())
        try:
            os.link(fresh, place / OWNER_KEYS)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
        sync_folder(place)


# --- finding the keys -----------------------------------------------------------------------------


def open_keys(folder: Path) -> FolderKeys:
    """The keys of an encrypted folder; EncryptionError says what is missing or wrong."""
    status = (folder / ENCRYPTION_NOTE).stat()
    stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
    return _open_keys(folder, stamp, str(config_dir(os.environ)))


@lru_cache(maxsize=16)
def _open_keys(folder: Path, stamp: object, config: str) -> FolderKeys:
    note = read_note(folder)
    return FolderKeys(folder, note, read_masters(str(note["id"])))


def read_note(folder: Path) -> dict[str, Any]:
    try:
        said: dict[str, Any] = json.loads((folder / ENCRYPTION_NOTE).read_bytes())
        if said["format"] > FORMAT or not re.fullmatch("[0-9a-f]{16}", said["id"]):
            raise ValueError(f"format {said['format']}")
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise EncryptionError("error.encryption_note", path=folder / ENCRYPTION_NOTE, reason=fault) from None
    return said


def read_masters(id: str) -> list[bytes]:
    """The master keys of a folder, the present one first."""
    path = place_of(id)
    try:
        said = json.loads(path.read_bytes())
    except (OSError, ValueError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else fault
        raise EncryptionError("error.key_place", path=path, reason=reason) from None
    if said.get("command"):
        text = _from_command(list(said["command"]))
    elif said.get("keyring"):
        text = _from_keyring(id)
    elif said.get("file"):
        text = _from_file(Path(said["file"]))
    else:
        text = str(said.get("keys", ""))
    masters = [_key_of(word) for word in text.split()]
    if not masters:
        raise EncryptionError("error.key_missing_at", path=path)
    return masters


def write_masters(id: str, source: KeySource, masters: Sequence[bytes]) -> None:
    """Keep the master keys at their source. A command's are its own."""
    text = " ".join(master.hex() for master in masters)
    said: dict[str, object] = {"keys": text}
    if source.command:
        said = {"command": list(source.command)}
    elif source.keyring:
        said = {"keyring": True}
        _keyring().set_password(SERVICE, id, text)
    elif source.file:
        said = {"file": str(Path(source.file).absolute())}
        write_durably(Path(source.file), text.encode() + b"\n")
    write_note(place_of(id), said)


def read_source(id: str) -> KeySource:
    said = json.loads(place_of(id).read_bytes())
    return KeySource(said.get("file", ""), bool(said.get("keyring")), tuple(said.get("command", ())))


def command_key(source: KeySource) -> bytes:
    """The master key that a command prints."""
    return _key_of((_from_command(list(source.command)).split() or [""])[0])


def forget_masters(id: str) -> None:
    """Remove the master keys that we wrote. A file or a command of the user stays."""
    if read_source(id).keyring:
        _keyring().delete_password(SERVICE, id)
    place_of(id).unlink(missing_ok=True)


def place_of(id: str) -> Path:
    return config_dir(os.environ) / "keys" / f"{id}.json"


def write_note(path: Path, said: Mapping[str, object]) -> None:
    """Write a small file durably and at once."""
    private_dir(path.parent)
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    write_durably(fresh, json.dumps(said).encode())
    fresh.replace(path)
    sync_folder(path.parent)


def _from_file(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else fault
        raise EncryptionError("error.key_place", path=path, reason=reason) from None


def _from_command(command: list[str]) -> str:
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 - the user's own command, without a shell
            command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=True
        )
    except (OSError, ValueError, subprocess.SubprocessError) as fault:
        raise EncryptionError("error.key_command", command=command[0], reason=type(fault).__name__) from None
    return done.stdout


def _from_keyring(id: str) -> str:
    try:
        return _keyring().get_password(SERVICE, id) or ""
    except EncryptionError:
        raise
    except Exception as fault:  # a keyring can fail in many ways
        raise EncryptionError("error.key_keyring", reason=type(fault).__name__) from None


def _keyring() -> Any:
    try:
        import keyring  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise EncryptionError("error.key_keyring", reason="keyring") from None
    return keyring


def _key_of(text: str) -> bytes:
    """32 bytes, written as 64 hexadecimal digits or as base64."""
    for read in (bytes.fromhex, lambda said: base64.b64decode(said, validate=True)):
        try:
            key = read(text.strip())
        except ValueError:
            continue
        if len(key) == KEY_BYTES:
            return key
    raise EncryptionError("error.key_form")


# --- libraries ------------------------------------------------------------------------------------


def _aead(key: bytes) -> Any:
    try:
        # The public module imports every cipher and takes three times as long; a hook pays for it.
        from cryptography.hazmat.bindings._rust import (  # type: ignore[import-not-found,unused-ignore]
            openssl,
        )

        return openssl.aead.AESGCM(key)
    except (ImportError, AttributeError):
        pass
    try:
        from cryptography.hazmat.primitives.ciphers.aead import (  # type: ignore[import-not-found,unused-ignore]
            AESGCM,
        )
    except ImportError:
        raise EncryptionError("error.encryption_library", library="cryptography") from None
    return AESGCM(key)


def store_keys(store: Path) -> tuple[bytes, ...]:
    """The keys of a store file in an encrypted folder, the present one first; none if the file is plain."""
    keys = open_keys(store.parent)
    with open(store, "rb") as file:  # noqa: PTH123 - on the way of hooks
        head = file.read(len(PLAIN_STORE))
    if head == PLAIN_STORE or (not head and not keys.on):
        return ()
    return keys.stores
