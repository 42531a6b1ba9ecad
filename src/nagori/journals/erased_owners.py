"""Tombstones: which owners were erased, without their names.

    <root>/=erased/<salt>/<digest>     one private file per erased owner

The digest of the owner's folder and a random salt finds the file of a known owner; nobody can read a name
from it. The file holds digests of the erased journals, so that an old backup of one of them is recognised,
and whether a new journal may be started. Only until the erasure is finished it holds the name, so that a
killed erasure can go on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from nagori.core.sha256_without_openssl import sha256
from nagori.core.storage_types import Owner
from nagori.core.value_object import Value, replace
from nagori.files import ERASED, private_dir, sync_folder, write_durably


class Tombstone(Value):
    """One erased owner. `owner` is known until the erasure is finished."""

    path: Path
    journals: tuple[str, ...] = ()
    reopened: bool = False
    owner: Owner | None = None

    def covers(self, identity: str) -> bool:
        """Whether a journal with this identity was erased. One without an identity is of an old version."""
        return not identity or digest_of(self.path.parent.name, identity) in self.journals


def digest_of(salt: str, words: str) -> str:
    return sha256(f"{salt}\x1f{words}".encode()).hexdigest()[:40]


def find_tombstones(root: Path, place: str) -> list[Tombstone]:
    """The tombstones of an owner, by the name of the owner's folder."""
    paths = (root / ERASED / salt / digest_of(salt, place) for salt in _salts(root))
    return [_read(path) for path in paths if path.exists()]


def all_tombstones(root: Path) -> Iterator[Tombstone]:
    for salt in _salts(root):
        for path in sorted((root / ERASED / salt).glob("*")):
            if not path.suffix:
                yield _read(path)


def set_tombstone(root: Path, place: str, owner: Owner, identity: str) -> None:
    """Note durably that an owner is being erased."""
    found = find_tombstones(root, place) or [Tombstone(_new_path(root, place))]
    for each in found:
        digest = digest_of(each.path.parent.name, identity)
        known = each.journals if not identity or digest in each.journals else (*each.journals, digest)
        write_tombstone(replace(each, journals=known, reopened=False, owner=owner))


def write_tombstone(stone: Tombstone) -> None:
    said = {"journals": list(stone.journals), "reopened": stone.reopened}
    body = json.dumps(said | ({"owner": list(stone.owner)} if stone.owner else {}))
    fresh = private_dir(stone.path.parent) / f"{stone.path.name}.{os.getpid()}"
    write_durably(fresh, body.encode())
    fresh.replace(stone.path)
    for folder in (stone.path.parent, stone.path.parent.parent, stone.path.parent.parent.parent):
        sync_folder(folder)


def _salts(root: Path) -> list[str]:
    try:
        return sorted(os.listdir(root / ERASED))  # noqa: PTH208 - names are all that is needed
    except (FileNotFoundError, NotADirectoryError):
        return []


def _new_path(root: Path, place: str) -> Path:
    salt = next(iter(_salts(root)), "") or os.urandom(16).hex()
    return root / ERASED / salt / digest_of(salt, place)


def _read(path: Path) -> Tombstone:
    """What a file says. One that cannot be read still says that its owner was erased."""
    try:
        said = json.loads(path.read_bytes())
        owner = said.get("owner")
        journals = tuple(str(each) for each in said["journals"])
        named = (str(owner[0]), str(owner[1])) if owner else None
        return Tombstone(path, journals, said.get("reopened") is True, named)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return Tombstone(path)
