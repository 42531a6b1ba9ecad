"""One captured payload per hook event, with paths and ids made the same on every machine.

`python -m tests.e2e.golden` runs the real program through a small day and writes them to
tests/edges/fixtures/hooks/claude-code/; the adapter is tested on these files, and a test here
runs the same day and complains when the host tells other things than it used to.
"""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from .claude import ROOT, World, hooks, run
from .messages_api import Answer, Error, MessagesApi, Question, ToolUse, echo
from .recorder import EVENTS, Recorder

FOLDER = ROOT / "tests" / "edges" / "fixtures" / "hooks" / "claude-code"
ALLOWED = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash,Write,Agent")
SUBTASK = "SUBTASK: count the cups"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
AGENT = re.compile(r"\ba[0-9a-f]{16}\b")
# Numbers that differ from run to run.
MEASURED = {"duration_ms": 5, "seconds_since_last_response": 1, "estimated_cache_write_usd": 0.0001}


def day(folder: Path) -> tuple[World, Recorder]:
    """Tools that work and fail, a subagent, a command, a resume and a compaction."""
    world, recorder = World.at(folder), Recorder(folder / "told")
    recorder.folder.mkdir()
    world.settings(hooks(recorder.command, EVENTS))
    (world.project / ".claude" / "commands").mkdir()
    (world.project / ".claude" / "commands" / "fixit.md").write_text("Mend $ARGUMENTS with care.")
    script: list[Answer] = [
        ToolUse("Write", {"file_path": str(world.project / "tea.txt"), "content": "green\n"}),
        ToolUse("Bash", {"command": "exit 3", "description": "fail on purpose"}),
        "The tea is written down.",
    ]
    with MessagesApi(script, default=delegate) as stub:
        first = run("Write down which tea I like: green.", world, stub, arguments=ALLOWED)
        run("delegate the counting", world, stub, resume=first.session, arguments=ALLOWED)
        run("/fixit 42", world, stub, resume=first.session)
        run("/compact keep the tea", world, stub, resume=first.session)
    return world, recorder


def delegate(question: Question) -> str | ToolUse:
    """The main conversation hands its work to a subagent once; everybody else answers in words."""
    said = question.said("user")
    if question.compacts:
        return echo(question)
    if SUBTASK in said[0]:
        return "Seven cups."
    if not said[-1].endswith("delegate the counting"):
        return "Done."
    task = {"description": "count", "prompt": SUBTASK, "subagent_type": "general-purpose"}
    return ToolUse("Agent", {**task, "run_in_background": False})


def name(payload: dict[str, Any]) -> str:
    """`Stop`, or `SessionStart.resume` where one event comes in several shapes."""
    event = str(payload["hook_event_name"])
    if event == "SessionStart" and payload["source"] != "startup":
        return f"{event}.{payload['source']}"
    if event == "SubagentStop" and not payload["agent_type"]:
        return f"{event}.compact"
    if event == "UserPromptSubmit" and payload["prompt"].startswith("/"):
        return f"{event}.command"
    return event


def normal(payload: dict[str, Any], world: World) -> dict[str, Any]:
    """The same payload as if a user named user had worked in /home/user/project."""
    text = json.dumps(payload, ensure_ascii=False)
    for place, told in ((world.project, "/home/user/project"), (world.home, "/home/user")):
        text = text.replace(str(place), told).replace(slug(str(place)), slug(told))
    ids = {payload["session_id"]: 1, payload.get("prompt_id"): 2}
    text = UUID.sub(lambda m: f"00000000-0000-4000-8000-{ids.get(m[0], 3):012}", text)
    text = AGENT.sub("a0000000000000001", text)
    value: dict[str, Any] = json.loads(text)
    return {key: MEASURED.get(key, told) for key, told in value.items()}


def slug(path: str) -> str:
    """How the host writes a folder's path in a file name."""
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def golden(folder: Path) -> dict[str, dict[str, Any]]:
    """The first payload of every kind in one day."""
    world, recorder = day(folder)
    found: dict[str, dict[str, Any]] = {}
    for payload in recorder.payloads():
        found.setdefault(name(payload), normal(payload, world))
    return found


def failure(folder: Path) -> dict[str, Any]:
    """What a refused turn tells. The host exits without waiting for this hook, so it must be a fast one."""
    world, told = World.at(folder), folder / "told.json"
    world.settings(hooks(f'cat > "{told}"', ["StopFailure"]))
    with MessagesApi(default=Error(400, "invalid_request_error", "no")) as stub:
        run("Which tea?", world, stub)
    return normal(json.loads(told.read_text("utf-8")), world)


def write() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        found = golden(Path(folder) / "day") | {"StopFailure": failure(Path(folder) / "failure")}
    for kind, payload in found.items():
        text = json.dumps(payload, ensure_ascii=False, indent=2)
        (FOLDER / f"{kind}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
