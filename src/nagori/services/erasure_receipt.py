"""Receipts of erasures: what was removed, what was searched, and what remains elsewhere until when.

A receipt is signed with a key of the data folder (HMAC-SHA256). It proves that this folder issued it and that
nobody changed it since; it is given to the caller and not kept, because it may hold a name.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Mapping
from pathlib import Path

from nagori.core.value_object import Value, default_factory
from nagori.errors import InvalidInput, Notice, StoreError
from nagori.files import open_private, write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KEY_FILE = "receipt.key"
KEY_BYTES = 32
FORMAT = 1


class ErasureStep(Value):
    """One part that was erased: how many of it were removed, and how many a look afterwards found."""

    part: str
    removed: int
    left: int = 0


class SearchReport(Value):
    """The search of every file of the folder for passages of what was erased.

    `found` are the files in which a passage was found that nothing remaining says. `shared` is the number of
    passages that somebody or something remaining says, too: they cannot be told apart.
    """

    files: int
    bytes: int
    passages: int
    encodings: tuple[str, ...]
    shared: int = 0
    found: tuple[str, ...] = ()


class ErasureReceipt(Value):
    """A finished erasure."""

    target: str
    name: str
    tenant: str
    user: str
    requested: str
    finished: str
    steps: tuple[ErasureStep, ...]
    search: SearchReport
    remains: tuple[Notice, ...] = ()
    interrupted: bool = False  # finished by another process, which no longer knew the words
    signature: str = ""
    counts: Mapping[str, int] = default_factory(dict)

    @property
    def clean(self) -> bool:
        """Whether nothing was found afterwards."""
        return not self.search.found and not any(step.left for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        """The receipt as JSON can hold it."""
        search = self.search
        return {
            "format": FORMAT,
            "target": self.target,
            "name": self.name,
            "tenant": self.tenant,
            "user": self.user,
            "requested": self.requested,
            "finished": self.finished,
            "counts": dict(self.counts),
            "steps": [{"part": s.part, "removed": s.removed, "left": s.left} for s in self.steps],
            "search": {
                "files": search.files,
                "bytes": search.bytes,
                "passages": search.passages,
                "encodings": list(search.encodings),
                "shared": search.shared,
                "found": list(search.found),
            },
            "remains": [each.to_record() for each in self.remains],
            "interrupted": self.interrupted,
            "clean": self.clean,
            "signature": self.signature,
        }


def sign(key: bytes, said: Mapping[str, Any]) -> str:
    """The signature of everything but the signature."""
    rest = {name: value for name, value in said.items() if name != "signature"}
    body = json.dumps(rest, sort_keys=True, ensure_ascii=True, separators=(",", ":")).encode()
    return hmac.new(key, body, "sha256").hexdigest()


def verify(folder: Path, text: str | bytes) -> bool:
    """Whether this folder issued a receipt and nobody changed it. InvalidInput if the text is no receipt."""
    try:
        said = json.loads(text)
        signature = said["signature"]
        if said["format"] != FORMAT or not isinstance(signature, str) or not signature.isascii():
            raise ValueError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InvalidInput("receipt", "error.not_receipt") from None
    key = read_key(folder)
    return key is not None and hmac.compare_digest(signature, sign(key, said))


def read_key(folder: Path) -> bytes | None:
    try:
        key = (folder / KEY_FILE).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as trouble:
        raise StoreError("error.file", path=folder / KEY_FILE, reason=trouble.strerror) from trouble
    return key if len(key) == KEY_BYTES else None


def create_key(folder: Path) -> tuple[bytes, bool]:
    """The key of the folder, and whether it is new. Of two that are created at once the first one counts."""
    key = read_key(folder)
    if key is not None:
        return key, False
    fresh = folder / f"{KEY_FILE}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        write_private(fresh, os.urandom(KEY_BYTES))
        try:
            os.link(fresh, folder / KEY_FILE)
        except FileExistsError:
            _replace_unusable(folder, fresh)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as trouble:
        raise StoreError("error.file", path=folder / KEY_FILE, reason=trouble.strerror) from trouble
    key = read_key(folder)
    assert key is not None
    return key, True


def _replace_unusable(folder: Path, fresh: Path) -> None:
    """A key file that is too short was never used to sign."""
    if read_key(folder) is None:
        descriptor = open_private(folder / KEY_FILE, os.O_WRONLY | os.O_TRUNC)
        os.write(descriptor, fresh.read_bytes())
        os.close(descriptor)
