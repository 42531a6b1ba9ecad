"""Search in PostgreSQL: candidates by words and by meaning.

Words are in our own postings. Vectors are scanned exactly in half precision, the best measured in full.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from nagori.core.relevance import (
    CandidateInfo,
    Candidates,
    Query,
    choose_words,
    common_count,
    join_candidates,
    most_telling,
    sample_numbers,
    usual_cosine,
)
from nagori.postgres import Session
from nagori.stores.postgres.values import full_vector, half_vector, read_vector, term_of
from nagori.stores.sql_rows import SKETCH, SKETCH_TYPES, Model, Selection, ask, keys

Near = list[tuple[int, str, float]]  # keys, ids and cosines

SPARE = 50  # half precision may exchange neighbours: so many more are measured in full


def without_vector(model: Model | None) -> str:
    """SQL: the memory m has no vector of its present text."""
    if model is None:
        return "1 = 1"
    return f"""NOT EXISTS (SELECT 1 FROM embedding v WHERE v.owner = m.owner AND v.model = {model.id:d}
               AND v.key = m.key AND v.digest = m.digest)"""


def nearest(db: Session, selection: Selection, vectors: Sequence[bytes], model: Model, k: int) -> list[Near]:
    """Keys, ids and cosines of the k nearest to each of `vectors`, best first. For several the selected
    vectors are read once."""
    where, values = selection.meant()
    once = "MATERIALIZED" if len(vectors) > 1 else "NOT MATERIALIZED"
    sql = f"""
        WITH selected AS {once} (
            SELECT e.key, m.id, e.h FROM embedding e JOIN memory m ON m.key = e.key
            WHERE e.owner = ? AND e.model = ? AND {where})
        SELECT a.n, e.key, s.id, 1 - (e.v <=> a.v) AS score
        FROM unnest(?b, ?b) WITH ORDINALITY AS a (h, v, n)
        CROSS JOIN LATERAL (SELECT key, id FROM selected ORDER BY h <#> a.h LIMIT ?) s
        JOIN embedding e ON e.owner = ? AND e.model = ? AND e.key = s.key ORDER BY a.n, score DESC, s.id"""
    whose = (selection.number, model.id)
    asked = ([half_vector(each) for each in vectors], [full_vector(each) for each in vectors])
    found: list[Near] = [[] for _ in vectors]
    for n, *near in ask(db, sql, (*whose, *values, *asked, k + SPARE, *whose)) if vectors else ():
        found[n - 1].append(tuple(near))
    return [each[:k] for each in found]


def vectors_of(db: Session, number: int | None, model: Model, digests: Sequence[bytes]) -> dict[bytes, bytes]:
    sql = """SELECT DISTINCT ON (digest) digest, vector_send(v) FROM embedding
             WHERE owner = ? AND model = ? AND digest = ANY(?)"""
    rows = ask(db, sql, (number, model.id, list(digests)))
    return {digest: read_vector(sent) for digest, sent in rows}


def find_candidates(db: Session, selection: Selection, query: Query, model: Model | None) -> Candidates:
    """All candidate data for `core.relevance`, in a few queries."""
    number, words = selection.number, query.words
    rows = ask(db, "SELECT next - 1, next - 1 - erased, tokens FROM owner WHERE id = ?", (number,))
    last, total, tokens = rows[0] if rows else (0, 0, 0)
    found = _places(db, number, words, total)
    chosen, left_out = choose_words({word: n.total() for word, n in found.items()}, total)
    places = {word: found[word] for word in chosen}
    near: dict[int, float] = {}
    usual = (0.0, 1.0)
    if query.vector is not None and model is not None:
        several = 1 if query.other is None else 2  # those of one vector alone may be nearer than of the mean
        [hits] = nearest(db, selection, [query.search_vector], model, several * query.nearest)
        near = {key: score for key, _, score in hits}
        if query.other is not None:
            near = _measure(db, number, list(near), query, model)
        usual = _usual(db, number, query, model, last)
    infos = _sketches(db, selection, most_telling(places, total) | near.keys())
    size = (total, tokens / total if total else 1.0)
    return join_candidates(words, size, places, left_out, near, usual, infos)


def _places(db: Session, number: int | None, words: Sequence[str], total: int) -> dict[str, Counter[int]]:
    sql = """
        SELECT t.term, p.key, p.times FROM unnest(?::bigint[]) AS t (term) CROSS JOIN LATERAL (
            SELECT key, times FROM posting WHERE owner = ? AND term = t.term ORDER BY key LIMIT ?) p"""
    terms = {term_of(word): word for word in words if word}
    found: dict[str, Counter[int]] = {}
    for term, key, times in ask(db, sql, (list(terms), number, 2 * common_count(total))):
        found.setdefault(terms[term], Counter())[key] = times
    return found


def _measure(
    db: Session, number: int | None, spots: Sequence[int], query: Query, model: Model
) -> dict[int, float]:
    """The larger one of both cosines of some memories, for a question with two vectors."""
    assert query.vector is not None
    assert query.other is not None
    sql = """
        SELECT key, greatest(1 - (v <=> ?), 1 - (v <=> ?) + ?::float8) AS score FROM embedding
        WHERE owner = ? AND model = ? AND key = ANY(?) ORDER BY score DESC, key LIMIT ?"""
    both = (full_vector(query.vector), full_vector(query.other.vector), query.other.offset)
    return dict(ask(db, sql, (*both, number, model.id, list(spots), query.nearest)))


def _usual(db: Session, number: int | None, query: Query, model: Model, last: int) -> tuple[float, float]:
    """Mean and spread of the question's cosines over an even sample of memories."""
    assert query.vector is not None
    low, _ = keys(number)
    cosine = "-(h <#> ?)"
    values: tuple[object, ...] = (half_vector(query.vector),)
    if query.other is not None:
        cosine = f"greatest({cosine}, {cosine} + ?::float8)"
        values = (*values, half_vector(query.other.vector), query.other.offset)
    sql = f"""
        SELECT avg(c), avg(c * c) FROM (
            SELECT {cosine} AS c FROM embedding WHERE owner = ? AND model = ? AND key = ANY(?)) sample"""
    spots = [low + n for n in sample_numbers(last)]
    [(mean, square)] = ask(db, sql, (*values, number, model.id, spots))
    return usual_cosine(mean, square)


def _sketches(db: Session, selection: Selection, spots: Iterable[int]) -> dict[int, CandidateInfo]:
    where, values = selection.meant()
    rows = ask(db, f"SELECT {SKETCH} FROM memory m WHERE m.key = ANY(?) AND {where}", (list(spots), *values))
    SKETCH_TYPES.check(rows)
    return {key: CandidateInfo(*rest) for key, *rest in rows}
