"""What an agent is told within a token budget: `python -m bench.context --format locomo PATH`.

Ways to fill the same budget for every question: the full context (`Nagori.full_context`), what a hook gives
for a prompt, recall alone (the best memories as lines) and the history alone (the last turns that fit). A
turn that answers the question counts as told if one piece of the text has at least half of its words.
`bench/README.md` says what the figures mean.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy
from bench import metrics
from bench.data_sets import FORMATS, Question, Said, Talk
from bench.recall import CACHE, OVERALL
from bench.report import header, machine, python, table, write_json
from bench.systems import keep
from bench.vectors import Remembered

from nagori import Config, Memory, Nagori, Scope, __version__
from nagori.adapters.embed import open_embedder
from nagori.config.sections import Embedding
from nagori.language.passages import about_tokens
from nagori.language.tokenizer import tokens as tokenize
from nagori.services.memory_block import ID_SHOWN, SEPARATOR, escape
from nagori.testing import FrozenClock

BUDGETS = (300, 750, 1500)
TOLD = 0.5  # share of a turn's words that must stand together
MOST_LINES = 100  # of recall alone; more fit no budget here

Way = Callable[[int], str]  # the text for a budget


def ways(memory: Nagori, said: Sequence[Said], text: str) -> dict[str, Way]:
    """Each way to fill a budget for a question, by name."""
    prompt, found = memory.context(text, mark=False).text.split("\n"), list(recall_lines(memory, text))
    return {
        "full context": lambda tokens: memory.full_context(text, tokens=tokens, mark=False).text,
        "prompt context": lambda tokens: _within(prompt, tokens),
        "recall": lambda tokens: _within(found, tokens),
        "history": lambda tokens: _within(history_lines(said), tokens),
    }


def recall_lines(memory: Nagori, text: str) -> Iterator[str]:
    for each in memory.recall(text, k=MOST_LINES, mark=False):
        yield line(each.memory)


def line(memory: Memory) -> str:
    """A memory as a line of a prompt: when, who, what."""
    who, day = escape(memory.source.speaker or str(memory.trust.value)), memory.created.date().isoformat()
    return f"- [{day}] {who}: {escape(memory.fullest.whole)} ({memory.id[:ID_SHOWN]})"


def history_lines(said: Sequence[Said]) -> Iterator[str]:
    """What was said, newest first."""
    for each in reversed(said):
        yield f"- {escape(each.whole)}"


def _within(lines: Iterator[str] | Sequence[str], tokens: int) -> str:
    """The first lines that fit. The last is cut, so that a long one does not leave the budget unused."""
    told = list[str]()
    for each in lines:
        cost = about_tokens(each + "\n")
        if cost > tokens:
            told.append(_cut(each, tokens))
            break
        told.append(each)
        tokens -= cost
    return "\n".join(told)


def _cut(text: str, tokens: int) -> str:
    shortest, longest = 0, len(text)
    while shortest < longest:
        middle = (shortest + longest + 1) // 2
        shortest, longest = (
            (middle, longest) if about_tokens(text[:middle]) <= tokens else (shortest, middle - 1)
        )
    return text[:shortest]


def told_share(question: Question, words: Mapping[str, frozenset[str]], text: str) -> float:
    """Share of a question's gold turns that the text tells, in per cent."""
    parts = [frozenset(tokenize(part)) for line in text.split("\n") for part in line.split(SEPARATOR)]
    told = 0
    for uri in question.gold:
        wanted = words[uri]
        told += any(len(wanted & part) >= TOLD * len(wanted) for part in parts)
    return 100 * told / len(question.gold)


def measure(
    talks: Sequence[Talk], budgets: Sequence[int], work: Path, embedder: Remembered | None
) -> dict[tuple[str, int], list[tuple[str, float, int]]]:
    """For each way and budget: category, share told, and tokens of every question."""
    clock, found = FrozenClock(), dict[tuple[str, int], list[tuple[str, float, int]]]()
    with Nagori.open(
        work / "nagori", config=Config(), clock=clock, embedder=embedder, llm=None
    ) as everything:
        for place, talk in enumerate(talks, 1):
            print(f"{talk.name} ({place}/{len(talks)})", file=sys.stderr)
            memory = everything.with_scope(Scope(user=talk.name))
            clock.set(max(said.at for said in talk.said if said.at) + timedelta(days=1))
            keep(memory, talk.said)
            words = {said.uri: frozenset(tokenize(escape(said.text))) for said in talk.said}
            for question in talk.questions:
                for name, way in ways(memory, talk.said, question.text).items():
                    for budget in budgets:
                        text = way(budget)
                        row = (question.category, told_share(question, words, text), about_tokens(text))
                        found.setdefault((name, budget), []).append(row)
    return found


def figures(rows: Sequence[tuple[str, float, int]], apart: frozenset[str]) -> dict[str, Any]:
    """Mean and interval overall, means by category, and mean tokens."""
    by: dict[str, list[float]] = {OVERALL: []}
    for category, share, _ in rows:
        by.setdefault(category, []).append(share)
        if category not in apart:
            by[OVERALL].append(share)
    return {
        "told": {name: round(float(numpy.mean(values)), 2) for name, values in by.items() if values},
        "n": {name: len(values) for name, values in by.items()},
        "interval": metrics.interval(by[OVERALL]),
        "tokens": round(float(numpy.mean([tokens for *_, tokens in rows])), 1),
        "silent": round(100 * float(numpy.mean([tokens == 0 for *_, tokens in rows])), 1),
    }


def report(head: Mapping[str, str], whole: Mapping[tuple[str, int], dict[str, Any]]) -> str:
    first = next(iter(whole.values()))
    categories = sorted(name for name in first["told"] if name != OVERALL)
    titles = ["budget", "way", OVERALL, "tokens", "silent", *(f"{c} ({first['n'][c]})" for c in categories)]
    rows = []
    for (name, budget), each in sorted(whole.items(), key=lambda item: item[0][1]):
        low, high = each["interval"]
        rows.append(
            [
                f"{budget:,}",
                name,
                f"{each['told'][OVERALL]:.1f} [{low:.0f}-{high:.0f}]",
                f"{each['tokens']:.0f}",
                f"{each['silent']:.0f} %",
                *(f"{each['told'][category]:.1f}" for category in categories),
            ]
        )
    notes = (
        "Per cent of the turns that answer a question, which the text tells; mean over questions, [95 %\n"
        "bootstrap interval]. tokens: mean of all questions. silent: questions for which nothing was told."
    )
    return "\n".join([*header(dict(head)), "", table(titles, rows, ("way",)), "", notes])


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.context")
    parser.add_argument("path", type=Path, help="file or folder of the data set")
    parser.add_argument("--format", choices=("locomo", "jamem", "beam"), required=True)
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)), metavar="TOKENS")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--no-embedder", action="store_true", help="by words alone")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth question of a talk")
    parser.add_argument("--cache", type=Path, default=CACHE, metavar="DIR", help="where vectors are kept")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> None:
    options = arguments(given)
    form = FORMATS[options.format]
    talks = [replace(talk, questions=talk.questions[:: options.every]) for talk in form.read(options.path)]
    budgets = [int(each) for each in options.budgets.split(",")]
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nagori-bench-")))
        real = None if options.no_embedder else open_embedder(Embedding())
        embedder = stack.enter_context(closing(Remembered(real, options.cache))) if real else None
        found = measure(talks, budgets, work, embedder)
        head = {
            "machine": machine(work),
            "python": python(),
            "nagori": __version__,
            "embedder": real.model if real else "none",
            "data": f"{options.format}, {len(talks)} talks, {sum(len(t.said) for t in talks):,} texts,"
            f" {sum(len(t.questions) for t in talks):,} questions, asked a day after the last text",
        }
    whole = {key: figures(rows, form.apart) for key, rows in found.items()}
    print(report(head, whole))
    if options.json:
        flat = {f"{name} {budget}": each for (name, budget), each in whole.items()}
        write_json(options.json, {"dataset": options.format, "settings": head, "ways": flat})


if __name__ == "__main__":
    main()
