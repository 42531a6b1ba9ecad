"""Experiments on hooks and commands: what a host or a person sees and where it is stored."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.settings.finding import KETTLES
from tests.settings.lab import FEWER, Experiment, Lab, from_to, lines_of

from nagori import Draft, Kind, Nagori, Privacy, Scope
from nagori.edges.worker import spawn
from nagori.journals.file import FileJournal
from nagori.testing import FrozenClock

APP = "/srv/app"
QUESTION = "Which kettle was a present?"


def remember(lab: Lab, *drafts: str | Draft, agent: str | None = None, role: str | None = None) -> None:
    """Store memories of the project in which the host runs."""
    lab.export()
    scope = Scope(user="me", project=APP, agent=agent, role=role)
    with Nagori.open(lab.folder / "data", embedder=None, llm=None, scope=scope) as memory:
        memory.remember_many(drafts)


def ask(lab: Lab, *drafts: str | Draft, agent: str | None = None, role: str | None = None) -> int:
    """How many memories the hook shows for a prompt."""
    remember(lab, *drafts, agent=agent, role=role)
    return lines_of(lab.hook("UserPromptSubmit", prompt=QUESTION))


# --- what a host is shown -------------------------------------------------------------------------


def shown_for_prompt(lab: Lab) -> int:
    return ask(lab, *KETTLES)


def shown_unasked(lab: Lab) -> int:
    return ask(lab, KETTLES[0], "The tea in the garden was a present.")


def shown_private(privacy: Privacy) -> Callable[[Lab], int]:
    """Of a private memory of the coder, whose role is dev."""
    draft = Draft("The kettle of our friends is a present.", privacy=privacy)
    return lambda lab: ask(lab, draft, agent="coder", role="dev")


def shown_at_start(lab: Lab) -> int:
    remember(lab, *(Draft(text, protect=True) for text in KETTLES))
    return lab.hook("SessionStart", source="startup").count("(mem_")


def recaps_last_session(lab: Lab) -> bool:
    """Whether the start of a session tells of the one that ended thirty hours ago."""
    lab.export()
    ended = FrozenClock(datetime.now(UTC) - timedelta(hours=30))
    memory = lab.open(clock=ended, embedder=None, scope=Scope(user="me", project=APP))
    memory.form([{"role": "user", "content": KETTLES[0]}], session="before")
    return "kettle in the kitchen" in lab.hook("SessionStart", source="startup")


def shown_before_tool(lab: Lab) -> int:
    remember(lab, Draft("Bash rm -rf build: it took the sources along", kind=Kind.LESSON))
    call = {"tool_name": "Bash", "tool_input": {"command": "rm -rf build"}}
    return lines_of(lab.hook("PreToolUse", **call))


def started_workers(lab: Lab) -> int:
    """How many workers the end of a turn starts."""
    started: list[Path] = []
    lab.export()
    if "hooks.worker" not in lab.changes:
        lab.patch.delenv("NAGORI_HOOKS__WORKER")
    lab.patch.setattr(spawn, "start", started.append)
    lab.hook("Stop", last_assistant_message="The kettle is green.")
    return len(started)


def owners(lab: Lab) -> list[str]:
    """The users who have a journal after a prompt."""
    lab.export()
    lab.hook("UserPromptSubmit", prompt="The kettle is green.")
    journal = lab.folder / "data" / "journal"
    return [user for _, user in FileJournal(journal).owners()] if journal.exists() else []


def topics_at_start(lab: Lab) -> int:
    """The number of topics in the profile at session start."""
    memory = lab.open()
    memory.remember_many([f"The {kind} kettle of Nara is blue." for kind in "abcdefghijklmnopqrstuvw"])
    told = memory.session_start("s").text.partition("often about: ")[2].partition("</user-profile>")[0]
    return len(told.split(", ")) if told else 0


HOOKS = [
    Experiment("hooks.enabled", False, owners, from_to(["me"], [])),
    Experiment("hooks.user", "aki", owners, from_to(["me"], ["aki"])),
    Experiment("hooks.worker", False, started_workers, from_to(1, 0)),
    Experiment("hooks.agent", "coder", shown_private(Privacy.PRIVATE), from_to(0, 1)),
    Experiment(
        "hooks.role",
        "dev",
        shown_private(Privacy.AGENT_ONLY),
        from_to(0, 1),
        {"hooks.agent": "writer"},
    ),
    Experiment("hooks.max_memories", 2, shown_for_prompt, from_to(5, 2)),
    Experiment("hooks.min_confidence", 0.99, shown_unasked, from_to(2, 0)),
    Experiment("hooks.session_start_memories", 2, shown_at_start, from_to(3, 2)),
    Experiment("hooks.recap_hours", 48.0, recaps_last_session, from_to(False, True)),
    Experiment("hooks.session_start_tokens", 100, shown_at_start, FEWER),
    Experiment("hooks.profile_topics", 1, topics_at_start, from_to(0, 1)),
    Experiment("hooks.before_tool", True, shown_before_tool, from_to(0, 1)),
]


# --- what a person sees ---------------------------------------------------------------------------


def language(lab: Lab) -> bool:
    """Whether a message is in Japanese."""
    lab.export(COLUMNS="200")
    return any("\u3040" <= sign <= "\u30ff" for sign in lab.command("show", "nobody"))


def folders(lab: Lab) -> list[str]:
    """Where a memory is stored, below the home folder."""
    lab.export()
    if "general.data_dir" not in lab.changes:
        lab.patch.delenv("NAGORI_DATA_DIR")
    lab.command("remember", "The kettle is green.")
    return sorted(str(path.parent.relative_to(lab.folder)) for path in lab.folder.rglob("nagori.db"))


def journal(lab: Lab) -> str:
    """Where the journal is: in files, or in a database that nobody runs here."""
    lab.export()
    lab.patch.delenv("NAGORI_DATA_DIR")
    return "away" if "127.0.0.1:1/nobody" in lab.command("remember", "The kettle is green.") else "files"


GENERAL = [
    Experiment("general.database", "postgresql://127.0.0.1:1/nobody", journal, from_to("files", "away")),
    Experiment("general.language", "ja", language, from_to(False, True)),
    Experiment("general.data_dir", "~/elsewhere", folders, from_to([".local/share/nagori"], ["elsewhere"])),
]

EXPERIMENTS = [*HOOKS, *GENERAL]
