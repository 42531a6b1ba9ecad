"""How well words alone tell a feeling: `python -m bench.appraisal DATA [--json FILE] [--no-embedder]`.

DATA holds three public sets. No weight was fitted to them; errors on the Japanese `train` split were read
while the rules were written, and five constants were chosen with these sets in view (one of them on all
rows of EmoBank), so `dev` is the fairer figure, not a pristine one:

    emobank-train-dev.csv          English sentences with valence and arousal, 1 to 5  -> Pearson r
    jrte-polarity-train-dev.tsv    Japanese review sentences, -1 / 0 / 1               -> accuracy
    goemotions-{train,dev}.tsv     English comments with 27 emotions                   -> micro F1 of tags

Each figure comes with the 95 % interval of a bootstrap over the sentences. With the embedder every sentence
is placed on the axes of `nagori.language.lexicon.embedding_axes` first; vectors are kept in `--cache`,
since making them takes minutes.
"""

# mypy: disable-error-code="assignment,operator"
# Because one name for several shapes; rows of mixed values.

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import platform
import random
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from math import sqrt
from pathlib import Path
from typing import Any

from nagori.adapters.embed import open_embedder
from nagori.config.sections import Embedding
from nagori.core.model import Valence
from nagori.language.appraisal import Appraisal, AxisPosition, anchors, appraise, axes_from, project
from nagori.protocols import Embedder

RESAMPLES = 400
GOALS = {"emobank valence r": 0.55, "emobank arousal r": 0.35, "jrte accuracy": 0.85, "sentences/s": 2000}
# The nearest of our 23 tags. determination, loneliness, nostalgia and resignation have no counterpart there
# and are left out of the count.
MAPPING = {
    "admiration": "satisfaction", "amusement": "joy", "anger": "anger", "annoyance": "frustration",
    "approval": "satisfaction", "caring": "love", "confusion": "confusion", "curiosity": "curiosity",
    "desire": "hope", "disappointment": "sadness", "disapproval": "frustration", "disgust": "disgust",
    "embarrassment": "guilt", "excitement": "excitement", "fear": "fear", "gratitude": "gratitude",
    "grief": "sadness", "joy": "joy", "love": "love", "nervousness": "anxiety", "optimism": "hope",
    "pride": "pride", "realization": "surprise", "relief": "relief", "remorse": "regret",
    "sadness": "sadness", "surprise": "surprise",
}  # fmt: skip
SIGN = {Valence.POSITIVE: 1, Valence.NEUTRAL: 0, Valence.NEGATIVE: -1}

Measure = Callable[[Sequence[int]], float]


def pearson(xs: Sequence[float], ys: Sequence[float]) -> float:
    n = len(xs)
    mx, my = sum(xs) / n, sum(ys) / n
    xy = sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True))
    xx, yy = sum((x - mx) ** 2 for x in xs), sum((y - my) ** 2 for y in ys)
    return xy / (sqrt(xx * yy) or 1.0)


def with_interval(n: int, measure: Measure) -> dict[str, Any]:
    """The measure of all n rows, and between which values it lies for 95 % of redrawn sets of rows."""
    chance = random.Random(7)
    drawn = sorted(measure(chance.choices(range(n), k=n)) for _ in range(RESAMPLES))
    low, high = drawn[int(0.025 * RESAMPLES)], drawn[int(0.975 * RESAMPLES)]
    return {"value": round(measure(range(n)), 4), "low": round(low, 4), "high": round(high, 4), "n": n}


def share(right: Sequence[bool]) -> dict[str, Any]:
    return with_interval(len(right), lambda rows: sum(right[row] for row in rows) / len(rows))


# ── sentences on the axes ────────────────────────────────────────────────────────────────────────────


class Leaner:
    """Places sentences on the axes of an embedder, and remembers their vectors in a folder."""

    def __init__(self, embedder: Embedder, cache: Path | None) -> None:
        self.embedder, self.cache = embedder, cache
        self.axes = axes_from(self.vectors([anchor.text for anchor in anchors()]))

    def leanings(self, texts: list[str]) -> list[AxisPosition | None]:
        return [project(vector, self.axes) for vector in self.vectors(texts)]

    def vectors(self, texts: list[str]) -> list[bytes]:
        size = self.embedder.dimension * 4
        name = hashlib.sha256("\0".join((self.embedder.model, *texts)).encode()).hexdigest()[:16]
        kept = self.cache / f"{name}.f32" if self.cache else None
        if kept and kept.exists():
            raw = kept.read_bytes()
            return [raw[at : at + size] for at in range(0, len(raw), size)]
        made = list(self.embedder.embed_passages(texts))
        if kept:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(b"".join(made))
        return made


def read_all(texts: list[str], leaner: Leaner | None) -> list[Appraisal]:
    leanings = leaner.leanings(texts) if leaner else [None] * len(texts)
    return [appraise(text, leaning=leaning) for text, leaning in zip(texts, leanings, strict=True)]


# ── the three sets ───────────────────────────────────────────────────────────────────────────────────


def emobank(folder: Path, leaner: Leaner | None) -> dict[str, Any]:
    with (folder / "emobank-train-dev.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    read = read_all([row["text"] for row in rows], leaner)
    found: dict[str, Any] = {}
    for split in ("all", "dev"):
        chosen = [at for at, row in enumerate(rows) if split in ("all", row["split"])]
        for name, column, told in (
            ("valence", "V", [each.valence_score for each in read]),
            ("arousal", "A", [each.emotion.arousal for each in read]),
        ):
            xs, ys = [told[at] for at in chosen], [float(rows[at][column]) for at in chosen]
            key = f"emobank {name} r" + ("" if split == "all" else f" ({split})")
            found[key] = with_interval(len(xs), _correlation(xs, ys))
    return found


def _correlation(xs: list[float], ys: list[float]) -> Measure:
    return lambda rows: pearson([xs[row] for row in rows], [ys[row] for row in rows])


def jrte(folder: Path, leaner: Leaner | None) -> dict[str, Any]:
    """Three classes; then the sign of the score where people saw a feeling, silence being wrong."""
    with (folder / "jrte-polarity-train-dev.tsv").open(encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    read = read_all([row[2] for row in rows], leaner)
    found: dict[str, Any] = {}
    for split in ("all", "dev"):
        mine = [(int(row[1]), each) for row, each in zip(rows, read, strict=True) if split in ("all", row[4])]
        mark = "" if split == "all" else f" ({split})"
        felt = [(label, each) for label, each in mine if label]
        found[f"jrte accuracy{mark}"] = share([SIGN[each.emotion.valence] == label for label, each in mine])
        found[f"jrte two-class accuracy{mark}"] = share(
            [each.valence_score * label > 0 for label, each in felt]
        )
        found[f"jrte majority baseline{mark}"] = share([label == 1 for label, _ in mine])
        found[f"jrte two-class baseline{mark}"] = share([label == 1 for label, _ in felt])
    votes = [json.loads(row[3]) for row in rows]
    agreed = [at for at, vote in enumerate(votes) if len(vote) == 1]
    found["jrte accuracy where all three people agree"] = share(
        [SIGN[read[at].emotion.valence] == int(rows[at][1]) for at in agreed]
    )
    return found


def goemotions(folder: Path) -> dict[str, Any]:
    labels = (folder / "goemotions-labels.txt").read_text(encoding="utf-8").split()
    ours = set(MAPPING.values())
    counts: list[tuple[int, int, int]] = []
    for name in ("goemotions-train.tsv", "goemotions-dev.tsv"):
        for line in (folder / name).read_text(encoding="utf-8").splitlines():
            text, numbers, _ = line.split("\t")
            wanted = {MAPPING[labels[int(number)]] for number in numbers.split(",") if int(number) < 27}
            told = ours.intersection(appraise(text).emotion.tags)
            counts.append((len(wanted & told), len(told), len(wanted)))

    def f1(rows: Sequence[int]) -> float:
        hit, told, wanted = (sum(counts[row][column] for row in rows) for column in range(3))
        return 2 * hit / ((told + wanted) or 1)

    hit, told, wanted = (sum(count[column] for count in counts) for column in range(3))
    return {
        "goemotions tag F1 micro": with_interval(len(counts), f1),
        "goemotions tag precision": {"value": round(hit / told, 4), "n": told},
        "goemotions tag recall": {"value": round(hit / wanted, 4), "n": wanted},
    }


def speed(folder: Path) -> dict[str, Any]:
    """Sentences a second, the best of three runs over both languages, warm."""
    with (folder / "emobank-train-dev.csv").open(encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)][:2000]
    with (folder / "jrte-polarity-train-dev.tsv").open(encoding="utf-8") as file:
        texts += [line.split("\t")[2] for line in file][:2000]
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for text in texts:
            appraise(text)
        best = min(best, time.perf_counter() - start)
    return {"sentences/s": {"value": round(len(texts) / best), "n": len(texts)}}


def show(title: str, found: dict[str, Any]) -> None:
    print(f"\n{title}")
    for name, figure in found.items():
        interval = f"  [{figure['low']}, {figure['high']}]" if "low" in figure else ""
        goal = f"  goal {GOALS[name]}" if name in GOALS else ""
        print(f"  {name:46} {figure['value']}{interval}  n={figure['n']}{goal}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--cache", type=Path, help="folder for vectors")
    parser.add_argument("--no-embedder", action="store_true")
    wanted = parser.parse_args()
    about = {
        "machine": f"{platform.machine()}, {platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "nagori": version("nagori"),
        "resamples": RESAMPLES,
    }
    result: dict[str, Any] = {"about": about, "mapping": MAPPING}
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    result["words"] = emobank(wanted.data, None) | jrte(wanted.data, None) | goemotions(wanted.data)
    result["words"] |= speed(wanted.data)
    show("words alone", result["words"])
    embedder = None if wanted.no_embedder else open_embedder(Embedding())
    if embedder:
        leaner = Leaner(embedder, wanted.cache)
        about["embedder"] = embedder.model
        result["embedder"] = emobank(wanted.data, leaner) | jrte(wanted.data, leaner)
        show(f"with {embedder.model}", result["embedder"])
    if wanted.json:
        wanted.json.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
