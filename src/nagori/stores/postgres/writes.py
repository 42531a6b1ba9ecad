"""Write to PostgreSQL: words, vectors and, with `stores/sql_statements.py`, the rest, in one commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from nagori.core.model import Memory, check_vector
from nagori.core.storage_types import Batch, Owner, Vector
from nagori.language.tokenizer import index_words
from nagori.postgres import Session
from nagori.stores.postgres.values import POSTGRES, full_vector, half_vector, term_of
from nagori.stores.sql_rows import Model, ask, find_model, keys, load_by_id
from nagori.stores.sql_statements import (
    MemoryChanges,
    add_rows,
    forget_mentions,
    move_owner,
    put_beside,
    put_rows,
)

OWNED = ("memory", "concept", "relation", "log", "turn", "origin", "state", "item", "posting", "embedding")
KEYED = ("text", "mention", "mention_done")
NUMBER = """
    SELECT id, set_config('nagori.owner', id::text, false) FROM owner WHERE tenant = ? AND "user" = ?"""
PUT_WORDS = """
    INSERT INTO posting (owner, key, term, times)
    SELECT ?, * FROM unnest(?::bigint[], ?::bigint[], ?::integer[])"""
PUT_VECTOR = """
    INSERT INTO embedding (owner, model, key, digest, h, v) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (owner, model, key) DO UPDATE SET digest = excluded.digest, h = excluded.h, v = excluded.v"""
RESET = "UPDATE owner SET seq = 0, mark = 0, journal = '', next = 1, tokens = 0, erased = 0 WHERE id = ?"
STALE_VECTORS = """
    DELETE FROM embedding v USING memory m
    WHERE v.owner = ? AND v.key = ANY(?) AND m.key = v.key AND m.digest <> v.digest"""


# --- an owner -------------------------------------------------------------------------------------


def show_owner(db: Session, owner: Owner | None) -> None:
    """See the rows of this owner from now on; of None, the names of all. A number is never used twice, so a
    session keeps it."""
    db.show_tenant(owner[0] if owner else None)
    if owner is not None and (db.owner != owner or db.number is None):
        if db.owner is not None:
            ask(db, "SELECT set_config('nagori.owner', '', false)")
        rows = ask(db, NUMBER, owner)
        db.owner, db.number = owner, rows[0][0] if rows else None


def open_owner(db: Session, owner: Owner) -> tuple[int, int, int]:
    """Its number, its last applied event and the number of its next memory; locked, created if new."""
    if db.number is None:
        db.execute('INSERT INTO owner (tenant, "user") VALUES (?, ?) ON CONFLICT DO NOTHING', owner)
        show_owner(db, owner)
    [(seq, first)] = ask(db, "SELECT seq, next FROM owner WHERE id = ? FOR UPDATE", (db.number,))
    return db.number or 0, seq, first


def apply(db: Session, number: int, first: int, batch: Batch) -> None:
    """Apply all changes of a batch; new memories are numbered from `first`."""
    known = {m.id: (key, m) for key, m in load_by_id(db, number, [m.id for m in batch.memories], POSTGRES)}
    newborn = [memory for memory in batch.memories if memory.id not in known]
    tokens = _change(db, number, [(*known[m.id], m) for m in batch.memories if m.id in known])
    tokens += _add(db, number, first, newborn)
    put_beside(db, number, batch)
    put_vectors(db, number, batch.vectors)
    erased, lost = _erase(db, number, batch.erased) if batch.erased else (0, 0)
    put_rows(db, "DELETE FROM turn WHERE owner = ? AND seq = ?", [(number, n) for n in batch.redacted_turns])
    move_owner(db, number, batch, (len(newborn), tokens - lost, erased))


def empty_owner(db: Session, number: int) -> None:
    """Delete all rows of an owner; its vectors are set aside by text."""
    vectors = f"SELECT * FROM embedding WHERE owner = {number:d}"
    db.execute(f"CREATE TEMP TABLE aside_{number:d} ON COMMIT DROP AS {vectors}")
    for table in KEYED:
        db.execute(f"DELETE FROM {table} WHERE key BETWEEN ? AND ?", keys(number))
    for table in OWNED:
        db.execute(f"DELETE FROM {table} WHERE owner = ?", (number,))
    db.execute(RESET, (number,))


def erase_some(db: Session, owner: Owner, number: int, at_once: int) -> int:
    """Delete about so many memories of an owner, and after the last of them everything else; returns the
    number of rows."""
    first = ask(db, "SELECT key FROM memory WHERE owner = ? ORDER BY key LIMIT ?", (number, at_once))
    spots = [key for (key,) in first]
    gone = 0
    if spots:
        forget_mentions(db, spots, POSTGRES)
        for table in ("posting", "embedding", "memory"):
            rows = f"DELETE FROM {table} WHERE owner = ? AND key = ANY(?) RETURNING 1"
            gone += len(ask(db, rows, (number, spots)))
        return gone + len(ask(db, "DELETE FROM text WHERE key = ANY(?) RETURNING 1", (spots,)))
    for table in KEYED:
        db.execute(f"DELETE FROM {table} WHERE key BETWEEN ? AND ?", keys(number))
    for table in OWNED:
        gone += len(ask(db, f"DELETE FROM {table} WHERE owner = ? RETURNING 1", (number,)))
    gone += len(ask(db, 'DELETE FROM lease WHERE tenant = ? AND "user" = ? RETURNING 1', owner))
    gone += len(ask(db, "DELETE FROM owner WHERE id = ? RETURNING 1", (number,)))
    db.owner, db.number = None, None
    return gone


def refill_owner(db: Session, number: int) -> None:
    """Restore the vectors of texts that came back."""
    sql = f"""
        INSERT INTO embedding (owner, model, key, digest, h, v)
        SELECT m.owner, a.model, m.key, m.digest, a.h, a.v FROM memory m JOIN aside_{number:d} a
        ON a.digest = m.digest WHERE m.owner = ? ON CONFLICT DO NOTHING"""
    db.execute(sql, (number,))
    db.execute(f"DROP TABLE aside_{number:d}")


# --- memories -------------------------------------------------------------------------------------


def _add(db: Session, number: int, first: int, memories: Sequence[Memory]) -> int:
    """Add memories with their texts and words; returns the number of tokens."""
    keyed = list(enumerate(memories, keys(number)[0] | first))
    words = {key: index_words(memory) for key, memory in keyed}
    add_rows(db, number, keyed, words)
    _put_words(db, number, words)
    return sum(map(len, words.values()))


def _change(db: Session, number: int, changes: Sequence[tuple[int, Memory, Memory]]) -> int:
    """Change existing memories (key, old, new); returns the change in tokens."""
    sorted_changes = MemoryChanges(changes)
    sorted_changes.write(db, POSTGRES)
    if sorted_changes.words:
        _forget_words(db, number, sorted_changes.former)
        _put_words(db, number, sorted_changes.words)
        db.execute(STALE_VECTORS, (number, list(sorted_changes.words)))
    return sorted_changes.gained


def _put_words(db: Session, number: int, words: Mapping[int, Sequence[str]]) -> None:
    rows = [(key, term_of(word), n) for key, each in words.items() for word, n in Counter(each).items()]
    if rows:
        db.execute(PUT_WORDS, (number, *map(list, zip(*rows, strict=True))))


def _forget_words(db: Session, number: int, words: Mapping[int, Sequence[str]]) -> None:
    sql = "DELETE FROM posting WHERE owner = ? AND term = ANY(?) AND key = ?"
    put_rows(db, sql, [(number, [term_of(word) for word in set(each)], key) for key, each in words.items()])


def _erase(db: Session, number: int, ids: Sequence[str]) -> tuple[int, int]:
    """Delete these memories except their log and origins, which hold no words and identify the events to
    redact; returns the number of memories and of their tokens."""
    gone = load_by_id(db, number, ids, POSTGRES)
    words = {key: index_words(memory) for key, memory in gone}
    _forget_words(db, number, words)
    forget_mentions(db, list(words), POSTGRES)
    for table in ("embedding", "memory"):
        db.execute(f"DELETE FROM {table} WHERE owner = ? AND key = ANY(?)", (number, list(words)))
    db.execute("DELETE FROM text WHERE key = ANY(?)", (list(words),))
    for end in ("source", "target"):
        db.execute(f"DELETE FROM relation WHERE owner = ? AND {end} = ANY(?)", (number, list(ids)))
    return len(gone), sum(map(len, words.values()))


# --- vectors --------------------------------------------------------------------------------------


def put_vectors(db: Session, number: int, vectors: Mapping[str, Vector]) -> int:
    """Store the vectors that belong to the present text of their memory; returns their number."""
    count, digests = 0, "SELECT key, id, digest FROM memory WHERE owner = ? AND id = ANY(?)"
    for name in sorted({vector.model for vector in vectors.values()}):
        mine = {id: vector for id, vector in vectors.items() if vector.model == name}
        model = _model_for(db, name, mine)
        rows = [
            (number, model.id, key, digest, half_vector(mine[id].data), full_vector(mine[id].data))
            for key, id, digest in ask(db, digests, (number, POSTGRES.pack(list(mine))))
            if digest == mine[id].digest
        ]
        put_rows(db, PUT_VECTOR, rows)
        count += len(rows)
        if rows:  # the first vectors of an owner activate their model
            db.execute("UPDATE owner SET model = ? WHERE id = ? AND model IS NULL", (name, number))
    return count


def _model_for(db: Session, name: str, vectors: Mapping[str, Vector]) -> Model:
    """The model of these vectors, after checking them; the first ones create it."""
    model = find_model(db, name)
    dimension = model.dimension if model else None
    for vector in vectors.values():
        dimension = check_vector(vector.data, dimension)
    if model is None:
        new = "INSERT INTO model (name, dimension) VALUES (?, ?) ON CONFLICT DO NOTHING"
        db.execute(new, (name, dimension))
    return model or _model_for(db, name, {})
