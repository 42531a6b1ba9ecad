"""How fast memories go in and come back, beside chroma and mem0: `python -m bench.store --peers`.

Every number is taken in the same run, from the same texts and the same prepared vectors, in a process of
its own (`bench/peers.py`), with the subjects taking turns so that a busy moment of the machine falls on all
of them. Times are shown beside their ratio to a bare interpreter start, which travels between machines
better than milliseconds do. A measurement that was not taken says why.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import platform
import py_compile
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import venv
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO

from bench.peers import DIMENSION, TOP, WARM_UP

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements" / "bench.txt"
PEER_VENV = ROOT / "out" / "bench-venv"
PEERS = ("chroma", "mem0")
PATIENCE_SECONDS = 3600.0  # for nagori, which has no budget but must not hang a night
REPEAT_LOADS_TO = 10_000  # larger loads are measured once
GOALS = (("cold recall", 10_000, 30), ("bulk load", 10_000, 10))  # times faster than chroma

BARE = {"python -c pass": ("-c", "pass"), "python -I -S -c pass": ("-I", "-S", "-c", "pass")}

# --- data: sentences of one life in two languages, and vectors that cluster by what they are about

TOPICS = """
coffee コーヒー|tea 紅茶|the garden 庭|the deploy デプロイ|the database データベース|the budget 予算
the train 電車|the piano ピアノ|the cat 猫|the dog 犬|the recipe レシピ|the novel 小説|the film 映画
the camera カメラ|the bicycle 自転車|the river 川|the mountain 山|the festival 祭り|the exam 試験
the lecture 講義|the contract 契約|the invoice 請求書|the meeting 会議|the interview 面接|the roof 屋根
the vaccine 予防接種|the allergy アレルギー|the marathon マラソン|the kitchen 台所|the neighbour 隣人
the wedding 結婚式|the birthday 誕生日|the passport 旅券|the hotel ホテル|the printer プリンター
the keyboard キーボード|the password policy 認証方針|the backup バックアップ|the typhoon 台風|the snow 雪
"""
PEOPLE = """
Aoi 葵|Ben ベン|Chika 千佳|Daigo 大悟|Emma エマ|Fumi 文|Goro 五郎|Hana 花|Ines イネス|Jun 純|Kenta 健太
"""
PLACES = """
Kyoto 京都|Osaka 大阪|Sapporo 札幌|Berlin ベルリン|the office 会社|the library 図書館|the station 駅
"""
DEEDS = """
praised 褒めた|postponed 延期した|described 説明した|forgot 忘れた|changed 変えた|planned 計画した
"""
MOODS = "happily 嬉しそうに|reluctantly しぶしぶ|quietly 静かに|twice 二度|again また|at last ようやく"


def pairs(words: str) -> list[tuple[str, str]]:
    """'the cat 猫|the dog 犬' as [(English, Japanese), ...]."""
    split = (pair.rpartition(" ") for pair in words.strip().replace("\n", "|").split("|"))
    return [(english, japanese) for english, _, japanese in split]


def sentences(seed: int) -> Iterator[tuple[str, str, int]]:
    """(memory, a question about it, its topic) without end and without repeating; half of it Japanese."""
    draw = random.Random(seed)
    topics, seen = pairs(TOPICS), set()
    columns = [pairs(words) for words in (PEOPLE, PLACES, DEEDS, MOODS)]
    while True:
        topic, tongue, number = draw.randrange(len(topics)), draw.randrange(2), draw.randrange(1000, 100_000)
        what = topics[topic][tongue]
        who, where, did, how = (draw.choice(column)[tongue] for column in columns)
        if tongue == 0:
            text = f"{who} {how} {did} {what} near {where}, and noted the number {number}."
            question = f"What did {who} do about {what} near {where}, number {number}?"
        else:
            text = f"{who}は{where}の近くで{what}を{how}{did}。控えた番号は{number}。"
            question = f"{who}は{where}の近くで{what}をどうしたか。番号は{number}。"
        if question not in seen:
            seen.add(question)
            yield text, question, topic


def vectors_of(topics: list[int], seed: int) -> Iterator[tuple[Any, Any]]:
    """(memory's vector, its question's vector) per topic given, as unit float32.

    Around each topic's centre they spread in few directions, as those of real models do; independent noise
    in all 384 would make every neighbour equally far and approximate search needlessly hard.
    """
    import numpy

    draw, inner = numpy.random.default_rng(seed), 24
    count = len(pairs(TOPICS))
    centres = draw.standard_normal((count, DIMENSION)) / DIMENSION**0.5
    bases = draw.standard_normal((count, inner, DIMENSION)) / (inner * DIMENSION) ** 0.5
    for topic in topics:
        spread = draw.standard_normal(inner)
        near = spread + 0.35 * draw.standard_normal(inner)
        noise = draw.standard_normal((2, DIMENSION)) * (0.1 / DIMENSION**0.5)
        both = centres[topic] + numpy.stack([spread, near]) @ bases[topic] + noise
        both /= numpy.linalg.norm(both, axis=1, keepdims=True)
        memory, question = both.astype("<f4")
        yield memory, question


@dataclass(frozen=True)
class Data:
    """The prepared memories and questions; their vectors lie in the folder, in the same order."""

    folder: Path
    texts: list[str]
    queries: list[str]


def prepare(folder: Path, rows: int, queries: int, asked_of: int, seed: int) -> Data:
    """Write everything the subjects will read; the questions are about memories of the smallest store."""
    import numpy

    source = sentences(seed)
    made = [next(source) for _ in range(rows)]
    both = list(vectors_of([topic for _, _, topic in made], seed))
    targets = random.Random(seed).sample(range(asked_of), queries)
    data = Data(folder, [text for text, _, _ in made], [made[row][1] for row in targets])
    folder.mkdir()
    write(folder / "texts", data.texts, numpy.stack([vector for vector, _ in both]))
    write(folder / "queries", data.queries, numpy.stack([both[row][1] for row in targets]))
    for number, row in enumerate(targets):
        (folder / f"query-{number}.txt").write_text(made[row][1], encoding="utf-8")
        (folder / f"query-{number}.f32").write_bytes(both[row][1].tobytes())
    return data


def write(stem: Path, texts: list[str], vectors: Any) -> None:
    stem.with_suffix(".json").write_text(json.dumps(texts, ensure_ascii=False), encoding="utf-8")
    stem.with_suffix(".f32").write_bytes(vectors.tobytes())


def nearest(data: Data, rows: int) -> list[list[str]]:
    """The exact top 10 of every question among the first rows, by comparing with all of them."""
    import numpy

    def load(name: str) -> Any:
        return numpy.fromfile(data.folder / name, "<f4").reshape(-1, DIMENSION)

    scores = load("queries.f32") @ load("texts.f32")[:rows].T
    order = numpy.argsort(-scores, axis=1)[:, :TOP]
    return [[data.texts[row] for row in ranked] for ranked in order]


# --- processes: each measurement in one of its own


@dataclass(frozen=True)
class Finished:
    """A process that ended, as its parent saw it."""

    wall: float
    cpu: float
    output: dict[str, Any]
    failure: str


def run(command: list[str], environment: dict[str, str], seconds: float, scratch: Path) -> Finished:
    """Start, wait, and read the bill the kernel presents (os.wait4), which no code of the child can miss."""
    with (scratch / "stdout").open("w+b") as out, (scratch / "stderr").open("w+b") as err:
        begun = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        timer.cancel()
        process.returncode = code = os.waitstatus_to_exitcode(status)
        said, complained = last_line(out), last_line(err)
    late = code < 0 and wall >= seconds
    failure = "outran the budget" if late else f"failed: {complained}" if code else ""
    output = json.loads(said) if said and not failure else {}
    return Finished(wall, used.ru_utime + used.ru_stime, output, failure)


def last_line(file: BinaryIO) -> str:
    """What was said last: the result on one channel, the reason of a failure on the other."""
    file.seek(0)
    lines = file.read().decode(errors="replace").splitlines()
    return lines[-1] if lines else ""


def cut_network() -> bool:
    """Move this process and its children to a network of their own, with nobody on it; Linux only."""
    new_user, new_net = 0x10000000, 0x40000000
    try:
        unshare = ctypes.CDLL(None, use_errno=True).unshare
    except (OSError, AttributeError):
        return False
    return bool(unshare(new_net) == 0 or unshare(new_user | new_net) == 0)


def peer_python() -> str:
    """The peers' own interpreter, made anew when their pins change."""
    python = PEER_VENV / "bin" / "python"
    stamp = PEER_VENV / "pins.sha256"
    pins = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != pins:
        print(f"installing {REQUIREMENTS.name} into {PEER_VENV}", file=sys.stderr)
        venv.create(PEER_VENV, clear=True, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "-qq"]
        subprocess.run([*pip, "--require-hashes", "-r", str(REQUIREMENTS)], check=True)
        stamp.write_text(pins)
    return str(python)


def quiet_environment(home: Path, cut: bool) -> dict[str, str]:
    """Only what a program needs: a home to be thrown away, no telemetry, no keys, no proxies."""
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "MEM0_DIR": str(home / "mem0"),
        "ANONYMIZED_TELEMETRY": "False",
        "MEM0_TELEMETRY": "False",
        "POSTHOG_DISABLED": "1",
        "OTEL_SDK_DISABLED": "true",
        "HF_HUB_OFFLINE": "1",
    }
    return environment if cut else {**environment, "BENCH_REFUSE_NETWORK": "1"}


# --- measuring


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

    def __init__(self, options: argparse.Namespace, work: Path, pythons: dict[str, str], cut: bool) -> None:
        self.options, self.work, self.pythons = options, work, pythons
        self.environment = quiet_environment(work / "home", cut)
        (work / "home").mkdir()
        # A script is compiled at every start, a compiled one is not: nobody should pay for our lines.
        self.script = str(work / "peers.pyc")
        py_compile.compile(str(ROOT / "bench" / "peers.py"), self.script, doraise=True)
        self.measures: dict[tuple[str, int, str], Measure] = {}
        self.left: dict[str, float] = {}
        self.out: dict[str, str] = {}
        smallest, rows = min(options.sizes), max(options.sizes) + options.inserts + WARM_UP
        queries = min(options.queries, smallest)
        self.data = prepare(work / "data", rows, queries, smallest, options.seed)

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
        where = [str(self.data.folder), str(self.store(cell)), *map(str, arguments)]
        command = [self.pythons[subject], "-I", self.script, subject, action, *where]
        ended = run(command, self.environment, left, self.work)
        self.left[subject] -= ended.wall
        return ended

    def store(self, cell: Measure) -> Path:
        return self.work / f"{cell.subject}-{cell.rows}"

    def bare(self) -> None:
        """The yardsticks: an empty interpreter, and the least a durable write can cost on this disk."""
        for name, arguments in BARE.items():
            self.cell("bare start", 0, name).add(
                run([sys.executable, *arguments], self.environment, PATIENCE_SECONDS, self.work)
            )
        with (self.work / "synced").open("ab", buffering=0) as file:
            begun = time.perf_counter()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            self.cell("bare fsync", 0, "4 KiB appended").wall.append(time.perf_counter() - begun)

    def size(self, rows: int) -> None:
        """Everything at one size. Single inserts come last, since they change the right answers."""
        budget = self.options.peer_budget
        self.left = {each: budget if each in PEERS else PATIENCE_SECONDS for each in self.pythons}
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
        return [self.cell(what, rows, subject) for subject in self.pythons]

    def versions(self) -> dict[str, str]:
        """What each subject is made of; one that is not installed will say so again where it is measured."""
        said = {}
        for subject, python in self.pythons.items():
            command = [python, "-I", self.script, subject, "version", "-", "-"]
            found = run(command, self.environment, PATIENCE_SECONDS, self.work).output.get("versions", {})
            said[subject] = ", ".join(f"{name} {at}" for name, at in found.items()) or "not installed"
        return said


# --- the report


def machine(work: Path) -> str:
    """Processor, cores, memory, kernel and the disk's file system: what the absolute numbers hang on."""
    cpu = read_field(Path("/proc/cpuinfo"), "model name") or platform.processor()
    memory = int((read_field(Path("/proc/meminfo"), "MemTotal") or "0 kB").split()[0]) / 1024**2
    df = subprocess.run(["df", "--output=fstype", str(work)], capture_output=True, text=True, check=False)
    disk = (df.stdout.split() or ["unknown"])[-1]
    system = f"{platform.system()} {platform.release()}"
    return f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GiB, {system}, stores on {disk}"


def read_field(path: Path, name: str) -> str:
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")


def header(session: Session, cut: bool) -> dict[str, str]:
    options = session.options
    return {
        "machine": machine(session.work),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        **session.versions(),
        "network": "cut off by the kernel" if cut else "refused inside each process",
        "data": f"seed {options.seed}, {DIMENSION} float32, {len(session.data.queries)} queries, top {TOP}",
        "budget": f"{options.peer_budget:.0f} s for each peer at each size",
    }


def middle(samples: list[float]) -> float:
    return statistics.median(samples)


def spread(samples: list[float]) -> tuple[float, float]:
    """The 10th and 90th percentile: wide on a busy machine, and worth seeing."""
    if len(samples) < 2:
        return samples[0], samples[0]
    tenths = statistics.quantiles(samples, n=10, method="inclusive")
    return tenths[0], tenths[-1]


def number(value: float) -> str:
    """Three figures are what these measurements can carry."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ratio(value: Measure, base: Measure | None, *, cpu: bool = False) -> str:
    top, bottom = (value.cpu, base.cpu) if cpu and base else (value.wall, base.wall if base else [])
    return f"{number(middle(top) / middle(bottom))}x" if top and bottom else "-"


WHO = ["what", "rows", "subject"]
TITLES = [*WHO, "n", "ms", "p10..p90", "/bare", "cpu/bare", "/nagori", "MB", "top1", "top10"]


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


def align(cells: list[str], widths: list[int]) -> Iterator[str]:
    """Words to the left, numbers to the right."""
    for title, text, width in zip(TITLES, cells, widths, strict=False):
        words = title in ("what", "subject") or text.startswith("skipped")
        yield text.ljust(width) if words else text.rjust(width)


def table(rows: list[list[str]]) -> str:
    """Aligned columns; a skipped row ends in a reason, which widens nothing."""
    kept = [each if len(each) == len(TITLES) else each[: len(WHO)] for each in rows]
    widths = [max(map(len, column)) for column in zip_longest(*kept, fillvalue="")]
    return "\n".join("  ".join(align(each, widths)).rstrip() for each in rows)


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
            *(f"{name:8} {value}" for name, value in head.items()),
            "",
            table([TITLES, *(row(each, measures) for each in cells)]),
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
        session = Session(options, Path(work), pythons, cut)
        head = header(session, cut)
        for rows in options.sizes:
            print(f"measuring {rows:,} rows", file=sys.stderr)
            session.size(rows)
    print(report(head, session.measures))
    if options.json:
        cells = [asdict(each) for each in session.measures.values()]
        whole = {"header": head, "measures": cells, "goals": goals(session.measures)}
        options.json.write_text(json.dumps(whole, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
