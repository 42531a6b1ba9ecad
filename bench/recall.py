"""How often the right memory comes back: `python -m bench.recall --format locomo PATH`.

Every system gets the same talks and the same vectors in the same run: nagori, plain BM25, plain cosine
and, with --peers, other memories. No language model takes part. `bench/README.md` says what the figures mean.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from bench import metrics, systems
from bench.data_sets import FORMATS, Question, Talk
from bench.measure import ROOT, Subjects, cut_network, peer_python
from bench.report import header, machine, number, python, table, write_json
from bench.systems import Answer, Skipped, System
from bench.vectors import Remembered, query_cpu_seconds

from nagori import __version__
from nagori.adapters.embed import open_embedder
from nagori.config.sections import Embedding

CACHE = ROOT / "out" / "bench-cache"
PEERS = ("chroma", "mem0", "langgraph", "langgraph-sqlite")
OVERALL = "overall"
DURABLE = "durable facts"  # told as facts, so meant to last; counted apart


@dataclass
class Result:
    """What one system answered, question by question; or why it did not."""

    asked: list[Question] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    skipped: str = ""

    def figures(self, apart: frozenset[str], embedding: float) -> dict[str, Any]:
        """The part of the report that is the same for all systems."""
        if self.skipped:
            return {"skipped": self.skipped}
        judged = [metrics.judge(a.found, q) for q, a in zip(self.asked, self.answers, strict=True)]
        by: dict[str, list[dict[str, float]]] = {OVERALL: []}
        for question, each in zip(self.asked, judged, strict=True):
            by.setdefault(question.category, []).append(each)
            if question.category not in apart:
                by[OVERALL].append(each)
        whole = {name: metrics.summary(each) for name, each in by.items()}
        return {OVERALL: whole.pop(OVERALL) | self.cost(embedding), "categories": whole}

    def cost(self, embedding: float) -> dict[str, float]:
        """Means over all questions: tokens of an answer's top 10, CPU without and with the embedding."""
        count = len(self.answers)
        cpu = sum(each.cpu for each in self.answers) / count
        return {
            "tokens": round(sum(each.tokens for each in self.answers) / count, 1),
            "cpu_ms": round(1000 * cpu, 3),
            "cpu_ms_with_embedding": round(1000 * (cpu + embedding), 3),
        }


def run(name: str, system: System, talks: Sequence[Talk]) -> Result:
    """All talks through one system; the first that fails ends it."""
    result = Result()
    for place, talk in enumerate(talks, 1):
        print(f"{name}: {talk.name} ({place}/{len(talks)})", file=sys.stderr)
        try:
            result.answers += system(talk)
        except Skipped as reason:
            return Result(skipped=str(reason))
        result.asked += talk.questions
    return result


def chosen(
    ours: systems.OurMemory, embedder: Remembered | None, peers: Subjects, k: int
) -> Iterator[tuple[str, System]]:
    """Every system of this run, by name; nagori first."""
    yield "nagori", ours
    yield "bm25", systems.bm25(k)
    if embedder:
        yield "vectors", systems.vectors(embedder, k)
        yield from ((name, systems.peer(name, peers, embedder, k)) for name in peers.pythons)


# --- the report

COSTS = {"tokens": "tokens", "cpu_ms": "cpu ms", "cpu_ms_with_embedding": "+embed"}

NOTES = """\
Shares are per cent of n questions, [95 % bootstrap interval]; overall leaves out: {apart}.
tokens: of the top 10 texts. cpu ms: per question, without embedding it; +embed: with. See bench/README.md."""


def rows(figures: dict[str, dict[str, Any]], category: str, names: Sequence[str]) -> Iterator[list[str]]:
    """A line per system; a skipped one says why once."""
    for system, each in figures.items():
        if "skipped" not in each:
            whole = each[OVERALL] if category == OVERALL else each["categories"][category]
            yield row(category, system, whole, names)
        elif category == OVERALL:
            yield [category, system, f"skipped: {each['skipped']}"]


def row(category: str, system: str, whole: dict[str, Any], names: Sequence[str]) -> list[str]:
    shares = [share(whole, name) for name in names]
    costs = [number(whole[name]) if name in whole else "" for name in COSTS]
    return [category, system, str(whole["n"]), *shares, *costs]


def share(whole: dict[str, Any], name: str) -> str:
    if name not in whole:
        return ""
    low, high = whole["intervals"][name]
    return f"{whole[name]:.1f} [{low:.0f}-{high:.0f}]"


def report(head: dict[str, str], figures: dict[str, dict[str, Any]], apart: frozenset[str]) -> str:
    ours = figures["nagori"]
    names = [name for name in metrics.MEASURES if name in ours[OVERALL]]
    lines = (rows(figures, each, names) for each in (OVERALL, *sorted(ours["categories"])))
    titles = ["category", "system", "n", *names, *COSTS.values()]
    whole = table(titles, list(chain.from_iterable(lines)), ("category", "system"))
    notes = NOTES.format(apart=", ".join(sorted(apart)) or "nothing")
    return "\n".join([*header(head), "", whole, "", notes])


def about(options: argparse.Namespace, talks: Sequence[Talk], embedder: str, work: Path) -> dict[str, str]:
    """The head of the report: what every figure below hangs on."""
    said, asked = sum(len(each.said) for each in talks), sum(len(each.questions) for each in talks)
    left_out = sum(each.left_out for each in talks)
    return {
        "machine": machine(work),
        "python": python(),
        "nagori": f"{__version__}, ranking {options.ranking or 'as configured'}, spread {options.spread}",
        "embedder": embedder,
        "data": f"{options.format}, {len(talks)} talks, {said:,} texts, {asked:,} questions"
        f" ({left_out} more have no known evidence), asked after {options.age} nights",
    }


def as_json(
    options: argparse.Namespace, head: dict[str, str], figures: dict[str, dict[str, Any]], left_out: int
) -> dict[str, Any]:
    """nagori's figures at the top, everybody else's below `others`, in the same shape."""
    ours = figures["nagori"]
    names = ("format", "k", "ranking", "no_embedder", "limit", "peers", "age", "spread")
    return {
        "dataset": options.format,
        "n": ours[OVERALL]["n"],
        "left_out": left_out,
        **ours,
        "others": {name: each for name, each in figures.items() if name != "nagori"},
        "settings": {name: getattr(options, name) for name in names}
        | {"path": options.path.name, "seed": metrics.SEED, "resamples": metrics.RESAMPLES, **head},
        "machine": head["machine"],
    }


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.recall")
    parser.add_argument("path", type=Path, help="file or folder of the data set")
    parser.add_argument("--format", choices=FORMATS, required=True, help="which data set it is")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--ranking", metavar="NAME", help="nagori's ranking (default: the configured one)")
    parser.add_argument("--no-embedder", action="store_true", help="by words alone")
    parser.add_argument("--k", type=int, default=metrics.DEEPEST, help="how deep rankings are looked at")
    parser.add_argument("--peers", action="store_true", help=f"measure {', '.join(PEERS)} too")
    parser.add_argument("--age", type=int, default=0, metavar="DAYS", help="ask after so many nights")
    parser.add_argument("--spread", type=int, default=0, metavar="STEPS", help="recall with association")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions of each talk")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help="where vectors are kept")
    options = parser.parse_args(given)
    if options.k < metrics.DEEPEST:
        parser.error(f"--k starts at {metrics.DEEPEST}, where the deepest measure looks")
    if options.peers and options.no_embedder:
        parser.error("the peers search by vectors: --peers needs the embedder")
    return options


def durable(result: Result, talks: Sequence[Talk], facts: set[tuple[str, str]]) -> None:
    """Questions whose whole evidence is facts, a second time, as a category of their own."""
    asked = [(talk.name, question) for talk in talks for question in talk.questions]
    for (talk, question), answer in list(zip(asked, result.answers, strict=True)):
        if all((talk, uri) in facts for uri in question.gold):
            result.asked.append(replace(question, category=DURABLE))
            result.answers.append(answer)


def measure(
    options: argparse.Namespace, talks: Sequence[Talk]
) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """The head of the report and every system's figures."""
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nagori-bench-")))
        real = None if options.no_embedder else open_embedder(Embedding())
        embedder = stack.enter_context(closing(Remembered(real, options.cache))) if real else None
        queries = [each.text for talk in talks for each in talk.questions]
        embedding = query_cpu_seconds(real, queries) if real else 0.0
        if embedder:
            embedder.prime(queries)
        ours = systems.OurMemory(
            work / "nagori", embedder, options.ranking, options.k, options.age, options.spread
        )
        stack.callback(ours.close)
        peers = Subjects(work, options.pythons, options.network_cut)
        results = {name: run(name, each, talks) for name, each in chosen(ours, embedder, peers, options.k)}
        head = about(options, talks, real.model if real else "none", work) | peers.versions()
        for result in results.values():
            if not result.skipped:
                durable(result, talks, ours.facts)
    apart = FORMATS[options.format].apart | {DURABLE}
    # BM25 needs no vector of the question.
    costs = {name: 0.0 if name == "bm25" else embedding for name in results}
    return head, {name: each.figures(apart, costs[name]) for name, each in results.items()}


def main(given: Sequence[str] | None = None) -> None:
    options = arguments(given)
    form = FORMATS[options.format]
    talks = [talk.first(options.limit) for talk in form.read(options.path)]
    if not any(talk.questions for talk in talks):
        raise SystemExit(f"{options.path}: no questions with known evidence")
    options.pythons = dict.fromkeys(PEERS, peer_python()) if options.peers else {}
    options.network_cut = options.peers and cut_network()  # after the installation
    head, figures = measure(options, talks)
    print(report(head, figures, form.apart | {DURABLE}))
    if options.json:
        write_json(options.json, as_json(options, head, figures, sum(each.left_out for each in talks)))


if __name__ == "__main__":
    main()
