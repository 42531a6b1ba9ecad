"""What a life does to recall: `python -m bench.age --format locomo PATH --ages 0,90,180,365`.

Every talk is remembered in a store of its own and lives on, a night after every day; at each age the same
questions are asked, and nothing is marked, so one life serves all ages. `bench.age_chart` draws the figures.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from bench import metrics
from bench.data_sets import FORMATS, Question, Talk
from bench.recall import CACHE, DURABLE, OVERALL, Result, durable
from bench.report import header, machine, number, python, table, write_json
from bench.systems import PIECES, keep, timed
from bench.vectors import Remembered

from nagori import Config, Filter, Kind, Level, Nagori, __version__
from nagori.adapters.embed import open_embedder
from nagori.config.sections import Embedding
from nagori.language.tokenizer import tokens
from nagori.testing import FrozenClock

AGES = "0,30,90,180,365"
EVERYTHING = Filter(archived=True, forgotten=True)


@dataclass
class Aged:
    """What was found at one age, and how large everything was by then."""

    result: Result = field(default_factory=Result)
    store: int = 0  # bytes of the database's pages in use; its log is another matter
    journal: int = 0
    words: int = 0  # bytes of the words that recall can show
    kept: int = 0  # bytes of all words, earlier and fuller ones among them
    levels: dict[str, int] = field(default_factory=dict)
    within: list[float] = field(default_factory=list)  # share of the evidence within the token budget
    answered: list[bool] = field(default_factory=list)  # whether half of the answer's words are in it
    present: list[bool] = field(default_factory=list)  # the same where half of them are in the evidence

    def measure(self, memory: Nagori) -> None:
        status = memory.status()
        self.store += pages(status.data_dir / "nagori.db")
        self.journal += status.journal_bytes
        for one in memory.list(EVERYTHING, limit=1_000_000):
            self.words += len(one.text.whole.encode())
            self.kept += sum(len(text.whole.encode()) for text in one.texts.values())
            name = one.level.name.lower()
            self.levels[name] = self.levels.get(name, 0) + 1

    def figures(self, apart: frozenset[str]) -> dict[str, Any]:
        sizes = {name: getattr(self, name) for name in ("store", "journal", "words", "kept")}
        levels = {level.name.lower(): self.levels.get(level.name.lower(), 0) for level in Level}
        shares = {"within": per_cent(self.within), "answered": per_cent(self.answered)}
        shares["present"] = per_cent(self.present)
        return {**self.result.figures(apart, 0.0), "bytes": sizes, "levels": levels, **shares}


def per_cent(parts: Sequence[float]) -> float | None:
    return round(100 * sum(parts) / len(parts), 1) if parts else None


def pages(path: Path) -> int:
    """Bytes of the pages that hold something."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        names = ("page_count", "freelist_count", "page_size")
        count, free, size = (int(db.execute(f"PRAGMA {name}").fetchone()[0]) for name in names)
    return (count - free) * size


def live(
    talk: Talk,
    folder: Path,
    embedder: Remembered | None,
    k: int,
    ages: dict[int, Aged],
    budget: int,
    apart: frozenset[str],
) -> None:
    """One talk's life, asked at every age on the way."""
    clock = FrozenClock()
    with Nagori.open(folder, config=Config(), clock=clock, embedder=embedder) as memory:
        moments = [said.at for said in talk.said if said.at]
        if moments:
            clock.set(max(moments) + timedelta(days=1))
        facts = {(talk.name, m.source.uri or "") for m in keep(memory, talk.said) if m.kind is Kind.FACT}

        said = {each.uri: each.whole for each in talk.said}

        def ask(question: str) -> list[tuple[str, str]]:
            found = memory.recall(question, k=PIECES * k, mark=False)
            return [(each.memory.source.uri or "", each.memory.searchable) for each in found]

        def ask_within_budget(question: Question, aged: Aged) -> None:
            found = memory.recall(question.text, k=PIECES * k, tokens=budget, mark=False)
            told = {each.memory.source.uri for each in found}
            aged.within.append(len(question.gold & told) / len(question.gold))
            if wanted := set(tokens(question.answer)):
                words = {word for each in found for word in tokens(each.text)}
                aged.answered.append(2 * len(wanted & words) >= len(wanted))
                evidence = {word for uri in question.gold for word in tokens(said[uri])}
                if 2 * len(wanted & evidence) >= len(wanted):
                    aged.present.append(aged.answered[-1])

        lived = 0
        for age, aged in sorted(ages.items()):
            for _ in range(age - lived):
                clock.forward(days=1)
                memory.cycle()
            lived = age
            told = Result(list(talk.questions), timed(ask, talk, k))
            durable(told, [talk], facts)
            aged.result.answers += told.answers
            aged.result.asked += told.asked
            for question in talk.questions if budget else ():
                if question.category not in apart:
                    ask_within_budget(question, aged)
            aged.measure(memory)


def rows(ages: dict[str, dict[str, Any]]) -> Iterator[list[str]]:
    for age, each in ages.items():
        whole, sizes = each[OVERALL], each["bytes"]
        low, high = whole["intervals"]["R@10"]
        facts = each["categories"].get(DURABLE)
        yield [
            age,
            str(whole["n"]),
            f"{whole['R@10']:.1f} [{low:.0f}-{high:.0f}]",
            "–" if facts is None else f"{facts['R@10']:.1f} ({facts['n']})",
            number(whole["tokens"]),
            *(
                "–" if each[name] is None else f"{each[name]:.1f}"
                for name in ("within", "answered", "present")
            ),
            *(f"{sizes[name] / 1024:,.0f}" for name in ("words", "kept", "store", "journal")),
            " ".join(f"{n}" for n in each["levels"].values()),
        ]


TITLES = [
    "days",
    "n",
    "R@10",
    "facts (n)",
    "tokens",
    "in budget",
    "answered",
    "present",
    "words KiB",
    "kept KiB",
    "store KiB",
    "journal KiB",
    "levels 1-4",
]
NOTES = """\
R@10: per cent of n questions, [95 % bootstrap interval]; facts: of those about durable facts alone. tokens:
of the top 10 texts. in budget: per cent of the evidence that `recall` gives within the token budget
(--budget); answered: of the questions, for how many that tells half of the words of the answer; present: the
same of those whose evidence holds half of them, as a date or a conclusion is not said. words: what recall can
show; kept: fuller and earlier words among them; store: pages in use, with vectors and indexes. A
night after every day, nothing recalled."""


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.age")
    parser.add_argument("path", type=Path, help="file or folder of the data set")
    parser.add_argument("--format", choices=FORMATS, required=True, help="which data set it is")
    parser.add_argument("--ages", default=AGES, metavar="DAYS", help=f"when it is asked (default {AGES})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="draw them there, as SVG")
    parser.add_argument("--no-embedder", action="store_true", help="by words alone")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions of each talk")
    parser.add_argument("--budget", type=int, default=0, metavar="TOKENS", help="what an answer may take")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help="where vectors are kept")
    options = parser.parse_args(given)
    try:
        options.days = sorted({int(age) for age in options.ages.split(",")})
    except ValueError:
        parser.error(f"--ages: {options.ages!r} is not a list of days")
    if options.days[0] < 0:
        parser.error("--ages: nobody is asked before he was told")
    return options


def measure(options: argparse.Namespace, talks: Sequence[Talk]) -> dict[str, Any]:
    """Head and figures, age by age."""
    ages, apart = {day: Aged() for day in options.days}, FORMATS[options.format].apart | {DURABLE}
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nagori-bench-")))
        real = None if options.no_embedder else open_embedder(Embedding())
        embedder = stack.enter_context(closing(Remembered(real, options.cache))) if real else None
        for place, talk in enumerate(talks, 1):
            print(f"{talk.name} ({place}/{len(talks)})", file=sys.stderr)
            live(talk, work / str(place), embedder, metrics.DEEPEST, ages, options.budget, apart)
        head = {
            "machine": machine(work),
            "python": python(),
            "nagori": __version__,
            "embedder": real.model if real else "none",
            "data": f"{options.format}, {len(talks)} talks, {sum(len(each.said) for each in talks):,} texts",
        }
    return {
        "dataset": options.format,
        "head": head,
        "ages": {str(day): aged.figures(apart) for day, aged in ages.items()},
    }


def main(given: Sequence[str] | None = None) -> None:
    options = arguments(given)
    talks = [talk.first(options.limit) for talk in FORMATS[options.format].read(options.path)]
    if not any(talk.questions for talk in talks):
        raise SystemExit(f"{options.path}: no questions with known evidence")
    whole = measure(options, talks)
    print("\n".join([*header(whole["head"]), "", table(TITLES, list(rows(whole["ages"])), ()), "", NOTES]))
    if options.json:
        write_json(options.json, whole)
    if options.chart:
        from bench.age_chart import draw

        options.chart.write_text(draw([whole]), encoding="utf-8")


if __name__ == "__main__":
    main()
