"""Write to SQLite: words, vectors and, with `stores/sql_statements.py`, the rest, in one commit."""

from __future__ import annotations

import json
import time
from array import array
from collections.abc import Mapping, Sequence

import apsw

from nagori.core.model import Memory, check_vector
from nagori.core.storage_types import Batch, Owner, Vector
from nagori.core.value_object import replace
from nagori.language.tokenizer import index_words
from nagori.stores.sql_rows import (
    SELECT,
    SQLITE,
    Model,
    all_models,
    ask,
    find_model,
    find_owner,
    keys,
    load,
    load_by_id,
    without_vector,
)
from nagori.stores.sql_statements import (
    MemoryChanges,
    add_rows,
    delete_history,
    forget_mentions,
    move_owner,
    put_beside,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Known = Mapping[str, tuple[int, Memory]]

MANY = 4096  # number of vectors from which a shortlist pays off

ADD_WORDS = "INSERT INTO words (rowid, tokens) VALUES (?, ?)"
# A contentless index needs the exact former content to delete a row.
FORGET_WORDS = "INSERT INTO words (words, rowid, tokens) VALUES ('delete', ?, ?)"
SECURE_DELETE = "INSERT INTO words (words, rank) VALUES ('secure-delete', ?)"
MERGE = "INSERT INTO words (words, rank) VALUES ('merge', ?)"
SMALL = 50  # so many rows without an index take no longer to delete than one memory
NOBODYS_ROW, FILLER = 0, "nobody"  # a row of the word index that is in no owner's key range
AMONG = "IN (SELECT value FROM json_each(?))"

# columns copied beside the bits of a vector
COPIED_FIELDS = frozenset(("level", "forgotten_at", "project", "agent", "role", "privacy"))


# --- an owner -------------------------------------------------------------------------------------


def open_owner(db: apsw.Connection, owner: Owner) -> tuple[int, int, int]:
    """Its number, its last applied event and the number of its next memory; a new owner is created."""
    db.execute("INSERT OR IGNORE INTO owner (tenant, user, revision) VALUES (?, ?, random())", owner)
    [row] = ask(db, "SELECT id, seq, next FROM owner WHERE tenant = ? AND user = ?", owner)
    return row[0], row[1], row[2]


def renew_revision(db: apsw.Connection, number: int) -> None:
    """Tell every process that an index of this owner in its memory is out of date."""
    db.execute("UPDATE owner SET revision = random() WHERE id = ?", (number,))


def apply(db: apsw.Connection, number: int, first: int, known: Known, batch: Batch) -> None:
    """Apply all changes of a batch. `known` are the existing memories among them; new ones are numbered from
    `first`."""
    newborn = [memory for memory in batch.memories if memory.id not in known]
    # By key, new ones last: the word index flushes to disk whenever a key is out of order.
    changes = sorted(
        [(*known[m.id], m) for m in batch.memories if m.id in known], key=lambda change: change[0]
    )
    tokens = change_memories(db, number, changes) if changes else 0
    tokens += add_memories(db, number, first, newborn) if newborn else 0
    put_beside(db, number, batch)
    put_vectors(db, number, batch.vectors)
    erased, lost = _erase(db, number, batch.erased) if batch.erased else (0, 0)
    if batch.redacted_turns:
        seqs = json.dumps(list(batch.redacted_turns))
        db.execute(f"DELETE FROM turn WHERE owner = ? AND seq {AMONG}", (number, seqs))
    if not _is_logged(batch):
        renew_revision(db, number)
    move_owner(db, number, batch, (len(newborn), tokens - lost, erased))


def _is_logged(batch: Batch) -> bool:
    """Whether the log names every memory that has changed."""
    logged = {id for entry in batch.log for id in entry.memories}
    return (
        not batch.erased
        and all(memory.id in logged for memory in batch.memories)
        and logged >= set(batch.vectors)
    )


def empty_owner(db: apsw.Connection, number: int) -> None:
    """Delete all rows of an owner; its vectors are set aside by text."""
    for model in all_models(db):
        _set_vectors_aside(db, model, number)
    _delete_rows(db, number)
    sql = "UPDATE owner SET seq = 0, mark = 0, journal = '', next = 1, tokens = 0, erased = 0 WHERE id = ?"
    db.execute(sql, (number,))
    renew_revision(db, number)


def _delete_rows(db: apsw.Connection, number: int) -> None:
    _forget_all_words(db, number)
    span = keys(number)
    for model in all_models(db):
        for table in (model.vectors, model.bits):
            db.execute(f"DELETE FROM {table} WHERE key BETWEEN ? AND ?", span)
    for table in ("text", "mention", "mention_done"):
        db.execute(f"DELETE FROM {table} WHERE key BETWEEN ? AND ?", span)
    for table in ("memory", "concept", "relation", "log", "turn", "origin", "state", "item"):
        db.execute(f"DELETE FROM {table} WHERE owner = ?", (number,))


def refill_owner(db: apsw.Connection, number: int) -> None:
    """Restore the vectors of texts that came back."""
    aside = ask(db, "SELECT name FROM temp.sqlite_schema WHERE name LIKE 'aside%' AND type = 'table'")
    for model in all_models(db):
        if (f"aside_{model.id:d}",) in aside:
            _bring_vectors_back(db, model, number)


def erase_owner(db: apsw.Connection, owner: Owner, at_once: int) -> int:
    """Delete about `at_once` memories of an owner, then its other rows, which are small, many more at once;
    returns their number. The row with the name goes last, so that nothing is left behind without an owner."""
    number = find_owner(db, owner)
    if number is None:
        db.execute("DELETE FROM lease WHERE tenant = ? AND user = ?", owner)
        return db.changes()
    if not _has_others(db, number):
        return _erase_alone(db, number)
    renew_revision(db, number)
    ids = [id for (id,) in ask(db, "SELECT id FROM memory WHERE owner = ? LIMIT ?", (number, at_once))]
    if ids:
        _erase(db, number, ids)
        return len(ids)
    for table in ("relation", "log", "turn", "origin", "state", "item"):
        count = _delete_some(db, table, number, SMALL * at_once)
        if count:
            return count
    db.execute("DELETE FROM owner WHERE id = ?", (number,))
    return 1


def erase_memories(
    db: apsw.Connection, number: int, ids: Sequence[str], erasures: Sequence[tuple[str, int]]
) -> None:
    """Delete some of the memories that a batch erases, ahead of it."""
    erased, lost = _erase(db, number, ids)
    delete_history(db, number, erasures)
    sql = "UPDATE owner SET tokens = tokens - ?, erased = erased + ?, revision = random() WHERE id = ?"
    db.execute(sql, (lost, erased, number))


def _erase_alone(db: apsw.Connection, number: int) -> int:
    """Delete the only owner with memories in one transaction: the word index is emptied as a whole, and what
    was computed from the vectors goes with them."""
    _delete_rows(db, number)
    db.execute("UPDATE model SET vectors = 0, center = NULL")
    db.execute("DELETE FROM owner WHERE id = ?", (number,))
    return 1


def _delete_some(db: apsw.Connection, table: str, number: int, at_once: int) -> int:
    key = {"relation": "source, target, type", "log": "memory, seq", "origin": "memory, turn"}
    columns = {**key, "turn": "seq", "state": "key", "item": "id"}[table]
    some = f"SELECT {columns} FROM {table} WHERE owner = ? LIMIT ?"
    db.execute(f"DELETE FROM {table} WHERE owner = ? AND ({columns}) IN ({some})", (number, number, at_once))
    return db.changes()


# --- memories -------------------------------------------------------------------------------------


def add_memories(db: apsw.Connection, number: int, first: int, memories: Sequence[Memory]) -> int:
    """Add memories with their texts and words; returns the number of tokens."""
    keyed = list(enumerate(memories, keys(number)[0] | first))
    words = {key: index_words(memory) for key, memory in keyed}
    add_rows(db, number, keyed, words)
    db.executemany(ADD_WORDS, [(key, " ".join(each)) for key, each in words.items()])
    return sum(map(len, words.values()))


def change_memories(db: apsw.Connection, number: int, changes: Sequence[tuple[int, Memory, Memory]]) -> int:
    """Change existing memories (key, old, new); returns the change in tokens."""
    sorted_changes = MemoryChanges(changes)
    sorted_changes.write(db)
    if sorted_changes.words:
        renew_revision(db, number)
    faded = {key for key, old, memory in changes if _is_kept_in_full(old, memory)}
    words = [
        (key, " ".join(former), " ".join(sorted_changes.words[key]))
        for key, former in sorted_changes.former.items()
    ]
    if faded & sorted_changes.words.keys():
        # Not removed from the index yet, because that is most of a cycle's work: the words are still kept in
        # full beside it. `compact` removes them.
        db.execute(SECURE_DELETE, (0,))
        _replace_words(db, [change for change in words if change[0] in faded])
        db.execute(SECURE_DELETE, (1,))
    if edited := [change for change in words if change[0] not in faded]:
        restart_merge(db)
        _replace_words(db, edited)
    moved = [
        key
        for key, fields in sorted_changes.fields.items()
        if key in sorted_changes.words or not COPIED_FIELDS.isdisjoint(fields)
    ]
    if moved:
        for model in all_models(db):
            _refresh_vectors(db, model, moved)
    return sorted_changes.gained


def _is_kept_in_full(old: Memory, memory: Memory) -> bool:
    """Whether the old words are in the memory's other texts."""
    same = (old.keywords, old.source) == (memory.keywords, memory.source)
    return same and old.text in memory.texts.values()


def _replace_words(db: apsw.Connection, words: Sequence[tuple[int, str, str]]) -> None:
    for key, before, after in words:
        db.execute(FORGET_WORDS, (key, before))
        db.execute(ADD_WORDS, (key, after))


def _has_others(db: apsw.Connection, number: int) -> bool:
    """Whether another owner has memories. Asked by range, so that the index answers: with `<>` all memories
    of the first owner would be read."""
    one = "EXISTS (SELECT 1 FROM memory WHERE owner {} ?)"
    [(found,)] = ask(db, f"SELECT {one.format('<')} OR {one.format('>')}", (number, number))
    return bool(found)


def _forget_all_words(db: apsw.Connection, number: int) -> None:
    if not _has_others(db, number):
        db.execute("INSERT INTO words (words) VALUES ('delete-all')")
        return
    for key, old in load(db, f"{SELECT} WHERE m.owner = ?", (number,)):
        db.execute(FORGET_WORDS, (key, " ".join(index_words(old))))


def _erase(db: apsw.Connection, number: int, ids: Sequence[str]) -> tuple[int, int]:
    """Delete these memories except their log and origins, which hold no words and identify the events to
    redact; returns the number of memories and of their tokens."""
    restart_merge(db)
    gone = load_by_id(db, number, ids)
    words = [(key, index_words(memory)) for key, memory in gone]
    # Only marked as deleted in the index, which is a seventh of the work of removing them one by one. No
    # erasure is finished before `compact` has merged the index, which removes them.
    db.execute(SECURE_DELETE, (0,))
    db.executemany(FORGET_WORDS, [(key, " ".join(each)) for key, each in words])
    db.execute(SECURE_DELETE, (1,))
    lost = sum(len(each) for _, each in words)
    spots, names = json.dumps([key for key, _ in gone]), json.dumps(list(ids))
    for model in all_models(db):
        db.execute(f"DELETE FROM {model.bits} WHERE key {AMONG}", (spots,))
        db.execute(f"DELETE FROM {model.vectors} WHERE key {AMONG}", (spots,))
        db.execute("UPDATE model SET vectors = vectors - ? WHERE id = ?", (db.changes(), model.id))
    forget_mentions(db, [key for key, _ in gone], SQLITE)
    for table in ("text", "memory"):
        db.execute(f"DELETE FROM {table} WHERE key {AMONG}", (spots,))
    for column in ("source", "target"):
        db.execute(f"DELETE FROM relation WHERE owner = ? AND {column} {AMONG}", (number, names))
    return len(gone), lost


# --- vectors --------------------------------------------------------------------------------------


def put_vectors(db: apsw.Connection, number: int, vectors: Mapping[str, Vector]) -> int:
    """Store the vectors that belong to the present text of their memory; returns their number."""
    count = 0
    for name in sorted({vector.model for vector in vectors.values()}):
        mine = {id: vector for id, vector in vectors.items() if vector.model == name}
        count += _put_vectors_of(db, number, _model_for(db, name, mine), mine)
        if count:  # the first vectors of an owner activate their model
            db.execute("UPDATE owner SET model = ? WHERE id = ? AND model IS NULL", (name, number))
    return count


def _model_for(db: apsw.Connection, name: str, vectors: Mapping[str, Vector]) -> Model:
    """The model of these vectors, after checking them; the first ones create it."""
    model = find_model(db, name)
    dimension = model.dimension if model else None
    for vector in vectors.values():
        dimension = check_vector(vector.data, dimension)
    return model or _new_model(db, name, dimension or 0)


def model_named(db: apsw.Connection, name: str, dimension: int) -> Model:
    return find_model(db, name) or _new_model(db, name, dimension)


def count_vectors(db: apsw.Connection, model: Model) -> None:
    """After vectors were copied from elsewhere: update the count, and create the shortlist if there are
    many."""
    db.execute(f"UPDATE model SET vectors = (SELECT count(*) FROM {model.vectors}) WHERE id = ?", (model.id,))
    _begin_bits(db, model)


def _new_model(db: apsw.Connection, name: str, dimension: int) -> Model:
    """Register a model and create its tables."""
    db.execute("INSERT INTO model (name, dimension) VALUES (?, ?)", (name, dimension))
    model = Model(db.last_insert_rowid(), name, dimension, None)
    db.execute(
        f"CREATE TABLE {model.vectors} (key INTEGER PRIMARY KEY, digest BLOB NOT NULL, v BLOB NOT NULL)"
    )
    db.execute(f"CREATE INDEX {model.vectors}_digest ON {model.vectors} (digest)")
    db.execute(
        f"CREATE TABLE {model.bits} (key INTEGER PRIMARY KEY, archived INTEGER NOT NULL,"
        " forgotten INTEGER NOT NULL, project TEXT, agent TEXT, role TEXT, privacy TEXT NOT NULL,"
        " b BLOB NOT NULL)"
    )
    return model


def _put_vectors_of(db: apsw.Connection, number: int, model: Model, vectors: Mapping[str, Vector]) -> int:
    sql = f"""
        SELECT m.key, m.id, m.digest, v.key IS NULL FROM memory m LEFT JOIN {model.vectors} v ON v.key = m.key
        WHERE m.owner = ? AND m.id {AMONG}"""
    rows = ask(db, sql, (number, json.dumps(list(vectors))))
    fitting = [(key, id, new) for key, id, digest, new in rows if digest == vectors[id].digest]
    db.executemany(
        f"INSERT OR REPLACE INTO {model.vectors} (key, digest, v) VALUES (?, ?, ?)",
        [(key, vectors[id].digest, vectors[id].data) for key, id, _ in fitting],
    )
    new = sum(new for *_, new in fitting)
    db.execute("UPDATE model SET vectors = vectors + ? WHERE id = ?", (new, model.id))
    if model.center is not None:
        spots = json.dumps([key for key, *_ in fitting])
        _put_bits(db, model, f"m.key {AMONG}", (spots,))
    else:
        _begin_bits(db, model)
    return len(fitting)


def _refresh_vectors(db: apsw.Connection, model: Model, changed: Sequence[int]) -> None:
    """After memories changed: delete vectors of former texts and copy the visibility to the bits."""
    these = (json.dumps(list(changed)),)
    now = f"(SELECT m.digest FROM memory m WHERE m.key = {model.vectors}.key)"
    db.execute(f"DELETE FROM {model.vectors} WHERE key {AMONG} AND digest <> {now}", these)
    db.execute("UPDATE model SET vectors = vectors - ? WHERE id = ?", (db.changes(), model.id))
    if model.center is not None:
        _put_bits(db, model, f"m.key {AMONG}", these)
        db.execute(
            f"DELETE FROM {model.bits} WHERE key {AMONG} AND key NOT IN (SELECT key FROM {model.vectors})",
            these,
        )


def _begin_bits(db: apsw.Connection, model: Model) -> None:
    """Create the shortlist table once there are many vectors."""
    [(count,)] = ask(db, "SELECT vectors FROM model WHERE id = ?", (model.id,))
    if count >= MANY and model.dimension % 8 == 0:  # bits are stored in whole bytes
        center = _center(db, model)
        db.execute("UPDATE model SET center = ? WHERE id = ?", (center, model.id))
        _put_bits(db, replace(model, center=center), "1", ())


def _center(db: apsw.Connection, model: Model) -> bytes:
    """The mean of a sample. Some models' vectors all point one way; relative to zero their bits say
    little."""
    sample = ask(db, f"SELECT v FROM {model.vectors} ORDER BY digest LIMIT 512")
    columns = zip(*(array("f", data) for (data,) in sample), strict=True)
    return array("f", (sum(column) / len(sample) for column in columns)).tobytes()


def _put_bits(db: apsw.Connection, model: Model, where: str, values: tuple[Any, ...]) -> None:
    sql = f"""
        INSERT OR REPLACE INTO {model.bits} (key, archived, forgotten, project, agent, role, privacy, b)
        SELECT m.key, m.level = 4, m.forgotten_at IS NOT NULL, m.project, m.agent, m.role, m.privacy,
               vec_quantize_binary(vec_sub(v.v, ?))
        FROM memory m JOIN {model.vectors} v ON v.key = m.key WHERE {where}"""
    db.execute(sql, (model.center, *values))


def _set_vectors_aside(db: apsw.Connection, model: Model, number: int) -> None:
    """Keep an owner's vectors by text while its rows are rebuilt."""
    vectors = f"SELECT digest, v FROM {model.vectors} WHERE key BETWEEN ? AND ?"
    db.execute(f"CREATE TEMP TABLE aside_{model.id:d} AS {vectors}", keys(number))
    db.execute(f"CREATE INDEX temp.aside_{model.id:d}_digest ON aside_{model.id:d} (digest)")


def _bring_vectors_back(db: apsw.Connection, model: Model, number: int) -> None:
    db.execute(
        f"INSERT OR IGNORE INTO {model.vectors} (key, digest, v) SELECT m.key, m.digest, k.v "
        f"FROM memory m JOIN temp.aside_{model.id:d} k ON k.digest = m.digest WHERE m.owner = ?",
        (number,),
    )
    db.execute(f"DROP TABLE temp.aside_{model.id:d}")
    db.execute(f"UPDATE model SET vectors = (SELECT count(*) FROM {model.vectors}) WHERE id = ?", (model.id,))
    if model.center is not None:
        _put_bits(db, model, "m.owner = ?", (number,))


def activate_model(db: apsw.Connection, number: int, name: str) -> bool:
    """Search with a model from now on, if every memory has its vector."""
    where = without_vector(find_model(db, name))
    if ask(db, f"SELECT 1 FROM memory m WHERE m.owner = ? AND {where} LIMIT 1", (number,)):
        return False
    db.execute("UPDATE owner SET model = ? WHERE id = ?", (name, number))
    return True


def drop_vectors(db: apsw.Connection, number: int, model: Model, limit: int) -> int:
    """Delete at most `limit` vectors of a model, unless it is active."""
    [(active,)] = ask(db, "SELECT model FROM owner WHERE id = ?", (number,))
    if active == model.name:
        return 0
    some = f"SELECT key FROM {model.vectors} WHERE key BETWEEN ? AND ? ORDER BY key LIMIT ?"
    chosen = ask(db, f"SELECT min(key), max(key), count(*) FROM ({some})", (*keys(number), limit))
    low, high, count = chosen[0]
    if count:
        renew_revision(db, number)
        db.execute(f"DELETE FROM {model.vectors} WHERE key BETWEEN ? AND ?", (low, high))
        db.execute(f"DELETE FROM {model.bits} WHERE key BETWEEN ? AND ?", (low, high))
        db.execute("UPDATE model SET vectors = vectors - ? WHERE id = ?", (count, model.id))
    return int(count)


# --- maintenance ----------------------------------------------------------------------------------


def merge_words(db: apsw.Connection, steps: int, pages: int) -> bool:
    """Merge all segments of the word index into one, so that deleted words are physically removed, a few
    pages at a time; returns whether it is done. The first step merges all segments; the others continue that
    even if new segments appear (see 'merge' in the FTS5 documentation). A step that changes fewer than two
    rows found nothing to do.

    A word that was replaced earlier leaves a marker with the word itself when it is deleted, and FTS5 drops
    markers only while it merges. So a row that belongs to nobody is added first: there are two segments at
    least. It stays until the merge is done, which another call may do, or until more words are deleted."""
    if not _is_merging(db):
        db.execute(ADD_WORDS, (NOBODYS_ROW, FILLER))
    for step in range(steps):
        before, begin = db.total_changes(), time.monotonic()
        db.execute(MERGE, (-pages if step == 0 else pages,))
        if db.total_changes() - before < 2:
            restart_merge(db)
            return True
        time.sleep(time.monotonic() - begin)  # others get their turn: they look again after a while
    return False


def restart_merge(db: apsw.Connection) -> None:
    """Let the next merge begin anew: words were deleted from what may have been merged already."""
    if _is_merging(db):
        db.execute(FORGET_WORDS, (NOBODYS_ROW, FILLER))


def _is_merging(db: apsw.Connection) -> bool:
    return bool(ask(db, "SELECT 1 FROM words_docsize WHERE id = ?", (NOBODYS_ROW,)))
