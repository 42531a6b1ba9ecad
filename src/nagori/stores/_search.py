"""How SQLite finds memories: the scope and the filter as SQL, words by FTS5, vectors by scan.

Vectors are scanned exactly while there are few. Past `MANY`, one bit a dimension (is it above the
model's average?) is compared first, and only a generous shortlist is measured exactly: at 100,000
vectors that is a tenth of the work, and the bits are small enough to stay in the cache.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence

import apsw

from nagori.core.bookkeeping import Vector
from nagori.core.model import Filter, Hit, Scope, micros
from nagori.core.text import fts_query
from nagori.core.values import Value
from nagori.stores._rows import ask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Condition = tuple[str, tuple[Any, ...]]

MANY = 4096  # from here on a shortlist pays
SHORTLIST = 600  # holds 99.9 % of the true ten of 8,000 real vectors, 98.5 % of the true fifty
COMMON = 500  # a word in more memories than this, and in a tenth of all, tells nothing apart
KEY_BITS = 40  # a space holds up to 2^40 memories; see 0001_memories.sql


class Model(Value):
    """A vector model and its tables. Their names are made of the number alone."""

    id: int
    name: str
    dimension: int
    center: bytes | None

    @property
    def vectors(self) -> str:
        return f"vector_{self.id:d}"

    @property
    def bits(self) -> str:
        return f"bits_{self.id:d}"


def keys(number: int | None) -> tuple[int, int]:
    """The range of keys of a space; an unknown space has an empty one."""
    if number is None:
        return (1, 0)
    return (number << KEY_BITS, ((number + 1) << KEY_BITS) - 1)


def seen_by(scope: Scope, number: int | None, table: str = "m") -> Condition:
    """What `core.selection.sees` says, as SQL."""
    low, high = keys(number)
    parts, values = [f"{table}.key BETWEEN ? AND ?"], [low, high]
    if table == "m":
        parts, values = ["m.space = ?"], [number]  # type: ignore[list-item]
    visible, more = _visible(scope, table)
    return " AND ".join([*parts, *visible]), (*values, *more)


def _visible(scope: Scope, table: str) -> tuple[list[str], list[Any]]:
    parts: list[str] = []
    values: list[Any] = []
    if scope.project is not None:
        parts.append(f"({table}.project IS NULL OR {table}.project = ?)")
        values.append(scope.project)
    if scope.agent is not None or scope.role is not None:
        parts.append(
            f"({table}.privacy = 'public' OR {table}.agent = ?"
            f" OR ({table}.privacy = 'agent-only' AND {table}.role = ?))"
        )
        values += [scope.agent, scope.role]
    return parts, values


def meant(scope: Scope, number: int | None, filter: Filter) -> Condition:
    """What `core.selection.sees` and `passes` say together, as SQL on the table m."""
    seen, values = seen_by(scope, number)
    narrowed, more = _passes(filter)
    alive = _alive(filter)
    return " AND ".join([seen, *alive, *narrowed]), (*values, *more)


def _alive(filter: Filter) -> list[str]:
    parts = []
    if not filter.archived:
        parts.append("m.level <> 4")
    if not filter.forgotten:
        parts.append("m.forgotten_at IS NULL")
    return parts


def _passes(filter: Filter) -> tuple[list[str], list[Any]]:
    parts: list[str] = []
    values: list[Any] = []
    for column, wanted in (
        ("kind", filter.kinds),
        ("level", filter.levels),
        ("category", filter.categories),
    ):
        if wanted is not None:
            parts.append(f"m.{column} IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(sorted(wanted)))
    for condition, value in (
        ("m.created >= ?", micros(filter.since)),
        ("m.created < ?", micros(filter.until)),
        ("m.session = ?", filter.session),
    ):
        if value is not None:
            parts.append(condition)
            values.append(value)
    if filter.protected is not None:  # in the words of its index, which a bound value would not meet
        parts.append("m.protected" if filter.protected else "NOT m.protected")
    return parts, values


def by_words(
    db: apsw.Connection, scope: Scope, number: int | None, words: Sequence[str], k: int, filter: Filter
) -> list[Hit]:
    """BM25 over the space's range of the word index."""
    query = fts_query(_telling(db, number, words))
    if not query:
        return []
    where, values = meant(scope, number, filter)
    sql = f"""
        SELECT m.id, -bm25(words) AS score FROM words JOIN memory m ON m.key = words.rowid
        WHERE words MATCH ? AND words.rowid BETWEEN ? AND ? AND {where}
        ORDER BY score DESC, m.id LIMIT ?"""
    return [Hit(*row) for row in db.execute(sql, (query, *keys(number), *values, k))]


def _telling(db: apsw.Connection, number: int | None, words: Sequence[str]) -> list[str]:
    """`words` without those that nearly every memory has: they cost most and say least."""
    [(last,)] = ask(db, "SELECT coalesce(max(next), 0) FROM space WHERE id = ?", (number,))
    if last <= COMMON or len(words) < 2:
        return list(words)
    limit = max(COMMON, last // 10)
    sql = """SELECT count(*) FROM (SELECT 1 FROM words
             WHERE words MATCH ? AND rowid BETWEEN ? AND ? LIMIT ?)"""

    def rare(word: str) -> bool:
        return bool(word) and ask(db, sql, (fts_query([word]), *keys(number), limit + 1))[0][0] <= limit

    return [word for word in words if rare(word)] or list(words)


def by_vector(
    db: apsw.Connection, scope: Scope, number: int | None, vector: bytes, model: Model, k: int, filter: Filter
) -> list[Hit]:
    """Cosine, exact: over everything, or over a shortlist when there is very much."""
    return named(db, [nearest_keys(db, scope, number, vector, model, k, filter)])[0]


def named(db: apsw.Connection, found: Sequence[Sequence[tuple[int, float]]]) -> list[list[Hit]]:
    """Keys and scores as hits, the best first."""
    every = {key for near in found for key, _ in near}
    sql = "SELECT m.key, m.id FROM json_each(?) CROSS JOIN memory m ON m.key = value"
    ids = dict(ask(db, sql, (json.dumps(list(every)),)))
    hits = [[Hit(ids[key], score) for key, score in near if key in ids] for near in found]
    return [sorted(each, key=lambda hit: (-hit.score, hit.id)) for each in hits]


def nearest_keys(
    db: apsw.Connection, scope: Scope, number: int | None, vector: bytes, model: Model, k: int, filter: Filter
) -> list[tuple[int, float]]:
    """Keys and cosines of the k nearest."""
    if model.center is None:
        return _scan(db, scope, number, vector, model, k, filter)
    shortlist = _shortlist(db, scope, number, vector, model, max(SHORTLIST, 2 * k), filter)
    return _measure(db, shortlist, vector, model, k)


def _scan(
    db: apsw.Connection, scope: Scope, number: int | None, vector: bytes, model: Model, k: int, filter: Filter
) -> list[tuple[int, float]]:
    where, values = meant(scope, number, filter)
    sql = f"""
        SELECT m.key, 1 - vec_distance_cosine(v.v, ?) AS score
        FROM {model.vectors} v CROSS JOIN memory m ON m.key = v.key
        WHERE v.key BETWEEN ? AND ? AND {where} ORDER BY score DESC, m.id LIMIT ?"""
    return ask(db, sql, (vector, *keys(number), *values, k))


def _shortlist(
    db: apsw.Connection, scope: Scope, number: int | None, vector: bytes, model: Model, n: int, filter: Filter
) -> list[int]:
    """Keys of the memories meant whose bits agree best."""
    where, values = meant_by_bits(scope, number, filter)
    sql = f"""
        SELECT b.key FROM {model.bits} b WHERE {where}
        ORDER BY vec_distance_hamming(vec_bit(b.b), vec_quantize_binary(vec_sub(?, ?))), b.key LIMIT ?"""
    return [key for (key,) in ask(db, sql, (*values, vector, model.center, n))]


def meant_by_bits(scope: Scope, number: int | None, filter: Filter) -> Condition:
    """`meant` on the table b of bits: who may see a memory is written beside them."""
    seen, values = seen_by(scope, number, "b")
    parts = [seen]
    if not filter.archived:
        parts.append("NOT b.archived")
    if not filter.forgotten:
        parts.append("NOT b.forgotten")
    narrowed, more = _passes(filter)
    if narrowed:
        wanted = " AND ".join(["m.space = ?", *narrowed])
        parts.append(f"b.key IN (SELECT m.key FROM memory m WHERE {wanted})")
        more = [number, *more]
    return " AND ".join(parts), (*values, *more)


def _measure(
    db: apsw.Connection, shortlist: Sequence[int], vector: bytes, model: Model, k: int
) -> list[tuple[int, float]]:
    """Exact cosines of the shortlist. CROSS JOIN keeps SQLite from starting with the whole table."""
    sql = f"""
        SELECT v.key, 1 - vec_distance_cosine(v.v, ?) AS score
        FROM json_each(?) CROSS JOIN {model.vectors} v ON v.key = value
        ORDER BY score DESC, v.key LIMIT ?"""
    return ask(db, sql, (vector, json.dumps(shortlist), k))


# --- keeping vectors ------------------------------------------------------------------------------


def load_model(db: apsw.Connection, name: str) -> Model | None:
    row = db.execute("SELECT id, name, dimension, center FROM model WHERE name = ?", (name,)).fetchone()
    return Model(*row) if row else None


def new_model(db: apsw.Connection, name: str, dimension: int) -> Model:
    """Register a model and make its tables."""
    db.execute("INSERT INTO model (name, dimension) VALUES (?, ?)", (name, dimension))
    model = load_model(db, name)
    assert model is not None
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


def put_vectors(db: apsw.Connection, model: Model, number: int, vectors: Mapping[str, Vector]) -> int:
    """Keep those vectors that are of their memory's present text; how many."""
    sql = f"""
        SELECT m.key, m.id, m.digest, v.key IS NULL FROM memory m LEFT JOIN {model.vectors} v ON v.key = m.key
        WHERE m.space = ? AND m.id IN (SELECT value FROM json_each(?))"""
    rows = ask(db, sql, (number, json.dumps(list(vectors))))
    fitting = [(key, id, fresh) for key, id, digest, fresh in rows if digest == vectors[id].digest]
    db.executemany(
        f"INSERT OR REPLACE INTO {model.vectors} (key, digest, v) VALUES (?, ?, ?)",
        [(key, vectors[id].digest, vectors[id].data) for key, id, _ in fitting],
    )
    fresh_count = sum(fresh for *_, fresh in fitting)
    db.execute("UPDATE model SET vectors = vectors + ? WHERE id = ?", (fresh_count, model.id))
    if model.center is not None:
        keys = json.dumps([key for key, *_ in fitting])
        _put_bits(db, model, "m.key IN (SELECT value FROM json_each(?))", (keys,))
    return len(fitting)


def refresh_vectors(db: apsw.Connection, model: Model, changed: Sequence[int]) -> None:
    """After memories changed: a vector of other words goes; who may see it is copied to the bits."""
    if not changed:
        return
    these, among = (json.dumps(list(changed)),), "key IN (SELECT value FROM json_each(?))"
    now = f"(SELECT m.digest FROM memory m WHERE m.key = {model.vectors}.key)"
    db.execute(f"DELETE FROM {model.vectors} WHERE {among} AND digest <> {now}", these)
    db.execute("UPDATE model SET vectors = vectors - ? WHERE id = ?", (db.changes(), model.id))
    if model.center is not None:
        _put_bits(db, model, f"m.{among}", these)
        db.execute(
            f"DELETE FROM {model.bits} WHERE {among} AND key NOT IN (SELECT key FROM {model.vectors})", these
        )


def grow_bits(db: apsw.Connection, model: Model) -> bool:
    """Make the shortlist table once there are many vectors; True if it was made now."""
    count = db.execute("SELECT vectors FROM model WHERE id = ?", (model.id,)).fetchone()
    few = count is None or count[0] < MANY
    if few or model.center is not None or model.dimension % 8:  # bits come in whole bytes
        return False
    center = _center(db, model)
    db.execute("UPDATE model SET center = ? WHERE id = ?", (center, model.id))
    _put_bits(db, Model(model.id, model.name, model.dimension, center), "1", ())
    return True


def _center(db: apsw.Connection, model: Model) -> bytes:
    """The average of a sample. Without it the bits of models whose vectors all point one way say little."""
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


def set_vectors_aside(db: apsw.Connection, model: Model, number: int) -> None:
    """Keep a space's vectors by the text they are of, while its rows are made anew."""
    rows = f"SELECT digest, v FROM {model.vectors} WHERE key BETWEEN ? AND ?"
    db.execute(f"CREATE TEMP TABLE kept_{model.id:d} AS {rows}", keys(number))
    db.execute(f"CREATE INDEX temp.kept_{model.id:d}_digest ON kept_{model.id:d} (digest)")


def bring_vectors_back(db: apsw.Connection, model: Model, number: int) -> None:
    db.execute(
        f"INSERT OR IGNORE INTO {model.vectors} (key, digest, v) SELECT m.key, m.digest, k.v "
        f"FROM memory m JOIN temp.kept_{model.id:d} k ON k.digest = m.digest WHERE m.space = ?",
        (number,),
    )
    db.execute(f"DROP TABLE temp.kept_{model.id:d}")
    db.execute(f"UPDATE model SET vectors = (SELECT count(*) FROM {model.vectors}) WHERE id = ?", (model.id,))
    if model.center is not None:
        _put_bits(db, model, "m.space = ?", (number,))


def empty(db: apsw.Connection, models: Sequence[Model], number: int) -> None:
    """Take every row of a space out of every table but the words, which must be told row by row."""
    span = keys(number)
    for model in models:
        db.execute(f"DELETE FROM {model.vectors} WHERE key BETWEEN ? AND ?", span)
        db.execute(f"DELETE FROM {model.bits} WHERE key BETWEEN ? AND ?", span)
    db.execute("DELETE FROM text WHERE key BETWEEN ? AND ?", span)
    for table in ("memory", "relation", "log"):
        db.execute(f"DELETE FROM {table} WHERE space = ?", (number,))


def without_vector(model: Model | None) -> str:
    """SQL: the memory m has no vector of its present text."""
    if model is None:
        return "1"
    return f"NOT EXISTS (SELECT 1 FROM {model.vectors} v WHERE v.key = m.key AND v.digest = m.digest)"


def disagreements(db: apsw.Connection, models: Sequence[Model]) -> Iterator[str]:
    """Where tables that must agree do not."""
    questions = {
        "memories without words": "SELECT key FROM memory EXCEPT SELECT id FROM words_docsize",
        "words without a memory": "SELECT id FROM words_docsize EXCEPT SELECT key FROM memory",
        "memories without text": "SELECT key FROM memory EXCEPT SELECT key FROM text",
        "text without a memory": "SELECT key FROM text EXCEPT SELECT key FROM memory",
    }
    for model in models:
        questions[f"vectors without a memory ({model.name})"] = (
            f"SELECT key FROM {model.vectors} EXCEPT SELECT key FROM memory"
        )
        if model.center is not None:
            questions[f"vectors without bits ({model.name})"] = (
                f"SELECT key FROM {model.vectors} EXCEPT SELECT key FROM {model.bits}"
            )
    for fault, sql in questions.items():
        count = len(db.execute(sql).fetchall())
        if count:
            yield f"{count} {fault}"
