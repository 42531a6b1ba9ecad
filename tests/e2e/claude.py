"""Run the real `claude` program in a world of its own: fresh home, one project, loopback only."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .messages_api import MessagesApi, Question

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / "out" / "e2e-venv"
SECONDS = 60


def find(named: str | None) -> Path | None:
    """The named program, else the one the wheel brought; None when there is nothing to run."""
    bundled = "lib/python*/site-packages/claude_agent_sdk/_bundled/claude"
    places = [Path(named)] if named else sorted(VENV.glob(bundled))
    return next((place for place in places if place.is_file() and os.access(place, os.X_OK)), None)


# Read once, at import: the tests themselves see no NAGORI_* variable.
NAMED = os.environ.get("NAGORI_TEST_CLAUDE")
PROGRAM = find(NAMED)
MISSING = f"cannot run the claude program {NAMED or 'in out/e2e-venv'}; `make e2e-venv` installs it (160 MB)"


@dataclass(frozen=True)
class World:
    """A home and a project folder that only one test knows."""

    home: Path
    project: Path

    @classmethod
    def at(cls, folder: Path) -> "World":
        world = cls(folder / "home", folder / "project")
        for place in (world.home, world.project / ".claude", world.temporary):
            place.mkdir(parents=True)
        return world

    @property
    def temporary(self) -> Path:
        return self.home / "tmp"

    @property
    def transcripts(self) -> list[Path]:
        """Every conversation file the program wrote, subagents' included."""
        return sorted((self.home / ".claude" / "projects").rglob("*.jsonl"))

    def settings(self, value: Mapping[str, Any]) -> None:
        """What a user would have in the project's settings; `hooks()` makes the part about hooks."""
        (self.project / ".claude" / "settings.json").write_text(json.dumps(value), encoding="utf-8")


@dataclass(frozen=True)
class Run:
    """What one call of the program left behind."""

    prompt: str
    code: int
    out: str
    err: str
    questions: list[Question] = field(default_factory=list)

    @property
    def result(self) -> dict[str, Any]:
        """The object that `--output-format json` prints."""
        value = json.loads(self.out)
        return value if isinstance(value, dict) else {}

    @property
    def session(self) -> str:
        return str(self.result["session_id"])

    @property
    def answer(self) -> str:
        return str(self.result["result"])


def hooks(command: str, events: Sequence[str], **more: Any) -> dict[str, Any]:
    """Settings that call one command on each event."""
    call = {"type": "command", "command": command, **more}
    return {"hooks": {event: [{"hooks": [call]}] for event in events}}


def environment(world: World, stub: MessagesApi, extra: Mapping[str, str] = {}) -> dict[str, str]:
    """Nothing of the caller's environment but PATH; every way out leads to the stub."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(world.home),
        "TMPDIR": str(world.temporary),
        "LANG": "C.UTF-8",
        "ANTHROPIC_BASE_URL": stub.url,
        "ANTHROPIC_API_KEY": "test",
        "HTTP_PROXY": stub.url,
        "HTTPS_PROXY": stub.url,
        "NO_PROXY": "127.0.0.1,localhost",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        **extra,
    }


def start(
    prompt: str,
    world: World,
    stub: MessagesApi,
    *,
    resume: str | None = None,
    arguments: Sequence[str] = (),
    extra: Mapping[str, str] = {},
) -> "subprocess.Popen[str]":
    """The program under way, in a process group of its own, so that a test can kill all of it."""
    assert PROGRAM, MISSING
    words = [str(PROGRAM), "-p", prompt, "--output-format", "json", *arguments]
    if resume:
        words += ["--resume", resume]
    return subprocess.Popen(
        words,
        cwd=world.project,
        env=environment(world, stub, extra),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def validate(plugin: Path, world: World, stub: MessagesApi) -> "subprocess.CompletedProcess[str]":
    """The host's own check of a plugin folder, warnings counted as errors; it needs no network."""
    assert PROGRAM, MISSING
    return subprocess.run(
        [str(PROGRAM), "plugin", "validate", str(plugin), "--strict"],
        cwd=world.project,
        env=environment(world, stub),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def finish(process: "subprocess.Popen[str]", prompt: str, stub: MessagesApi) -> Run:
    """Wait, within bounds; a run that hangs is killed with all its children and fails the test."""
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        kill(process)
        raise
    session = json.loads(out).get("session_id") if out.startswith("{") else None
    return Run(prompt, process.returncode, out, err, [q for q in stub.questions if q.session == session])


def kill(process: "subprocess.Popen[str]") -> None:
    """As when a terminal dies: no goodbye, the whole group at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def run(prompt: str, world: World, stub: MessagesApi, **more: Any) -> Run:
    """One call, from prompt to exit. `more` is what `start` takes."""
    before = len(stub.questions)
    done = finish(start(prompt, world, stub, **more), prompt, stub)
    return replace(done, questions=[q for q in stub.questions[before:] if q in done.questions])


def together(prompts: Sequence[str], world: World, stub: MessagesApi, **more: Any) -> list[Run]:
    """Several calls at once, as when a user has two terminals open."""
    running = [(start(prompt, world, stub, **more), prompt) for prompt in prompts]
    return [finish(process, prompt, stub) for process, prompt in running]
