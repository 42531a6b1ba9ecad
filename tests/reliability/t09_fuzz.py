"""T9: payloads and transcripts that no host should send.

    python -m tests.reliability.t09_fuzz [--payloads 50000] [--seed 0] [--large-mb 1000]

Valid payloads of a host and lines of a transcript are mutated: cut, doubled, with NUL, lone surrogates,
zero-width and right-to-left characters, deep nesting, wrong types and huge numbers. A tenth as many
transcripts are imported. A hook may say something or nothing, but must never raise, and what it says is JSON;
an import takes or reports each line. At the end a transcript of `--large-mb` is imported in a process of its
own whose memory is told and bounded. What schemathesis sends to the server is in `make test-suites`.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.reliability.harness import ROOT, History, Outcome, opened, scratch

from nagori.edges import hooks
from nagori.edges.hosts import HOSTS
from nagori.edges.importers.run import ImportTally, take_transcripts
from nagori.errors import NagoriError

MOST_MB = 200.0
EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd", "x")
ODD_TEXTS = (
    "\0",
    "\ud800",
    "\udfff",
    "\u200b" * 50,
    "\u202e",
    "\u2066",
    "\x1b[2J",
    "\ufeff",
    "\U000e0041" * 9,
    "e\u0301" * 99,
    "</memories>",
    "<private>",
    "\r\n" * 30,
    "漢字" * 500,
    "a" * 100_000,
    "",
    " ",
    "../../etc/passwd",
    "%00",
)
ODD_VALUES: tuple[Any, ...] = (None, True, 0, -1, 2**63, 10**400, 1e308, float("nan"), [], {}, [[]], [None])


def payload(dice: Random) -> dict[str, Any]:
    event = dice.choice(EVENTS)
    said = {"hook_event_name": event, "session_id": f"s{dice.randrange(50)}", "cwd": "/srv/tea"}
    said |= {"prompt": "Where does the kettle stand?", "prompt_id": str(dice.randrange(9))}
    said |= {"transcript_path": "/nowhere/t.jsonl", "source": dice.choice(("startup", "compact", "?"))}
    return said | {"tool_name": "Bash", "tool_input": {"command": "make"}, "duration_ms": 4, "error": "no"}


def line(dice: Random) -> dict[str, Any]:
    role = dice.choice(("user", "assistant"))
    content: Any = dice.choice(("The kettle is blue.", [{"type": "text", "text": "やかんは青い。"}]))
    return {
        "type": role,
        "uuid": f"u{dice.randrange(40)}",
        "sessionId": "s",
        "cwd": "/srv/tea",
        "timestamp": "2026-04-01T09:00:00Z",
        "message": {"role": role, "content": content},
    }


def mutate(dice: Random, value: dict[str, Any]) -> bytes:
    """One to three changes of a valid object; some of them make it no object at all."""
    for _ in range(dice.randrange(1, 4)):
        name = dice.choice([*value, dice.choice(ODD_TEXTS)[:40]])
        value[name] = dice.choice(
            (dice.choice(ODD_TEXTS), dice.choice(ODD_VALUES), {"a": dice.choice(ODD_TEXTS)})
        )
    if dice.random() < 0.1:
        value.pop(dice.choice([*value]))
    said = json.dumps(value).encode()
    match dice.randrange(12):
        case 0:
            return said[: dice.randrange(len(said) + 1)]
        case 1:
            return said + said
        case 2:
            place = dice.randrange(len(said))
            return said[:place] + bytes([dice.randrange(256)]) * dice.randrange(1, 4) + said[place:]
        case 3:
            return b"[" * dice.choice((10, 1_000, 100_000)) + said
        case 4:
            return dice.randbytes(dice.randrange(200))
        case 5:
            return said.decode().encode("utf-16")
    return said


def attempt(work: Callable[[], object], what: str, violations: list[str]) -> object:
    try:
        return work()
    except Exception:
        violations.append(f"{what}: {traceback.format_exc(limit=-2)[-300:]}")
        return None


def check_hook(dice: Random, violations: list[str]) -> bool:
    """One payload; whether something was said."""
    sent, host = mutate(dice, payload(dice)), dice.choice([*HOSTS, "?"])
    said = attempt(
        lambda: hooks.answer(["--host", host], io.BytesIO(sent)), f"{host} {sent[:200]!r}", violations
    )
    if said:
        try:
            json.loads(str(said))
        except ValueError:
            violations += [] if host not in ("claude-code",) else [f"no JSON: {said!r}"[:300]]
    return bool(said)


def check_transcripts(work: Path, count: int, dice: Random, violations: list[str]) -> int:
    formed = 0
    folder = work / "transcripts"
    folder.mkdir()
    with opened(work / "imported") as memory:
        for number in range(count):
            path = folder / f"{number}.jsonl"
            lines = (
                mutate(dice, line(dice)) if dice.random() < 0.5 else json.dumps(line(dice)).encode()
                for _ in range(6)
            )
            path.write_bytes(b"\n".join(lines))
            tally = ImportTally()
            try:
                report = take_transcripts(memory, tally, [path])
                formed += report.added
            except NagoriError as refused:
                violations.append(f"a whole transcript was refused: {refused}"[:300])
            except Exception:
                violations.append(f"transcript {number}: {traceback.format_exc(limit=-2)[-300:]}")
            path.unlink()
        violations += [] if memory.verify().sound else ["not sound after the imports"]
    return formed


def import_large(work: Path, megabytes: int) -> float:
    """A transcript of so many MB, mostly what a tool read; the largest resident memory in MB."""
    path = work / "large.jsonl"
    dice, block = Random(0), "x" * 100_000
    with path.open("w") as file:
        while file.tell() < megabytes * 1_000_000:
            file.write(json.dumps(line(dice)) + "\n")
            held = [{"type": "tool_result", "content": block}]
            file.write(json.dumps({**line(dice), "message": {"role": "user", "content": held}}) + "\n")
    command = [sys.executable, "-m", "tests.reliability.t09_fuzz", "--inside", str(path)]
    said = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    path.unlink()
    return float(said.splitlines()[-1])


def inside(path: Path) -> None:
    with opened(path.with_name("large")) as memory:
        take_transcripts(memory, ImportTally(), [path])
    status = Path("/proc/self/status").read_text()
    print(next(int(row.split()[1]) / 1000 for row in status.splitlines() if row.startswith("VmHWM")))


def run(seed: int = 0, payloads: int = 50_000, large_mb: int = 0) -> Outcome:
    dice, history, violations, answered = Random(seed), History("t09", seed), list[str](), 0
    with scratch() as work:
        ours = {"NAGORI_DATA_DIR": str(work / "data"), "NAGORI_HOOKS__WORKER": "false"}
        os.environ |= ours | {"NAGORI_EMBEDDING__PROVIDER": "none", "HOME": str(work)}
        for _ in range(payloads):
            answered += check_hook(dice, violations)
        formed = check_transcripts(work, payloads // 10, dice, violations)
        largest = import_large(work, large_mb) if large_mb else 0.0
    violations += [f"{largest:.0f} MB for a file of {large_mb} MB"] if largest > MOST_MB else []
    history.add("run", "violation" if violations else "ok", answered=answered, formed=formed)
    figures: dict[str, float] = {"payloads": payloads, "answered": answered, "transcripts": payloads // 10}
    return Outcome("T9", seed, figures | {"large MB": large_mb, "memory MB": round(largest)}, violations)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--inside", type=Path)
    parser.add_argument("--payloads", type=int, default=50_000)
    parser.add_argument("--large-mb", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.inside:
        inside(asked.inside)
    else:
        outcome = run(asked.seed, asked.payloads, asked.large_mb)
        print(outcome.line(), *outcome.violations[:20], sep="\n")
        raise SystemExit(bool(outcome.violations))
