"""One captured payload per hook event, with paths and ids made the same on every machine.

`python -m tests.e2e.golden` runs the real program through a small day and writes them to
tests/edges/fixtures/hooks/claude-code/; the adapter is tested on these files, and a test here
runs the same day and complains when the host tells other things than it used to. The day's conversation
files go to tests/edges/fixtures/transcripts/claude-code/.
"""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from .claude import ROOT, World, hooks, run
from .messages_api import Answer, Error, MessagesApi, Question, ToolUse, echo
from .recorder import Recorder

FOLDER = ROOT / "tests" / "edges" / "fixtures" / "hooks" / "claude-code"
TRANSCRIPTS = ROOT / "tests" / "edges" / "fixtures" / "transcripts" / "claude-code"
ALLOWED = ("--permission-mode", "acceptEdits", "--allowedTools", "Bash,Write,Agent")
SUBTASK = "SUBTASK: count the cups"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
HASH = re.compile(r"\b[0-9a-f]{64}\b")
SYSTEM = re.compile(r"Linux [^\s\"\\]+")
# How much is kept of a text in a conversation file: of what was said, and of what the host noted beside it.
SAID, NOTED = 240, 40
WHOLE = {"uuid", "parentUuid", "sessionId", "leafUuid", "cwd", "timestamp", "hash", "shapeHash", "content"}
AGENT = re.compile(r"\ba[0-9a-f]{16}\b")
# Numbers that differ from run to run.
MEASURED = {"duration_ms": 5, "seconds_since_last_response": 1, "estimated_cache_write_usd": 0.0001}


def day(folder: Path) -> tuple[World, Recorder]:
    """Tools that work and fail, a subagent, a command, a resume and a compaction."""
    world, recorder = World.at(folder), Recorder(folder / "told")
    recorder.folder.mkdir()
    recorder.say("UserPromptSubmit", "The hook said this.")
    world.settings(recorder.hooks())
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
    value: dict[str, Any] = json.loads(anonymous(json.dumps(payload, ensure_ascii=False), world))
    return {key: MEASURED.get(key, told) for key, told in value.items()}


def anonymous(text: str, world: World) -> str:
    """Places become those of a user named user; ids are numbered as they appear."""
    for place, told in ((world.project, "/home/user/project"), (world.home, "/home/user")):
        text = text.replace(str(place), told).replace(slug(str(place)), slug(told))
    return numbered(AGENT, "a{:016}", numbered(UUID, "00000000-0000-4000-8000-{:012}", text))


def numbered(pattern: re.Pattern[str], form: str, text: str) -> str:
    ids: dict[str, int] = {}
    return pattern.sub(lambda found: form.format(ids.setdefault(found[0], len(ids) + 1)), text)


def slug(path: str) -> str:
    """How the host writes a folder's path in a file name."""
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def golden(world: World, recorder: Recorder) -> dict[str, dict[str, Any]]:
    """The first payload of every kind in one day."""
    found: dict[str, dict[str, Any]] = {}
    for payload in recorder.payloads():
        found.setdefault(name(payload), normal(payload, world))
    return found


def transcript(world: World, recorder: Recorder) -> dict[str, str]:
    """The day's conversation files by name, the host's own long texts cut short."""
    files = {path: path.read_text("utf-8") for path in world.transcripts}
    # All files at once, so that an id has one number everywhere; the main one, the shorter path, comes first.
    ordered = sorted(files, key=lambda path: len(str(path)))
    mark = "\n=====\n"
    text = mark.join(files[path] for path in ordered)
    text = text.replace(json.dumps(recorder.command)[1:-1], "recorder")
    text = anonymous(HASH.sub("0" * 64, SYSTEM.sub("Linux", text)), world)
    names = ["subagent" if "subagents" in path.parts else "day" for path in ordered]
    return {
        name: "".join(map(line, part.splitlines()))
        for name, part in zip(names, text.split(mark), strict=True)
    }


def line(text: str) -> str:
    """One line of a conversation file, cut."""
    value = json.loads(text)
    longest = SAID if value["type"] in ("user", "assistant", "system") else NOTED
    return json.dumps(short(value, longest), ensure_ascii=False) + "\n"


def short(value: Any, longest: int) -> Any:
    """The same value with long texts and long lists cut; ids and places stay whole."""
    if isinstance(value, dict):
        return {key: short(inner, SAID if key in WHOLE else longest) for key, inner in value.items()}
    if isinstance(value, list):
        return [short(inner, longest) for inner in value[:4]]
    return value[:longest] + "…" if isinstance(value, str) and len(value) > longest else value


def failure(folder: Path) -> dict[str, Any]:
    """What a refused turn tells. The host exits without waiting for this hook, so it must be a fast one."""
    world, told = World.at(folder), folder / "told.json"
    world.settings(hooks(f'cat > "{told}"', ["StopFailure"]))
    with MessagesApi(default=Error(400, "invalid_request_error", "no")) as stub:
        run("Which tea?", world, stub)
    return normal(json.loads(told.read_text("utf-8")), world)


def write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        world, recorder = day(Path(folder) / "day")
        payloads = golden(world, recorder) | {"StopFailure": failure(Path(folder) / "failure")}
        files = {
            f"{kind}.json": json.dumps(told, ensure_ascii=False, indent=2) + "\n"
            for kind, told in payloads.items()
        }
        lines = {f"{name}.jsonl": text for name, text in transcript(world, recorder).items()}
    for place, texts in ((FOLDER, files), (TRANSCRIPTS, lines)):
        place.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            (place / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
