"""How fast memories go in and come back, beside chroma and mem0: `python -m bench.store --peers`.

Every number is taken in the same run, from the same texts and the same prepared vectors, in a process of
its own (`bench/peers.py`), with the subjects taking turns so that a busy moment of the machine falls on all
of them. Times are shown beside their ratio to a bare interpreter start, which travels between machines
better than milliseconds do. A measurement that was not taken says why.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.data import nearest, prepare
from bench.measure import PATIENCE_SECONDS, Finished, Subjects, cut_network, peer_python
from bench.peers import DIMENSION, TOP, WARM_UP
from bench.report import header, machine, middle, number, python, spread, table, write_json

PEERS = ("chroma", "mem0")
REPEAT_LOADS_TO = 10_000  # larger loads are measured once
GOALS = (("cold recall", 10_000, 30), ("bulk load", 10_000, 10))  # times faster than chroma

BARE = {"python -c pass": ("-c", "pass"), "python -I -S -c pass": ("-I", "-S", "-c", "pass")}


@dataclass
class Measure:
    """One line of the report: every sample in seconds, and the reason why there are none or no more."""

    what: str
    rows: int
    subject: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak_mb: float = 0.0
    first_right: list[bool] = field(default_factory=list)
    overlap: list[float] = field(default_factory=list)
    skipped: str = ""

    def add(self, ended: Finished) -> None:
        """A process as a whole was the sample."""
        self.wall.append(ended.wall)
        self.cpu.append(ended.cpu)

    def judge(self, found: list[list[str]], exact: list[list[str]]) -> None:
        """Compare answers with the exact ones, as lists of texts."""
        for got, right in zip(found, exact, strict=True):
            self.first_right.append(got[:1] == right[:1])
            self.overlap.append(len(set(got) & set(right)) / len(right))


class Session:
    """The subjects, what they may still spend, and everything measured so far."""

    def __init__(self, options: argparse.Namespace, subjects: Subjects) -> None:
        self.options, self.subjects, self.work = options, subjects, subjects.work
        self.measures: dict[tuple[str, int, str], Measure] = {}
        self.left: dict[str, float] = {}
        self.out: dict[str, str] = {}
        smallest, rows = min(options.sizes), max(options.sizes) + options.inserts + WARM_UP
        queries = min(options.queries, smallest)
        self.data = prepare(self.work / "data", rows, queries, smallest, options.seed)

    def cell(self, what: str, rows: int, subject: str) -> Measure:
        return self.measures.setdefault((what, rows, subject), Measure(what, rows, subject))

    def act(self, cell: Measure, action: str, *arguments: object) -> Finished | None:
        """One process, paid from its subject's budget; None when the subject is out, and why is noted."""
        if cell.subject not in self.out:
            ended = self.start(cell, action, arguments)
            if not ended.failure:
                cell.peak_mb = max(cell.peak_mb, ended.output["peak_mb"])
                return ended
            self.out[cell.subject] = f"{cell.what} {ended.failure}"
        cell.skipped = self.out[cell.subject]
        return None

    def start(self, cell: Measure, action: str, arguments: Iterable[object]) -> Finished:
        subject, left = cell.subject, max(self.left[cell.subject], 1.0)
        where = (self.data.folder, self.store(cell))
        ended = self.subjects.act(subject, action, *where, *arguments, seconds=left)
        self.left[subject] -= ended.wall
        return ended

    def store(self, cell: Measure) -> Path:
        return self.work / f"{cell.subject}-{cell.rows}"

    def bare(self) -> None:
        """The yardsticks: an empty interpreter, and the least a durable write can cost on this disk."""
        for name, arguments in BARE.items():
            self.cell("bare start", 0, name).add(self.subjects.run([sys.executable, *arguments]))
        with (self.work / "synced").open("ab", buffering=0) as file:
            begun = time.perf_counter()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            self.cell("bare fsync", 0, "4 KiB appended").wall.append(time.perf_counter() - begun)

    def size(self, rows: int) -> None:
        """Everything at one size. Single inserts come last, since they change the right answers."""
        budget = self.options.peer_budget
        self.left = {each: budget if each in PEERS else PATIENCE_SECONDS for each in self.subjects.pythons}
        self.out = {}
        exact = nearest(self.data, rows)
        for _ in range(self.options.repeat if rows <= REPEAT_LOADS_TO else 1):
            self.load(rows)
        for turn in range(-1, self.options.cold):
            self.cold(rows, turn, exact)
        for turn in range(self.options.repeat):
            self.recall(rows, turn, exact)
        self.insert(rows)

    def load(self, rows: int) -> None:
        for cell in self.cells("bulk load", rows):
            shutil.rmtree(self.store(cell), ignore_errors=True)
            if ended := self.act(cell, "load", rows):
                cell.wall.extend(ended.output["seconds"])

    def recall(self, rows: int, turn: int, exact: list[list[str]]) -> None:
        share = len(self.data.queries) // self.options.repeat
        first = turn * share
        for cell in self.cells("warm recall", rows):
            if ended := self.act(cell, "recall", first, share):
                cell.wall.extend(ended.output["seconds"])
                cell.judge(ended.output["found"], exact[first : first + share])

    def cold(self, rows: int, turn: int, exact: list[list[str]]) -> None:
        """Turn -1 fills the page cache and the byte code, and is not counted."""
        query = turn % len(self.data.queries)
        self.bare()
        for cell in self.cells("cold recall", rows):
            ended = self.act(cell, "cold", query)
            if ended and turn >= 0:
                cell.add(ended)
                cell.judge(ended.output["found"], exact[query : query + 1])

    def insert(self, rows: int) -> None:
        for cell in self.cells("insert one", rows):
            if ended := self.act(cell, "insert", max(self.options.sizes), self.options.inserts):
                cell.wall.extend(ended.output["seconds"])
            shutil.rmtree(self.store(cell), ignore_errors=True)

    def cells(self, what: str, rows: int) -> list[Measure]:
        """The subjects in turn."""
        return [self.cell(what, rows, subject) for subject in self.subjects.pythons]


def about(session: Session, cut: bool) -> dict[str, str]:
    """The head of the report: what every number below hangs on."""
    options = session.options
    return {
        "machine": machine(session.work),
        "python": python(),
        **session.subjects.versions(),
        "network": "cut off by the kernel" if cut else "refused inside each process",
        "data": f"seed {options.seed}, {DIMENSION} float32, {len(session.data.queries)} queries, top {TOP}",
        "budget": f"{options.peer_budget:.0f} s for each peer at each size",
    }


def ratio(value: Measure, base: Measure | None, *, cpu: bool = False) -> str:
    top, bottom = (value.cpu, base.cpu) if cpu and base else (value.wall, base.wall if base else [])
    return f"{number(middle(top) / middle(bottom))}x" if top and bottom else "-"


TITLES = [
    "what",
    "rows",
    "subject",
    "n",
    "ms",
    "p10..p90",
    "/bare",
    "cpu/bare",
    "/nagori",
    "MB",
    "top1",
    "top10",
]


def row(cell: Measure, measures: dict[tuple[str, int, str], Measure]) -> list[str]:
    """One line of the table; '/bare' is its median over a bare start, '/nagori' over nagori's median."""
    name = [cell.what, f"{cell.rows:,}" if cell.rows else "", cell.subject]
    if not cell.wall:
        return [*name, f"skipped: {cell.skipped}"]
    bare = measures["bare start", 0, next(iter(BARE))]
    low, high = spread(cell.wall)
    ours = measures.get((cell.what, cell.rows, "nagori"))
    quality = [share(cell.first_right), share(cell.overlap)] if cell.overlap else ["", ""]
    return [
        *name,
        str(len(cell.wall)),
        number(1000 * middle(cell.wall)),
        f"{number(1000 * low)}..{number(1000 * high)}",
        ratio(cell, bare),
        ratio(cell, bare, cpu=True) if cell.cpu else "",
        ratio(cell, ours) if cell.rows else "",
        number(cell.peak_mb) if cell.peak_mb else "",
        *quality,
    ]


def share(values: Iterable[float]) -> str:
    return f"{statistics.fmean(values):.3f}"


def goals(measures: dict[tuple[str, int, str], Measure]) -> list[str]:
    """What we hope for, and what was seen; said, never asserted."""
    lines = []
    for what, rows, hoped in GOALS:
        ours, theirs = (measures.get((what, rows, subject)) for subject in ("nagori", "chroma"))
        if ours and theirs and ours.wall and theirs.wall:
            times = middle(theirs.wall) / middle(ours.wall)
            verdict = f"{number(times)}x: {'reached' if times >= hoped else 'missed'}"
        else:
            verdict = "not measured in this run"
        lines.append(f"{what} at {rows:,}, {hoped}x faster than chroma: {verdict}")
    return lines


NOTES = """\
ms is the median wall time of n samples; /bare is that over a `python -c pass`, cpu/bare the same in CPU time.
Bulk load lasts until the store is closed; cold recall is a whole process: start, import, open, one query.
MB is the process's peak memory; top1 and top10 are the shares of the exact nearest neighbours found.
nagori ranks by words and by what it knows of a memory as well as by vectors; the peers by vectors alone."""


def report(head: dict[str, str], measures: dict[tuple[str, int, str], Measure]) -> str:
    order = ["bare start", "bare fsync", "bulk load", "insert one", "warm recall", "cold recall"]
    cells = sorted(measures.values(), key=lambda each: (order.index(each.what), each.rows))
    cut_short = (
        f"cut short: {each.what} of {each.subject} at {each.rows:,}: {each.skipped}"
        for each in cells
        if each.wall and each.skipped
    )
    return "\n".join(
        [
            *header(head),
            "",
            table(TITLES, [row(each, measures) for each in cells], ("what", "subject")),
            "",
            NOTES,
            *cut_short,
            "",
            *(f"goal: {line}" for line in goals(measures)),
        ]
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.store")
    parser.add_argument("--sizes", default="1000,10000,100000", help="rows in the store, by commas")
    parser.add_argument("--peers", action="store_true", help="measure chroma and mem0 beside nagori")
    parser.add_argument("--peer-budget", type=float, default=300, help="seconds a peer may use at each size")
    parser.add_argument("--repeat", type=int, default=3, help="bulk loads and warm processes at each size")
    parser.add_argument("--queries", type=int, default=300, help="warm queries over all repetitions")
    parser.add_argument("--cold", type=int, default=11, help="cold processes at each size")
    parser.add_argument("--inserts", type=int, default=100, help="single inserts at each size")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample there")
    options = parser.parse_args()
    options.sizes = sorted({int(each) for each in options.sizes.split(",")})
    if min(options.sizes) < TOP or min(options.repeat, options.cold, options.inserts) < 1:
        parser.error(f"--sizes start at {TOP} rows, and every count at 1")
    if min(options.queries, *options.sizes) < options.repeat:
        parser.error("every repetition needs a query of its own")
    return options


def main() -> None:
    options = arguments()
    pythons = {"nagori": sys.executable}
    if options.peers:
        pythons |= dict.fromkeys(PEERS, peer_python())
    cut = cut_network()  # after the installation, and before numpy starts threads, which forbid it
    with tempfile.TemporaryDirectory(prefix="nagori-bench-") as work:
        session = Session(options, Subjects(Path(work), pythons, cut))
        head = about(session, cut)
        for rows in options.sizes:
            print(f"measuring {rows:,} rows", file=sys.stderr)
            session.size(rows)
    print(report(head, session.measures))
    if options.json:
        cells = [asdict(each) for each in session.measures.values()]
        whole = {"header": head, "measures": cells, "goals": goals(session.measures)}
        write_json(options.json, whole)


if __name__ == "__main__":
    main()
