"""How good a ranking is, question by question, and how sure of the mean one may be.

    R@k     share of a question's gold turns among the first k
    all@k   every gold turn is among the first k
    hit@k   at least one is
    MRR     1 / rank of the first gold turn
    newest_first  the best-ranked evidence stands above every superseded turn (only where there is one)

Shares are per cent; a mean is taken over questions, and its 95 % interval by drawing the questions anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy
from bench.data_sets import Question

RECALL_AT, ALL_AT, HIT_AT = (5, 10, 20), (10,), (5, 10)
DEEPEST = max(RECALL_AT)
MEASURES = ("R@5", "R@10", "R@20", "all@10", "hit@5", "hit@10", "MRR", "newest_first")
SEED, RESAMPLES = 7, 1000

# One token each, by the rule of thumb; four characters of anything else make one.
_CJK = re.compile("[\u3000-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef]")


def judge(found: Sequence[str], question: Question) -> dict[str, float]:
    """The measures of one question; `found` holds distinct uris, best first."""
    return {name: 100 * value for name, value in _shares(found, question)}


def _shares(found: Sequence[str], question: Question) -> Iterator[tuple[str, float]]:
    ranks = [rank for rank, uri in enumerate(found, 1) if uri in question.gold]
    within = {k: sum(rank <= k for rank in ranks) for k in RECALL_AT}
    yield from ((f"R@{k}", within[k] / len(question.gold)) for k in RECALL_AT)
    yield from ((f"all@{k}", float(within[k] == len(question.gold))) for k in ALL_AT)
    yield from ((f"hit@{k}", float(within[k] > 0)) for k in HIT_AT)
    yield "MRR", 1 / ranks[0] if ranks else 0.0
    if question.superseded:
        yield "newest_first", float(newest_first(found[:DEEPEST], question))


def newest_first(found: Sequence[str], question: Question) -> bool:
    """Does the first turn that says anything about it say what holds now? Finding neither is a failure."""
    telling = question.gold | question.superseded
    return next((uri in question.gold for uri in found if uri in telling), False)


def summary(judged: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """Mean and interval of every measure that any of the questions has."""
    whole: dict[str, Any] = {"n": len(judged), "intervals": {}}
    for name in MEASURES:
        values = [each[name] for each in judged if name in each]
        if values:
            whole[name] = round(float(numpy.mean(values)), 2)
            whole["intervals"][name] = interval(values)
    return whole


def interval(values: Sequence[float]) -> list[float]:
    """The middle 95 % of means of as many questions, drawn again and again from the same ones."""
    draw = numpy.random.default_rng(SEED)
    chosen = draw.integers(len(values), size=(RESAMPLES, len(values)))
    means = numpy.asarray(values)[chosen].mean(axis=1)
    return [round(float(edge), 2) for edge in numpy.percentile(means, [2.5, 97.5])]


def tokens(text: str) -> float:
    """About how many tokens a model would read."""
    wide = len(_CJK.findall(text))
    return wide + (len(text) - wide) / 4
