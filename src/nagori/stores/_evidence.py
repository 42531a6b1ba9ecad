"""What SQLite knows about a question: where its words stand, what is near in meaning, sketches of both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from math import log

import apsw

from nagori.core.model import Filter, Scope
from nagori.core.relevance import Evidence, Sketch
from nagori.stores import _search as search
from nagori.stores._rows import SKETCH, ask

SAMPLE = 200  # memories that stand for all when the usual cosine is asked for
MOST_SKETCHES = 500  # memories that are looked at because of their words
MOST_PLACES = 4_000  # of all words together; the rarest words come first


def evidence(
    db: apsw.Connection,
    scope: Scope,
    number: int | None,
    words: Sequence[str],
    vector: bytes | None,
    model: search.Model | None,
    n: int,
    filter: Filter,
) -> Evidence:
    """Everything for `core.relevance`, in a handful of questions to the database."""
    total, mean = _size(db, number)
    places, common = _places(db, number, words, total)
    near: dict[int, float] = {}
    usual = (0.0, 1.0)
    if vector is not None and model is not None:
        near = dict(search.nearest_keys(db, scope, number, vector, model, n, filter))
        usual = _usual(db, number, vector, model, total)
    keys = _most_telling(places, total) | near.keys()
    sketches = _sketches(db, scope, number, filter, keys)
    return Evidence(
        total=total,
        asked=len({word for word in words if word}) - common,
        mean_tokens=mean,
        places={word: seen for word, where in places.items() if (seen := _by_id(where, sketches))},
        cosines={sketches[key].id: cosine for key, cosine in near.items() if key in sketches},
        usual=usual,
        sketches={sketch.id: sketch for sketch in sketches.values()},
    )


def _size(db: apsw.Connection, number: int | None) -> tuple[int, float]:
    rows = ask(db, "SELECT next - 1, tokens FROM space WHERE id = ?", (number,))
    total, tokens = rows[0] if rows else (0, 0)
    return total, tokens / total if total else 1.0


def _places(
    db: apsw.Connection, number: int | None, words: Sequence[str], total: int
) -> tuple[dict[str, Counter[int]], int]:
    """Which memories have which words, and how many words were left out: one that most memories have tells
    nothing apart and costs most."""
    common = max(search.COMMON, total // 10)
    sql = "SELECT doc FROM word_places WHERE term = ? AND doc BETWEEN ? AND ? LIMIT ?"
    found = {}
    for word in words:
        if word:
            found[word] = [doc for (doc,) in ask(db, sql, (word, *search.keys(number), 2 * common))]
    kept: dict[str, Counter[int]] = {}
    room, left_out = MOST_PLACES, 0
    for word, docs in sorted(found.items(), key=lambda item: len(item[1])):
        room -= len(docs)
        if not docs:
            continue
        if (len(docs) < 2 * common and room > 0) or not kept:
            kept[word] = Counter(docs)
        else:
            left_out += 1
    return kept, left_out


def _most_telling(places: Mapping[str, Mapping[int, int]], total: int) -> set[int]:
    """The memories with the rarest of the words: a question of common words touches thousands."""
    keys = {key for where in places.values() for key in where}
    if len(keys) <= MOST_SKETCHES:
        return keys
    rarity: dict[int, float] = dict.fromkeys(keys, 0.0)
    for where in places.values():
        weight = log(1 + total / len(where))
        for key in where:
            rarity[key] += weight
    return set(nlargest(MOST_SKETCHES, rarity, key=lambda key: (rarity[key], key)))


def _usual(
    db: apsw.Connection, number: int | None, vector: bytes, model: search.Model, total: int
) -> tuple[float, float]:
    """Mean and spread of the question's cosines over memories taken evenly from all."""
    low, _ = search.keys(number)
    step = max(1, total // SAMPLE)
    keys = json.dumps([low + n for n in range(1, total + 1, step)])
    sql = f"""
        SELECT avg(c), avg(c * c) FROM (SELECT 1 - vec_distance_cosine(v.v, ?) AS c
        FROM json_each(?) CROSS JOIN {model.vectors} v ON v.key = value)"""
    [(mean, square)] = ask(db, sql, (vector, keys))
    if mean is None:
        return (0.0, 1.0)
    return (mean, max(square - mean * mean, 1e-12) ** 0.5)


def _sketches(
    db: apsw.Connection, scope: Scope, number: int | None, filter: Filter, keys: Iterable[int]
) -> dict[int, Sketch]:
    where, values = search.meant(scope, number, filter)
    sql = f"SELECT {SKETCH} FROM json_each(?) CROSS JOIN memory m ON m.key = value WHERE {where}"
    rows = ask(db, sql, (json.dumps(list(keys)), *values))
    return {key: Sketch(*rest) for key, *rest in rows}


def _by_id(where: Mapping[int, int], sketches: Mapping[int, Sketch]) -> dict[str, int]:
    return {sketches[key].id: times for key, times in where.items() if key in sketches}
