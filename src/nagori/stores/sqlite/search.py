"""Search in SQLite: candidates by words and by meaning.

Words are in an FTS5 index. Few vectors are scanned exactly. Many vectors (see `writes.MANY`) are first
compared by one bit per dimension (above the model's average or not), and only a generous shortlist is
measured exactly: for 100,000 vectors that is a tenth of the work, and the bits fit into the cache.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from math import fsum

import apsw

from nagori.core.model import Hit
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
from nagori.stores.sql_rows import (
    SKETCH,
    SKETCH_TYPES,
    Model,
    Selection,
    ask,
    filter_out_empty,
    keys,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nagori.stores.sql_rows import Condition

    Near = list[tuple[int, float]]  # keys and cosines

SHORTLIST = 600  # contains 99.9 % of the true top ten of 8,000 real vectors, 98.5 % of the top fifty
FEW = 32  # up to this many vectors are searched one by one


# --- by meaning -----------------------------------------------------------------------------------


def nearest(
    db: apsw.Connection,
    selection: Selection,
    vectors: Sequence[bytes],
    model: Model,
    k: int,
    least: float,
) -> list[list[Hit]]:
    """For each vector the k nearest, best first."""
    if len(vectors) >= FEW:
        from nagori.stores.sqlite import bulk_nearest as together  # only linking needs it

        if together.pays(model):
            return _hits(db, together.nearest_keys(db, selection, vectors, model, k, least))
    near = [nearest_keys(db, selection, Query(vector=vector, nearest=k), model) for vector in vectors]
    return _hits(db, [[(key, score) for key, score in each if score >= least] for each in near])


def _hits(db: apsw.Connection, near: Sequence[Near]) -> list[list[Hit]]:
    every = {key for each in near for key, _ in each}
    sql = "SELECT m.key, m.id FROM json_each(?) CROSS JOIN memory m ON m.key = value"
    ids = dict(ask(db, sql, (json.dumps(list(every)),)))
    hits = [[Hit(ids[key], score) for key, score in each if key in ids] for each in near]
    return [sorted(each, key=lambda hit: (-hit.score, hit.id)) for each in hits]


def nearest_keys(db: apsw.Connection, selection: Selection, query: Query, model: Model) -> Near:
    """Keys and cosines of the memories nearest to a question: over all vectors, or over a shortlist if there
    are many."""
    if model.center is None:
        return _scan(db, selection, query, model)
    shortlist = _shortlist(db, selection, query.search_vector, model, max(SHORTLIST, 2 * query.nearest))
    return _measure_shortlist(db, shortlist, query, model)


def _score(query: Query) -> tuple[str, tuple[object, ...]]:
    """SQL: the cosine of the vector v; the larger one, if the question has two vectors."""
    score = "1 - vec_distance_cosine(v.v, ?)"
    if query.other is None:
        return score, (query.vector,)
    values = (query.vector, query.other.vector, query.other.offset)
    return f"max({score}, {score} + ?)", values


def _scan(db: apsw.Connection, selection: Selection, query: Query, model: Model) -> Near:
    (where, values), (score, asked) = selection.meant(), _score(query)
    sql = f"""
        SELECT m.key, {score} AS score
        FROM {model.vectors} v CROSS JOIN memory m ON m.key = v.key
        WHERE v.key BETWEEN ? AND ? AND {where} ORDER BY score DESC, m.id LIMIT ?"""
    return ask(db, sql, (*asked, *keys(selection.number), *values, query.nearest))


def _shortlist(db: apsw.Connection, selection: Selection, vector: bytes, model: Model, n: int) -> list[int]:
    """Keys of the selected memories whose bits agree best."""
    where, values = meant_by_bits(selection)
    sql = f"""
        SELECT b.key FROM {model.bits} b WHERE {where}
        ORDER BY vec_distance_hamming(vec_bit(b.b), vec_quantize_binary(vec_sub(?, ?))), b.key LIMIT ?"""
    return [key for (key,) in ask(db, sql, (*values, vector, model.center, n))]


def meant_by_bits(selection: Selection) -> Condition:
    """`Selection.meant` on the table b of bits, which has a copy of the visibility columns."""
    visible, values = selection.visible("b")
    archived = "" if selection.filter.archived else "NOT b.archived"
    forgotten = "" if selection.filter.forgotten else "NOT b.forgotten"
    narrow, more = selection.narrowed()
    if narrow:
        narrow = f"b.key IN (SELECT m.key FROM memory m WHERE m.owner = ? AND {narrow})"
        more = (selection.number, *more)
    parts = filter_out_empty("b.key BETWEEN ? AND ?", visible, archived, forgotten, narrow)
    return " AND ".join(parts), (*keys(selection.number), *values, *more)


def _measure_shortlist(db: apsw.Connection, shortlist: Sequence[int], query: Query, model: Model) -> Near:
    """Exact cosines of the shortlist. CROSS JOIN keeps SQLite from starting with the whole table."""
    score, asked = _score(query)
    sql = f"""
        SELECT v.key, {score} AS score
        FROM json_each(?) CROSS JOIN {model.vectors} v ON v.key = value
        ORDER BY score DESC, v.key LIMIT ?"""
    return ask(db, sql, (*asked, json.dumps(shortlist), query.nearest))


# --- candidates -----------------------------------------------------------------------------------


def candidates(db: apsw.Connection, selection: Selection, query: Query, model: Model | None) -> Candidates:
    """All candidate data for `core.relevance`, in a few queries."""
    number, words = selection.number, query.words
    last, total, mean = _size(db, number)
    places, left_out = _places(db, number, words, total)
    near: dict[int, float] = {}
    spread = (0.0, 1.0)
    if query.vector is not None and model is not None:
        near = dict(nearest_keys(db, selection, query, model))
        spread = usual(db, number, query, model, last)
    infos = _sketches(db, selection, most_telling(places, total) | near.keys())
    return join_candidates(words, (total, mean), places, left_out, near, spread, infos)


def _size(db: apsw.Connection, number: int | None) -> tuple[int, int, float]:
    """The number of the last memory, the count of memories, and their mean length in tokens."""
    rows = ask(db, "SELECT next - 1, next - 1 - erased, tokens FROM owner WHERE id = ?", (number,))
    last, total, tokens = rows[0] if rows else (0, 0, 0)
    return last, total, tokens / total if total else 1.0


def _places(
    db: apsw.Connection, number: int | None, words: Sequence[str], total: int
) -> tuple[dict[str, Counter[int]], int]:
    """Which memories contain which words, and the number of ignored words."""
    sql = "SELECT doc FROM word_places WHERE term = ? AND doc BETWEEN ? AND ? LIMIT ?"
    span, docs_of = (*keys(number), 2 * common_count(total)), {}
    for word in words:
        if word:
            docs_of[word] = [doc for (doc,) in ask(db, sql, (word, *span))]
    chosen, left_out = choose_words({word: len(docs) for word, docs in docs_of.items()}, total)
    return {word: Counter(docs_of[word]) for word in chosen}, left_out


def usual(
    db: apsw.Connection, number: int | None, query: Query, model: Model, last: int
) -> tuple[float, float]:
    """Mean and spread of the question's cosines over an even sample of memories."""
    low, _ = keys(number)
    spots = json.dumps([low + n for n in sample_numbers(last)])
    score, asked = _score(query)
    sql = f"""
        SELECT {score} FROM json_each(?) CROSS JOIN {model.vectors} v ON v.key = value"""
    return summarize_cosines([cosine for (cosine,) in ask(db, sql, (*asked, spots))])


def summarize_cosines(cosines: Sequence[float]) -> tuple[float, float]:
    """Mean and spread; the sums are exact, so they do not depend on the order."""
    if not cosines:
        return usual_cosine(None, None)
    count = len(cosines)
    return usual_cosine(fsum(cosines) / count, fsum([cosine * cosine for cosine in cosines]) / count)


def _sketches(db: apsw.Connection, selection: Selection, spots: Iterable[int]) -> dict[int, CandidateInfo]:
    where, values = selection.meant()
    sql = f"SELECT {SKETCH} FROM json_each(?) CROSS JOIN memory m ON m.key = value WHERE {where}"
    rows = ask(db, sql, (json.dumps(sorted(spots)), *values))
    SKETCH_TYPES.check(rows)
    return {key: CandidateInfo(*rest) for key, *rest in rows}
