"""What anybody could build in an afternoon: BM25 over the words, or the cosine of the vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy

from nagori.language.tokenizer import query_tokens, tokens

K1, B = 1.2, 0.75  # Lucene's


class Bm25:
    """Lucene's BM25 over nagori's own tokens, so that the difference is ranking and not tokenising."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(tokens(text)) for text in texts]
        lengths = numpy.array([each.total() for each in counts], float)
        self._size = len(texts)
        self._norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1.0))
        postings: dict[str, list[tuple[int, int]]] = {}
        for row, each in enumerate(counts):
            for token, count in each.items():
                postings.setdefault(token, []).append((row, count))
        self._weights = {token: self._weigh(numpy.array(rows)) for token, rows in postings.items()}

    def _weigh(self, rows: Any) -> tuple[Any, Any]:
        """(rows, their scores for one token)."""
        where, count = rows[:, 0], rows[:, 1]
        rarity = numpy.log(1 + (self._size - len(where) + 0.5) / (len(where) + 0.5))
        return where, rarity * count / (count + self._norm[where])

    def top(self, query: str, k: int) -> list[int]:
        scores = numpy.zeros(self._size)
        for token in query_tokens(query):
            if token in self._weights:
                where, weights = self._weights[token]
                scores[where] += weights
        return [row for row in best(scores, k) if scores[row] > 0]


class Cosine:
    """Every vector compared with the question's; unit vectors, so the dot product is the cosine."""

    def __init__(self, vectors: Sequence[bytes], dimension: int) -> None:
        self._rows = numpy.frombuffer(b"".join(vectors), "<f4").reshape(-1, dimension)

    def top(self, vector: bytes, k: int) -> list[int]:
        # Not `@`: its helper threads spin while they wait, and would be on the bill.
        return best(numpy.einsum("ij,j->i", self._rows, numpy.frombuffer(vector, "<f4")), k)


def best(scores: Any, k: int) -> list[int]:
    """Rows of the highest scores; of equals, the first said."""
    order: list[int] = numpy.argsort(-scores, kind="stable")[:k].tolist()
    return order
