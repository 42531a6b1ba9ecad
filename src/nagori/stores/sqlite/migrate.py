"""Migrate the schema: each step and its version number are one transaction.

`PRAGMA user_version` holds the number. A store of a newer nagori is refused and not changed.
"""

from __future__ import annotations

import apsw

from nagori.errors import SchemaTooNew, StoreError

APPLICATION_ID = 0x6E616772  # "nagr"
STEPS = (
    "0001_memories.sql",
    "0002_judged.sql",
    "0003_model_in_use.sql",
    "0004_turns.sql",
    "0005_names.sql",
    "0006_items.sql",
    "0007_concepts.sql",
    "0008_revision.sql",
)


def migrate(connection: apsw.Connection, steps: tuple[str, ...] = STEPS) -> int:
    """Bring the schema up to date; returns the number of steps."""
    version = _version(connection)
    if version > len(steps):
        raise SchemaTooNew("error.schema_too_new", version=version, known=len(steps))
    for number in range(version + 1, len(steps) + 1):
        _step(connection, number, steps[number - 1])
    return len(steps) - version


def _version(connection: apsw.Connection) -> int:
    application = connection.pragma("application_id")
    if application not in (0, APPLICATION_ID):
        raise StoreError("error.store_foreign")
    return int(connection.pragma("user_version"))


def _step(connection: apsw.Connection, number: int, name: str) -> None:
    from importlib.resources import files  # rarely needed, and not cheap

    sql = files("nagori.stores.sqlite").joinpath("migrations", name).read_text(encoding="utf-8")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.pragma("user_version") < number:  # another process may have done it
            connection.execute(sql)
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", number)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
