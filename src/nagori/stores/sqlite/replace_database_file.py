"""Replace a store: fill a new file beside the one in use, then exchange the content in one transaction.

Readers see the old content until then; writers wait only while pages are copied. What is not in the journal
(vectors, active models, leases) is taken over from the old file as far as it can be read.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import apsw

from nagori.leases import is_running
from nagori.stores.sql_rows import Model, ask, keys
from nagori.stores.sqlite import writes as writing

SIDE_FILES = ("-wal", "-shm", "-journal")
# Damaged rows are not taken over; they are made again.
OLD_MODELS = """SELECT id, name, dimension, center FROM old.model
                WHERE typeof(id) = 'integer' AND typeof(name) = 'text' AND typeof(dimension) = 'integer'
                  AND dimension BETWEEN 1 AND 65536 AND typeof(center) IN ('blob', 'null') ORDER BY id"""
BOTH = """SELECT s.id, o.id, o.model FROM main.owner s
          JOIN old.owner o ON o.tenant = s.tenant AND o.user = s.user WHERE typeof(o.id) = 'integer'"""
OLD_LEASES = """SELECT * FROM old.lease
                WHERE typeof(tenant) = 'text' AND typeof(user) = 'text' AND typeof(work) = 'text'
                  AND typeof(holder) = 'text' AND typeof(until) = 'real'"""


def take_over(db: apsw.Connection, old: Path) -> None:
    """Copy what only the old file has."""
    if not old.exists():
        return
    db.execute("ATTACH ? AS old", (str(old),))
    try:
        db.execute("BEGIN IMMEDIATE")
        _take_vectors(db)
        db.execute(f"INSERT OR REPLACE INTO main.lease {OLD_LEASES}")
        db.execute("COMMIT")
    except apsw.Error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    finally:
        db.execute("DETACH old")


def _take_vectors(db: apsw.Connection) -> None:
    owners = ask(db, BOTH)
    for former in [Model(*row) for row in ask(db, OLD_MODELS)]:
        model = writing.model_named(db, former.name, former.dimension)
        for number, old_number, _ in owners:
            sql = f"""INSERT OR IGNORE INTO main.{model.vectors} (key, digest, v)
                      SELECT m.key, m.digest, o.v FROM main.memory m
                      JOIN old.{former.vectors} o ON o.digest = m.digest
                      WHERE m.owner = ? AND o.key BETWEEN ? AND ?
                        AND typeof(o.v) = 'blob' AND length(o.v) = ?"""
            db.execute(sql, (number, *keys(old_number), 4 * former.dimension))
        writing.count_vectors(db, model)
    known = {name for (name,) in ask(db, "SELECT name FROM main.model")}
    for number, _, active in owners:
        if active in known:
            db.execute("UPDATE main.owner SET model = ? WHERE id = ?", (active, number))


def copy_pages(source: apsw.Connection, target: apsw.Connection) -> None:
    """Copy a whole database into another in one transaction, while others read it."""
    with target.backup("main", source, "main") as copy:
        copy.step(-1)


def copy_encrypted(path: Path, draft: Path) -> None:
    """Copy a store into an empty file, encrypted with the newest key of its folder, or plain if that is
    asked for."""
    from nagori.encryption import open_keys
    from nagori.stores.sqlite import CIPHER, unlock_store

    keys = open_keys(path.parent)
    how = f"cipher={CIPHER}&key=raw:{keys.stores[0].hex()}" if keys.on else "key="
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
    db = apsw.Connection(path.absolute().as_uri(), flags=flags)
    try:
        unlock_store(db, path)
        db.execute("VACUUM INTO ?", (f"{draft.absolute().as_uri()}?{how}",))
    finally:
        db.close()


def name_draft(path: Path, stamp: str) -> Path:
    """A unique file name for each rebuild, with the process id."""
    return path.with_name(f"{path.name}.rebuild-{stamp}-{os.getpid()}-{os.urandom(4).hex()}")


def remove_abandoned(path: Path) -> None:
    """Remove drafts of killed processes."""
    for file in path.parent.glob(f"{path.name}.rebuild-*"):
        number = re.search(r"-(\d+)-[0-9a-f]{8}(?:-wal|-shm|-journal)?$", file.name)
        if number and not is_running(int(number[1])):
            file.unlink(missing_ok=True)


def find_files(path: Path, kind: str) -> list[Path]:
    """Files beside the store: copies put aside ("damaged", "before-rebuild") and drafts ("rebuild")."""
    found = path.parent.glob(f"{path.name}.{kind}-*")
    return sorted(file for file in found if not file.name.endswith(SIDE_FILES))


def remove(path: Path) -> None:
    """Remove a file with its side files."""
    for ending in (*SIDE_FILES, ""):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def move_aside(path: Path, stamp: str) -> Path | None:
    """Move a file aside with its side files, and return its new place. The file goes first: whoever opens the
    path meanwhile must not join side files that are about to go. The folder is locked."""
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    for ending in ("", *SIDE_FILES):
        file = path.with_name(path.name + ending)
        if file.exists():
            file.rename(aside.with_name(aside.name + ending))
    return aside if aside.exists() else None
