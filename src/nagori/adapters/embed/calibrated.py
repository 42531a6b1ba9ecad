"""Wrap any embedding function: validate and normalise its vectors, and measure its cosines once.

For unrelated texts one model gives a cosine of 0.1, another 0.8. Confidence and links are relative to that,
so an unknown model is measured with the sentences below, and the result is saved.
"""

from __future__ import annotations

import math
import re
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from itertools import product
from pathlib import Path
from statistics import fmean, pstdev
from threading import Lock

from nagori.adapters.embed.measurement_cache import Facts, facts_of, note
from nagori.config.sections import Embedding
from nagori.core.memory_scores import cosine
from nagori.core.value_object import Value, split_batches
from nagori.errors import ModelError

AT_ONCE = 64
LONGEST = 6000  # characters; later words are still in the word index
# One person's memories are closer to each other than these sentences, by this many spreads: the bundled
# model gives 0.755 ± 0.030 here, and 0.80 ± 0.03 for real memories.
NEARER = 1.5
RESPITE = 60.0  # seconds without requests after a failure


class Rows(Value):
    """The result: one row of numbers per text, and the model's own name."""

    numbers: Sequence[Iterable[float]]
    answers_as: str = ""


Encode = Callable[[Sequence[str], bool], Rows]  # texts, and whether they are queries


class CalibratedEmbedder:
    """An embedder around `encode`. The first use measures the model, unless that was done before."""

    def __init__(
        self,
        provider: str,
        wanted: Embedding,
        folder: Path | None,
        encode: Encode,
        place: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model = _name(provider, wanted, place)
        self._wanted, self._folder, self._encode = wanted, folder, encode
        self._prefixes = _prefixes(wanted)
        self._turn = Lock()
        self._known: Facts | None = None
        self._clock = clock
        self._trouble: ModelError | None = None
        self._until = 0.0

    @property
    def dimension(self) -> int:
        return self._facts().dimension

    @property
    def unrelated(self) -> tuple[float, float]:
        return self._facts().unrelated

    def embed_passages(self, texts: Sequence[str]) -> list[bytes]:
        facts = self._facts()
        return [
            vector
            for bundle in split_batches(texts, AT_ONCE)
            for vector in self._vectors(bundle, False, facts)
        ]

    def embed_query(self, text: str) -> bytes:
        return self._vectors([text], True, self._facts())[0]

    def _facts(self) -> Facts:
        with self._turn:
            if self._known is None:
                self._known = facts_of(self._folder, self.model)
            if self._known is None:
                self._known = self._measure()
                note(self._folder, self.model, self._known, self._wanted)
            return self._known

    def _measure(self) -> Facts:
        """Cosines between questions and unrelated statements, for each language."""
        first = self._rows(QUESTIONS, True)
        size = len(list(first.numbers[0])) if first.numbers else 0
        facts = Facts(self._wanted.dimensions or size, (0.0, 1.0), first.answers_as)
        asked = [_vector(row, facts.dimension, self.model) for row in first.numbers]
        told = [array("f", data) for data in self._vectors(STATEMENTS, False, facts)]
        half = len(QUESTIONS) // 2
        pairs = [*product(asked[:half], told[:half]), *product(asked[half:], told[half:])]
        cosines = [cosine(question, statement) for question, statement in pairs]
        spread = max(0.01, pstdev(cosines))
        mean = min(0.99, fmean(cosines) + NEARER * spread)
        return Facts(facts.dimension, (mean, spread), facts.answers_as)

    def _vectors(self, texts: Sequence[str], asking: bool, facts: Facts) -> list[bytes]:
        rows = self._rows(texts, asking)
        if rows.answers_as != facts.answers_as:
            raise ModelError(
                "error.model_differs",
                model=self.model,
                other=rows.answers_as[:100],
                passing=False,
            )
        return [_vector(row, facts.dimension, self.model).tobytes() for row in rows.numbers]

    def _rows(self, texts: Sequence[str], asking: bool) -> Rows:
        prefix = self._prefixes[0 if asking else 1]
        rows = self._asked([prefix + text[:LONGEST] for text in texts], asking)
        if len(rows.numbers) != len(texts):
            raise ModelError(
                "error.model_vector_count",
                model=self.model,
                n=len(rows.numbers),
                texts=len(texts),
            )
        return rows

    def _asked(self, texts: Sequence[str], asking: bool) -> Rows:
        """After a failure the model is not called for a while, so that a cycle does not wait for every
        memory."""
        if self._trouble is not None and self._clock() < self._until:
            raise self._trouble
        try:
            rows = self._encode(texts, asking)
        except ModelError as trouble:
            self._trouble = trouble
            self._until = self._clock() + max(RESPITE, trouble.wait or 0.0)
            raise
        self._trouble = None
        return rows


def _vector(row: Iterable[float], dimension: int, model: str) -> array[float]:
    """A row normalised to length one; ModelError for an invalid one."""
    try:
        numbers = [float(n) for n in row]
        length = math.hypot(*numbers)
    except (TypeError, ValueError, OverflowError):
        numbers, length = [], math.nan
    if not math.isfinite(length) or length == 0.0:
        raise ModelError("error.model_not_vector", model=model)
    if len(numbers) != dimension:
        raise ModelError(
            "error.model_dimension",
            model=model,
            n=len(numbers),
            dimension=dimension,
            passing=False,
        )
    return array("f", (n / length for n in numbers))


def _prefixes(wanted: Embedding) -> tuple[str, str]:
    """Prefixes of queries and passages. The E5 family was trained with these; for others the settings say
    it."""
    if wanted.query_prefix or wanted.passage_prefix or not re.search(r"\be5\b", wanted.chosen.lower()):
        return wanted.query_prefix, wanted.passage_prefix
    return "query: ", "passage: "


def _name(provider: str, wanted: Embedding, place: str) -> str:
    """The name includes everything that changes the vectors."""
    size = f":{wanted.dimensions}" if wanted.dimensions else ""
    prefixes = "\n".join(_prefixes(wanted))
    mark = f"#{sha256(prefixes.encode()).hexdigest()[:6]}" if prefixes.strip("\n") else ""
    return f"{provider}:{wanted.chosen}{size}{place}{mark}"


QUESTIONS = (
    "Where did I leave the keys of the garden shed?",
    "Which port does the staging database listen on?",
    "What did the dentist say about the back tooth?",
    "How many eggs go into the lemon cake?",
    "Who is going to play the cello at the wedding?",
    "When does the last ferry to the island leave?",
    "来週の会議は何曜日になりましたか？",
    "妹の誕生日に何を贈ることにした？",
    "テストが失敗していた原因は何だった？",
    "あの映画の監督は誰でしたっけ？",
    "膝の痛みにはどの運動がいいと言われた？",
    "引っ越し先の家賃はいくらだった？",
)
STATEMENTS = (
    "I bought a second-hand bicycle and had its brakes repaired.",
    "We decided to write the release notes in plain English.",
    "My brother will move to Lisbon in the autumn.",
    "The login page was slow because every picture was loaded twice.",
    "I do not drink coffee after four in the afternoon.",
    "She told me that the museum is free on the first Sunday.",
    "昨日、駅前の本屋で古い地図を買いました。",
    "ログの保存期間は三十日にすることに決めた。",
    "父は毎朝六時に犬を散歩に連れて行く。",
    "新しい眼鏡は度が強すぎて少し疲れる。",
    "夏休みは家族で北海道へ行くつもりです。",
    "ビルドが遅いのはキャッシュが効いていないからだった。",
)
