"""Whether salience chooses well: `python -m bench.salience --format locomo PATH`.

Every talk is remembered, and a share of its memories is chosen: the most salient, the newest, or by chance.
The figure is the share of the evidence of all questions that is among the chosen ones.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from statistics import fmean

from bench.data_sets import FORMATS
from bench.recall import CACHE
from bench.report import header, machine, python, table
from bench.systems import keep
from bench.vectors import Remembered

from nagori import Config, Filter, Memory, Nagori, Scope, __version__
from nagori.adapters.embed import open_embedder
from nagori.config.sections import Embedding
from nagori.core.consolidation_salience import most_salient
from nagori.services.slow_decay_of_salient_memories import score_memories
from nagori.testing import FrozenClock

ROUNDS = 200
SEED = 11
Choice = Callable[[Sequence[Memory], dict[str, float], int], list[str]]


def by_salience(memories: Sequence[Memory], scores: dict[str, float], n: int) -> list[str]:
    return most_salient(scores, n / len(memories))


def newest(memories: Sequence[Memory], scores: dict[str, float], n: int) -> list[str]:
    return [m.id for m in sorted(memories, key=lambda m: (m.created, m.source.turn or 0), reverse=True)[:n]]


def evidence_share(
    memories: Sequence[Memory], chosen: Sequence[str], gold: Sequence[frozenset[str]]
) -> float:
    """The mean share of a question's evidence that is among the chosen memories."""
    kept = {m.source.uri for m in memories if m.id in set(chosen)}
    return fmean(len(each & kept) / len(each) for each in gold)


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.salience")
    parser.add_argument("path", type=Path)
    parser.add_argument("--format", choices=FORMATS, required=True)
    parser.add_argument("--share", type=float, default=0.7)
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIR")
    options = parser.parse_args(given)
    dice, shares, asked = random.Random(SEED), dict[str, list[float]](), 0
    with tempfile.TemporaryDirectory(prefix="nagori-bench-") as folder:
        real = open_embedder(Embedding())
        assert real
        head = {
            "machine": machine(Path(folder)),
            "python": python(),
            "nagori": __version__,
            "embedder": real.model,
        }
        clock = FrozenClock()
        with (
            closing(Remembered(real, options.cache)) as embedder,
            Nagori.open(folder, config=Config(), clock=clock, embedder=embedder, llm=None) as whole,
        ):
            for talk in FORMATS[options.format].read(options.path):
                memory = whole.with_scope(Scope(user=talk.name))
                clock.set(max(said.at for said in talk.said if said.at) + timedelta(days=1))
                keep(memory, talk.said)
                memories = memory.list(Filter(), limit=1_000_000)
                scores = score_memories(memory.runtime, memory.scope.owner, memories)
                gold, n = [question.gold for question in talk.questions], int(len(memories) * options.share)
                asked += len(gold)
                for name, choose in {"salience": by_salience, "newest": newest}.items():
                    share = evidence_share(memories, choose(memories, scores, n), gold)
                    shares.setdefault(name, []).append(share)
                ids = [m.id for m in memories]
                chance = [evidence_share(memories, dice.sample(ids, n), gold) for _ in range(ROUNDS)]
                shares.setdefault("chance", []).append(fmean(chance))
    head["data"] = f"{options.format}, {asked} questions, {options.share:.0%} kept"
    rows = [
        [name, f"{100 * fmean(each):.1f}", *(f"{100 * one:.1f}" for one in each)]
        for name, each in shares.items()
    ]
    titles = ["kept by", "evidence", *(str(n) for n in range(1, len(rows[0]) - 1))]
    print("\n".join([*header(head), "", table(titles, rows, ("kept by",))]))


if __name__ == "__main__":
    main()
